//! The callbacks that move the clock: a timer, and one after `RESTORE`.

use crate::{
    effects::CLOCK,
    engine::{
        Access, Context, Found, OwnedStr, Str,
        fault::{self, Fault},
        standing,
    },
    entry::{Content, TYPE},
    windows::{of_engine, wall},
};
use std::time::{Duration, Instant};

/// Moves the clock if an epoch is due, and returns the time until the next call.
pub(crate) fn look(context: &Context) -> Duration {
    /// The longest time for which a new filter waits for its window to begin.
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

/// Restarts the epoch of a key made by `RESTORE`: how long its value was stored elsewhere is unknown.
pub(crate) fn restored(context: &mut Context, key: Str<'_>) {
    let key = context.open(key, Access::Read);
    if let Some(kind) = TYPE.get()
        && let Found::Value(entry) = key.get(kind)
        && let Content::Filter(filter) = entry.content()
    {
        of_engine().hold(filter);
    }
}
