//! What writers leave behind: beside held stripes, reservations and full words, and at rest.

use super::*;

/// A remove that is stopped while it holds a stripe keeps movers from it, but all
/// operations end; a lookup takes no more loads than ever.
#[test]
fn a_stopped_remove_delays_nobody() {
    let (raw, inside) = nearly_full::<F10x6>(6, 2);
    let _holds: Vec<_> = (0..6)
        .map(|p| raw.versions.of(from_lower(p)).hold())
        .collect();
    let mut full = 0;
    for hash in 0..200_u64 {
        let class = raw.class(hash.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        full += u64::from(raw.insert(class).is_err());
    }
    assert_eq!(raw.len.copies() as u64, inside.len() as u64 + 200 - full);
    for &class in &inside {
        assert_eq!(loads::during(|| raw.contains(class)), (true, 4));
        assert!(raw.count(class) > 0);
    }
    for &class in &inside {
        assert!(raw.remove(class));
    }
}

/// A held stripe bars some moves only: the search finds a path without them,
/// though one with them would be shorter or come first.
#[test]
fn a_path_goes_round_a_held_stripe() {
    const BUCKETS: usize = 64;
    let raw = RawFilter::<F30x2>::new(BUCKETS, Levels::FIXED).expect("a few bytes");
    let residents =
        |bucket| (1..).map(move |f| Class::of_resident(Fingerprint::new(f), bucket, BUCKETS));
    let class = residents(0).next().expect("any will do");
    // Of 8 stripes, moves out of bucket 0 are all on stripe 0.
    let out_of_p = residents(0).filter(|other| other.q != class.q);
    let out_of_q = residents(class.q).filter(|other| other.p % 8 != 0);
    for (resident, bucket) in (out_of_p.take(2).map(|class| (class, 0)))
        .chain(out_of_q.take(2).map(|other| (other, class.q)))
    {
        let word = word_at(&raw, bucket);
        put(&raw, bucket, word.plus(resident.untagged()));
    }
    let _hold = raw.versions.of(from_lower(0)).hold();
    assert_eq!(raw.insert(class), Ok(()));
    assert_eq!(raw.count(class), 1);
}

/// Not only `len` but no word changes when an insert is answered with Full.
#[test]
fn a_full_filter_is_left_as_it_was() {
    fn check<L: Layout>() {
        let (raw, _) = nearly_full::<L>(10, 0);
        let words = || {
            (0..10)
                .map(|bucket| word_at(&raw, bucket))
                .collect::<Vec<_>>()
        };
        let before = words();
        for hash in 0..500_u64 {
            assert_eq!(
                raw.insert(raw.class(hash.wrapping_mul(0x9e37_79b9_7f4a_7c15))),
                Err(InsertError::Full)
            );
        }
        assert_eq!(words(), before);
        assert_eq!(raw.len.copies(), 10 * L::slots_at(0));
    }
    check::<F10x6>();
    check::<F30x2>();
    check::<S8x6>();
    check::<S17x3>();
}

/// Every change of a word evicts another thread's reservation, whatever its class. Only then does a
/// reservation that is still there prove that the word is unchanged.
#[test]
fn every_change_of_a_word_takes_the_reservation_away() {
    fn check<L: Layout>() {
        use Mark::{Delivered as D, Shadow as S, Trailing as T};

        const TOKEN: u64 = 77;

        fn reserved<L: Layout>(word: Word<L>) -> Word<L> {
            word.with_reservation(TOKEN).expect("six slots")
        }

        fn is_reserved<L: Layout>(raw: &RawFilter<L>, bucket: usize) -> bool {
            raw.table
                .load(Step::ReadP, Fingerprint::new(1), bucket)
                .is_reserved()
        }

        // Take, from either word; and Kill, of S and of D.
        for (marks, from) in [
            ([None, None], 0),
            ([None, None], 1),
            ([Some(S), Some(T)], 0),
            ([Some(T), Some(S)], 1),
            ([Some(D), Some(T)], 0),
            ([Some(T), Some(D)], 1),
        ] {
            let (raw, class) = marked_pair::<L>(marks[0], marks[1]);
            let bucket = [class.p, class.q][from];
            let mut word = word_at(&raw, bucket);
            if marks[from].is_none() {
                word = word.plus(class.untagged());
            }
            put(&raw, bucket, reserved::<L>(word));
            raw.len.add(1);
            assert!(is_reserved(&raw, bucket));
            assert!(raw.remove(class), "{marks:?} {from}");
            assert!(!is_reserved(&raw, bucket), "{marks:?} {from}");
        }
        // Claim, and all steps of a move in both words.
        let (raw, class) = filter_and_class::<L>();
        let buckets = [class.p, class.q];
        let reserve =
            || buckets.map(|bucket| put(&raw, bucket, reserved::<L>(word_at(&raw, bucket))));
        let count = || {
            buckets
                .into_iter()
                .filter(|&bucket| is_reserved(&raw, bucket))
                .count()
        };
        reserve();
        assert_eq!(raw.insert(class), Ok(()));
        assert_eq!(count(), 1);
        let from = usize::from(word_at(&raw, class.p) == Word::<L>::EMPTY);
        let hop = raw.hop_out_of(buckets[from], class.untagged());
        reserve();
        assert_eq!(raw.move_resident(hop, false, Fill::Hole), Some(Left::Hole));
        assert_eq!(count(), 0);
    }
    check::<F10x6>();
    check::<S8x6>();
    check::<S9x5>();
}
