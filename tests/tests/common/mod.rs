//! What several laws share. `cards`, `files`, `prose` and `sentences` are for the documents' tests,
//! and `limited` for those that limit memory.

pub(crate) mod batch;
pub(crate) mod class_digest;
pub(crate) mod classes;
pub(crate) mod distinct;
pub(crate) mod event;
pub(crate) mod filters;
pub(crate) mod history;
pub(crate) mod owned;
pub(crate) mod round;
pub(crate) mod shared;
pub(crate) mod step;
pub(crate) mod wgl;
pub(crate) mod windows;
