//! The library's own code, one step at a time, for the page in `docs/watch/`.
//!
//! Exists only under `cfg(guira_faults)`: `watch/build.sh` compiles it to WebAssembly.
//!
//! * `run` makes one operation, notes what each of its steps did, and can stop before any step.
//! * `session` is what the page talks to: a filter, the operations on it, and threads that take
//!   turns.
//! * `duets` lists the scenes of several threads, with the schedules that matter.
#![cfg(guira_faults)]

pub mod duets;
mod json;
pub mod run;
pub mod session;
pub mod threads;
#[cfg(target_family = "wasm")]
pub mod wasm;
