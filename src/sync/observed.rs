//! The standard library's atomics, which report each access to the coherence simulator.

use crate::coherence::{Kind, report};
use std::sync::atomic::{self, Ordering};

#[derive(Debug, Default, bytemuck::TransparentWrapper, bytemuck::Zeroable)]
#[repr(transparent)]
pub(crate) struct AtomicU64(atomic::AtomicU64);

/// Read-modify-writes that pass on to the standard library's.
macro_rules! updates {
    ($($name:ident)*) => {$(
        pub(crate) fn $name(&self, value: u64, order: Ordering) -> u64 {
            report(self, Kind::Exchange, order);
            self.0.$name(value, order)
        }
    )*};
}

impl AtomicU64 {
    pub(crate) const fn new(value: u64) -> Self {
        Self(atomic::AtomicU64::new(value))
    }

    pub(crate) fn load(&self, order: Ordering) -> u64 {
        report(self, Kind::Load, order);
        self.0.load(order)
    }

    pub(crate) fn store(&self, value: u64, order: Ordering) {
        report(self, Kind::Store, order);
        self.0.store(value, order);
    }

    pub(crate) fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        report(self, Kind::Exchange, success);
        self.0.compare_exchange(current, new, success, failure)
    }

    updates!(fetch_add fetch_sub fetch_or fetch_and fetch_max);
}
