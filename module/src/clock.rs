//! What the engine calls so that windows move on: by a timer, and after `RESTORE`.

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
