//! Files whose words are nonsense: a filter that answers something, and no panic.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![expect(unsafe_code, reason = "files are opened")]
#![allow(dead_code)]

mod common;

use common::{create, directory, of_layout, open, reader};
use guira_shm::{OpenError, SharedFilter, SharedReader};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::fs;

/// The first word behind the header, where the filter begins.
const START: usize = 512;

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
fn use_all(filter: &SharedFilter) {
    filter.repair();
    for item in 0..300_u32 {
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
                bytes[8 * at..8 * at + 8].copy_from_slice(&word.to_ne_bytes());
            }
            fs::write(&file, bytes).unwrap();
            // SAFETY: no other program knows the directory of this test.
            match unsafe { SharedFilter::open(&file) } {
                Ok(filter) => {
                    look_up_all(&reader(&file));
                    use_all(&filter);
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
