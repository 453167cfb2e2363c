//! If its writer fails or panics, a snapshot ends. Its frontier no longer blocks relocations.

use super::common::layouts::{LAYOUTS, fill, filter};
use guira::CuckooFilter;
use std::{
    io::{self, Write},
    panic::{self, AssertUnwindSafe},
};

/// More than the places of the frontier.
const NESTED: usize = 9;

/// How a writer ends a snapshot early.
#[derive(Clone, Copy, Debug)]
enum Failure {
    Error,
    Panic,
}

/// Accepts a number of pieces, including the final flush. Then it takes `depth` nested snapshots,
/// and the innermost one fails.
struct Failing<'a> {
    filter: &'a CuckooFilter,
    failure: Failure,
    pieces: usize,
    left: usize,
    depth: usize,
}

impl Failing<'_> {
    fn take(&mut self) -> io::Result<()> {
        if self.left > 0 {
            self.left -= 1;
            return Ok(());
        }
        if self.depth > 1 {
            return self.filter.write_to(Failing {
                left: self.pieces,
                depth: self.depth - 1,
                ..*self
            });
        }
        match self.failure {
            Failure::Error => Err(io::Error::other("the disk is gone")),
            // This panic prints no message.
            Failure::Panic => panic::resume_unwind(Box::new("the disk is gone")),
        }
    }
}

impl Write for Failing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.take().map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.take()
    }
}

/// Begins `depth` snapshots that end after `pieces`. False if there are no more pieces.
fn fail(filter: &CuckooFilter, failure: Failure, pieces: usize, depth: usize) -> bool {
    let writer = Failing {
        filter,
        failure,
        pieces,
        left: pieces,
        depth,
    };
    let result = panic::catch_unwind(AssertUnwindSafe(|| filter.write_to(writer)));
    match (failure, result) {
        (_, Ok(Ok(()))) => false,
        (Failure::Error, Ok(Err(error))) => {
            assert_eq!(error.to_string(), "the disk is gone");
            true
        }
        (Failure::Panic, Err(payload)) => {
            assert_eq!(payload.downcast_ref(), Some(&"the disk is gone"));
            true
        }
        (failure, result) => panic!("{failure:?}: {result:?}"),
    }
}

/// Calls `fail_all`, which returns the number of failed snapshots, for a filter of each layout.
/// Afterwards the filter holds the items that it should.
fn all_fit_after(fail_all: impl Fn(&CuckooFilter, Failure) -> usize) {
    for bits in LAYOUTS {
        for failure in [Failure::Error, Failure::Panic] {
            let filter = filter(bits, 5_000);
            let capacity = filter.max_capacity();
            fill(&filter, 0..capacity / 2);
            let failed = fail_all(&filter, failure);
            assert!(failed > 0, "{bits} bits: no snapshot fails");
            fill(&filter, capacity / 2..capacity);
            let restored = CuckooFilter::from_bytes(&filter.to_bytes()).expect("a snapshot");
            assert_eq!(restored.len(), capacity, "{bits} bits, {failure:?}");
        }
    }
}

#[test]
fn after_each_piece() {
    all_fit_after(|filter, failure| {
        let fails = |&pieces: &usize| fail(filter, failure, pieces, 1);
        (0..).take_while(fails).count()
    });
}

/// Each snapshot has scanned a chunk.
#[test]
fn more_snapshots_at_once_than_there_are_places() {
    all_fit_after(|filter, failure| usize::from(fail(filter, failure, 2, NESTED)));
}
