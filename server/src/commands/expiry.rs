//! Keys that expire.

use super::{Args, Reply};
use crate::keyspace::{Deadline, now};
use crate::store::Store;
use guira_commands::number;

/// How a command specifies time.
#[derive(Clone, Copy)]
struct Clock {
    /// The number of milliseconds per unit.
    unit: i64,
    /// True if the time is relative to now, and not to 1970.
    is_relative: bool,
}

const SECONDS: i64 = 1000;
const MILLISECONDS: i64 = 1;

/// `EXPIRE key seconds [NX|XX|GT|LT]`
pub(super) fn expire(store: &Store, args: Args<'_>) -> Reply {
    set(store, args, SECONDS, true)
}

/// `PEXPIRE key milliseconds [NX|XX|GT|LT]`
pub(super) fn expire_ms(store: &Store, args: Args<'_>) -> Reply {
    set(store, args, MILLISECONDS, true)
}

/// `EXPIREAT key second [NX|XX|GT|LT]`
pub(super) fn expire_at(store: &Store, args: Args<'_>) -> Reply {
    set(store, args, SECONDS, false)
}

/// `PEXPIREAT key millisecond [NX|XX|GT|LT]`
pub(super) fn expire_at_ms(store: &Store, args: Args<'_>) -> Reply {
    set(store, args, MILLISECONDS, false)
}

/// The conditions on the present deadline under which a key gets a new one.
#[derive(Clone, Copy, Default)]
struct Conditions {
    /// Only if the key has no deadline.
    none: bool,
    /// Only if the key has a deadline.
    some: bool,
    /// Only if the new deadline is later. A key without a deadline expires later than any.
    later: bool,
    /// Only if the new deadline is earlier.
    earlier: bool,
}

impl Conditions {
    fn parse(words: Args<'_>) -> Result<Self, Reply> {
        let mut it = Self::default();
        for word in words {
            match word.to_ascii_uppercase().as_slice() {
                b"NX" => it.none = true,
                b"XX" => it.some = true,
                b"GT" => it.later = true,
                b"LT" => it.earlier = true,
                _ => {
                    let word = String::from_utf8_lossy(word);
                    return Err(Reply::Error(
                        format!("ERR Unsupported option {word}").into(),
                    ));
                }
            }
        }
        if it.none && (it.some || it.later || it.earlier) {
            return Err(Reply::error(
                "ERR NX and XX, GT or LT options at the same time are not compatible",
            ));
        }
        if it.later && it.earlier {
            return Err(Reply::error(
                "ERR GT and LT options at the same time are not compatible",
            ));
        }
        Ok(it)
    }

    fn allow(self, before: Option<i64>, at: i64) -> bool {
        !(self.none && before.is_some()
            || self.some && before.is_none()
            || self.later && before.is_none_or(|before| at <= before)
            || self.earlier && before.is_some_and(|before| at >= before))
    }
}

fn set(store: &Store, args: Args<'_>, unit: i64, is_relative: bool) -> Reply {
    let [name, key, time, words @ ..] = args else {
        return Reply::wrong_arity(args[0]);
    };
    let conditions = match Conditions::parse(words) {
        Ok(conditions) => conditions,
        Err(refusal) => return refusal,
    };
    let Some(time) = number::<i64>(time) else {
        return Reply::error("ERR value is not an integer or out of range");
    };
    let clock = Clock { unit, is_relative };
    let Some(at) = clock.deadline(time) else {
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        return Reply::Error(format!("ERR invalid expire time in '{name}' command").into());
    };
    let change = |before| match conditions.allow(before, at) {
        true => Deadline::Set(at),
        false => Deadline::Keep,
    };
    let changed = store.keyspace.change_deadline(key, change);
    if changed == Some(true) && !store.keyspace.contains(key) {
        // The deadline has passed already.
        store.abandon(|of| of == *key);
    }
    Reply::Integer(i64::from(changed == Some(true)))
}

impl Clock {
    /// The deadline in milliseconds since 1970; `None` if it is out of range.
    fn deadline(self, time: i64) -> Option<i64> {
        let time = time.checked_mul(self.unit)?;
        match self.is_relative {
            true => now().checked_add(time),
            false => Some(time),
        }
    }
}

/// `PERSIST key`
pub(super) fn persist(store: &Store, args: Args<'_>) -> Reply {
    let &[_, key] = args else {
        return Reply::wrong_arity(args[0]);
    };
    let change = |before: Option<i64>| match before {
        Some(_) => Deadline::Clear,
        None => Deadline::Keep,
    };
    let changed = store.keyspace.change_deadline(key, change);
    Reply::Integer(i64::from(changed == Some(true)))
}

/// `TTL key`
pub(super) fn ttl(store: &Store, args: Args<'_>) -> Reply {
    show(store, args, |at| in_seconds(at - now()))
}

/// `PTTL key`
pub(super) fn ttl_ms(store: &Store, args: Args<'_>) -> Reply {
    show(store, args, |at| at - now())
}

/// `EXPIRETIME key`
pub(super) fn expire_time(store: &Store, args: Args<'_>) -> Reply {
    show(store, args, in_seconds)
}

/// `PEXPIRETIME key`
pub(super) fn expire_time_ms(store: &Store, args: Args<'_>) -> Reply {
    show(store, args, |at| at)
}

fn in_seconds(milliseconds: i64) -> i64 {
    milliseconds.saturating_add(SECONDS / 2) / SECONDS
}

/// Applies `of` to the deadline. Returns -1 if there is none, and -2 if there is no such key.
fn show(store: &Store, args: Args<'_>, of: impl FnOnce(i64) -> i64) -> Reply {
    let &[_, key] = args else {
        return Reply::wrong_arity(args[0]);
    };
    let deadline = store.keyspace.with(key, |filter| filter.deadline());
    Reply::Integer(match deadline {
        None => -2,
        Some(None) => -1,
        Some(Some(at)) => of(at).max(0),
    })
}
