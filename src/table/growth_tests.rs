//! Levels, splits and runs of them, without other threads.

use super::{
    Growth, Refusal, SPLITS_PER_INSERT, Segment, Table,
    class::Class,
    entry::low_bits,
    layout::Growing,
    view::Loaded,
    word::{Bucket, Phases},
};
use crate::memory::Heap;
use crate::sync::AtomicU64;
use crate::table::entry::{Entry, Fingerprint};
use crate::{
    raw::tests::{GROWN, growing, grown},
    step::Step,
};
use crossbeam_utils::CachePadded;

/// The level at which the filters of these tests begin.
const FIRST: u32 = GROWN.first;

#[test]
fn the_low_bits_are_as_many_as_the_level() {
    let low = [0, 1, 2, 3, 4, 8].map(|level| low_bits(0b1011, level));
    assert_eq!(low, [0, 1, 0b11, 0b11, 0b1011, 0b1011]);
}

#[test]
fn each_level_doubles_the_words() {
    let table = Table::<Growing>::new(4, GROWN).expect("a few bytes");
    assert_eq!((table.buckets(), table.words()), (4, 4));
    assert_eq!((table.level(), table.levels()), (FIRST, GROWN));
    assert_eq!(table.doublings(), 0);
    assert!(!table.is_growing(FIRST));
    let list = (1 + GROWN.more as usize) * size_of::<usize>();
    let state = size_of::<Growth<Growing>>() + list + size_of::<Segment<Heap>>();
    assert_eq!(table.bytes(), 4 * 8 + state);
    for doubling in 0..2 {
        let level = FIRST + doubling;
        assert!(table.begin_level(level).is_some());
        assert!(table.is_growing(level));
        assert_eq!(table.words(), 8 << doubling);
        assert_eq!(table.words_to_split(), 4 << doubling);
        table.finish_level();
        assert_eq!((table.level(), table.words_to_split()), (level + 1, 0));
        assert_eq!(table.doublings(), doubling + 1);
    }
    assert!(!table.is_growing(FIRST + 2));
    let of_level = size_of::<Segment<Heap>>() + size_of::<CachePadded<AtomicU64>>();
    assert_eq!(table.bytes(), (4 + 4 + 8) * 8 + state + 2 * of_level);
}

/// 64 buckets, two doublings to come.
fn small_table() -> Table<Growing> {
    Table::new(64, GROWN).expect("a few bytes")
}

/// A word of the table.
fn load(table: &Table<Growing>, plane: u64, bucket: usize) -> Loaded<'_, Growing> {
    Loaded::load(table.atomic(plane, bucket), table.base())
}

/// For each word of the table below `level`, in the order in which runs are split: is it split?
fn split_words(table: &Table<Growing>, level: u32) -> Vec<bool> {
    let word = |number: usize| {
        let loaded = load(table, (number / 64) as u64, number % 64);
        loaded.word().level() > level
    };
    (0..table.words_at(level)).map(word).collect()
}

fn count_split(table: &Table<Growing>, level: u32) -> usize {
    let split = split_words(table, level);
    split.into_iter().filter(|&split| split).count()
}

/// Each call splits a run, wherever it is, and the split pointer is at the first word to come.
#[test]
fn a_level_is_swept_run_by_run() {
    let table = small_table();
    table.split_some();
    assert_eq!((table.level(), table.words()), (FIRST, 64));
    for level in [FIRST, FIRST + 1] {
        table.begin_level(level).expect("a few bytes");
        let words = table.words_at(level);
        for run in 1..words / SPLITS_PER_INSERT {
            table.split_some();
            assert_eq!(count_split(&table, level), run * SPLITS_PER_INSERT);
            let split = split_words(&table, level);
            let pointer = split.iter().take_while(|&&split| split).count();
            assert_eq!(table.words_to_split(), words - pointer);
            assert_eq!(table.level(), level);
        }
        table.split_some();
        assert_eq!((table.level(), table.words_to_split()), (level + 1, 0));
    }
}

/// The split pointer goes over words that others have split, and no further.
#[test]
fn the_split_pointer_stops_at_the_first_word_to_come() {
    let table = small_table();
    table.begin_level(FIRST).expect("a few bytes");
    table.finish_level();
    table.begin_level(FIRST + 1).expect("a few bytes");
    for bucket in 0..64 {
        table.split(0, bucket, FIRST + 1);
    }
    table.split(1, 2, FIRST + 1);
    table.split_run(FIRST + 1, 0);
    assert_eq!(table.words_to_split(), 64);
    table.split_run(FIRST + 1, 0);
    assert_eq!(table.words_to_split(), 64 - SPLITS_PER_INSERT);
}

/// A thread that is late has seen fewer split words.
#[test]
fn the_split_pointer_does_not_go_back() {
    let table = small_table();
    table.begin_level(FIRST).expect("a few bytes");
    let parts = table.parts(FIRST).expect("a level has begun");
    let part = parts.of_thread(0).expect("the level has just begun");
    for (to, left) in [(24, 40), (8, 40), (32, 32)] {
        table.move_split_pointer(parts, &part, FIRST, to);
        assert_eq!(table.words_to_split(), left);
    }
}

/// A table whose first level has eight parts. The last part is shorter.
fn table_of_parts() -> Table<Growing> {
    Table::new((1 << 17) + 6, GROWN).expect("a MiB")
}

/// The runs until a level is complete, if these threads split them in turn.
fn runs_of_a_level(table: &Table<Growing>, threads: std::ops::Range<usize>) -> usize {
    let level = table.level();
    table.begin_level(level).expect("a MiB");
    let in_turn = threads.cycle().take_while(|&thread| {
        table.split_run(level, thread);
        table.level() == level
    });
    in_turn.count() + 1
}

/// With any number of threads, a level takes the number of inserts that one thread needs, or a few more
/// where threads have met.
#[test]
fn a_level_of_several_parts_is_complete_in_time() {
    for (threads, met) in [(0..1, 0), (5..6, 0), (1..3, 0), (0..8, 64), (0..64, 512)] {
        let table = table_of_parts();
        let runs = table.words_at(FIRST).div_ceil(SPLITS_PER_INSERT);
        let made = runs_of_a_level(&table, threads.clone());
        let context = format!("{threads:?}: {made} instead of {runs}");
        assert!((runs..=runs + met).contains(&made), "{context}");
        assert_eq!(table.words_to_split(), 0, "{context}");
        let mut words = (0..table.buckets()).map(|bucket| load(&table, 0, bucket).word());
        assert!(words.all(|word| word.level() == FIRST + 1), "{context}");
    }
}

#[test]
fn threads_begin_in_different_parts() {
    let table = table_of_parts();
    table.begin_level(FIRST).expect("a MiB");
    for thread in 0..8 {
        table.split_run(FIRST, thread);
    }
    let split: Vec<usize> = (0..table.buckets())
        .filter(|&bucket| load(&table, 0, bucket).word().level() > FIRST)
        .collect();
    let firsts = split.chunks(SPLITS_PER_INSERT).map(|run| run[0]);
    let len = split[SPLITS_PER_INSERT];
    assert_eq!(split.len(), 8 * SPLITS_PER_INSERT);
    assert!(firsts.eq((0..8).map(|part| part * len)), "{split:?}");
    assert_eq!(table.words_to_split(), table.buckets() - split.len());
}

/// The thread that has split the last word of a part, or ended the last part, may be stopped for ever.
#[test]
fn another_thread_ends_a_part_and_the_level() {
    let table = table_of_parts();
    table.begin_level(FIRST).expect("a MiB");
    let parts = table.parts(FIRST).expect("a level has begun");
    for bucket in 0..table.buckets() {
        table.split(0, bucket, FIRST);
    }
    let mut ended = 0;
    while let Some(part) = parts.of_thread(0) {
        part.move_to(part.end);
        ended += 1;
        if ended % 2 == 0 {
            parts.end(part.number);
        } else {
            table.split_run(FIRST, 0);
        }
        assert_eq!(table.level(), FIRST);
    }
    assert_eq!((ended, table.words_to_split()), (8, 0));
    table.split_run(FIRST, 0);
    assert_eq!(table.level(), FIRST + 1);
}

#[test]
fn room_is_made_where_it_is_wanted() {
    let table = small_table();
    let wanted = |buckets: std::ops::Range<usize>| {
        buckets.map(|bucket| (Fingerprint::new(grown(5)), bucket))
    };
    let room = |runs, buckets, is_worth_while| {
        table.split_reached(runs, FIRST, wanted(buckets), |_| is_worth_while)
    };
    assert_eq!(room(1, 0..1, false), Err(Refusal::Full), "not worth while");
    assert!(!table.is_growing(FIRST));
    assert_eq!(room(1, 30..31, true), Ok(()));
    assert!(table.is_growing(FIRST));
    let split = split_words(&table, FIRST);
    assert_eq!(count_split(&table, FIRST), 1);
    assert!(split[30]);
    // As many as one insert splits, at most.
    assert_eq!(room(1, 25..40, false), Ok(()), "the level has begun");
    let split = split_words(&table, FIRST);
    assert_eq!(count_split(&table, FIRST), 1 + SPLITS_PER_INSERT);
    assert!(split[25..34].iter().all(|&split| split));
    // All of them are split: the next run is.
    let mut before = 1 + SPLITS_PER_INSERT;
    for runs in [1, 2] {
        assert_eq!(room(runs, 25..34, false), Ok(()));
        let now = count_split(&table, FIRST);
        let more = (runs - 1) * SPLITS_PER_INSERT + 1..=runs * SPLITS_PER_INSERT;
        assert!(more.contains(&(now - before)), "{now} after {before}");
        before = now;
    }
    assert_eq!(room(1 << 31, 25..34, false), Ok(()));
    assert_eq!(table.doublings(), 1, "it ends with the level");
    // What was wanted at a level before may be there now.
    assert_eq!(room(1, 0..1, true), Ok(()));
    assert!(!table.is_growing(FIRST + 1));
    table.begin_level(FIRST + 1).expect("a few bytes");
    table.finish_level();
    let refused = table.split_reached(1, FIRST + 2, wanted(0..1), |_| true);
    assert_eq!(refused, Err(Refusal::Full), "the largest size");
}

/// The thread that froze a word may be stopped for ever.
#[test]
fn a_writer_completes_a_split() {
    for inserts in [true, false] {
        let raw = growing(8, 1);
        let table = &raw.table;
        let class = Class::of_resident(Fingerprint::new(grown(7)), 0, 8);
        assert_eq!(raw.insert(class), Ok(()));
        table.begin_level(FIRST).expect("a few bytes");
        for bucket in [class.p, class.q] {
            let loaded = load(table, 0, bucket);
            assert!(loaded.replace(Step::Freeze, loaded.word().frozen()));
        }
        if inserts {
            assert_eq!(raw.insert(class), Ok(()));
            assert_eq!(raw.count(class), 2);
        } else {
            assert!(raw.remove(class));
            assert_eq!(raw.count(class), 0);
        }
        for bucket in [class.p, class.q] {
            for plane in [0, 1] {
                let word = load(table, plane, bucket).word();
                assert_eq!((word.level(), word.is_frozen()), (FIRST + 1, false));
            }
        }
    }
}

/// A thread that is late to complete a split does not undo what others have made of the word since.
#[test]
fn a_split_is_completed_once() {
    let table = small_table();
    table.begin_level(FIRST).expect("a few bytes");
    let entry = |lower| Entry::new(grown(lower));
    let loaded = load(&table, 0, 3);
    let word = loaded.word().plus(entry(6)).plus(entry(7));
    assert!(loaded.replace(Step::Claim, word));
    let loaded = load(&table, 0, 3);
    let frozen = loaded.word().frozen();
    assert!(loaded.replace(Step::Freeze, frozen));
    let frozen = loaded.replaced_by(frozen);
    table.complete_split(0, 3, frozen);
    for (plane, fingerprint) in [(0, 8), (1, 9)] {
        let loaded = load(&table, plane, 3);
        assert!(loaded.replace(Step::Claim, loaded.word().plus(entry(fingerprint))));
    }
    table.complete_split(0, 3, frozen);
    for (plane, residents) in [(0, [6, 8]), (1, [7, 9])] {
        let word = load(&table, plane, 3).word();
        let found = word.residents(Fingerprint::new(grown(plane)));
        assert!(found.eq(residents.map(entry)), "{plane}");
    }
}
