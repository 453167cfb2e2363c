//! Filters with windows: time, expired items, and the age in files.

use super::*;
use crate::windows::Pass;

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
