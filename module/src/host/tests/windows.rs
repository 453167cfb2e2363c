//! Filters with windows: time, expired items, and the age in files.

use super::*;
use crate::windows::Pass;
use std::collections::BTreeMap;

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

/// The window has two seconds and two epochs.
#[test]
fn a_replica_forgets_the_same_items_as_the_primary() {
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
    // This is epoch 0.
    step("CF.ADDNX k a", yes.clone(), &["CF.ADDTOUCH"], 0);
    step("CF.ADDNX k a", no.clone(), &[], 0);
    step("CF.ADD k b", yes.clone(), &["CF.ADD"], 0);
    let reply = Reply::Integers(vec![0, 1]);
    step("CF.INSERTNX k ITEMS a c", reply, &["CF.INSERT"], 0);
    step("CF.TOUCH k x", no.clone(), &[], 1001);
    // This is epoch 1.
    step("CF.TOUCH k a", yes.clone(), &["CF.ADDTOUCH"], 0);
    step("CF.ADDTOUCH k b", no.clone(), &["CF.ADDTOUCH"], 0);
    step("CF.ADDTOUCH k d", yes.clone(), &["CF.ADDTOUCH"], 1001);
    step("CF.EXISTS k c", yes.clone(), &[], 1001);
    // This is epoch 3: the items of epoch 0 are gone.
    step("CF.EXISTS k c", no.clone(), &[], 0);
    step("CF.EXISTS k a", yes.clone(), &[], 0);
    step("CF.DEL k a", yes.clone(), &["CF.DEL"], 0);
    step("CF.DEL k a", no.clone(), &[], 1001);
    step("CF.EXISTS k b", no.clone(), &[], 0);
    step("CF.EXISTS k d", no, &[], 0);
    step("CF.COMPACT k", Reply::OK, &[], 0);
}

/// The occurrences of items within a window.
#[derive(Default)]
struct Occurrences {
    /// The epochs in which each item was added, the oldest first.
    of: BTreeMap<u32, Vec<u64>>,
}

impl Occurrences {
    /// Forgets what is older than this number of epochs.
    fn expire(&mut self, epoch: u64, epochs: u64) {
        for of_item in self.of.values_mut() {
            of_item.retain(|added| added + epochs >= epoch);
        }
    }
}

/// A random program in one thread has exact counts, on its replica and after a dump and a load too.
#[test]
fn counts_are_those_within_the_window() {
    for options in [
        "2000 COUNTERS 8 EPOCHS 2 ERROR 0.00001 EXPANSION 0",
        "2000 COUNTERS 4 EPOCHS 3 ERROR 0.001 EXPANSION 0",
        "10 COUNTERS 4 EPOCHS 1 ERROR 0.001 MAXCAPACITY 3200",
    ] {
        let (mut primary, mut replica) = (FakeKey::default(), FakeKey::default());
        let done = ask(
            &mut primary,
            &format!("CF.RESERVE k {options} WINDOW 4 SEED 7"),
        );
        assert_eq!(names(&done), ["CF.MAKE"], "{options}");
        tell(&mut replica, &done);
        let mut oracle = Occurrences::default();
        let (mut state, mut begun, mut most, mut refused) = (1_u64, 0, 0, 0);
        for step in 0..20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let random = (state >> 33) as u32;
            // Some items are added far more often than others.
            let item = (random >> 4 & 255).min(random >> 12 & 255) / 2;
            let window = filter(&primary).window().unwrap();
            let (epoch, epochs) = (window.epoch(), u64::from(window.epochs()));
            oracle.expire(epoch, epochs);
            begun = epoch;
            let occurrences = oracle.of.entry(item).or_default();
            let count = |occurrences: &Vec<u64>| Reply::Integer(occurrences.len() as i64);
            let (words, reply, told) = match random % 16 {
                0..9 => {
                    occurrences.push(epoch);
                    let words = format!("CF.ADDCOUNT k {item}");
                    (words, count(occurrences), "CF.ADDCOUNT")
                }
                9..11 => {
                    occurrences.push(epoch);
                    (format!("CF.ADD k {item}"), Reply::Bool(true), "CF.ADD")
                }
                11 | 12 if !occurrences.is_empty() => {
                    occurrences.remove(0);
                    (format!("CF.DEL k {item}"), Reply::Bool(true), "CF.DEL")
                }
                _ => (format!("CF.COUNT k {item}"), count(occurrences), ""),
            };
            most = most.max(occurrences.len());
            let done = ask(&mut primary, &words);
            match &done.reply {
                // Copies fill the buckets of this item, at most in the smallest filter.
                Reply::Error(text) if told.contains("ADD") && text.contains("full of copies") => {
                    occurrences.pop();
                    refused += 1;
                    assert!(done.told.is_empty(), "{options}: {words}");
                }
                _ => {
                    assert_eq!(done.reply, reply, "{options}: step {step}, {words}");
                    assert_eq!(names(&done).concat(), told, "{options}: {words}");
                }
            }
            tell(&mut replica, &done);
            pass(&[&primary, &replica], u64::from(random >> 20 & 31));
            if step % 1000 == 0 {
                assert_eq!(digest(&primary), digest(&replica), "{options}: step {step}");
                let mut loaded = FakeKey::default();
                for piece in dump(&mut primary) {
                    load(&mut loaded, &piece);
                }
                assert_eq!(digest(&primary), digest(&loaded), "{options}: step {step}");
                assert_eq!(
                    filter(&loaded).counter_bits(),
                    filter(&primary).counter_bits()
                );
            }
        }
        assert!(begun > 50 && most > 8, "{options}: {begun}, {most}");
        assert!(refused < 200, "{options}: {refused}");
        let doublings = filter(&primary).stats().doublings;
        assert_eq!(doublings > 0, options.contains("MAX"), "{options}");
    }
}

/// A key that was deleted comes back with its window, on replicas and in the AOF too.
#[test]
fn an_insert_creates_a_key_with_its_options_on_a_replica_too() {
    let (mut primary, mut replica) = (FakeKey::default(), FakeKey::default());
    let done = ask(
        &mut primary,
        "CF.INSERTNX k WINDOW 2 EPOCHS 2 CAPACITY 50 ERROR 0.001 ITEMS a b a",
    );
    assert_eq!(done.reply, Reply::Integers(vec![1, 1, 0]));
    assert_eq!(names(&done), ["CF.MAKE", "CF.INSERT"]);
    tell(&mut replica, &done);
    assert_eq!(digest(&primary), digest(&replica));
    for filter in [&primary, &replica].map(filter) {
        let window = filter.window().expect("it was requested");
        assert_eq!((window.length().as_secs(), window.epochs()), (2, 2));
        assert_eq!(filter.options().capacity, 50);
    }
    // The window ends two epochs after the second one began, which is noted when it has.
    (0..5).for_each(|_| pass(&[&primary, &replica], 1001));
    for key in [&mut primary, &mut replica] {
        assert_eq!(ask(key, "CF.EXISTS k a").reply, Reply::Bool(false));
    }
    // The key exists, so only the item is replicated.
    let done = ask(&mut primary, "CF.INSERTNX k WINDOW 2 ITEMS c");
    assert_eq!(names(&done), ["CF.INSERT"]);
    tell(&mut replica, &done);
    assert_eq!(digest(&primary), digest(&replica));
}

/// A split does not depend on the epoch, so copies expire at the same time on replica and primary.
#[test]
fn a_window_grows_on_a_replica_as_on_the_primary() {
    let (mut primary, mut replica) = (FakeKey::default(), FakeKey::default());
    let mut step = |words: &str, time: u64| {
        let done = ask(&mut primary, words);
        assert!(!done.reply.is_error(), "{words}: {done:?}");
        tell(&mut replica, &done);
        pass(&[&primary, &replica], time);
        assert_eq!(digest(&primary), digest(&replica), "{words}");
    };
    step("CF.RESERVE k 100 WINDOW 2 EPOCHS 4 MAXCAPACITY 5000", 0);
    for item in 0..3_000 {
        // One and a half windows.
        step(&format!("CF.ADDTOUCH k {item}"), 1);
    }
    step("CF.COMPACT k", 0);
    (0..6).for_each(|_| step("CF.TOUCH k none", 501));
    for filter in [&primary, &replica].map(filter) {
        assert!(filter.stats().doublings >= 2, "{filter:?}");
        assert_eq!(filter.len(), 0, "all of them are forgotten");
    }
}

/// The thread that sweeps may be late.
#[test]
fn expired_items_make_room_at_once() {
    let mut key = FakeKey::default();
    ask(&mut key, "CF.RESERVE k 1000 WINDOW 2 EPOCHS 2 EXPANSION 0");
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
        // Some items are false positives, and are not added.
        assert!((1749..1800).contains(&more.count()), "{words}");
        (before, first)
    };
    let yes = Reply::Bool(true);
    assert_eq!(fill("CF.ADD k a"), (0, yes.clone()));
    assert_eq!(fill("CF.ADDNX k b"), (1750, yes.clone()));
    assert_eq!(fill("CF.ADDTOUCH k c"), (1750, yes));
}

/// A node that imports a slot does not know how much time has passed on the other node.
#[test]
fn effects_are_right_on_a_node_where_items_live_longer() {
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
fn a_filter_with_a_window_is_loaded_and_within_the_limit() {
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
fn only_files_set_the_age_of_a_filter() {
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
    // A node that imports a slot ignores the age.
    assert_eq!(run(&mut key, PRIMARY, &words).reply, Reply::OK);
    let has_begun = |key: &FakeKey| filter(key).window().unwrap().has_begun();
    assert!(!has_begun(&key));
    assert_eq!(run(&mut key, Flags::LOADING_FILE, &words).reply, Reply::OK);
    assert!(has_begun(&key));
}
