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
    BASE, HOUR, START, TIME, builder, create, create_expiring, directory, expiring, growing,
    of_layout, open, open_expiring, set_word, word,
};
use guira::{CuckooFilter, ExpiringFilter};
use guira_shm::{
    OpenError, SharedExpiringFilter, SharedExpiringReader, SharedFilter, SharedReader,
};
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

/// Items whose words are anywhere.
const MANY: u32 = 60;

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

    /// The calls that are for an item, for any one.
    fn use_item(&self, item: u32);
}

/// The answer may be anything.
fn done<T>(_: T) {}

/// [`Victim`] for a kind of filter: the calls that both kinds have, its own ones for items, and its own
/// other ones.
macro_rules! victim {
    ($shared:ty, $filter:ty, [$($name:literal => $call:expr),*], [$($other:literal => $whole:expr),*]) => {
        impl Victim for $shared {
            fn calls(&self) -> Vec<Call<'_>> {
                let plain = self.as_filter();
                let other = || <$filter>::from_header(&plain.header(), 1 << 30).unwrap();
                vec![
                    ("contains", Box::new(|| done(self.contains(&ITEM)))),
                    ("count", Box::new(|| done(self.count(&ITEM)))),
                    ("write_to", Box::new(|| done(self.write_to(Vec::new())))),
                    ("try_clone", Box::new(|| done(plain.try_clone()))),
                    ("digest", Box::new(|| done(plain.digest()))),
                    ("merge", Box::new(move || done(other().merge(plain)))),
                    ("union_with", Box::new(move || done(other().union_with(plain)))),
                    $(($name, Box::new(|| { let call: fn(&Self, &u32) = $call; call(self, &ITEM); })),)*
                    $(($other, Box::new(|| { let call: fn(&Self) = $whole; call(self); })),)*
                    ("insert_unique", Box::new(|| done(self.insert_unique(&ITEM)))),
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
                    ("stats", Box::new(|| done((self.len(), self.stats(), self.participants())))),
                    ("repair", Box::new(|| done(self.repair()))),
                    ("census", Box::new(|| done(self.census()))),
                    ("clear", Box::new(|| done(self.clear()))),
                ]
            }

            fn use_item(&self, item: u32) {
                done((self.contains(&item), self.count(&item)));
                done((self.insert(&item), self.insert_unique(&(item, "unique"))));
                let own: &[fn(&Self, &u32)] = &[$($call),*];
                own.iter().for_each(|call| call(self, &item));
                done(self.remove(&item));
            }
        }
    };
}

victim!(
    SharedFilter,
    CuckooFilter,
    [],
    ["finish_growth" => |filter| filter.as_filter().finish_growth()]
);

victim!(
    SharedExpiringFilter,
    ExpiringFilter,
    [
        "refresh" => |filter, item| done(filter.refresh(item)),
        "insert_or_refresh" => |filter, item| done(filter.insert_or_refresh(item))
    ],
    [
        "advance" => |filter| done(filter.advance()),
        "tick" => |filter| done(filter.tick()),
        "sweep" => |filter| done(filter.sweep())
    ]
);

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

/// Stores random words in parts of a file, and opens it: an error, or a filter whose calls end. Returns how
/// many files were opened, and how many were refused.
fn random_files<F: Victim>(
    file: &Path,
    open: impl Fn() -> Result<F, OpenError>,
    look_up: impl Fn() -> Result<(), OpenError>,
) -> [usize; 2] {
    let (good, mut random) = (words_of(file), StdRng::seed_from_u64(4));
    let [mut opened, mut refused] = [0; 2];
    for round in 0..number(60) {
        let mut words = good.clone();
        let part = match round % 6 {
            // The buckets, or also what comes before.
            0 => good.len() - 64..good.len(),
            1 => good.len() - 512..good.len(),
            2 => good.len() - 1_600..good.len(),
            3 => START..good.len(),
            4 => START..START + 2_000,
            _ => TIME..good.len().min(TIME + 8 * (BASE + 1)),
        };
        for word in &mut words[part] {
            if random.random_range(0..4) == 0 || round % 6 == 0 {
                *word = random_word(&mut random, &good[START..]);
            }
        }
        set_all(&writable(file), &words);
        let (filter, reader) = (open(), look_up());
        assert_eq!(filter.is_ok(), reader.is_ok(), "round {round}");
        match filter {
            Ok(filter) => {
                (0..MANY).for_each(|item| filter.use_item(item));
                call_all(&filter, &format!("round {round}"), || ());
                opened += 1;
            }
            Err(OpenError::Control { .. }) => refused += 1,
            Err(error) => panic!("round {round}: {error:?}"),
        }
    }
    set_all(&writable(file), &good);
    [opened, refused]
}

/// The calls of a reader of either kind.
macro_rules! look_up_all {
    ($reader:expr) => {
        $reader.map(|reader| {
            let items: Vec<u32> = (0..MANY).collect();
            reader.contains_batch(&items, &mut vec![false; items.len()]);
            items
                .iter()
                .for_each(|item| done((reader.contains(item), reader.count(item))));
            done((reader.len(), reader.stats(), reader.participants()));
        })
    };
}

#[test]
fn random_files_of_a_fixed_filter() {
    let directory = directory();
    let mut opened = 0;
    for bits in [10, 15, 20, 30, 9, 13] {
        let file = directory.path().join(bits.to_string());
        let items: Vec<u32> = (0..150).collect();
        create(&file, of_layout(150, bits))
            .insert_batch(&items)
            .unwrap();
        // SAFETY: no other program knows the directory of this test.
        let open_file = || unsafe { SharedFilter::open(&file) };
        // SAFETY: as above.
        let look_up = || look_up_all!(unsafe { SharedReader::open(&file) });
        opened += random_files(&file, open_file, look_up)[0];
        assert!(items.iter().all(|item| open(&file).contains(item)));
    }
    assert!(opened > 100, "{opened} files were opened");
}

#[test]
fn random_files_of_an_expiring_filter() {
    let directory = directory();
    let [mut opened, mut refused] = [0; 2];
    for bits in [9, 11, 16, 26] {
        let file = directory.path().join(bits.to_string());
        let items: Vec<u32> = (0..150).collect();
        let builder = expiring(150, HOUR).fingerprint_bits(bits);
        create_expiring(&file, builder)
            .insert_batch(&items)
            .unwrap();
        // SAFETY: no other program knows the directory of this test.
        let open_file = || unsafe { SharedExpiringFilter::open(&file) };
        let look_up = || {
            // SAFETY: as above.
            let reader = unsafe { SharedExpiringReader::open(&file) };
            let time =
                |it: &SharedExpiringReader| done((it.epoch(), it.epoch_age(), it.is_swept()));
            look_up_all!(reader.inspect(time))
        };
        let [here, not] = random_files(&file, open_file, look_up);
        opened += here;
        refused += not;
        assert!(items.iter().all(|item| open_expiring(&file).contains(item)));
    }
    assert!(opened > 30 && refused > 10, "{opened} {refused}");
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
                // SAFETY: as above.
                look_up_all!(unsafe { SharedReader::open(&file) }).unwrap();
                (0..MANY).for_each(|item| filter.use_item(item));
                call_all(&filter, &format!("round {round}"), || ());
                let digest = filter.as_filter().digest();
                let copy = filter.as_filter().try_clone();
                assert!(copy.is_err() || copy.is_ok_and(|copy| copy.digest() == digest));
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
