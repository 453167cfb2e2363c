//! Errors in the bytes that a client sends.

use thiserror::Error;

/// An error that ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum ProtocolError {
    /// The number of arguments is not a number, or is too large.
    #[error("invalid multibulk length")]
    Arguments,
    /// The length of an argument is not a number, or is too large.
    #[error("invalid bulk length")]
    BulkLength,
    /// The arguments are too large together.
    #[error("too big request")]
    TooLarge,
    /// The partial and waiting requests of all clients are too large together.
    #[error("too many bytes of unfinished requests")]
    Unfinished,
    /// The system has no memory for the request.
    #[error("there is no memory for the request")]
    Memory,
    /// A byte is neither the tag of an argument nor that of an argument count.
    #[error("expected '{}', got '{}'", char::from(*tag), found.escape_ascii())]
    Expected {
        /// The expected tag.
        tag: u8,
        /// The byte that was found.
        found: u8,
    },
    /// A line has no end, too many words, or a word that is too long.
    #[error("too big inline request")]
    Line,
    /// A quote is not closed, or is closed in the middle of a word.
    #[error("unbalanced quotes in request")]
    UnbalancedQuotes,
    /// An argument is longer than its declared length.
    #[error("expected CRLF after an argument")]
    Terminator,
}
