//! Threads run long commands, while clients write, wait or disconnect.

use super::common::{self, Engine, ask, dump, info, is_skipped, is_sound, try_ask, until};
use redis::{Connection, Value};
use std::{thread, time::Duration};

/// A command with this many items runs on another thread.
const MANY: usize = 5_000;

fn exist_many(client: &mut Connection, key: &str, count: usize) -> Vec<bool> {
    let items: Vec<usize> = (0..count).collect();
    let mut command = redis::cmd("CF.MEXISTS");
    command
        .arg(key)
        .arg(items)
        .query(client)
        .expect("the engine answers")
}

fn fill(client: &mut Connection, key: &str, count: usize) {
    let items: Vec<usize> = (0..count).collect();
    for some in items.chunks(5_000) {
        let mut command = redis::cmd("CF.INSERT");
        command
            .arg(key)
            .arg("ITEMS")
            .arg(some)
            .query::<Value>(client)
            .expect("they fit");
    }
}

/// Threads run long commands, and the replies are the same as without threads.
#[test]
fn long_commands_are_answered_by_threads() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let mut client = engine.client();
    ask::<()>(&mut client, "CF.RESERVE k 100000");
    fill(&mut client, "k", 50_000);
    assert_eq!(
        engine.threads("guira"),
        0,
        "they begin with their first work"
    );
    for protocol in ["resp2", "resp3"] {
        let mut client = engine.client_of(protocol);
        assert!(
            exist_many(&mut client, "k", MANY)
                .into_iter()
                .all(|found| found)
        );
    }
    // Clients are not blocked in a transaction or a script.
    let items: Vec<usize> = (0..MANY).collect();
    let mut pipe = redis::pipe();
    pipe.atomic().cmd("CF.MEXISTS").arg("k").arg(&items);
    let found: (Vec<bool>,) = pipe.query(&mut client).unwrap();
    assert_eq!(found.0, vec![true; MANY]);
    let script = "return redis.call('CF.MEXISTS', KEYS[1], unpack(ARGV))";
    let mut eval = redis::cmd("EVAL");
    let found: Vec<bool> = eval
        .arg(script)
        .arg(1)
        .arg("k")
        .arg(&items)
        .query(&mut client)
        .unwrap();
    assert_eq!(found, vec![true; MANY]);
    // A filter that is deleted during its dumps still exists for the clients that wait for them.
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = engine.client();
                for _ in 0..20 {
                    let found = exist_many(&mut client, "k", MANY);
                    // Items may be added to the filter concurrently.
                    assert_eq!(found.len(), MANY);
                    let _ = try_ask::<Value>(&mut client, "CF.SCANDUMP k 1");
                    let _ = try_ask::<Value>(&mut client, "CF.COMPACT k");
                }
            });
        }
        for _ in 0..20 {
            ask::<Value>(&mut client, "UNLINK k");
            ask::<()>(&mut client, "CF.RESERVE k 100000");
            fill(&mut client, "k", 50_000);
        }
    });
    is_sound(&mut client);
}

/// Clients disconnect while a thread works for them.
#[test]
fn clients_may_go_before_they_are_answered() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let mut client = engine.client();
    ask::<()>(&mut client, "CF.RESERVE k 3000000 EXPANSION 0");
    fill(&mut client, "k", 100_000);
    for round in 0..50 {
        let mut other = engine.client();
        other
            .set_read_timeout(Some(Duration::from_micros(1 + 40 * round)))
            .unwrap();
        let items: Vec<usize> = (0..50_000).collect();
        let mut command = redis::cmd("CF.MEXISTS");
        let _ = command.arg("k").arg(items).query::<Value>(&mut other);
        let _ = try_ask::<Value>(&mut other, "CF.SCANDUMP k 1");
    }
    let found = exist_many(&mut client, "k", MANY);
    assert!(found.into_iter().all(|found| found));
    until("all have gone", || {
        info(&mut client, "blocked_clients") == 0
    });
    is_sound(&mut client);
}

/// The snapshot of a dump does not block inserts.
#[test]
fn dumps_are_of_one_moment_while_others_write() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let mut client = engine.client();
    ask::<()>(&mut client, "CF.RESERVE k 3000000 EXPANSION 0");
    fill(&mut client, "k", 100_000);
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut client = engine.client();
            for item in 0..20_000 {
                ask::<i64>(&mut client, &format!("CF.ADD k new{item}"));
            }
        });
        let mut copies = 0;
        while !writer.is_finished() {
            for piece in dump(&mut client, "k") {
                common::load(&mut client, "copy", &piece);
            }
            assert!(
                exist_many(&mut client, "copy", 100_000)
                    .into_iter()
                    .all(|found| found)
            );
            ask::<i64>(&mut client, "DEL copy");
            copies += 1;
        }
        assert!(copies > 0);
    });
    until("no dump is left", || {
        info(&mut client, "guira_dumps_in_progress") == 0
    });
    is_sound(&mut client);
}
