//! The items of a snapshot.

/// The input so far.
#[derive(Clone, Copy)]
pub(crate) struct Came<'a> {
    /// The words of the last chunk.
    pub(crate) words: &'a [u64],
    /// The number of bytes that the caller has passed beyond the current item.
    pub(crate) at_hand: usize,
}

/// The item that follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Next {
    Header,
    Number,
    /// A chunk of this number of words, at least 1.
    Chunk(usize),
    Sum,
    Nothing,
    /// There was an error.
    Broken,
}
