//! The border between the engine and Rust: no panic crosses it.
//!
//! A panic that left an `extern "C"` function would end the engine, with all that it holds. It is
//! caught here, written to the engine's log with its place, and counted in `INFO`.

use super::api::warn;
use std::{
    mem,
    panic::{self, AssertUnwindSafe},
    sync::atomic::{AtomicU64, Ordering},
};

static PANICS: AtomicU64 = AtomicU64::new(0);

/// Panics so far.
pub(crate) fn panics() -> u64 {
    PANICS.load(Ordering::Relaxed)
}

/// What `work` returns; what `otherwise` does if it panics.
///
/// What `work` changes must be as good as before if it panics in its midst: the filters are, as any
/// thread may stop between two of their steps.
pub(crate) fn guarded<R>(what: &str, work: impl FnOnce() -> R, otherwise: impl FnOnce() -> R) -> R {
    match panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result,
        Err(payload) => {
            // To drop it could panic again.
            mem::forget(payload);
            // Relaxed: a number to be shown.
            PANICS.fetch_add(1, Ordering::Relaxed);
            warn(&format!(
                "{what}: internal error: please report the lines above"
            ));
            otherwise()
        }
    }
}

/// Lets panics tell their text and their place to the engine's log: its standard error is often nowhere.
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
