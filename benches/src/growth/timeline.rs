//! What single operations take while a filter grows: one thread inserts,
//! another looks up.

use super::{TIMES, growing};
use crate::{
    crew::crew_with,
    effort::Effort,
    keys::{ABSENT, Key, mix},
    latency::Latencies,
    measure::items,
    peers::Guira,
};
use guira::CuckooFilter;
use std::sync::atomic::{AtomicU64, Ordering};

/// Windows between two doublings.
const PER_DOUBLING: u32 = 8;

/// Items that the writer inserts, and lookups that the reader makes, between two
/// looks at what the other does.
const STRETCH: u64 = 64;

/// A part of the fill, and what its operations took.
#[derive(Clone, Debug)]
pub struct Window {
    /// Items at its end.
    pub items: u64,
    /// Bytes of the filter at its end.
    pub bytes: usize,
    /// How often the filter has doubled at its end.
    pub level: u32,
    /// Of all rounds.
    pub latencies: Latencies,
}

/// Two fills, window by window.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// The filter that grows.
    pub grown: Vec<Window>,
    /// One built large.
    pub fixed: Vec<Window>,
    /// Lookups of items that were in, answered with no, in all fills.
    pub denied: u64,
    /// Inserts that were refused, in all fills.
    pub refused: u64,
    /// The slots of the fixed filter, as a power of two.
    pub log_slots: u32,
}

impl Timeline {
    /// The latencies of all windows.
    #[must_use]
    pub fn total(windows: &[Window]) -> Latencies {
        let mut total = Latencies::default();
        windows
            .iter()
            .for_each(|window| total.add(&window.latencies));
        total
    }
}

/// The items at the ends of the windows: the first is the filter before it grows, and each doubling
/// of the items takes the same number of windows.
fn ends(count: u64) -> Vec<u64> {
    let windows = TIMES.ilog2() * PER_DOUBLING;
    let end = |window: u32| {
        let doublings = f64::from(window) / f64::from(PER_DOUBLING);
        (count as f64 / TIMES as f64 * doublings.exp2()) as u64
    };
    (0..windows).map(end).chain([count]).collect()
}

/// Fills both in turn, round by round.
pub(super) fn measure(effort: Effort) -> Timeline {
    let count = items(effort.log_large);
    let empty = |items| Window {
        items,
        bytes: 0,
        level: 0,
        latencies: Latencies::default(),
    };
    let windows: Vec<Window> = ends(count).into_iter().map(empty).collect();
    let mut timeline = Timeline {
        grown: windows.clone(),
        fixed: windows,
        denied: 0,
        refused: 0,
        log_slots: effort.log_large,
    };
    for round in 0..effort.rounds as u64 {
        for (guira, windows) in [
            (growing(count), &mut timeline.grown),
            (Guira::new(count as usize, 15), &mut timeline.fixed),
        ] {
            let (denied, refused) = run(&guira.0, round, windows);
            timeline.denied += denied;
            timeline.refused += refused;
        }
    }
    timeline
}

enum Role<'a> {
    Writer(&'a mut [Window]),
    Reader(&'a mut [Latencies]),
}

/// One fill. How many lookups of present items were denied, and how many inserts
/// refused.
fn run(filter: &CuckooFilter, round: u64, windows: &mut [Window]) -> (u64, u64) {
    let ends: Vec<u64> = windows.iter().map(|window| window.items).collect();
    let mut lookups = vec![Latencies::default(); ends.len()];
    let (count, present) = (ends[ends.len() - 1], &AtomicU64::new(0));
    let roles = vec![Role::Writer(windows), Role::Reader(&mut lookups)];
    let (counts, _) = crew_with(roles, |role| match role {
        Role::Writer(windows) => write(filter, windows, present),
        Role::Reader(lookups) => read(filter, round, &ends, lookups, (present, count)),
    });
    for (window, lookups) in windows.iter_mut().zip(&lookups) {
        window.latencies.add(lookups);
    }
    (counts[1], counts[0])
}

/// Inserts; how many were refused.
fn write(filter: &CuckooFilter, windows: &mut [Window], present: &AtomicU64) -> u64 {
    let mut number = 0;
    let mut refused = 0;
    for window in windows {
        while number < window.items {
            let end = window.items.min(number + STRETCH);
            for number in number..end {
                let key = u64::nth(number);
                let insert = || filter.insert(&key).is_ok();
                refused += u64::from(!window.latencies.insert::<true>(insert));
            }
            number = end;
            // Release: the reader looks up what is in for certain.
            present.store(number, Ordering::Release);
        }
        let stats = filter.stats();
        (window.bytes, window.level) = (stats.memory_usage, stats.doublings);
    }
    refused
}

/// Looks up present and absent keys in turn, until the fill is complete; how
/// many of the present ones were denied.
fn read(
    filter: &CuckooFilter,
    round: u64,
    ends: &[u64],
    windows: &mut [Latencies],
    (present, count): (&AtomicU64, u64),
) -> u64 {
    let (mut step, mut window, mut denied) = (round << 40, 0, 0);
    loop {
        let items = present.load(Ordering::Acquire);
        if items == count {
            return denied;
        }
        while items >= ends[window] {
            window += 1;
        }
        for _ in 0..STRETCH {
            step += 1;
            let absent = items == 0 || step % 2 == 0;
            let number = if absent {
                ABSENT + step
            } else {
                ((u128::from(mix(step)) * u128::from(items)) >> 64) as u64
            };
            let key = u64::nth(number);
            let found = windows[window].lookup::<true>(|| filter.contains(&key));
            denied += u64::from(!found && !absent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_windows_end_with_the_fill() {
        let ends = ends(1_000_000);
        assert_eq!(ends.first(), Some(&15_625));
        assert_eq!(ends.get(8), Some(&31_250));
        assert_eq!(ends.last(), Some(&1_000_000));
        assert!(ends.is_sorted_by(|a, b| a < b));
    }
}
