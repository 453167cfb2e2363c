//! Filters that several processes share, and readers of them.

mod errors;
mod expiring;
mod files;
mod filter;
mod reader;

pub(crate) use errors::SharedFileError;
pub(crate) use expiring::{SharedExpiringFilter, restore_shared_expiring_filter};
pub(crate) use files::Participants;
pub(crate) use filter::{SharedFilter, restore_shared_filter};
pub(crate) use reader::{
    SharedExpiringReader, SharedReader, restore_shared_expiring_reader, restore_shared_reader,
};
