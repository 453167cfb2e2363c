//! A violation of a promise, with all its times.

use super::steps::Nanos;
use std::fmt;

/// A call, with the clock readings before and after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) invoked: Nanos,
    pub(crate) returned: Nanos,
}

/// A result that came too early, or twice.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    pub(crate) what: &'static str,
    pub(crate) item: u64,
    /// The call that inserted or refreshed the item, if it is known.
    pub(crate) written: Option<Span>,
    /// The item must be present at least until this time.
    pub(crate) lives_until: Nanos,
    /// The call with the wrong result.
    pub(crate) answered: Span,
    /// The epoch after that call.
    pub(crate) step: u64,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of item {:x}: written in {:?}, lives until {} ns, answered in {:?}, in epoch {} after",
            self.what, self.item, self.written, self.lives_until, self.answered, self.step
        )
    }
}
