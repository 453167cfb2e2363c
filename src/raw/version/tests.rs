//! A stripe that wraps forgets no hold and takes no advance for none.

use super::*;
use crate::table::entry::Fingerprint;

/// One stripe, on the last version that there is.
fn about_to_wrap() -> Versions {
    Versions {
        stripes: vec![AtomicU64::new(u64::MAX - HOLDS)].into(),
    }
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
