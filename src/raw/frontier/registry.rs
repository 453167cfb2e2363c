//! The scans that run.

use super::pass::Pass;
use std::sync::Arc;

type List = Vec<Arc<Pass>>;

/// A list that any thread reads without waiting, and exchanges as a whole.
#[cfg(not(guira_loom))]
#[derive(Default)]
pub(super) struct Registry(arc_swap::ArcSwapOption<List>);

/// The list, as a thread has found it.
#[cfg(not(guira_loom))]
pub(super) type Found = arc_swap::Guard<Option<Arc<List>>>;

#[cfg(not(guira_loom))]
impl Registry {
    pub(super) fn load(&self) -> Found {
        self.0.load()
    }

    /// Exchanges the list for what `change` makes of it.
    pub(super) fn update(&self, change: impl Fn(&[Arc<Pass>]) -> List) {
        self.0.rcu(|old| exchanged(old.as_ref(), &change));
    }
}

/// The list that `change` makes of another one; none instead of an empty one.
fn exchanged(old: Option<&Arc<List>>, change: impl Fn(&[Arc<Pass>]) -> List) -> Option<Arc<List>> {
    let new = change(old.map_or(&[], |list| list));
    (!new.is_empty()).then(|| Arc::new(new))
}

/// The same for loom, which sees the number of the list that counts, with the orderings of a
/// pointer.
#[cfg(guira_loom)]
pub(super) struct Registry {
    current: crate::sync::AtomicU64,
    lists: std::sync::Mutex<Vec<Found>>,
}

#[cfg(guira_loom)]
pub(super) type Found = Option<Arc<List>>;

#[cfg(guira_loom)]
impl Default for Registry {
    fn default() -> Self {
        Self {
            current: crate::sync::AtomicU64::new(0),
            lists: vec![None].into(),
        }
    }
}

#[cfg(guira_loom)]
impl Registry {
    pub(super) fn load(&self) -> Found {
        // Acquire: pairs with the exchange of `update`, as the load of a pointer in `arc_swap`.
        self.list(self.current.load(crate::sync::Ordering::Acquire))
    }

    fn list(&self, number: u64) -> Found {
        self.lists.lock().expect("no panic")[number as usize].clone()
    }

    pub(super) fn update(&self, change: impl Fn(&[Arc<Pass>]) -> List) {
        use crate::sync::Ordering;
        loop {
            // Acquire: pairs with the exchange of another `update`.
            let old = self.current.load(Ordering::Acquire);
            let new = exchanged(self.list(old).as_ref(), &change);
            let mut lists = self.lists.lock().expect("no panic");
            lists.push(new);
            let number = lists.len() as u64 - 1;
            // Not across an access that loom knows of.
            drop(lists);
            let exchange =
                self.current
                    .compare_exchange(old, number, Ordering::AcqRel, Ordering::Acquire);
            if exchange.is_ok() {
                return;
            }
        }
    }
}
