//! Filters with windows: which items expire and when, whatever happens to the engine.

mod common;

use common::{
    Engine, ask, digest, dump, info, is_checked, is_skipped, is_sound, load, long, random, refusal,
    try_ask, until,
};
use rand::RngExt;
use redis::{Connection, Value};
use std::{
    thread,
    time::{Duration, Instant},
};

/// The minimum lifetime of an item in a window of a second with four epochs, and the maximum.
const LEAST: Duration = Duration::from_secs(1);
const MOST: Duration = Duration::from_millis(1250);

/// The delay that a noisy machine, or an engine that has just started, may cause.
const LATE: Duration = Duration::from_secs(3);

fn has(client: &mut Connection, words: &str) -> bool {
    ask::<i64>(client, words) == 1
}

fn reserve(client: &mut Connection, key: &str) {
    ask::<()>(client, &format!("CF.RESERVE {key} 1000 WINDOW 1 EPOCHS 4"));
}

/// Adds an item to a key, and returns a time before which it must not expire.
fn add(client: &mut Connection, key: &str, item: &str) -> Instant {
    // The item is added between this time and the reply.
    let begun = Instant::now();
    assert!(has(client, &format!("CF.ADDNX {key} {item}")));
    begun + LEAST
}

/// Looks the item up until it is gone. The lookup that returns no must end after `least`.
fn is_forgotten(client: &mut Connection, key: &str, item: &str, least: Instant) {
    while has(client, &format!("CF.EXISTS {key} {item}")) {
        assert!(
            Instant::now() < least + (MOST - LEAST) + LATE,
            "{item} stays"
        );
        thread::sleep(Duration::from_millis(5));
    }
    let now = Instant::now();
    assert!(now >= least, "{item} is gone {:?} early", least - now);
}

fn follow(replica: &Engine, primary: &Engine) {
    ask::<()>(
        &mut replica.client(),
        &format!("REPLICAOF 127.0.0.1 {}", primary.port),
    );
    catch_up(&mut primary.client(), &mut replica.client());
}

fn catch_up(primary: &mut Connection, replica: &mut Connection) {
    until("the replica catches up", || {
        let status: String = ask(replica, "INFO replication");
        status.contains("master_link_status:up")
            && info(primary, "master_repl_offset") == info(replica, "master_repl_offset")
    });
}

/// Keys with a window of an hour.
const LASTING: [&str; 2] = ["hour", "counts"];

/// Adds the keys of [`LASTING`] and some items.
fn lasting(client: &mut Connection) {
    ask::<()>(client, "CF.RESERVE hour 20000 WINDOW 3600");
    ask::<()>(client, "CF.RESERVE counts 20000 WINDOW 3600 COUNTERS 8");
    // This is not CF.ADDNX, because one of these items may be a false positive.
    for item in 0..300 {
        assert!(has(client, &format!("CF.ADD hour {item}")));
        // Another item may look like this one.
        assert!(ask::<i64>(client, &format!("CF.ADDCOUNT counts {}", item % 3)) > item / 3);
    }
    for key in LASTING {
        ask::<i64>(client, &format!("CF.DEL {key} 1"));
        ask::<i64>(client, &format!("CF.TOUCH {key} 2"));
    }
}

/// What the keys of [`LASTING`] hold.
fn digests(client: &mut Connection) -> Vec<String> {
    let digest = |key| ask::<Vec<String>>(client, &format!("DEBUG DIGEST-VALUE {key}"));
    LASTING.map(digest).concat()
}

fn age(client: &mut Connection, key: &str) -> i64 {
    let fields: std::collections::HashMap<String, i64> = ask(client, &format!("CF.INFO {key}"));
    fields["Age of the epoch in milliseconds"]
}

#[test]
fn an_item_is_kept_for_the_window() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let mut client = engine.client();
    reserve(&mut client, "k");
    for round in 0..3 {
        let item = format!("i{round}");
        let least = add(&mut client, "k", &item);
        assert!(!has(&mut client, &format!("CF.ADDNX k {item}")));
        is_forgotten(&mut client, "k", &item, least);
        let first = add(&mut client, "k", &item);
        while Instant::now() < first {
            assert!(has(&mut client, &format!("CF.TOUCH k {item}")));
            thread::sleep(Duration::from_millis(50));
        }
        assert!(!has(&mut client, &format!("CF.ADDTOUCH k {item}")));
        is_forgotten(&mut client, "k", &item, Instant::now() + LEAST);
    }
    is_sound(&mut client);
}

#[test]
fn windows_move_on_under_another_name() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let mut client = engine.client();
    reserve(&mut client, "k");
    let least = add(&mut client, "k", "a");
    ask::<()>(&mut client, "RENAME k l");
    ask::<i64>(&mut client, "COPY l copy");
    let payload: Vec<u8> = ask(&mut client, "DUMP l");
    let mut restore = redis::cmd("RESTORE");
    restore.arg("restored").arg(0).arg(payload);
    restore.query::<()>(&mut client).unwrap();
    for piece in dump(&mut client, "l") {
        load(&mut client, "loaded", &piece);
    }
    ask::<i64>(&mut client, "MOVE copy 3");
    ask::<()>(&mut client, "SWAPDB 0 3");
    is_forgotten(&mut client, "copy", "a", least);
    ask::<()>(&mut client, "SELECT 3");
    for key in ["l", "restored", "loaded"] {
        is_forgotten(&mut client, key, "a", least);
    }
    is_sound(&mut client);
}

#[test]
fn replicas_forget_with_their_primary() {
    if is_skipped() {
        return;
    }
    let primary = Engine::start(&[]);
    let (early, late) = (Engine::start(&[]), Engine::start(&[]));
    follow(&early, &primary);
    let mut client = primary.client();
    reserve(&mut client, "k");
    lasting(&mut client);
    let least = add(&mut client, "k", "a");
    thread::sleep(Duration::from_millis(300));
    follow(&late, &primary);
    catch_up(&mut client, &mut early.client());
    for replica in [&early, &late] {
        // The replica may have needed the lifetime of the item until it followed.
        let is_there = has(&mut replica.client(), "CF.EXISTS k a");
        assert!(is_there || Instant::now() >= least);
    }
    // The primary receives no command.
    for replica in [&early, &late] {
        is_forgotten(&mut replica.client(), "k", "a", least);
    }
    // Only time has passed. The next epoch may be replicated while the digests are computed.
    for replica in [&early, &late] {
        let mut replica = replica.client();
        until("the digests are equal", || {
            digest(&mut replica) == digest(&mut client)
        });
        let [one, other] = [&mut client, &mut replica].map(|client| age(client, "hour"));
        assert!((one - other).abs() <= 500, "{one} and {other}");
        is_sound(&mut replica);
    }
}

/// Threads sweep while clients write and the engine saves, at different times on each node. All
/// nodes still hold the same items, and so does a node that has read the AOF.
///
/// A node may hold a second copy of an item if a thread was preempted in the word that a CF.TOUCH
/// changed. This is rare, and is allowed in at most one of three runs.
#[test]
fn sweeps_make_no_difference() {
    if is_skipped() {
        return;
    }
    let is_same = |seed| {
        let digests @ [one, rest @ ..] = &digests_after_sweeps(seed);
        let is_same = rest.iter().all(|other| other == one);
        if !is_same {
            eprintln!("seed {seed}: {digests:?}");
        }
        is_same
    };
    assert_eq!((0..3).filter(|&seed| is_same(seed)).take(2).count(), 2);
}

/// The digests of a primary, its replica, and a node that has read the AOF of the primary.
fn digests_after_sweeps(seed: u64) -> [Vec<String>; 3] {
    let appends = ["--appendonly", "yes"];
    let (primary, replica) = (Engine::start(&appends), Engine::start(&[]));
    follow(&replica, &primary);
    let mut client = primary.client();
    // A sweep of this filter takes some milliseconds.
    ask::<()>(&mut client, "CF.RESERVE large 1500000 WINDOW 1 EPOCHS 13");
    let mut random = random(seed);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(if long() { 60 } else { 4 }) {
        let mut some = redis::pipe();
        for _ in 0..1000 {
            let name = match random.random_range(0..9) {
                0 | 1 => "CF.TOUCH",
                2 => "CF.DEL",
                3 => "CF.ADD",
                4 => "CF.ADDNX",
                5 => "CF.ADDCOUNT",
                _ => "CF.ADDTOUCH",
            };
            // There are enough items that copies do not fill any two buckets.
            let item = random.random_range(0..500_000);
            some.cmd(name).arg("large").arg(item).ignore();
        }
        some.query::<()>(&mut client).expect("there is room");
        // A save may be in progress.
        let _ = try_ask::<Value>(&mut client, "BGSAVE");
    }
    until("the save ends", || {
        info(&mut client, "rdb_bgsave_in_progress") == 0
    });
    let saves: String = ask(&mut client, "INFO persistence");
    assert!(saves.contains("rdb_last_bgsave_status:ok"), "{saves}");
    for engine in [&primary, &replica] {
        assert!(engine.threads("guira") > 0, "nobody has swept");
    }
    // No epoch begins from here on.
    ask::<()>(&mut client, "CLIENT PAUSE 60000 WRITE");
    catch_up(&mut client, &mut replica.client());
    let of = |engine: &Engine| -> Vec<String> {
        let mut client = engine.client();
        is_sound(&mut client);
        ask(&mut client, "DEBUG DIGEST-VALUE large")
    };
    let files = primary.copy_of_commands();
    // As a replica this node begins no epochs of its own.
    let lonely = [&appends[..], &["--replicaof", "127.0.0.1 1"]].concat();
    let lonely = Engine::start_in(files, &lonely);
    [&primary, &replica, &lonely].map(of)
}

/// Items that the old primary acknowledged and the new one has live at least as long as promised,
/// and the window advances on the new primary.
#[test]
fn a_replica_that_takes_over_goes_on() {
    if is_skipped() {
        return;
    }
    let mut primary = Engine::start(&[]);
    let replica = Engine::start(&[]);
    follow(&replica, &primary);
    let mut client = primary.client();
    reserve(&mut client, "k");
    thread::sleep(Duration::from_millis(600));
    let least = add(&mut client, "k", "a");
    catch_up(&mut client, &mut replica.client());
    primary.kill();
    let mut client = replica.client();
    ask::<()>(&mut client, "REPLICAOF NO ONE");
    is_forgotten(&mut client, "k", "a", least);
    let least = add(&mut client, "k", "b");
    is_forgotten(&mut client, "k", "b", least);
    // The old primary returns.
    primary.start_again();
    follow(&primary, &replica);
    let least = add(&mut client, "k", "c");
    catch_up(&mut client, &mut primary.client());
    is_forgotten(&mut primary.client(), "k", "c", least);
    is_sound(&mut client);
    is_sound(&mut primary.client());
}

/// Stops the engine by `end`, and keeps it down for a while.
fn survives(arguments: &[&str], save: impl Fn(&mut Connection)) {
    if is_skipped() {
        return;
    }
    let mut engine = Engine::start(arguments);
    let mut client = engine.client();
    reserve(&mut client, "k");
    let hour = Instant::now();
    lasting(&mut client);
    // Epochs begin before and after the file is written.
    thread::sleep(Duration::from_millis(300));
    let before = add(&mut client, "k", "before");
    save(&mut client);
    let appends = arguments.contains(&"--appendonly");
    let after = appends.then(|| {
        thread::sleep(Duration::from_millis(300));
        add(&mut client, "k", "after")
    });
    let whole = digests(&mut client);
    engine.kill();
    engine.start_again();
    client = engine.client();
    assert_eq!(digests(&mut client), whole);
    is_forgotten(&mut client, "k", "before", before);
    if let Some(least) = after {
        is_forgotten(&mut client, "k", "after", least);
    }
    // Time passes while the engine is down.
    add(&mut client, "k", "down");
    save(&mut client);
    engine.kill();
    thread::sleep(2 * MOST);
    engine.start_again();
    client = engine.client();
    let begun = Instant::now();
    until("the item is forgotten", || {
        !has(&mut client, "CF.EXISTS k down")
    });
    // The time before the restart counts.
    assert!(begun.elapsed() < LEAST, "{:?}", begun.elapsed());
    assert_eq!(digests(&mut client), whole);
    let (age, real) = (age(&mut client, "hour"), hour.elapsed());
    assert!(age > 2_400, "{age} of {real:?}");
    assert!(
        u128::from(age.unsigned_abs()) <= real.as_millis() + 500,
        "{age} of {real:?}"
    );
    is_sound(&mut client);
}

#[test]
fn a_save_has_the_time() {
    survives(&[], |client| ask::<()>(client, "SAVE"));
}

#[test]
fn a_file_of_commands_has_the_time() {
    survives(&["--appendonly", "yes", "--appendfsync", "always"], |_| ());
}

#[test]
fn a_file_that_was_rewritten_has_the_time() {
    for preamble in ["yes", "no"] {
        let arguments = ["--appendonly", "yes", "--appendfsync", "always"];
        let arguments = [&arguments[..], &["--aof-use-rdb-preamble", preamble]].concat();
        survives(&arguments, |client| {
            ask::<()>(client, "BGREWRITEAOF");
            until("the file is rewritten", || {
                info(client, "aof_rewrite_in_progress") + info(client, "aof_rewrite_scheduled") == 0
            });
        });
    }
}

#[test]
fn a_reload_has_the_time() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let mut client = engine.client();
    reserve(&mut client, "k");
    lasting(&mut client);
    let before = digests(&mut client);
    let least = add(&mut client, "k", "a");
    ask::<()>(&mut client, "DEBUG RELOAD");
    assert_eq!(digests(&mut client), before);
    is_forgotten(&mut client, "k", "a", least);
    is_sound(&mut client);
}

#[test]
fn clients_cannot_say_that_time_has_passed() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let mut client = engine.client();
    assert_eq!(
        refusal(&mut client, "CF.CLOCK 1000 0 0"),
        "ERR CF.CLOCK is for replication and the file of commands"
    );
    reserve(&mut client, "k");
    assert_eq!(
        refusal(&mut client, "CF.AGE k 1000 x"),
        "ERR CF.AGE is for the AOF"
    );
}

/// No epoch begins while clients must not write because a replica takes over: the engine would not
/// allow it.
#[test]
fn a_pause_is_a_pause() {
    if is_skipped() || is_checked() {
        return;
    }
    let (primary, replica) = (Engine::start(&[]), Engine::start(&[]));
    follow(&replica, &primary);
    let mut client = primary.client();
    reserve(&mut client, "k");
    add(&mut client, "k", "a");
    ask::<()>(&mut client, "CLIENT PAUSE 2500 WRITE");
    thread::sleep(Duration::from_millis(2300));
    assert!(has(&mut client, "CF.EXISTS k a"));
    let least = Instant::now();
    is_forgotten(&mut client, "k", "a", least);
    catch_up(&mut client, &mut replica.client());
    is_sound(&mut client);
}
