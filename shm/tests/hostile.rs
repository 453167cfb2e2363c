//! Files whose words are nonsense: a filter that answers something, and no panic.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![expect(unsafe_code, reason = "files are opened")]
#![allow(dead_code)]

mod common;

use common::{START, create, directory, growing, of_layout, open, reader, set_word, word};
use guira_shm::{OpenError, SharedFilter, SharedReader};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::fs;

/// Every call of a reader ends, and has some answer.
fn look_up_all(reader: &SharedReader) {
    let items: Vec<u32> = (0..50).collect();
    let mut present = [false; 50];
    reader.contains_batch(&items, &mut present);
    for item in &items {
        let _ = (reader.contains(item), reader.count(item));
    }
    let _ = (reader.len(), reader.stats(), reader.participants());
}

/// Every call ends, and has some answer.
fn use_all(filter: &SharedFilter, items: u32) {
    filter.repair();
    for item in 0..items {
        let _ = filter.contains(&item);
        let _ = filter.count(&item);
        let _ = filter.insert(&item);
        let _ = filter.insert_unique(&(item, "unique"));
        let _ = filter.remove(&item);
    }
    let _ = (filter.len(), filter.stats(), filter.participants());
    let _ = filter.write_to(std::io::sink());
    filter.repair();
    let _ = filter.clear();
}

/// A filter that has doubled twice and doubles now, with nonsense in its words, its levels, its hint and its
/// split pointers.
#[test]
fn random_words_in_a_filter_that_grows() {
    // The numbers of the progress, and then the split pointers.
    const PROGRESS: usize = START + 8_192;
    let directory = directory();
    let file = directory.path().join("filter");
    let mut random = StdRng::seed_from_u64(2);
    let filter = create(&file, growing(100, 20_000));
    let mut items = 0..;
    while filter.stats().doublings < 2 || filter.stats().buckets_to_split == 0 {
        filter.insert(&items.next().unwrap()).unwrap();
    }
    let items = 0..items.next().unwrap();
    assert!(filter.stats().buckets_to_split > 0);
    drop(filter);
    let good = fs::read(&file).unwrap();
    let words = good.len() / 8;
    assert_eq!([word(&good, PROGRESS), word(&good, PROGRESS + 1)], [2, 3]);
    let first_plane = PROGRESS.next_multiple_of(512);
    let planes = (first_plane..words).find(|&at| word(&good, at) >> 58 != 0);
    let planes = planes.expect("plane 0")..words;
    let (mut answered, mut refused) = (0, 0);
    for round in 0..600 {
        let mut bytes = good.clone();
        match round % 6 {
            // Anything anywhere in the planes.
            0 => {
                for at in planes.clone() {
                    if random.random_range(0..2) == 0 {
                        set_word(&mut bytes, at, random.random());
                    }
                }
            }
            // Other levels of words that are else right: below the first one, above the last one, and
            // levels that lead nowhere.
            1 | 2 => {
                for at in planes.clone() {
                    if random.random_range(0..3) == 0 {
                        let level: u64 = match round % 12 {
                            1 | 2 => random.random_range(0..64),
                            _ => (word(&good, at) >> 58) + random.random_range(1..4),
                        };
                        let low = word(&good, at) << 6 >> 6;
                        set_word(&mut bytes, at, low | (level & 63) << 58);
                    }
                }
            }
            // Words that were never made, and planes that no level has added yet.
            3 => {
                for at in planes.clone() {
                    if word(&good, at) != 0 && random.random_range(0..3) == 0 {
                        set_word(&mut bytes, at, 0);
                    } else if word(&good, at) == 0 && random.random_range(0..3) == 0 {
                        set_word(&mut bytes, at, random.random());
                    }
                }
            }
            // The split pointers, and the bits of parts that have ended.
            4 => {
                for at in PROGRESS + 16..planes.start {
                    let number = match random.random_range(0..3) {
                        0 => random.random(),
                        1 => u64::MAX,
                        _ => random.random_range(0..1_000),
                    };
                    set_word(&mut bytes, at, number);
                }
            }
            // The hint and the number of segments, possible ones and others.
            _ => {
                for at in [PROGRESS, PROGRESS + 1] {
                    set_word(&mut bytes, at, random.random_range(0..6));
                }
            }
        }
        fs::write(&file, bytes).unwrap();
        // SAFETY: no other program knows the directory of this test.
        match unsafe { SharedFilter::open(&file) } {
            Ok(filter) => {
                look_up_all(&reader(&file));
                use_all(&filter, 60);
                filter.as_filter().finish_growth();
                let digest = filter.as_filter().digest();
                let copy = filter.as_filter().try_clone();
                assert!(copy.is_err() || copy.is_ok_and(|copy| copy.digest() == digest));
                let _ = (filter.census(), filter.capacity(), filter.stats());
                answered += 1;
            }
            Err(OpenError::Control { .. }) if round % 6 == 5 => refused += 1,
            Err(error) => panic!("{error:?}"),
        }
    }
    assert!(answered > 520 && refused > 20, "{answered} {refused}");
    fs::write(&file, good).unwrap();
    let filter = open(&file);
    assert!(items.clone().all(|item: u32| filter.contains(&item)));
    filter.as_filter().finish_growth();
    assert!(items.clone().all(|item| filter.remove(&item)));
}

#[test]
fn random_words_anywhere_are_a_filter_that_answers() {
    let directory = directory();
    let mut random = StdRng::seed_from_u64(1);
    let mut answered = 0;
    for (number, bits) in [10, 15, 20, 30, 9, 13].into_iter().enumerate() {
        let file = directory.path().join(number.to_string());
        let filter = create(&file, of_layout(150, bits));
        for item in 0..150_u32 {
            filter.insert(&item).unwrap();
        }
        drop(filter);
        let good = fs::read(&file).unwrap();
        let words = good.len() / 8;
        for round in 0..60 {
            let mut bytes = good.clone();
            // All of the buckets, or one word in four of a part.
            let part = match round % 4 {
                0 => words - 64..words,
                1 => START..words,
                2 => START..START + 2_000,
                _ => words - 1_600..words,
            };
            for at in part.filter(|at| at % 4 != 3 || round % 4 == 0) {
                // Small numbers are lines and stripes that could be.
                let word = match random.random_range(0..3) {
                    0 => random.random(),
                    1 => random.random_range(0..600_u64),
                    _ => continue,
                };
                set_word(&mut bytes, at, word);
            }
            fs::write(&file, bytes).unwrap();
            // SAFETY: no other program knows the directory of this test.
            match unsafe { SharedFilter::open(&file) } {
                Ok(filter) => {
                    look_up_all(&reader(&file));
                    use_all(&filter, 300);
                    answered += 1;
                }
                Err(OpenError::Control { found, .. }) => assert!(found > 511),
                Err(error) => panic!("{error:?}"),
            }
        }
        fs::write(&file, good).unwrap();
        assert!((0..150_u32).all(|item| open(&file).contains(&item)));
    }
    assert!(answered > 100, "{answered} files were opened");
}
