//! Begins the epochs of filters when they are due.
//!
//! Large filters wait only for each other, because beginning an epoch of a large filter may take
//! seconds.

use super::{Entry, Keyspace, is_kept, lock};
use guira_commands::Windowed;
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, Weak},
    time::{Duration, Instant},
};
use tokio::{sync::Notify, time};

/// The bytes that a filter with a window is charged here.
pub(super) const SCHEDULED: usize = 128;

/// The number of buckets of a large filter, for which beginning an epoch takes about half a
/// millisecond.
const LARGE: usize = 1 << 17;

/// The number of filters for which [`Keyspace::tick_some`] begins an epoch in one call.
const TOGETHER: usize = 256;

/// The minimum time between two of its calls.
const PAUSE: Duration = Duration::from_millis(2);

/// The maximum time until a filter is checked again, because later times may not be representable.
const LONGEST: Duration = Duration::from_secs(86_400);

/// The filters of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Filters whose epochs begin in negligible time.
    Small,
    /// The other filters.
    Large,
}

impl Lane {
    /// Both lanes.
    pub const ALL: [Self; 2] = [Self::Small, Self::Large];

    fn of(entry: &Entry) -> Self {
        match entry.buckets() {
            ..LARGE => Self::Small,
            _ => Self::Large,
        }
    }

    /// The number of filters of the lane that are handled in one call.
    fn together(self) -> usize {
        match self {
            Self::Small => TOGETHER,
            Self::Large => 1,
        }
    }
}

/// The filters with windows that are values of keys.
#[derive(Debug, Default)]
pub(super) struct Ticks {
    small: Waiting,
    large: Waiting,
}

#[derive(Debug, Default)]
struct Waiting {
    queue: Mutex<Queue>,
    /// Notified when another filter is due earlier.
    is_sooner: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    /// The filters by due time and address. The address is unique while the filter is here.
    by_time: BTreeMap<(Instant, usize), Weak<Entry>>,
    times: HashMap<usize, Instant>,
}

impl Queue {
    fn remove(&mut self, entry: &Entry) {
        let address = address(entry);
        if let Some(at) = self.times.remove(&address) {
            self.by_time.remove(&(at, address));
        }
    }

    /// A filter that is due, if it still exists.
    fn due(&mut self, now: Instant) -> Option<Weak<Entry>> {
        let first = self.by_time.first_entry()?;
        let &(at, address) = first.key();
        (at <= now).then(|| {
            self.times.remove(&address);
            first.remove()
        })
    }
}

fn address(entry: &Entry) -> usize {
    std::ptr::from_ref(entry).addr()
}

impl Ticks {
    fn of(&self, lane: Lane) -> &Waiting {
        match lane {
            Lane::Small => &self.small,
            Lane::Large => &self.large,
        }
    }

    /// Queues the filter for its next epoch, if it has a window and is the value of a key.
    pub(super) fn add(&self, entry: &Arc<Entry>) {
        let Some(window) = entry.window() else {
            return;
        };
        let waiting = self.of(Lane::of(entry));
        let left = window.until_next_epoch().min(LONGEST);
        let (at, address) = (Instant::now() + left, address(entry));
        let mut queue = lock(&waiting.queue);
        // A thread that deletes the key first marks the filter, and then removes it from here.
        if !is_kept(entry) {
            return;
        }
        queue.times.insert(address, at);
        queue.by_time.insert((at, address), Arc::downgrade(entry));
        let is_first = queue.by_time.first_key_value().map(|(key, _)| *key) == Some((at, address));
        drop(queue);
        if is_first {
            waiting.is_sooner.notify_one();
        }
    }

    /// Removes a filter that is [no longer the value of a key](is_kept).
    pub(super) fn remove(&self, entry: &Entry) {
        if entry.window().is_some() {
            lock(&self.of(Lane::of(entry)).queue).remove(entry);
        }
    }
}

impl Keyspace {
    /// Waits until an epoch of a filter is due.
    pub async fn wait_for_tick(&self, lane: Lane) {
        let waiting = self.ticks.of(lane);
        time::sleep(PAUSE).await;
        loop {
            let first = lock(&waiting.queue)
                .by_time
                .first_key_value()
                .map(|(&(at, _), _)| at);
            match first {
                Some(at) if at <= Instant::now() => return,
                Some(at) => {
                    // Checks again after either event.
                    let _ = time::timeout_at(at.into(), waiting.is_sooner.notified()).await;
                }
                None => waiting.is_sooner.notified().await,
            }
        }
    }

    /// Begins the epochs of some filters that are due, which may take long.
    pub fn tick_some(&self, lane: Lane) {
        let now = Instant::now();
        for _ in 0..lane.together() {
            let due = lock(&self.ticks.of(lane).queue).due(now);
            let Some(due) = due else {
                return;
            };
            if let Some(entry) = due.upgrade() {
                entry.window().map(Windowed::tick);
                self.ticks.add(&entry);
            }
        }
    }

    /// The number of filters with windows.
    #[must_use]
    pub fn windows(&self) -> usize {
        let of = |lane| lock(&self.ticks.of(lane).queue).times.len();
        Lane::ALL.map(of).iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guira_commands::{Options, Wanted, Window};
    use std::thread;

    fn wanted(capacity: usize, milliseconds: u64) -> Wanted {
        Wanted {
            window: Some(Window {
                length: Duration::from_millis(milliseconds),
                epochs: Some(2),
            }),
            ..Options {
                capacity,
                ..Options::default()
            }
            .into()
        }
    }

    fn epoch(keyspace: &Keyspace, key: &[u8]) -> u64 {
        let entry = keyspace.get(key).unwrap();
        entry.window().unwrap().epoch()
    }

    #[tokio::test]
    async fn filters_come_up_when_their_steps_end() {
        let keyspace = Keyspace::new(usize::MAX);
        let start = Instant::now();
        for (key, capacity, length) in [
            (b"quick", 100, 40),
            (b"later", 100, 100),
            (b"large", 1 << 20, 40),
            (b"never", 100, 3_600_000),
        ] {
            keyspace.reserve(key, &wanted(capacity, length)).unwrap();
        }
        keyspace
            .reserve(b"plain", &Options::default().into())
            .unwrap();
        assert_eq!(keyspace.windows(), 4);
        while epoch(&keyspace, b"later") == 0 {
            keyspace.wait_for_tick(Lane::Small).await;
            keyspace.tick_some(Lane::Small);
        }
        assert!(start.elapsed() >= Duration::from_millis(50));
        let quick = epoch(&keyspace, b"quick");
        assert!((1..=2 + start.elapsed().as_millis() as u64 / 20).contains(&quick));
        assert_eq!(epoch(&keyspace, b"never"), 0);
        assert_eq!(
            epoch(&keyspace, b"large"),
            0,
            "the large lane is not running"
        );
        keyspace.wait_for_tick(Lane::Large).await;
        keyspace.tick_some(Lane::Large);
        assert_eq!(epoch(&keyspace, b"large"), 1);
    }

    #[test]
    fn a_key_that_is_taken_away_is_not_kept_here() {
        let keyspace = Keyspace::new(usize::MAX);
        let with_a_window = |key: &[u8]| keyspace.reserve(key, &wanted(100, 2)).unwrap();
        let entries = [&b"a"[..], b"b", b"c"].map(with_a_window);
        assert!(keyspace.copy(b"a", b"copy", false).unwrap());
        assert_eq!(keyspace.windows(), 4);
        assert!(keyspace.delete(b"b"));
        assert!(keyspace.rename(b"c", b"a", true).unwrap());
        assert_eq!(keyspace.windows(), 2);
        thread::sleep(Duration::from_millis(3));
        keyspace.tick_some(Lane::Small);
        assert_eq!(keyspace.windows(), 2);
        assert_eq!(epoch(&keyspace, b"a"), 1);
        // The filter is deleted while its epoch begins.
        let [_, _, renamed] = entries;
        keyspace.clear();
        keyspace.ticks.add(&renamed);
        assert_eq!((keyspace.windows(), keyspace.used()), (0, 0));
    }
}
