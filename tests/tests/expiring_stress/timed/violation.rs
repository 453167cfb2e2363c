//! What no filter may do, with all its times.

use super::steps::Nanos;
use std::fmt;

/// A call: clock readings before it and after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) invoked: Nanos,
    pub(crate) returned: Nanos,
}

/// An answer that came too early, or twice.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    pub(crate) what: &'static str,
    pub(crate) item: u64,
    /// The call that put the item in or made it young again, as far as it is known.
    pub(crate) written: Option<Span>,
    /// Until then the item is there at least.
    pub(crate) lives_until: Nanos,
    /// The call with the wrong answer.
    pub(crate) answered: Span,
    /// The step after that call.
    pub(crate) step: u64,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of item {:x}: written in {:?}, lives until {} ns, answered in {:?}, in step {} after",
            self.what, self.item, self.written, self.lives_until, self.answered, self.step
        )
    }
}
