//! Feature `serde`: a filter goes through text and binary formats as its hasher and the
//! bytes of its snapshot.

use super::common::{
    allocated::allocated_by,
    damaged::assert_postcard_is_refused,
    layouts::{LAYOUTS, fill, filter},
};
use guira::{CuckooFilter, SeededState};
use serde::{
    Deserialize, Serialize,
    de::{
        DeserializeSeed, IntoDeserializer, SeqAccess,
        value::{self, SeqAccessDeserializer},
    },
};
use std::hash::{BuildHasher, Hasher};

/// What an application keeps beside a filter.
#[derive(Serialize, Deserialize)]
struct Saved {
    name: String,
    seen: CuckooFilter,
    generation: u32,
}

fn saved(bits: u32) -> Saved {
    let seen = filter(bits, 500);
    fill(&seen, 0..seen.max_capacity());
    Saved {
        name: "seen".into(),
        seen,
        generation: 7,
    }
}

fn assert_same(restored: &Saved, saved: &Saved) {
    assert_eq!(restored.seen.to_bytes(), saved.seen.to_bytes());
    assert_eq!(restored.name, saved.name);
    assert_eq!(restored.generation, saved.generation);
}

#[test]
fn json() {
    for bits in LAYOUTS {
        let saved = saved(bits);
        let text = serde_json::to_string(&saved).expect("text");
        assert_same(&serde_json::from_str(&text).expect("a filter"), &saved);
        let reader = text.as_bytes();
        assert_same(&serde_json::from_reader(reader).expect("a filter"), &saved);
    }
}

#[test]
fn postcard() {
    for bits in LAYOUTS {
        let saved = saved(bits);
        let bytes = postcard::to_stdvec(&saved).expect("bytes");
        let snapshot = saved.seen.to_bytes();
        assert!(
            bytes.len() < snapshot.len() + 24,
            "little but the hasher is added"
        );
        assert!(bytes.windows(snapshot.len()).any(|part| part == snapshot));
        assert_same(&postcard::from_bytes(&bytes).expect("a filter"), &saved);
    }
}

/// A hasher with a key of 16 bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Keyed {
    key: [u64; 2],
}

struct KeyedHasher<H> {
    inner: H,
    key: u64,
}

impl BuildHasher for Keyed {
    type Hasher = KeyedHasher<<SeededState as BuildHasher>::Hasher>;

    fn build_hasher(&self) -> Self::Hasher {
        KeyedHasher {
            inner: SeededState::new(self.key[0]).build_hasher(),
            key: self.key[1],
        }
    }
}

impl<H: Hasher> Hasher for KeyedHasher<H> {
    fn write(&mut self, bytes: &[u8]) {
        self.inner.write(bytes);
    }

    fn finish(&self) -> u64 {
        self.inner.finish() ^ self.key
    }
}

fn keyed() -> CuckooFilter<Keyed> {
    let hasher = Keyed { key: [7, 1 << 63] };
    let builder = CuckooFilter::builder().capacity(1_000).hasher(hasher);
    let filter = builder.build().expect("a filter");
    for item in 0..1_000_u64 {
        filter.insert(&item).expect("1 000 items fit");
    }
    filter
}

#[test]
fn a_hasher_of_ones_own_comes_with_its_filter() {
    let filter = keyed();
    let text = serde_json::to_string(&filter).expect("text");
    let bytes = postcard::to_stdvec(&filter).expect("bytes");
    let restored: [CuckooFilter<Keyed>; 2] = [
        serde_json::from_str(&text).expect("a filter"),
        postcard::from_bytes(&bytes).expect("a filter"),
    ];
    for restored in restored {
        assert_eq!(restored.hasher(), filter.hasher());
        assert_eq!(restored.to_bytes(), filter.to_bytes());
        assert!((0..1_000_u64).all(|item| restored.contains(&item)));
    }
}

#[test]
fn another_key_is_refused() {
    let mut value = serde_json::to_value(keyed()).expect("a value");
    value[0]["key"][1] = 0.into();
    let error = serde_json::from_value::<CuckooFilter<Keyed>>(value).expect_err("another key");
    let error = error.to_string();
    assert!(error.contains("was made with another hasher"), "{error}");
}

#[test]
fn another_seed_is_refused() {
    let filter = filter(15, 20);
    let mut value = serde_json::to_value(&filter).expect("a value");
    assert_eq!(value[0], filter.hasher().seed());
    value[0] = 1.into();
    let error = serde_json::from_value::<CuckooFilter>(value).expect_err("another seed");
    let error = error.to_string();
    assert!(error.contains("was made with another hasher"), "{error}");
}

#[test]
fn the_default_hasher_is_its_seed() {
    for seed in [0, 7, u64::MAX] {
        let state = SeededState::new(seed);
        let text = serde_json::to_string(&state).expect("text");
        assert_eq!(text, seed.to_string());
        let restored: SeededState = serde_json::from_str(&text).expect("a seed");
        assert_eq!(restored.seed(), seed);
        assert_eq!(restored.hash_one("ani"), state.hash_one("ani"));
    }
}

/// A format that has a seed and then, so it says, bytes without end.
#[derive(Default)]
struct Liar {
    elements: usize,
}

/// Bytes that are claimed and missing.
struct Claimed;

impl<'de> SeqAccess<'de> for Liar {
    type Error = value::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, value::Error> {
        self.elements += 1;
        match self.elements {
            1 => seed.deserialize(7_u64.into_deserializer()),
            _ => seed.deserialize(SeqAccessDeserializer::new(Claimed)),
        }
        .map(Some)
    }
}

impl<'de> SeqAccess<'de> for Claimed {
    type Error = value::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        _: T,
    ) -> Result<Option<T::Value>, value::Error> {
        Ok(None)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(1 << 40)
    }
}

/// A length that the bytes do not have is not believed.
#[test]
fn a_claim_about_the_length_takes_no_memory() {
    let deserializer = SeqAccessDeserializer::new(Liar::default());
    let (result, allocated) =
        allocated_by(|| CuckooFilter::<SeededState>::deserialize(deserializer));
    let error = result.expect_err("no bytes").to_string();
    assert_eq!(error, "the snapshot is truncated");
    assert!(allocated < 64 << 10, "{allocated} bytes were allocated");
}

/// The bytes of a snapshot may be hostile in whatever format they come: no part of them, and
/// no change of a byte, panics.
#[test]
fn damage_is_an_error() {
    let bytes = postcard::to_stdvec(&filter(15, 20)).expect("bytes");
    assert_postcard_is_refused::<CuckooFilter>(&bytes);
}

#[test]
fn errors_say_what_is_wrong() {
    let filter = filter(15, 20);
    let text = serde_json::to_string(&filter).expect("text");
    let error = |text: &str| {
        let error = serde_json::from_str::<CuckooFilter>(text).expect_err("no filter");
        error.to_string()
    };
    for (text, expected) in [
        (text.replacen("103", "104", 1), "this is not a snapshot"),
        (text.replace("]]", ",0]]"), "1 bytes follow the snapshot"),
        (
            "12".into(),
            "expected the hasher and the snapshot of a cuckoo filter",
        ),
        (
            "[]".into(),
            "invalid length 0, expected the hasher and the snapshot",
        ),
        (
            "[1]".into(),
            "invalid length 1, expected the hasher and the snapshot",
        ),
        (
            "[1,2]".into(),
            "expected the bytes of a snapshot of a cuckoo filter",
        ),
        ("[1,[]]".into(), "the snapshot is truncated"),
        ("[1,[256]]".into(), "256"),
        (text.replace("]]", "],0]"), "trailing characters"),
        ("[-1,[]]".into(), "-1"),
    ] {
        let error = error(&text);
        assert!(error.contains(expected), "{error}, not {expected}");
    }
}
