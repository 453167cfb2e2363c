//! The Redis serialization protocol: decodes requests and encodes replies.

mod decode;
mod encode;
mod error;
mod inline;
mod limits;
mod request;
mod scan;

pub use decode::Decoder;
pub(crate) use encode::append;
pub use encode::{Protocol, encode};
pub use error::ProtocolError;
pub use limits::Limits;
pub use request::Request;
