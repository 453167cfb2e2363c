//! The events of the rounds.

use std::{fmt, ops::AddAssign, thread::ScopedJoinHandle};

#[derive(Clone, Copy, Default)]
pub(crate) struct Report {
    /// Inserts, removes and lookups of the writers.
    pub(crate) operations: u64,
    /// Snapshots, clones, merges, unions, digests and clears.
    pub(crate) scans: u64,
    pub(crate) relocations: u64,
    pub(crate) doublings: u64,
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.operations += other.operations;
        self.scans += other.scans;
        self.relocations += other.relocations;
        self.doublings += other.doublings;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} operations beside {} scans, {} relocations, {} doublings",
            self.operations, self.scans, self.relocations, self.doublings
        )
    }
}

/// The sum of what threads counted.
pub(crate) fn joined(threads: Vec<ScopedJoinHandle<'_, u64>>) -> u64 {
    let counts = threads
        .into_iter()
        .map(|it| it.join().expect("no violation"));
    counts.sum()
}
