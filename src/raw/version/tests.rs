//! A stripe that wraps forgets no hold and takes no advance for none.

use super::*;
use crate::{memory::Heap, table::entry::Fingerprint};

/// One stripe, on the last version that there is.
fn about_to_wrap() -> Versions<Heap> {
    let stripes = Heap::zeroed(1).expect("a few bytes");
    stripes[0].store(u64::MAX - HOLDS, Ordering::Relaxed);
    Versions { stripes }
}

/// A class on that stripe.
const CLASS: Class = Class {
    fingerprint: Fingerprint::new(1),
    p: 0,
    q: 1,
};

#[test]
fn a_version_that_wraps_is_another_one() {
    let versions = about_to_wrap();
    let stripe = versions.of(CLASS);
    let before = stripe.observe();
    assert!(before.validate());
    assert!(!stripe.advance());
    assert!(!before.validate());
    let after = stripe.observe();
    assert_eq!(after.observed, 0);
    assert!(after.validate() && !stripe.is_held());
}

#[test]
fn a_hold_outlasts_the_wrap() {
    let versions = about_to_wrap();
    let stripe = versions.of(CLASS);
    let hold = stripe.hold().expect("nobody holds it");
    assert!(stripe.advance(), "the mover gives way");
    assert!(stripe.is_held());
    drop(hold);
    assert!(!stripe.is_held());
    assert_eq!(stripe.observe().observed, 0);
}

#[test]
fn holds_never_carry_into_the_version() {
    let versions = about_to_wrap();
    let stripe = versions.of(CLASS);
    let version = stripe.observe().observed;
    let holds: Vec<_> = std::iter::from_fn(|| stripe.hold()).collect();
    assert_eq!(holds.len() as u64, HOLDS);
    assert_eq!(stripe.observe().observed, version + HOLDS);
    drop(holds);
    assert_eq!(stripe.observe().observed, version);
}

#[test]
fn a_stripe_that_processes_share_never_has_an_earlier_value_after_a_hold() {
    let versions = about_to_wrap();
    let stripe = versions.of(CLASS);
    let holds: Vec<_> = std::iter::from_fn(|| stripe.hold_and_advance()).collect();
    assert_eq!(holds.len() as u64, HOLDS);
    // It wraps with the first hold.
    assert_eq!(stripe.observe().observed, (HOLDS - 1) * ADVANCE + HOLDS);
    drop(holds);
    assert_eq!(stripe.observe().observed, (HOLDS - 1) * ADVANCE);
}

#[test]
fn the_holds_of_the_dead_end_unless_one_lives() {
    let versions = about_to_wrap();
    let stripe = versions.of(CLASS);
    assert_eq!(versions.end_holds(0, || unreachable!()), Some(false));
    assert_eq!(
        versions.end_holds(1, || unreachable!()),
        Some(false),
        "no stripe"
    );
    std::mem::forget([stripe.hold(), stripe.hold()]);
    assert_eq!(versions.end_holds(0, || false), None);
    assert!(stripe.is_held());
    assert_eq!(versions.end_holds(0, || true), Some(true));
    assert!(!stripe.is_held());
}
