//! When the epochs of filters with windows begin.
//!
//! All filters of a node share one clock, which only the module moves. The primary moves it when an
//! epoch of a filter is due, and replicates the elapsed time as `CF.CLOCK`. Replicas and the AOF do
//! not read a clock. Hence the epochs of a filter begin between the same commands everywhere, and an
//! item that is present on the primary is present on its replicas.
//!
//! An epoch begins at once: items that expire with it are no longer counted. Threads of the module
//! then empty their slots, which takes longer. They empty only slots of expired items, so their timing
//! matters to replicas in one case only: docs/MODULE.md, "Keys with a window".
//!
//! The window of a new filter begins with the next move of the clock, at most a tenth of a second
//! later.

mod node;

pub(crate) use node::{Pass, Saved, Windows};

use crate::engine::standing;
use std::{
    sync::LazyLock,
    time::{Instant, SystemTime},
};

/// The windows of this engine's filters.
pub(crate) fn of_engine() -> &'static Windows {
    static WINDOWS: LazyLock<Windows> = LazyLock::new(|| Windows::new(wall()));
    &WINDOWS
}

/// The wall-clock time, in milliseconds since 1970.
pub(crate) fn wall() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

/// Records the wall-clock time up to which a file has counted the time of its filters.
pub(crate) fn is_from_file(windows: &Windows, wall: i64) {
    let standing = standing();
    match (standing.is_loading, standing.is_primary) {
        (true, true) => windows.is_from_file(wall),
        (true, false) => windows.is_from_primary(Instant::now(), self::wall()),
        // This is the payload of a single key.
        (false, _) => {}
    }
}
