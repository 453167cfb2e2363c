//! Filters that forget by time: against a plain filter, against what else remembers a window, and while an
//! epoch begins.

mod stream;
mod windows;

use crate::{
    crew::{beside, crew},
    effort::{Effort, Size},
    growth::TIMES,
    hasher,
    keys::{Asked, Walk},
    lanes::Tally,
    measure::{items, say},
    peer::Peer,
    peers::with_bits,
    sheet::{Contestant, LOOKUPS, What, shares},
    table::{Table, Unit},
};
use guira::ExpiringFilter;
use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

/// The bits of a fingerprint and the epochs of an expiring filter, and the bits of the plain one.
const LAYOUTS: [(u32, u32, u32, &str); 4] = [
    (9, 5, 12, "9 + 3 bits × 5"),
    (11, 12, 15, "11 + 4 bits × 4"),
    (16, 12, 20, "16 + 4 bits × 3"),
    (26, 12, 30, "26 + 4 bits × 2"),
];

/// All of it.
pub(crate) fn measure(effort: Effort) -> Vec<Table> {
    let mut tables = vec![against_plain(effort), against_built_large(effort)];
    tables.push(stream::lookups(effort));
    tables.extend(stream::measure(effort));
    tables.extend(epochs(effort));
    tables
}

/// Speed beside that of a plain filter with slots of the same size, in cache and out of it.
fn against_plain(effort: Effort) -> Table {
    let [small, _, large] = effort.sizes();
    let sizes = [small, large].into_iter();
    let pairs = sizes.flat_map(|size| {
        let row = move |name: &str| format!("{name}, {}", size.slots());
        LAYOUTS.map(|layout| (row(layout.3), size, pair(size, layout)))
    });
    let whats = [&[What::Insert(0, 100)][..], &LOOKUPS, &[What::Remove]].concat();
    let title = "An expiring filter's share of a plain filter's speed";
    shares(("expiring/plain", title), &whats, effort, pairs)
}

/// An expiring filter and a plain one, with the same number of slots, and the same number of them in use.
fn pair(
    size: Size,
    (bits, epochs, plain_bits, _): (u32, u32, u32, &str),
) -> [Contestant<'static>; 2] {
    let capacity = (1 << size.log_slots) / 100 * 80;
    let plain = move || with_bits(capacity, plain_bits);
    let slots = plain().buckets() * plain().bucket_slots();
    let room = slots as f64 * 0.8 / (1.0 + 1.5 / f64::from(epochs));
    let expiring = move || {
        let builder = ExpiringFilter::builder(Duration::from_secs(3600))
            .capacity(room as usize)
            .epochs(epochs)
            .fingerprint_bits(bits);
        let filter = builder.seed(hasher::SEED).build();
        let filter = filter.expect("a layout of guira, and memory");
        for _ in 0..3 {
            filter.advance();
        }
        filter
    };
    let count = slots as u64 / 100 * 70;
    [
        Contestant::new("expiring", count, expiring),
        Contestant::new("plain", count, plain),
    ]
}

/// The rates that are asked of filters that grow.
const RATES: [f64; 2] = [0.01, 0.001];

/// Speed of a filter that grew, beside that of one that was built large, in cache and out of it.
fn against_built_large(effort: Effort) -> Table {
    let [_, medium, large] = effort.sizes();
    let pairs = [medium, large].into_iter().flat_map(|size| {
        let row = move |rate| format!("at most {} %, {}", rate * 100.0, size.slots());
        RATES.map(|rate| (row(rate), size, grown_and_large(size, rate)))
    });
    let whats = [&[What::Insert(0, 100)][..], &LOOKUPS].concat();
    let title = format!("A filter grown {TIMES} times, as a share of the speed of one built large");
    shares(("expiring/grown", &title), &whats, effort, pairs)
}

/// A filter that grows to its number of items, and one built for them.
fn grown_and_large(size: Size, rate: f64) -> [Contestant<'static>; 2] {
    let count = items(size.log_slots);
    let with_room = move |first: u64| {
        let builder = ExpiringFilter::builder(Duration::from_secs(3600))
            .capacity(first as usize)
            .max_capacity(count as usize)
            .false_positive_rate(rate)
            .seed(hasher::SEED);
        builder.build().expect("a rate on offer, and memory")
    };
    [
        Contestant::new("grown", count, move || with_room(count / TIMES)),
        Contestant::new("built large", count, move || with_room(count)),
    ]
}

/// What an epoch takes if nothing expires and if all items do, in a table of 2^`log_huge` times 2 bytes;
/// and lookups while another thread begins epochs all the time.
fn epochs(effort: Effort) -> [Table; 2] {
    let buckets = 1_usize << (effort.log_huge - 2);
    // 3 slots a bucket; about 7 in 8 of them are for the items of a TTL and the rest for time.
    let filter = windows::expiring(buckets * 2);
    let title = format!("An epoch of a table of {} MiB", filter.memory_usage() >> 20);
    say(&title);
    let mut epochs = Table::new("expiring/epoch", title)
        .with(Unit::Time, ["an epoch"])
        .with(Unit::Count, ["items that expire"]);
    // A twelfth of it, which dies at once in the end.
    let half = buckets as u64 / 12;
    let part = |part: usize| half * part as u64..half * (part as u64 + 1);
    let (accepted, _) = crew(2, |thread| filter.insert_all(part(thread)));
    assert_eq!(accepted, [half; 2], "there is room");
    let mut epoch = |name: &str| {
        let (before, start) = (filter.len(), Instant::now());
        filter.advance();
        let elapsed = start.elapsed().as_nanos() as f64;
        epochs.push(name, "an epoch", elapsed);
        epochs.push(name, "items that expire", (before - filter.len()) as f64);
    };
    filter.advance();
    epoch("no item expires");
    let all_live = || filter.epoch() < u64::from(filter.epochs());
    let mut latencies = Tally::table("expiring/latency", "Lookups while epochs begin");
    let look = || {
        let (mut tally, start) = (Tally::default(), Instant::now());
        let mut keys = Walk::new(Asked::Half, 2 * half, 1);
        while start.elapsed() < effort.threads / 50 {
            for key in keys.by_ref().take(256) {
                tally.lookups.note::<true, _>(|| filter.contains(&key));
            }
        }
        tally
    };
    look().fill_in(&mut latencies, "without");
    let (beside, ()) = beside(look, |stop| {
        while !stop.load(Ordering::Relaxed) && all_live() {
            filter.advance();
        }
    });
    beside.fill_in(&mut latencies, "beside `advance`");
    while all_live() {
        filter.advance();
    }
    epoch("all items expire");
    [epochs, latencies]
}
