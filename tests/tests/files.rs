//! What is saved is loaded: files that are whole, that count the time away, and whose settings are compared.

use guira::{
    Builder, CuckooFilter, Difference, ExpiringFilter, LoadError, Prefer, SeededState,
    SnapshotError,
};
use std::{
    fs,
    hash::RandomState,
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};
use tempfile::TempDir;

const HOUR: Duration = Duration::from_secs(3600);

/// The bytes after the snapshot of an expiring filter: the time and its checksum.
const TRAILER: usize = 12;

fn place() -> (TempDir, PathBuf) {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("items.guira");
    (directory, path)
}

/// The names of the files in a directory.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let name = |entry: io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    entries
        .map(|entry| name(entry).into_string().expect("UTF-8"))
        .collect()
}

/// Pretends that the file was saved so much earlier, or later if `by` is negative.
fn age(path: &Path, by_seconds: i64) {
    let mut bytes = fs::read(path).expect("a file");
    let trailer = bytes.len() - TRAILER;
    let time = u64::from_le_bytes(bytes[trailer..trailer + 8].try_into().expect("8 bytes"));
    let time = time.wrapping_add_signed(-1000 * by_seconds).to_le_bytes();
    bytes[trailer..trailer + 8].copy_from_slice(&time);
    bytes[trailer + 8..].copy_from_slice(&crc32fast::hash(&time).to_le_bytes());
    fs::write(path, bytes).expect("a file");
}

#[test]
fn filters_of_all_kinds_are_saved_and_loaded() {
    let (directory, path) = place();
    let plain = CuckooFilter::builder().capacity(1_000);
    let builders = [
        plain.clone(),
        plain.clone().max_capacity(100_000),
        plain.clone().prefer(Prefer::Space),
        plain.clone().counter_bits(8),
    ];
    for builder in builders {
        let filter = builder.clone().build().expect("a filter");
        for item in 0..900_u32 {
            filter.insert(&item).expect("it fits");
        }
        filter.save(&path).expect("saved");
        let bytes = filter.to_bytes();
        assert_eq!(fs::read(&path).expect("a file"), bytes);
        assert_eq!(CuckooFilter::load(&path).expect("loaded").to_bytes(), bytes);
        assert_eq!(builder.load(&path).expect("loaded").to_bytes(), bytes);
    }
    for max_capacity in [1_000, 50_000] {
        let builder = ExpiringFilter::builder(HOUR).capacity(1_000);
        let builder = builder.max_capacity(max_capacity);
        let filter = builder.clone().build().expect("a filter");
        for item in 0..900_u32 {
            filter.insert(&item).expect("it fits");
        }
        filter.save(&path).expect("saved");
        for loaded in [ExpiringFilter::load(&path).ok(), builder.load(&path).ok()] {
            let loaded = loaded.expect("loaded");
            assert!((0..900_u32).all(|item| loaded.contains(&item)));
            assert_eq!((loaded.len(), loaded.digest()), (900, filter.digest()));
        }
    }
    assert_eq!(names(directory.path()), ["items.guira"]);
}

#[test]
fn the_time_away_counts() {
    let (_directory, path) = place();
    let builder = ExpiringFilter::builder(HOUR).epochs(6);
    let seen = builder.clone().build().expect("a filter");
    seen.insert("ani").expect("it fits");
    seen.save(&path).expect("saved");
    for (seconds, present) in [
        (0, true),
        (3000, true),
        (550, true),
        (700, false),
        (1_000_000_000, false),
    ] {
        age(&path, seconds);
        let loaded = [ExpiringFilter::load(&path).ok(), builder.load(&path).ok()];
        for loaded in loaded {
            let loaded = loaded.expect("loaded");
            assert_eq!(loaded.contains("ani"), present, "{seconds}");
        }
    }
    // The clock was set back.
    seen.save(&path).expect("saved");
    age(&path, -1_000_000);
    assert!(ExpiringFilter::load(&path).expect("loaded").contains("ani"));
    // No number is too large.
    age(&path, i64::MAX / 1000);
    assert!(ExpiringFilter::load(&path).is_ok());
}

/// By its own clock the filter would be older.
#[test]
fn a_clock_of_the_caller_is_saved() {
    let (_directory, path) = place();
    let seconds = Duration::from_secs;
    let filter = ExpiringFilter::builder(seconds(60)).epochs(6);
    let filter = filter.build().expect("a filter");
    filter.tick_at(|| seconds(100));
    filter.save_at(&path, || seconds(107)).expect("saved");
    age(&path, -1_000);
    let loaded = ExpiringFilter::load(&path).expect("loaded");
    loaded.tick_at(|| seconds(1_000));
    assert_eq!(loaded.epoch_age_at(seconds(1_001)), Some(seconds(8)));
}

#[cfg(unix)]
#[test]
fn only_the_owner_reads_a_file_because_it_has_the_seed() {
    use std::os::unix::fs::PermissionsExt;
    let (_directory, path) = place();
    for _ in 0..2 {
        CuckooFilter::with_capacity(10).save(&path).expect("saved");
        let mode = fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("set");
    }
}

#[test]
fn a_save_that_fails_leaves_nothing_behind() {
    let (directory, path) = place();
    let filter = CuckooFilter::with_capacity(10);
    let error = filter.save(path.join("..")).expect_err("no name");
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert!(error.to_string().contains("items.guira/.. does not end"));
    let error = filter.save(path.join("none")).expect_err("no directory");
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    // A directory is not replaced by a file.
    fs::create_dir_all(path.join("full")).expect("a directory");
    assert!(filter.save(&path).is_err());
    assert_eq!(names(directory.path()), ["items.guira"]);
    assert_eq!(names(&path), ["full"]);
}

/// Several threads save to one file, while others insert and load.
#[test]
fn a_file_is_whole_at_each_moment() {
    let (directory, path) = place();
    let builder = ExpiringFilter::builder(HOUR).capacity(20_000);
    let filter = builder.clone().build().expect("a filter");
    filter.insert(&0_u32).expect("it fits");
    filter.save(&path).expect("saved");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let savers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..20 {
                        filter.save(&path).expect("saved");
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            for item in 1..15_000_u32 {
                filter.insert(&item).expect("it fits");
            }
        });
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert!(builder.load(&path).expect("whole").contains(&0_u32));
            }
        });
        for saver in savers {
            saver.join().expect("saved");
        }
        done.store(true, Ordering::Relaxed);
    });
    filter.save(&path).expect("saved");
    let loaded = builder.load(&path).expect("loaded");
    assert!((0..15_000_u32).all(|item| loaded.contains(&item)));
    assert_eq!(names(directory.path()), ["items.guira"]);
}

#[test]
fn damage_is_an_error() {
    let (_directory, path) = place();
    let builder = ExpiringFilter::builder(HOUR).capacity(20).seed(1);
    let filter = builder.clone().build().expect("a filter");
    filter.insert("ani").expect("it fits");
    filter.save(&path).expect("saved");
    let bytes = fs::read(&path).expect("a file");
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        fs::write(&path, &damaged).expect("written");
        assert!(ExpiringFilter::load(&path).is_err(), "{at}");
        assert!(builder.load(&path).is_err(), "{at}");
        fs::write(&path, &bytes[..at]).expect("written");
        let error = ExpiringFilter::load(&path).err();
        assert!(
            matches!(error, Some(SnapshotError::Truncated)),
            "{at}: {error:?}"
        );
    }
    fs::write(&path, [&bytes[..], b"more"].concat()).expect("written");
    let error = ExpiringFilter::load(&path).err();
    assert!(matches!(
        error,
        Some(SnapshotError::TrailingBytes { count: 4 })
    ));
    let error = CuckooFilter::load(&path).err();
    assert!(matches!(error, Some(SnapshotError::Magic)));
}

/// The differences that loading with a builder reports.
fn differences<S, T>(builder: &Builder<S, T>, path: &Path) -> Vec<Difference>
where
    S: Clone + std::hash::BuildHasher + 'static,
    T: guira::Lifetime,
{
    match builder.load(path) {
        Ok(_) => Vec::new(),
        Err(LoadError::Settings(differences)) => differences,
        Err(other) => panic!("{other}: {other:?}"),
    }
}

#[test]
fn changed_settings_are_named() {
    let (_directory, path) = place();
    let builder = CuckooFilter::builder()
        .capacity(1_000)
        .false_positive_rate(0.01);
    let saved = builder.clone().build().expect("a filter");
    saved.save(&path).expect("saved");
    let other = |builder: Builder| differences(&builder, &path);
    // Another builder has another random seed.
    let same = CuckooFilter::builder()
        .capacity(1_000)
        .false_positive_rate(0.01);
    assert_eq!(other(same), []);
    let capacities = |to| {
        let (saved, asked) = (1_000, to);
        [
            Difference::Capacity { saved, asked },
            Difference::MaxCapacity { saved, asked },
        ]
    };
    assert_eq!(other(builder.clone().capacity(3_000)), capacities(3_000));
    let grows = Difference::MaxCapacity {
        saved: 1_000,
        asked: 90_000,
    };
    assert_eq!(other(builder.clone().max_capacity(90_000)), [grows]);
    let counts = Difference::CounterBits { saved: 0, asked: 4 };
    assert_eq!(other(builder.clone().counter_bits(4)), [counts]);
    for changed in [
        builder.clone().false_positive_rate(1e-6),
        builder.clone().fingerprint_bits(20),
        builder.clone().prefer(Prefer::Space),
    ] {
        let found = other(changed.clone());
        let asked = changed.build().expect("a filter").false_positive_rate();
        let saved = saved.false_positive_rate();
        assert_eq!(found, [Difference::FalsePositiveRate { saved, asked }]);
    }
    let both = other(builder.clone().capacity(3_000).false_positive_rate(1e-6));
    assert_eq!(both[..2], capacities(3_000));
    assert!(matches!(both[2..], [Difference::FalsePositiveRate { .. }]));

    let seed = saved.hasher().seed();
    assert_eq!(other(builder.clone().seed(seed)), []);
    let found = other(builder.clone().seed(!seed));
    assert!(
        matches!(found[..], [Difference::Hasher { .. }]),
        "{found:?}"
    );
    let error = builder
        .clone()
        .seed(!seed)
        .load(&path)
        .expect_err("another seed");
    assert_eq!(
        error.to_string(),
        "the saved filter has other settings: another seed or hasher; `load` of the filter keeps \
         them, and `build` makes a new one"
    );
    let error = builder.capacity(0).load(&path).expect_err("no capacity");
    assert!(matches!(error, LoadError::Build(_)), "{error:?}");
}

#[test]
fn changed_settings_of_expiring_filters_are_named() {
    let (_directory, path) = place();
    let builder = |ttl| ExpiringFilter::builder(ttl).capacity(1_000);
    builder(HOUR)
        .build()
        .expect("a filter")
        .save(&path)
        .expect("saved");
    assert_eq!(differences(&builder(HOUR), &path), []);
    let ttl = Difference::Ttl {
        saved: HOUR,
        asked: 2 * HOUR,
    };
    assert_eq!(differences(&builder(2 * HOUR), &path), [ttl]);
    let epochs = Difference::Epochs {
        saved: 12,
        asked: 6,
    };
    assert_eq!(differences(&builder(HOUR).epochs(6), &path), [epochs]);
    let error = builder(2 * HOUR)
        .epochs(6)
        .load(&path)
        .expect_err("changed");
    assert_eq!(
        error.to_string(),
        "the saved filter has other settings: TTL 3600s instead of 7200s, epochs 12 instead of 6; \
         `load` of the filter keeps them, and `build` makes a new one"
    );
}

#[test]
fn hashers_are_compared() {
    let (_directory, path) = place();
    let hasher = RandomState::new();
    let builder = CuckooFilter::builder().hasher(hasher.clone());
    let filter = builder.clone().build().expect("a filter");
    filter.insert("ani").expect("it fits");
    filter.save(&path).expect("saved");
    assert!(builder.load(&path).expect("loaded").contains("ani"));
    let loaded = CuckooFilter::restore().hasher(hasher).load(&path);
    assert!(loaded.expect("loaded").contains("ani"));
    let found = differences(&CuckooFilter::builder().hasher(RandomState::new()), &path);
    assert!(
        matches!(found[..], [Difference::Hasher { .. }]),
        "{found:?}"
    );
    // The seed of a file with another hasher is none of this one.
    for refused in [
        CuckooFilter::<SeededState>::load(&path).err(),
        match CuckooFilter::builder().load(&path) {
            Err(LoadError::Snapshot(error)) => Some(error),
            _ => None,
        },
    ] {
        assert!(
            matches!(refused, Some(SnapshotError::Hasher { .. })),
            "{refused:?}"
        );
    }
}

#[test]
fn the_first_start_is_recognized() {
    let (directory, path) = place();
    let builder = CuckooFilter::builder();
    assert!(builder.load(&path).expect_err("no file").is_not_found());
    assert!(
        !builder
            .load(directory.path())
            .expect_err("a directory")
            .is_not_found()
    );
    fs::write(&path, b"").expect("written");
    assert!(!builder.load(&path).expect_err("empty").is_not_found());
}
