//! Clients that are answered later, by another thread.

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

/// Arguments that outlive the call. They are given back on the engine's main thread: it counts the
/// users of a string without a lock.
struct Kept(Vec<NonNull<api::Str>>);

/// A client that waits for its answer. It gets one, whatever becomes of the thread.
pub(crate) struct Waiting {
    blocked: NonNull<api::Blocked>,
    context: NonNull<api::Ctx>,
    kept: Box<Kept>,
    /// Has it been answered?
    is_answered: bool,
}

// SAFETY: the engine lets any thread answer a blocked client, in the context that was made for it.
// The strings are only read there: they are freed by `free_kept`, on the main thread.
unsafe impl Send for Waiting {}

impl Context {
    /// Lets the client wait. The engine continues with other clients, and the thread that replies
    /// can read the words. `None` if the client cannot wait.
    pub(crate) fn block(&self, words: &[Str<'_>]) -> Option<Waiting> {
        let mut kept = Vec::new();
        kept.try_reserve_exact(words.len()).ok()?;
        // SAFETY: the context is valid. There is no time limit, so nothing is called but `free_kept`.
        let blocked = unsafe { (api().BlockClient)(self.raw(), None, None, Some(free_kept), 0) };
        let blocked = NonNull::new(blocked)?;
        // Here, and not on the other thread: the engine looks at the client for it, which may go
        // away at any time later.
        // SAFETY: the client is blocked.
        let context = unsafe { (api().GetThreadSafeContext)(blocked.as_ptr()) };
        let Some(context) = NonNull::new(context) else {
            // SAFETY: it is blocked, and no other thread has it.
            unsafe { (api().AbortBlock)(blocked.as_ptr()) };
            return None;
        };
        for word in words {
            // SAFETY: the string is valid. Without a context it is kept until it is freed.
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
    /// The words that were kept.
    pub(crate) fn words(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        // SAFETY: they are kept as long as the value, and the engine changes no string that has two
        // users.
        let read = |word: &NonNull<api::Str>| unsafe { api::bytes(word.as_ptr()) };
        self.kept.0.iter().map(read)
    }

    /// Answers, by what `reply` tells the context.
    pub(crate) fn answer(mut self, reply: impl FnOnce(&Context)) {
        self.is_answered = true;
        // SAFETY: the context is of this client, and of this thread from now on.
        let context = unsafe { Context::new(self.context.as_ptr()) };
        guarded("an answer", || reply(&context), || ());
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.is_answered {
            // The thread that was to answer has panicked.
            // SAFETY: as in `answer`.
            let context = unsafe { Context::new(self.context.as_ptr()) };
            context.reply_error("ERR internal error");
        }
        let kept = std::mem::replace(&mut self.kept, Box::new(Kept(Vec::new())));
        let kept = Box::into_raw(kept);
        // SAFETY: each of them is valid, and ended once. The engine hands the strings to `free_kept`.
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

/// On the main thread, when the client has been answered, or has gone away.
unsafe extern "C" fn free_kept(_: *mut api::Ctx, kept: *mut c_void) {
    let free = || {
        // Of a client that was never handed to a thread there is nothing to free.
        if kept.is_null() {
            return;
        }
        // SAFETY: it is what `UnblockClient` was given, once.
        let kept = unsafe { Box::from_raw(kept.cast::<Kept>()) };
        for word in kept.0 {
            // SAFETY: it was kept without a context, and is freed once.
            unsafe { (api().FreeString)(ptr::null_mut(), word.as_ptr()) }
        }
    };
    guarded("the end of an answer", free, || ());
}
