//! Many connections on one key, each with an oracle, while saves are made.

mod common;

use common::{Protocol, Server, ask};
use redis::Value;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

const CONNECTIONS: u64 = 64;

/// Items of a connection.
const ITEMS: u64 = 200;

/// Commands in one go.
const PIPELINE: usize = 32;

/// Items of a connection that stay from the beginning to the end.
const STAYING: u64 = 20;

fn item(connection: u64, number: u64) -> u64 {
    connection << 32 | number
}

/// What this connection's items must be, and a way to choose among them.
struct Oracle {
    connection: u64,
    copies: [u32; ITEMS as usize],
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
            // Fewer copies than fit, so that no insert finds no room.
            0 if copies < 2 => Step::Add(number),
            1 if copies > 0 => Step::Delete(number),
            _ => Step::Exists(self.random() % ITEMS),
        }
    }

    /// The command for a step, which is taken for done.
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

/// What a connection that ran `until` over saw: wrong answers, and positives for
/// absent items, of all questions for absent ones.
fn work(server: &Server, connection: u64, until: Instant, stop: &AtomicBool) -> (Oracle, [u64; 2]) {
    let mut client = server.client(Protocol::Resp3);
    let mut oracle = Oracle {
        connection,
        copies: [0; ITEMS as usize],
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
    let [mut asked, mut positives] = [0; 2];
    let mut pipeline = redis::pipe();
    while Instant::now() < until && !stop.load(Ordering::Relaxed) {
        pipeline.clear();
        let mut expected = Vec::new();
        for _ in 0..PIPELINE {
            let step = oracle.step();
            oracle.apply(&step, &mut pipeline);
            expected.push(match step {
                Step::Exists(number) if oracle.copies[number as usize] == 0 => None,
                _ => Some(true),
            });
        }
        let replies: Vec<bool> = pipeline.query(&mut client).unwrap();
        for (reply, expected) in replies.into_iter().zip(expected) {
            match expected {
                Some(expected) => assert_eq!(reply, expected, "connection {connection}"),
                None => {
                    asked += 1;
                    positives += u64::from(reply);
                }
            }
        }
    }
    (oracle, [asked, positives])
}

#[test]
fn no_wrong_answer_while_saves_are_made() {
    let duration = Duration::from_secs(if common::long() { 30 } else { 3 });
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().to_str().unwrap();
    let server = Server::start(&["--dir", path, "--threads", "4"]);
    // Room for all, so that no insert finds none.
    let mut client = server.client(Protocol::Resp2);
    let capacity = CONNECTIONS * ITEMS * 2;
    ask::<()>(
        &mut client,
        &format!("CF.RESERVE k {capacity} ERROR 0.00001 EXPANSION 0"),
    );
    let until = Instant::now() + duration;
    let stop = AtomicBool::new(false);
    let oracles = thread::scope(|scope| {
        let workers: Vec<_> = (0..CONNECTIONS)
            .map(|connection| {
                scope.spawn({
                    let (server, stop) = (&server, &stop);
                    move || work(server, connection, until, stop)
                })
            })
            .collect();
        let mut saves = 0;
        while Instant::now() < until {
            match common::try_ask::<Value>(&mut client, "BGSAVE") {
                Ok(_) => saves += 1,
                Err(error) => assert_eq!(
                    common::text(&error),
                    "ERR Background save already in progress"
                ),
            }
            thread::yield_now();
        }
        assert!(saves > 1, "{saves} saves");
        let joined: Vec<_> = workers
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect();
        joined
            .into_iter()
            .map(|result| result.expect("no wrong answer"))
            .collect::<Vec<_>>()
    });
    let total = |which: usize| oracles.iter().map(|(_, counts)| counts[which]).sum::<u64>();
    let (asked, positives) = (total(0), total(1));
    assert!(asked > 1_000, "{asked}");
    assert!(
        positives * 1_000 <= asked,
        "{positives} of {asked} absent items were found"
    );
    // At rest the number of items is exact.
    let copies: u32 = oracles.iter().flat_map(|(oracle, _)| oracle.copies).sum();
    let info: std::collections::HashMap<String, u32> = ask(&mut client, "CF.INFO k");
    assert_eq!(info["Number of items inserted"], copies);

    // A save that was made meanwhile has all that stayed throughout.
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
