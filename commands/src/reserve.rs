//! `CF.RESERVE`, and keys that an insert makes.

use crate::{Answer, Args, MakeError, Options, Reply, Store, options, store::get};
use std::sync::Arc;

/// `CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n] [EXPANSION n] [ERROR rate]
/// [MAXCAPACITY n] [WINDOW seconds [EPOCHS n]]`
pub(crate) fn reserve<S: Store>(store: &S, args: Args<'_>) -> Answer {
    let [name, key, capacity, pairs @ ..] = args else {
        return Err(Reply::wrong_arity(args[0]));
    };
    if pairs.len() % 2 != 0 {
        return Err(Reply::wrong_arity(name));
    }
    let wanted = options::of_reserve(capacity, pairs)?;
    store.make(key, &wanted)?;
    Ok(Reply::OK)
}

/// The filter of `key`, made as `options` say if there is none.
pub(crate) fn get_or_make<S: Store>(
    store: &S,
    key: &[u8],
    options: Options,
) -> Result<Arc<S::Kept>, Reply> {
    loop {
        if let Some(kept) = get(store, key)? {
            return Ok(kept);
        }
        match store.make(key, &options.into()) {
            // Another client was faster.
            Err(MakeError::Exists) => {}
            made => return Ok(made?),
        }
    }
}
