//! A cluster of engines, and a client that follows its keys.

use super::{Engine, PATIENCE, ask, info, text, try_ask, until};
use redis::{Cmd, Connection, ErrorKind, FromRedisValue, RedisError};
use std::{
    collections::{HashMap, hash_map::Entry},
    thread,
    time::{Duration, Instant},
};

pub(crate) const SLOTS: u16 = 16_384;

/// The number of nodes with slots. The nodes after them are replicas, in the same order.
pub(crate) const PRIMARIES: usize = 3;

#[derive(Debug)]
pub(crate) struct Cluster(pub(crate) Vec<Engine>);

/// A client that remembers where each key was last.
pub(crate) struct Client {
    ports: Vec<u16>,
    connections: HashMap<u16, Connection>,
    places: HashMap<String, u16>,
    random: usize,
}

/// The first slot of a primary in a new cluster.
pub(crate) fn first_slot(primary: usize) -> u16 {
    (primary as u32 * u32::from(SLOTS) / PRIMARIES as u32) as u16
}

impl Cluster {
    pub(crate) fn start(nodes: usize) -> Self {
        Self::start_with(nodes, &[])
    }

    /// Like [`start`](Self::start), with these arguments before all others.
    pub(crate) fn start_with(nodes: usize, first: &[&str]) -> Self {
        let options = ["--cluster-enabled", "yes", "--cluster-config-file", "nodes"];
        let options = [first, &options].concat();
        let nodes: Vec<_> = (0..nodes).map(|_| Engine::start(&options)).collect();
        for (index, node) in nodes.iter().enumerate() {
            let mut client = node.client();
            let port = nodes[0].port;
            ask::<()>(&mut client, &format!("CLUSTER MEET 127.0.0.1 {port}"));
            if index < PRIMARIES {
                let [from, to] = [first_slot(index), first_slot(index + 1) - 1];
                ask::<()>(&mut client, &format!("CLUSTER ADDSLOTSRANGE {from} {to}"));
            }
        }
        let cluster = Self(nodes);
        cluster.wait();
        for (index, node) in cluster.0.iter().enumerate().skip(PRIMARIES) {
            let primary = cluster.id(index - PRIMARIES);
            // The node may not know the primary yet.
            until("the replica follows", || {
                try_ask::<()>(&mut node.client(), &format!("CLUSTER REPLICATE {primary}")).is_ok()
            });
        }
        for node in PRIMARIES..cluster.0.len() {
            cluster.wait_for_replica(node);
        }
        cluster
    }

    /// Waits until all nodes know each other.
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

    /// Waits until this node follows another one.
    pub(crate) fn wait_for_replica(&self, node: usize) {
        let mut client = self.0[node].client();
        until("the replica is connected", || {
            let info: String = ask(&mut client, "INFO replication");
            info.contains("role:slave") && info.contains("master_link_status:up")
        });
    }

    /// Waits until this node is a primary, and all of these nodes agree and are healthy.
    pub(crate) fn wait_for_primary(&self, node: usize, nodes: &[usize]) {
        let port = format!(":{}@", self.0[node].port);
        for &other in nodes {
            let mut client = self.0[other].client();
            until("all know who has taken over", || {
                let nodes: String = ask(&mut client, "CLUSTER NODES");
                let known = nodes.lines().find(|line| line.contains(&port));
                known.is_some_and(|line| line.contains("master"))
                    && ask::<String>(&mut client, "CLUSTER INFO").contains("cluster_state:ok")
            });
        }
    }

    /// Waits until all nodes agree on the place of each slot.
    pub(crate) fn agree(&self) {
        let mut clients: Vec<_> = self.0.iter().map(Engine::client).collect();
        until("all know where the slots are", || {
            let views = clients.iter_mut().map(|client| {
                let nodes: String = ask(client, "CLUSTER NODES");
                let mut view: Vec<Vec<String>> = nodes
                    .lines()
                    .map(|line| line.split(' ').map(str::to_owned).collect::<Vec<_>>())
                    .filter(|words| words.len() > 8)
                    // The name of the node, and its slots.
                    .map(|words| [&words[..1], &words[8..]].concat())
                    .collect();
                view.sort();
                view
            });
            let views: Vec<_> = views.collect();
            let is_moving = views
                .iter()
                .flatten()
                .flatten()
                .any(|word| word.starts_with('['));
            !is_moving && views.iter().all(|view| *view == views[0])
        });
    }

    /// Waits until a replica has all changes of its primary up to now.
    pub(crate) fn catch_up(&self, primary: usize, replica: usize) {
        let told = info(&mut self.0[primary].client(), "master_repl_offset");
        let mut client = self.0[replica].client();
        until("the replica catches up", || {
            info(&mut client, "slave_repl_offset") >= told
        });
    }

    pub(crate) fn has_replicas(&self) -> bool {
        self.0.len() > PRIMARIES
    }

    fn id(&self, node: usize) -> String {
        ask(&mut self.0[node].client(), "CLUSTER MYID")
    }

    pub(crate) fn client(&self) -> Client {
        Client {
            ports: self.0.iter().map(|node| node.port).collect(),
            connections: HashMap::new(),
            places: HashMap::new(),
            random: 0,
        }
    }

    /// Moves a slot key by key, which all engines support.
    pub(crate) fn migrate(&self, slot: u16, from: usize, to: usize) {
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

    /// Moves slots with Valkey 9's atomic migration. Returns false if the engine does not support
    /// it.
    pub(crate) fn migrate_at_once(&self, from: usize, to: usize, slots: &[(u16, u16)]) -> bool {
        if !self.begin_migration(from, to, slots) {
            return false;
        }
        until("the slots have moved", || {
            let jobs = self.exports(from);
            assert!(!jobs.is_empty());
            jobs.iter().all(|job| {
                let state = &job["state"];
                assert_ne!(state, "failed", "{jobs:?}\n{}", self.0[to].log());
                state == "success"
            })
        });
        true
    }

    /// Begins an atomic migration. Returns false if the engine does not support it.
    pub(crate) fn begin_migration(&self, from: usize, to: usize, slots: &[(u16, u16)]) -> bool {
        let target = self.id(to);
        let mut client = self.0[from].client();
        let ranges: Vec<_> = slots
            .iter()
            .map(|(first, last)| format!("{first} {last}"))
            .collect();
        let ranges = ranges.join(" ");
        let words = format!("CLUSTER MIGRATESLOTS SLOTSRANGE {ranges} NODE {target}");
        match try_ask::<()>(&mut client, &words) {
            Ok(()) => true,
            Err(error) if text(&error).contains("unknown subcommand") => false,
            Err(error) => panic!("{words}: {error}"),
        }
    }

    /// The node's migrations to other nodes, the newest first.
    pub(crate) fn exports(&self, from: usize) -> Vec<HashMap<String, String>> {
        let mut jobs: Vec<HashMap<String, String>> =
            ask(&mut self.0[from].client(), "CLUSTER GETSLOTMIGRATIONS");
        jobs.retain(|job| job["operation"] == "EXPORT");
        jobs
    }
}

impl Client {
    /// Sends the command to the node that has the key. If that node has stopped, tries others until
    /// the key has a node again. After a connection error the command may have run or not.
    pub(crate) fn ask<T: FromRedisValue>(
        &mut self,
        key: &str,
        command: &Cmd,
    ) -> Result<T, RedisError> {
        self.ask_and(key, command, |_| ()).map(|(value, ())| value)
    }

    /// Like [`ask`](Self::ask). Returns true if a replica also has the change.
    pub(crate) fn ask_surely<T: FromRedisValue>(
        &mut self,
        key: &str,
        command: &Cmd,
    ) -> Result<(T, bool), RedisError> {
        self.ask_and(key, command, |connection| {
            try_ask::<i64>(connection, "WAIT 1 500").is_ok_and(|replicas| replicas > 0)
        })
    }

    /// The engine's digest of the value.
    pub(crate) fn digest(&mut self, key: &str) -> String {
        let exists: bool = self
            .ask(key, redis::cmd("EXISTS").arg(key))
            .expect("it is answered");
        assert!(exists, "{key}");
        let connection = self.connection(self.places[key]);
        let words = format!("DEBUG DIGEST-VALUE {key}");
        ask::<Vec<String>>(connection.expect("it has answered"), &words).remove(0)
    }

    fn ask_and<T: FromRedisValue, R>(
        &mut self,
        key: &str,
        command: &Cmd,
        then: impl FnOnce(&mut Connection) -> R,
    ) -> Result<(T, R), RedisError> {
        let begun = Instant::now();
        let mut port = *self.places.entry(key.into()).or_insert(self.ports[0]);
        let mut asking = false;
        while begun.elapsed() < PATIENCE {
            let Some(connection) = self.connection(port) else {
                // Nothing has been sent yet.
                (port, asking) = (self.another(), false);
                continue;
            };
            let asked = match asking {
                true => try_ask::<()>(connection, "ASKING"),
                false => Ok(()),
            };
            let error = match asked.and_then(|()| command.query::<T>(connection)) {
                Ok(value) => {
                    let then = then(connection);
                    if !asking {
                        self.places.insert(key.into(), port);
                    }
                    return Ok((value, then));
                }
                Err(error) => error,
            };
            if error.is_io_error() {
                self.connections.remove(&port);
                return Err(error);
            }
            if let Some((node, _)) = error.redirect_node() {
                let to = node.rsplit(':').next().and_then(|port| port.parse().ok());
                port = to.expect("there is a port");
                asking = text(&error).starts_with("ASK");
            } else if is_waiting(&error) {
                (port, asking) = (self.another(), false);
            } else {
                return Err(error);
            }
        }
        panic!("{key} is nowhere");
    }

    fn connection(&mut self, port: u16) -> Option<&mut Connection> {
        match self.connections.entry(port) {
            Entry::Occupied(entry) => Some(entry.into_mut()),
            Entry::Vacant(entry) => {
                let connection = super::connect(port, "resp2").ok()?;
                Some(entry.insert(connection))
            }
        }
    }

    /// Waits a moment, and returns a node that may know more.
    fn another(&mut self) -> u16 {
        thread::sleep(Duration::from_millis(10));
        self.random += 1;
        self.ports[self.random % self.ports.len()]
    }
}

/// True if the node has done nothing because it waits for others.
fn is_waiting(error: &RedisError) -> bool {
    use redis::ServerErrorKind::{BusyLoading, ClusterDown, MasterDown, TryAgain};
    matches!(
        error.kind(),
        ErrorKind::Server(BusyLoading | ClusterDown | MasterDown | TryAgain)
    )
}
