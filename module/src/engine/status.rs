//! The state of the engine, which can be read without a context.

use super::api::{self, OK, api};
use std::{
    ffi::{CStr, c_int},
    ptr,
};

/// Facts about a call and the engine: `RedisModule_GetContextFlags`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(pub(super) c_int);

impl Flags {
    /// No flags are known, so none is set.
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

    /// The flags while a test reads a file.
    #[cfg(test)]
    pub(crate) const LOADING_FILE: Self = Self(Self::LOADING);

    /// The flags of a test.
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

    /// True if the command has already run elsewhere: it comes from the primary, the AOF, or the
    /// source of an imported slot. If this replica refused it, it would differ.
    pub(crate) fn must_obey(self) -> bool {
        self.has(Self::REPLICATED | Self::LOADING)
    }

    /// True while a file is read.
    pub(crate) fn is_loading(self) -> bool {
        self.has(Self::LOADING)
    }

    /// True if the engine can reply to the client later.
    pub(crate) fn may_block(self) -> bool {
        !self.has(Self::LUA | Self::MULTI | Self::DENY_BLOCKING) && !self.must_obey()
    }

    /// True if the client speaks RESP3.
    pub(crate) fn is_resp3(self) -> bool {
        self.has(Self::RESP3)
    }

    /// True if the engine has a memory limit.
    pub(crate) fn has_memory_limit(self) -> bool {
        self.has(Self::MAXMEMORY)
    }

    /// True if the engine may evict keys to stay within the limit.
    pub(crate) fn may_evict(self) -> bool {
        self.has(Self::EVICT)
    }
}

/// The state of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Whether the engine reads a file, or a full copy from its primary.
    pub(crate) is_loading: bool,
    pub(crate) is_primary: bool,
    pub(crate) flags: Flags,
}

/// Returns the state. Must be called on the main thread.
pub(crate) fn standing() -> Standing {
    if api::loaded().is_none() {
        // A unit test has no engine.
        return Standing {
            is_loading: false,
            is_primary: true,
            flags: Flags::NONE,
        };
    }
    // SAFETY: these flags are available without a context.
    let flags = Flags(unsafe { (api().GetContextFlags)(ptr::null_mut()) });
    // A replica in a cluster starts before it remembers its primary.
    let is_replica = flags.has(Flags::REPLICA) || flags.has(Flags::CLUSTER) && is_cluster_replica();
    Standing {
        is_loading: flags.has(Flags::LOADING | Flags::ASYNC_LOADING),
        is_primary: !is_replica,
        flags,
    }
}

/// Whether the cluster lists this node as a replica.
fn is_cluster_replica() -> bool {
    const LENGTH: usize = 40;
    const REPLICA: c_int = 1 << 2;
    // SAFETY: the function has no parameters.
    let begin = unsafe { (api().GetMyClusterID)() };
    if begin.is_null() {
        return false;
    }
    let mut id = [0_u8; LENGTH + 1];
    // SAFETY: the engine returns `LENGTH` bytes, without a NUL after them.
    id[..LENGTH].copy_from_slice(unsafe { std::slice::from_raw_parts(begin.cast(), LENGTH) });
    let mut flags = 0;
    // SAFETY: no context is needed. The name ends with a NUL, and null skips an output.
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

/// The memory use of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) used: u64,
    /// `maxmemory`
    pub(crate) limit: u64,
}

/// The memory use of the engine, and its limit. This takes as long as `INFO memory`, and must be
/// called on the main thread.
pub(crate) fn memory() -> Option<Memory> {
    // A unit test has no engine.
    api::loaded()?;
    // SAFETY: no context is needed, and the result is freed below.
    let info = unsafe { (api().GetServerInfo)(ptr::null_mut(), c"memory".as_ptr()) };
    if info.is_null() {
        return None;
    }
    let field = |name: &CStr| {
        let mut error = OK;
        // SAFETY: `info` is not freed yet.
        let value = unsafe { (api().ServerInfoGetFieldUnsigned)(info, name.as_ptr(), &mut error) };
        (error == OK).then_some(value)
    };
    let memory = field(c"used_memory").zip(field(c"maxmemory"));
    // SAFETY: `info` is freed once.
    unsafe { (api().FreeServerInfo)(ptr::null_mut(), info) };
    memory.map(|(used, limit)| Memory { used, limit })
}
