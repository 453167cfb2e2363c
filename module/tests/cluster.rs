//! Filters in a cluster: slots move while clients write, and replicas take over.

mod common;

use common::{
    cluster::{Cluster, PRIMARIES, first_slot},
    digest, info, is_skipped, is_sound, long,
    writers::{self, KEYS, check, slots, write_while},
};
use std::{env, process::Command};

fn digests(cluster: &Cluster) -> Vec<String> {
    let mut client = cluster.client();
    (0..KEYS)
        .map(|place| client.digest(&writers::key(place)))
        .collect()
}

fn are_sound(cluster: &Cluster) {
    cluster
        .0
        .iter()
        .for_each(|node| is_sound(&mut node.client()));
}

#[test]
fn slots_move_key_by_key_while_clients_write() {
    if is_skipped() {
        return;
    }
    let mut cluster = Cluster::start(PRIMARIES);
    let mut slots = slots(&cluster);
    let mut move_all = |cluster: &Cluster| {
        for (slot, owner, _) in &mut slots {
            let to = (*owner + 1) % PRIMARIES;
            cluster.migrate(*slot, *owner, to);
            *owner = to;
        }
    };
    let written = write_while(&mut cluster, |cluster, progress| {
        for _ in 0..if long() { 6 } else { 1 } {
            move_all(cluster);
            progress.wait();
        }
    });
    assert_eq!(check(&mut cluster.client(), &written), 0);
    let before = digests(&cluster);
    move_all(&cluster);
    assert_eq!(digests(&cluster), before);
    check(&mut cluster.client(), &written);
    are_sound(&cluster);
}

#[test]
fn slots_move_at_once_while_clients_write() {
    if is_skipped() {
        return;
    }
    let mut cluster = Cluster::start(PRIMARIES);
    let third = [(0, first_slot(1) - 1)];
    let mut can = true;
    let written = write_while(&mut cluster, |cluster, progress| {
        can = cluster.migrate_at_once(0, 1, &third);
        progress.wait();
        if can {
            assert!(cluster.migrate_at_once(1, 2, &third));
        }
    });
    assert_eq!(check(&mut cluster.client(), &written), 0);
    if can {
        let before = digests(&cluster);
        // The first node has no slots and has become a replica, so the slots cannot move back to
        // it.
        assert!(cluster.migrate_at_once(2, 1, &third));
        assert_eq!(digests(&cluster), before);
        check(&mut cluster.client(), &written);
    } else {
        eprintln!("this engine has no CLUSTER MIGRATESLOTS");
    }
    are_sound(&cluster);
}

/// A primary stops while clients write. Its replica has all acknowledged writes and takes over, and
/// the old primary returns as a replica.
#[test]
fn a_replica_takes_over_while_clients_write() {
    if is_skipped() {
        return;
    }
    let mut cluster = Cluster::start(2 * PRIMARIES);
    let (killed, heir) = (0, PRIMARIES);
    let written = write_while(&mut cluster, |cluster, progress| {
        cluster.0[killed].kill();
        cluster.wait_for_primary(heir, &(1..2 * PRIMARIES).collect::<Vec<_>>());
        cluster.0[killed].start_again();
        cluster.wait_for_replica(killed);
        progress.wait();
    });
    check(&mut cluster.client(), &written);
    for (primary, replica) in [(heir, killed), (1, PRIMARIES + 1), (2, PRIMARIES + 2)] {
        cluster.catch_up(primary, replica);
        let [one, other] =
            [primary, replica].map(|node: usize| digest(&mut cluster.0[node].client()));
        assert_eq!(one, other, "{primary} and {replica}");
    }
    are_sound(&cluster);
}

/// The example works as in `docs/MODULE.md`. `GUIRA_PYTHON` is a Python with redis-py.
#[test]
fn the_example_in_python_uses_all_nodes() {
    if is_skipped() {
        return;
    }
    let Some(python) = env::var_os("GUIRA_PYTHON") else {
        eprintln!("SKIPPED: GUIRA_PYTHON names no Python");
        return;
    };
    let cluster = Cluster::start(PRIMARIES);
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shards.py");
    let mut command = Command::new(python);
    let port = cluster.0[0].port.to_string();
    let output = command.args([example, "127.0.0.1", &port]).output();
    let output = output.expect("Python starts");
    let (said, errors) = (&output.stdout, String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{errors}");
    assert_eq!(
        String::from_utf8_lossy(said),
        "1000 items are in 64 filters\n"
    );
    for node in &cluster.0 {
        let filters = info(&mut node.client(), "guira_filters");
        assert!(filters > 10, "{filters} are here");
    }
    are_sound(&cluster);
}
