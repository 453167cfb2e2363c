//! What is wrong with the bytes of a client.

use thiserror::Error;

/// What ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum ProtocolError {
    /// The number of arguments is no number, or too large.
    #[error("invalid multibulk length")]
    Arguments,
    /// The length of an argument is no number, or too large.
    #[error("invalid bulk length")]
    BulkLength,
    /// All arguments together are too large.
    #[error("too big request")]
    TooLarge,
    /// The requests of all clients that have come in part, or wait, are too large together.
    #[error("too many bytes of unfinished requests")]
    Unfinished,
    /// The system has no memory for the request.
    #[error("there is no memory for the request")]
    Memory,
    /// Neither the length of an argument nor the number of arguments.
    #[error("expected '{}', got '{}'", char::from(*tag), found.escape_ascii())]
    Expected {
        /// What had to come.
        tag: u8,
        /// What came.
        found: u8,
    },
    /// A line without an end, or with too many words or too long ones.
    #[error("too big inline request")]
    Line,
    /// A quote that is not closed, or closed in the middle of a word.
    #[error("unbalanced quotes in request")]
    UnbalancedQuotes,
    /// An argument is longer than it was said to be.
    #[error("expected CRLF after an argument")]
    Terminator,
}
