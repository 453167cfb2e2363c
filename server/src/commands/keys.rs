//! Commands on keys of any type.

use super::{Args, Reply};
use crate::keyspace::Entry;
use crate::store::Store;
use std::sync::Arc;

/// RedisBloom's name for the type of its cuckoo filters.
pub(super) const TYPE: &str = "MBbloomCF";

/// `DEL key [key]...` and `UNLINK`
pub(super) fn delete(store: &Store, args: Args<'_>) -> Reply {
    if args.len() < 2 {
        return Reply::wrong_arity(args[0]);
    }
    let keys = &args[1..];
    let deleted = |key: &&&[u8]| store.keyspace.delete(key);
    let count = keys.iter().filter(deleted).count();
    store.abandon(|key| keys.contains(&key));
    Reply::count(count)
}

/// `EXISTS key [key]...`
pub(super) fn exists(store: &Store, args: Args<'_>) -> Reply {
    if args.len() < 2 {
        return Reply::wrong_arity(args[0]);
    }
    let exists = |key: &&&[u8]| store.keyspace.get(key).is_some();
    Reply::count(args[1..].iter().filter(exists).count())
}

/// `TYPE key`
pub(super) fn type_of(store: &Store, args: Args<'_>) -> Reply {
    let &[_, key] = args else {
        return Reply::wrong_arity(args[0]);
    };
    Reply::Status(match store.keyspace.get(key) {
        Some(_) => TYPE,
        None => "none",
    })
}

/// `DBSIZE`
pub(super) fn size(store: &Store, args: Args<'_>) -> Reply {
    match args {
        [_] => Reply::count(store.keyspace.len()),
        _ => Reply::wrong_arity(args[0]),
    }
}

/// `FLUSHALL [ASYNC|SYNC]` and `FLUSHDB`
pub(super) fn flush(store: &Store, args: Args<'_>) -> Reply {
    match args {
        [_] => {}
        [_, mode] if mode.eq_ignore_ascii_case(b"ASYNC") || mode.eq_ignore_ascii_case(b"SYNC") => {}
        _ => return Reply::error("ERR syntax error"),
    }
    store.keyspace.clear();
    store.abandon(|_| true);
    Reply::OK
}

/// `MEMORY USAGE key [SAMPLES n]`
pub(super) fn memory(store: &Store, args: Args<'_>) -> Reply {
    match args {
        [_, word, key, ..] if word.eq_ignore_ascii_case(b"USAGE") => {
            let bytes = |filter: &Arc<Entry>| filter.memory_usage();
            store
                .keyspace
                .with(key, bytes)
                .map_or(Reply::Null, Reply::count)
        }
        [_, ..] => Reply::error("ERR only MEMORY USAGE is supported"),
        [] => Reply::Null,
    }
}
