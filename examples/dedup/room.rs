//! Decides for how many lines the filter has room.

use crate::{
    args::Args,
    failure::Failure,
    input::{self, Input},
    seen::Seen,
};
use guira::{Builder, CuckooFilter, ExpiringBuilder, ExpiringFilter};
use std::time::Duration;

/// The number of distinct lines of a stream for which the filter has room before it grows.
const STREAM: usize = 1 << 25;

/// The same for the lines within a time window.
const STREAM_IN_WINDOW: usize = 1 << 23;

/// The maximum number of doublings, after which two billion lines of a stream fit.
const DOUBLINGS: u32 = 6;

/// With a time window, a filter that grows takes at most this number of times the memory of a fixed
/// one at the start. At a low rate, room for another doubling would cost as much as that doubling.
const START_FACTOR: usize = 3;

pub(crate) fn filter(args: &Args, inputs: &[Input]) -> Result<Seen, Failure> {
    let Some(window) = args.window else {
        return Ok(Seen::Ever(Box::new(forever(args, inputs)?)));
    };
    let builder = ExpiringFilter::builder(Duration::from_secs(window))
        .false_positive_rate(args.false_positive_rate);
    Ok(Seen::Lately(Box::new(lately(args, builder, inputs)?)))
}

fn lately(
    args: &Args,
    builder: ExpiringBuilder,
    inputs: &[Input],
) -> Result<ExpiringFilter, Failure> {
    if let Some(capacity) = args.capacity {
        return Ok(builder.capacity(capacity).build()?);
    }
    let lines = input::count_lines(inputs)?;
    if lines.and_more {
        growing_in_window(builder, lines.counted)
    } else {
        Ok(builder.capacity(at_least_one(lines.counted)).build()?)
    }
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

/// The capacity for this number of lines. It is not 0, even for empty files.
fn at_least_one(lines: usize) -> usize {
    lines.max(1)
}

/// A filter that grows as far as its false-positive rate allows. A low rate allows few doublings,
/// or none.
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

/// A filter with room for these lines and some of a stream, which grows as far as its false-positive
/// rate allows. If it cannot grow, it has room for more lines at once.
fn growing_in_window(builder: ExpiringBuilder, counted: usize) -> Result<ExpiringFilter, Failure> {
    let capacity = counted.saturating_add(STREAM_IN_WINDOW);
    let small = builder.clone().capacity(capacity);
    let most_bytes = small.clone().build()?.memory_usage() * START_FACTOR;
    let grown = (2..=DOUBLINGS).rev().find_map(|doublings| {
        let max_capacity = capacity.checked_mul(1 << doublings)?;
        let filter = small.clone().max_capacity(max_capacity).build().ok()?;
        (filter.memory_usage() <= most_bytes).then_some(filter)
    });
    match grown {
        Some(filter) => Ok(filter),
        None => Ok(builder.capacity(counted.saturating_add(STREAM)).build()?),
    }
}
