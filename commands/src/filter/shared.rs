//! What filters share, so that small ones stay small: the keys of their hashers, and their options.

use crate::Options;
use guira::{SeededState, SharedState};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

/// The hashers of plain filters.
static HASHERS: Mutex<Hashers> = Mutex::new(Hashers {
    own: None,
    others: Recent::NEW,
});

static OPTIONS: Mutex<Recent<Arc<Options>>> = Mutex::new(Recent::NEW);

/// The last values that were used, the newest one first. A value that is no longer here is made
/// again. That costs only memory.
struct Recent<T>(VecDeque<T>);

impl<T: Clone> Recent<T> {
    const NEW: Self = Self(VecDeque::new());

    /// A save has the seeds of a few processes, and the options of a few kinds of keys. A client can
    /// restore filters with any number of them.
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

struct Hashers {
    /// The hasher of filters that are made here.
    own: Option<SharedState>,
    /// Hashers of filters that were made elsewhere.
    others: Recent<SharedState>,
}

impl Hashers {
    fn own(&mut self) -> SharedState {
        let random = || SeededState::random().into();
        self.own.get_or_insert_with(random).clone()
    }

    fn of_seed(&mut self, seed: u64) -> SharedState {
        let is_wanted = |hasher: &SharedState| hasher.seed() == seed;
        match &self.own {
            Some(own) if is_wanted(own) => own.clone(),
            _ => self.others.get(is_wanted, || SeededState::new(seed).into()),
        }
    }
}

/// The hasher of filters that this process makes.
pub(super) fn own_hasher() -> SharedState {
    locked(&HASHERS, Hashers::own)
}

/// The hasher of a filter that has this seed.
pub(super) fn hasher_of_seed(seed: u64) -> SharedState {
    locked(&HASHERS, |hashers| hashers.of_seed(seed))
}

/// Filters that this process makes from now on have another seed. Two nodes in one process, as in
/// tests, then differ as two processes do.
pub fn change_seed() {
    locked(&HASHERS, |hashers| hashers.own = None);
}

/// These options.
pub(super) fn options(options: Options) -> Arc<Options> {
    let is_wanted = |known: &Arc<Options>| **known == options;
    locked(&OPTIONS, |known| known.get(is_wanted, || options.into()))
}

fn locked<T, R>(mutex: &Mutex<T>, work: impl FnOnce(&mut T) -> R) -> R {
    work(&mut mutex.lock().unwrap_or_else(PoisonError::into_inner))
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

    #[test]
    fn a_seed_of_this_process_is_known() {
        let mut hashers = Hashers {
            own: None,
            others: Recent::NEW,
        };
        let own = hashers.own().seed();
        assert_eq!(
            (hashers.own().seed(), hashers.of_seed(own).seed()),
            (own, own)
        );
        assert!(hashers.others.0.is_empty());
        assert_eq!(hashers.of_seed(!own).seed(), !own);
        hashers.own = None;
        assert_ne!(hashers.own().seed(), own);
    }
}
