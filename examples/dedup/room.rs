//! Decides for how many lines the filter has room.

use crate::{
    args::Args,
    failure::Failure,
    input::{self, Input},
    seen::Seen,
};
use guira::{BuildError, CuckooFilter, ExpiringFilter};
use std::time::Duration;

/// The number of distinct lines of a stream for which the filter has room before it grows.
const STREAM: usize = 1 << 18;

/// The number of distinct lines for which a filter that grows has room in the end, if its
/// false-positive rate allows that.
const GROWN: usize = 2_000_000_000;

/// The number of distinct lines of a stream for which a filter has room that cannot grow.
const FIXED: usize = 1 << 25;

pub(crate) fn filter(args: &Args, inputs: &[Input]) -> Result<Seen, Failure> {
    let rate = args.false_positive_rate;
    let Some(window) = args.window else {
        let builder = CuckooFilter::builder().false_positive_rate(rate);
        let build = |capacity, grown: Option<usize>| {
            let builder = builder.clone().capacity(capacity);
            match grown {
                Some(grown) => builder.max_capacity(grown).build(),
                None => builder.build(),
            }
        };
        return Ok(Seen::Ever(Box::new(with_room(args, inputs, build)?)));
    };
    let builder = ExpiringFilter::builder(Duration::from_secs(window)).false_positive_rate(rate);
    let build = |capacity, grown: Option<usize>| {
        let builder = builder.clone().capacity(capacity);
        match grown {
            Some(grown) => builder.max_capacity(grown).build(),
            None => builder.build(),
        }
    };
    Ok(Seen::Lately(Box::new(with_room(args, inputs, build)?)))
}

/// The filter that `build` makes for a capacity and, if it grows, a maximal capacity.
fn with_room<F>(
    args: &Args,
    inputs: &[Input],
    build: impl Fn(usize, Option<usize>) -> Result<F, BuildError>,
) -> Result<F, Failure> {
    if let Some(capacity) = args.capacity {
        return Ok(build(capacity, None)?);
    }
    let lines = input::count_lines(inputs)?;
    if !lines.and_more {
        // Empty files have no lines.
        return Ok(build(lines.counted.max(1), None)?);
    }
    let capacity = lines.counted.saturating_add(STREAM);
    let fixed = lines.counted.saturating_add(FIXED);
    let rooms = (0..usize::BITS).map(|halvings| GROWN >> halvings);
    let mut rooms = rooms.take_while(|&grown| grown > fixed);
    match rooms.find_map(|grown| build(capacity, Some(grown)).ok()) {
        Some(filter) => Ok(filter),
        None => Ok(build(fixed, None)?),
    }
}
