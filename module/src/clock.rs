//! The callbacks that move the clock: a timer, and one after `RESTORE`.

use crate::{
    effects::CLOCK,
    engine::{
        Access, Context, Found, OwnedStr, Str,
        fault::{self, Fault},
        standing,
    },
    entry::TYPE,
    windows::{Pass, of_engine, wall},
};
use std::{
    cell::Cell,
    time::{Duration, Instant},
};

thread_local! {
    /// The move that the timer replicates. Only the main thread has one.
    static OWN: Cell<Option<Pass>> = const { Cell::new(None) };
}

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
            replicate(context, pass);
        }
    }
    windows.until_due(Instant::now()).clamp(SOON, OFTEN)
}

/// Replicates a move of the clock: calls `CF.CLOCK`, which replicates itself as a client's command.
///
/// `RedisModule_Replicate` would be shorter, but Valkey 9 reads an uninitialized variable in it if the
/// command has no key and a slot is leaving the node. Depending on the stack, Valkey then ends the
/// migration: "A module replicated a cross-slot command".
fn replicate(context: &Context, pass: Pass) {
    let words = pass.words().map(|word| OwnedStr::new(word.as_bytes()));
    let words = words.each_ref().map(OwnedStr::as_str);
    if !fault::is(Fault::ReplicateClock) {
        OWN.set(Some(pass));
        fault::overwrite_stack();
        // The clock has moved already.
        let _ = context.call(CLOCK, &words);
        if OWN.take().is_none() {
            return;
        }
        // The command did not run: perhaps another module filters commands.
    }
    fault::overwrite_stack();
    context.replicate(CLOCK, &words);
}

/// True once for a move that the timer of this node has made, and wants to replicate.
pub(crate) fn is_own(pass: Pass) -> bool {
    OWN.take() == Some(pass)
}

/// Restarts the epoch of a key made by `RESTORE`: how long its value was stored elsewhere is unknown.
pub(crate) fn restored(context: &mut Context, key: Str<'_>) {
    let key = context.open(key, Access::Read);
    if let Some(kind) = TYPE.get()
        && let Found::Value(entry) = key.get(kind)
    {
        of_engine().hold(&*entry);
    }
}
