use super::*;
use crate::{memory::Parts, raw::crew::tests::Seated, sync};

const MEMBERS: usize = 4;
const OF_MEMBER: usize = 8;

/// The places of this process.
fn places(member: usize) -> Arc<Places> {
    places_of(member, MEMBERS)
}

fn places_of(member: usize, members: usize) -> Arc<Places> {
    let number = members * OF_MEMBER;
    let memory = Arc::new(sync::zeroed(Places::words(number)).expect("a few bytes"));
    let members = Seated::all(members)[member].clone();
    let mut parts = Parts::new(memory, 0);
    let places = Places::in_words(number, OF_MEMBER, members, &mut parts);
    Arc::new(places.expect("enough words"))
}

/// The last place of each word of bits, and of all words, is like any other one.
#[test]
fn the_last_place_of_each_process_counts() {
    const MANY: usize = MAX_LINES / OF_MEMBER;
    for member in 0..MANY {
        let places = places_of(member, MANY);
        let mut taken: Vec<_> = (0..OF_MEMBER).filter_map(|_| places.take()).collect();
        let last = taken.pop().expect("eight places");
        assert_eq!(last.number, (member + 1) * OF_MEMBER - 1);
        taken.iter().for_each(Place::end);
        last.enter(1);
        let at_hand = places.at_hand();
        assert!(!at_hand.are_idle() && !at_hand.permit(0, 2), "{member}");
        assert!(at_hand.permit(2, 3), "{member}");
        assert_eq!(places.end_of(member), 1);
        assert!(at_hand.are_idle() && at_hand.permit(0, 2), "{member}");
    }
}

/// Threads that help a scan may be late: in a chunk, in a pass, or in the scan.
#[test]
fn what_a_late_thread_says_changes_nothing() {
    let places = places(1);
    let at_hand = places.at_hand();
    let first = places.take().expect("a seat");
    first.leave(3);
    first.enter(2);
    assert!(at_hand.permit(0, 3) && !at_hand.permit(3, 4));
    let pass = first.of_next_pass();
    pass.enter(0);
    first.leave(4);
    assert!(at_hand.permit(1, 5) && !at_hand.permit(0, 1));
    pass.leave(0);
    first.end();
    let second = places.take().expect("a seat");
    assert!(at_hand.permit(0, 1), "it has not begun");
    pass.enter(4);
    assert!(at_hand.permit(0, 4), "it has not begun");
    second.end();
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

/// The last chunk of the largest table.
#[test]
fn a_place_says_the_last_chunk_that_can_be() {
    let places = places(0);
    let place = places.take().expect("a seat");
    let last = MOST_CHUNKS - 1;
    place.enter(last);
    assert!(!places.at_hand().permit(last - 1, last) && places.at_hand().permit(0, last - 1));
    place.leave(last);
    assert!(places.at_hand().permit(0, last));
    let next = place.of_next_pass();
    next.enter(0);
    assert!(!places.at_hand().permit(0, last), "it is another pass");
    next.end();
}
