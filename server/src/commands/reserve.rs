//! `CF.RESERVE`, and keys that an insert makes.

use super::{Args, Reply, Store, options};
use crate::{
    filter::{Filter, Options},
    keyspace::ReserveError,
};
use std::sync::Arc;

/// `CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n] [EXPANSION n] [ERROR rate]
/// [MAXCAPACITY n]`
pub(super) fn reserve(store: &Store, args: Args<'_>) -> Reply {
    let [name, key, capacity, pairs @ ..] = args else {
        return Reply::wrong_arity(args[0]);
    };
    if pairs.len() % 2 != 0 {
        return Reply::wrong_arity(name);
    }
    let (options, max_capacity) = match options::of_reserve(capacity, pairs) {
        Ok(wanted) => wanted,
        Err(refusal) => return refusal,
    };
    match store.keyspace.reserve(key, options, max_capacity) {
        Ok(_) => Reply::OK,
        Err(error) => refusal(&error),
    }
}

/// The filter of `key`, made as `options` say if there is none.
pub(super) fn get_or_reserve(
    store: &Store,
    key: &[u8],
    options: Options,
) -> Result<Arc<Filter>, Reply> {
    loop {
        if let Some(filter) = store.keyspace.get(key) {
            return Ok(filter);
        }
        match store.keyspace.reserve(key, options, None) {
            // Another client was faster.
            Err(ReserveError::Exists) => {}
            result => return result.map_err(|error| refusal(&error)),
        }
    }
}

pub(super) fn refusal(error: &ReserveError) -> Reply {
    match error {
        ReserveError::Exists => Reply::error("ERR item exists"),
        error => Reply::Error(error.to_string().into()),
    }
}
