//! When the windows of filters move on.
//!
//! All filters of a node use one clock, which only the module moves. The primary moves it when the
//! epoch of a filter is due, and replicates by how much: `CF.CLOCK`. Replicas and the AOF do not
//! read a clock of their own. So the epochs of a filter begin between the same commands everywhere,
//! and an item that is present on the primary is present on its replicas.
//!
//! A step begins at once, and what it lets a filter forget does not count from then on. To empty the
//! slots of that takes longer: threads of the module do it. They only empty what is forgotten, so it
//! matters to replicas when in one case only: docs/MODULE.md, "Keys that forget".
//!
//! A new filter waits for the next move of the clock, at most a tenth of a second later. Only then
//! is it known how late the filter is.

mod node;

pub(crate) use node::{Pass, Saved, Windows};

use crate::engine::standing;
use std::{
    sync::LazyLock,
    time::{Instant, SystemTime},
};

/// The windows of this engine.
pub(crate) fn of_engine() -> &'static Windows {
    static WINDOWS: LazyLock<Windows> = LazyLock::new(|| Windows::new(wall()));
    &WINDOWS
}

/// The clock of the machine, in milliseconds since 1970.
pub(crate) fn wall() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

/// A file says that so much had passed by then.
pub(crate) fn is_from_file(windows: &Windows, wall: i64) {
    let standing = standing();
    match (standing.is_loading, standing.is_primary) {
        (true, true) => windows.is_from_file(wall),
        (true, false) => windows.is_from_primary(Instant::now(), self::wall()),
        // The payload of a key.
        (false, _) => {}
    }
}
