//! One thread reads blocks of lines. The others pass on the lines that are not in the filter.

use crate::{failure::Failure, input::Input, seen::Seen};
use crossbeam_channel::{Receiver, bounded};
use indicatif::ProgressBar;
use std::{
    io::{self, Write},
    ops::{AddAssign, ControlFlow},
    sync::OnceLock,
    thread,
};

/// The number of lines that are looked up together.
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
    // The first failure. All threads check it before each block.
    let failure = OnceLock::new();
    // The channel is bounded, so that memory does not grow if the reader is the fastest.
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
        // After the workers have dropped their receivers, sending fails instead of blocking.
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

/// Processes blocks until there are no more, or until a thread has failed.
fn work(blocks: &Receiver<Vec<u8>>, filter: &Seen, failure: &OnceLock<Failure>) -> Totals {
    let mut totals = Totals::default();
    let mut kept = Vec::new();
    for block in blocks {
        if failure.get().is_some() {
            break;
        }
        kept.clear();
        let sifted = sift(&block, filter, &mut kept, &mut totals);
        // The lines are written even if the filter is full, because they count as passed on.
        let written = io::stdout().lock().write_all(&kept).map_err(Failure::Write);
        if let Err(error) = sifted.and(written) {
            // Only the first failure is reported.
            let _ = failure.set(error);
            break;
        }
    }
    totals
}

/// Appends the new lines of `block` to `kept`, each with a line feed at its end.
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
        // This drops most repeated lines, and loads the buckets of the others into the cache
        // concurrently instead of one by one.
        filter.contains_batch(&group, &mut seen[..group.len()]);
        for (&line, _) in group.iter().zip(seen).filter(|(_, seen)| !seen) {
            // This call decides: when threads race with the same new line, exactly one finds it
            // absent.
            if filter.insert_unique(line)? {
                totals.distinct += 1;
                kept.extend_from_slice(line);
                kept.push(b'\n');
            }
        }
    }
}
