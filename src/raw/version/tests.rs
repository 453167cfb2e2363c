//! A stripe that wraps forgets no hold and takes no advance for none.

use super::*;

/// One stripe, on the last version that there is.
fn about_to_wrap() -> Versions {
    Versions {
        stripes: vec![AtomicU64::new(u64::MAX - HOLDS)].into(),
        mask: 0,
    }
}

#[test]
fn a_version_that_wraps_is_another_one() {
    let versions = about_to_wrap();
    let before = versions.observe(0);
    assert!(before.validate());
    assert!(!versions.advance(0));
    assert!(!before.validate());
    let after = versions.observe(0);
    assert_eq!(after.observed, 0);
    assert!(after.validate() && !versions.is_held(0));
}

#[test]
fn a_hold_outlasts_the_wrap() {
    let versions = about_to_wrap();
    let hold = versions.hold(0).expect("nobody holds it");
    assert!(versions.advance(0), "the mover gives way");
    assert!(versions.is_held(0));
    drop(hold);
    assert!(!versions.is_held(0));
    assert_eq!(versions.observe(0).observed, 0);
}

#[test]
fn holds_never_carry_into_the_version() {
    let versions = about_to_wrap();
    let version = versions.observe(0).observed;
    let holds: Vec<_> = std::iter::from_fn(|| versions.hold(0)).collect();
    assert_eq!(holds.len() as u64, HOLDS);
    assert_eq!(versions.observe(0).observed, version + HOLDS);
    drop(holds);
    assert_eq!(versions.observe(0).observed, version);
}
