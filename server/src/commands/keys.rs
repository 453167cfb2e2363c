//! Commands on keys of any type.

use super::{Args, Reply};
use crate::{command::Command, keyspace::Entry, store::Store};
use guira_commands::number;
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
    let [_, _, key, options @ ..] = args else {
        return Command::help("MEMORY");
    };
    let (pairs, rest) = options.as_chunks::<2>();
    let is_samples = |[name, _]: &[&[u8]; 2]| name.eq_ignore_ascii_case(b"SAMPLES");
    if !rest.is_empty() || !pairs.iter().all(is_samples) {
        return Reply::error("ERR syntax error");
    }
    for [_, samples] in pairs {
        // A filter is measured as a whole, whatever the number is.
        match number::<i64>(samples) {
            Some(0..) => {}
            Some(_) => return Reply::error("ERR syntax error"),
            None => return Reply::error("ERR value is not an integer or out of range"),
        }
    }
    let bytes = |filter: &Arc<Entry>| filter.memory_usage();
    let found = store.keyspace.with(key, bytes);
    found.map_or(Reply::Null, Reply::count)
}
