//! A request as it arrived.

use super::error::ProtocolError;
use bytes::Bytes;
use smallvec::{CollectionAllocErr, SmallVec};

/// The name of a command and its arguments.
#[derive(Debug, PartialEq)]
pub struct Request {
    bytes: Bytes,
    words: Words,
}

/// The positions of the words of a request in its bytes.
pub(super) type Words = SmallVec<[Word; 4]>;

/// The position of a word. It takes 8 bytes, so that an empty argument, which takes 6 bytes to
/// send, costs little more memory. [`Limits::request_bytes`](super::Limits::request_bytes) is below
/// 4 GiB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Word {
    start: u32,
    end: u32,
}

impl Word {
    /// The word at these bytes of a request, or `None` if a request cannot be that long.
    pub(super) fn new(start: usize, end: usize) -> Option<Self> {
        Some(Self {
            start: u32::try_from(start).ok()?,
            end: u32::try_from(end).ok()?,
        })
    }

    pub(super) fn len(self) -> usize {
        (self.end - self.start) as usize
    }
}

impl Request {
    pub(super) fn new(bytes: Bytes, words: Words) -> Self {
        Self { bytes, words }
    }

    /// The name, followed by the arguments.
    #[inline]
    pub fn words(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let word = |word: &Word| &self.bytes[word.start as usize..word.end as usize];
        self.words.iter().map(word)
    }

    /// The name and the arguments, as commands expect them.
    ///
    /// # Errors
    ///
    /// There is no memory for the list of them.
    #[inline]
    pub fn args(&self) -> Result<SmallVec<[&[u8]; 8]>, CollectionAllocErr> {
        let mut args = SmallVec::new();
        args.try_reserve_exact(self.words.len())?;
        args.extend(self.words());
        Ok(args)
    }

    /// The memory of the request, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.bytes.len() + spilled(&self.words)
    }
}

/// Adds `word` to `words`.
#[inline]
pub(super) fn push(words: &mut Words, word: Word) -> Result<(), ProtocolError> {
    words.try_reserve(1).map_err(|_| ProtocolError::Memory)?;
    words.push(word);
    Ok(())
}

/// The bytes that `words` take on the heap.
pub(super) fn spilled(words: &Words) -> usize {
    match words.spilled() {
        true => words.capacity() * size_of::<Word>(),
        false => 0,
    }
}
