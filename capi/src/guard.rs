//! Every exported function runs in here: a panic becomes a status, and never reaches the caller.

use crate::status::{Failure, Status};
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// The status of `body`. Filters stay valid when a call unwinds, as no step leaves a word half
/// written, so the assertion of unwind safety holds.
#[inline(always)]
pub(crate) fn status(body: impl FnOnce() -> Result<(), Failure>) -> Status {
    match catch_unwind(AssertUnwindSafe(|| {
        injected();
        body()
    })) {
        Ok(Ok(())) => Status::Ok,
        Ok(Err(Failure(status))) => status,
        Err(panic) => internal(panic).0,
    }
}

/// The value of `body`; `invalid` for invalid arguments, and `panicked` after a panic.
#[inline(always)]
pub(crate) fn value<T>(invalid: T, panicked: T, body: impl FnOnce() -> Result<T, Failure>) -> T {
    match catch_unwind(AssertUnwindSafe(|| {
        injected();
        body()
    })) {
        Ok(result) => result.unwrap_or(invalid),
        Err(panic) => {
            internal(panic);
            panicked
        }
    }
}

/// Takes the panic, so that nothing is left to do in the caller, which would save registers for it.
#[cold]
#[inline(never)]
fn internal(panic: Box<dyn Any + Send>) -> Failure {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("an unknown value");
    Failure::new(Status::Internal, format_args!("guira panicked: {text}"))
}

#[cfg(not(feature = "faults"))]
#[inline(always)]
fn injected() {}

#[cfg(feature = "faults")]
thread_local! {
    static PANIC: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

#[cfg(feature = "faults")]
fn injected() {
    assert!(!PANIC.get(), "on demand");
}

/// From now on each call of this thread panics inside, or none does.
#[cfg(feature = "faults")]
#[allow(unsafe_code)]
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub extern "C" fn guira_fault_panic(panic: bool) {
    PANIC.set(panic);
    if panic {
        // The test expects each of them.
        std::panic::set_hook(Box::new(|_| ()));
    }
}
