//! Processes for tests: each is a number that lives or not.

use crate::memory::{Members, Seat};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// The seat of one process.
pub(super) struct Seated {
    pub(super) member: usize,
    pub(super) alive: Arc<[AtomicBool]>,
}

impl Seated {
    /// The seats of this number of processes, which live.
    pub(super) fn all(members: usize) -> Vec<Arc<Self>> {
        let alive: Arc<[AtomicBool]> = (0..members).map(|_| AtomicBool::new(true)).collect();
        let of_member = |member| Self {
            member,
            alive: alive.clone(),
        };
        (0..members).map(of_member).map(Arc::new).collect()
    }

    pub(super) fn die(&self) {
        self.alive[self.member].store(false, Ordering::Release);
    }
}

impl Members for Seated {
    fn seat(&self) -> Option<Seat> {
        Some(Seat::new(self.member as u32, 1))
    }

    fn is_alive(&self, member: usize) -> bool {
        self.alive[member].load(Ordering::Acquire)
    }

    fn repair_dead(&self, _at_once: bool, _repair: &mut dyn FnMut(usize) -> bool) -> bool {
        false
    }
}
