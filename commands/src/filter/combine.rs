//! Filters that are combined with others, and filters that are like others.

use super::{Filter, any::Any, header::Header};
use crate::Clock;
use guira::{CuckooFilter, ExpiringFilter, MergeError, SnapshotError};
use thiserror::Error;

/// A filter was not combined with another one, or not completely.
#[derive(Debug, Error)]
pub(crate) enum CombineError {
    #[error("only one of them has a window")]
    Kinds,
    #[error(transparent)]
    Merge(#[from] MergeError),
}

impl Filter {
    /// Adds the copies that `other` holds; see [`CuckooFilter::merge`].
    pub(crate) fn merge(&self, other: &Self) -> Result<(), CombineError> {
        self.by_kind(other, CuckooFilter::merge, ExpiringFilter::merge)
    }

    /// Raises the number of copies of each item to that in `other`; see [`CuckooFilter::union_with`].
    pub(crate) fn union_with(&self, other: &Self) -> Result<(), CombineError> {
        self.by_kind(other, CuckooFilter::union_with, ExpiringFilter::union_with)
    }

    /// Lowers the number of copies of each item to that in `other`; see [`CuckooFilter::intersect_with`].
    pub(crate) fn intersect_with(&self, other: &Self) -> Result<(), CombineError> {
        self.by_kind(
            other,
            CuckooFilter::intersect_with,
            ExpiringFilter::intersect_with,
        )
    }

    /// Removes each item that `other` has; see [`CuckooFilter::difference_with`].
    pub(crate) fn difference_with(&self, other: &Self) -> Result<(), CombineError> {
        self.by_kind(
            other,
            CuckooFilter::difference_with,
            ExpiringFilter::difference_with,
        )
    }

    /// Whether `other` can be combined with this filter, room aside.
    pub(crate) fn check_combines(&self, other: &Self) -> Result<(), CombineError> {
        self.by_kind(
            other,
            CuckooFilter::check_mergeable,
            ExpiringFilter::check_mergeable,
        )
    }

    fn by_kind(
        &self,
        other: &Self,
        plain: fn(&CuckooFilter, &CuckooFilter) -> Result<(), MergeError>,
        windowed: fn(&ExpiringFilter, &ExpiringFilter) -> Result<(), MergeError>,
    ) -> Result<(), CombineError> {
        match (&self.any, &other.any) {
            (Any::Plain(this), Any::Plain(other)) => Ok(plain(this, other)?),
            (Any::Windowed(this), Any::Windowed(other)) => {
                Ok(windowed(this.filter(), other.filter())?)
            }
            _ => Err(CombineError::Kinds),
        }
    }

    /// An empty filter with the options and the seed of this one.
    ///
    /// # Errors
    ///
    /// [`SnapshotError::Memory`]
    pub(crate) fn empty(&self) -> Result<Self, SnapshotError> {
        let clock = self
            .window()
            .map_or(Clock::Process, |it| it.clock().clone());
        Self::from_header(&self.header(), Header::of(self), clock, usize::MAX)
    }

    /// What counts towards its capacity; see [`take_room`](Self::take_room).
    pub(crate) fn in_use(&self) -> usize {
        self.any.in_use()
    }

    /// The slots that it has now.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.buckets().saturating_mul(self.bucket_slots())
    }

    /// The bytes that it will take when it holds this number of items, about.
    pub(crate) fn bytes_with(&self, items: usize) -> usize {
        let (mut room, mut bytes) = (self.capacity(), self.memory_usage());
        while room < items.min(self.max_capacity()) {
            (room, bytes) = (room.saturating_mul(2), bytes.saturating_mul(2));
        }
        bytes
    }
}
