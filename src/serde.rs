//! Feature `serde`: a filter is serialized as its hasher and the bytes of its snapshot.

use crate::{filter::Filter, hash::SeededState, lifetime::Lifetime};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeSeed, Error, SeqAccess, Visitor},
    ser::SerializeTuple,
};
use std::{fmt, hash::BuildHasher, marker::PhantomData};

/// The most memory to reserve for a length that the serialized form claims.
const TRUSTED: usize = 4096;

/// The hasher as its seed, a `u64`.
///
/// ```
/// use guira::SeededState;
///
/// assert_eq!(serde_json::to_string(&SeededState::new(7))?, "7");
/// # Ok::<(), serde_json::Error>(())
/// ```
impl Serialize for SeededState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.seed())
    }
}

/// The hasher from its seed, a `u64`.
impl<'de> Deserialize<'de> for SeededState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(Self::new)
    }
}

/// The filter as a pair: its hasher, and the bytes of [`to_bytes`](crate::CuckooFilter::to_bytes). Other
/// threads may use the filter during the call.
///
/// ```
/// use guira::{CuckooFilter, ExpiringFilter};
/// use std::time::Duration;
///
/// let filter = CuckooFilter::with_capacity(100);
/// filter.insert("ani")?;
/// let text = serde_json::to_string(&filter)?;
/// let copy: CuckooFilter = serde_json::from_str(&text)?;
/// assert!(copy.contains("ani"));
///
/// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
/// filter.insert("ani")?;
/// let text = serde_json::to_string(&filter)?;
/// let copy: ExpiringFilter = serde_json::from_str(&text)?;
/// assert!(copy.contains("ani"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<H: BuildHasher + Serialize + 'static, T: Lifetime> Serialize for Filter<H, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut pair = serializer.serialize_tuple(2)?;
        pair.serialize_element(self.hasher())?;
        pair.serialize_element(&Bytes(self.to_bytes()))?;
        pair.end()
    }
}

/// The filter from its hasher and the bytes of a snapshot, by
/// [`Restore::from_bytes`](crate::Restore::from_bytes). Untrusted input results in an
/// error.
impl<'de, H: BuildHasher + Deserialize<'de> + 'static, T: Lifetime> Deserialize<'de>
    for Filter<H, T>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple(2, Pair(PhantomData))
    }
}

struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

/// Takes a hasher and a snapshot.
struct Pair<H, T>(PhantomData<(H, T)>);

impl<'de, H: BuildHasher + Deserialize<'de> + 'static, T: Lifetime> Visitor<'de> for Pair<H, T> {
    type Value = Filter<H, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the hasher and the snapshot of a cuckoo filter")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<Self::Value, A::Error> {
        let hasher = pair.next_element()?;
        let hasher = hasher.ok_or_else(|| A::Error::invalid_length(0, &self))?;
        let filter = pair.next_element_seed(Snapshot(hasher, PhantomData))?;
        filter.ok_or_else(|| A::Error::invalid_length(1, &self))
    }
}

/// Takes the bytes of a snapshot that was made with this hasher, or a sequence of them
/// from a format that knows no bytes.
struct Snapshot<H, T>(H, PhantomData<T>);

impl<'de, H: BuildHasher + 'static, T: Lifetime> DeserializeSeed<'de> for Snapshot<H, T> {
    type Value = Filter<H, T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_bytes(self)
    }
}

impl<'de, H: BuildHasher + 'static, T: Lifetime> Visitor<'de> for Snapshot<H, T> {
    type Value = Filter<H, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of a snapshot of a cuckoo filter")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        let restored = Filter::restore().hasher(self.0).from_bytes(bytes);
        restored.map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        let expected = sequence.size_hint().unwrap_or(0).min(TRUSTED);
        let mut bytes = Vec::with_capacity(expected);
        while let Some(byte) = sequence.next_element()? {
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}
