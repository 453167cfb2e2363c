//! Many connections use one key, and compare replies with their oracles while saves are made.

use crate::common::{Protocol, Server, ask};
use redis::Value;
use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

const CONNECTIONS: u64 = 64;

/// The number of items of a connection.
const ITEMS: u64 = 200;

/// The number of commands in a pipeline.
const PIPELINE: usize = 32;

/// The minimum number of lookups for absent items per connection, however long they take.
const ABSENT: u64 = 100;

/// The number of items of a connection that stay from the beginning to the end.
const STAYING: u64 = 20;

fn item(connection: u64, number: u64) -> u64 {
    connection << 32 | number
}

/// The expected items of this connection, and a generator that chooses among them.
struct Oracle {
    connection: u64,
    copies: [u32; ITEMS as usize],
    /// The most copies of an item.
    most: u32,
    state: u64,
}

enum Step {
    Add(u64),
    Delete(u64),
    Exists(u64),
}

impl Oracle {
    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    fn step(&mut self) -> Step {
        let number = STAYING + self.random() % (ITEMS - STAYING);
        let copies = self.copies[number as usize];
        match self.random() % 3 {
            0 if copies < self.most => Step::Add(number),
            1 if copies > 0 => Step::Delete(number),
            _ => Step::Exists(self.random() % ITEMS),
        }
    }

    /// Appends the command for a step, and assumes that it succeeds.
    fn apply(&mut self, step: &Step, pipeline: &mut redis::Pipeline) {
        let (command, number) = match *step {
            Step::Add(number) => {
                self.copies[number as usize] += 1;
                ("CF.ADD", number)
            }
            Step::Delete(number) => {
                self.copies[number as usize] -= 1;
                ("CF.DEL", number)
            }
            Step::Exists(number) => ("CF.EXISTS", number),
        };
        pipeline
            .cmd(command)
            .arg("k")
            .arg(item(self.connection, number));
    }
}

/// The observations of a connection.
#[derive(Default)]
struct Seen {
    operations: u64,
    /// The number of lookups for absent items.
    absent: u64,
    /// The absent items that a lookup reported as present.
    positives: BTreeSet<u64>,
}

/// Adds, deletes and looks up items until `until`, and compares each reply with the oracle.
fn work(
    server: &Server,
    connection: u64,
    most: u32,
    until: Instant,
    begun: &AtomicU64,
) -> (Oracle, Seen) {
    let mut client = server.client(Protocol::Resp3);
    let mut oracle = Oracle {
        connection,
        copies: [0; ITEMS as usize],
        most,
        state: connection + 1,
    };
    for number in 0..STAYING {
        oracle.copies[number as usize] = 1;
        let added: bool = ask(
            &mut client,
            &format!("CF.ADD k {}", item(connection, number)),
        );
        assert!(added);
    }
    begun.fetch_add(1, Ordering::Relaxed);
    let mut seen = Seen::default();
    let mut pipeline = redis::pipe();
    while Instant::now() < until || seen.absent < ABSENT {
        pipeline.clear();
        let mut expected = Vec::new();
        for _ in 0..PIPELINE {
            let step = oracle.step();
            oracle.apply(&step, &mut pipeline);
            expected.push(match step {
                Step::Exists(number) if oracle.copies[number as usize] == 0 => Err(number),
                _ => Ok(true),
            });
        }
        let replies: Vec<bool> = pipeline.query(&mut client).unwrap();
        assert_eq!(replies.len(), PIPELINE);
        seen.operations += PIPELINE as u64;
        for (reply, expected) in replies.into_iter().zip(expected) {
            match expected {
                Ok(expected) => assert_eq!(reply, expected, "connection {connection}"),
                Err(number) => {
                    seen.absent += 1;
                    if reply {
                        seen.positives.insert(number);
                    }
                }
            }
        }
    }
    (oracle, seen)
}

#[test]
fn no_wrong_answer_while_saves_are_made() {
    // There is room for all items, so every insert succeeds.
    let capacity = CONNECTIONS * ITEMS * 2;
    no_wrong_answer(
        &format!("CF.RESERVE k {capacity} ERROR 0.00001 EXPANSION 0"),
        2,
    );
}

#[test]
fn no_wrong_answer_while_the_filter_grows_and_saves_are_made() {
    // The filter grows as far as it may, to buckets of two slots. Two copies of an item would fill
    // a bucket there; if three items with two copies share their two buckets, the third finds no
    // room.
    no_wrong_answer("CF.RESERVE k 100 ERROR 0.00001", 1);
}

fn no_wrong_answer(reserve: &str, most: u32) {
    let duration = Duration::from_secs(if crate::common::long() { 30 } else { 3 });
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().to_str().unwrap();
    let server = Server::start(&["--dir", path, "--threads", "4"]);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, reserve);
    let until = Instant::now() + duration;
    let begun = AtomicU64::new(0);
    let (oracles, saves) = thread::scope(|scope| {
        let workers: Vec<_> = (0..CONNECTIONS)
            .map(|connection| {
                scope.spawn({
                    let (server, begun) = (&server, &begun);
                    move || work(server, connection, most, until, begun)
                })
            })
            .collect();
        // The first of two saves has all items that stay, and ends before the second begins.
        crate::common::until("all have what stays", || {
            begun.load(Ordering::Relaxed) == CONNECTIONS
        });
        let mut saves = 0;
        while Instant::now() < until || saves < 2 {
            match crate::common::try_ask::<Value>(&mut client, "BGSAVE") {
                Ok(_) => saves += 1,
                Err(error) => assert_eq!(
                    crate::common::text(&error),
                    "ERR Background save already in progress"
                ),
            }
            thread::yield_now();
        }
        let joined: Vec<_> = workers
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect();
        let oracles = joined
            .into_iter()
            .map(|result| result.expect("no wrong answer"))
            .collect::<Vec<_>>();
        (oracles, saves)
    });
    let total = |of: fn(&Seen) -> u64| oracles.iter().map(|(_, seen)| of(seen)).sum::<u64>();
    let [operations, absent, positives] = [
        total(|seen| seen.operations),
        total(|seen| seen.absent),
        total(|seen| seen.positives.len() as u64),
    ];
    eprintln!(
        "{reserve}: {operations} operations, {saves} saves, {absent} questions for absent items"
    );
    assert!(
        positives * 1_000 <= CONNECTIONS * ITEMS,
        "{positives} items were found when they were absent"
    );
    // At rest the number of items is exact.
    let copies: u32 = oracles.iter().flat_map(|(oracle, _)| oracle.copies).sum();
    let info: std::collections::HashMap<String, u32> = ask(&mut client, "CF.INFO k");
    assert_eq!(info["Number of items inserted"], copies);
    // Each expected item is present.
    for (oracle, _) in &oracles {
        let present = (0..ITEMS).filter(|&number| oracle.copies[number as usize] > 0);
        let items = present.map(|number| item(oracle.connection, number));
        let mut command = redis::cmd("CF.MEXISTS");
        command.arg("k").arg(items.collect::<Vec<_>>());
        let found: Vec<bool> = command.query(&mut client).unwrap();
        assert!(found.into_iter().all(|present| present));
    }

    // A save that was made during the writes has all items that were present throughout.
    server.signal("KILL");
    drop(server);
    let server = Server::start(&["--dir", path]);
    let mut client = server.client(Protocol::Resp2);
    for (oracle, _) in &oracles {
        let mut command = redis::cmd("CF.MEXISTS");
        command.arg("k");
        for number in 0..STAYING {
            command.arg(item(oracle.connection, number));
        }
        let found: Vec<bool> = command.query(&mut client).unwrap();
        assert_eq!(
            found, [true; STAYING as usize],
            "connection {}",
            oracle.connection
        );
    }
}

/// A snapshot delays some relocations. The replies must not show it.
#[test]
fn the_capacity_fits_while_saves_are_made() {
    let connections: u32 = 4;
    let items: u32 = if crate::common::long() {
        1_000_000
    } else {
        100_000
    };
    let directory = tempfile::TempDir::new().unwrap();
    let server = Server::start(&["--dir", directory.path().to_str().unwrap()]);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(
        &mut client,
        &format!("CF.RESERVE k {} EXPANSION 0", connections * items),
    );
    let saves = &AtomicU64::new(0);
    thread::scope(|scope| {
        let fillers: Vec<_> = (0..connections)
            .map(|connection| {
                let mut client = server.client(Protocol::Resp2);
                scope.spawn(move || {
                    let mut pipeline = redis::pipe();
                    let mut refused = 0;
                    for first in (0..items).step_by(PIPELINE) {
                        if first > items / 10 * 9 {
                            crate::common::until("two saves have begun", || {
                                saves.load(Ordering::Relaxed) >= 2
                            });
                        }
                        pipeline.clear();
                        for number in first..items.min(first + PIPELINE as u32) {
                            let item = item(connection.into(), number.into());
                            pipeline.cmd("CF.ADD").arg("k").arg(item);
                        }
                        pipeline.ignore_errors();
                        let begun = Instant::now();
                        let replies: Vec<Value> = pipeline.query(&mut client).unwrap();
                        // An insert waits this long for a snapshot, and a noisy machine may need
                        // the time.
                        if begun.elapsed() < Duration::from_secs(1) {
                            refused += replies
                                .iter()
                                .filter(|&reply| *reply != Value::Int(1))
                                .count();
                        }
                    }
                    refused
                })
            })
            .collect();
        while !fillers.iter().all(thread::ScopedJoinHandle::is_finished) {
            let has_begun = crate::common::try_ask::<Value>(&mut client, "BGSAVE").is_ok();
            saves.fetch_add(has_begun.into(), Ordering::Relaxed);
            thread::yield_now();
        }
        for filler in fillers {
            assert_eq!(filler.join().unwrap(), 0, "inserts were refused");
        }
    });
}
