//! Complete, truncated, damaged and hostile saves, and the age of windows.

use super::*;
use guira_commands::{Growth, Window};
use std::sync::atomic::Ordering;

/// Counts the allocations of each test.
#[global_allocator]
static ALLOCATOR: guira_hostile::Counting = guira_hostile::Counting;

fn load(bytes: &[u8]) -> Result<Vec<Loaded>, LoadError> {
    read_within(bytes, usize::MAX)
}

fn snapshot(filter: &Filter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).unwrap();
    bytes
}

/// A save of one filter with the key "w", a window of four epochs of an hour each, and the item
/// "a".
fn save_of_window() -> Vec<u8> {
    let window = Window {
        length: Duration::from_secs(4 * 3600),
        epochs: Some(4),
    };
    let options = Options {
        capacity: 10,
        expansion: 0,
        ..Options::default()
    };
    let growth = Growth::furthest(&options, usize::MAX).unwrap();
    let filter = Filter::build_window(options, growth, window, Clock::Process).unwrap();
    filter.insert(b"a", || false).unwrap();
    let mut bytes = Vec::new();
    write(&mut bytes, [((*b"w").into(), Arc::new(filter.into()))]).unwrap();
    bytes
}

/// The position of the time at which a save of a filter with a window was written: just before the
/// end.
fn at_written(bytes: &[u8]) -> std::ops::Range<usize> {
    let end = bytes.len() - (1 + 8 + 4);
    end - 8..end
}

/// The same save as if it had been written `ago` milliseconds ago.
fn as_of(mut bytes: Vec<u8>, ago: i64) -> Vec<u8> {
    let at = at_written(&bytes);
    let then = keyspace::now().saturating_sub(ago);
    bytes[at].copy_from_slice(&then.to_le_bytes());
    let at = bytes.len() - 4;
    let sum = crc32fast::hash(&bytes[..at]);
    bytes[at..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// The number of epochs, and whether the filter holds the item.
fn loaded(bytes: &[u8]) -> (u64, bool) {
    let [(key, filter, None)] = &load(bytes).unwrap()[..] else {
        panic!("there is one key");
    };
    assert_eq!(**key, *b"w");
    (filter.window().unwrap().epoch(), filter.contains(b"a"))
}

#[test]
fn a_window_goes_on_while_the_server_is_down() {
    const HOUR: i64 = 3_600_000;
    let bytes = save_of_window();
    assert_eq!(loaded(&bytes), (0, true));
    for (ago, expected) in [
        (HOUR - 60_000, (0, true)),
        (HOUR, (1, true)),
        (5 * HOUR - 60_000, (4, true)),
        (5 * HOUR, (5, false)),
        (i64::MAX, (5, false)),
        // The clock was set back.
        (-HOUR, (0, true)),
        (i64::MIN, (0, true)),
    ] {
        assert_eq!(loaded(&as_of(bytes.clone(), ago)), expected, "{ago}");
    }
}

/// Otherwise a server that restarts twice per epoch would never forget an item.
#[test]
fn what_has_passed_of_an_epoch_is_saved() {
    let mut bytes = save_of_window();
    for half in 1..=3 {
        let filters = load(&as_of(bytes, 1_800_000)).unwrap();
        let age = filters[0].1.window().unwrap().epoch_age();
        let expected = Duration::from_secs(1800 * (half % 2));
        let late = age.checked_sub(expected).unwrap();
        assert!(late < Duration::from_secs(60), "{age:?}");
        let entries = filters.into_iter();
        let entries = entries.map(|(key, filter, _)| (key, Arc::new(filter.into())));
        bytes = Vec::new();
        write(&mut bytes, entries).unwrap();
        assert_eq!(loaded(&bytes).0, half / 2);
    }
}

#[test]
fn a_kind_that_is_another_is_refused() {
    const KIND: usize = 8 + 4;
    for (mut bytes, kind) in [(save_of_window(), FILTER), (save().0, WINDOWED)] {
        bytes[KIND] = kind;
        let refused = load(&bytes).map(|filters| filters.len());
        assert!(
            matches!(refused, Err(LoadError::Filter { .. })),
            "{refused:?}"
        );
    }
}

fn save() -> (Vec<u8>, Vec<Shared>) {
    let filter = |capacity: usize, expansion| {
        let options = Options {
            capacity,
            expansion,
            ..Options::default()
        };
        let growth = Growth::furthest(&options, usize::MAX).unwrap();
        let filter = Filter::build(options, growth).unwrap();
        for item in 0..capacity {
            filter.insert(&item.to_le_bytes(), || false).unwrap();
        }
        Arc::new(filter.into())
    };
    let entries: Vec<Shared> = vec![
        ((*b"a").into(), filter(4, 0)),
        ((*b"").into(), filter(8, 1)),
    ];
    entries[1].1.deadline.store(i64::MAX, Ordering::Relaxed);
    let mut bytes = Vec::new();
    let size = write(&mut bytes, entries.clone()).unwrap();
    assert_eq!((size.bytes, size.filters), (bytes.len() as u64, 2));
    (bytes, entries)
}

#[test]
fn what_was_saved_is_loaded() {
    let (bytes, entries) = save();
    let loaded = load(&bytes).unwrap();
    assert_eq!(loaded.len(), entries.len());
    for ((key, filter, deadline), (saved_key, saved)) in loaded.iter().zip(&entries) {
        assert_eq!(key, saved_key);
        assert_eq!(filter.options(), saved.options());
        assert_eq!(*deadline, saved.deadline());
        assert_eq!(snapshot(filter), snapshot(saved));
    }
}

/// No server writes this file, though its checksum is right.
#[test]
fn a_time_before_all_times_is_refused() {
    let (bytes, entries) = save();
    for at in [-1, i64::MIN] {
        entries[1].1.deadline.store(at, Ordering::Relaxed);
        let mut hostile = Vec::new();
        write(&mut hostile, entries.clone()).unwrap();
        assert_eq!(hostile.len(), bytes.len());
        let refused = load(&hostile).map(|entries| entries.len());
        assert!(
            matches!(
                refused,
                Err(LoadError::Damaged("the time when a key expires"))
            ),
            "{refused:?}"
        );
    }
}

#[test]
fn a_save_cut_off_anywhere_is_refused() {
    for bytes in [save().0, save_of_window()] {
        for length in 0..bytes.len() {
            assert!(
                load(&bytes[..length]).is_err(),
                "{length} of {}",
                bytes.len()
            );
        }
        let longer = [&bytes[..], b"x"].concat();
        assert!(load(&longer).is_err());
    }
}

#[test]
fn a_changed_bit_anywhere_is_refused() {
    for mut bytes in [save().0, save_of_window()] {
        for at in 0..bytes.len() {
            let bit = 1 << (at % 8);
            bytes[at] ^= bit;
            assert!(load(&bytes).is_err(), "bit {bit:#x} of byte {at}");
            bytes[at] ^= bit;
        }
        assert!(load(&bytes).is_ok());
    }
}

#[test]
fn a_key_that_no_key_can_be_is_refused_before_it_is_read() {
    let (mut bytes, _) = save();
    let length = 8 + 4 + 1;
    for long in [LONGEST_KEY as u64 + 1, u64::MAX] {
        bytes[length..length + 8].copy_from_slice(&long.to_le_bytes());
        let refused = load(&bytes).map(|filters| filters.len());
        let error = "a key is too long";
        assert!(matches!(refused, Err(LoadError::Damaged(what)) if what == error));
    }
}

/// A save of one filter with the key "k" and this snapshot.
fn save_with(snapshot: &[u8]) -> Vec<u8> {
    let options = Options::default().to_bytes();
    let start = [&MAGIC[..], &VERSION.to_le_bytes(), &[FILTER]].concat();
    let key = [&1_u64.to_le_bytes()[..], b"k", &options, &[0; 16]].concat();
    let end = [&[END][..], &1_u64.to_le_bytes(), &[0; 4]].concat();
    let mut bytes = [&start[..], &key, snapshot, &end].concat();
    guira_hostile::fix_checksum(&mut bytes);
    bytes
}

/// A pass without chunks would cost the reader a whole table.
#[test]
fn empty_passes_in_a_save_are_refused() {
    let filter = snapshot(&save().1[1].1);
    assert_eq!(load(&save_with(&filter)).unwrap().len(), 1);
    for count in [1, 1_000] {
        let passes = [0_u64.to_le_bytes(), 1_u64.to_le_bytes()].concat();
        let (header, rest) = filter.split_at(64);
        let mut hostile = [header, &passes.repeat(count), rest].concat();
        guira_hostile::fix_checksum(&mut hostile);
        let refused = load(&save_with(&hostile)).map(|filters| filters.len());
        let Err(LoadError::Filter { error, .. }) = refused else {
            panic!("{refused:?}");
        };
        let SnapshotError::Geometry { what, found: 1 } = error else {
            panic!("{error}");
        };
        assert_eq!(what, "chunk tag");
    }
}

/// A filter of a few items takes more memory than its part of a save, and a longer list of filters
/// only repeats this.
#[test]
fn no_save_costs_more_than_its_length_justifies() {
    use guira_hostile::{HEAD, Target, fix_checksum, measure, rounds, search};
    // This includes the decoder of each filter, which is freed when the filter is complete.
    const MOST_ALLOCATED: f64 = 9.0;

    let options = Options {
        capacity: 1,
        expansion: 0,
        ..Options::default()
    };
    let tiny = |number: u16| -> Shared {
        let growth = Growth::furthest(&options, usize::MAX).unwrap();
        let filter = Filter::build(options, growth).unwrap();
        (number.to_le_bytes().into(), Arc::new(filter.into()))
    };
    let mut many = Vec::new();
    write(&mut many, (0..300).map(tiny)).unwrap();
    let snapshots = save()
        .1
        .iter()
        .map(|(_, filter)| snapshot(filter))
        .collect();
    let targets = [
        Target {
            name: "a save",
            seeds: vec![save().0, save_of_window(), many],
            fix: fix_checksum,
            decode: &|bytes| read_all(Summed::new(bytes), usize::MAX).is_ok(),
        },
        Target {
            name: "a snapshot in a save",
            seeds: snapshots,
            fix: fix_checksum,
            decode: &|bytes| read_all(Summed::new(&*save_with(bytes)), usize::MAX).is_ok(),
        },
    ];
    println!("{HEAD}");
    for target in targets {
        let worst = search(&target, measure, 1, rounds());
        println!("{worst}");
        assert!(worst.allocated <= MOST_ALLOCATED, "{worst}");
    }
}

/// This holds for every save and every limit.
#[test]
fn filters_that_need_more_memory_than_they_may_have_are_refused() {
    for bytes in [save().0, save_of_window()] {
        let needed: usize = load(&bytes)
            .unwrap()
            .iter()
            .map(|(key, filter, deadline)| keyspace::charge_of(key, filter, *deadline))
            .sum();
        assert!(read_within(&*bytes, needed).is_ok());
        for limit in 0..needed {
            let refused = read_within(&*bytes, limit).map(|filters| filters.len());
            let is_refused = match &refused {
                Err(LoadError::Memory { limit: named, .. }) => *named == limit,
                Err(LoadError::Filter { error, .. }) => {
                    matches!(error, SnapshotError::TooLarge { .. })
                }
                _ => false,
            };
            assert!(is_refused, "{limit}: {refused:?}");
        }
    }
}
