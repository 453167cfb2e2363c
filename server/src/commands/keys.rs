//! Commands on keys, whatever they hold.

use super::{Args, Reply, Store, glob, options::number};
use crate::filter::Filter;
use std::sync::Arc;

/// RedisBloom's name for the type of its cuckoo filters.
const TYPE: &str = "MBbloomCF";

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

/// `KEYS pattern`
pub(super) fn keys(store: &Store, args: Args<'_>) -> Reply {
    let &[_, pattern] = args else {
        return Reply::wrong_arity(args[0]);
    };
    matching(store, pattern)
}

/// `SCAN cursor [MATCH pattern] [COUNT n] [TYPE type]`: all in one go.
pub(super) fn scan(store: &Store, args: Args<'_>) -> Reply {
    let [_, cursor, options @ ..] = args else {
        return Reply::wrong_arity(args[0]);
    };
    let (pairs, []) = options.as_chunks::<2>() else {
        return Reply::error("ERR syntax error");
    };
    if number::<u64>(cursor).is_none() {
        return Reply::error("ERR invalid cursor");
    }
    let (mut pattern, mut of_type): (&[u8], _) = (b"*", true);
    for &[option, value] in pairs {
        match option.to_ascii_uppercase().as_slice() {
            b"MATCH" => pattern = value,
            b"TYPE" => of_type = value.eq_ignore_ascii_case(TYPE.as_bytes()),
            b"COUNT" if number::<u64>(value).is_some_and(|count| count > 0) => {}
            b"COUNT" => {
                return Reply::error("ERR value is not an integer or out of range");
            }
            _ => return Reply::error("ERR syntax error"),
        }
    }
    let keys = if of_type {
        matching(store, pattern)
    } else {
        Reply::Array(Vec::new())
    };
    Reply::Array(vec![Reply::bulk("0"), keys])
}

fn matching(store: &Store, pattern: &[u8]) -> Reply {
    if let Err(refusal) = glob::check(pattern) {
        return refusal;
    }
    let keys = store.keyspace.keys().into_iter();
    Reply::Array(
        keys.filter(|key| glob::matches(pattern, key))
            .map(|key| Reply::Bulk(key.into()))
            .collect(),
    )
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
            let bytes = |filter: &Arc<Filter>| filter.cuckoo.memory_usage();
            store
                .keyspace
                .with(key, bytes)
                .map_or(Reply::Null, Reply::count)
        }
        [_, ..] => Reply::error("ERR only MEMORY USAGE is supported"),
        [] => Reply::Null,
    }
}
