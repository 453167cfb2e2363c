//! Code that several tests share. Other files of this directory belong to one test binary each.

pub(crate) mod batch;
pub(crate) mod class_digest;
pub(crate) mod classes;
pub(crate) mod distinct;
pub(crate) mod event;
pub(crate) mod example;
pub(crate) mod filters;
pub(crate) mod history;
pub(crate) mod identity;
pub(crate) mod owned;
pub(crate) mod round;
pub(crate) mod shared;
pub(crate) mod step;
pub(crate) mod stop;
pub(crate) mod stress;
pub(crate) mod wgl;
pub(crate) mod windows;
