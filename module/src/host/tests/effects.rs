//! What a command replicates, and how a replica applies it.

use super::*;

/// Each filter has a random seed, so this fails as soon as a command replicates anything but its
/// effects.
#[test]
fn a_replica_that_applies_the_effects_has_the_same_digest() {
    let (mut primary, mut replica) = (FakeKey::default(), FakeKey::default());
    let cases: [(&str, &[&str]); 21] = [
        ("CF.EXISTS k a", &[]),
        ("CF.ADDCOUNT k a", &[]),
        ("CF.ADD k a", &["CF.MAKE", "CF.ADD"]),
        ("CF.ADD k a", &["CF.ADD"]),
        ("CF.ADDNX k a", &[]),
        ("CF.ADDCOUNT k d", &["CF.ADDCOUNT"]),
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
    assert_eq!(filter(&primary).len(), 8);
}

#[test]
fn only_added_items_are_replicated() {
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
fn a_created_filter_is_replicated_even_if_the_command_fails_later() {
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
        "the primary enforces its capacity"
    );
    assert_eq!(done.told[0].len(), 4 + count);
    tell(&mut replica, &done);
    assert_eq!(digest(&primary), digest(&replica));
    let done = ask(&mut primary, "CF.ADD k one-more");
    assert_eq!(done.reply, Reply::error("Filter is full"));
    assert_eq!(names(&done), [""; 0]);
}

#[test]
fn a_replica_accepts_more_items_than_the_capacity() {
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
fn only_replicas_accept_cf_make() {
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

/// Replicas receive every item of a command, not only the first.
#[test]
fn all_items_of_a_command_are_replicated() {
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
            name.chain(told.arguments().iter().map(word)).collect()
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

/// Runs the short way of a command on the filter of the key. `None` if the command must run in full.
fn at_once(key: &FakeKey, words: &[&[u8]]) -> Option<(bool, Effects)> {
    let commands = commands::<Host<'_, FakeKey>>();
    let mut named = commands.iter();
    let command = named.find(|command| command.name.as_bytes() == words[0])?;
    let done = (command.at_once?)(filter(key), words[2])?;
    let effects = match done && command.access == guira_commands::Access::Write {
        true => Effects::of_item(Shape::of(command)),
        false => Effects::default(),
    };
    for told in effects.told(Shape::of(command)) {
        assert!(told.is_verbatim, "{told:?}");
        assert_eq!(told.command.to_bytes(), words[0]);
    }
    Some((done, effects))
}

/// The first key takes the short ways where there are some, and the second one never does.
#[test]
fn short_ways_do_what_the_commands_do() {
    let options = [
        "100",
        "100 EXPANSION 0",
        "200000",
        "200000 EXPANSION 0",
        "200000 COUNTERS 4",
        "100 WINDOW 3600",
        "100 WINDOW 3600 COUNTERS 4",
    ];
    let names = ["CF.ADD", "CF.ADDNX", "CF.EXISTS", "CF.DEL"];
    let mut short = [0; 4];
    for options in options {
        let (mut one, mut other) = (FakeKey::default(), FakeKey::default());
        let made = ask(&mut one, &format!("CF.RESERVE k {options}"));
        tell(&mut other, &made);
        for step in 0_u32..4000 {
            let number = step.wrapping_mul(0x9e37_79b9) >> 16;
            let which = number as usize % names.len();
            let item = (number / 4 % 300).to_string();
            let words = [names[which].as_bytes(), b"k", item.as_bytes()];
            let what = format!("{options}: {} {item}", names[which]);
            let expected = run(&mut other, CLIENT, &words);
            match at_once(&one, &words) {
                Some((done, effects)) => {
                    short[which] += 1;
                    assert_eq!(Reply::Bool(done), expected.reply, "{what}");
                    assert_eq!(effects.is_empty(), expected.told.is_empty(), "{what}");
                }
                None => {
                    let done = run(&mut one, CLIENT, &words);
                    assert_eq!(done.reply, expected.reply, "{what}");
                }
            }
            assert_eq!(filter(&one).len(), filter(&other).len(), "{what}");
        }
        assert_eq!(digest(&one), digest(&other), "{options}");
        assert_eq!(filter(&one).deleted(), filter(&other).deleted());
    }
    assert!(short.iter().all(|&count| count > 1000), "{short:?}");
}
