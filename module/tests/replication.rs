//! Replicas hold the filters of their primary, whatever their settings, and whatever happens to
//! them.

mod common;

use common::{
    Engine, ask, digest, dump, info, is_skipped, is_sound, load, long,
    oracle::{Oracle, check_all},
    until,
};
use redis::Connection;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

/// Settings of a replica that affect the filters it creates by itself. It creates none.
const OTHER_SETTINGS: [&str; 8] = [
    "--loadmodule",
    "MODULE",
    "default-capacity",
    "77777",
    "default-error-rate",
    "0.25",
    "max-filter-bytes",
    "64kb",
];

fn follow(replica: &Engine, primary: &Engine) {
    ask::<()>(
        &mut replica.client(),
        &format!("REPLICAOF 127.0.0.1 {}", primary.port),
    );
}

/// Waits until the replica has all changes of the primary.
fn catch_up(primary: &mut Connection, replica: &mut Connection) {
    until("the replica catches up", || {
        let status: String = ask(replica, "INFO replication");
        status.contains("master_link_status:up")
            && info(primary, "master_repl_offset") == info(replica, "master_repl_offset")
    });
}

fn are_equal(primary: &Engine, replica: &Engine) {
    let (mut one, mut other) = (primary.client(), replica.client());
    catch_up(&mut one, &mut other);
    assert_eq!(digest(&mut one), digest(&mut other));
    is_sound(&mut one);
    is_sound(&mut other);
}

fn oracles() -> Vec<Oracle> {
    let keys = ["a", "b", "small"];
    keys.iter()
        .flat_map(|key| (0..4).map(|client| Oracle::new(key, client)))
        .collect()
}

fn check(client: &mut Connection, oracles: &[Oracle]) {
    for (key, some) in ["a", "b", "small"].into_iter().zip(oracles.chunks(4)) {
        check_all(client, key, &some.iter().collect::<Vec<_>>());
    }
}

#[test]
fn replicas_are_equal_through_kills_and_lost_links() {
    if is_skipped() {
        return;
    }
    let primary = Engine::start(&["--repl-backlog-size", "64mb"]);
    let mut replicas = [
        Engine::start(&OTHER_SETTINGS),
        Engine::start(&OTHER_SETTINGS),
    ];
    replicas
        .iter()
        .for_each(|replica| follow(replica, &primary));
    let mut client = primary.client();
    ask::<()>(&mut client, "CF.RESERVE small 20000 EXPANSION 0");
    let mut oracles = oracles();
    for round in 0..if long() { 10 } else { 3 } {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let workers: Vec<_> = oracles
                .chunks_mut(3)
                .map(|some| {
                    let mut client = primary.client();
                    scope.spawn(move || {
                        for oracle in some {
                            oracle.work(&mut client, 3_000);
                        }
                    })
                })
                .collect();
            let killed = &mut replicas[0];
            let (primary, done) = (&primary, &done);
            scope.spawn(move || {
                let mut client = primary.client();
                while !done.load(Ordering::Relaxed) {
                    // One replica does a full resynchronization, and the other continues where it
                    // was.
                    killed.kill();
                    killed.start_again();
                    follow(killed, primary);
                    thread::sleep(Duration::from_millis(100));
                    ask::<i64>(&mut client, "CLIENT KILL TYPE replica");
                }
            });
            for worker in workers {
                worker.join().expect("the oracle is right");
            }
            done.store(true, Ordering::Relaxed);
        });
        replicas
            .iter()
            .for_each(|replica| are_equal(&primary, replica));
        check(&mut client, &oracles);
        assert!(round == 0 || info(&mut client, "sync_partial_ok") > 0);
    }
    // One replica continues alone.
    let promoted = &replicas[0];
    drop(primary);
    let mut client = promoted.client();
    ask::<()>(&mut client, "REPLICAOF NO ONE");
    check(&mut client, &oracles);
    for oracle in &mut oracles {
        oracle.work(&mut client, 1_000);
    }
    check(&mut client, &oracles);
    follow(&replicas[1], promoted);
    are_equal(promoted, &replicas[1]);
}

/// A replica that connects during a load gets the pieces so far, and then the others.
#[test]
fn what_is_being_loaded_is_replicated() {
    if is_skipped() {
        return;
    }
    let primary = Engine::start(&[]);
    let (early, late) = (
        Engine::start(&OTHER_SETTINGS),
        Engine::start(&OTHER_SETTINGS),
    );
    follow(&early, &primary);
    let mut client = primary.client();
    ask::<()>(&mut client, "CF.RESERVE source 3000000 EXPANSION 0");
    for item in 0..1000 {
        ask::<i64>(&mut client, &format!("CF.ADD source {item}"));
    }
    let pieces = dump(&mut client, "source");
    assert!(pieces.len() > 4);
    for (index, piece) in pieces.iter().enumerate() {
        if index == 3 {
            follow(&late, &primary);
            catch_up(&mut client, &mut late.client());
        }
        load(&mut client, "loaded", piece);
    }
    for replica in [&early, &late] {
        are_equal(&primary, replica);
        let found: i64 = ask(&mut replica.client(), "CF.EXISTS loaded 7");
        assert_eq!(found, 1);
    }
    // A load that fails ends on the replica, too.
    let mut damaged = pieces[1].clone();
    damaged.1[100] ^= 1;
    load(&mut client, "failed", &pieces[0]);
    load(&mut client, "failed", &damaged);
    for piece in &pieces[2..pieces.len() - 1] {
        load(&mut client, "failed", piece);
    }
    let (position, piece) = pieces.last().expect("there are some");
    let mut last = redis::cmd("CF.LOADCHUNK");
    let answer = last
        .arg("failed")
        .arg(position)
        .arg(&piece[..])
        .query::<()>(&mut client);
    assert!(answer.is_err());
    for replica in [&early, &late] {
        are_equal(&primary, replica);
        assert_eq!(ask::<i64>(&mut replica.client(), "EXISTS failed"), 0);
    }
}

/// A filter that is full and churned on the primary has the same items on the replica. The replica
/// accepts more than its capacity, because it places the items differently.
#[test]
fn full_filters_are_equal() {
    if is_skipped() {
        return;
    }
    let primary = Engine::start(&[]);
    let replica = Engine::start(&OTHER_SETTINGS);
    let mut client = primary.client();
    let rounds = if long() { 20 } else { 4 };
    for (key, reserve) in [
        ("fixed", "CF.RESERVE fixed 500 EXPANSION 0"),
        ("grows", "CF.RESERVE grows 100 MAXCAPACITY 800"),
        ("rare", "CF.RESERVE rare 300 EXPANSION 0 ERROR 0.00001"),
        (
            "counted",
            "CF.RESERVE counted 100 MAXCAPACITY 800 COUNTERS 8",
        ),
    ] {
        ask::<()>(&mut client, reserve);
        ask::<()>(&mut client, &format!("CF.ADD {key} hot"));
        for item in 0..1000 {
            // From some item on, the filter is full.
            let _ = common::try_ask::<i64>(&mut client, &format!("CF.ADD {key} {item}"));
        }
    }
    follow(&replica, &primary);
    catch_up(&mut client, &mut replica.client());
    for round in 0..rounds {
        for key in ["fixed", "grows", "rare", "counted"] {
            for _ in 0..100 {
                // Without counters there is no room for all of them, and with counters there is.
                let _ = common::try_ask::<i64>(&mut client, &format!("CF.ADD {key} hot"));
            }
            let mut pipe = redis::pipe();
            for item in 0..1000 {
                pipe.cmd("CF.DEL").arg(key).arg(item * (round + 2) % 1000);
            }
            let _: Vec<i64> = pipe.query(&mut client).unwrap();
            for item in 0..1000 {
                let item = 1000 * (round + 1) + item;
                let _ = common::try_ask::<i64>(&mut client, &format!("CF.ADD {key} {item}"));
            }
        }
        are_equal(&primary, &replica);
    }
    for client in [&mut client, &mut replica.client()] {
        let hot: usize = ask(client, "CF.COUNT counted hot");
        assert!(hot >= 100 * rounds as usize, "{hot}");
    }
}

/// The changes of scripts and transactions are replicated as one transaction.
#[test]
fn scripts_and_transactions_are_replicated() {
    if is_skipped() {
        return;
    }
    let primary = Engine::start(&[]);
    let replica = Engine::start(&OTHER_SETTINGS);
    follow(&replica, &primary);
    let mut client = primary.client();
    catch_up(&mut client, &mut replica.client());
    let mut script = redis::cmd("EVAL");
    script.arg("for i = 1, 100 do redis.call('CF.ADD', KEYS[1], i) end return redis.call('CF.COUNT', KEYS[1], 7)");
    let count: i64 = script.arg(1).arg("script").query(&mut client).unwrap();
    assert_eq!(count, 1);
    let mut pipe = redis::pipe();
    pipe.atomic();
    pipe.cmd("CF.ADD").arg("multi").arg("a");
    pipe.cmd("CF.INSERTNX")
        .arg("multi")
        .arg("ITEMS")
        .arg(&["a", "b"]);
    pipe.cmd("CF.DEL").arg("multi").arg("a");
    let replies: (i64, Vec<i64>, i64) = pipe.query(&mut client).unwrap();
    assert_eq!(replies, (1, vec![0, 1], 1));
    are_equal(&primary, &replica);
    // A replica refuses writes.
    let refused = common::refusal(&mut replica.client(), "CF.ADD multi a");
    assert!(refused.starts_with("READONLY"), "{refused}");
    let refused = common::refusal(&mut client, "CF.MAKE k a b");
    assert_eq!(
        refused,
        "ERR CF.MAKE is for replication and the file of commands: use CF.RESERVE"
    );
}
