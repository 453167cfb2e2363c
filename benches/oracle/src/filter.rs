//! What a filter is asked to do, by the methods that its package has.

use std::path::Path;

/// A filter that one thread uses. Keys are numbers.
pub trait Filter {
    /// Adds the key; false if the filter says that it has not, or that it has put out another item for it.
    fn insert(&mut self, key: &u64) -> bool;

    /// True if the filter says that the key is in.
    fn contains(&self, key: &u64) -> bool;

    /// Deletes the key; false if the filter says that it was not in, `None` if it cannot delete.
    fn remove(&mut self, _key: &u64) -> Option<bool> {
        None
    }

    /// The share of its slots that this number of items takes, if the filter says how many slots it has.
    fn load(&self, _items: u64) -> Option<f64> {
        None
    }

    /// Writes the filter into a new file; false if its package cannot.
    fn save(&self, _path: &Path) -> bool {
        false
    }

    /// The same filter for several threads, if its methods take `&self`.
    fn shared(&self) -> Option<&dyn Shared> {
        None
    }
}

/// A filter that several threads use at once.
pub trait Shared: Sync {
    /// Adds the key; false if the filter says that it has not, or that it has put out another item for it.
    fn insert(&self, key: &u64) -> bool;

    /// True if this call has added the key, because it was absent; `None` if the filter does not say.
    fn insert_unique(&self, _key: &u64) -> Option<bool> {
        None
    }

    /// True if the filter says that the key is in.
    fn contains(&self, key: &u64) -> bool;

    /// Deletes the key; false if the filter says that it was not in, `None` if it cannot delete.
    fn remove(&self, _key: &u64) -> Option<bool> {
        None
    }
}

/// Implements [`Filter`] for a type whose methods take `&mut self`.
macro_rules! filter {
    (
        [$($bounds:tt)*] $type:ty, |$it:ident, $key:ident|
        insert $insert:expr, contains $contains:expr $(, remove $remove:expr)?
        $(, load |$items:ident| $load:expr)? $(, save |$path:ident| $save:expr)?
    ) => {
        impl<$($bounds)*> $crate::filter::Filter for $type {
            fn insert(&mut self, $key: &u64) -> bool {
                let $it = self;
                $insert
            }

            fn contains(&self, $key: &u64) -> bool {
                let $it = self;
                $contains
            }

            $(fn remove(&mut self, $key: &u64) -> Option<bool> {
                let $it = self;
                Some($remove)
            })?

            $(fn load(&self, $items: u64) -> Option<f64> {
                let $it = self;
                Some($load)
            })?

            $(fn save(&self, $path: &std::path::Path) -> bool {
                let $it = self;
                $save
            })?
        }
    };
}
pub(crate) use filter;

/// Implements [`Filter`] and [`Shared`] for a type whose methods take `&self`.
macro_rules! shared_filter {
    (
        [$($bounds:tt)*] $type:ty, |$it:ident, $key:ident|
        insert $insert:expr, $(insert_unique $unique:expr,)? contains $contains:expr $(, remove $remove:expr)?
        $(, load |$items:ident| $load:expr)? $(, save |$path:ident| $save:expr)?
    ) => {
        impl<$($bounds)*> $crate::filter::Shared for $type {
            fn insert(&self, $key: &u64) -> bool {
                let $it = self;
                $insert
            }

            $(fn insert_unique(&self, $key: &u64) -> Option<bool> {
                let $it = self;
                Some($unique)
            })?

            fn contains(&self, $key: &u64) -> bool {
                let $it = self;
                $contains
            }

            $(fn remove(&self, $key: &u64) -> Option<bool> {
                let $it = self;
                Some($remove)
            })?
        }

        impl<$($bounds)*> $crate::filter::Filter for $type {
            fn insert(&mut self, key: &u64) -> bool {
                $crate::filter::Shared::insert(self, key)
            }

            fn contains(&self, key: &u64) -> bool {
                $crate::filter::Shared::contains(self, key)
            }

            fn remove(&mut self, key: &u64) -> Option<bool> {
                $crate::filter::Shared::remove(self, key)
            }

            $(fn load(&self, $items: u64) -> Option<f64> {
                let $it = self;
                Some($load)
            })?

            $(fn save(&self, $path: &std::path::Path) -> bool {
                let $it = self;
                $save
            })?

            fn shared(&self) -> Option<&dyn $crate::filter::Shared> {
                Some(self)
            }
        }
    };
}
pub(crate) use shared_filter;
