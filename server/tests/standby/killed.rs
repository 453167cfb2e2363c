//! A primary or a standby is killed during a copy.

use super::{Proxy, copy, keys, number, standby_of};
use crate::common::{Protocol, Server, ask, long, until};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::{thread, time::Duration};
use tempfile::TempDir;

const KEYS: usize = 10;

/// A primary whose keys name this generation and take about a MiB.
fn primary(generation: usize) -> Server {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    for key in names(generation) {
        ask::<()>(&mut client, &format!("CF.RESERVE {key} 80000 EXPANSION 0"));
        ask::<()>(&mut client, &format!("CF.ADD {key} {generation}"));
    }
    server
}

fn names(generation: usize) -> Vec<String> {
    (0..KEYS).map(|key| format!("{generation}:{key}")).collect()
}

/// All keys belong to one generation: the previous or the current one.
#[test]
fn a_primary_is_killed_at_any_moment() {
    let rounds = if long() { 300 } else { 15 };
    let seed = rand::rng().random();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let mut now = primary(0);
    let proxy = Proxy::to(now.port);
    let (_standby, mut client) = standby_of(proxy.port, &[]);
    copy(&mut client);
    assert_eq!(keys(&mut client), names(0));
    let mut last = 0;
    for generation in 1..=rounds {
        let next = primary(generation);
        proxy.tell_after(random.random_range(1..1_500_000));
        proxy.retarget(next.port);
        // The previous primary is not needed any more, and may be in the middle of a copy.
        drop(std::mem::replace(&mut now, next));
        proxy.reached.recv().unwrap();
        now.signal("KILL");
        now.process.wait().unwrap();
        // The copy either succeeds or fails.
        until("the copy ends", || {
            number(&mut client, "master_sync_in_progress") == 0
        });
        let found = keys(&mut client);
        if found == names(generation) {
            last = generation;
        }
        assert_eq!(found, names(last), "round {generation}");
        for key in found {
            assert_eq!(
                ask::<i64>(&mut client, &format!("CF.EXISTS {key} {last}")),
                1
            );
        }
    }
    let end = primary(rounds + 1);
    proxy.retarget(end.port);
    copy(&mut client);
    assert_eq!(keys(&mut client), names(rounds + 1));
}

/// A restarted standby has either its save or nothing, and copies again.
#[test]
fn a_standby_is_killed_at_any_moment() {
    let rounds = if long() { 100 } else { 6 };
    let mut random = StdRng::seed_from_u64(7);
    let directory = TempDir::new().unwrap();
    let path = directory.path().to_str().unwrap();
    let primary = primary(1);
    for _ in 0..rounds {
        let (standby, mut client) =
            standby_of(primary.port, &["--dir", path, "--save-every", "1s"]);
        let found = keys(&mut client);
        assert!(
            found.is_empty() || found == names(1) || found.len() < KEYS,
            "{found:?}"
        );
        thread::sleep(Duration::from_millis(random.random_range(0..300)));
        drop(standby);
    }
    let (_standby, mut client) = standby_of(primary.port, &["--dir", path]);
    copy(&mut client);
    assert_eq!(keys(&mut client), names(1));
}
