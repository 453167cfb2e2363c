//! Callbacks of the engine: a timer, and events of keys.

use super::{
    api::{self, OK, api},
    border::guarded,
    context::Context,
    string::Str,
};
use std::{
    ffi::{CStr, c_char, c_int, c_longlong, c_void},
    ptr,
    sync::OnceLock,
    time::Duration,
};

/// A timer callback, which returns the time until its next call.
pub(crate) type Look = fn(&Context) -> Duration;

/// A callback for a key that `RESTORE` has created.
pub(crate) type Restored = fn(&mut Context, Str<'_>);

static LOOK: OnceLock<Look> = OnceLock::new();
static RESTORED: OnceLock<Restored> = OnceLock::new();

/// The time until the next call after a panic.
const OTHERWISE: Duration = Duration::from_secs(1);

/// The engine refused to send events to the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the engine refuses to tell the module of keys that are restored")]
pub(crate) struct EventsRefused;

impl Context {
    /// Makes the engine call `look` on the main thread, between commands, repeatedly.
    pub(crate) fn look_often(&self, look: Look) {
        // Each load of the module passes the same function.
        let _ = LOOK.set(look);
        self.call_again(Duration::ZERO);
    }

    fn call_again(&self, after: Duration) {
        let after = c_longlong::try_from(after.as_millis()).unwrap_or(c_longlong::MAX);
        // SAFETY: the context is valid, and the function needs no data.
        unsafe { (api().CreateTimer)(self.raw(), after, called, ptr::null_mut()) };
    }

    /// Makes the engine call `restored` for keys that `RESTORE` or `MIGRATE` has created.
    pub(crate) fn tell_of_restores(&self, restored: Restored) -> Result<(), EventsRefused> {
        const GENERIC: c_int = 1 << 2;
        let _ = RESTORED.set(restored);
        // SAFETY: the context is valid.
        match unsafe { (api().SubscribeToKeyspaceEvents)(self.raw(), GENERIC, happened) } {
            OK => Ok(()),
            _ => Err(EventsRefused),
        }
    }

    /// True while a replica takes over and must receive all changes: writes that no client requested
    /// have to wait.
    pub(crate) fn is_traffic_unwanted(&self) -> bool {
        // SAFETY: the function has no parameters, and is called on the main thread.
        api()
            .AvoidReplicaTraffic
            .is_some_and(|avoid| unsafe { avoid() } != 0)
    }
}

unsafe extern "C" fn called(context: *mut api::Ctx, _: *mut c_void) {
    // SAFETY: the engine passes a context that is valid during this call, on this thread.
    let context = unsafe { Context::new(context) };
    let look = || LOOK.get().map_or(OTHERWISE, |look| look(&context));
    let after = guarded("a timer", look, || OTHERWISE);
    context.call_again(after);
}

unsafe extern "C" fn happened(
    context: *mut api::Ctx,
    _: c_int,
    event: *const c_char,
    key: *mut api::Str,
) -> c_int {
    let tell = || {
        // SAFETY: the engine passes values that are valid during this call, on this thread; the event
        // ends with a NUL.
        let (mut context, event, key) = unsafe {
            let event = CStr::from_ptr(event);
            (Context::new(context), event, Str::new(key))
        };
        if event == c"restore"
            && let (Some(restored), Some(key)) = (RESTORED.get(), key)
        {
            restored(&mut context, key);
        }
    };
    guarded("an event", tell, || ());
    OK
}
