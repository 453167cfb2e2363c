use super::*;
use crate::{memory::Parts, raw::crew::tests::Seated, sync};

const MEMBERS: usize = 4;
const OF_MEMBER: usize = 8;

/// The places of this process.
fn places(member: usize) -> Arc<Places> {
    let words = Places::words(MEMBERS * OF_MEMBER);
    let memory = Arc::new(sync::zeroed(words).expect("a few bytes"));
    let members = Seated::all(MEMBERS)[member].clone();
    let mut parts = Parts::new(memory, 0);
    let places = Places::in_words(MEMBERS * OF_MEMBER, OF_MEMBER, members, &mut parts);
    Arc::new(places.expect("enough words"))
}

/// A move may cross no chunk that is being scanned, and none that is scanned and one that is not.
#[test]
fn a_scan_is_in_the_way_of_moves_from_what_is_scanned_to_what_is_not() {
    const CHUNKS: usize = 5;
    let places = places(1);
    let at_hand = places.at_hand();
    let permitted = |expected: &dyn Fn(usize, usize) -> bool| {
        for (from, to) in (0..CHUNKS).flat_map(|from| (0..CHUNKS).map(move |to| (from, to))) {
            assert_eq!(at_hand.permit(from, to), expected(from, to), "{from} {to}");
        }
    };
    assert!(at_hand.are_idle());
    let place = places.take().expect("a seat");
    assert!(!at_hand.are_idle());
    permitted(&|_, _| true);
    for chunk in 0..CHUNKS {
        place.enter(chunk);
        permitted(&|from, to| from < chunk && to < chunk || from > chunk && to > chunk);
        place.leave(chunk);
        permitted(&|from, to| (from <= chunk) == (to <= chunk));
    }
    place.end();
    assert!(at_hand.are_idle());
    permitted(&|_, _| true);
}

#[test]
fn a_place_is_given_back_in_each_process() {
    for member in 0..MEMBERS {
        let places = places(member);
        for _ in 0..OF_MEMBER + 1 {
            let place = places.take().expect("a seat");
            assert_eq!(place.number, member * OF_MEMBER);
            place.end();
            assert_eq!(
                places.in_use.take(1, OF_MEMBER),
                Some(0),
                "it is free again"
            );
            places.in_use.give_back(1, 0);
        }
    }
}

/// All places of a process end with it, and no other one.
#[test]
fn a_process_that_dies_in_all_its_scans_leaves_none() {
    for member in 0..MEMBERS {
        let places = places(member);
        for number in 0..MEMBERS {
            // Scans of others are bits of the same words.
            places.count[0].fetch_or(1 << (number * OF_MEMBER), Ordering::Relaxed);
        }
        places.count[0].fetch_and(!(1 << (member * OF_MEMBER)), Ordering::Relaxed);
        let others = places.count[0].load(Ordering::Relaxed);
        for _ in 0..OF_MEMBER {
            std::mem::forget(places.take().expect("a seat"));
        }
        assert_eq!(places.end_of(member), OF_MEMBER);
        assert_eq!(places.count[0].load(Ordering::Relaxed), others);
    }
}
