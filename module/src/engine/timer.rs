//! What the engine calls by itself: a timer, and events of keys.

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

/// What is called, and says after which time again.
pub(crate) type Look = fn(&Context) -> Duration;

/// What is called with a key for which there was an event.
pub(crate) type Restored = fn(&mut Context, Str<'_>);

static LOOK: OnceLock<Look> = OnceLock::new();
static RESTORED: OnceLock<Restored> = OnceLock::new();

/// After a panic it is called again nevertheless.
const OTHERWISE: Duration = Duration::from_secs(1);

/// The engine tells modules of no events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the engine refuses to tell the module of keys that are restored")]
pub(crate) struct EventsRefused;

impl Context {
    /// Lets `look` be called on the main thread, between commands, now and then for ever.
    pub(crate) fn look_often(&self, look: Look) {
        // Each load of the module has the same function.
        let _ = LOOK.set(look);
        self.call_again(Duration::ZERO);
    }

    fn call_again(&self, after: Duration) {
        let after = c_longlong::try_from(after.as_millis()).unwrap_or(c_longlong::MAX);
        // SAFETY: the context is valid, and the function needs no data.
        unsafe { (api().CreateTimer)(self.raw(), after, called, ptr::null_mut()) };
    }

    /// Lets `restored` be called for keys that `RESTORE` has made, which `MIGRATE` does, too.
    pub(crate) fn tell_of_restores(&self, restored: Restored) -> Result<(), EventsRefused> {
        const GENERIC: c_int = 1 << 2;
        let _ = RESTORED.set(restored);
        // SAFETY: the context is valid.
        match unsafe { (api().SubscribeToKeyspaceEvents)(self.raw(), GENERIC, happened) } {
            OK => Ok(()),
            _ => Err(EventsRefused),
        }
    }

    /// True while a replica takes over and must receive everything: writes that no client requested
    /// have to wait.
    pub(crate) fn is_traffic_unwanted(&self) -> bool {
        // SAFETY: it takes nothing, and is called on the main thread.
        api()
            .AvoidReplicaTraffic
            .is_some_and(|avoid| unsafe { avoid() } != 0)
    }
}

unsafe extern "C" fn called(context: *mut api::Ctx, _: *mut c_void) {
    // SAFETY: the engine hands over what is valid during this call, on this thread.
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
        // SAFETY: the engine hands over what is valid during this call, on this thread; the event
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
