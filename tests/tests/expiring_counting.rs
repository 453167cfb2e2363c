//! In an expiring filter with counters, `count` is the number of occurrences within the TTL, also beside
//! other threads. `multiset_oracle` and `combined` have snapshots and merges.

use guira::{BuildError, ExpiringBuilder, ExpiringFilter};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

const TTL: Duration = Duration::from_secs(60);

/// The fingerprint and counter bits of fixed filters, and the most epochs.
const FIXED: [(u32, u32, u32); 5] = [(8, 4, 5), (13, 4, 4), (23, 4, 2), (9, 8, 4), (19, 8, 2)];

/// The same of filters that grow. They begin with 3, 2 and 2 slots.
const GROWING: [(u32, u32, u32); 3] = [(11, 4, 4), (19, 4, 2), (16, 8, 2)];

fn builder(bits: u32, counter_bits: u32) -> ExpiringBuilder {
    let builder = ExpiringFilter::builder(TTL).seed(7);
    builder.fingerprint_bits(bits).counter_bits(counter_bits)
}

/// A builder of each layout, and the most epochs of its TTL.
fn builders(capacity: usize) -> impl Iterator<Item = (ExpiringBuilder, u32)> {
    let fixed = FIXED.map(|(bits, counter, most)| (builder(bits, counter), most));
    let growing = GROWING.map(|(bits, counter, most)| {
        let builder = builder(bits, counter).max_capacity(4 * capacity);
        (builder, most)
    });
    let all = fixed.into_iter().chain(growing);
    all.map(move |(builder, most)| (builder.capacity(capacity), most))
}

#[test]
fn the_builder_chooses_epochs_that_fit() {
    for (builder, most) in builders(1_000) {
        let filter = builder.clone().build().expect("a filter");
        assert_eq!(filter.epochs() as usize, filter.bucket_slots() - 1);
        for epochs in 1..=most {
            assert!(builder.clone().epochs(epochs).build().is_ok());
        }
        for asked in [most + 1, 13] {
            let refused = builder.clone().epochs(asked).build().err();
            let is_named = matches!(
                refused,
                Some(BuildError::EpochsOfCounters { asked: told, max, .. })
                    if (told, max) == (asked, most)
            );
            assert!(is_named, "{refused:?}");
        }
    }
    let refused = builder(13, 5).build().err();
    assert!(matches!(
        refused,
        Some(BuildError::CounterBits { asked: 5, .. })
    ));
    let refused = builder(13, 4).false_positive_rate(1e-8).build().err();
    assert!(
        matches!(refused, Some(BuildError::RateOfFingerprint { .. })),
        "{refused:?}"
    );
    let refused = builder(13, 4).epochs(14).build().err();
    assert_eq!(refused, Some(BuildError::Epochs { asked: 14, max: 13 }));
}

/// The item fills its counters in each epoch, beside as many others as the filter is for.
#[test]
fn an_item_that_occurs_in_every_epoch_fits() {
    for (builder, most) in builders(600) {
        let filter = builder.epochs(most).build().expect("a filter");
        let (epochs, copies) = (filter.epochs(), 1 << filter.counter_bits());
        let others = 600 / u64::from(epochs) - 1;
        for epoch in 0..20_u64 {
            let before = filter.count("hot");
            assert!(before >= copies * epoch.min(epochs.into()) as usize);
            for more in 1..=copies {
                assert_eq!(filter.insert_and_count("hot"), Ok(before + more), "{most}");
            }
            for other in 0..others {
                filter.insert(&(epoch, other)).expect("there is room");
            }
            assert!(filter.advance());
        }
    }
}

/// The epochs that a thread has read before and after each of its inserts.
type Spans = Vec<(u64, u64)>;

/// The items that threads count, of different classes, and others that have none of these classes.
fn items(builder: &ExpiringBuilder) -> (Vec<u64>, Vec<u64>) {
    let probe = builder.clone().build().expect("a filter");
    let mut hot = Vec::new();
    let mut others = Vec::new();
    for item in 0..4_000 {
        if probe.contains(&item) {
            continue;
        }
        if hot.len() < 4 {
            probe.insert(&item).expect("there is room");
            hot.push(item);
        } else {
            others.push(item);
        }
    }
    (hot, others)
}

/// Inserts until the end, and keeps the spans for each of the hot items. Each answer counts at least the
/// occurrences of this thread that are certainly live.
fn insert_hot(
    filter: &ExpiringFilter,
    (hot, others): &(Vec<u64>, Vec<u64>),
    thread: usize,
    ends: &AtomicBool,
) -> Vec<Spans> {
    let mut spans = vec![Spans::new(); hot.len()];
    for turn in 0.. {
        if ends.load(Ordering::Relaxed) {
            break;
        }
        let place = turn % hot.len();
        let before = filter.epoch();
        // All counters may be full, or all slots that can be reached.
        if let Ok(count) = filter.insert_and_count(&hot[place]) {
            let after = filter.epoch();
            let own = &mut spans[place];
            own.push((before, after));
            let floor = after.saturating_sub(filter.epochs().into());
            let least = own.iter().filter(|&&(before, _)| before >= floor).count();
            assert!(count >= least, "thread {thread}: {count} of {least}");
        }
        let other = others[((turn * 2_654_435_761) ^ thread) % others.len()];
        if filter.insert(&other).is_ok() && turn % 3 == 0 {
            filter.remove(&other);
        }
    }
    spans
}

/// Threads count some items, while others relocate their slots and epochs begin. Each occurrence counts for
/// the epochs of its TTL, and hardly any for longer.
#[test]
fn no_occurrence_is_missed_beside_other_threads() {
    let growing = builder(19, 4).max_capacity(8_000);
    let fixed = [(13, 4), (23, 4), (9, 8), (19, 8)].map(|(bits, counter)| builder(bits, counter));
    for builder in fixed.into_iter().chain([growing]) {
        let builder = builder.capacity(1_000);
        let items = items(&builder);
        let filter = builder.build().expect("a filter");
        let epochs = u64::from(filter.epochs());
        let ends = AtomicBool::new(false);
        let spans: Vec<Vec<Spans>> = thread::scope(|scope| {
            let (filter, items, ends) = (&filter, &items, &ends);
            let insert = |thread| scope.spawn(move || insert_hot(filter, items, thread, ends));
            let threads: Vec<_> = (0..4).map(insert).collect();
            for _ in 0..60 {
                thread::yield_now();
                filter.advance();
            }
            ends.store(true, Ordering::Relaxed);
            let ended = threads.into_iter().map(thread::ScopedJoinHandle::join);
            ended.map(|spans| spans.expect("no violation")).collect()
        });
        for later in 0..=epochs {
            let floor = filter.epoch().saturating_sub(epochs);
            // An insert that an epoch overtakes beside a mark makes an older occurrence younger: at most one
            // for each thread and epoch.
            let overtaken = 4 * (epochs as usize + 1);
            for (place, hot) in items.0.iter().enumerate() {
                let all = spans.iter().flat_map(|spans| &spans[place]);
                let least = all.clone().filter(|&&(before, _)| before >= floor).count();
                let most = all.filter(|&&(_, after)| after >= floor).count();
                let count = filter.count(hot);
                assert!(
                    (least..=most + overtaken).contains(&count),
                    "{later} epochs later {hot} has {count} of {least} to {most}"
                );
            }
            filter.advance();
        }
        assert_eq!((filter.len(), filter.slots_in_use()), (0, 0));
    }
}
