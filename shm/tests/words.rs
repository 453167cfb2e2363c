//! Words that no call has written, in place of those of an item: every call ends soon, and none panics.
//!
//! A word of these filters has three slots of 20 bits. Above them it has the code of a mark, which is on
//! slot 0, in 3 bits, and the bit of a reservation. In an expiring filter the upper bits of a slot are a tag.
//!
//! GUIRA_SHM_WORDS is the number of pairs of words, and of files, for a longer run.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![expect(unsafe_code, reason = "files are opened")]
#![allow(dead_code)]

mod common;

use common::{
    HOUR, START, builder, create, create_expiring, directory, expiring_reader, growing, of_layout,
    open_expiring,
};
use guira::{CuckooFilter, ExpiringFilter};
use guira_shm::{SharedExpiringFilter, SharedFilter};
use nix::{
    time::{ClockId, clock_gettime},
    unistd::alarm,
};
use rand::{RngExt, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use std::{
    collections::BTreeSet,
    env,
    fs::{self, File, OpenOptions},
    os::unix::fs::FileExt,
    path::Path,
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// The item whose words are replaced.
const ITEM: u32 = 7;

const SLOT_BITS: u32 = 20;
const TAG_BITS: u32 = 4;

/// The most time of the processor that a call may take. It takes far less, also without optimisation.
const MOST: Duration = Duration::from_secs(5);

/// The time after which the test ends in any case, also on a machine that does much else.
const MOST_SECONDS: u32 = 120;

/// The time that the processor has spent on this thread.
fn time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .unwrap()
        .into()
}

fn number(default: usize) -> usize {
    env::var("GUIRA_SHM_WORDS").map_or(default, |number| number.parse().unwrap())
}

/// The name of a call, and the call.
type Call<'a> = (&'static str, Box<dyn Fn() + 'a>);

/// A filter whose words can be replaced.
trait Victim {
    /// Each call. Some are for the item.
    fn calls(&self) -> Vec<Call<'_>>;
}

/// The answer may be anything.
fn done<T>(_: T) {}

impl Victim for SharedFilter {
    fn calls(&self) -> Vec<Call<'_>> {
        let plain = self.as_filter();
        let other = || CuckooFilter::from_header(&plain.header(), 1 << 30).unwrap();
        vec![
            ("contains", Box::new(|| done(self.contains(&ITEM)))),
            ("count", Box::new(|| done(self.count(&ITEM)))),
            ("write_to", Box::new(|| done(self.write_to(Vec::new())))),
            ("try_clone", Box::new(|| done(plain.try_clone()))),
            ("digest", Box::new(|| done(plain.digest()))),
            ("merge", Box::new(move || done(other().merge(plain)))),
            (
                "union_with",
                Box::new(move || done(other().union_with(plain))),
            ),
            (
                "insert_unique",
                Box::new(|| done(self.insert_unique(&ITEM))),
            ),
            ("insert", Box::new(|| done(self.insert(&ITEM)))),
            (
                "raise",
                Box::new(move || {
                    let other = other();
                    done(other.try_extend([ITEM, ITEM]));
                    done(plain.union_with(&other));
                    done(plain.merge(&other));
                }),
            ),
            ("remove", Box::new(|| done(self.remove(&ITEM)))),
            ("repair", Box::new(|| done(self.repair()))),
            ("finish_growth", Box::new(|| plain.finish_growth())),
            ("census", Box::new(|| done(self.census()))),
            ("clear", Box::new(|| done(self.clear()))),
        ]
    }
}

impl Victim for SharedExpiringFilter {
    fn calls(&self) -> Vec<Call<'_>> {
        let plain = self.as_filter();
        let other = || ExpiringFilter::from_header(&plain.header(), 1 << 30).unwrap();
        vec![
            ("contains", Box::new(|| done(self.contains(&ITEM)))),
            ("count", Box::new(|| done(self.count(&ITEM)))),
            ("write_to", Box::new(|| done(self.write_to(Vec::new())))),
            ("try_clone", Box::new(|| done(plain.try_clone()))),
            ("digest", Box::new(|| done(plain.digest()))),
            ("merge", Box::new(move || done(other().merge(plain)))),
            (
                "union_with",
                Box::new(move || done(other().union_with(plain))),
            ),
            ("refresh", Box::new(|| done(self.refresh(&ITEM)))),
            (
                "insert_or_refresh",
                Box::new(|| done(self.insert_or_refresh(&ITEM))),
            ),
            (
                "insert_unique",
                Box::new(|| done(self.insert_unique(&ITEM))),
            ),
            ("insert", Box::new(|| done(self.insert(&ITEM)))),
            (
                "raise",
                Box::new(move || {
                    let other = other();
                    done(other.try_extend([ITEM, ITEM]));
                    done(plain.union_with(&other));
                    done(plain.merge(&other));
                }),
            ),
            ("advance", Box::new(|| done(self.advance()))),
            ("tick", Box::new(|| done(self.tick()))),
            ("remove", Box::new(|| done(self.remove(&ITEM)))),
            ("repair", Box::new(|| done(self.repair()))),
            ("census", Box::new(|| done(self.census()))),
            ("clear", Box::new(|| done(self.clear()))),
        ]
    }
}

/// Makes each call, `before` each of them something else.
fn call_all(filter: &impl Victim, case: &str, mut before: impl FnMut()) {
    for (name, call) in filter.calls() {
        before();
        // A signal ends the test if the call does not end.
        alarm::set(MOST_SECONDS);
        let since = time();
        call();
        assert!(time() - since < MOST, "{name}, {case}");
    }
}

fn words_of(file: &Path) -> Vec<u64> {
    let bytes = fs::read(file).unwrap();
    let words = bytes.chunks_exact(8);
    words
        .map(|word| u64::from_ne_bytes(word.try_into().unwrap()))
        .collect()
}

fn set(file: &File, at: usize, word: u64) {
    let bytes = word.to_ne_bytes();
    file.write_all_at(&bytes, 8 * at as u64).unwrap();
}

/// Stores all words behind the header.
fn set_all(file: &File, words: &[u64]) {
    let bytes: Vec<u8> = words[START..]
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .collect();
    file.write_all_at(&bytes, 8 * START as u64).unwrap();
}

fn writable(file: &Path) -> File {
    OpenOptions::new().write(true).open(file).unwrap()
}

/// The two words of the item: where they are, and its fingerprint in slot 0. `insert` inserts it.
fn pair(file: &Path, insert: impl Fn()) -> ([usize; 2], u64) {
    let before = words_of(file);
    insert();
    insert();
    let after = words_of(file);
    // The counts of items, which come first, are left as they are.
    let buckets = before.len() - 512..before.len();
    let changed: Vec<_> = buckets.filter(|&at| before[at] != after[at]).collect();
    let [p, q] = changed[..] else {
        panic!("{changed:?}");
    };
    assert_eq!(after[p], after[q]);
    assert!(before[p] == 0 && before[q] == 0);
    ([p, q], after[p])
}

/// All words with these entries in their first two slots, with each mark, and with a reservation or without.
fn words(first: &[u64], second: &[u64]) -> Vec<u64> {
    let mut words = BTreeSet::new();
    for (&first, &second) in first
        .iter()
        .flat_map(|one| second.iter().map(move |two| (one, two)))
    {
        for control in 0..16 {
            words.insert(control << 60 | second << SLOT_BITS | first);
        }
    }
    words.into_iter().collect()
}

/// Writes pairs of these words, at most `most` pairs, and makes each call.
fn write_pairs(file: &Path, [p, q]: [usize; 2], words: &[u64], most: usize, filter: &impl Victim) {
    let (writable, all) = (writable(file), words.len() * words.len());
    let good = words_of(file);
    let mut written = 0;
    // A stride that has no divisor in common with the number of pairs.
    let stride = (all / most.min(all)) | 1;
    for number in (0..all).step_by(stride) {
        let (in_p, in_q) = (words[number / words.len()], words[number % words.len()]);
        call_all(filter, &format!("{in_p:#x} {in_q:#x}"), || {
            set(&writable, p, in_p);
            set(&writable, q, in_q);
        });
        // Lines, gates and stripes are as before.
        set_all(&writable, &good);
        written += 1;
    }
    println!("{written} of {all} pairs");
    assert!(written >= 400);
}

#[test]
fn two_words_of_a_fixed_filter() {
    let directory = directory();
    let file = directory.path().join("filter");
    let filter = create(&file, builder(30));
    let (at, item) = pair(&file, || filter.insert(&ITEM).unwrap());
    let other = item ^ 1;
    let words = words(&[0, item, other], &[0, item, other]);
    write_pairs(&file, at, &words, number(500), &filter);
}

#[test]
fn two_words_of_an_expiring_filter() {
    let directory = directory();
    let file = directory.path().join("filter");
    let builder = ExpiringFilter::builder(HOUR)
        .epochs(6)
        .capacity(30)
        .fingerprint_bits(SLOT_BITS - TAG_BITS)
        .seed(42);
    let filter = create_expiring(&file, builder);
    let (at, item) = pair(&file, || filter.insert(&ITEM).unwrap());
    let fingerprint = item & ((1 << (SLOT_BITS - TAG_BITS)) - 1);
    let tagged = (0..1 << TAG_BITS).map(|tag| tag << (SLOT_BITS - TAG_BITS) | fingerprint);
    let tagged: Vec<u64> = tagged.chain([0]).collect();
    assert!(tagged.contains(&item));
    let words = words(&tagged, &[0, item]);
    write_pairs(&file, at, &words, number(500), &filter);
}

/// A word that is nearly one of a filter, or not at all.
fn random_word(random: &mut StdRng, good: &[u64]) -> u64 {
    let like = *good.choose(random).unwrap();
    match random.random_range(0..5) {
        0 => random.random(),
        1 => random.random_range(0..600),
        2 => like,
        3 => like ^ 1 << random.random_range(0..64),
        _ => like ^ random.random_range(0..16_u64) << 60,
    }
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Another thread writes random words while calls run.
fn beside(file: &Path, rounds: usize, filter: &(impl Victim + Sync)) {
    let good = words_of(file);
    let (is_over, start) = (AtomicBool::new(false), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = StdRng::seed_from_u64(3);
            let file = writable(file);
            start.wait();
            while !is_over.load(Ordering::Relaxed) {
                let at = random.random_range(START..good.len());
                set(&file, at, random_word(&mut random, &good[START..]));
            }
        });
        // Without it, the calls may be over before there is a writer.
        start.wait();
        // The writer ends also if a call panics.
        let _end = SetOnDrop(&is_over);
        for round in 0..rounds {
            call_all(filter, &format!("round {round}"), || ());
        }
    });
}

#[test]
fn words_that_change_beside_the_calls_of_a_fixed_filter() {
    let directory = directory();
    let file = directory.path().join("filter");
    let filter = create(&file, builder(100));
    filter.insert_batch(&(0..90).collect::<Vec<u32>>()).unwrap();
    beside(&file, number(200), &filter);
}

#[test]
fn words_that_change_beside_the_calls_of_a_growing_filter() {
    let directory = directory();
    let file = directory.path().join("filter");
    let filter = create(&file, growing(100, 3_000));
    filter
        .insert_batch(&(0..500).collect::<Vec<u32>>())
        .unwrap();
    beside(&file, number(200) / 4, &filter);
}

#[test]
fn words_that_change_beside_the_calls_of_an_expiring_filter() {
    let directory = directory();
    let file = directory.path().join("filter");
    let builder = ExpiringFilter::builder(HOUR).capacity(100);
    let filter = create_expiring(&file, builder.seed(42));
    filter.insert_batch(&(0..90).collect::<Vec<u32>>()).unwrap();
    beside(&file, number(200), &filter);
}

/// Some words are none of a filter, and a clone of them is an error.
#[test]
fn random_buckets_of_each_layout() {
    let directory = directory();
    let mut random = StdRng::seed_from_u64(5);
    for bits in [10, 12, 15, 20, 30, 9, 11, 13] {
        let file = directory.path().join(bits.to_string());
        let filter = create(&file, of_layout(100, bits));
        filter.insert_batch(&(0..90).collect::<Vec<u32>>()).unwrap();
        let good = words_of(&file);
        let mut refused = 0;
        for round in 0..number(20) {
            let mut words = good.clone();
            // The last words are buckets.
            for word in words.iter_mut().rev().take(8) {
                *word = random_word(&mut random, &good[START..]);
            }
            set_all(&writable(&file), &words);
            refused += usize::from(filter.as_filter().try_clone().is_err());
            call_all(&filter, &format!("{bits} bits, round {round}"), || ());
        }
        assert!(refused > 0, "{bits} bits");
    }
}

/// Random words anywhere in the file of an expiring filter.
#[test]
fn random_files_of_an_expiring_filter() {
    let directory = directory();
    let file = directory.path().join("filter");
    let builder = ExpiringFilter::builder(HOUR).capacity(100);
    let filter = create_expiring(&file, builder.seed(42));
    filter.insert_batch(&(0..90).collect::<Vec<u32>>()).unwrap();
    drop(filter);
    let good = words_of(&file);
    let mut random = StdRng::seed_from_u64(4);
    let mut opened = 0;
    for round in 0..number(100) {
        let mut words = good.clone();
        // The buckets, or these and what comes before.
        let first = if round % 2 == 0 {
            good.len() - 512
        } else {
            START
        };
        for word in &mut words[first..] {
            if random.random_range(0..4) == 0 {
                *word = random_word(&mut random, &good[START..]);
            }
        }
        set_all(&writable(&file), &words);
        // SAFETY: no other program knows the directory of this test.
        if let Ok(filter) = unsafe { SharedExpiringFilter::open(&file) } {
            let _ = expiring_reader(&file).contains(&ITEM);
            call_all(&filter, &format!("round {round}"), || ());
            opened += 1;
        }
    }
    println!("{opened} files");
    assert!(opened > 0);
    set_all(&writable(&file), &good);
    assert!((0..90_u32).all(|item| open_expiring(&file).contains(&item)));
}
