//! The command line.

use clap::{Parser, value_parser};
use std::{num::NonZero, path::PathBuf, thread};

/// Passes each distinct line of its input on once, or once in a time window.
///
/// The order of lines is unspecified: threads work on blocks of some 256 KiB, and write them as
/// they finish. Within a block the order is kept. A line is the bytes up to a line feed, which need
/// not be UTF-8. A carriage return before the line feed is part of the line.
///
/// The filter never passes a line on twice, or with --window, not twice within it. With the
/// probability given by --false-positive-rate, it mistakes a new line for an earlier one and drops
/// it.
///
/// The exit status is 0 on success, also if the reader of the output has closed it. It is 1 if an
/// input cannot be read or the output cannot be written. It is 2 if there are more distinct lines
/// than the filter has room for, or if the command line is wrong.
#[derive(Debug, Parser)]
#[command(name = "dedup")]
pub(crate) struct Args {
    /// Number of distinct lines for which the filter has room
    ///
    /// By default, this is the number of lines in the files, which are read twice. If an input is
    /// not a regular file, the filter starts with room for another 262,144 lines, and grows. At the
    /// default false-positive rate it grows from 5 MB to 10 GB, where two billion lines fit. At a
    /// rate below 1.5e-8 it cannot grow, and has room for another 33 million lines. If it is full and
    /// cannot grow, the program ends with exit status 2.
    #[arg(long, value_name = "LINES")]
    pub(crate) capacity: Option<usize>,

    /// Maximum share of new lines that may be dropped by mistake
    #[arg(long, value_name = "RATE", default_value_t = 1e-6)]
    pub(crate) false_positive_rate: f64,

    /// Pass a line on again after SECONDS, or up to 1/12 later
    ///
    /// The time counts from when the line was last passed on. --capacity is then the number of
    /// distinct lines within SECONDS. By default, it is the number of lines in the files. If an input
    /// is not a regular file, the filter starts with room for another 262,144 lines, and grows until
    /// two billion lines fit. At a false-positive rate below 2.5e-7 it cannot grow.
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(1..=u64::MAX / 1_000))]
    pub(crate) window: Option<u64>,

    /// Number of worker threads, from 1 to 512 [default: the number of processors]
    #[arg(long, value_parser = value_parser!(u16).range(1..=512))]
    threads: Option<u16>,

    /// Print no progress bar and no closing line
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Files to read. `-`, or no file at all, is standard input
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

impl Args {
    pub(crate) fn threads(&self) -> usize {
        match self.threads {
            Some(threads) => threads.into(),
            // At most 512 calls of `insert_unique` can be in flight.
            None => thread::available_parallelism()
                .map_or(1, NonZero::get)
                .min(512),
        }
    }
}
