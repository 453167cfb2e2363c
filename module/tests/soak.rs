//! Long runs, which only run on request: `ci/module.sh --soak SECONDS`.

mod common;

use common::{
    Engine, ask,
    cluster::{Cluster, PRIMARIES},
    digest, dump, is_skipped, is_sound, load,
    oracle::{Oracle, check_all},
    writers::{check, slots, write_while},
};
use std::{
    env, fs, thread,
    time::{Duration, Instant},
};

/// The duration of each test.
fn length() -> Duration {
    let seconds = env::var("GUIRA_SOAK").map_or(60, |seconds| {
        seconds.parse().unwrap_or_else(|_| {
            panic!("GUIRA_SOAK is '{seconds}', and must be a number of seconds")
        })
    });
    Duration::from_secs(seconds)
}

/// In each round all keys move from one primary to the next, then a primary stops, and its replica
/// takes over. Two clients write all the time, and no write that a replica has acknowledged is
/// lost.
#[test]
#[ignore = "as long as GUIRA_SOAK says, in seconds: ci/module.sh --soak"]
fn slots_move_and_replicas_take_over() {
    if is_skipped() {
        return;
    }
    let mut cluster = Cluster::start(2 * PRIMARIES);
    let mut slots = slots(&cluster);
    // Each pair is a primary and its replica.
    let mut pairs: Vec<_> = (0..PRIMARIES)
        .map(|index| (index, index + PRIMARIES))
        .collect();
    let (mut rounds, mut at_once) = (0, 0);
    let mut commands = 0;
    let begun = Instant::now();
    let written = write_while(&mut cluster, |cluster, progress| {
        while begun.elapsed() < length() {
            for from in 0..PRIMARIES {
                let to = (from + 1 + rounds % (PRIMARIES - 1)) % PRIMARIES;
                let moved: Vec<u16> = slots
                    .iter_mut()
                    .filter(|(_, owner, round)| *owner == from && *round == rounds)
                    .map(|(slot, owner, round)| {
                        (*owner, *round) = (to, rounds + 1);
                        *slot
                    })
                    .collect();
                let ranges: Vec<_> = moved.iter().map(|&slot| (slot, slot)).collect();
                let (source, target) = (pairs[from].0, pairs[to].0);
                if rounds % 2 == 1
                    && !moved.is_empty()
                    && cluster.migrate_at_once(source, target, &ranges)
                {
                    at_once += 1;
                } else {
                    moved
                        .iter()
                        .for_each(|&slot| cluster.migrate(slot, source, target));
                }
            }
            // A node that stops before all others know its slots loses them, in any cluster.
            cluster.agree();
            progress.wait();
            let index = rounds % PRIMARIES;
            let (killed, heir) = pairs[index];
            cluster.catch_up(killed, heir);
            cluster.0[killed].kill();
            let others: Vec<_> = (0..2 * PRIMARIES).filter(|&node| node != killed).collect();
            cluster.wait_for_primary(heir, &others);
            cluster.0[killed].start_again();
            cluster.wait_for_replica(killed);
            cluster.agree();
            pairs[index] = (heir, killed);
            progress.wait();
            rounds += 1;
        }
        commands = progress.total();
    });
    let unsure = check(&mut cluster.client(), &written);
    for (primary, replica) in pairs {
        cluster.catch_up(primary, replica);
        let [one, other] =
            [primary, replica].map(|node: usize| digest(&mut cluster.0[node].client()));
        assert_eq!(one, other, "{primary} and {replica}");
    }
    cluster
        .0
        .iter()
        .for_each(|node| is_sound(&mut node.client()));
    println!(
        "{rounds} primaries ended, and {} batches of slots moved, {at_once} of these at once: \
         {commands} commands were done, and {unsure} others may have been",
        PRIMARIES * rounds
    );
}

/// The memory for clients, saves, dumps, loads and copies is freed.
#[test]
#[ignore = "as long as GUIRA_SOAK says, in seconds: ci/module.sh --soak"]
fn memory_stays_level() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let mut oracles: Vec<_> = (0..4).map(|client| Oracle::new("k", client)).collect();
    let mut client = engine.client();
    ask::<()>(&mut client, "CF.RESERVE large 2000000 EXPANSION 0");
    let resident = || {
        let status = fs::read_to_string(format!("/proc/{}/status", engine.id()));
        let status = status.expect("there is a /proc");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        number.expect("it has resident memory")
    };
    let begun = Instant::now();
    let mut all = Vec::new();
    while begun.elapsed() < length() || all.len() < 8 {
        thread::scope(|scope| {
            for oracle in &mut oracles {
                let mut client = engine.client();
                scope.spawn(move || oracle.work(&mut client, 5_000));
            }
            for piece in dump(&mut client, "large") {
                load(&mut client, "loaded", &piece);
            }
            ask::<i64>(&mut client, "COPY k copy REPLACE");
            ask::<()>(&mut client, "CF.RESERVE grows 100");
            for items in 0..20 {
                let items: Vec<usize> = (0..1000).map(|item| items * 1000 + item).collect();
                let mut insert = redis::cmd("CF.INSERT");
                let insert = insert.arg("grows").arg("ITEMS").arg(items);
                insert.exec(&mut client).expect("they fit");
            }
            let payload: Vec<u8> = ask(&mut client, "DUMP large");
            let mut restore = redis::cmd("RESTORE");
            let restore = restore.arg("copy").arg(0).arg(payload).arg("REPLACE");
            restore.exec(&mut client).expect("it is whole");
            ask::<()>(&mut client, "DEL loaded copy grows");
        });
        all.push(resident());
    }
    check_all(&mut client, "k", &oracles.iter().collect::<Vec<_>>());
    is_sound(&mut client);
    let most = |some: &[u64]| some.iter().copied().max().unwrap_or(0);
    let (early, late) = all.split_at(all.len() / 2);
    let (early, late) = (most(early), most(late));
    println!(
        "{} rounds: {early} kB resident at most in the first half, {late} kB in the second",
        all.len()
    );
    assert!(late < early + early / 10, "{all:?}");
}
