//! What the engine is at the moment: asked for without a context.

use super::api::{self, OK, api};
use std::{
    ffi::{CStr, c_int},
    ptr,
};

/// Facts about a call and the engine: `RedisModule_GetContextFlags`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flags(pub(super) c_int);

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

    /// The flags of a test in which a file is read.
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
