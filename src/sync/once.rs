//! A value that is published once, by whichever thread comes first.

#[cfg(any(guira_loom, guira_shuttle))]
use super::{AtomicU64, Ordering};

/// A cell that is empty until a thread publishes a value in it. No thread waits.
///
/// It differs from a [`OnceBox`](once_cell::race::OnceBox) in that the allocation may fail.
#[cfg(not(any(guira_loom, guira_shuttle)))]
pub(crate) struct Once<T> {
    /// An array of one, because a box of an array can be made of a vector, whose
    /// allocation may fail.
    value: once_cell::race::OnceBox<[T; 1]>,
}

/// The allocator has no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoMemory;

#[cfg(not(any(guira_loom, guira_shuttle)))]
impl<T> Once<T> {
    pub(crate) const fn new() -> Self {
        Self {
            value: once_cell::race::OnceBox::new(),
        }
    }

    /// A cell with a value from the start; `None` if there is no memory.
    pub(crate) fn with(value: T) -> Option<Self> {
        let cell = Self::new();
        cell.publish(value).ok()?;
        Some(cell)
    }

    /// The value, if it is published. Acquire.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&T> {
        self.value.get().map(|[value]| value)
    }

    /// Publishes `value`: true if it is the first one, and false if it is dropped. Release.
    pub(crate) fn publish(&self, value: T) -> Result<bool, NoMemory> {
        let mut one = Vec::new();
        one.try_reserve_exact(1).map_err(|_| NoMemory)?;
        one.push(value);
        let boxed: Result<Box<[T; 1]>, _> = one.try_into();
        Ok(boxed.is_ok_and(|boxed| self.value.set(boxed).is_ok()))
    }
}

/// The same for a model, which sees a flag with the orderings of `once_cell`.
#[cfg(any(guira_loom, guira_shuttle))]
pub(crate) struct Once<T> {
    /// Becomes 1; `None` if the value was there from the start.
    published: Option<AtomicU64>,
    value: std::sync::OnceLock<Box<T>>,
}

#[cfg(any(guira_loom, guira_shuttle))]
impl<T> Once<T> {
    pub(crate) fn new() -> Self {
        Self {
            published: Some(AtomicU64::new(0)),
            value: std::sync::OnceLock::new(),
        }
    }

    /// A cell whose value is known from the start, so that no step of the model looks for it.
    pub(crate) fn with(value: T) -> Option<Self> {
        Some(Self {
            published: None,
            value: Box::new(value).into(),
        })
    }

    pub(crate) fn get(&self) -> Option<&T> {
        // Acquire: pairs with the Release of `publish`, as in `once_cell`.
        let order = crate::fault::faulty!(Ordering::Acquire, OnceUnordered => Ordering::Relaxed);
        let is_published = |flag: &AtomicU64| flag.load(order) == 1;
        let published = self.published.as_ref().is_none_or(is_published);
        published.then(|| &**self.value.get().expect("set with the flag"))
    }

    pub(crate) fn publish(&self, value: T) -> Result<bool, NoMemory> {
        // Release: pairs with the Acquire of `get`, so the value is seen with the flag (PROOF, L7).
        let exchange = |flag: &AtomicU64| {
            flag.compare_exchange(0, 1, Ordering::Release, Ordering::Acquire)
                .is_ok()
        };
        let is_first = self.published.as_ref().is_some_and(exchange);
        // Before the next access that the model knows of.
        Ok(is_first && self.value.set(Box::new(value)).is_ok())
    }
}

impl<T> Once<T> {
    /// The value, which is published if necessary: the caller's, or that of a faster thread. `None` if
    /// there is no memory.
    pub(crate) fn get_or_publish(&self, value: impl FnOnce() -> Option<T>) -> Option<&T> {
        if self.get().is_none()
            && let Some(value) = value()
        {
            // Without memory here, another thread may have published one.
            let _ = self.publish(value);
        }
        self.get()
    }
}
