//! What a command asks of the engine: replies, keys, effects.

use super::{
    api::{self, OK, api, warn, with_nul},
    key::{Access, Key},
    string::Str,
};
use std::{
    ffi::{CStr, c_int, c_long, c_longlong},
    fmt,
    ptr::{self, NonNull},
};

/// The engine's context of a call. It is of the thread on which the call is.
pub(crate) struct Context {
    raw: NonNull<api::Ctx>,
}

/// Facts about a call and the engine: `RedisModule_GetContextFlags`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flags(c_int);

impl Flags {
    /// Nothing is known, and nothing holds.
    pub(crate) const NONE: Self = Self(0);

    const LUA: c_int = 1;
    const MULTI: c_int = 1 << 1;
    const REPLICA: c_int = 1 << 3;
    const CLUSTER: c_int = 1 << 5;
    const MAXMEMORY: c_int = 1 << 8;
    const EVICT: c_int = 1 << 9;
    const REPLICATED: c_int = 1 << 12;
    const LOADING: c_int = 1 << 13;
    const DENY_BLOCKING: c_int = 1 << 21;
    const RESP3: c_int = 1 << 22;
    const ASYNC_LOADING: c_int = 1 << 23;

    /// Those of a test in which a file is read.
    #[cfg(test)]
    pub(crate) const LOADING_FILE: Self = Self(Self::LOADING);

    /// Those of a test.
    #[cfg(test)]
    pub(crate) const fn of(must_obey: bool, has_memory_limit: bool, may_evict: bool) -> Self {
        Self(
            (must_obey as c_int * Self::REPLICATED)
                | (has_memory_limit as c_int * Self::MAXMEMORY)
                | (may_evict as c_int * Self::EVICT),
        )
    }

    fn has(self, any: c_int) -> bool {
        self.0 & any != 0
    }

    /// True if the command has happened already: it comes from the primary, the AOF, or the source
    /// of a slot that moves here. To refuse it would make this replica differ.
    pub(crate) fn must_obey(self) -> bool {
        self.has(Self::REPLICATED | Self::LOADING)
    }

    /// True while a file is read.
    pub(crate) fn is_loading(self) -> bool {
        self.has(Self::LOADING)
    }

    /// True if the client can be answered later.
    pub(crate) fn may_block(self) -> bool {
        !self.has(Self::LUA | Self::MULTI | Self::DENY_BLOCKING) && !self.must_obey()
    }

    /// True if the client speaks RESP3.
    pub(crate) fn is_resp3(self) -> bool {
        self.has(Self::RESP3)
    }

    /// True if there is a limit of memory.
    pub(crate) fn has_memory_limit(self) -> bool {
        self.has(Self::MAXMEMORY)
    }

    /// True if keys may be evicted to stay within it.
    pub(crate) fn may_evict(self) -> bool {
        self.has(Self::EVICT)
    }
}

/// What the engine is at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// It reads a file, or what its primary sends in place of one.
    pub(crate) is_loading: bool,
    pub(crate) is_primary: bool,
    pub(crate) flags: Flags,
}

/// To be asked for on the main thread.
pub(crate) fn standing() -> Standing {
    if api::loaded().is_none() {
        // A test without an engine.
        return Standing {
            is_loading: false,
            is_primary: true,
            flags: Flags::NONE,
        };
    }
    // SAFETY: no context is needed to ask for these flags.
    let flags = Flags(unsafe { (api().GetContextFlags)(ptr::null_mut()) });
    // A replica in a cluster has begun before it remembers its primary.
    let is_replica = flags.has(Flags::REPLICA) || flags.has(Flags::CLUSTER) && is_cluster_replica();
    Standing {
        is_loading: flags.has(Flags::LOADING | Flags::ASYNC_LOADING),
        is_primary: !is_replica,
        flags,
    }
}

/// What the cluster says of this node.
fn is_cluster_replica() -> bool {
    const LENGTH: usize = 40;
    const REPLICA: c_int = 1 << 2;
    // SAFETY: it takes nothing.
    let begin = unsafe { (api().GetMyClusterID)() };
    if begin.is_null() {
        return false;
    }
    let mut id = [0_u8; LENGTH + 1];
    // SAFETY: `LENGTH` bytes are there, and no NUL after them.
    id[..LENGTH].copy_from_slice(unsafe { std::slice::from_raw_parts(begin.cast(), LENGTH) });
    let mut flags = 0;
    // SAFETY: no context is needed. The name ends with a NUL; what is null is not asked for.
    let result = unsafe {
        (api().GetClusterNodeInfo)(
            ptr::null_mut(),
            id.as_ptr().cast(),
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            &mut flags,
        )
    };
    result == OK && flags & REPLICA != 0
}

/// Memory of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) used: u64,
    /// `maxmemory`
    pub(crate) limit: u64,
}

/// The memory that the engine uses, and its limit. It takes as long as `INFO memory`, and is asked
/// for on the main thread.
pub(crate) fn memory() -> Option<Memory> {
    // A test has no engine.
    api::loaded()?;
    // SAFETY: no context is needed, and what it gives is freed below.
    let info = unsafe { (api().GetServerInfo)(ptr::null_mut(), c"memory".as_ptr()) };
    if info.is_null() {
        return None;
    }
    let field = |name: &CStr| {
        let mut error = OK;
        // SAFETY: it is not freed yet.
        let value = unsafe { (api().ServerInfoGetFieldUnsigned)(info, name.as_ptr(), &mut error) };
        (error == OK).then_some(value)
    };
    let memory = field(c"used_memory").zip(field(c"maxmemory"));
    // SAFETY: it is freed once.
    unsafe { (api().FreeServerInfo)(ptr::null_mut(), info) };
    memory.map(|(used, limit)| Memory { used, limit })
}

impl Context {
    /// # Safety
    ///
    /// It is a context of the engine, and valid as long as the value. There is no other value of it,
    /// and the call is on this thread.
    pub(super) unsafe fn new(raw: *mut api::Ctx) -> Self {
        match NonNull::new(raw) {
            Some(raw) => Self { raw },
            None => unreachable!("the engine hands over a context"),
        }
    }

    pub(super) fn raw(&self) -> *mut api::Ctx {
        self.raw.as_ptr()
    }

    pub(crate) fn flags(&self) -> Flags {
        // SAFETY: the context is valid.
        Flags(unsafe { (api().GetContextFlags)(self.raw()) })
    }

    /// Opens a key. One at a time: that the context is borrowed says so.
    pub(crate) fn open<'a>(&'a mut self, name: Str<'a>, access: Access) -> Key<'a> {
        // SAFETY: the context is valid, and so is the name; both are as long as the key.
        unsafe { Key::open(self.raw(), name.raw(), access) }
    }

    /// Sends a command to replicas and to the AOF. The commands that one call sends are one
    /// transaction there.
    pub(crate) fn replicate(&self, command: &CStr, arguments: &[Str<'_>]) {
        // SAFETY: the context is valid, and `v` takes this number of strings, which have the same
        // representation.
        let result = unsafe {
            (api().Replicate)(
                self.raw(),
                command.as_ptr(),
                c"v".as_ptr(),
                arguments.as_ptr(),
                arguments.len(),
            )
        };
        if result != OK {
            // Of the replicated commands, only `DEL` is the engine's own, and may have another
            // name.
            warn(&format!(
                "{command:?} was not told to replicas, which may differ from now on: is it renamed?"
            ));
        }
    }

    /// The same, of what the client said.
    pub(crate) fn replicate_verbatim(&self) {
        // SAFETY: the context is valid.
        unsafe { (api().ReplicateVerbatim)(self.raw()) };
    }

    /// Notifies clients that watch or cache the key that it has changed.
    pub(crate) fn signal_modified(&self, key: Str<'_>) {
        // SAFETY: the context and the string are valid.
        unsafe { (api().SignalModifiedKey)(self.raw(), key.raw()) };
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
            (api().NotifyKeyspaceEvent)(self.raw(), class, event.as_ptr(), key.raw());
        }
    }

    pub(crate) fn reply_array(&self, length: usize) {
        // SAFETY: the context is valid, here and below.
        unsafe { (api().ReplyWithArray)(self.raw(), length as c_long) };
    }

    pub(crate) fn reply_map(&self, length: usize) {
        // SAFETY: see above.
        unsafe { (api().ReplyWithMap)(self.raw(), length as c_long) };
    }

    pub(crate) fn reply_integer(&self, number: i64) {
        // SAFETY: see above.
        unsafe { (api().ReplyWithLongLong)(self.raw(), number as c_longlong) };
    }

    /// A number in RESP2.
    pub(crate) fn reply_bool(&self, value: bool) {
        // SAFETY: see above.
        unsafe { (api().ReplyWithBool)(self.raw(), value.into()) };
    }

    pub(crate) fn reply_null(&self) {
        // SAFETY: see above.
        unsafe { (api().ReplyWithNull)(self.raw()) };
    }

    pub(crate) fn reply_null_array(&self) {
        // SAFETY: see above.
        unsafe { (api().ReplyWithNullArray)(self.raw()) };
    }

    /// A simple string, or an error, ends at its first line.
    pub(crate) fn reply_status(&self, text: &str) {
        let text = line(text);
        // SAFETY: see above; the text ends with a NUL.
        unsafe { (api().ReplyWithSimpleString)(self.raw(), text.as_ptr()) };
    }

    pub(crate) fn reply_error(&self, text: &str) {
        let text = line(text);
        // SAFETY: as for a simple string.
        unsafe { (api().ReplyWithError)(self.raw(), text.as_ptr()) };
    }

    pub(crate) fn reply_bulk(&self, bytes: &[u8]) {
        // SAFETY: see above; there are `bytes.len()` bytes, which the engine copies.
        unsafe {
            (api().ReplyWithStringBuffer)(self.raw(), bytes.as_ptr().cast(), bytes.len());
        }
    }

    /// Text for people: a verbatim string in RESP3.
    pub(crate) fn reply_text(&self, text: &str) {
        // SAFETY: as for bytes.
        unsafe {
            (api().ReplyWithVerbatimString)(self.raw(), text.as_ptr().cast(), text.len());
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").finish_non_exhaustive()
    }
}

/// A text for a reply of one line.
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
