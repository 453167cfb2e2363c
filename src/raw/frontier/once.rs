//! A value that is published once, by whichever thread comes first.

/// A cell that is empty until a thread publishes a value in it. No thread waits.
///
/// It differs from a [`OnceBox`](once_cell::race::OnceBox) in that the allocation may fail.
#[cfg(not(guira_loom))]
pub(super) struct Once<T> {
    /// An array of one, because a box of an array can be made of a vector, whose
    /// allocation may fail.
    value: once_cell::race::OnceBox<[T; 1]>,
}

/// The allocator has no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoMemory;

#[cfg(not(guira_loom))]
impl<T> Once<T> {
    pub(super) const fn new() -> Self {
        Self {
            value: once_cell::race::OnceBox::new(),
        }
    }

    /// The value, if it is published. Acquire.
    #[inline]
    pub(super) fn get(&self) -> Option<&T> {
        self.value.get().map(|[value]| value)
    }

    /// Publishes `value`: true if it is the first one, and false if it is dropped. Release.
    pub(super) fn publish(&self, value: T) -> Result<bool, NoMemory> {
        let mut one = Vec::new();
        one.try_reserve_exact(1).map_err(|_| NoMemory)?;
        one.push(value);
        let boxed: Result<Box<[T; 1]>, _> = one.try_into();
        Ok(boxed.is_ok_and(|boxed| self.value.set(boxed).is_ok()))
    }
}

/// The same for loom, which sees a flag with the orderings of `once_cell`.
#[cfg(guira_loom)]
pub(super) struct Once<T> {
    published: crate::sync::AtomicU64,
    value: std::sync::OnceLock<Box<T>>,
}

#[cfg(guira_loom)]
impl<T> Once<T> {
    pub(super) fn new() -> Self {
        Self {
            published: crate::sync::AtomicU64::new(0),
            value: std::sync::OnceLock::new(),
        }
    }

    pub(super) fn get(&self) -> Option<&T> {
        use crate::sync::Ordering;
        // Acquire: pairs with the Release of `publish`, as in `once_cell`.
        let published = self.published.load(Ordering::Acquire) == 1;
        published.then(|| &**self.value.get().expect("set with the flag"))
    }

    pub(super) fn publish(&self, value: T) -> Result<bool, NoMemory> {
        use crate::sync::Ordering;
        // Release: pairs with the Acquire of `get`, so the value is seen with the flag (PROOF, L7).
        let exchanged = self
            .published
            .compare_exchange(0, 1, Ordering::Release, Ordering::Acquire);
        // Before the next access that loom knows of.
        Ok(exchanged.is_ok() && self.value.set(Box::new(value)).is_ok())
    }
}
