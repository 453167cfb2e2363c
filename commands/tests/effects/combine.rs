//! Keys that are like others, and keys that are combined.

use super::host::{Host, refusal};
use guira_commands::{
    Filter, Reply, Sources,
    dump::{Header, LENGTH_BYTES},
};
use guira_hostile::{fix_checksum, rounds};
use std::sync::Arc;

/// Asks for each line, which must succeed.
fn ask_all(host: &Host, lines: &[&str]) {
    for line in lines {
        let answer = host.ask(line);
        assert!(answer.is_ok(), "{line}: {answer:?}");
    }
}

fn digest(host: &Host, key: &str) -> Reply {
    host.ask(&format!("CF.DIGEST {key}")).unwrap()
}

fn counts(host: &Host, key: &str, items: &[&[u8]]) -> Vec<usize> {
    let filter = host.filter(key);
    items.iter().map(|item| filter.count(item)).collect()
}

const ITEMS: &[&[u8]] = &[b"a", b"b", b"c"];

/// With and without a window and counters, fixed and growing.
const KINDS: [&str; 7] = [
    "CF.RESERVE x 1000 ERROR 0.0000001",
    "CF.RESERVE x 1000 EXPANSION 0 ERROR 0.0000001",
    "CF.RESERVE x 1000 COUNTERS 8 ERROR 0.000001",
    "CF.RESERVE x 1000 WINDOW 3600 ERROR 0.0000001",
    "CF.RESERVE x 1000 WINDOW 3600 EPOCHS 3 EXPANSION 0 ERROR 0.0000001",
    "CF.RESERVE x 1000 WINDOW 3600 COUNTERS 4 ERROR 0.000001",
    "CF.RESERVE x 1000 WINDOW 3600 COUNTERS 8 EXPANSION 0 ERROR 0.00001",
];

#[test]
fn a_key_like_another_has_its_options_and_its_hash_function() {
    for kind in KINDS {
        let host = Host::new(true);
        ask_all(
            &host,
            &[kind, "CF.RESERVE y LIKE x", "CF.RESERVE z 1000 like x"],
        );
        let (x, y) = (host.filter("x"), host.filter("y"));
        assert_eq!(
            (x.header(), x.options()),
            (y.header(), y.options()),
            "{kind}"
        );
        assert_eq!(digest(&host, "x"), digest(&host, "z"), "{kind}");
        ask_all(&host, &["CF.ADD x a", "CF.ADD y a"]);
        assert_eq!(digest(&host, "x"), digest(&host, "y"), "{kind}");
        assert_ne!(digest(&host, "x"), digest(&host, "z"), "{kind}");
        // Without it, each key has a seed of its own.
        host.filters.borrow_mut().remove(&b"z"[..]);
        ask_all(&host, &[&kind.replace(" x ", " z ")]);
        assert_ne!(host.filter("z").header(), x.header(), "{kind}");
    }
}

#[test]
fn a_seed_makes_keys_that_combine() {
    let [here, there] = [(); 2].map(|()| Host::new(true));
    for host in [&here, &there] {
        ask_all(
            host,
            &["CF.RESERVE x 1000 SEED 18446744073709551615", "CF.ADD x a"],
        );
        ask_all(host, &["CF.INSERT y seed 7 CAPACITY 100 ITEMS a b"]);
    }
    assert_eq!(digest(&here, "x"), digest(&there, "x"));
    assert_eq!(digest(&here, "y"), digest(&there, "y"));
    for seed in ["-1", "18446744073709551616", "x", "+5", "07"] {
        let refused = refusal(here.ask(&format!("CF.RESERVE z 1000 SEED {seed}")));
        let expected = "SEED: value must be in the range [0, 18446744073709551615]";
        assert_eq!(refused, expected, "{seed}");
    }
}

#[test]
fn what_contradicts_the_other_key_is_named() {
    let host = Host::new(true);
    ask_all(&host, &["CF.RESERVE x 1000"]);
    host.told();
    for (line, refused) in [
        (
            "CF.RESERVE y 500 LIKE x",
            "LIKE takes the capacity from the other key, which is 1000, and not 500",
        ),
        (
            "CF.RESERVE y 1000 error 0.01 LIKE x",
            "LIKE takes ERROR from the other key: leave it out",
        ),
        (
            "CF.RESERVE y LIKE x SEED 3",
            "LIKE takes SEED from the other key: leave it out",
        ),
        (
            "CF.RESERVE y LIKE none",
            "ERR the key 'none' does not exist",
        ),
        ("CF.RESERVE y LIKE list", "WRONGTYPE"),
        ("CF.RESERVE x LIKE x", "ERR item exists"),
        ("CF.RESERVE y many LIKE x", "Bad capacity"),
        (
            "CF.RESERVE y 1000 COLOR 5 LIKE x",
            "Unknown argument received",
        ),
        ("CF.INSERT y LIKE x ITEMS a", "Unknown argument received"),
    ] {
        assert_eq!(refusal(host.ask(line)), refused, "{line}");
    }
    assert_eq!(host.told(), Vec::<String>::new());
    assert_eq!(host.filters.borrow().len(), 1);
}

/// Copies add up in a merge; in a union, the larger number stays.
#[test]
fn keys_are_merged_and_united() {
    for kind in KINDS {
        let host = Host::new(true);
        ask_all(&host, &[kind, "CF.RESERVE y LIKE x", "CF.RESERVE z LIKE x"]);
        ask_all(
            &host,
            &["CF.MADD x a a b", "CF.MADD y a b b", "CF.MADD z c"],
        );
        host.told();
        // A key that does not exist becomes like the first of the others.
        ask_all(&host, &["CF.MERGE m x y z", "CF.UNION u x y z"]);
        let told = host.told();
        assert!(told.ends_with(&["combined u".into()]), "{kind}: {told:?}");
        assert_eq!(counts(&host, "m", ITEMS), [3, 3, 1], "{kind}");
        assert_eq!(counts(&host, "u", ITEMS), [2, 2, 1], "{kind}");
        // The others stay as they are.
        assert_eq!(counts(&host, "x", ITEMS), [2, 1, 0], "{kind}");
        // A key that exists gets the rest.
        ask_all(
            &host,
            &["CF.UNION x y z", "CF.UNION x y z", "CF.MERGE y z z"],
        );
        assert_eq!(
            host.told(),
            ["combined x"; 4]
                .iter()
                .chain(&["combined y"; 2])
                .copied()
                .collect::<Vec<_>>()
        );
        assert_eq!(digest(&host, "x"), digest(&host, "u"), "{kind}");
        assert_eq!(counts(&host, "y", ITEMS), [1, 2, 2], "{kind}");
    }
}

/// An intersection keeps the smaller number of copies, a difference none of what another key has.
#[test]
fn keys_are_intersected_and_subtracted() {
    for kind in KINDS {
        let host = Host::new(true);
        ask_all(&host, &[kind, "CF.RESERVE y LIKE x", "CF.RESERVE z LIKE x"]);
        ask_all(
            &host,
            &[
                "CF.MADD x a a a b c",
                "CF.MADD y a a b",
                "CF.MADD z a a a c",
            ],
        );
        host.told();
        // A key that does not exist becomes like the first of the others, but has nothing that is removed.
        ask_all(&host, &["CF.INTERSECT i x y", "CF.INTERSECT j i z z"]);
        assert!(host.told().ends_with(&["combined j".into()]), "{kind}");
        assert_eq!(counts(&host, "i", ITEMS), [2, 1, 0], "{kind}");
        assert_eq!(counts(&host, "j", ITEMS), [2, 0, 0], "{kind}");
        let refused = refusal(host.ask("CF.DIFF d x y"));
        assert_eq!(refused, "ERR the key 'd' does not exist");
        assert_eq!(host.told(), Vec::<String>::new());
        // The same command changes nothing more, and says so of each of the other keys.
        let before = ["y", "z"].map(|key| digest(&host, key));
        for _ in 0..2 {
            ask_all(
                &host,
                &["CF.INTERSECT x y z", "CF.DIFF i z", "CF.DIFF j z y"],
            );
            let expected = [
                "combined x",
                "combined x",
                "combined i",
                "combined j",
                "combined j",
            ];
            assert_eq!(host.told(), expected, "{kind}");
            assert_eq!(counts(&host, "x", ITEMS), [2, 0, 0], "{kind}");
            assert_eq!(counts(&host, "i", ITEMS), [0, 1, 0], "{kind}");
            assert_eq!(counts(&host, "j", ITEMS), [0; 3], "{kind}");
        }
        assert_eq!(["y", "z"].map(|key| digest(&host, key)), before, "{kind}");
    }
}

#[test]
fn keys_that_do_not_combine_say_why_and_stay() {
    let host = Host::new(true);
    ask_all(
        &host,
        &[
            "CF.RESERVE x 1000",
            "CF.RESERVE seed 1000",
            "CF.RESERVE rate 1000 ERROR 0.0001",
            "CF.RESERVE fixed 1000 EXPANSION 0",
            "CF.RESERVE larger 2000 EXPANSION 0",
            "CF.RESERVE window 1000 WINDOW 60",
            "CF.RESERVE length 1000 WINDOW 61",
            "CF.RESERVE like LIKE x",
        ],
    );
    for key in [
        "x", "seed", "rate", "fixed", "larger", "window", "length", "like",
    ] {
        ask_all(&host, &[&format!("CF.ADD {key} a")]);
    }
    host.told();
    let digests = || {
        let keys: Vec<_> = host.filters.borrow().keys().cloned().collect();
        let one = |key: Vec<u8>| host.filters.borrow()[&key].digest();
        let mut all: Vec<_> = keys.into_iter().map(one).collect();
        all.sort_unstable();
        all
    };
    let before = digests();
    let because = |why: &str, key: &str, source: &str| {
        format!(
            "ERR '{source}' does not combine with '{key}': {why}; make one of them by CF.RESERVE with \
             LIKE and the other key"
        )
    };
    let buckets = |key: &str| host.filter(key).buckets();
    let of_buckets = format!(
        "the filters differ in buckets before growth: {} in this one, {} in the other one",
        buckets("fixed"),
        buckets("larger")
    );
    for command in ["CF.MERGE", "CF.UNION", "CF.INTERSECT", "CF.DIFF"] {
        for (key, sources, refused) in [
            ("x", "seed", because("their seeds differ", "x", "seed")),
            ("x", "like seed", because("their seeds differ", "x", "seed")),
            (
                "new",
                "x seed",
                because("their seeds differ", "new", "seed"),
            ),
            ("fixed", "larger", because(&of_buckets, "fixed", "larger")),
            (
                "x",
                "window",
                because("only one of them has a window", "x", "window"),
            ),
            (
                "window",
                "x",
                because("only one of them has a window", "window", "x"),
            ),
            ("x", "like none", "ERR the key 'none' does not exist".into()),
            ("new", "none x", "ERR the key 'none' does not exist".into()),
            ("x", "list", "WRONGTYPE".into()),
            ("list", "x", "WRONGTYPE".into()),
            (
                "x",
                "like x",
                "ERR source and destination objects are the same".into(),
            ),
        ] {
            let line = format!("{command} {key} {sources}");
            let refused = match (command, key) {
                ("CF.DIFF", "new") => "ERR the key 'new' does not exist".into(),
                _ => refused,
            };
            assert_eq!(refusal(host.ask(&line)), refused, "{line}");
        }
        for (key, source, what) in [
            ("x", "rate", "fingerprint bits"),
            ("x", "fixed", "fingerprint bits"),
            ("window", "length", "TTL"),
        ] {
            let refused = refusal(host.ask(&format!("{command} {key} {source}")));
            assert!(refused.contains(&format!("differ in {what}")), "{refused}");
        }
        let arity = refusal(host.ask(&format!("{command} x")));
        assert!(
            arity.starts_with("ERR wrong number of arguments"),
            "{arity}"
        );
    }
    assert_eq!(refusal(host.ask("CF.DIGEST none")), "ERR not found");
    assert_eq!(host.told(), Vec::<String>::new());
    assert_eq!(digests(), before);
}

/// Neither errors nor digests tell of a seed.
#[test]
fn no_reply_shows_a_seed() {
    const SEED: u64 = 0x0123_4567_89ab_cdef;
    let host = Host::new(true);
    ask_all(
        &host,
        &[
            &format!("CF.RESERVE x 1000 SEED {SEED}"),
            "CF.RESERVE y 1000",
        ],
    );
    let digest_of_library = host.filter("x").digest();
    let mut shown = Vec::new();
    for line in [
        "CF.MERGE x y",
        "CF.UNION y x",
        "CF.INTERSECT x y",
        "CF.DIFF y x",
        "CF.DIGEST x",
        "CF.INFO x",
        "CF.DEBUG x",
        "CF.RESERVE x 1000 SEED 81985529216486895",
        "CF.RESERVE z 1000 LIKE x SEED 81985529216486895",
        "CF.RESERVE z 0 SEED 81985529216486895",
    ] {
        shown.push(format!("{:?}", host.ask(line)));
    }
    let shown = shown.join("\n");
    // The digest of the library would do: the seed of an empty filter can be computed from it.
    let digests = [digest_of_library, digest_of_library.swap_bytes()];
    let secrets = [SEED.to_string(), format!("{SEED:x}")]
        .into_iter()
        .chain(digests.map(|digest| format!("{digest:032x}")));
    for secret in secrets {
        assert!(!shown.contains(&secret), "{secret} in {shown}");
    }
    assert!(shown.contains("their seeds differ"), "{shown}");
}

/// What fails fails before anything has changed.
#[test]
fn a_key_without_room_stays_as_it_is() {
    let host = Host::new(true);
    ask_all(
        &host,
        &[
            "CF.RESERVE x 100 EXPANSION 0",
            "CF.RESERVE y LIKE x",
            "CF.RESERVE z LIKE x",
        ],
    );
    for item in 0..60 {
        ask_all(
            &host,
            &[&format!("CF.ADD x x{item}"), &format!("CF.ADD y y{item}")],
        );
    }
    let most = host.filter("x").bucket_slots() * 2;
    for _ in 0..most {
        ask_all(&host, &["CF.ADD z a"]);
    }
    ask_all(&host, &["CF.RESERVE one LIKE x", "CF.ADD one a"]);
    let before = ["x", "one"].map(|key| digest(&host, key));
    host.told();
    for command in ["CF.MERGE", "CF.UNION"] {
        let line = format!("{command} x y");
        assert_eq!(refusal(host.ask(&line)), "Filter is full", "{line}");
    }
    let refused = refusal(host.ask("CF.MERGE one z"));
    let expected = format!("Filter is full of copies of this item: {most} is the most");
    assert_eq!(refused, expected);
    host.free.set(1);
    assert_eq!(
        refusal(host.ask("CF.MERGE x z")),
        "OOM this host has no memory"
    );
    assert_eq!(
        refusal(host.ask("CF.UNION new z")),
        "OOM this host has no memory"
    );
    host.is_full.set(true);
    for command in ["CF.UNION", "CF.INTERSECT"] {
        let refused = refusal(host.ask(&format!("{command} x z")));
        assert!(refused.starts_with("OOM command not allowed"), "{refused}");
    }
    assert_eq!(host.told(), Vec::<String>::new());
    assert_eq!(["x", "one"].map(|key| digest(&host, key)), before);
    assert_eq!(host.filters.borrow().len(), 4);
    // What only removes needs no room.
    ask_all(&host, &["CF.DIFF one z"]);
    assert!(host.filter("one").is_empty());
}

#[test]
fn sources_are_the_other_keys() {
    let words: Vec<&[u8]> = vec![b"C", b"LIKE", b"10", b"like", b"a", b"LIKE", b"b"];
    assert!(Sources::None.of(&words).is_empty());
    assert_eq!(Sources::Rest.of(&words), &words[2..]);
    assert_eq!(Sources::After("LIKE").of(&words), [b"a"]);
    assert!(Sources::After("LIKE").of(&words[..4]).is_empty());
    assert!(Sources::Rest.of(&words[..1]).is_empty());
}

/// The header of a dump, and a snapshot.
fn dump(filter: &Filter) -> Vec<u8> {
    let mut bytes = Header::of(filter).to_bytes().to_vec();
    filter.write_to(&mut bytes).unwrap();
    bytes
}

/// Corrects the checksums of the header and of the snapshot.
fn fix(bytes: &mut [u8]) {
    if let Some((header, snapshot)) = bytes.split_at_mut_checked(Header::BYTES) {
        let (body, sum) = header.split_last_chunk_mut::<4>().unwrap();
        *sum = crc32fast::hash(body).to_le_bytes();
        fix_checksum(snapshot);
    }
}

/// Loads a dump by commands, as the key `h`.
fn load(host: &Host, bytes: &[u8]) -> bool {
    let Some((header, snapshot)) = bytes.split_at_checked(Header::BYTES) else {
        return false;
    };
    let mut piece = (snapshot.len() as u64).to_le_bytes().to_vec();
    piece.extend(snapshot);
    let end = (LENGTH_BYTES + snapshot.len()).to_string();
    let load = |position: &[u8], piece: &[u8]| {
        let answer = host.ask_words(&[b"CF.LOADCHUNK", b"h", position, piece]);
        answer == Ok(Reply::OK)
    };
    load(b"1", header)
        && load(end.as_bytes(), &piece)
        && host.filters.borrow().contains_key(&b"h"[..])
}

/// Successive numbers that look random (SplitMix64).
fn random(state: &mut u64) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ x >> 27) as usize
}

/// Dumps of filters with other options, seeds and sizes, most of them with a few changed
/// bytes and right checksums. An error changes nothing, and success loses nothing.
#[test]
fn hostile_dumps_are_refused_or_combined() {
    /// The bytes that describe a filter, without its words.
    const DESCRIBING: usize = Header::BYTES + 68;
    let host = Host::new(true);
    let (mut keys, mut dumps) = (Vec::new(), Vec::new());
    for kind in KINDS {
        let kind = kind.replace("1000", "20");
        let larger = kind.replace("x 20", "other 50");
        ask_all(&host, &[&kind, &larger, "CF.RESERVE like LIKE x"]);
        ask_all(
            &host,
            &["CF.MADD x a a b", "CF.MADD like b c", "CF.MADD other b c"],
        );
        dumps.extend(["x", "like", "other"].map(|key| dump(&host.filter(key))));
        keys.push(host.filter("x"));
        host.filters.borrow_mut().clear();
    }
    let (mut combined, mut refused, mut damaged) = (0, 0, 0);
    let mut state = 1;
    for round in 0..rounds() {
        let x = &keys[round % keys.len()];
        let mut bytes = dumps[random(&mut state) % dumps.len()].clone();
        for _ in 0..random(&mut state) % 4 {
            let within = [bytes.len(), DESCRIBING][random(&mut state) % 2];
            bytes[random(&mut state) % within] ^= random(&mut state) as u8;
        }
        fix(&mut bytes);
        if !load(&host, &bytes) {
            damaged += 1;
        }
        for (command, key, source) in [
            ("MERGE", "x", "h"),
            ("UNION", "x", "h"),
            ("UNION", "h", "x"),
            ("INTERSECT", "x", "h"),
            ("DIFF", "x", "h"),
            ("INTERSECT", "h", "x"),
            ("DIFF", "h", "x"),
        ] {
            let copy = Arc::new(x.duplicate().unwrap());
            host.filters.borrow_mut().insert(b"x".to_vec(), copy);
            let digest = |key: &str| {
                host.filters
                    .borrow()
                    .get(key.as_bytes())
                    .map(|it| it.digest())
            };
            let before = digest(key);
            let copies = |key: &str| match host.filters.borrow().get(key.as_bytes()) {
                Some(filter) => ITEMS.iter().map(|item| filter.count(item)).collect(),
                None => vec![0; ITEMS.len()],
            };
            let (here, there) = (copies(key), copies(source));
            match host.ask(&format!("CF.{command} {key} {source}")) {
                Ok(reply) => {
                    assert_eq!(reply, Reply::OK);
                    for ((here, there), now) in here.iter().zip(there).zip(copies(key)) {
                        let expected = match command {
                            "MERGE" => here + there,
                            "UNION" => *here.max(&there),
                            "INTERSECT" => *here.min(&there),
                            _ if there == 0 => *here,
                            _ => 0,
                        };
                        assert_eq!(now, expected, "{command} {key}");
                    }
                    combined += 1;
                }
                Err(Reply::Error(text)) => {
                    let known = ["ERR ", "OOM ", "Filter is full", "Maximum expansions"];
                    assert!(known.iter().any(|known| text.starts_with(known)), "{text}");
                    assert_eq!(digest(key), before, "{text}");
                    refused += 1;
                }
                Err(other) => panic!("{other:?}"),
            }
        }
        host.filters.borrow_mut().clear();
    }
    println!(
        "{damaged} of the dumps were damaged; {combined} were combined, {refused} were refused"
    );
    let tenth = rounds() / 10;
    assert!(combined > tenth && refused > 5 * tenth && damaged > tenth);
}
