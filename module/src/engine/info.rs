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

/// A function that writes the section.
pub(crate) type Write = fn(&Section);

static WRITE: OnceLock<Write> = OnceLock::new();

/// The engine refused the section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the engine refuses the module's section of INFO")]
pub(crate) struct SectionRefused;

impl Context {
    pub(crate) fn register_info(&self, write: Write) -> Result<(), SectionRefused> {
        // Each load of the module passes the same function.
        let _ = WRITE.set(write);
        // SAFETY: the context is valid.
        match unsafe { (api().RegisterInfoFunc)(self.raw(), info) } {
            OK => Ok(()),
            _ => Err(SectionRefused),
        }
    }
}

impl Section {
    /// True in a crash report. A thread that holds a lock may have died.
    pub(crate) fn is_crash_report(&self) -> bool {
        self.is_crash_report
    }

    pub(crate) fn number(&self, name: &CStr, number: u64) {
        // SAFETY: the section is being written, and the engine copies the name.
        unsafe {
            (api().InfoAddFieldULongLong)(self.raw, name.as_ptr(), number as c_ulonglong);
        }
    }
}

unsafe extern "C" fn info(context: *mut api::InfoCtx, for_crash_report: c_int) {
    let write = || {
        // SAFETY: the engine passes a context that is valid during this call. A section without a
        // name has the module's name. The engine omits it if no client requested it.
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
