//! Commands report their changes to the host, and ask the host for what they need.

#[path = "effects/combine.rs"]
mod combine;
#[path = "effects/fields.rs"]
mod fields;
#[path = "effects/host.rs"]
mod host;

use guira_commands::{Clock, Filter, Reply, commands, dump::Header};
use host::{Host, MEMORY, refusal};
use std::io::{self, Write};

#[test]
fn a_host_is_told_what_has_changed() {
    let host = Host::new(true);
    let yes = Ok(Reply::Bool(true));
    assert_eq!(host.ask("CF.ADD k a"), yes);
    assert_eq!(host.told(), ["made k 2000", "added k a"]);
    assert_eq!(host.ask("CF.ADDNX k a"), Ok(Reply::Bool(false)));
    assert_eq!(host.told(), ["added k"]);
    assert_eq!(host.ask("CF.ADDNX k b"), yes);
    assert_eq!(host.told(), ["added k b"]);
    let answer = host.ask("CF.INSERTNX k ITEMS a c c d");
    assert_eq!(answer, Ok(Reply::Integers(vec![0, 1, 0, 1])));
    assert_eq!(host.told(), ["added k c,d"]);
    let answer = host.ask("CF.INSERT l CAPACITY 5000 ITEMS x y");
    assert_eq!(answer, Ok(Reply::Insertions(vec![true, true])));
    assert_eq!(host.told(), ["made l 5000", "added l x,y"]);
    assert_eq!(host.ask("CF.DEL k a"), yes);
    assert_eq!(host.told(), ["removed k a"]);
    assert_eq!(host.ask("CF.DEL k a"), Ok(Reply::Bool(false)));
    assert!(host.ask("CF.DEL none a").is_err());
    assert!(host.ask("CF.MDEL none a").is_err());
    assert_eq!(host.told(), Vec::<String>::new());
    assert_eq!(host.ask("CF.COMPACT k"), Ok(Reply::OK));
    assert_eq!(host.told(), ["compacted k"]);
    assert_eq!(host.ask("CF.RESERVE m 100 MAXCAPACITY 200"), Ok(Reply::OK));
    assert_eq!(host.filter("m").max_capacity(), 200);
    assert_eq!(host.told(), ["made m 100"]);
    assert_eq!(refusal(host.ask("CF.RESERVE m 100")), "ERR item exists");
    for line in [
        "CF.EXISTS k a",
        "CF.MEXISTS k a b",
        "CF.COUNT k a",
        "CF.INFO k",
        "CF.DEBUG k",
        "CF.SCANDUMP k 0",
        "CF.SCANDUMP k 1",
    ] {
        assert!(host.ask(line).is_ok(), "{line}");
    }
    assert!(host.ask("CF.INSERT none NOCREATE ITEMS a").is_err());
    assert_eq!(host.told(), Vec::<String>::new());
}

/// One command creates a key with options and adds to it, so that no key without them comes between.
#[test]
fn inserts_create_keys_with_the_options_of_reserve() {
    let host = Host::new(true);
    let yes = Ok(Reply::Insertions(vec![true; 2]));
    let line = "CF.INSERT w window 60 EPOCHS 3 ERROR 0.001 CAPACITY 500 ITEMS a b";
    assert_eq!(host.ask(line), yes);
    // This host tells nothing of new filters with a window.
    assert_eq!(host.told(), ["added w a,b"]);
    let filter = host.filter("w");
    let window = filter.window().expect("it was requested");
    assert_eq!((window.length().as_secs(), window.epochs()), (60, 3));
    assert_eq!(filter.options().rate, 0.001);
    // The key exists, so that its options stay.
    let line = "CF.INSERTNX w WINDOW 7 CAPACITY 9 ITEMS a c";
    assert_eq!(host.ask(line), Ok(Reply::Integers(vec![0, 1])));
    assert_eq!(host.told(), ["added w c"]);
    let line =
        "CF.INSERTNX c COUNTERS 8 ERROR 0.01 MAXCAPACITY 9000 BUCKETSIZE 4 MAXITERATIONS 7 ITEMS a";
    assert_eq!(host.ask(line), Ok(Reply::Integers(vec![1])));
    let filter = host.filter("c");
    assert_eq!(filter.counter_bits(), 8);
    assert!(filter.max_capacity() >= 9000);
    let options = filter.options();
    assert_eq!((options.bucket_size, options.max_iterations), (4, 7));
    // Without a capacity it is that of the host, and the key reaches as far as any that an insert creates.
    assert_eq!(options.capacity, 2000);
    assert_eq!(host.ask("CF.INSERT f EXPANSION 0 ITEMS a b"), yes);
    assert_eq!(host.filter("f").max_capacity(), 2000);
    host.ask("CF.INSERT r ERROR 0.02 ITEMS a b").unwrap();
    // The memory of this host is the limit, and not a factor of the capacity.
    let furthest = host.filter("r").max_capacity();
    assert!(furthest >= 1 << 19, "{furthest}");
    host.told();
    for (options, expected) in [
        (
            "WINDOW 60 COUNTERS 9",
            "COUNTERS: value must be 4 or 8, and is 9",
        ),
        ("EPOCHS 3", "EPOCHS is for filters with a WINDOW"),
        ("ERROR 1", "ERROR: value must be in the range [2e-9, 1)"),
        ("WINDOW +5", "Couldn't parse WINDOW"),
        ("COLOR 5", "Unknown argument received"),
        // `ITEMS` is the value of `WINDOW`.
        ("WINDOW", "Unknown argument received"),
    ] {
        let refused = refusal(host.ask(&format!("CF.INSERT none {options} ITEMS a")));
        assert_eq!(refused, expected, "{options}");
    }
    // Items that should expire do not go to a key where they would stay.
    host.ask("CF.ADD plain a").unwrap();
    host.told();
    let refused = refusal(host.ask("CF.INSERTNX plain WINDOW 60 ITEMS b"));
    assert!(
        refused.starts_with("This filter has no window"),
        "{refused}"
    );
    assert!(!host.filter("plain").contains(b"b"));
    assert_eq!(host.told(), Vec::<String>::new());
}

/// One call adds a copy and counts it, in a filter of any kind.
#[test]
fn an_add_that_counts_returns_the_number_of_copies() {
    for options in [
        "",
        "EXPANSION 0",
        "COUNTERS 4",
        "COUNTERS 8 EXPANSION 0",
        "WINDOW 3600",
        "WINDOW 3600 COUNTERS 4",
        "WINDOW 3600 COUNTERS 8 EXPANSION 0",
    ] {
        let host = Host::new(true);
        host.ask(format!("CF.RESERVE k 1000 {options}").trim())
            .unwrap();
        host.told();
        let filter = host.filter("k");
        let most = ((2 * filter.bucket_slots()) << filter.counter_bits()) as i64;
        for count in 1..=most {
            let answer = host.ask("CF.ADDCOUNT k a");
            assert_eq!(answer, Ok(Reply::Integer(count)), "{options}");
            assert_eq!(host.told(), ["added k a"]);
        }
        let refused = refusal(host.ask("CF.ADDCOUNT k a"));
        let expected = format!("Filter is full of copies of this item: {most} is the most");
        assert_eq!(refused, expected, "{options}");
        assert_eq!(refusal(host.ask("CF.ADD k a")), expected, "{options}");
        assert_eq!(host.told(), ["added k"; 2]);
        assert_eq!(host.ask("CF.COUNT k a"), Ok(Reply::Integer(most)));
        host.ask("CF.DEL k a").unwrap();
        assert_eq!(host.ask("CF.ADDCOUNT k a"), Ok(Reply::Integer(most)));
    }
    let host = Host::new(true);
    assert_eq!(
        refusal(host.ask("CF.ADDCOUNT none a")),
        "ERR not found: CF.RESERVE key capacity WINDOW seconds COUNTERS 8 makes the key"
    );
    assert_eq!(host.told(), Vec::<String>::new());
}

/// A full filter still counts the items that it has.
#[test]
fn a_full_window_counts_its_items() {
    let host = Host::new(true);
    let reserve = "CF.RESERVE k 1000 WINDOW 3600 EPOCHS 2 COUNTERS 8 EXPANSION 0";
    host.ask(reserve).unwrap();
    let add = |item| host.ask(&format!("CF.ADDCOUNT k {item}"));
    let refused = (0..10_000).find_map(|item| add(item).err().map(|error| (item, error)));
    let (item, error) = refused.unwrap();
    assert!(item >= 1000, "{item}");
    let expected = "Filter is full: more items came within its window than its capacity";
    assert_eq!(refusal(Err(error)), expected);
    let Ok(Reply::Integer(before)) = host.ask("CF.COUNT k 0") else {
        panic!("a count is a number");
    };
    // The slots of the item have room for far more copies.
    for copy in 1..=100 {
        assert_eq!(add(0), Ok(Reply::Integer(before + copy)));
    }
}

#[test]
fn a_host_is_told_what_commands_on_many_items_changed() {
    let host = Host::new(true);
    let answer = host.ask("CF.MADD k a b a");
    assert_eq!(answer, Ok(Reply::Insertions(vec![true; 3])));
    assert_eq!(host.told(), ["made k 2000", "added k a,b,a"]);
    let answer = host.ask("CF.MDEL k a x a a");
    assert_eq!(answer, Ok(Reply::Bools(vec![true, false, true, false])));
    assert_eq!(host.told(), ["removed k a,a"]);
    assert_eq!(host.filter("k").deleted(), 2);
    assert_eq!(
        host.ask("CF.MDEL k a x"),
        Ok(Reply::Bools(vec![false, false]))
    );
    assert_eq!(host.told(), Vec::<String>::new());
    let no_window = refusal(host.ask("CF.MTOUCH k b"));
    assert!(
        no_window.starts_with("This filter has no window"),
        "{no_window}"
    );
    assert_eq!(
        host.ask("CF.RESERVE w 100 ERROR 0.000001 WINDOW 60"),
        Ok(Reply::OK)
    );
    host.ask("CF.MADD w a b").unwrap();
    assert_eq!(host.told(), ["added w a,b"]);
    assert_eq!(
        host.ask("CF.MTOUCH w a x b"),
        Ok(Reply::Integers(vec![1, 0, 1]))
    );
    assert_eq!(host.told(), ["touched w a,b"]);
    assert_eq!(host.ask("CF.MTOUCH w x"), Ok(Reply::Integers(vec![0])));
    assert_eq!(
        host.ask("CF.MTOUCH none x y"),
        Ok(Reply::Integers(vec![0, 0]))
    );
    host.is_full.set(true);
    assert!(host.ask("CF.MADD k a").is_err());
    assert_eq!(host.told(), Vec::<String>::new());
}

/// A full filter refuses the items that do not fit, one by one.
#[test]
fn many_items_are_added_until_the_filter_is_full() {
    let host = Host::new(true);
    host.ask("CF.RESERVE k 4 EXPANSION 0").unwrap();
    host.told();
    let answer = host.ask("CF.MADD k a b c d e f");
    let expected = [true, true, true, true, false, false];
    assert_eq!(answer, Ok(Reply::Insertions(expected.to_vec())));
    assert_eq!(host.told(), ["added k a,b,c,d"]);
}

#[test]
fn a_host_is_told_what_was_touched() {
    let host = Host::new(true);
    let [yes, no] = [true, false].map(|answer| Ok(Reply::Bool(answer)));
    assert_eq!(
        host.ask("CF.RESERVE k 100 ERROR 0.000001 EXPANSION 0 WINDOW 60"),
        Ok(Reply::OK)
    );
    assert_eq!(host.ask("CF.ADDTOUCH k a"), yes);
    assert_eq!(host.told(), ["added k a"]);
    assert_eq!(host.ask("CF.ADDTOUCH k a"), no);
    assert_eq!(host.told(), ["added k", "touched k a"]);
    assert_eq!(host.ask("CF.TOUCH k a"), yes);
    assert_eq!(host.told(), ["touched k a"]);
    assert_eq!(host.ask("CF.TOUCH k b"), no);
    assert_eq!(host.ask("CF.TOUCH none b"), no);
    assert!(host.ask("CF.ADDTOUCH none b").is_err());
    assert_eq!(host.told(), Vec::<String>::new());
    assert_eq!(host.ask("CF.COMPACT k"), Ok(Reply::OK));
    assert_eq!(host.told(), ["compacted k"]);
    // A command that adds nothing works even if the host refuses additions.
    host.is_full.set(true);
    assert!(refusal(host.ask("CF.ADDTOUCH k a")).starts_with("OOM"));
    assert_eq!(host.ask("CF.TOUCH k a"), yes);
    host.is_full.set(false);
    host.told();
    // The host accepts no false positives, and the filter has room for the items of a window and of
    // one and a half epochs.
    let items: Vec<_> = (0..300).map(|item| format!("item{item}")).collect();
    let answer = host.ask(&format!("CF.INSERT k ITEMS {}", items.join(" ")));
    let Ok(Reply::Insertions(inserted)) = answer else {
        panic!("{answer:?}");
    };
    let count = inserted.iter().filter(|&&inserted| inserted).count();
    assert_eq!(count + 1, 112);
    assert_eq!(host.filter("k").len(), 112);
    host.told();
    assert_eq!(host.ask("CF.ADDTOUCH k a"), no);
    assert_eq!(host.told(), ["added k", "touched k a"]);
    // An item that is not mistaken for another one.
    let new = (0..).map(|item| format!("new{item}"));
    let new = { new }.find(|item| host.ask(&format!("CF.EXISTS k {item}")) == no);
    let add = format!("CF.ADDTOUCH k {}", new.unwrap());
    assert!(refusal(host.ask(&add)).starts_with("Filter is full"));
    assert_eq!(host.told(), ["added k"]);
}

/// Some items are added until there is no more room. The host learns of the added items.
#[test]
fn what_is_refused_is_no_change() {
    for is_strict in [false, true] {
        let host = Host::new(is_strict);
        host.ask("CF.RESERVE k 1000 EXPANSION 0 ERROR 0.00000001")
            .unwrap();
        let most = host.filter("k").max_capacity();
        host.told();
        let items: Vec<_> = (0..3_000).map(|item| format!("item{item}")).collect();
        let answer = host.ask(&format!("CF.INSERT k ITEMS {}", items.join(" ")));
        let Ok(Reply::Insertions(inserted)) = answer else {
            panic!("{answer:?}");
        };
        let added = items
            .iter()
            .zip(&inserted)
            .filter(|(_, inserted)| **inserted);
        let added: Vec<_> = added.map(|(item, _)| &**item).collect();
        assert_eq!(host.told(), [format!("added k {}", added.join(","))]);
        assert_eq!(host.filter("k").len(), added.len());
        match is_strict {
            true => assert_eq!(added, items[..most]),
            false => assert!(added.len() > most, "{}", added.len()),
        }
        assert_eq!(refusal(host.ask("CF.ADD k new")), "Filter is full");
        assert_eq!(host.told(), ["added k"]);
        // An item that is already present needs no room.
        assert_eq!(host.ask("CF.ADDNX k item0"), Ok(Reply::Bool(false)));
        let answer = host.ask("CF.INSERTNX k ITEMS item0 new");
        assert_eq!(answer, Ok(Reply::Integers(vec![0, -1])));
        assert_eq!(host.told(), ["added k", "added k"]);
    }
}

/// A large filter knows of its room for some items in advance, and a strict one ends at the same item
/// as if it looked each time. What is deleted makes room again.
#[test]
fn a_large_filter_has_an_exact_limit() {
    let host = Host::new(true);
    host.ask("CF.RESERVE k 70000 EXPANSION 0").unwrap();
    let most = host.filter("k").max_capacity();
    let all: Vec<_> = (0..most + 10).map(|item| item.to_string()).collect();
    let (one_by_one, batch) = all.split_at(most / 2);
    for item in one_by_one {
        let added = host.ask_words(&[b"CF.ADD", b"k", item.as_bytes()]);
        assert_eq!(added, Ok(Reply::Bool(true)), "{item}");
    }
    for items in batch.chunks(100) {
        let wanted = items.len().min(most - host.filter("k").len());
        let words: Vec<_> = ["CF.INSERT", "k", "ITEMS"]
            .into_iter()
            .chain(items.iter().map(String::as_str))
            .map(str::as_bytes)
            .collect();
        let inserted = (0..items.len()).map(|index| index < wanted).collect();
        assert_eq!(host.ask_words(&words), Ok(Reply::Insertions(inserted)));
    }
    assert_eq!(host.filter("k").len(), most);
    assert_eq!(host.ask("CF.DEL k 0"), Ok(Reply::Bool(true)));
    assert_eq!(host.ask("CF.ADD k 0"), Ok(Reply::Bool(true)));
    assert_eq!(refusal(host.ask("CF.ADD k 0")), "Filter is full");
}

/// The room that a filter knows of is gone after a batch that takes all.
#[test]
fn a_batch_takes_all_room_of_a_large_filter() {
    let host = Host::new(true);
    host.ask("CF.RESERVE k 70000 EXPANSION 0").unwrap();
    host.ask("CF.ADD k first").unwrap();
    let most = host.filter("k").max_capacity();
    let rest: Vec<_> = (1..most).map(|item| item.to_string()).collect();
    let words: Vec<_> = ["CF.INSERT", "k", "ITEMS"]
        .into_iter()
        .chain(rest.iter().map(String::as_str))
        .map(str::as_bytes)
        .collect();
    let all = Ok(Reply::Insertions(vec![true; most - 1]));
    assert_eq!(host.ask_words(&words), all);
    assert_eq!(refusal(host.ask("CF.ADD k last")), "Filter is full");
    assert_eq!(host.filter("k").len(), most);
}

#[test]
fn commands_done_together_are_told_of_alike() {
    let host = Host::new(true);
    let answers = host.ask_together("CF.ADD", b"k", &[b"a", b"b"]);
    assert_eq!(answers, [Reply::Bool(true), Reply::Bool(true)]);
    assert_eq!(host.told(), ["made k 2000", "added k a,b"]);
    host.ask("CF.RESERVE l 4 EXPANSION 0 ERROR 0.00000001")
        .unwrap();
    host.told();
    let most = host.filter("l").max_capacity();
    let items: Vec<_> = (0..9).map(|item: u32| item.to_string()).collect();
    let words: Vec<_> = items.iter().map(|item| item.as_bytes()).collect();
    let answers = host.ask_together("CF.ADD", b"l", &words);
    let full = Reply::error("Filter is full");
    assert!(answers[..most].iter().all(|it| *it == Reply::Bool(true)));
    assert!(answers[most..].iter().all(|it| *it == full));
    assert_eq!(
        host.told(),
        [format!("added l {}", items[..most].join(","))]
    );
    for refused in [&b"list"[..], b"k"] {
        host.is_full.set(refused == b"k");
        let answers = host.ask_together("CF.ADD", refused, &[b"a", b"b"]);
        assert!(answers.len() == 2 && answers.iter().all(Reply::is_error));
    }
    let exists = |key: &[u8]| host.ask_together("CF.EXISTS", key, &[b"a"]);
    assert_eq!(exists(b"list"), [Reply::error("WRONGTYPE")]);
    assert_eq!(exists(b"k"), [Reply::Bool(true)]);
    assert_eq!(exists(b"none"), [Reply::Bool(false)]);
    assert_eq!(host.told(), Vec::<String>::new());
}

#[test]
fn a_host_that_is_full_refuses_what_adds_and_nothing_else() {
    let host = Host::new(false);
    host.ask("CF.ADD k a").unwrap();
    host.is_full.set(true);
    host.told();
    for line in [
        "CF.ADD k b",
        "CF.ADDCOUNT k b",
        "CF.ADDNX k b",
        "CF.INSERT k ITEMS b",
        "CF.INSERTNX k ITEMS b",
    ] {
        assert!(refusal(host.ask(line)).starts_with("OOM "), "{line}");
    }
    assert_eq!(host.told(), Vec::<String>::new());
    assert_eq!(host.ask("CF.DEL k a"), Ok(Reply::Bool(true)));
}

/// Every command returns an error if its key has another type, or if the number of arguments is
/// wrong.
#[test]
fn every_command_refuses_other_keys_and_too_few_words() {
    let host = Host::new(false);
    for command in commands::<Host>() {
        assert!(!command.takes(1));
        let refused = (command.run)(&host, &[command.name.as_bytes()]);
        let name = command.name.to_lowercase();
        let expected = format!("ERR wrong number of arguments for '{name}' command");
        assert_eq!(refusal(refused), expected);
    }
    for line in [
        "CF.ADD list a",
        "CF.ADDCOUNT list a",
        "CF.ADDNX list a",
        "CF.COMPACT list",
        "CF.COUNT list a",
        "CF.DEBUG list",
        "CF.DEL list a",
        "CF.EXISTS list a",
        "CF.INFO list",
        "CF.INSERT list ITEMS a",
        "CF.INSERTNX list ITEMS a",
        "CF.MEXISTS list a",
        "CF.SCANDUMP list 1",
    ] {
        assert_eq!(refusal(host.ask(line)), "WRONGTYPE", "{line}");
    }
    assert_eq!(host.told(), Vec::<String>::new());
}

/// Fills a filter in the middle of its snapshots, which are nested `depth` deep.
struct Filling<'a> {
    host: &'a Host,
    depth: u32,
    written: usize,
}

impl Write for Filling<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let before = self.written;
        self.written += bytes.len();
        match self.depth {
            // Only the piece at the middle triggers an action, once.
            _ if before >= MIDST || self.written < MIDST => {}
            0 => {
                let fill = |item| self.host.ask(&format!("CF.ADD k {item}"));
                let refused = (0..CAPACITY).map(fill).find_map(Result::err);
                self.host
                    .tell("refused", b"k", refused.map(|it| refusal(Err(it))));
            }
            depth => self.host.filter("k").write_to(Self {
                depth: depth - 1,
                written: 0,
                ..*self
            })?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const CAPACITY: usize = 10_000;
const MIDST: usize = 5_000;

/// Paused snapshots do not block inserts, so no insert asks whether to wait.
#[test]
fn no_insert_waits_for_a_snapshot() {
    let host = Host::new(true);
    let reserve = format!("CF.RESERVE k {CAPACITY} EXPANSION 0");
    host.ask(&reserve).unwrap();
    let filling = Filling {
        host: &host,
        depth: 100,
        written: 0,
    };
    host.filter("k").write_to(filling).unwrap();
    assert_eq!(host.told().last().map(|line| &**line), Some("refused k"));
    assert_eq!(host.waits.get(), 0);
    assert_eq!(host.filter("k").len(), CAPACITY);
}

/// A copy that is made from the reported effects has the same contents, although it is made of
/// batches.
#[test]
fn a_copy_made_from_effects_has_the_same_digest() {
    let (host, copy) = (Host::new(true), Host::new(false));
    host.ask("CF.RESERVE k 1000").unwrap();
    let first = host.filter("k");
    host.told();
    let header = Header::from_bytes(&Header::of(&first).to_bytes()).unwrap();
    let like_it = Filter::from_header(&first.header(), header, Clock::Process, MEMORY).unwrap();
    assert_eq!(like_it.options(), first.options());
    copy.filters
        .borrow_mut()
        .insert((*b"k").into(), like_it.into());
    for round in 0..2_000_u32 {
        let item = round.wrapping_mul(2_654_435_761) % 500;
        let line = match round % 5 {
            0 => format!("CF.DEL k {item}"),
            1 => format!("CF.ADDNX k {item}"),
            2 => format!("CF.ADD k {item}"),
            3 => format!("CF.ADDCOUNT k {item}"),
            _ => format!("CF.INSERTNX k ITEMS {item} {round} {}", round / 2),
        };
        let answer = host.ask(&line);
        let told = host.told();
        // The insert may be refused because two buckets are full of copies.
        assert!(answer.is_ok() || told == ["added k"], "{line}");
        for told in told {
            match *told.split(' ').collect::<Vec<_>>() {
                ["added", "k", items] => {
                    let items = items.replace(',', " ");
                    copy.ask(&format!("CF.INSERT k NOCREATE ITEMS {items}"))
                        .unwrap();
                }
                ["removed", "k", item] => {
                    copy.ask(&format!("CF.DEL k {item}")).unwrap();
                }
                _ => assert_eq!(told, "added k"),
            }
        }
    }
    assert!(first.len() > 1_000);
    assert_eq!(copy.filter("k").digest(), first.digest());
    assert_eq!(copy.filter("k").deleted(), first.deleted());
}

#[test]
fn a_dump_is_loaded_under_another_name() {
    let host = Host::new(true);
    for item in 0..1_000 {
        host.ask(&format!("CF.ADD k {item}")).unwrap();
    }
    host.ask("CF.DEL k 7").unwrap();
    let mut position = 0_u64;
    loop {
        let Ok(Reply::Array(reply)) = host.ask(&format!("CF.SCANDUMP k {position}")) else {
            panic!("no piece at {position}");
        };
        let [Reply::Integer(next), Reply::Bulk(piece)] = &reply[..] else {
            assert_eq!(reply, [Reply::Integer(0), Reply::Null]);
            break;
        };
        position = *next as u64;
        let next = next.to_string();
        let loaded = host.ask_words(&[b"CF.LOADCHUNK", b"copy", next.as_bytes(), piece]);
        assert_eq!(loaded, Ok(Reply::OK));
    }
    let (filter, copy) = (host.filter("k"), host.filter("copy"));
    assert_eq!(copy.digest(), filter.digest());
    assert_eq!(copy.options(), filter.options());
    assert_eq!(copy.deleted(), 1);
}

/// Several calls at once have the same replies and effects as single calls.
#[test]
fn calls_together_are_calls_one_by_one() {
    let mut found = 0;
    for command in &commands::<Host>() {
        let Some(together) = command.together else {
            continue;
        };
        found += 1;
        assert_eq!(command.arity, 3, "{}", command.name);
        let items: &[&[u8]] = &[b"a", b"b", b"a"];
        let (one_by_one, at_once) = (Host::new(true), Host::new(true));
        let replies = items.iter().map(|item| {
            let words = [command.name.as_bytes(), b"k", item];
            one_by_one.ask_words(&words).unwrap()
        });
        let expected: Vec<_> = replies.collect();
        let mut replies = Vec::new();
        together(&at_once, b"k", items, &mut |reply| replies.push(reply));
        assert_eq!(replies, expected, "{}", command.name);
        let count = |host: &Host| host.filters.borrow().get(&b"k"[..]).map(|it| it.len());
        assert_eq!(count(&one_by_one), count(&at_once), "{}", command.name);
    }
    assert!(found >= 2, "{found}");
}
