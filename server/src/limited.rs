//! Log messages that clients can cause at will: a limited number per interval. The rest is counted.

use crate::lock::lock;
use std::{
    sync::Mutex,
    time::{Duration, Instant},
};
use tracing::warn;

/// The number of messages of a kind per [`WINDOW`].
const LINES: u32 = 10;

const WINDOW: Duration = Duration::from_secs(10);

/// The messages of one kind.
#[derive(Debug)]
pub(crate) struct Limited(Mutex<State>);

#[derive(Debug)]
struct State {
    /// The start of the current window, if there is one.
    begun: Option<Instant>,
    written: u32,
    left_out: u64,
}

impl Limited {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(State {
            begun: None,
            written: 0,
            left_out: 0,
        }))
    }

    /// Calls `line` unless there were too many. Logs the number of omitted messages before it.
    pub(crate) fn write(&self, line: impl FnOnce()) {
        let Some(left_out) = self.admit(Instant::now()) else {
            return;
        };
        if left_out > 0 {
            warn!(left_out, "similar log lines were suppressed");
        }
        line();
    }

    /// The number of messages omitted before this one; `None` if this one is omitted as well.
    fn admit(&self, now: Instant) -> Option<u64> {
        let mut state = lock(&self.0);
        if state
            .begun
            .is_none_or(|begun| now.duration_since(begun) >= WINDOW)
        {
            state.begun = Some(now);
            state.written = 0;
        }
        if state.written == LINES {
            state.left_out += 1;
            return None;
        }
        state.written += 1;
        Some(std::mem::take(&mut state.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_lines_are_written_and_the_others_counted() {
        let limited = Limited::new();
        let begin = Instant::now();
        for _ in 0..LINES {
            assert_eq!(limited.admit(begin), Some(0));
        }
        for _ in 0..5 {
            assert_eq!(limited.admit(begin + WINDOW / 2), None);
        }
        assert_eq!(limited.admit(begin + WINDOW), Some(5));
        assert_eq!(limited.admit(begin + WINDOW), Some(0));
    }
}
