//! A scan of all chunks, by its own thread and by any mover that it holds up.

#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
mod wrong;

use super::{
    Registered,
    memory::{NoSeat, ScanError, checked},
    pass::{Image, Pass},
};
use crate::{
    fault::faulty,
    raw::RawFilter,
    sync::once::NoMemory,
    table::{
        layout::Layout,
        time::{Moment, Time},
    },
};
use std::ops::Range;

/// How the words of a chunk were read.
enum Read {
    Whole,
    /// There are words of a level beyond the planes of the pass.
    Beyond,
    NoMemory,
}

/// A scan, in the hands of the thread that began it.
pub(crate) struct Scan<'a, L: Layout> {
    raw: &'a RawFilter<L>,
    registered: Registered<'a>,
    /// Passes that are void.
    void: usize,
    /// The next chunk of the pass.
    chunk: usize,
    /// The last chunk that this thread has read.
    own: Image,
}

/// A chunk with its image.
pub(crate) struct Chunk<'a> {
    /// True of the first one of a pass: the chunks before it are void.
    pub(crate) begins: bool,
    pub(crate) buckets: Range<usize>,
    pub(crate) image: &'a Image,
}

impl<L: Layout> RawFilter<L> {
    /// A scan of all words. With a `level` all chunks have the planes of one level, and the scan
    /// starts again where these do not suffice.
    pub(crate) fn begin_scan<E: ScanError>(&self, level: Option<u32>) -> Result<Scan<'_, L>, E> {
        let buckets = self.table.buckets();
        let place = self.place().map_err(|NoSeat| E::without_seat(buckets))?;
        let registered = checked(self.frontiers.register(buckets, level, place), buckets)?;
        Ok(self.scan_of(registered))
    }

    /// The scan whose thread has stopped before its first chunk.
    #[cfg(any(guira_loom, guira_faults, guira_shuttle))]
    pub(crate) fn resume_scan(&self) -> Scan<'_, L> {
        self.scan_of(self.frontiers.stopped())
    }

    fn scan_of<'a>(&'a self, registered: Registered<'a>) -> Scan<'a, L> {
        Scan {
            raw: self,
            registered,
            void: 0,
            chunk: 0,
            own: Image::default(),
        }
    }

    /// Enters a chunk and loads its words.
    fn read_chunk_of(&self, pass: &Pass, chunk: usize, image: &mut Image) -> Read {
        pass.enter(chunk);
        self.load_chunk_of(pass, chunk, image)
    }

    /// Loads the words of a chunk.
    fn load_chunk_of(&self, pass: &Pass, chunk: usize, image: &mut Image) -> Read {
        let buckets = pass.buckets(chunk);
        loop {
            // Higher each time, so it ends: what `read_chunk` found is published.
            let level = pass.level.unwrap_or_else(|| self.table.scan_level());
            let words = buckets.len() * self.table.planes_at(level);
            let more = words.saturating_sub(image.words.len());
            if image.words.try_reserve(more).is_err() {
                return Read::NoMemory;
            }
            image.words.resize(words, 0);
            // A thread that is stopped in a chunk cannot tell of tags that it has read from which
            // turn they are.
            let now = self.time.now();
            if !self
                .table
                .read_chunk(buckets.clone(), level, &mut image.words)
            {
                if pass.level.is_some() {
                    return Read::Beyond;
                }
                continue;
            }
            let in_time = self.time.is_still(now);
            if faulty!(in_time, ScanNoSecondNow => true) {
                (image.level, image.epoch) = (level, now.number());
                return Read::Whole;
            }
        }
    }

    /// The pass is void: another one begins.
    fn restart(&self, pass: &Pass) -> Result<(), NoMemory> {
        pass.restart(self.table.scan_level())
    }

    /// Scans up to `chunks` chunks for each scan that runs, so that its frontier moves on: for a
    /// mover that would have to cross it. False if there was nothing to scan, or no memory.
    #[cold]
    pub(crate) fn help_scans(&self, chunks: usize) -> bool {
        let found = self.frontiers.look(None);
        let mut helped = false;
        for pass in found.passes() {
            helped |= self.help(pass, chunks);
        }
        helped
    }

    fn help(&self, first: &Pass, chunks: usize) -> bool {
        for helped in 0..chunks {
            let pass = first.last();
            let chunk = pass.next();
            // The scans may have ended.
            if chunk == pass.chunks() || self.frontiers.are_idle(None) {
                return helped > 0;
            }
            let mut image = Image::default();
            let read = faulty!(self.read_chunk_of(pass, chunk, &mut image), in Help => wrong::read(self, pass, chunk, &mut image));
            let has_memory = match read {
                Read::Whole => pass.publish(chunk, image).is_ok(),
                Read::Beyond => self.restart(pass).is_ok(),
                Read::NoMemory => false,
            };
            if !has_memory {
                return helped > 0;
            }
        }
        true
    }
}

impl<L: Layout> Scan<'_, L> {
    /// The next chunk; `None` after the last one of the last pass.
    pub(crate) fn next<E: ScanError>(&mut self) -> Result<Option<Chunk<'_>>, E> {
        let size = self.raw.table.buckets();
        let mut pass = &*self.registered.first;
        for _ in 0..self.void {
            let Some(next) = pass.successor() else {
                return Ok(None);
            };
            pass = next;
        }
        loop {
            // Also after the last chunk: a mover that has seen the next pass heeds only that one.
            if let Some(next) = pass.successor() {
                (pass, self.void, self.chunk) = (next, self.void + 1, 0);
                continue;
            }
            let chunk = self.chunk;
            if chunk == pass.chunks() {
                return Ok(None);
            }
            let mut is_own = false;
            if pass.image(chunk).is_none() {
                match self.raw.read_chunk_of(pass, chunk, &mut self.own) {
                    Read::Whole => {}
                    Read::Beyond => {
                        checked(self.raw.restart(pass), size)?;
                        continue;
                    }
                    Read::NoMemory => return Err(E::without_memory(size)),
                }
                is_own = checked(pass.publish(chunk, Image::default()), size)?;
                is_own = faulty!(is_own, HelpOverwritten => true);
            }
            self.chunk += 1;
            let image = if is_own { None } else { pass.image(chunk) };
            return Ok(Some(Chunk {
                begins: chunk == 0,
                buckets: pass.buckets(chunk),
                image: image.unwrap_or(&self.own),
            }));
        }
    }
}
