//! `CF.RESERVE`, and keys that inserts create.

use crate::{Answer, Args, MakeError, Reply, Store, Wanted, options, store::get};
use std::sync::Arc;

/// `CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n] [EXPANSION n] [ERROR rate]
/// [MAXCAPACITY n] [WINDOW seconds [EPOCHS n]] [COUNTERS bits]`
pub(crate) fn reserve<S: Store>(store: &S, args: Args<'_>) -> Answer {
    let [name, key, capacity, pairs @ ..] = args else {
        return Err(Reply::wrong_arity(args[0]));
    };
    let (pairs, []) = pairs.as_chunks::<2>() else {
        return Err(Reply::wrong_arity(name));
    };
    let wanted = options::of_reserve(capacity, pairs)?;
    store.make(key, &wanted)?;
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
