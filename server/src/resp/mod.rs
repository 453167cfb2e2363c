//! The Redis serialization protocol: bytes to requests, replies to bytes.

mod decode;
mod encode;
mod gauge;
mod inline;

pub use decode::{Decoder, Limits, ProtocolError, Request};
pub use encode::{Protocol, encode};
