//! Undoes doublings that a filter no longer needs.

use super::RawFilter;
use crate::{
    error::InsertError,
    table::{
        layout::Layout,
        time::{Moment, Time, beginning::Beginning},
    },
};

impl<L: Layout> RawFilter<L> {
    /// Copies the filter into a new one, and keeps the smaller of the two. True if the filter became
    /// smaller.
    pub(crate) fn shrink_to_fit(&mut self) -> bool {
        let words = self.table.words();
        if words == self.table.buckets() {
            return false;
        }
        let Some(new) = self.copied() else {
            return false;
        };
        if new.table.words() >= words {
            return false;
        }
        self.table = new.table;
        self.len.replace(new.len);
        true
    }

    /// A filter with the same copies at the same moment; `None` if there is no room for them.
    fn copied(&self) -> Option<Self> {
        let new = Self::new(self.table.buckets(), self.table.levels())?.growing_early();
        let most = self.time.most();
        let time = L::Time::at(self.moment().timed(), most, Beginning::default());
        let new = new.with_time(time);
        let ahead = &|copies: &[_]| new.prefetch_copies(copies);
        let copied = self.scan_copies(ahead, &mut |copies| {
            // What is dead stays behind.
            for &(class, age) in copies.iter().filter(|&&(_, age)| age <= most) {
                new.insert_aged(class, age)?;
            }
            Ok::<(), InsertError>(())
        });
        copied.is_ok().then_some(new)
    }
}
