//! `RENAME`, `RENAMENX` and `COPY`.

use super::{Args, Reply};
use crate::store::Store;
use guira_commands::number;

/// `RENAME key newkey`
pub(super) fn rename(store: &Store, args: Args<'_>) -> Reply {
    match to_another_name(store, args, true) {
        Ok(_) => Reply::OK,
        Err(refusal) => refusal,
    }
}

/// `RENAMENX key newkey`
pub(super) fn rename_nx(store: &Store, args: Args<'_>) -> Reply {
    match to_another_name(store, args, false) {
        Ok(renamed) => Reply::Integer(renamed.into()),
        Err(refusal) => refusal,
    }
}

fn to_another_name(store: &Store, args: Args<'_>, replace: bool) -> Result<bool, Reply> {
    let &[_, from, to] = args else {
        return Err(Reply::wrong_arity(args[0]));
    };
    let renamed = store.keyspace.rename(from, to, replace);
    let renamed = renamed.map_err(|error| Reply::Error(error.to_string().into()))?;
    if renamed && from != to {
        store.abandon(|key| key == from || key == to);
    }
    Ok(renamed)
}

/// `COPY source destination [DB 0] [REPLACE]`
pub(super) fn copy(store: &Store, args: Args<'_>) -> Reply {
    let [_, from, to, options @ ..] = args else {
        return Reply::wrong_arity(args[0]);
    };
    let (mut replace, mut rest) = (false, options);
    loop {
        rest = match rest {
            [] => break,
            [word, after @ ..] if word.eq_ignore_ascii_case(b"REPLACE") => {
                replace = true;
                after
            }
            [word, index, after @ ..] if word.eq_ignore_ascii_case(b"DB") => {
                match number::<i64>(index) {
                    Some(0) => after,
                    Some(_) => return Reply::error("ERR DB index is out of range"),
                    None => return Reply::error("ERR value is not an integer or out of range"),
                }
            }
            _ => return Reply::error("ERR syntax error"),
        };
    }
    if from == to {
        return Reply::error("ERR source and destination objects are the same");
    }
    match store.keyspace.copy(from, to, replace) {
        Ok(copied) => {
            if copied {
                store.abandon(|key| key == *to);
            }
            Reply::Integer(copied.into())
        }
        Err(error) => Reply::Error(error.to_string().into()),
    }
}
