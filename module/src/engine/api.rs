//! The functions of the engine, looked up by name.
//!
//! There is no library of the engine to link with. The first word of the context that it passes to
//! `RedisModule_OnLoad` is a function that looks up all others by name. Redis and Valkey use the same
//! names.
//! Valkey.

use std::{
    ffi::{CStr, c_char, c_int, c_long, c_longlong, c_uint, c_ulonglong, c_void},
    ptr,
    sync::OnceLock,
};

/// Opaque types of the engine.
macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])* #[repr(C)] pub(crate) struct $name { _private: [u8; 0] })*
    };
}

opaque! {
    /// `RedisModuleCtx`
    Ctx;
    /// `RedisModuleString`
    Str;
    /// `RedisModuleKey`
    Key;
    /// `RedisModuleType`
    Type;
    /// `RedisModuleIO`
    Io;
    /// `RedisModuleDigest`
    Digest;
    /// `RedisModuleBlockedClient`
    Blocked;
    /// `RedisModuleCommand`
    Command;
    /// `RedisModuleInfoCtx`
    InfoCtx;
    /// `RedisModuleServerInfoData`
    ServerInfo;
    /// `RedisModuleCallReply`
    CallReply;
}

/// The results of the engine's functions for success and failure.
pub(super) const OK: c_int = 0;
pub(super) const ERR: c_int = 1;

pub(super) type CommandFn = unsafe extern "C" fn(*mut Ctx, *mut *mut Str, c_int) -> c_int;
pub(super) type FreeFn = unsafe extern "C" fn(*mut Ctx, *mut c_void);
pub(super) type TimerFn = unsafe extern "C" fn(*mut Ctx, *mut c_void);
pub(super) type EventFn = unsafe extern "C" fn(*mut Ctx, c_int, *const c_char, *mut Str) -> c_int;
pub(super) type InfoFn = unsafe extern "C" fn(*mut InfoCtx, c_int);
pub(super) type GetNumberFn = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_longlong;
pub(super) type SetNumberFn =
    unsafe extern "C" fn(*const c_char, c_longlong, *mut c_void, *mut *mut Str) -> c_int;
pub(super) type GetTextFn = unsafe extern "C" fn(*const c_char, *mut c_void) -> *mut Str;
pub(super) type SetTextFn =
    unsafe extern "C" fn(*const c_char, *mut Str, *mut c_void, *mut *mut Str) -> c_int;
pub(super) type ApplyFn = unsafe extern "C" fn(*mut Ctx, *mut c_void, *mut *mut Str) -> c_int;

/// `RedisModuleTypeMethods`, version 3, which all engines since Redis 6.2 support.
#[repr(C)]
pub(super) struct Methods {
    pub(super) version: u64,
    pub(super) rdb_load: Option<unsafe extern "C" fn(*mut Io, c_int) -> *mut c_void>,
    pub(super) rdb_save: Option<unsafe extern "C" fn(*mut Io, *mut c_void)>,
    pub(super) aof_rewrite: Option<unsafe extern "C" fn(*mut Io, *mut Str, *mut c_void)>,
    pub(super) mem_usage: Option<unsafe extern "C" fn(*const c_void) -> usize>,
    pub(super) digest: Option<unsafe extern "C" fn(*mut Digest, *mut c_void)>,
    pub(super) free: Option<unsafe extern "C" fn(*mut c_void)>,
    pub(super) aux_load: Option<unsafe extern "C" fn(*mut Io, c_int, c_int) -> c_int>,
    pub(super) aux_save: Option<unsafe extern "C" fn(*mut Io, c_int)>,
    pub(super) aux_save_triggers: c_int,
    pub(super) free_effort: Option<unsafe extern "C" fn(*mut Str, *const c_void) -> usize>,
    pub(super) unlink: Option<unsafe extern "C" fn(*mut Str, *const c_void)>,
    pub(super) copy: Option<unsafe extern "C" fn(*mut Str, *mut Str, *const c_void) -> *mut c_void>,
    pub(super) defrag:
        Option<unsafe extern "C" fn(*mut c_void, *mut Str, *mut *mut c_void) -> c_int>,
}

impl Methods {
    pub(super) const VERSION: u64 = 3;
}

/// `RedisModuleCommandInfoVersion`: the sizes of the structs that a [`CommandInfo`] points to.
#[repr(C)]
pub(super) struct CommandInfoVersion {
    pub(super) version: c_int,
    pub(super) history_entry: usize,
    pub(super) key_spec: usize,
    pub(super) argument: usize,
}

/// `RedisModuleCommandInfo`
#[repr(C)]
pub(super) struct CommandInfo {
    pub(super) version: *const CommandInfoVersion,
    pub(super) summary: *const c_char,
    pub(super) complexity: *const c_char,
    pub(super) since: *const c_char,
    pub(super) history: *const c_void,
    pub(super) tips: *const c_char,
    pub(super) arity: c_int,
    pub(super) key_specs: *const c_void,
    pub(super) arguments: *const CommandArgument,
}

/// `RedisModuleCommandArg`
#[repr(C)]
pub(super) struct CommandArgument {
    pub(super) name: *const c_char,
    pub(super) kind: c_int,
    pub(super) key_spec: c_int,
    pub(super) token: *const c_char,
    pub(super) summary: *const c_char,
    pub(super) since: *const c_char,
    pub(super) flags: c_int,
    pub(super) deprecated_since: *const c_char,
    pub(super) arguments: *const Self,
    pub(super) shown_as: *const c_char,
}

impl CommandArgument {
    /// The end of a list of arguments.
    pub(super) const END: Self = Self {
        name: ptr::null(),
        kind: 0,
        key_spec: 0,
        token: ptr::null(),
        summary: ptr::null(),
        since: ptr::null(),
        flags: 0,
        deprecated_since: ptr::null(),
        arguments: ptr::null(),
        shown_as: ptr::null(),
    };
}

// The size in the engine's header on 64-bit targets.
const _: () = assert!(size_of::<CommandArgument>() == 72);

/// `RedisModule_GetApi`: stores the function with this name at the pointer, or returns [`ERR`].
type GetApi = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int;

/// The engine lacks a function that the module requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this engine has no RedisModule_{0}: Redis 7.0, Valkey 7.2 or newer ones have it")]
pub(crate) struct MissingFunction(&'static str);

macro_rules! functions {
    (needed { $($needed:ident: $needed_type:ty;)* } optional { $($optional:ident: $optional_type:ty;)* }) => {
        /// The functions of the API. Functions that some engines lack are options.
        #[allow(non_snake_case)]
        pub(super) struct Api {
            $(pub(super) $needed: $needed_type,)*
            $(pub(super) $optional: Option<$optional_type>,)*
        }

        impl Api {
            /// # Safety
            ///
            /// `get` is the engine's function, and each function has the type declared here.
            unsafe fn look_up(get: GetApi) -> Result<Self, MissingFunction> {
                // SAFETY: the caller guarantees it.
                unsafe {
                    Ok(Self {
                        $($needed: find::<$needed_type>(get, name!($needed))
                            .ok_or(MissingFunction(stringify!($needed)))?,)*
                        $($optional: find::<$optional_type>(get, name!($optional)),)*
                    })
                }
            }
        }
    };
}

/// The name of a function in the engine.
macro_rules! name {
    ($function:ident) => {
        concat!("RedisModule_", stringify!($function), "\0")
    };
}

/// Returns the function with this name, which ends with a NUL.
///
/// # Safety
///
/// `get` is the engine's function, and `F` is the type of the requested function.
unsafe fn find<F>(get: GetApi, name: &'static str) -> Option<F> {
    const { assert!(size_of::<Option<F>>() == size_of::<*mut c_void>()) };
    let mut found: *mut c_void = ptr::null_mut();
    // SAFETY: `name` ends with a NUL, and `found` has room for a pointer to a function.
    let result = unsafe { get(name.as_ptr().cast(), (&raw mut found).cast()) };
    if result != OK || found.is_null() {
        return None;
    }
    // SAFETY: the engine stored a function of type `F`, and both types have the size of a pointer.
    Some(unsafe { std::mem::transmute_copy(&found) })
}

functions! {
    needed {
        Alloc: unsafe extern "C" fn(usize) -> *mut c_void;
        Calloc: unsafe extern "C" fn(usize, usize) -> *mut c_void;
        Free: unsafe extern "C" fn(*mut c_void);
        Log: unsafe extern "C" fn(*mut Ctx, *const c_char, *const c_char, ...);
        LogIOError: unsafe extern "C" fn(*mut Io, *const c_char, *const c_char, ...);
        SetModuleAttribs: unsafe extern "C" fn(*mut Ctx, *const c_char, c_int, c_int);
        SetModuleOptions: unsafe extern "C" fn(*mut Ctx, c_int);
        CreateCommand: unsafe extern "C" fn(*mut Ctx, *const c_char, CommandFn, *const c_char, c_int, c_int, c_int) -> c_int;
        IsKeysPositionRequest: unsafe extern "C" fn(*mut Ctx) -> c_int;
        KeyAtPos: unsafe extern "C" fn(*mut Ctx, c_int);
        GetCommand: unsafe extern "C" fn(*mut Ctx, *const c_char) -> *mut Command;
        CreateDataType: unsafe extern "C" fn(*mut Ctx, *const c_char, c_int, *mut Methods) -> *mut Type;
        RegisterNumericConfig: unsafe extern "C" fn(*mut Ctx, *const c_char, c_longlong, c_uint, c_longlong, c_longlong, GetNumberFn, SetNumberFn, Option<ApplyFn>, *mut c_void) -> c_int;
        RegisterStringConfig: unsafe extern "C" fn(*mut Ctx, *const c_char, *const c_char, c_uint, GetTextFn, SetTextFn, Option<ApplyFn>, *mut c_void) -> c_int;
        LoadConfigs: unsafe extern "C" fn(*mut Ctx) -> c_int;
        RegisterInfoFunc: unsafe extern "C" fn(*mut Ctx, InfoFn) -> c_int;
        InfoAddSection: unsafe extern "C" fn(*mut InfoCtx, *const c_char) -> c_int;
        InfoAddFieldULongLong: unsafe extern "C" fn(*mut InfoCtx, *const c_char, c_ulonglong) -> c_int;
        GetContextFlags: unsafe extern "C" fn(*mut Ctx) -> c_int;
        GetServerInfo: unsafe extern "C" fn(*mut Ctx, *const c_char) -> *mut ServerInfo;
        FreeServerInfo: unsafe extern "C" fn(*mut Ctx, *mut ServerInfo);
        ServerInfoGetFieldUnsigned: unsafe extern "C" fn(*mut ServerInfo, *const c_char, *mut c_int) -> c_ulonglong;
        OpenKey: unsafe extern "C" fn(*mut Ctx, *mut Str, c_int) -> *mut Key;
        CloseKey: unsafe extern "C" fn(*mut Key);
        KeyType: unsafe extern "C" fn(*mut Key) -> c_int;
        DeleteKey: unsafe extern "C" fn(*mut Key) -> c_int;
        ModuleTypeGetType: unsafe extern "C" fn(*mut Key) -> *mut Type;
        ModuleTypeGetValue: unsafe extern "C" fn(*mut Key) -> *mut c_void;
        ModuleTypeSetValue: unsafe extern "C" fn(*mut Key, *mut Type, *mut c_void) -> c_int;
        CreateString: unsafe extern "C" fn(*mut Ctx, *const c_char, usize) -> *mut Str;
        FreeString: unsafe extern "C" fn(*mut Ctx, *mut Str);
        RetainString: unsafe extern "C" fn(*mut Ctx, *mut Str);
        StringPtrLen: unsafe extern "C" fn(*const Str, *mut usize) -> *const c_char;
        ReplyWithArray: unsafe extern "C" fn(*mut Ctx, c_long) -> c_int;
        ReplyWithBool: unsafe extern "C" fn(*mut Ctx, c_int) -> c_int;
        ReplyWithError: unsafe extern "C" fn(*mut Ctx, *const c_char) -> c_int;
        ReplyWithLongLong: unsafe extern "C" fn(*mut Ctx, c_longlong) -> c_int;
        ReplyWithMap: unsafe extern "C" fn(*mut Ctx, c_long) -> c_int;
        ReplyWithNull: unsafe extern "C" fn(*mut Ctx) -> c_int;
        ReplyWithNullArray: unsafe extern "C" fn(*mut Ctx) -> c_int;
        ReplyWithSimpleString: unsafe extern "C" fn(*mut Ctx, *const c_char) -> c_int;
        ReplyWithStringBuffer: unsafe extern "C" fn(*mut Ctx, *const c_char, usize) -> c_int;
        ReplyWithVerbatimString: unsafe extern "C" fn(*mut Ctx, *const c_char, usize) -> c_int;
        Call: unsafe extern "C" fn(*mut Ctx, *const c_char, *const c_char, ...) -> *mut CallReply;
        CallReplyType: unsafe extern "C" fn(*mut CallReply) -> c_int;
        CallReplyStringPtr: unsafe extern "C" fn(*mut CallReply, *mut usize) -> *const c_char;
        FreeCallReply: unsafe extern "C" fn(*mut CallReply);
        Replicate: unsafe extern "C" fn(*mut Ctx, *const c_char, *const c_char, ...) -> c_int;
        ReplicateVerbatim: unsafe extern "C" fn(*mut Ctx) -> c_int;
        SignalModifiedKey: unsafe extern "C" fn(*mut Ctx, *mut Str) -> c_int;
        NotifyKeyspaceEvent: unsafe extern "C" fn(*mut Ctx, c_int, *const c_char, *mut Str) -> c_int;
        SaveUnsigned: unsafe extern "C" fn(*mut Io, u64);
        LoadUnsigned: unsafe extern "C" fn(*mut Io) -> u64;
        SaveStringBuffer: unsafe extern "C" fn(*mut Io, *const c_char, usize);
        LoadStringBuffer: unsafe extern "C" fn(*mut Io, *mut usize) -> *mut c_char;
        IsIOError: unsafe extern "C" fn(*mut Io) -> c_int;
        EmitAOF: unsafe extern "C" fn(*mut Io, *const c_char, *const c_char, ...);
        DigestAddStringBuffer: unsafe extern "C" fn(*mut Digest, *const c_char, usize);
        DigestEndSequence: unsafe extern "C" fn(*mut Digest);
        BlockClient: unsafe extern "C" fn(*mut Ctx, Option<CommandFn>, Option<CommandFn>, Option<FreeFn>, c_longlong) -> *mut Blocked;
        UnblockClient: unsafe extern "C" fn(*mut Blocked, *mut c_void) -> c_int;
        AbortBlock: unsafe extern "C" fn(*mut Blocked) -> c_int;
        GetThreadSafeContext: unsafe extern "C" fn(*mut Blocked) -> *mut Ctx;
        ThreadSafeContextLock: unsafe extern "C" fn(*mut Ctx);
        ThreadSafeContextUnlock: unsafe extern "C" fn(*mut Ctx);
        FreeThreadSafeContext: unsafe extern "C" fn(*mut Ctx);
        CreateTimer: unsafe extern "C" fn(*mut Ctx, c_longlong, TimerFn, *mut c_void) -> u64;
        SubscribeToKeyspaceEvents: unsafe extern "C" fn(*mut Ctx, c_int, EventFn) -> c_int;
        GetMyClusterID: unsafe extern "C" fn() -> *const c_char;
        GetClusterNodeInfo: unsafe extern "C" fn(*mut Ctx, *const c_char, *mut c_char, *mut c_char, *mut c_int, *mut c_int) -> c_int;
    }
    optional {
        TryAlloc: unsafe extern "C" fn(usize) -> *mut c_void;
        TryCalloc: unsafe extern "C" fn(usize, usize) -> *mut c_void;
        AddACLCategory: unsafe extern "C" fn(*mut Ctx, *const c_char) -> c_int;
        SetCommandACLCategories: unsafe extern "C" fn(*mut Command, *const c_char) -> c_int;
        SetCommandInfo: unsafe extern "C" fn(*mut Command, *const CommandInfo) -> c_int;
        AvoidReplicaTraffic: unsafe extern "C" fn() -> c_int;
        RedactClientCommandArgument: unsafe extern "C" fn(*mut Ctx, c_int) -> c_int;
    }
}

static API: OnceLock<Api> = OnceLock::new();

/// Looks up all functions, from the context of `RedisModule_OnLoad`. Nothing may be allocated before.
///
/// # Safety
///
/// `context` is the context that the engine passed to `RedisModule_OnLoad`.
pub(super) unsafe fn load(context: *mut Ctx) -> Result<(), MissingFunction> {
    // SAFETY: the first word of this context is `GetApi`.
    let get = unsafe { *context.cast::<GetApi>() };
    // SAFETY: the function is the engine's, and the types are those of its header.
    let api = unsafe { Api::look_up(get) };
    let api = api.inspect_err(|missing| {
        // SAFETY: as above.
        let log = unsafe {
            find::<unsafe extern "C" fn(*mut Ctx, *const c_char, *const c_char, ...)>(
                get,
                name!(Log),
            )
        };
        if let Some(log) = log {
            let text = c"guira: not loaded, as this engine has no RedisModule_%.*s: use Redis 7.0, Valkey 7.2 or newer ones";
            let length = missing.0.len() as c_int;
            // SAFETY: `%.*s` takes an int, and a pointer to that number of bytes.
            unsafe {
                log(context, c"warning".as_ptr(), text.as_ptr(), length, missing.0.as_ptr());
            }
        }
    })?;
    // A second load of the module, which the engine refuses later, has found the same functions.
    let _ = API.set(api);
    Ok(())
}

/// The functions, if they have been looked up.
#[inline]
pub(super) fn loaded() -> Option<&'static Api> {
    API.get()
}

/// The functions.
#[inline]
pub(super) fn api() -> &'static Api {
    match API.get() {
        Some(api) => api,
        // `RedisModule_OnLoad`, which looks the functions up, is the first call of the module.
        None => unreachable!("the engine's functions have not been looked up"),
    }
}

/// Returns the bytes of a string of the engine.
///
/// # Safety
///
/// `string` is a string of the engine that does not change during `'a`.
pub(super) unsafe fn bytes<'a>(api: &Api, string: *const Str) -> &'a [u8] {
    let mut length = 0;
    // SAFETY: the caller guarantees it.
    let begin = unsafe { (api.StringPtrLen)(string, &mut length) };
    if begin.is_null() {
        return &[];
    }
    // SAFETY: `begin` points to `length` bytes.
    unsafe { std::slice::from_raw_parts(begin.cast(), length) }
}

/// Converts a text for the engine: appends a NUL, and replaces NULs within it.
pub(super) fn with_nul(text: &str) -> std::ffi::CString {
    let bytes = text.bytes().map(|byte| if byte == 0 { b'?' } else { byte });
    std::ffi::CString::new(bytes.collect::<Vec<_>>()).unwrap_or_default()
}

/// The log level for messages that operators should read.
pub(super) const WARNING: &CStr = c"warning";

/// Writes a warning to the engine's log, from any thread. Without an engine, as in unit tests, writes
/// to standard error.
pub(crate) fn warn(text: &str) {
    let Some(api) = loaded() else {
        eprintln!("guira: {text}");
        return;
    };
    let text = with_nul(text);
    // SAFETY: no context is needed, and `%s` takes a pointer to a text that ends with a NUL.
    unsafe {
        (api.Log)(
            ptr::null_mut(),
            WARNING.as_ptr(),
            c"guira: %s".as_ptr(),
            text.as_ptr(),
        );
    }
}
