//! loom's atomics, which record each access while a [trace](crate::trace) is on.

use crate::trace::record;
use loom::sync::atomic;
use std::sync::atomic::Ordering;

macro_rules! traced {
    ($name:ident, $number:ty) => {
        #[derive(Debug)]
        pub(crate) struct $name(atomic::$name);

        impl $name {
            pub(crate) fn new(value: $number) -> Self {
                Self(atomic::$name::new(value))
            }

            pub(crate) fn load(&self, order: Ordering) -> $number {
                let value = self.0.load(order);
                record(|| format!("reads {value:#x}"));
                value
            }

            pub(crate) fn store(&self, value: $number, order: Ordering) {
                self.0.store(value, order);
                record(|| format!("writes {value:#x}"));
            }

            pub(crate) fn compare_exchange(
                &self,
                current: $number,
                new: $number,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$number, $number> {
                let result = self.0.compare_exchange(current, new, success, failure);
                record(|| match result {
                    Ok(_) => format!("{current:#x} becomes {new:#x}"),
                    Err(found) => format!("fails: expects {current:#x}, finds {found:#x}"),
                });
                result
            }

            fn update(&self, old: $number, new: impl FnOnce($number) -> $number) -> $number {
                record(|| format!("{old:#x} becomes {:#x}", new(old)));
                old
            }

            pub(crate) fn fetch_add(&self, value: $number, order: Ordering) -> $number {
                self.update(self.0.fetch_add(value, order), |old| {
                    old.wrapping_add(value)
                })
            }

            pub(crate) fn fetch_sub(&self, value: $number, order: Ordering) -> $number {
                self.update(self.0.fetch_sub(value, order), |old| {
                    old.wrapping_sub(value)
                })
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new(<$number>::default())
            }
        }
    };
}

traced!(AtomicU64, u64);

impl AtomicU64 {
    pub(crate) fn fetch_or(&self, value: u64, order: Ordering) -> u64 {
        self.update(self.0.fetch_or(value, order), |old| old | value)
    }

    pub(crate) fn fetch_and(&self, value: u64, order: Ordering) -> u64 {
        self.update(self.0.fetch_and(value, order), |old| old & value)
    }

    pub(crate) fn fetch_max(&self, value: u64, order: Ordering) -> u64 {
        self.update(self.0.fetch_max(value, order), |old| old.max(value))
    }
}
