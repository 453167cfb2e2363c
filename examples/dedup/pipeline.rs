//! One thread reads blocks of lines, the others pass on what the filter has
//! not seen.

use crate::{failure::Failure, input::Input, seen::Seen};
use crossbeam_channel::{Receiver, bounded};
use indicatif::ProgressBar;
use std::{
    io::{self, Write},
    ops::{AddAssign, ControlFlow},
    sync::OnceLock,
    thread,
};

/// Lines that are looked up together.
const GROUP: usize = 32;

#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
    pub(crate) distinct: u64,
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.distinct += other.distinct;
    }
}

pub(crate) fn run(
    inputs: &[Input],
    filter: &Seen,
    threads: usize,
    progress: &ProgressBar,
) -> Result<Totals, Failure> {
    // The first failure. Everybody looks at it before the next block.
    let failure = OnceLock::new();
    // Bounded, so that memory does not grow when the reader is the fastest.
    let (sender, receiver) = bounded::<Vec<u8>>(2 * threads);
    let mut totals = Totals::default();
    let (over, is_over) = bounded::<()>(0);
    thread::scope(|scope| {
        scope.spawn(move || filter.tick_until(&is_over));
        let spawn = |_| {
            let (receiver, failure) = (receiver.clone(), &failure);
            scope.spawn(move || work(&receiver, filter, failure))
        };
        let workers: Vec<_> = (0..threads).map(spawn).collect();
        // With the workers' own receivers gone, sending fails instead of waiting.
        drop(receiver);

        for input in inputs {
            let flow = input.read_blocks(|block| {
                let bytes = block.len() as u64;
                if failure.get().is_some() || sender.send(block).is_err() {
                    return ControlFlow::Break(());
                }
                progress.inc(bytes);
                ControlFlow::Continue(())
            });
            match flow {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => break,
                Err(error) => {
                    let _ = failure.set(error);
                    break;
                }
            }
        }
        drop(sender);
        for worker in workers {
            totals += worker.join().expect("a worker does not panic");
        }
        drop(over);
    });
    failure.into_inner().map_or(Ok(totals), Err)
}

/// Processes blocks until there are no more, or a thread has failed.
fn work(blocks: &Receiver<Vec<u8>>, filter: &Seen, failure: &OnceLock<Failure>) -> Totals {
    let mut totals = Totals::default();
    let mut kept = Vec::new();
    for block in blocks {
        if failure.get().is_some() {
            break;
        }
        kept.clear();
        let sifted = sift(&block, filter, &mut kept, &mut totals);
        // Also if the filter is full: the lines kept so far count as passed on.
        let written = io::stdout().lock().write_all(&kept).map_err(Failure::Write);
        if let Err(error) = sifted.and(written) {
            // Only the first failure is reported.
            let _ = failure.set(error);
            break;
        }
    }
    totals
}

/// Appends the lines of `block` that the filter has not seen to `kept`, each
/// with a line feed at its end.
fn sift(
    block: &[u8],
    filter: &Seen,
    kept: &mut Vec<u8>,
    totals: &mut Totals,
) -> Result<(), Failure> {
    totals.bytes += block.len() as u64;
    let mut rest = block
        .split_inclusive(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\n").unwrap_or(line));
    let mut group = Vec::with_capacity(GROUP);
    let mut seen = [false; GROUP];
    loop {
        group.clear();
        group.extend(rest.by_ref().take(GROUP));
        if group.is_empty() {
            return Ok(());
        }
        totals.lines += group.len() as u64;
        // Drops most repeated lines, and brings the buckets of the others into
        // the cache, all at once instead of one after the other.
        filter.contains_batch(&group, &mut seen[..group.len()]);
        for (&line, _) in group.iter().zip(seen).filter(|(_, seen)| !seen) {
            // This decides: of the threads that meet a new line at the same time, exactly one finds
            // it absent.
            if filter.insert_unique(line)? {
                totals.distinct += 1;
                kept.extend_from_slice(line);
                kept.push(b'\n');
            }
        }
    }
}
