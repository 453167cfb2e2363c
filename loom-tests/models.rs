//! The models of all files in `tests/`, or of the files that `GUIRA_LOOM_FILES` names: see `build.rs`.
#![cfg(guira_loom)]

/// What several files of models use.
#[path = "tests/common"]
#[allow(dead_code, reason = "not every file is always compiled")]
mod common {
    pub(crate) mod expiring;
    pub(crate) mod find;
    pub(crate) mod levels;
    pub(crate) mod moves;
    pub(crate) mod processes;
    pub(crate) mod removes;
    pub(crate) mod splits;
}

mod models {
    include!(concat!(env!("OUT_DIR"), "/models.rs"));
}
