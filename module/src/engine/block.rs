//! Clients that another thread will reply to.

use super::{
    api::{self, OK, api},
    border::guarded,
    context::Context,
    string::Str,
};
use std::{
    ffi::c_void,
    fmt,
    ptr::{self, NonNull},
};

/// Arguments that outlive the call. They are released on the engine's main thread, because the
/// reference counts of strings are not atomic.
struct Kept(Vec<NonNull<api::Str>>);

/// A blocked client. It receives a reply even if the thread panics.
pub(crate) struct Waiting {
    blocked: NonNull<api::Blocked>,
    context: NonNull<api::Ctx>,
    kept: Box<Kept>,
    /// True if the client has received its reply.
    is_answered: bool,
}

// SAFETY: any thread may reply to a blocked client, in the context created for it. Threads only read
// the strings, which `free_kept` releases on the main thread.
unsafe impl Send for Waiting {}

impl Context {
    /// Blocks the client, while the engine continues with others. The thread that replies can read
    /// the words. Returns `None` if the client cannot be blocked.
    pub(crate) fn block(&self, words: &[Str<'_>]) -> Option<Waiting> {
        let mut kept = Vec::new();
        kept.try_reserve_exact(words.len()).ok()?;
        // SAFETY: the context is valid. There is no timeout, so `free_kept` is the only callback.
        let blocked = unsafe { (api().BlockClient)(self.raw(), None, None, Some(free_kept), 0) };
        let blocked = NonNull::new(blocked)?;
        // Created here and not on the other thread, because the engine reads the client, which can
        // disconnect at any time.
        // SAFETY: the client is blocked.
        let context = unsafe { (api().GetThreadSafeContext)(blocked.as_ptr()) };
        let Some(context) = NonNull::new(context) else {
            // SAFETY: the client is blocked, and no other thread has it.
            unsafe { (api().AbortBlock)(blocked.as_ptr()) };
            return None;
        };
        for word in words {
            // SAFETY: the string is valid. Without a context it is retained until it is freed.
            unsafe { (api().RetainString)(ptr::null_mut(), word.raw()) };
            kept.extend(NonNull::new(word.raw()));
        }
        Some(Waiting {
            blocked,
            context,
            kept: Box::new(Kept(kept)),
            is_answered: false,
        })
    }
}

impl Waiting {
    /// The retained words.
    pub(crate) fn words(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        // SAFETY: the strings are retained while this value lives, and the engine does not change a
        // string with two references.
        let read = |word: &NonNull<api::Str>| unsafe { api::bytes(api::api(), word.as_ptr()) };
        self.kept.0.iter().map(read)
    }

    /// Calls `work` while the engine waits, as between two commands. Other clients wait as well, so it
    /// takes a short time only. Must not be called on the main thread, which is the engine.
    pub(crate) fn with_engine<R>(&self, work: impl FnOnce(&Context) -> R) -> R {
        struct Locked(NonNull<api::Ctx>);
        impl Drop for Locked {
            fn drop(&mut self) {
                // SAFETY: this thread has locked the engine by this context.
                unsafe { (api().ThreadSafeContextUnlock)(self.0.as_ptr()) }
            }
        }
        // SAFETY: the context is valid, and this thread has not locked the engine.
        unsafe { (api().ThreadSafeContextLock)(self.context.as_ptr()) };
        let _locked = Locked(self.context);
        // SAFETY: the context is valid, and this is the only value for it.
        let context = unsafe { Context::new(self.context.as_ptr()) };
        work(&context)
    }

    /// Sends the reply that `reply` writes to the context.
    pub(crate) fn answer(mut self, reply: impl FnOnce(&Context)) {
        self.is_answered = true;
        // SAFETY: the context belongs to this client, and from now on to this thread.
        let context = unsafe { Context::new(self.context.as_ptr()) };
        guarded("an answer", || reply(&context), || ());
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.is_answered {
            // The thread panicked before it replied.
            // SAFETY: as in `answer`.
            let context = unsafe { Context::new(self.context.as_ptr()) };
            context.reply_error("ERR internal error");
        }
        let kept = std::mem::replace(&mut self.kept, Box::new(Kept(Vec::new())));
        let kept = Box::into_raw(kept);
        // SAFETY: both are valid and ended once. The engine passes the strings to `free_kept`.
        let result = unsafe {
            (api().FreeThreadSafeContext)(self.context.as_ptr());
            (api().UnblockClient)(self.blocked.as_ptr(), kept.cast())
        };
        debug_assert_eq!(result, OK, "the client was blocked");
    }
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").finish_non_exhaustive()
    }
}

/// Runs on the main thread after the client has received its reply or has disconnected.
unsafe extern "C" fn free_kept(_: *mut api::Ctx, kept: *mut c_void) {
    let free = || {
        // A client that was never passed to a thread has nothing to free.
        if kept.is_null() {
            return;
        }
        // SAFETY: this is the pointer that `UnblockClient` received, and it is used once.
        let kept = unsafe { Box::from_raw(kept.cast::<Kept>()) };
        for word in kept.0 {
            // SAFETY: the string was retained without a context, and is freed once.
            unsafe { (api().FreeString)(ptr::null_mut(), word.as_ptr()) }
        }
    };
    guarded("the end of an answer", free, || ());
}
