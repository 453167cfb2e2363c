//! Predicts how guira scales to more cores than the machine at hand has.
//!
//! The library's own operations run in simulated threads. A model of caches and coherence computes
//! the cost of each access to a shared word on a given [`processor`]. The thread with the earliest
//! simulated time runs next. `README.md` says what the model leaves out.

#![forbid(unsafe_code)]

mod cache;
pub mod machine;
pub mod processor;
pub mod simulation;
pub mod workload;
