//! Feature `serde`: a filter is serialized as the bytes of its snapshot.

use crate::{error::SnapshotError, filter::CuckooFilter};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, SeqAccess, Visitor},
};
use std::fmt;

/// Memory that a format's own claim about the length of the bytes may take up.
const TRUSTED: usize = 4096;

/// As the bytes of [`to_bytes`](CuckooFilter::to_bytes), while any number of
/// threads go on.
impl Serialize for CuckooFilter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.to_bytes())
    }
}

/// As by [`from_bytes`](CuckooFilter::from_bytes).
impl<'de> Deserialize<'de> for CuckooFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(Bytes)
    }
}

/// Takes bytes, or a sequence of them from a format that knows no bytes.
struct Bytes;

impl<'de> Visitor<'de> for Bytes {
    type Value = CuckooFilter;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of a snapshot of a cuckoo filter")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<CuckooFilter, E> {
        CuckooFilter::from_bytes(bytes).map_err(|error: SnapshotError| E::custom(error))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<CuckooFilter, A::Error> {
        let expected = sequence.size_hint().unwrap_or(0).min(TRUSTED);
        let mut bytes = Vec::with_capacity(expected);
        while let Some(byte) = sequence.next_element()? {
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}
