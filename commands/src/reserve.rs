//! `CF.RESERVE`, and keys that inserts create.

use crate::{
    Answer, Args, MakeError, Reply, Store, Wanted,
    options::{self, Like, LikeError},
    store::{filter_of, get, source},
};
use std::sync::Arc;

/// `CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n] [EXPANSION n] [ERROR rate]
/// [MAXCAPACITY n] [WINDOW seconds [EPOCHS n]] [COUNTERS bits] [SEED n]`, or
/// `CF.RESERVE key [capacity] LIKE key`
pub(crate) fn reserve<S: Store>(store: &S, args: Args<'_>) -> Answer {
    let [name, key, words @ ..] = args else {
        return Err(Reply::wrong_arity(args[0]));
    };
    if let Some(like) = options::like(words)? {
        return reserve_like(store, key, &like);
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

/// Makes an empty filter that is like that of another key, with the same hash function.
fn reserve_like<S: Store>(store: &S, key: &[u8], like: &Like<'_>) -> Answer {
    if get(store, key)?.is_some() {
        return Err(MakeError::Exists.into());
    }
    let other = source(store, like.source)?;
    let other = filter_of(&other);
    let own = other.options().capacity;
    if let Some(asked) = like
        .capacity
        .filter(|&asked| usize::try_from(asked) != Ok(own))
    {
        let error = LikeError::Capacity { asked, like: own };
        return Err(Reply::Error(error.to_string().into()));
    }
    let empty = other.empty();
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
