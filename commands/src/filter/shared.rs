//! Options that filters share, so that small filters stay small.

use crate::Options;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

static OPTIONS: Mutex<Recent<Arc<Options>>> = Mutex::new(Recent::NEW);

/// The values that were made last, the newest one first. A forgotten value is made again, which
/// costs only memory.
struct Recent<T>(VecDeque<T>);

impl<T: Clone> Recent<T> {
    const NEW: Self = Self(VecDeque::new());

    /// The keys of a server usually have a few kinds of options, but clients can create any number of
    /// kinds.
    const MOST: usize = 16;

    /// The value that `is_wanted`, or a new one.
    fn get(&mut self, is_wanted: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> T {
        if let Some(found) = self.0.iter().find(|value| is_wanted(value)) {
            return found.clone();
        }
        let made = make();
        self.0.truncate(Self::MOST - 1);
        self.0.push_front(made.clone());
        made
    }
}

/// Returns an allocation of these options, shared with other filters that have the same.
pub(super) fn options(options: Options) -> Arc<Options> {
    let is_wanted = |known: &Arc<Options>| **known == options;
    let mut known = OPTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    known.get(is_wanted, || options.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_values_are_shared_and_others_forgotten() {
        let mut recent = Recent::NEW;
        let mut get =
            |number: u32| recent.get(|known: &Arc<u32>| **known == number, || number.into());
        for number in 0..1000 {
            assert!(Arc::ptr_eq(&get(number), &get(number)), "{number}");
        }
        let kept = get(999 - 15);
        assert_eq!(Arc::strong_count(&kept), 2);
        assert_eq!(*get(0), 0);
        assert_eq!(Arc::strong_count(&kept), 1, "the oldest one of 16");
        assert_eq!(recent.0.len(), 16);
    }
}
