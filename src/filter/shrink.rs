//! Undoes doublings that a filter no longer needs.

use crate::{
    filter::CuckooFilter,
    raw::{
        RawFilter,
        any::{AnyCounting, AnyFilter, with_layout, with_operations},
    },
    table::layout::Layout,
};

impl<S> CuckooFilter<S> {
    /// Undoes doublings that the filter no longer needs. True if the filter became smaller.
    ///
    /// The call copies the filter into a new one and keeps the smaller of the two, so it needs
    /// memory for both. O(buckets), and an insert per copy.
    ///
    /// The filter does not change, and the result is false, in each of these cases:
    ///
    /// * The filter cannot grow, or has not grown.
    /// * The new filter would not be smaller.
    /// * There is no memory for the new filter.
    /// * An item has more copies than two buckets of the smaller filter can hold.
    ///
    /// [`clear`](Self::clear) and [`remove`](Self::remove) do not shrink a filter;
    /// [`reset`](Self::reset) does.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let mut filter = CuckooFilter::builder().capacity(1_000).max_capacity(100_000).build()?;
    /// filter.try_extend(0..50_000_u32)?;
    /// let grown = filter.memory_usage();
    /// for item in 100..50_000_u32 {
    ///     filter.remove(&item);
    /// }
    /// assert!(filter.shrink_to_fit());
    /// assert!(filter.memory_usage() < grown / 10);
    /// assert!((0..100_u32).all(|item| filter.contains(&item)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shrink_to_fit(&mut self) -> bool {
        let words = self.buckets();
        let geometry = self.geometry();
        if words == geometry.buckets {
            return false;
        }
        let Some(new) = AnyFilter::new(&geometry) else {
            return false;
        };
        let mut inserted = 0;
        let copied = self.raw.scan_copies(
            &mut |copies| with_operations!(&new, new => new.insert_copies(copies, &mut inserted)),
        );
        use AnyCounting::{Growing4, Growing8};
        let is_smaller = copied.is_ok() && with_layout!(&new, new => new.table.words() < words);
        match (&mut self.raw, new) {
            _ if !is_smaller => return false,
            (AnyFilter::Growing(old), AnyFilter::Growing(new)) => old.become_smaller(new),
            (AnyFilter::Counting(Growing4(old)), AnyFilter::Counting(Growing4(new))) => {
                old.become_smaller(*new);
            }
            (AnyFilter::Counting(Growing8(old)), AnyFilter::Counting(Growing8(new))) => {
                old.become_smaller(*new);
            }
            _ => return false,
        }
        true
    }
}

impl<L: Layout> RawFilter<L> {
    /// Takes the items of another filter. The counters of rare events continue.
    fn become_smaller(&mut self, new: Self) {
        self.table = new.table;
        self.len.replace(new.len);
        self.repeats = new.repeats;
    }
}
