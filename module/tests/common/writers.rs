//! Clients of a cluster that write, and know which items must be present.

use super::cluster::{Client, Cluster, PRIMARIES, first_slot};
use rand::{RngExt, rngs::StdRng};
use redis::cmd;
use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};

/// The number of keys, whose slots are on all nodes.
pub(crate) const KEYS: u32 = 30;

/// The number of items of a writer in a key.
const ITEMS: usize = 300;

const WRITERS: u64 = 2;

pub(crate) fn key(place: u32) -> String {
    format!("key:{place}")
}

/// A slot of the keys, the primary that has it, and the number of its moves.
pub(crate) type Place = (u16, usize, usize);

/// The slots of the keys in a new cluster.
pub(crate) fn slots(cluster: &Cluster) -> Vec<Place> {
    let mut client = cluster.0[0].client();
    let mut slots: Vec<u16> = (0..KEYS)
        .map(|place| super::ask(&mut client, &format!("CLUSTER KEYSLOT {}", key(place))))
        .collect();
    slots.sort_unstable();
    slots.dedup();
    let owner = |slot| {
        (1..PRIMARIES)
            .filter(|&index| slot >= first_slot(index))
            .count()
    };
    slots
        .into_iter()
        .map(|slot| (slot, owner(slot), 0))
        .collect()
}

/// A client, and its items in each key.
#[derive(Debug)]
pub(crate) struct Writer {
    number: u64,
    random: StdRng,
    next_item: u64,
    keys: Vec<Items>,
}

#[derive(Clone, Debug, Default)]
struct Items {
    there: Vec<u64>,
    /// The number of items that may be present or absent, because a primary stopped before a
    /// replica had them.
    unsure: u64,
}

/// The progress of the writers, for threads that wait for them.
#[derive(Debug)]
pub(crate) struct Progress {
    /// For each key, the number of commands that have run and will not be lost.
    done: Vec<AtomicU64>,
    has_replicas: bool,
    end: AtomicBool,
}

impl Progress {
    /// Waits until each key has received more writes.
    pub(crate) fn wait(&self) {
        const MORE: u64 = 10;
        let before: Vec<_> = self.done.iter().map(Self::load).collect();
        super::until("the writers go on", || {
            self.end.load(Ordering::Relaxed)
                || before
                    .iter()
                    .zip(&self.done)
                    .all(|(before, done)| Self::load(done) >= before + MORE)
        });
    }

    pub(crate) fn total(&self) -> u64 {
        self.done.iter().map(Self::load).sum()
    }

    fn load(done: &AtomicU64) -> u64 {
        done.load(Ordering::Relaxed)
    }
}

/// Stops the writers when dropped, even if a test fails.
struct End<'a>(&'a Progress);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.end.store(true, Ordering::Relaxed);
    }
}

impl Writer {
    fn new(number: u64) -> Self {
        Self {
            number,
            random: super::random(number),
            next_item: 0,
            keys: vec![Items::default(); KEYS as usize],
        }
    }

    fn name(&self, item: u64) -> String {
        format!("{}:{item}", self.number)
    }

    /// Adds or deletes an item, and checks the reply.
    fn step(&mut self, client: &mut Client, progress: &Progress) {
        let place = self.random.random_range(0..KEYS);
        let there = &mut self.keys[place as usize].there;
        let deletes = match there.len() {
            0 => false,
            ITEMS.. => true,
            _ => self.random.random(),
        };
        let (command, item) = if deletes {
            let index = self.random.random_range(0..there.len());
            ("CF.DEL", there.swap_remove(index))
        } else {
            self.next_item += 1;
            ("CF.ADD", self.next_item)
        };
        let mut words = cmd(command);
        words.arg(key(place)).arg(self.name(item));
        let answer = match progress.has_replicas {
            true => client.ask_surely::<i64>(&key(place), &words),
            false => client.ask(&key(place), &words).map(|answer| (answer, true)),
        };
        let is_sure = match answer {
            Ok((answer, is_sure)) => {
                assert_eq!(answer, 1, "{words:?}");
                is_sure
            }
            Err(error) => {
                assert!(progress.has_replicas && error.is_io_error(), "{error}");
                false
            }
        };
        let items = &mut self.keys[place as usize];
        match (is_sure, deletes) {
            (true, true) => {}
            (true, false) => items.there.push(item),
            (false, _) => items.unsure += 1,
        }
        if is_sure {
            progress.done[place as usize].fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Two clients write while `work` runs.
pub(crate) fn write_while(
    cluster: &mut Cluster,
    work: impl FnOnce(&mut Cluster, &Progress),
) -> Vec<Writer> {
    let mut client = cluster.client();
    for place in 0..KEYS {
        let mut reserve = cmd("CF.RESERVE");
        reserve.arg(key(place)).arg(100 << (place % 12));
        if place % 4 == 3 {
            reserve.arg("WINDOW").arg(3600);
        }
        client
            .ask::<()>(&key(place), &reserve)
            .expect("the key is new");
    }
    // No client uses these keys, whose windows keep the clocks of all nodes moving.
    for number in 0..12 {
        let name = format!("clock:{number}");
        let mut reserve = cmd("CF.RESERVE");
        reserve.arg(&name).arg(100).arg("WINDOW").arg(1);
        client.ask::<()>(&name, &reserve).expect("the key is new");
    }
    let progress = Progress {
        done: (0..KEYS).map(|_| AtomicU64::new(0)).collect(),
        has_replicas: cluster.has_replicas(),
        end: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|number| {
                let (mut client, progress) = (cluster.client(), &progress);
                scope.spawn(move || {
                    // If a writer fails, no thread waits for it.
                    let end = End(progress);
                    let mut writer = Writer::new(number);
                    while !progress.end.load(Ordering::Relaxed) {
                        writer.step(&mut client, progress);
                    }
                    drop(end);
                    writer
                })
            })
            .collect();
        let end = End(&progress);
        progress.wait();
        work(cluster, &progress);
        progress.wait();
        drop(end);
        writers
            .into_iter()
            .map(|writer| writer.join().expect("all answers are right"))
            .collect()
    })
}

/// Checks that exactly the expected items are present. Returns the number of items that may be
/// present or absent.
pub(crate) fn check(client: &mut Client, writers: &[Writer]) -> u64 {
    let mut unsure = 0;
    for place in 0..KEYS {
        let (mut least, mut most) = (0, 0);
        for writer in writers {
            let items = &writer.keys[place as usize];
            for &item in &items.there {
                let mut ask = cmd("CF.EXISTS");
                ask.arg(key(place)).arg(writer.name(item));
                let found: i64 = client.ask(&key(place), &ask).expect("it is answered");
                assert_eq!(found, 1, "{} of {place}", writer.name(item));
            }
            least += items.there.len() as u64;
            most += items.there.len() as u64 + items.unsure;
            unsure += items.unsure;
        }
        let info: HashMap<String, u64> = client
            .ask(&key(place), cmd("CF.INFO").arg(key(place)))
            .expect("it is there");
        let count = info["Number of items inserted"];
        assert!(
            (least..=most).contains(&count),
            "{count} in {place}, and not {least} to {most}"
        );
    }
    unsure
}
