//! Filters in a cluster: slots move while clients write, and a replica takes over.

mod common;

use common::{Engine, ask, digest, info, is_skipped, is_sound, long, text, try_ask, until};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use redis::{Cmd, Connection, FromRedisValue, RedisError, cmd};
use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

const SLOTS: u16 = 16_384;

/// Keys, in slots all over the cluster.
const KEYS: u32 = 30;

struct Cluster(Vec<Engine>);

/// A client that knows where each slot was last.
struct Client {
    ports: Vec<u16>,
    connections: HashMap<u16, Connection>,
    places: HashMap<String, u16>,
}

impl Cluster {
    fn start(nodes: usize) -> Self {
        let options = ["--cluster-enabled", "yes", "--cluster-config-file", "nodes"];
        let nodes: Vec<_> = (0..nodes).map(|_| Engine::start(&options)).collect();
        for (index, node) in nodes.iter().enumerate() {
            let mut client = node.client();
            let port = nodes[0].port;
            ask::<()>(&mut client, &format!("CLUSTER MEET 127.0.0.1 {port}"));
            if index < 3 {
                let [from, to] = [index, index + 1].map(|part| part as u32 * u32::from(SLOTS) / 3);
                ask::<()>(
                    &mut client,
                    &format!("CLUSTER ADDSLOTSRANGE {from} {}", to - 1),
                );
            }
        }
        let cluster = Self(nodes);
        cluster.wait();
        for (index, node) in cluster.0.iter().enumerate().skip(3) {
            let primary = cluster.id(index - 3);
            // It may not know the primary yet.
            until("the replica follows", || {
                try_ask::<()>(&mut node.client(), &format!("CLUSTER REPLICATE {primary}")).is_ok()
            });
        }
        for node in &cluster.0[3..] {
            until("the replica is connected", || {
                ask::<String>(&mut node.client(), "INFO replication")
                    .contains("master_link_status:up")
            });
        }
        cluster
    }

    /// Waits until all nodes know all others.
    fn wait(&self) {
        let nodes = self.0.len();
        for node in &self.0 {
            until("the cluster is complete", || {
                let info: String = ask(&mut node.client(), "CLUSTER INFO");
                info.contains("cluster_state:ok")
                    && info.contains(&format!("cluster_known_nodes:{nodes}\r"))
            });
        }
    }

    fn id(&self, node: usize) -> String {
        ask(&mut self.0[node].client(), "CLUSTER MYID")
    }

    fn client(&self) -> Client {
        Client {
            ports: self.0.iter().map(|node| node.port).collect(),
            connections: HashMap::new(),
            places: HashMap::new(),
        }
    }

    /// Moves a slot key by key, as all engines can.
    fn migrate(&self, slot: u16, from: usize, to: usize) {
        let (source, target) = (&self.0[from], &self.0[to]);
        let (source_id, target_id) = (self.id(from), self.id(to));
        let (mut one, mut other) = (source.client(), target.client());
        ask::<()>(
            &mut other,
            &format!("CLUSTER SETSLOT {slot} IMPORTING {source_id}"),
        );
        ask::<()>(
            &mut one,
            &format!("CLUSTER SETSLOT {slot} MIGRATING {target_id}"),
        );
        loop {
            let keys: Vec<String> = ask(&mut one, &format!("CLUSTER GETKEYSINSLOT {slot} 10"));
            if keys.is_empty() {
                break;
            }
            for key in keys {
                let port = target.port;
                let done: String =
                    ask(&mut one, &format!("MIGRATE 127.0.0.1 {port} {key} 0 10000"));
                assert!(done == "OK" || done == "NOKEY", "{done}");
            }
        }
        for client in [&mut other, &mut one] {
            ask::<()>(client, &format!("CLUSTER SETSLOT {slot} NODE {target_id}"));
        }
    }

    /// Moves slots at once, as Valkey 9 can; false if the engine cannot.
    fn migrate_at_once(&self, from: usize, to: usize, first: u16, last: u16) -> bool {
        let target = self.id(to);
        let mut client = self.0[from].client();
        let words = format!("CLUSTER MIGRATESLOTS SLOTSRANGE {first} {last} NODE {target}");
        match try_ask::<()>(&mut client, &words) {
            Ok(()) => {}
            Err(error) if text(&error).contains("unknown subcommand") => return false,
            Err(error) => panic!("{words}: {error}"),
        }
        until("the slots have moved", || {
            let jobs = try_ask::<redis::Value>(&mut client, "CLUSTER GETSLOTMIGRATIONS");
            let jobs = format!("{jobs:?}");
            assert!(!jobs.contains("failed"), "{jobs}\n{}", self.0[to].log());
            jobs.matches("success").count() == jobs.matches("target_node").count()
        });
        true
    }
}

impl Client {
    fn ask<T: FromRedisValue>(&mut self, key: &str, command: &Cmd) -> Result<T, RedisError> {
        let mut port = *self.places.entry(key.into()).or_insert(self.ports[0]);
        let mut asking = false;
        for _ in 0..1000 {
            let connection = self.connections.entry(port).or_insert_with(|| {
                let client = redis::Client::open(format!("redis://127.0.0.1:{port}/"));
                client
                    .and_then(|client| client.get_connection())
                    .expect("the node is there")
            });
            if asking {
                ask::<()>(connection, "ASKING");
            }
            let error = match command.query::<T>(connection) {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let redirected = error.redirect_node().map(|(node, _)| node.to_owned());
            let Some(node) = redirected else {
                return Err(error);
            };
            asking = text(&error).starts_with("ASK");
            port = node
                .rsplit(':')
                .next()
                .and_then(|port| port.parse().ok())
                .expect("there is a port");
            if !asking {
                self.places.insert(key.into(), port);
            }
        }
        panic!("{key} is nowhere");
    }
}

fn key(number: u32) -> String {
    format!("key:{number}")
}

/// Adds and deletes its own items in all keys, and checks each answer.
fn write(client: &mut Client, number: u64, done: &AtomicBool) -> HashMap<(u32, u32), bool> {
    let mut random = StdRng::seed_from_u64(number);
    let mut there = HashMap::new();
    while !done.load(Ordering::Relaxed) {
        let (place, item) = (random.random_range(0..KEYS), random.random_range(0..500));
        let name = format!("{number}:{item}");
        let is_there = there.entry((place, item)).or_insert(false);
        let command = if *is_there { "CF.DEL" } else { "CF.ADD" };
        let mut ask = cmd(command);
        ask.arg(key(place)).arg(name);
        let answer: i64 = client.ask(&key(place), &ask).expect("it is done");
        assert_eq!(answer, 1, "{command}");
        *is_there = !*is_there;
    }
    there
}

fn check(client: &mut Client, all: &[HashMap<(u32, u32), bool>]) {
    let mut counts: HashMap<u32, i64> = HashMap::new();
    for (number, there) in all.iter().enumerate() {
        for ((place, item), _) in there.iter().filter(|(_, is_there)| **is_there) {
            let mut ask = cmd("CF.EXISTS");
            ask.arg(key(*place)).arg(format!("{number}:{item}"));
            let found: i64 = client.ask(&key(*place), &ask).expect("it is answered");
            assert_eq!(found, 1, "{number}:{item} of {place}");
            *counts.entry(*place).or_default() += 1;
        }
    }
    for (place, count) in counts {
        let info: HashMap<String, i64> = client
            .ask(&key(place), cmd("CF.INFO").arg(key(place)))
            .expect("it is there");
        assert_eq!(info["Number of items inserted"], count, "{place}");
    }
}

/// Two clients write while `move_slots` works.
fn write_while(cluster: &Cluster, move_slots: impl FnOnce()) -> Vec<HashMap<(u32, u32), bool>> {
    let mut client = cluster.client();
    for place in 0..KEYS {
        let mut reserve = cmd("CF.RESERVE");
        reserve.arg(key(place)).arg(100 << (place % 12));
        client
            .ask::<()>(&key(place), &reserve)
            .expect("the key is new");
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|number| {
                let (mut client, done) = (cluster.client(), &done);
                scope.spawn(move || write(&mut client, number, done))
            })
            .collect();
        thread::sleep(Duration::from_millis(200));
        move_slots();
        thread::sleep(Duration::from_millis(200));
        done.store(true, Ordering::Relaxed);
        writers
            .into_iter()
            .map(|writer| writer.join().expect("all answers are right"))
            .collect()
    })
}

fn slots() -> Vec<u16> {
    // That of a key, and each of them once.
    let engine = Engine::start(&["--cluster-enabled", "yes"]);
    let mut client = engine.client();
    let mut slots: Vec<u16> = (0..KEYS)
        .map(|place| ask(&mut client, &format!("CLUSTER KEYSLOT {}", key(place))))
        .collect();
    slots.sort_unstable();
    slots.dedup();
    slots
}

fn owner(slot: u16) -> usize {
    (0..3)
        .find(|index| u32::from(slot) < (index + 1) * u32::from(SLOTS) / 3)
        .expect("it has one") as usize
}

#[test]
fn slots_move_key_by_key_while_clients_write() {
    if is_skipped() {
        return;
    }
    let cluster = Cluster::start(3);
    let slots = slots();
    let written = write_while(&cluster, || {
        for round in 0..if long() { 6 } else { 1 } {
            for &slot in &slots {
                let from = (owner(slot) + round) % 3;
                cluster.migrate(slot, from, (from + 1) % 3);
            }
        }
    });
    check(&mut cluster.client(), &written);
    cluster
        .0
        .iter()
        .for_each(|node| is_sound(&mut node.client()));
}

#[test]
fn slots_move_at_once_while_clients_write() {
    if is_skipped() {
        return;
    }
    let cluster = Cluster::start(3);
    let mut can = true;
    let written = write_while(&cluster, || {
        let last = SLOTS / 3 - 1;
        can = cluster.migrate_at_once(0, 1, 0, last);
        if can {
            assert!(cluster.migrate_at_once(1, 2, 0, last));
        }
    });
    if !can {
        eprintln!("this engine has no CLUSTER MIGRATESLOTS");
    }
    check(&mut cluster.client(), &written);
    cluster
        .0
        .iter()
        .for_each(|node| is_sound(&mut node.client()));
}

/// What was acknowledged by the replica is there when it takes over.
#[test]
fn a_replica_takes_over() {
    if is_skipped() {
        return;
    }
    let mut cluster = Cluster::start(6);
    let written = write_while(&cluster, || {});
    let mut primary = cluster.0[0].client();
    until("the replica has all", || {
        info(&mut primary, "master_repl_offset")
            == info(&mut cluster.0[3].client(), "master_repl_offset")
    });
    let before = digest(&mut primary);
    cluster.0[0].kill();
    let replica = &cluster.0[3];
    until("the replica takes over", || {
        ask::<String>(&mut replica.client(), "INFO replication").contains("role:master")
    });
    assert_eq!(digest(&mut replica.client()), before);
    let port = replica.port;
    for node in &cluster.0[1..3] {
        until("the others know it", || {
            let slots: String = ask(&mut node.client(), "CLUSTER NODES");
            let found = slots
                .lines()
                .find(|line| line.contains(&format!(":{port}@")));
            found.is_some_and(|line| line.contains("master"))
                && ask::<String>(&mut node.client(), "CLUSTER INFO").contains("cluster_state:ok")
        });
    }
    let mut client = cluster.client();
    client.ports.rotate_left(1);
    check(&mut client, &written);
    cluster.0[1..]
        .iter()
        .for_each(|node| is_sound(&mut node.client()));
}
