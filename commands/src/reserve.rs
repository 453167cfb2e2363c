//! `CF.RESERVE`, and keys that inserts create.

use crate::{
    Answer, Args, MakeError, Reply, Store, Wanted,
    combine::source,
    options::{self, LikeError},
    store::{filter_of, get},
};
use std::sync::Arc;

/// `CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n] [EXPANSION n] [ERROR rate]
/// [MAXCAPACITY n] [WINDOW seconds [EPOCHS n]] [COUNTERS bits] [SEED n]`, or
/// `CF.RESERVE key [capacity] LIKE key`
pub(crate) fn reserve<S: Store>(store: &S, args: Args<'_>) -> Answer {
    let [name, key, words @ ..] = args else {
        return Err(Reply::wrong_arity(args[0]));
    };
    if let Some((other, capacity)) = options::like(words)? {
        return reserve_like(store, key, other, capacity);
    }
    let [capacity, pairs @ ..] = words else {
        return Err(Reply::wrong_arity(name));
    };
    let (pairs, []) = pairs.as_chunks::<2>() else {
        return Err(Reply::wrong_arity(name));
    };
    let wanted = options::of_reserve(capacity, pairs)?;
    store.make(key, &wanted)?;
    Ok(Reply::OK)
}

/// Makes an empty filter that is like that of `other`, with the same hash function.
fn reserve_like<S: Store>(store: &S, key: &[u8], other: &[u8], capacity: Option<i64>) -> Answer {
    if get(store, key)?.is_some() {
        return Err(MakeError::Exists.into());
    }
    let other = source(store, other)?;
    let like = filter_of(&other).options().capacity;
    if let Some(asked) = capacity.filter(|&asked| usize::try_from(asked) != Ok(like)) {
        let error = LikeError::Capacity { asked, like };
        return Err(Reply::Error(error.to_string().into()));
    }
    let empty = filter_of(&other).empty();
    let empty = empty.map_err(|error| Reply::Error(format!("OOM {error}").into()))?;
    store.put(key, empty)?;
    Ok(Reply::OK)
}

/// Returns the filter of `key`. Creates the `wanted` filter if there is none.
pub(crate) fn get_or_make<S: Store>(
    store: &S,
    key: &[u8],
    wanted: &Wanted,
) -> Result<Arc<S::Kept>, Reply> {
    loop {
        if let Some(kept) = get(store, key)? {
            return Ok(kept);
        }
        match store.make(key, wanted) {
            // Another client was faster.
            Err(MakeError::Exists) => {}
            made => return Ok(made?),
        }
    }
}
