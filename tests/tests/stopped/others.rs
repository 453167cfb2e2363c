//! What the other threads do while one is stopped: every operation there is.

use super::stop::{FOR_EVER, Filter};
use guira::{CuckooFilter, InsertError};
use std::{collections::VecDeque, sync::mpsc, thread};

const WORKERS: u64 = 2;

/// Where the workers' own items begin.
const NEW: u64 = 1 << 48;

/// A fixed filter is filled up to here: well below what it can hold, so that no
/// insert has to find a path through what the stopped thread keeps.
const LOAD: f64 = 0.8;

/// How many inserts were refused.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Refused {
    pub(crate) plain: usize,
    pub(crate) unique: usize,
}

impl Refused {
    fn and(self, other: Self) -> Self {
        Self {
            plain: self.plain + other.plain,
            unique: self.unique + other.unique,
        }
    }
}

/// A thread with items that no other one touches.
struct Worker {
    filter: Filter,
    items: VecDeque<u64>,
    next: u64,
    refused: Refused,
}

impl Worker {
    /// Inserts new items up to this number.
    fn fill(&mut self, count: usize) {
        for _ in self.items.len()..count {
            let item = self.next;
            self.next += 1;
            let inserted = match item % 3 {
                0 => self.filter.insert(&item).map(|()| true),
                1 => self.filter.insert_unique(&item),
                _ => match self.filter.insert_batch(&[item]) {
                    Ok(()) => Ok(true),
                    Err(error) => Err(error.error),
                },
            };
            match inserted {
                Ok(true) => {
                    assert!(self.filter.contains(&item), "false negative of {item}");
                    self.items.push_back(item);
                }
                // An item of its class is in, which may be removed.
                Ok(false) => {}
                Err(
                    InsertError::Full
                    | InsertError::BlockedByScan
                    | InsertError::Contended
                    | InsertError::TooManyCopies,
                ) => match item % 3 {
                    1 => self.refused.unique += 1,
                    _ => self.refused.plain += 1,
                },
                Err(error) => panic!("insert of {item}: {error}"),
            }
        }
    }

    /// Removes the oldest items down to this number.
    fn thin(&mut self, count: usize) {
        while self.items.len() > count {
            let batch = if self.items.len() > count + 8 { 8 } else { 1 };
            let items: Vec<u64> = self.items.drain(..batch).collect();
            let mut removed = vec![false; batch];
            if items[0].is_multiple_of(2) {
                self.filter.remove_batch(&items, &mut removed);
            } else {
                removed = items.iter().map(|item| self.filter.remove(item)).collect();
            }
            assert!(
                removed.iter().all(|&removed| removed),
                "removes of {items:?}"
            );
        }
    }

    fn look_up(&mut self) {
        for item in &self.items {
            assert!(self.filter.contains(item), "false negative of {item}");
            assert!(self.filter.count(item) > 0, "count of {item}");
        }
        let mut found = vec![false; self.items.len()];
        self.filter
            .contains_batch(self.items.make_contiguous(), &mut found);
        assert!(
            found.iter().all(|&found| found),
            "false negative of a batch"
        );
    }

    /// No other thread removes the items, so they are in each copy of the filter.
    fn copy(&self) {
        let restored = CuckooFilter::from_bytes(&self.filter.to_bytes()).expect("a snapshot");
        let clone = CuckooFilter::clone(&self.filter);
        for item in &self.items {
            assert!(restored.contains(item), "{item} is not in the snapshot");
            assert!(clone.contains(item), "{item} is not in the clone");
        }
    }

    /// Replaces a part of the items, with `copies` of the filter in between.
    fn work(&mut self, most: usize, copies: bool) {
        self.thin(most / 4 * 3);
        self.fill(most);
        self.look_up();
        if copies {
            self.copy();
        }
        self.filter.finish_growth();
        self.thin(most / 2);
    }
}

/// Lets a thread look for the items `present`, and insert `contested` as the stopped
/// one does.
pub(crate) fn meet(filter: &Filter, present: Vec<u64>, contested: Option<u64>) {
    let worker = Worker {
        filter: filter.clone(),
        items: present.into(),
        next: 0,
        refused: Refused::default(),
    };
    at_once(vec![worker], move |worker| {
        worker.look_up();
        if let Some(item) = contested {
            let inserted = worker.filter.insert_unique(&item);
            assert!(matches!(
                inserted,
                Ok(_)
                    | Err(InsertError::Full
                        | InsertError::BlockedByScan
                        | InsertError::Contended
                        | InsertError::TooManyCopies)
            ));
            assert_eq!(worker.filter.contains(&item), inserted.is_ok());
        }
    });
}

/// Lets threads do everything, with `items`, which are in the filter and which they
/// remove, and with others. How many inserts were refused, as long as no other
/// snapshots were taken than that in which a thread may be stopped.
pub(crate) fn work(filter: &Filter, items: &[u64]) -> Refused {
    let grows = filter.max_capacity() > filter.capacity();
    let most = if grows {
        // Two levels on, also where buckets get a slot more on the way, unless it is as large as it
        // may be by then.
        (4 * filter.capacity()).min(filter.max_capacity() / 5 * 4)
    } else {
        (LOAD * (filter.buckets() * filter.bucket_slots()) as f64) as usize
    };
    let most = most / WORKERS as usize;
    let mut workers: Vec<Worker> = (0..WORKERS)
        .map(|worker| {
            let own = |item: &u64| item % WORKERS == worker;
            Worker {
                filter: filter.clone(),
                items: items.iter().copied().filter(own).collect(),
                next: NEW << worker,
                refused: Refused::default(),
            }
        })
        .collect();
    workers = at_once(workers, move |worker| worker.work(most, false));
    let refused = workers
        .iter()
        .fold(Refused::default(), |sum, worker| sum.and(worker.refused));
    workers = at_once(workers, move |worker| worker.work(most, true));
    at_once(workers, |worker| worker.thin(0));
    refused
}

/// Each of the workers does it, in a thread of its own.
fn at_once(
    workers: Vec<Worker>,
    work: impl Fn(&mut Worker) + Copy + Send + 'static,
) -> Vec<Worker> {
    let (done, all_done) = mpsc::channel();
    let count = workers.len();
    for mut worker in workers {
        let done = done.clone();
        thread::spawn(move || {
            work(&mut worker);
            done.send(worker).expect("the test waits for it");
        });
    }
    drop(done);
    (0..count)
        .map(|_| {
            let done = all_done.recv_timeout(FOR_EVER);
            done.expect("nobody is delayed or fails")
        })
        .collect()
}
