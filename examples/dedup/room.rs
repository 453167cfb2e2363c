//! How many lines the filter has room for.

use crate::{
    args::Args,
    failure::Failure,
    input::{self, Input},
    seen::Seen,
};
use guira::{Builder, CuckooFilter};

/// The distinct lines of a stream for which the filter has room before it grows.
const STREAM: usize = 1 << 25;

/// The most doublings: after them there is room for two billion lines of a stream.
const DOUBLINGS: u32 = 6;

pub(crate) fn filter(args: &Args, inputs: &[Input]) -> Result<Seen, Failure> {
    let Some(window) = args.window else {
        return Ok(Seen::Ever(Box::new(forever(args, inputs)?)));
    };
    let capacity = match args.capacity {
        Some(capacity) => capacity,
        None => {
            let lines = input::count_lines(inputs)?;
            let more = if lines.and_more { STREAM } else { 0 };
            at_least_one(lines.counted.saturating_add(more))
        }
    };
    Seen::lately(window, capacity, args.false_positive_rate)
}

fn forever(args: &Args, inputs: &[Input]) -> Result<CuckooFilter, Failure> {
    let builder = CuckooFilter::builder().false_positive_rate(args.false_positive_rate);
    if let Some(capacity) = args.capacity {
        return Ok(builder.capacity(capacity).build()?);
    }
    let lines = input::count_lines(inputs)?;
    if lines.and_more {
        growing(builder, lines.counted.saturating_add(STREAM))
    } else {
        Ok(builder.capacity(at_least_one(lines.counted)).build()?)
    }
}

/// The capacity for this number of lines. No filter has the capacity 0, not even for empty files.
fn at_least_one(lines: usize) -> usize {
    lines.max(1)
}

/// A filter that grows as far as its false-positive rate allows: a low one allows few
/// doublings, or none.
fn growing(builder: Builder, capacity: usize) -> Result<CuckooFilter, Failure> {
    let builder = builder.capacity(capacity);
    let grown = (1..=DOUBLINGS).rev().find_map(|doublings| {
        let max_capacity = capacity.checked_mul(1 << doublings)?;
        builder.clone().max_capacity(max_capacity).build().ok()
    });
    match grown {
        Some(filter) => Ok(filter),
        None => Ok(builder.build()?),
    }
}
