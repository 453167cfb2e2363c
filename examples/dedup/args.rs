//! The command line.

use clap::{Parser, value_parser};
use std::{num::NonZero, path::PathBuf, thread};

/// Passes each distinct line of its input on once, or once in a window of time.
///
/// The lines come out in no particular order: threads work on blocks of some
/// 256 KiB, and whichever is done first writes first. Within a block the order
/// is kept. A line is the bytes up to a line feed, which need not be UTF-8; a
/// carriage return before the line feed is part of the line.
///
/// The filter never passes a line on twice, or with --window not within it. With the probability given by
/// --false-positive-rate it takes a new line for one that it has seen, and
/// drops it.
///
/// Exit status: 0, also if the reader of the output has closed it; 1 if an input cannot be read or
/// the output cannot be written; 2 if there are more distinct lines than the filter has room for,
/// and for a wrong command line.
#[derive(Debug, Parser)]
#[command(name = "dedup")]
pub(crate) struct Args {
    /// Distinct lines that the filter has room for
    ///
    /// Without this option: as many as the files have lines, for which they are
    /// read an extra time. If an input is not a regular file, the filter starts
    /// with room for 33 million lines more, and grows: at the default false-positive
    /// rate from 160 MB to 10 GB, where two billion lines fit. A lower rate lets it
    /// grow less: at 1e-8 hardly at all. When it can grow no more and is full, the
    /// program ends with exit status 2.
    #[arg(long, value_name = "LINES")]
    pub(crate) capacity: Option<usize>,

    /// Highest share of new lines that may be dropped by mistake
    #[arg(long, value_name = "RATE", default_value_t = 1e-6)]
    pub(crate) false_positive_rate: f64,

    /// Pass a line on again if it comes SECONDS after it was last passed on, or up to a twelfth
    /// of that later; --capacity is then of the lines within SECONDS
    ///
    /// Without --capacity: as many as the files have lines, and 33 million for an input that is not
    /// a regular file.
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(1..=u64::MAX / 1_000))]
    pub(crate) window: Option<u64>,

    /// Worker threads, from 1 to 512 [default: one for each processor]
    #[arg(long, value_parser = value_parser!(u16).range(1..=512))]
    threads: Option<u16>,

    /// No progress bar and no closing line
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Files to read; `-`, or none at all, is standard input
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

impl Args {
    pub(crate) fn threads(&self) -> usize {
        match self.threads {
            Some(threads) => threads.into(),
            // More than 512 calls of `insert_unique` cannot be in flight.
            None => thread::available_parallelism()
                .map_or(1, NonZero::get)
                .min(512),
        }
    }
}
