use super::*;
use pass::Image;
use std::ops::Range;

/// The buckets of 16 to which a move from `from` may go.
fn permitted(frontiers: &Frontiers, from: usize) -> Range<usize> {
    let to: Vec<usize> = (0..16)
        .filter(|&to| frontiers.may_cross(None, from, to))
        .collect();
    let seeming = (0..16).filter(|&to| frontiers.look(None).permits(from, to));
    assert!(seeming.eq(to.iter().copied()));
    let (Some(first), Some(last)) = (to.first(), to.last()) else {
        return 0..0;
    };
    assert_eq!(to.len(), last - first + 1, "one side");
    *first..last + 1
}

fn publish(pass: &Pass, chunk: usize) -> bool {
    pass.publish(chunk, Image::default()).expect("a few bytes")
}

#[test]
fn a_move_stays_on_its_side_of_a_snapshot() {
    let frontiers = Frontiers::new(4);
    for _ in 0..2 {
        assert!(frontiers.are_idle(None));
        assert_eq!(permitted(&frontiers, 5), 0..16);
        let scan = frontiers.register(16, None, None).expect("memory");
        let pass = &scan.first;
        assert_eq!(pass.chunks(), 4);
        assert!(!frontiers.are_idle(None));
        // All is still to come.
        assert_eq!(permitted(&frontiers, 5), 0..16);
        for chunk in 0..4 {
            assert_eq!(pass.next(), chunk);
            let (start, end) = (4 * chunk, 4 * chunk + 4);
            assert_eq!(pass.buckets(chunk), start..end);
            // A second thread that enters, or that entered long ago, changes nothing.
            for entered in [chunk, chunk, 0] {
                pass.enter(entered);
                assert_eq!(pass.next(), chunk);
                for from in 0..16 {
                    let side = match from {
                        _ if from < start => 0..start,
                        _ if from < end => 0..0,
                        _ => end..16,
                    };
                    assert_eq!(permitted(&frontiers, from), side, "{from} at {chunk}");
                }
            }
            assert!(publish(pass, chunk), "the first image");
            assert!(!publish(pass, chunk), "a later image is dropped");
            for from in 0..16 {
                let side = if from < end { 0..end } else { end..16 };
                assert_eq!(permitted(&frontiers, from), side, "{from} after {chunk}");
            }
        }
        assert_eq!(pass.next(), 4);
    }
}

#[test]
fn a_move_heeds_the_frontiers_of_all_scans() {
    let frontiers = Frontiers::new(4);
    let mut running: Vec<_> = (0..20)
        .map(|_| frontiers.register(16, None, None).expect("memory"))
        .collect();
    assert_eq!(permitted(&frontiers, 5), 0..16);
    running[0].first.enter(0);
    publish(&running[0].first, 0);
    assert_eq!(permitted(&frontiers, 5), 4..16);
    running[19].first.enter(0);
    publish(&running[19].first, 0);
    running[19].first.enter(1);
    assert_eq!(permitted(&frontiers, 5), 0..0);
    running.pop();
    assert_eq!(permitted(&frontiers, 5), 4..16);
    running.remove(0);
    assert_eq!(permitted(&frontiers, 5), 0..16);
    assert!(!frontiers.are_idle(None));
    running.clear();
    assert!(frontiers.are_idle(None));
    assert_eq!(frontiers.look(None).passes().count(), 0);
}

#[test]
fn only_the_last_pass_of_a_scan_counts() {
    let frontiers = Frontiers::new(4);
    let scan = frontiers.register(16, Some(0), None).expect("memory");
    scan.first.enter(0);
    publish(&scan.first, 0);
    scan.first.enter(1);
    assert_eq!(permitted(&frontiers, 5), 0..0);
    for level in [1, 2] {
        scan.first.last().restart(level).expect("a few bytes");
    }
    let last = scan.first.last();
    assert_eq!((last.level, last.next()), (Some(2), 0));
    assert_eq!(permitted(&frontiers, 5), 0..16);
    last.enter(0);
    publish(last, 0);
    assert_eq!(permitted(&frontiers, 5), 4..16);
    // Of two threads that find a pass void one makes the next.
    scan.first.restart(7).expect("a few bytes");
    assert_eq!(scan.first.last().level, Some(2));
}

#[test]
fn chunks_are_smaller_where_there_are_more_planes() {
    let sizes = [0, 1, 5, 6, 7, 31, 70].map(chunk_buckets);
    assert_eq!(sizes, [512, 256, 16, 8, 8, 8, 8]);
}
