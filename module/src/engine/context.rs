//! The context of a call: replies, keys and effects.

use super::{
    api::{self, Api, OK, api, warn, with_nul},
    data_type::{DataType, TypeRefused, Value},
    key::{Access, Key},
    status::Flags,
    string::Str,
};
use std::{
    ffi::{CStr, c_int, c_long, c_longlong},
    fmt,
    ptr::NonNull,
};

/// The engine's context of a call. It belongs to the thread of the call.
pub(crate) struct Context {
    raw: NonNull<api::Ctx>,
    /// The functions, so that each call of one need not ask whether they are there.
    api: &'static Api,
}

impl Context {
    /// # Safety
    ///
    /// `raw` is a context of the engine, valid while this value lives. It is the only value for this
    /// context, and the call is on this thread.
    pub(super) unsafe fn new(raw: *mut api::Ctx) -> Self {
        match NonNull::new(raw) {
            Some(raw) => Self { raw, api: api() },
            None => unreachable!("the engine hands over a context"),
        }
    }

    pub(super) fn raw(&self) -> *mut api::Ctx {
        self.raw.as_ptr()
    }

    pub(crate) fn flags(&self) -> Flags {
        // SAFETY: the context is valid.
        Flags(unsafe { (self.api.GetContextFlags)(self.raw()) })
    }

    /// Registers a data type with the engine.
    pub(crate) fn register_type<V: Value>(&self) -> Result<DataType<V>, TypeRefused> {
        // SAFETY: the context is valid.
        unsafe { DataType::register(self.raw()) }
    }

    /// The bytes of an argument.
    #[inline(always)]
    pub(crate) fn bytes<'call>(&self, argument: Str<'call>) -> &'call [u8] {
        argument.bytes_by(self.api)
    }

    /// Opens a key. The mutable borrow of the context ensures that only one key is open at a time.
    pub(crate) fn open<'a>(&'a mut self, name: Str<'a>, access: Access) -> Key<'a> {
        // SAFETY: the context and the name are valid while the key is open.
        unsafe { Key::open(self.raw(), self.api, name.raw(), access) }
    }

    /// Sends a command to replicas and to the AOF. The commands of one call form a transaction there.
    pub(crate) fn replicate(&self, command: &CStr, arguments: &[Str<'_>]) {
        // SAFETY: the context is valid, and `v` takes this number of strings, whose representation is
        // the same.
        let result = unsafe {
            (self.api.Replicate)(
                self.raw(),
                command.as_ptr(),
                c"v".as_ptr(),
                arguments.as_ptr(),
                arguments.len(),
            )
        };
        if result != OK {
            // `DEL` is the only replicated command of the engine itself, and it may have been renamed.
            warn(&format!(
                "{command:?} was not told to replicas, which may differ from now on: is it renamed?"
            ));
        }
    }

    /// Runs a command of the module, which may replicate itself. Returns its error, or nothing if the
    /// engine refuses the command.
    pub(crate) fn call(&self, command: &CStr, arguments: &[Str<'_>]) -> Result<(), Option<String>> {
        const ERROR: c_int = 1;
        // SAFETY: the context is valid, `!` takes nothing, and `v` takes this number of strings, whose
        // representation is the same.
        let reply = unsafe {
            (self.api.Call)(
                self.raw(),
                command.as_ptr(),
                c"!v".as_ptr(),
                arguments.as_ptr(),
                arguments.len(),
            )
        };
        if reply.is_null() {
            return Err(None);
        }
        // SAFETY: the reply is valid; the text of an error has this length, and is copied before the
        // reply is freed, once.
        unsafe {
            let mut length = 0;
            let result = match (self.api.CallReplyType)(reply) {
                ERROR => {
                    let text = (self.api.CallReplyStringPtr)(reply, &mut length);
                    let text = (!text.is_null())
                        .then(|| std::slice::from_raw_parts(text.cast::<u8>(), length));
                    Err(text.map(|text| String::from_utf8_lossy(text).into_owned()))
                }
                _ => Ok(()),
            };
            (self.api.FreeCallReply)(reply);
            result
        }
    }

    /// Replicates the command as the client sent it.
    pub(crate) fn replicate_verbatim(&self) {
        // SAFETY: the context is valid.
        unsafe { (self.api.ReplicateVerbatim)(self.raw()) };
    }

    /// Keeps this word of the command out of the slow log and of `MONITOR`, if the engine can.
    pub(crate) fn redact(&self, index: usize) {
        if let Some(redact) = self.api.RedactClientCommandArgument {
            // SAFETY: the context is valid, and the engine checks the index.
            unsafe { redact(self.raw(), c_int::try_from(index).unwrap_or(c_int::MAX)) };
        }
    }

    /// Notifies clients that watch or cache the key that it has changed.
    pub(crate) fn signal_modified(&self, key: Str<'_>) {
        // SAFETY: the context and the string are valid.
        unsafe { (self.api.SignalModifiedKey)(self.raw(), key.raw()) };
    }

    /// Publishes a keyspace event of the class for modules.
    pub(crate) fn notify(&self, event: &CStr, key: Str<'_>) {
        const MODULE: c_int = 1 << 13;
        self.publish(MODULE, event, key);
    }

    /// Publishes a keyspace event of the class for commands on keys of any type.
    pub(crate) fn notify_generic(&self, event: &CStr, key: Str<'_>) {
        const GENERIC: c_int = 1 << 2;
        self.publish(GENERIC, event, key);
    }

    fn publish(&self, class: c_int, event: &CStr, key: Str<'_>) {
        // SAFETY: the context and the strings are valid.
        unsafe {
            (self.api.NotifyKeyspaceEvent)(self.raw(), class, event.as_ptr(), key.raw());
        }
    }

    pub(crate) fn reply_array(&self, length: usize) {
        // SAFETY: the context is valid, here and below.
        unsafe { (self.api.ReplyWithArray)(self.raw(), length as c_long) };
    }

    pub(crate) fn reply_map(&self, length: usize) {
        // SAFETY: see above.
        unsafe { (self.api.ReplyWithMap)(self.raw(), length as c_long) };
    }

    pub(crate) fn reply_integer(&self, number: i64) {
        // SAFETY: see above.
        unsafe { (self.api.ReplyWithLongLong)(self.raw(), number as c_longlong) };
    }

    /// Replies with a boolean, which is a number in RESP2.
    pub(crate) fn reply_bool(&self, value: bool) {
        // SAFETY: see above.
        unsafe { (self.api.ReplyWithBool)(self.raw(), value.into()) };
    }

    pub(crate) fn reply_null(&self) {
        // SAFETY: see above.
        unsafe { (self.api.ReplyWithNull)(self.raw()) };
    }

    pub(crate) fn reply_null_array(&self) {
        // SAFETY: see above.
        unsafe { (self.api.ReplyWithNullArray)(self.raw()) };
    }

    /// Replies with a simple string. Simple strings and errors end at their first line break.
    pub(crate) fn reply_status(&self, text: &str) {
        let text = line(text);
        // SAFETY: see above; the text ends with a NUL.
        unsafe { (self.api.ReplyWithSimpleString)(self.raw(), text.as_ptr()) };
    }

    pub(crate) fn reply_error(&self, text: &str) {
        let text = line(text);
        // SAFETY: as for a simple string.
        unsafe { (self.api.ReplyWithError)(self.raw(), text.as_ptr()) };
    }

    pub(crate) fn reply_bulk(&self, bytes: &[u8]) {
        // SAFETY: see above; there are `bytes.len()` bytes, which the engine copies.
        unsafe {
            (self.api.ReplyWithStringBuffer)(self.raw(), bytes.as_ptr().cast(), bytes.len());
        }
    }

    /// Replies with text for humans: a verbatim string in RESP3.
    pub(crate) fn reply_text(&self, text: &str) {
        // SAFETY: as for bytes.
        unsafe {
            (self.api.ReplyWithVerbatimString)(self.raw(), text.as_ptr().cast(), text.len());
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").finish_non_exhaustive()
    }
}

/// Converts a text for a reply of one line.
fn line(text: &str) -> std::ffi::CString {
    if text.contains(['\r', '\n']) {
        with_nul(&text.replace(['\r', '\n'], " "))
    } else {
        with_nul(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_no_ends_within() {
        assert_eq!(line("ERR a\r\nb\0c").as_c_str(), c"ERR a  b?c");
        assert_eq!(line("OK").as_c_str(), c"OK");
    }
}
