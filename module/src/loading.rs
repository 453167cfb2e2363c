//! A filter of which `CF.LOADCHUNK` has brought some pieces.
//!
//! It is a value as a filter is: saved, replicated, moved and expired by the engine. A replica that
//! comes in the midst of a load has what is there already, and gets the other pieces.
//!
//! Its pieces are kept beside the filter that is built of them, since that one cannot be taken
//! apart again: what is being loaded takes its memory twice, and the last piece takes no longer
//! than the others.

use guira_commands::{
    Clock, Filter,
    dump::{Load, LoadError, Memory, position_of},
};
use std::{fmt, sync::Arc};

/// Nothing is refused for its size.
pub(crate) const ANY_SIZE: Memory = Memory {
    free: usize::MAX,
    limit: usize::MAX,
};

pub(crate) struct Loading {
    header: Box<[u8]>,
    /// All that has come, in pieces.
    pieces: Vec<Box<[u8]>>,
    come: u64,
    load: Load,
    clock: Clock,
}

/// Where a load is after a piece.
#[derive(Debug)]
pub(crate) enum Progress {
    /// There are pieces to come.
    GoesOn,
    /// That was the last one.
    Done(Arc<Filter>),
}

impl Loading {
    /// Of a filter that goes by `clock` if it has a window.
    pub(crate) fn begin(header: &[u8], memory: Memory, clock: Clock) -> Result<Self, LoadError> {
        Ok(Self {
            load: Load::begin(header, memory, clock.clone())?,
            clock,
            header: header.into(),
            pieces: Vec::new(),
            come: 0,
        })
    }

    /// Takes the next piece. After an error other than [`LoadError::Position`] it is good for nothing.
    pub(crate) fn take(&mut self, position: u64, piece: &[u8]) -> Result<Progress, LoadError> {
        if self.load.take(position, piece)? {
            let unused = Load::begin(&self.header, ANY_SIZE, self.clock.clone())?;
            let load = std::mem::replace(&mut self.load, unused);
            return load.finish().map(|filter| Progress::Done(Arc::new(filter)));
        }
        self.pieces.push(piece.into());
        self.come += piece.len() as u64;
        Ok(Progress::GoesOn)
    }

    /// What [`header`](Self::header) and [`pieces`](Self::pieces) had.
    pub(crate) fn restore<P: AsRef<[u8]>>(
        header: &[u8],
        pieces: impl IntoIterator<Item = P>,
        clock: Clock,
    ) -> Result<Self, LoadError> {
        let mut loading = Self::begin(header, ANY_SIZE, clock)?;
        for piece in pieces {
            let piece = piece.as_ref();
            let end = position_of(0, loading.come + piece.len() as u64);
            match loading.take(end, piece)? {
                Progress::GoesOn => {}
                // A load that has ended is a filter.
                Progress::Done(_) => return Err(LoadError::Surplus),
            }
        }
        Ok(loading)
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock.clone()
    }

    pub(crate) fn header(&self) -> &[u8] {
        &self.header
    }

    pub(crate) fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces.iter().map(|piece| &**piece)
    }

    pub(crate) fn memory_usage(&self) -> usize {
        let pieces: usize = self.pieces.iter().map(|piece| piece.len()).sum();
        let list = self.pieces.capacity() * size_of::<Box<[u8]>>();
        self.header.len() + pieces + list + self.load.memory_usage()
    }
}

impl fmt::Debug for Loading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loading")
            .field("come", &self.come)
            .finish_non_exhaustive()
    }
}
