//! What one operation of a thread answered, and when.

/// What an operation answered.
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

/// One operation: nanoseconds since a moment that all threads share.
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
