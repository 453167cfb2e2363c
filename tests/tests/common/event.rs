//! The result of one operation of a thread, and its time.

/// The result of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Answer {
    /// `insert`: Ok or Full.
    Insert(bool),
    /// `insert_unique`: Ok(true), Ok(false) or Full.
    InsertUnique(Option<bool>),
    /// `remove`.
    Remove(bool),
    /// `contains`.
    Contains(bool),
    /// `count`.
    Count(usize),
}

/// One operation. Times are in nanoseconds since a moment that is the same for all threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) class: usize,
    pub(crate) answer: Answer,
    pub(crate) invoked: u64,
    pub(crate) returned: u64,
}

impl Event {
    /// True if there was no room.
    pub(crate) fn is_full(&self) -> bool {
        matches!(
            self.answer,
            Answer::Insert(false) | Answer::InsertUnique(None)
        )
    }
}
