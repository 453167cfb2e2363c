//! `SCAN` and `KEYS`.

use super::{Args, Reply, glob, keys::TYPE};
use crate::{server::Server, session::Session};
use guira_commands::number;
use std::sync::Arc;

/// The number of keys that a step visits by default.
const COUNT: u64 = 10;

/// The maximum number of bytes of keys that a step returns; the step ends after the key that exceeds
/// it.
const STEP: usize = 1 << 20;

/// The number of keys that are visited together if a client requests millions.
const AT_ONCE: usize = 4096;

/// The bytes of a key in a reply in addition to its name.
const PER_KEY: usize = 16;

/// `SCAN cursor [MATCH pattern] [COUNT n] [TYPE type]`
pub(super) fn scan(server: &Arc<Server>, _: &mut Session, args: Args<'_>) -> Reply {
    let [_, cursor, options @ ..] = args else {
        return Reply::wrong_arity(args[0]);
    };
    let (pairs, []) = options.as_chunks::<2>() else {
        return Reply::error("ERR syntax error");
    };
    let Some(mut cursor) = number::<u64>(cursor) else {
        return Reply::error("ERR invalid cursor");
    };
    let (mut pattern, mut of_type, mut count): (&[u8], _, _) = (b"*", true, COUNT);
    for &[option, value] in pairs {
        match option.to_ascii_uppercase().as_slice() {
            b"MATCH" => pattern = value,
            b"TYPE" => of_type = value.eq_ignore_ascii_case(TYPE.as_bytes()),
            b"COUNT" => match number::<i64>(value) {
                Some(number @ 1..) => count = number.unsigned_abs(),
                Some(_) => return Reply::error("ERR syntax error"),
                None => return Reply::error("ERR value is not an integer or out of range"),
            },
            _ => return Reply::error("ERR syntax error"),
        }
    }
    if let Err(refusal) = glob::check(pattern) {
        return refusal;
    }
    let keyspace = &server.store.keyspace;
    let most = STEP.min(server.tunable.max_output() / 2);
    let (mut keys, mut bytes) = (Vec::new(), 0);
    let mut left = usize::try_from(count).unwrap_or(usize::MAX);
    loop {
        let mut step = keyspace.scan(cursor, left.min(AT_ONCE));
        left = left.saturating_sub(step.keys.len());
        let mut last = 0;
        for (position, key) in step.keys {
            // Never ends between two keys with the same cursor.
            if bytes > most && position != last {
                step.next = position;
                break;
            }
            last = position;
            let fits = || glob::matches(pattern, &key) && keyspace.contains(&key);
            if of_type && fits() {
                bytes += key.len() + PER_KEY;
                keys.push(Reply::Bulk(key.into()));
            }
        }
        cursor = step.next;
        if cursor == 0 || left == 0 || bytes > most {
            return Reply::Array(vec![Reply::bulk(cursor.to_string()), Reply::Array(keys)]);
        }
    }
}

/// `KEYS pattern`
pub(super) fn keys(server: &Arc<Server>, _: &mut Session, args: Args<'_>) -> Reply {
    let &[_, pattern] = args else {
        return Reply::wrong_arity(args[0]);
    };
    if let Err(refusal) = glob::check(pattern) {
        return refusal;
    }
    let most = server.tunable.max_output();
    let (mut keys, mut bytes) = (Vec::new(), PER_KEY);
    let keyspace = &server.store.keyspace;
    let fits = |key: &[u8]| glob::matches(pattern, key) && keyspace.contains(key);
    let Ok(all) = keyspace.keys() else {
        return Reply::NO_MEMORY;
    };
    for key in all.into_iter().filter(|key| fits(key)) {
        bytes += key.len() + PER_KEY;
        if bytes > most {
            let error = format!(
                "ERR the keys that fit take more than the {most} bytes that a reply may have \
                 (--max-output): use SCAN"
            );
            return Reply::Error(error.into());
        }
        if keys.try_reserve(1).is_err() {
            return Reply::NO_MEMORY;
        }
        keys.push(Reply::Bulk(key.into()));
    }
    Reply::Array(keys)
}
