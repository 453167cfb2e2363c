//! The exports for the page. A command is written to [`input`], [`begin`] executes it, and
//! [`output`] has the reply.
//!
//! If `begin` or `finish` returns true, the page calls `go`, which performs an operation. It traps
//! if the operation stops in its middle, and the page restores the stack pointer. Then the page
//! calls `finish`.

use crate::{
    run,
    session::{Reply, Session},
};
use std::cell::RefCell;

thread_local! {
    static SESSION: RefCell<Session> = RefCell::default();
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<String> = const { RefCell::new(String::new()) };
    static OPERATION: RefCell<Option<run::Operation>> = const { RefCell::new(None) };
}

/// Reserves memory for a command of `len` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn input(len: usize) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        input.clear();
        input.resize(len, 0);
        input.as_mut_ptr()
    })
}

/// Executes the command. True if [`go`] and [`finish`] must be called.
#[unsafe(no_mangle)]
pub extern "C" fn begin() -> bool {
    let command = INPUT.with_borrow(|input| String::from_utf8_lossy(input).into_owned());
    let reply = SESSION.with_borrow_mut(|session| session.call(&command));
    takes(reply)
}

/// Performs the operation.
#[unsafe(no_mangle)]
pub extern "C" fn go() {
    if let Some(operation) = OPERATION.take() {
        run::go(operation);
    }
}

/// Continues after [`go`]. True if both must be called again.
#[unsafe(no_mangle)]
pub extern "C" fn finish() -> bool {
    let progress = run::finish();
    let reply = SESSION.with_borrow_mut(|session| session.finish(progress));
    takes(reply)
}

fn takes(reply: Reply) -> bool {
    match reply {
        Reply::Text(text) => {
            OUTPUT.set(text);
            false
        }
        Reply::Run(operation) => {
            OPERATION.set(Some(operation));
            true
        }
    }
}

/// The address of the reply.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    OUTPUT.with_borrow(|output| output.as_ptr())
}

/// The length of the reply in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn output_len() -> usize {
    OUTPUT.with_borrow(String::len)
}
