//! The boundary between the engine and Rust: no panic crosses it.
//!
//! A panic that left an `extern "C"` function would abort the engine, with all its data. Panics are
//! therefore caught here, logged with their location, and counted in `INFO`.

use super::api::warn;
use std::{
    mem,
    panic::{self, AssertUnwindSafe},
    sync::atomic::{AtomicU64, Ordering},
};

static PANICS: AtomicU64 = AtomicU64::new(0);

/// The number of panics so far.
pub(crate) fn panics() -> u64 {
    PANICS.load(Ordering::Relaxed)
}

/// Returns the result of `work`, or that of `otherwise` if `work` panics.
///
/// State that `work` changes must remain valid if it panics halfway. Filters do, because a thread may
/// stop between any two of their steps.
pub(crate) fn guarded<R>(what: &str, work: impl FnOnce() -> R, otherwise: impl FnOnce() -> R) -> R {
    match panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result,
        Err(payload) => {
            // Dropping the payload could panic again.
            mem::forget(payload);
            // Relaxed: the number is for display.
            PANICS.fetch_add(1, Ordering::Relaxed);
            warn(&format!(
                "{what}: internal error: please report the lines above"
            ));
            otherwise()
        }
    }
}

/// Writes the messages and locations of panics to the engine's log, because its standard error is
/// often discarded.
pub(super) fn log_panics() {
    panic::set_hook(Box::new(|panic| warn(&panic.to_string())));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_and_counted() {
        let before = panics();
        assert_eq!(guarded("fine", || 1, || 2), 1);
        assert_eq!(panics(), before);
        assert_eq!(guarded("a test", || panic!("on purpose"), || 2), 2);
        assert_eq!(panics(), before + 1);
    }
}
