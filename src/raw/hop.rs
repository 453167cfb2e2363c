//! One relocation, as a value.

use crate::table::{class::Class, entry::Entry, layout::Layout};

/// One relocation of a resident to its alternate bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    /// The resident.
    pub(crate) entry: Entry,
    /// The bucket that it is in.
    pub(crate) from: usize,
    /// Its alternate bucket.
    pub(crate) to: usize,
}

impl Hop {
    pub(crate) fn class<L: Layout>(self) -> Class {
        Class::of_pair(L::fingerprint(self.entry), self.from, self.to)
    }
}
