//! clear: removes what was in the filter before, while threads use it.
//!
//! | promise | no copy is left that was in the filter when the call began |
//! |---|---|
//! | how | DESIGN, section 8, "Merge, clear, digest and header" |
//! | why | PROOF, section 10 |
//! | checked by | clear |
//! | break it | `cargo xtask break ScanNoShadows` |

use super::{RawFilter, attempts::Attempts};
use crate::table::{class::Class, layout::Layout};
use std::convert::Infallible;

impl<L: Layout> RawFilter<L> {
    /// Removes every copy that was inserted before.
    ///
    /// A scan meets each class that is present during the whole call (PROOF, section 10), and then
    /// its copies are removed until there is none at some moment. So no copy can have been there
    /// all the time.
    pub(crate) fn clear(&self) {
        let ahead = &|copies: &[_]| self.prefetch_copies(copies);
        let Ok(()) = self.scan_copies(ahead, &mut |copies| {
            for &(class, _) in copies {
                self.remove_copies(class);
            }
            Ok::<_, Infallible>(())
        });
    }

    /// Removes copies of the class until there is none at some moment. In a filter that processes share,
    /// another one may add copies as fast as they go: the number of removes is bounded there.
    pub(super) fn remove_copies(&self, class: Class) {
        let mut removes = Attempts::default();
        while self.remove(class) && !removes.was_last(self) {}
    }
}
