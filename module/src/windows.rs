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

use crate::{
    TYPE,
    effects::CLOCK,
    engine::{Access, Context, Found, OwnedStr, Str, standing},
    entry::Content,
    fault::{self, Fault},
};
use std::{
    sync::LazyLock,
    time::{Duration, Instant, SystemTime},
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

/// Moves the clock on if a step is due, and says when to look again.
pub(crate) fn look(context: &Context) -> Duration {
    /// A filter that is new waits no longer.
    const OFTEN: Duration = Duration::from_millis(100);
    const SOON: Duration = Duration::from_millis(1);
    let (windows, now) = (of_engine(), Instant::now());
    let standing = standing();
    if standing.is_loading {
        return OFTEN;
    }
    if !standing.is_primary {
        windows.is_led(now);
        return OFTEN;
    }
    if context.is_traffic_unwanted() {
        return OFTEN;
    }
    if let Some(pass) = windows.due(now, wall()) {
        windows.pass(pass);
        if !fault::is(Fault::ForgetClock) {
            let words = pass.words().map(|word| OwnedStr::new(word.as_bytes()));
            context.replicate(CLOCK, &words.each_ref().map(OwnedStr::as_str));
        }
    }
    windows.until_due(Instant::now()).clamp(SOON, OFTEN)
}

/// `RESTORE` has made the key: how long its value was stored elsewhere is unknown.
pub(crate) fn restored(context: &mut Context, key: Str<'_>) {
    let key = context.open(key, Access::Read);
    if let Some(kind) = TYPE.get()
        && let Found::Value(entry) = key.get(kind)
        && let Content::Filter(filter) = entry.content()
    {
        of_engine().hold(filter);
    }
}
