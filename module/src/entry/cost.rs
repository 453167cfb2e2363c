//! The cost of reading hostile bytes: each number of a value is replaced by extreme ones, with
//! correct checksums.

use super::{
    Content, Entry,
    tests::{some_filter, some_window},
};
use crate::{
    engine::{Rewrite, Value, peak_of},
    fuzzing::{File, Item},
    loading::Loading,
};
use guira_commands::{Clock, dump::Header};
use std::ffi::CStr;

/// The memory allowed for each byte, and in addition to that.
const PER_BYTE: usize = 4;
const BESIDE: usize = 64 << 10;

/// The bytes at either end of a string that hold headers and trailers, and not only table words.
const HEADERS: usize = 96;

/// The first piece of a load.
#[derive(Default)]
struct First(Vec<u8>);

impl Rewrite for First {
    fn emit(&mut self, _: &CStr, number: i64, bytes: &[u8]) {
        if number != 1 && self.0.is_empty() {
            self.0 = bytes.to_vec();
        }
    }
}

/// A load of `entry` that has received `count` bytes.
fn half_loaded(entry: &Entry, count: usize) -> Entry {
    let Content::Filter(filter) = entry.content() else {
        panic!("it is a filter");
    };
    let mut first = First::default();
    entry.rewrite(&mut first);
    let header = Header::of(filter).to_bytes();
    let mut loading = Loading::restore(&header, Clock::Process).unwrap();
    loading.restore_piece(&first.0[..count]).unwrap();
    Entry::new(Content::Loading(loading.into()))
}

fn extremes(number: u64) -> impl Iterator<Item = u64> {
    let powers = (0..64).map(|bit| 1 << bit);
    let near = [number.wrapping_sub(1), number.wrapping_add(1), 0, u64::MAX];
    let larger = (1..40).map(move |bits| number << bits);
    powers.chain(near).chain(larger)
}

/// Calls `check` with each file that differs from `file` in one number.
fn with_each_number_changed(file: &File, mut check: impl FnMut(&File)) {
    for (index, item) in file.0.iter().enumerate() {
        match item {
            &Item::Number(number) => extremes(number).for_each(|extreme| {
                let mut changed = file.clone();
                changed.0[index] = Item::Number(extreme);
                check(&changed);
            }),
            Item::Bytes(bytes) => {
                for at in (0..bytes.len().min(HEADERS).saturating_sub(7)).step_by(4) {
                    let number = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
                    extremes(number).for_each(|extreme| {
                        let mut changed = file.clone();
                        if let Item::Bytes(bytes) = &mut changed.0[index] {
                            bytes[at..at + 8].copy_from_slice(&extreme.to_le_bytes());
                        }
                        check(&changed);
                    });
                }
            }
        }
    }
}

#[test]
fn memory_is_justified_by_bytes() {
    let (mut worst, mut read, mut refused) = (0.0_f64, 0, 0);
    let whole = Entry::of_filter(some_filter(20_000));
    let window = Entry::of_filter(some_window(5_000));
    let halves =
        [&whole, &window].map(|entry| [0, 8, 88, 9000].map(|count| half_loaded(entry, count)));
    let small = [some_filter(3), some_window(3)].map(Entry::of_filter);
    for entry in halves
        .into_iter()
        .flatten()
        .chain(small)
        .chain([whole, window])
    {
        let mut file = File::default();
        entry.save(&mut file);
        with_each_number_changed(&file, |changed| {
            for mut file in [changed.clone(), changed.with_right_sums()] {
                let bytes = file.len();
                let (result, peak) = peak_of(|| Entry::load(&mut file, Entry::VERSION));
                match result {
                    Ok(_) => read += 1,
                    Err(_) => refused += 1,
                }
                let above = peak.saturating_sub(BESIDE);
                worst = worst.max(above as f64 / bytes as f64);
                assert!(
                    above <= PER_BYTE * bytes,
                    "{bytes} bytes took {peak}: {file:?}"
                );
            }
        });
    }
    println!(
        "{read} values were read and {refused} refused: at most {worst:.2} bytes of memory per byte"
    );
    assert!(read > 1000 && refused > 10_000, "{read} and {refused}");
}
