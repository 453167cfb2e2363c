//! Commands on several filters: they combine the filter of a key with those of other keys.
//!
//! A filter can lack room for the copies of another one, which is known only in the end. So a command that
//! adds first combines a copy of the filter. If that fails, nothing has changed.

use crate::{
    Answer, Args, Filter, MakeError, Reply, Store,
    cf::full,
    filter::CombineError,
    store::{Work, filter_of, get, get_to_read, missing, shown, source},
};
use guira::{InsertError, MergeError};
use sha2::{Digest, Sha256};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use thiserror::Error;

/// The maximum time for which a command is repeated that meets other commands.
const PATIENCE: Duration = Duration::from_secs(1);

/// The number of bytes of a digest.
const DIGEST_BYTES: usize = 16;

/// A way to combine a filter with another one.
struct Way {
    combine: fn(&Filter, &Filter) -> Result<(), CombineError>,
    /// The number of items for which there has to be room, of the numbers before.
    items: fn(usize, usize) -> usize,
    /// True if it adds copies, for which there may be no room.
    adds: bool,
    /// True if a missing key becomes a copy of the first of the others.
    makes: bool,
    /// True if the same call again does the rest of what a call has begun.
    is_repeatable: bool,
}

const MERGE: Way = Way {
    combine: Filter::merge,
    items: usize::saturating_add,
    adds: true,
    makes: true,
    is_repeatable: false,
};

const UNION: Way = Way {
    combine: Filter::union_with,
    items: usize::max,
    adds: true,
    makes: true,
    is_repeatable: true,
};

const INTERSECTION: Way = Way {
    combine: Filter::intersect_with,
    items: usize::min,
    adds: false,
    makes: true,
    is_repeatable: true,
};

/// A missing key stays missing: a copy of another one would have what is to be removed.
const DIFFERENCE: Way = Way {
    combine: Filter::difference_with,
    items: |own, _| own,
    adds: false,
    makes: false,
    is_repeatable: true,
};

/// The reason why filters were not combined. Nothing has changed unless the text says so.
#[derive(Debug, Error)]
enum Refused {
    #[error("ERR source and destination objects are the same")]
    Same,
    #[error(
        "ERR '{source_key}' does not combine with '{key}': {why}; make one of them by CF.RESERVE with LIKE \
         and the other key"
    )]
    Unlike {
        key: String,
        source_key: String,
        why: String,
    },
    #[error("OOM {0}")]
    Memory(String),
    #[error("{why}: {copies} copies of '{source_key}' were added before, and {next}")]
    Begun {
        source_key: String,
        copies: usize,
        why: String,
        next: &'static str,
    },
    #[error("OOM there is no memory to read '{key}' to its end: {next}")]
    Unread { key: String, next: &'static str },
}

impl From<Refused> for Reply {
    fn from(refused: Refused) -> Self {
        Self::Error(refused.to_string().into())
    }
}

/// `CF.MERGE destination source [source]...`
pub(crate) fn merge<S: Store>(store: &S, args: Args<'_>) -> Answer {
    combine(store, args, &MERGE)
}

/// `CF.UNION destination source [source]...`
pub(crate) fn union<S: Store>(store: &S, args: Args<'_>) -> Answer {
    combine(store, args, &UNION)
}

/// `CF.INTERSECT destination source [source]...`
pub(crate) fn intersection<S: Store>(store: &S, args: Args<'_>) -> Answer {
    combine(store, args, &INTERSECTION)
}

/// `CF.DIFF destination source [source]...`
pub(crate) fn difference<S: Store>(store: &S, args: Args<'_>) -> Answer {
    combine(store, args, &DIFFERENCE)
}

/// `CF.DIGEST key`
pub(crate) fn digest<S: Store>(store: &S, args: Args<'_>) -> Answer {
    let &[_, key] = args else {
        return Err(Reply::wrong_arity(args[0]));
    };
    let kept = get_to_read(store, key)?.ok_or(Reply::error("ERR not found"))?;
    // The seed of a filter could be computed from the digest of the library.
    let digest = Sha256::digest(filter_of(&kept).digest().to_le_bytes());
    let digits = digest[..DIGEST_BYTES]
        .iter()
        .map(|byte| format!("{byte:02x}"));
    Ok(Reply::bulk(digits.collect::<String>()))
}

/// A filter that is read, with its key.
type Source<'a, S> = (&'a [u8], Arc<<S as Store>::Kept>);

fn combine<S: Store>(store: &S, args: Args<'_>, way: &Way) -> Answer {
    let [_, key, keys @ ..] = args else {
        return Err(Reply::wrong_arity(args[0]));
    };
    if keys.is_empty() {
        return Err(Reply::wrong_arity(args[0]));
    }
    if keys.contains(key) {
        return Err(Refused::Same.into());
    }
    if way.makes && store.refuses_growth() {
        return Err(Reply::OUT_OF_MEMORY);
    }
    let mut kept = get(store, key)?;
    if kept.is_none() && !way.makes {
        return Err(missing(key));
    }
    let sources = keys.iter().map(|&key| Ok((key, source(store, key)?)));
    let sources: Vec<Source<'_, S>> = sources.collect::<Result<_, Reply>>()?;
    loop {
        if let Some(kept) = kept {
            return combine_into(store, key, &kept, &sources, way);
        }
        let (_, first) = &sources[0];
        let filter = combined(store, key, filter_of(first), &sources[1..], way, 0)?;
        match store.put(key, filter) {
            // Another client was faster.
            Err(MakeError::Exists) => kept = get(store, key)?,
            made => {
                store.combined(key, &*made?);
                return Ok(Reply::OK);
            }
        }
    }
}

/// Combines the filter of `key` with others, while other commands use it.
fn combine_into<S: Store>(
    store: &S,
    key: &[u8],
    kept: &Arc<S::Kept>,
    sources: &[Source<'_, S>],
    way: &Way,
) -> Answer {
    let filter = filter_of(kept);
    if way.adds {
        let before = filter.memory_usage();
        drop(combined(store, key, filter, sources, way, before)?);
        // Expired copies may occupy slots.
        filter.sweep();
    } else {
        let slots = slots_of(filter, sources);
        store.may_combine(Work { slots, bytes: 0 })?;
        for (name, source) in sources {
            let checked = filter.check_combines(filter_of(source));
            checked.map_err(|error| refusal(key, name, filter, error, None))?;
        }
    }
    for (name, source) in sources {
        let done = one(store, filter, filter_of(source), way);
        store.combined(key, kept);
        done.map_err(|error| refusal(key, name, filter, error, Some(way)))?;
    }
    Ok(Reply::OK)
}

/// The slots of all these filters.
fn slots_of<K: AsRef<Filter>>(filter: &Filter, sources: &[(&[u8], Arc<K>)]) -> usize {
    let others = sources.iter().map(|(_, kept)| filter_of(kept).slots());
    others.fold(filter.slots(), usize::saturating_add)
}

/// A copy of a filter, combined with others. The filter of `key` takes `before` bytes, if it exists, and
/// is to become like the copy.
fn combined<S: Store>(
    store: &S,
    key: &[u8],
    filter: &Filter,
    sources: &[Source<'_, S>],
    way: &Way,
    before: usize,
) -> Result<Filter, Reply> {
    let items = sources.iter().map(|(_, kept)| filter_of(kept).in_use());
    let bytes = filter.bytes_with(items.fold(filter.in_use(), way.items));
    store.may_combine(Work {
        slots: slots_of(filter, sources),
        bytes: match before {
            0 => bytes,
            before => bytes.saturating_add(bytes.saturating_sub(before)),
        },
    })?;
    let copy = filter.duplicate();
    let copy = copy.map_err(|error| Refused::Memory(error.to_string()))?;
    copy.sweep();
    for (name, kept) in sources {
        let done = one(store, &copy, filter_of(kept), way);
        done.map_err(|error| refusal(key, name, &copy, error, None))?;
    }
    if store.is_strict() && copy.in_use() > copy.most_items() {
        return Err(full(&copy, InsertError::Full));
    }
    Ok(copy)
}

/// Combines two filters, if necessary again.
fn one<S: Store>(
    store: &S,
    filter: &Filter,
    other: &Filter,
    way: &Way,
) -> Result<(), CombineError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match (way.combine)(filter, other) {
            Err(CombineError::Merge(MergeError::Insert { error, .. }))
                if way.is_repeatable
                    && error.is_transient()
                    && Instant::now() < until
                    && store.wait() => {}
            done => return done,
        }
    }
}

/// The reply to an error. The filter is that of a key if there is a `way`, and otherwise a copy.
#[cold]
fn refusal(
    key: &[u8],
    source: &[u8],
    filter: &Filter,
    error: CombineError,
    way: Option<&Way>,
) -> Reply {
    let (key, source_key) = (shown(key), shown(source));
    let why = match error {
        CombineError::Merge(MergeError::Insert { merged, error }) => {
            let (Some(way), Reply::Error(why)) = (way, full(filter, error)) else {
                return full(filter, error);
            };
            return Refused::Begun {
                source_key,
                copies: merged,
                why: why.into_owned(),
                next: match way.is_repeatable {
                    true => "the same command adds the rest",
                    false => "stay",
                },
            }
            .into();
        }
        CombineError::Merge(MergeError::Scan { .. }) => {
            let next = match way {
                Some(_) => "the same command removes the rest",
                None => "nothing has changed",
            };
            return Refused::Unread { key, next }.into();
        }
        // The library's text has hashes, which would tell of the seeds.
        CombineError::Merge(MergeError::Hasher { .. }) => "their seeds differ".into(),
        error => error.to_string(),
    };
    Refused::Unlike {
        key,
        source_key,
        why,
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use guira::CuckooFilter;

    /// The allocator of the tests gives every scan its memory.
    #[test]
    fn a_key_that_was_not_read_to_its_end_says_what_is_left() {
        let filter = CuckooFilter::with_capacity(100);
        let filter = Filter::new(filter, Options::default(), 0);
        for (way, next) in [
            (Some(&INTERSECTION), "the same command removes the rest"),
            (None, "nothing has changed"),
        ] {
            let error = InsertError::Memory;
            let error = CombineError::Merge(MergeError::Scan { error });
            let text = format!("OOM there is no memory to read 'k' to its end: {next}");
            let refused = refusal(b"k", b"source", &filter, error, way);
            assert_eq!(refused, Reply::Error(text.into()));
        }
    }
}
