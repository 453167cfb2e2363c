//! The library's own code, one step at a time, for the page in `docs/watch/`.
//!
//! The crate has content only under `cfg(guira_faults)`. `watch/build.sh` compiles it to
//! WebAssembly.
//!
//! * `run` performs one operation, records the effect of each step, and can stop before any step.
//! * `session` is the interface of the page: a filter, the operations on it, and threads that take
//!   turns.
//! * `duets` lists the scenes of several threads, with interesting schedules.
#![cfg(guira_faults)]

pub mod duets;
mod json;
pub mod run;
pub mod session;
pub mod threads;
#[cfg(target_family = "wasm")]
pub mod wasm;
