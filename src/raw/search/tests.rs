//! Words made by hand, so that it is known which paths there are.

use super::*;
use crate::{
    error::InsertError,
    raw::{
        crew::Alone,
        tests::{from_lower, put, word_at},
    },
    table::Levels,
    table::class::Class,
    table::layout::{F10x6, F15x4, F30x2, PackedLayout, Word},
    table::time::Timeless,
    table::word::{Bucket, Mark},
};

/// A fingerprint with this pair of buckets, whose sum is odd.
fn between<L: PackedLayout<Time = Timeless>>(buckets: usize, one: usize, other: usize) -> u64 {
    (1..=L::LEVELS[0].largest)
        .find(|&fingerprint| alternate(Fingerprint::new(fingerprint), one, buckets) == other)
        .expect("every pair with an odd sum has some")
}

/// The class of this pair.
fn class_between<L: PackedLayout<Time = Timeless>>(
    buckets: usize,
    one: usize,
    other: usize,
) -> Class {
    let fingerprint = Fingerprint::new(between::<L>(buckets, one, other));
    Class::of_resident(fingerprint, one, buckets)
}

/// Fills a bucket with residents that have these alternates, in turn.
fn fill<L: PackedLayout<Time = Timeless>>(raw: &RawFilter<L>, bucket: usize, alternates: &[usize]) {
    let buckets = raw.table.buckets();
    let residents = alternates
        .iter()
        .map(|&to| Entry::new(between::<L>(buckets, bucket, to)));
    let residents = residents.cycle().take(L::slots_at(0));
    put(raw, bucket, residents.fold(Word::<L>::EMPTY, Bucket::plus));
}

/// A filter whose buckets are full of copies that lead from each of these buckets to the next; the
/// last one is empty. And a class of the first two.
fn chain<L: PackedLayout<Time = Timeless>>(buckets: usize, length: usize) -> (RawFilter<L>, Class) {
    let raw = RawFilter::new(buckets, Levels::FIXED).expect("memory");
    for bucket in 0..length {
        fill(&raw, bucket, &[bucket + 1]);
    }
    (raw, class_between::<L>(buckets, 0, 1))
}

fn search<L: Layout>(raw: &RawFilter<L>, class: Class, wary: bool) -> (Found, Search) {
    let mut search = Search::default();
    let found = search.run(raw, Alone, class.fingerprint, &[class.p, class.q], wary);
    (found, search)
}

/// Each word is full of copies of one item: they are one way, not S ways.
#[test]
fn copies_do_not_use_up_the_search() {
    fn check<L: PackedLayout<Time = Timeless>>(buckets: usize) {
        let all = [2, 5, 20, 60, (MAX_PROBES - FEW) / L::slots_at(0) - 2];
        for length in all.into_iter().filter(|&length| length < buckets) {
            let (raw, class) = chain::<L>(buckets, length);
            let (found, search) = search(&raw, class, true);
            assert_eq!(found, Found::Path, "{length}");
            assert_eq!(search.hops().count(), length - 1, "{length}");
            assert!(search.visited() <= length + FEW, "{length}");
            assert_eq!(raw.insert(class), Ok(()), "{length}");
            assert_eq!(raw.len.copies(), 1);
        }
    }
    // Enough buckets to have a fingerprint for each pair.
    check::<F10x6>(64);
    check::<F15x4>(2048);
    check::<F30x2>(2048);
}

/// From each of two buckets to each of the next two: as many ways as 2 to the number of
/// layers, but few words.
#[test]
fn ways_that_meet_do_not_use_up_the_search() {
    fn check<L: PackedLayout<Time = Timeless>>() {
        let (layers, buckets) = (24, 64);
        let raw = RawFilter::<L>::new(buckets, Levels::FIXED).expect("memory");
        let layer = |number: usize| {
            let first = number / 2 * 4 + number % 2;
            [first, first + 2]
        };
        for number in 0..layers {
            for bucket in layer(number) {
                fill(&raw, bucket, &layer(number + 1));
            }
        }
        let root = layer(0)[0];
        let class = class_between::<L>(buckets, root, layer(1)[0]);
        let (found, search) = search(&raw, class, true);
        assert_eq!(found, Found::Path);
        assert!(search.visited() <= 2 * layers + FEW);
        assert_eq!(raw.insert(class), Ok(()));
    }
    check::<F10x6>();
    check::<F15x4>();
    check::<F30x2>();
}

#[test]
fn a_search_ends_at_its_bound() {
    let (raw, class) = chain::<F15x4>(2048, MAX_PROBES + 1);
    let (found, search) = search(&raw, class, true);
    assert_eq!(found, Found::NotSoFar);
    assert!(search.visited() < MAX_PROBES);
    assert_eq!(raw.insert(class), Err(InsertError::Full));
}

#[test]
fn a_search_among_full_words_that_lead_to_one_another_ends() {
    let raw = RawFilter::<F10x6>::new(64, Levels::FIXED).expect("memory");
    for (bucket, alternate) in [(10, 11), (11, 12), (12, 13), (13, 12)] {
        fill(&raw, bucket, &[alternate]);
    }
    let class = class_between::<F10x6>(64, 10, 11);
    let (found, mut search) = search(&raw, class, true);
    assert_eq!(found, Found::Nothing);
    let reached = search.reached::<F10x6>().map(|(_, bucket)| bucket);
    let reached: Vec<usize> = reached.collect();
    // Copies are some ways each, as long as the nodes are few.
    assert!((10..=13).all(|bucket| reached.contains(&bucket)));
    assert!(reached.len() < MAX_PROBES);
    assert_eq!(raw.insert(class), Err(InsertError::Full));
    // What it knew is forgotten when it searches again.
    let resident = between::<F10x6>(64, 13, 12);
    put(&raw, 13, word_at(&raw, 13).minus(Entry::new(resident)));
    let found = search.run(&raw, Alone, class.fingerprint, &[class.p, class.q], false);
    assert_eq!(found, Found::Path);
}

/// The one way into a word is held: there is another one, longer, and the search is so long
/// that it remembers what it has reached.
#[test]
fn a_held_way_does_not_hide_another() {
    let (raw, class) = chain::<F15x4>(2048, 59);
    // Each pair has its lower bucket's stripe, and only the first way that of 501.
    fill(&raw, 59, &[1000]);
    fill(&raw, 1000, &[501, 601]);
    fill(&raw, 601, &[300]);
    fill(&raw, 300, &[501]);
    fill(&raw, 501, &[400]);
    let (found, at_rest) = search(&raw, class, true);
    assert_eq!((found, at_rest.hops().count()), (Found::Path, 61));
    let _hold = raw.versions.of(from_lower(501)).hold().expect("few holds");
    let (found, round_it) = search(&raw, class, true);
    assert_eq!((found, round_it.hops().count()), (Found::Path, 63));
    let (found, _) = search(&raw, class, false);
    assert_eq!(found, Found::Blocked, "it has gone over the held stripe");
    assert_eq!(raw.insert(class), Ok(()));
}

/// A word that another thread is moving in may be on the way.
#[test]
fn a_mark_in_the_way_is_not_no_path() {
    let (raw, class) = chain::<F10x6>(64, 5);
    let resident = between::<F10x6>(64, 3, 4);
    let marked = word_at(&raw, 3).with_mark(Entry::new(resident), Mark::Trailing);
    put(&raw, 3, marked.expect("it is there"));
    let (found, search) = search(&raw, class, true);
    assert_eq!(found, Found::Blocked);
    assert!(search.reached::<F10x6>().all(|(_, bucket)| bucket < 3));
}

/// The same for the words in which a search begins: it looks for a mark in a word when it leaves
/// it, even if there was none when it arrived. (Without a mark, each root is reached from the other one, by
/// each of its residents, and that is all: no way crosses itself.)
#[test]
fn a_mark_in_the_first_words_is_not_no_path() {
    let raw = RawFilter::<F10x6>::new(2, Levels::FIXED).expect("memory");
    fill(&raw, 0, &[1]);
    fill(&raw, 1, &[0]);
    let class = class_between::<F10x6>(2, 0, 1);
    for wary in [true, false] {
        let (found, search) = search(&raw, class, wary);
        assert_eq!((found, search.visited()), (Found::Nothing, 2 + 2 * 6));
    }
    for bucket in [0, 1] {
        let marked = word_at(&raw, bucket).with_mark(class.untagged(), Mark::Trailing);
        put(&raw, bucket, marked.expect("it is there"));
    }
    let (found, search) = search(&raw, class, true);
    assert_eq!((found, search.visited()), (Found::Blocked, 2));
}

/// A snapshot parts the two buckets of a move, or it is elsewhere.
#[test]
fn a_snapshot_in_the_way_is_not_no_path() {
    let raw = RawFilter::<F15x4>::new(2048, Levels::FIXED).expect("memory");
    fill(&raw, 0, &[1]);
    fill(&raw, 1, &[600]);
    let class = class_between::<F15x4>(2048, 0, 1);
    let found = || search(&raw, class, true).0;
    assert_eq!(found(), Found::Path);
    let _snapshot = raw.frontiers.register(2048, None, None).expect("memory");
    assert_eq!(found(), Found::Path, "all is to come");
    raw.frontiers.stop_in(0);
    assert_eq!(found(), Found::Blocked, "it is at bucket 0");
    assert!(raw.help_scans(1));
    assert_eq!(found(), Found::Blocked, "it is between 511 and 512");
    assert!(raw.help_scans(1));
    assert_eq!(found(), Found::Path, "it is behind both");
    assert!(raw.help_scans(7), "two chunks are left");
    assert!(!raw.help_scans(1), "all are scanned");
}

/// The path ends 200 chunks behind the frontier, and an insert has 64 rounds.
#[test]
fn a_snapshot_is_helped_by_more_chunks_in_each_round() {
    const BUCKETS: usize = 256 * 512;
    let raw = RawFilter::<F30x2>::new(BUCKETS, Levels::FIXED).expect("memory");
    fill(&raw, 0, &[1]);
    fill(&raw, 1, &[200 * 512]);
    let class = class_between::<F30x2>(BUCKETS, 0, 1);
    let _snapshot = raw.frontiers.register(BUCKETS, None, None).expect("memory");
    raw.frontiers.stop_in(0);
    assert_eq!(raw.insert(class), Ok(()));
}

/// Hardly any word twice: there is room for as many as a search may reach.
#[test]
fn a_search_among_very_many_full_words_ends_at_its_bound() {
    const BUCKETS: usize = 1 << 17;
    let raw = RawFilter::<F30x2>::new(BUCKETS, Levels::FIXED).expect("memory");
    let mut random = 1_u64;
    for bucket in 0..BUCKETS {
        let mut resident = || {
            // Knuth, The Art of Computer Programming 2, section 3.3.4.
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            Entry::new((random >> 33) % F30x2::LEVELS[0].largest + 1)
        };
        put(
            &raw,
            bucket,
            Word::<F30x2>::EMPTY.plus(resident()).plus(resident()),
        );
    }
    let class = Class::of_resident(Fingerprint::new(5), 77, BUCKETS);
    let (found, search) = search(&raw, class, false);
    assert_eq!(found, Found::NotSoFar);
    let reached = search.visited();
    assert!(
        (MAX_PROBES - 3..=MAX_NODES).contains(&reached),
        "{reached} of {MAX_NODES}"
    );
}

/// The last bucket of the largest table.
#[test]
fn a_node_names_the_last_bucket_that_can_be() {
    let mut search = Search::default();
    let last = u32::MAX as usize;
    search.push(last, Entry::new(1), 0);
    assert_eq!(search.nodes[0].bucket(), last);
    assert!(search.is_ancestor(0, last) && !search.is_ancestor(0, 0));
}
