//! The Redis serialization protocol: bytes to requests, replies to bytes.

mod decode;
mod encode;
mod error;
mod gauge;
mod inline;
mod limits;

pub use decode::{Decoder, Request};
pub use encode::{Protocol, encode};
pub use error::ProtocolError;
pub use limits::Limits;
