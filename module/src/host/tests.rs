//! Commands without an engine: their replies, and what is replicated.

use super::*;
use crate::windows::Pass;
use crate::{
    effects::{Shape, Word},
    engine::Memory as EngineMemory,
    entry::tests::some_filter,
    slot::FakeKey,
};
use guira_commands::{Command, Effect, commands};

const CLIENT: Flags = Flags::of(false, false, false);
const PRIMARY: Flags = Flags::of(true, false, false);

/// What a command did.
#[derive(Debug)]
struct Done {
    reply: Reply,
    /// The replicated commands, as words.
    told: Vec<Vec<Vec<u8>>>,
}

/// Does the command, all of whose words are given.
fn run(key: &mut FakeKey, flags: Flags, words: &[&[u8]]) -> Done {
    let effects = RefCell::new(Effects::default());
    let windows = key.windows.clone();
    let host = Host::new(words, std::mem::take(key), &effects, flags, &windows);
    let name = str::from_utf8(words[0]).unwrap();
    let (shape, answer) = match name {
        "CF.MAKE" => (Shape::of_replication(Effect::Make), host.make_as_told()),
        "CF.AGE" => (Shape::of_replication(Effect::None), host.age_as_told()),
        _ => {
            let commands = commands::<Host<'_, FakeKey>>();
            let named = |command: &&Command<_>| command.name == name;
            let command = commands.iter().find(named).unwrap();
            (Shape::of(command), (command.run)(&host, words))
        }
    };
    *key = host.into_key();
    let effects = effects.into_inner();
    let told = effects.told(shape);
    assert_eq!(told.is_empty(), effects.is_empty());
    let word = |word: &Word<'_>| match *word {
        Word::Own(index) => words[index].to_vec(),
        Word::Bytes(bytes) => bytes.to_vec(),
    };
    for told in told.iter().filter(|told| told.is_verbatim) {
        assert_eq!(told.command.to_bytes(), words[0]);
        assert!(
            told.arguments
                .iter()
                .map(word)
                .eq(words[1..].iter().map(|word| word.to_vec()))
        );
    }
    let words_of = |told: &crate::effects::Told<'_>| {
        let name = told.command.to_bytes().to_vec();
        std::iter::once(name)
            .chain(told.arguments.iter().map(word))
            .collect()
    };
    Done {
        reply: crate::reply::of(answer),
        told: told.iter().map(words_of).collect(),
    }
}

/// The same, of words that are split at spaces.
fn ask(key: &mut FakeKey, words: &str) -> Done {
    let words: Vec<_> = words.split(' ').map(str::as_bytes).collect();
    run(key, CLIENT, &words)
}

/// Tells it to a replica, which must do all of it.
fn tell(replica: &mut FakeKey, done: &Done) {
    for told in &done.told {
        if told[0] == b"DEL" {
            replica.delete().unwrap();
            continue;
        }
        let words: Vec<_> = told.iter().map(|word| &word[..]).collect();
        let there = run(replica, PRIMARY, &words);
        assert!(!there.reply.is_error(), "{:?}", there.reply);
        assert!(words[0] == b"CF.ADDTOUCH" || there.reply != Reply::Bool(false));
        // A replica of a replica receives the same.
        assert_eq!(there.told, std::slice::from_ref(told));
    }
}

fn digest(key: &FakeKey) -> Option<Vec<u8>> {
    key.entry.as_ref().map(crate::engine::Value::digest)
}

fn names(done: &Done) -> Vec<&str> {
    done.told
        .iter()
        .map(|words| str::from_utf8(&words[0]).unwrap())
        .collect()
}

fn filter(key: &FakeKey) -> &Filter {
    match key.entry.as_ref().map(Entry::content) {
        Some(Content::Filter(filter)) => filter,
        other => panic!("no filter: {other:?}"),
    }
}

/// With the seed of each filter being random, this fails as soon as a command tells anything but its
/// effects.
#[test]
fn a_replica_that_is_told_the_effects_has_the_same_digest() {
    let (mut primary, mut replica) = (FakeKey::default(), FakeKey::default());
    let cases: [(&str, &[&str]); 19] = [
        ("CF.EXISTS k a", &[]),
        ("CF.ADD k a", &["CF.MAKE", "CF.ADD"]),
        ("CF.ADD k a", &["CF.ADD"]),
        ("CF.ADDNX k a", &[]),
        ("CF.ADDNX k b", &["CF.ADDNX"]),
        ("CF.INSERT k ITEMS c d c", &["CF.INSERT"]),
        (
            "CF.INSERTNX k CAPACITY 50 NOCREATE ITEMS a e c e",
            &["CF.INSERT"],
        ),
        ("CF.INSERTNX k ITEMS a e", &[]),
        ("CF.DEL k a", &["CF.DEL"]),
        ("CF.DEL k z", &[]),
        ("CF.COMPACT k", &[]),
        ("CF.MEXISTS k a b", &[]),
        ("CF.MADD k f f g", &["CF.INSERT"]),
        ("CF.MADD k g", &["CF.INSERT"]),
        ("CF.MDEL k f z g", &["CF.DEL", "CF.DEL"]),
        ("CF.MDEL k f", &["CF.DEL"]),
        ("CF.MDEL k f z", &[]),
        ("CF.RESERVE k 100", &[]),
        ("CF.SCANDUMP k 0", &[]),
    ];
    for (words, expected) in cases {
        let done = ask(&mut primary, words);
        assert_eq!(names(&done), expected, "{words}");
        tell(&mut replica, &done);
        assert_eq!(digest(&primary), digest(&replica), "{words}");
    }
    assert_eq!(filter(&primary).len(), 7);
}

#[test]
fn only_what_was_added_is_told() {
    let mut key = FakeKey::default();
    ask(&mut key, "CF.ADD k a");
    let done = ask(&mut key, "CF.INSERTNX k ITEMS a b b c");
    assert_eq!(done.reply, Reply::Integers(vec![0, 1, 0, 1]));
    let words: Vec<_> = "CF.INSERT k NOCREATE ITEMS b c"
        .split(' ')
        .map(Vec::from)
        .collect();
    assert_eq!(done.told, [words]);
}

#[test]
fn a_filter_that_was_made_is_told_also_if_the_command_fails_then() {
    let (mut primary, mut replica) = (FakeKey::default(), FakeKey::default());
    let items: Vec<String> = (0..100).map(|item| item.to_string()).collect();
    let done = ask(&mut primary, "CF.RESERVE k 4 EXPANSION 0");
    assert_eq!(names(&done), ["CF.MAKE"]);
    tell(&mut replica, &done);
    let done = ask(
        &mut primary,
        &format!("CF.INSERT k ITEMS {}", items.join(" ")),
    );
    let Reply::Insertions(inserted) = &done.reply else {
        panic!("{done:?}");
    };
    let count = inserted.iter().filter(|inserted| **inserted).count();
    assert_eq!(
        count,
        filter(&primary).max_capacity(),
        "the primary is strict"
    );
    assert_eq!(done.told[0].len(), 4 + count);
    tell(&mut replica, &done);
    assert_eq!(digest(&primary), digest(&replica));
    let done = ask(&mut primary, "CF.ADD k one-more");
    assert_eq!(done.reply, Reply::error("Filter is full"));
    assert_eq!(names(&done), [""; 0]);
}

#[test]
fn a_replica_takes_more_than_its_filter_promises() {
    let mut key = FakeKey::default();
    ask(&mut key, "CF.RESERVE k 100 EXPANSION 0");
    for item in 0..100 {
        assert_eq!(
            ask(&mut key, &format!("CF.ADD k {item}")).reply,
            Reply::Bool(true)
        );
    }
    assert_eq!(
        ask(&mut key, "CF.ADD k 100").reply,
        Reply::error("Filter is full")
    );
    let done = run(&mut key, PRIMARY, &[b"CF.ADD", b"k", b"100"]);
    assert_eq!(done.reply, Reply::Bool(true));
}

#[test]
fn to_make_as_told_is_for_replicas() {
    let filter = some_filter(10);
    let (options, header) = (Header::of(&filter).to_bytes(), filter.header());
    let words: [&[u8]; 4] = [b"CF.MAKE", b"k", &options, &header];
    let mut key = FakeKey::default();
    let refused = run(&mut key, CLIENT, &words);
    assert!(refused.reply.is_error() && refused.told.is_empty() && key.entry.is_none());
    let done = run(&mut key, PRIMARY, &words);
    assert_eq!((done.reply, done.told.len()), (Reply::OK, 1));
    for bad in [
        [b"CF.MAKE", &b"k"[..], b"x", &header],
        [b"CF.MAKE", b"k", &options, b"x"],
    ] {
        let mut key = FakeKey::default();
        let refused = run(&mut key, PRIMARY, &bad);
        assert!(refused.reply.is_error() && refused.told.is_empty() && key.entry.is_none());
    }
    assert!(run(&mut key, PRIMARY, &words[..3]).reply.is_error());
}

/// The pieces of a dump, with the position that each is loaded at.
fn dump(key: &mut FakeKey) -> Vec<(u64, Vec<u8>)> {
    let mut pieces = Vec::new();
    let mut position = 0;
    loop {
        let Reply::Array(reply) = ask(key, &format!("CF.SCANDUMP k {position}")).reply else {
            panic!("no dump");
        };
        match &reply[..] {
            [Reply::Integer(0), Reply::Null] => return pieces,
            [Reply::Integer(next), Reply::Bulk(piece)] => {
                position = u64::try_from(*next).unwrap();
                pieces.push((position, piece.clone()));
            }
            other => panic!("{other:?}"),
        }
    }
}

fn load(key: &mut FakeKey, (position, piece): &(u64, Vec<u8>)) -> Done {
    let position = position.to_string();
    run(
        key,
        CLIENT,
        &[b"CF.LOADCHUNK", b"k", position.as_bytes(), piece],
    )
}

fn large() -> FakeKey {
    let mut key = FakeKey::default();
    ask(&mut key, "CF.RESERVE k 1000000 EXPANSION 0");
    for item in 0..1000 {
        ask(&mut key, &format!("CF.ADD k {item}"));
    }
    key
}

#[test]
fn each_piece_that_is_loaded_is_told() {
    let mut source = large();
    let pieces = dump(&mut source);
    assert!(pieces.len() > 2);
    let (mut primary, mut replica) = (FakeKey::default(), FakeKey::default());
    for piece in &pieces {
        let done = load(&mut primary, piece);
        assert_eq!(done.reply, Reply::OK);
        assert_eq!(names(&done), ["CF.LOADCHUNK"]);
        tell(&mut replica, &done);
        assert_eq!(digest(&primary), digest(&replica));
        if piece != pieces.last().unwrap() {
            for words in ["CF.ADD k a", "CF.EXISTS k a", "CF.DEL k a", "CF.INFO k"] {
                let refused = ask(&mut primary, words);
                assert_eq!(
                    refused.reply,
                    Reply::error("ERR the filter is being loaded")
                );
                assert!(refused.told.is_empty());
            }
            let refused = ask(&mut primary, "CF.RESERVE k 100");
            assert_eq!(refused.reply, Reply::error("ERR item exists"));
        }
    }
    assert_eq!(digest(&replica), digest(&source));
    // It is a filter now.
    let refused = load(&mut primary, &pieces[0]);
    assert_eq!(refused.reply, Reply::error("ERR item exists"));
    let refused = load(&mut primary, &pieces[1]);
    assert_eq!(refused.reply, Reply::error("Couldn't load chunk!"));
    assert!(refused.told.is_empty());
}

#[test]
fn a_load_that_fails_takes_its_key_away() {
    let mut source = large();
    let mut pieces = dump(&mut source);
    pieces.last_mut().unwrap().1[0] ^= 1;
    let (mut primary, mut replica) = (FakeKey::default(), FakeKey::default());
    let mut last = None;
    for piece in &pieces {
        let done = load(&mut primary, piece);
        tell(&mut replica, &done);
        last = Some(done);
    }
    let last = last.unwrap();
    assert_eq!(last.reply, Reply::error("Couldn't load chunk!"));
    assert_eq!(names(&last), ["DEL"]);
    assert!(primary.entry.is_none() && replica.entry.is_none());
    assert_eq!(
        load(&mut primary, &pieces[1]).reply,
        Reply::error("ERR not found")
    );
    // A piece that is out of order is refused, and the load continues.
    load(&mut primary, &pieces[0]);
    let refused = load(&mut primary, &pieces[2]);
    assert_eq!(refused.reply, Reply::error("Couldn't load chunk!"));
    assert!(refused.told.is_empty() && primary.entry.is_some());
    assert_eq!(load(&mut primary, &pieces[1]).reply, Reply::OK);
    // A header restarts the load.
    assert_eq!(load(&mut primary, &pieces[0]).reply, Reply::OK);
    assert_eq!(load(&mut primary, &pieces[1]).reply, Reply::OK);
}

#[test]
fn other_types_are_left_alone() {
    for command in commands::<Host<'_, FakeKey>>() {
        let words: &[&[u8]] = match command.name {
            "CF.INSERT" | "CF.INSERTNX" => &[b"", b"k", b"ITEMS", b"a"],
            "CF.LOADCHUNK" => &[b"", b"k", b"7", b"a"],
            "CF.RESERVE" => &[b"", b"k", b"100"],
            "CF.SCANDUMP" => &[b"", b"k", b"0"],
            _ if command.arity == 2 => &[b"", b"k"],
            _ => &[b"", b"k", b"a"],
        };
        let words = [&[command.name.as_bytes()], &words[1..]].concat();
        let mut key = FakeKey {
            is_of_other_type: true,
            ..FakeKey::default()
        };
        let refused = run(&mut key, CLIENT, &words);
        assert_eq!(refused.reply, WRONG_TYPE, "{}", command.name);
        assert!(refused.told.is_empty());
    }
}

#[test]
fn filters_stay_within_their_size() {
    let mut key = FakeKey::default();
    let cases = [
        (
            "CF.RESERVE k 1000000000",
            "OOM the filter needs 1333333328 bytes, and guira.max-filter-bytes is 134217728",
        ),
        (
            "CF.RESERVE k 1000 MAXCAPACITY 1000000000",
            "OOM with MAXCAPACITY items the filter needs 1333333328 bytes, and \
             guira.max-filter-bytes is 134217728",
        ),
    ];
    for (words, expected) in cases {
        let refused = ask(&mut key, words);
        assert_eq!(refused.reply, Reply::Error(expected.into()));
        assert!(key.entry.is_none() && refused.told.is_empty());
    }
    // What it may grow to is within, too.
    ask(&mut key, "CF.RESERVE k 10000000");
    let (now, then) = (filter(&key).capacity(), filter(&key).max_capacity());
    assert!(now >= 10_000_000 && then < 100_000_000, "{now} to {then}");
}

#[test]
fn a_filter_for_which_there_is_no_memory_is_not_made() {
    let large = "CF.RESERVE k 10000000 EXPANSION 0";
    let words: Vec<_> = large.split(' ').map(str::as_bytes).collect();
    // The engine has counted the new table when it is asked.
    let cases = [
        (Flags::of(false, true, false), 99, 100, true),
        (Flags::of(false, true, false), 101, 100, false),
        (Flags::of(false, true, true), 101, 100, true),
        (Flags::of(false, true, true), 10, 9, false),
        (PRIMARY, 200, 1, true),
        (CLIENT, 200, 1, true),
    ];
    for (flags, used, limit, fits) in cases {
        let mut key = FakeKey {
            memory: Some(EngineMemory {
                used: used << 20,
                limit: limit << 20,
            }),
            ..FakeKey::default()
        };
        let done = run(&mut key, flags, &words);
        assert_eq!(
            done.reply == Reply::OK,
            fits,
            "{flags:?} {used} {limit}: {done:?}"
        );
        assert_eq!(key.entry.is_some(), fits);
    }
}

/// Lets time pass for a primary and its replica.
fn pass(keys: &[&FakeKey], milliseconds: u64) {
    let pass = Pass {
        milliseconds,
        wall: 0,
        is_idle: false,
    };
    assert_eq!(
        Pass::from_words(&pass.words().each_ref().map(|word| word.as_bytes())),
        Some(pass)
    );
    keys.iter().for_each(|key| key.windows.pass(pass));
}

/// With a window of two seconds and two steps.
#[test]
fn a_replica_forgets_as_the_primary_does() {
    let (mut primary, mut replica) = (FakeKey::default(), FakeKey::default());
    let mut step = |words: &str, reply: Reply, expected: &[&str], time: u64| {
        let done = ask(&mut primary, words);
        assert_eq!(done.reply, reply, "{words}");
        assert_eq!(names(&done), expected, "{words}");
        tell(&mut replica, &done);
        pass(&[&primary, &replica], time);
        assert_eq!(digest(&primary), digest(&replica), "{words}");
    };
    let (yes, no) = (Reply::Bool(true), Reply::Bool(false));
    let ok = Reply::OK;
    step("CF.RESERVE k 100 WINDOW 2 EPOCHS 2", ok, &["CF.MAKE"], 7);
    // Step 0.
    step("CF.ADDNX k a", yes.clone(), &["CF.ADDTOUCH"], 0);
    step("CF.ADDNX k a", no.clone(), &[], 0);
    step("CF.ADD k b", yes.clone(), &["CF.ADD"], 0);
    let reply = Reply::Integers(vec![0, 1]);
    step("CF.INSERTNX k ITEMS a c", reply, &["CF.INSERT"], 0);
    step("CF.TOUCH k x", no.clone(), &[], 1001);
    // Step 1.
    step("CF.TOUCH k a", yes.clone(), &["CF.ADDTOUCH"], 0);
    step("CF.ADDTOUCH k b", no.clone(), &["CF.ADDTOUCH"], 0);
    step("CF.ADDTOUCH k d", yes.clone(), &["CF.ADDTOUCH"], 1001);
    step("CF.EXISTS k c", yes.clone(), &[], 1001);
    // Step 3: what was there in step 0 is gone.
    step("CF.EXISTS k c", no.clone(), &[], 0);
    step("CF.EXISTS k a", yes.clone(), &[], 0);
    step("CF.DEL k a", yes.clone(), &["CF.DEL"], 0);
    step("CF.DEL k a", no.clone(), &[], 1001);
    step("CF.EXISTS k b", no.clone(), &[], 0);
    step("CF.EXISTS k d", no, &[], 0);
    let refusal = "A filter with a window does not grow: there is nothing to compact";
    step("CF.COMPACT k", Reply::error(refusal), &[], 0);
}

/// The thread that sweeps may be late.
#[test]
fn what_is_forgotten_leaves_its_room_at_once() {
    let mut key = FakeKey::default();
    ask(&mut key, "CF.RESERVE k 1000 WINDOW 2 EPOCHS 2");
    let mut fill = |words: &str| {
        let filter = filter(&key);
        let window = filter.window().unwrap();
        for _ in 0..3 {
            window.make_older(Duration::from_secs(1));
            assert!(window.begin_due_epoch());
        }
        assert!(!window.is_swept());
        let before = filter.len();
        let first = ask(&mut key, words).reply;
        let more = (0..5000).take_while(|item| {
            let words = format!("{words}{item}");
            !ask(&mut key, &words).reply.is_error()
        });
        // Some items look like others, and are not added.
        assert!((1749..1800).contains(&more.count()), "{words}");
        (before, first)
    };
    let yes = Reply::Bool(true);
    assert_eq!(fill("CF.ADD k a"), (0, yes.clone()));
    assert_eq!(fill("CF.ADDNX k b"), (1750, yes.clone()));
    assert_eq!(fill("CF.ADDTOUCH k c"), (1750, yes));
}

/// A node to which a slot moves hears nothing of the time of the other one.
#[test]
fn what_is_told_is_right_also_where_items_live_longer() {
    let (mut primary, mut late) = (FakeKey::default(), FakeKey::default());
    tell(
        &mut late,
        &ask(&mut primary, "CF.RESERVE k 100 WINDOW 2 EPOCHS 2"),
    );
    tell(&mut late, &ask(&mut primary, "CF.ADDNX k a"));
    pass(&[&primary], 0);
    pass(&[&late], 0);
    (0..3).for_each(|_| pass(&[&primary], 1001));
    (0..2).for_each(|_| pass(&[&late], 1001));
    let done = ask(&mut primary, "CF.ADDNX k a");
    assert_eq!(done.reply, Reply::Bool(true));
    tell(&mut late, &done);
    (0..2).for_each(|_| pass(&[&late], 1001));
    assert_eq!(ask(&mut late, "CF.EXISTS k a").reply, Reply::Bool(true));
}

#[test]
fn a_filter_with_a_window_is_loaded_and_within_its_size() {
    let (mut primary, mut replica) = (FakeKey::default(), FakeKey::default());
    ask(&mut primary, "CF.RESERVE k 300000 WINDOW 60");
    ask(&mut primary, "CF.ADD k a");
    let pieces = dump(&mut primary);
    let (mut loaded, before) = (FakeKey::default(), digest(&primary));
    for piece in &pieces {
        let done = load(&mut loaded, piece);
        assert_eq!(done.reply, Reply::OK);
        tell(&mut replica, &done);
        assert_eq!(digest(&loaded), digest(&replica));
    }
    assert_eq!(digest(&loaded), before);
    assert_eq!(loaded.windows.count(), 1);
    let refused = ask(&mut FakeKey::default(), "CF.RESERVE k 90000000 WINDOW 60");
    let Reply::Error(text) = &refused.reply else {
        panic!("{refused:?}");
    };
    assert!(text.starts_with("OOM the filter needs "), "{text}");
}

#[test]
fn the_age_of_a_filter_is_for_files() {
    let mut key = FakeKey::default();
    ask(&mut key, "CF.RESERVE k 100 WINDOW 60");
    let saved = Saved {
        has_begun: true,
        wall: 9,
    };
    let bytes = saved.to_bytes();
    assert_eq!(Saved::from_bytes(&bytes), Some(saved));
    for bit in 0..8 * bytes.len() {
        let mut changed = bytes;
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Saved::from_bytes(&changed), None);
    }
    let words: [&[u8]; 4] = [b"CF.AGE", b"k", b"4321", &bytes];
    let refused = run(&mut key, CLIENT, &words);
    assert!(refused.reply.is_error() && refused.told.is_empty());
    // Where a slot moves to, it is left out.
    assert_eq!(run(&mut key, PRIMARY, &words).reply, Reply::OK);
    let has_begun = |key: &FakeKey| filter(key).window().unwrap().has_begun();
    assert!(!has_begun(&key));
    assert_eq!(run(&mut key, Flags::LOADING_FILE, &words).reply, Reply::OK);
    assert!(has_begun(&key));
}

/// Replicas learn of each item of a command, not only of the first.
#[test]
fn replicas_learn_of_all_items_of_a_command() {
    let words: [&[u8]; 5] = [b"CF.MANY", b"k", b"a", b"b", b"a"];
    let told = |effects: &Effects, effect| -> Vec<Vec<Vec<u8>>> {
        let told = effects.told(Shape::of_replication(effect));
        assert!(told.iter().all(|told| !told.is_verbatim));
        let word = |word: &Word<'_>| match *word {
            Word::Own(index) => words[index].to_vec(),
            Word::Bytes(bytes) => bytes.to_vec(),
        };
        let all = told.iter().map(|told| {
            let name = std::iter::once(told.command.to_bytes().to_vec());
            name.chain(told.arguments.iter().map(word)).collect()
        });
        all.collect()
    };
    let each = |name: &[u8]| [&b"a"[..], b"a"].map(|item| [name, b"k", item].map(<[u8]>::to_vec));
    let some = || [words[2], words[4]].into_iter();
    let mut removed = Effects::default();
    removed.removed(&words, some());
    assert!(!removed.is_empty());
    assert_eq!(told(&removed, Effect::Delete), each(b"CF.DEL"));
    let mut touched = Effects::default();
    touched.touched(&words, some());
    assert!(!touched.is_empty());
    assert_eq!(told(&touched, Effect::AddOrTouch), each(b"CF.ADDTOUCH"));
}
