//! The module's section of `INFO`.

use super::{
    api::{self, InfoCtx, OK, api},
    border::guarded,
    context::Context,
};
use std::{
    ffi::{CStr, c_int, c_ulonglong},
    sync::OnceLock,
};

/// A section of `INFO` that is being written.
#[derive(Debug)]
pub(crate) struct Section {
    raw: *mut InfoCtx,
    is_crash_report: bool,
}

/// What writes it.
pub(crate) type Write = fn(&Section);

static WRITE: OnceLock<Write> = OnceLock::new();

/// The engine refuses the section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the engine refuses the module's section of INFO")]
pub(crate) struct SectionRefused;

impl Context {
    pub(crate) fn register_info(&self, write: Write) -> Result<(), SectionRefused> {
        // Each load of the module has the same function.
        let _ = WRITE.set(write);
        // SAFETY: the context is valid.
        match unsafe { (api().RegisterInfoFunc)(self.raw(), info) } {
            OK => Ok(()),
            _ => Err(SectionRefused),
        }
    }
}

impl Section {
    /// True if the engine has crashed. The thread that holds a lock may be dead then.
    pub(crate) fn is_crash_report(&self) -> bool {
        self.is_crash_report
    }

    pub(crate) fn number(&self, name: &CStr, number: u64) {
        // SAFETY: it is being written, and the engine copies the name.
        unsafe {
            (api().InfoAddFieldULongLong)(self.raw, name.as_ptr(), number as c_ulonglong);
        }
    }
}

unsafe extern "C" fn info(context: *mut api::InfoCtx, for_crash_report: c_int) {
    let write = || {
        // SAFETY: the engine hands over what it writes to during this call. Without a name the
        // section has the module's. It is omitted if no client asked for it.
        if unsafe { (api().InfoAddSection)(context, c"".as_ptr()) } == OK
            && let Some(write) = WRITE.get()
        {
            write(&Section {
                raw: context,
                is_crash_report: for_crash_report != 0,
            });
        }
    };
    guarded("INFO", write, || ());
}
