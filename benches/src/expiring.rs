//! Filters that forget by time: against a plain filter, and against what else remembers a window.

mod advance;
mod contestants;
mod plain;
mod stream;
mod window;

use crate::{effort::Effort, ops::Table};
use advance::Advance;
pub use contestants::{Contestant, contestants};
pub use window::Window;

/// Threads of the stream.
pub const THREADS: [usize; 5] = [1, 2, 4, 8, 16];

/// All of it.
#[derive(Clone, Debug)]
pub struct Expiring {
    /// An expiring filter's share of the speed of a plain one with slots of the same size.
    pub plain: Table,
    /// Lookups of a full window, by one thread.
    pub lookups: Table,
    /// Calls of a stream of events, by threads.
    pub stream: Table,
    /// Memory, lifetimes and wrong answers.
    pub facts: Vec<Facts>,
    /// A step of a large table.
    pub advance: Advance,
}

/// What one contestant is like.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Which one.
    pub name: &'static str,
    /// Bits for each item of a TTL.
    pub bits: f64,
    /// How long items were found, in TTLs: the earliest to go, the median, the latest.
    pub lifetimes: [f64; 3],
    /// The share of absent keys that were found.
    pub rate: f64,
    /// Keys that came again within the TTL, and were taken to be new.
    pub forgotten: u64,
    /// Keys that two threads asked for at once, and that both got as first.
    pub twice: u64,
    /// Keys that were refused, or put another one out.
    pub refused: u64,
    /// Keys of the runs that found these.
    pub asked: u64,
}

/// Measures all of it; tells `say` what comes next.
#[must_use]
pub fn measure(effort: Effort, say: impl Fn(&str)) -> Expiring {
    say("expiring filters against plain ones");
    let plain = plain::measure(effort);
    say("lookups of a window");
    let lookups = stream::lookups(effort);
    say("streams of events");
    let (stream, facts) = stream::measure(effort);
    say("steps of a large table");
    let advance = advance::measure(effort);
    Expiring {
        plain,
        lookups,
        stream,
        facts,
        advance,
    }
}
