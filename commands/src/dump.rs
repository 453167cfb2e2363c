//! `CF.SCANDUMP` and `CF.LOADCHUNK`: a filter's snapshot in pieces.
//!
//! Position 0 yields `[1, header]`. Position 1 takes a snapshot, keeps its bytes for later calls, and
//! yields its first piece. Each further position identifies the snapshot and the number of bytes
//! that the client has received. All pieces therefore belong to one snapshot, and two clients can
//! dump one key at the same time. A loaded filter replaces nothing until its last piece: then it
//! becomes the value of its key, atomically.

mod load;
mod out;
mod spool;

pub use crate::filter::header::{Header, HeaderError, Kind};
pub use load::{Load, LoadError, Memory, longest_snapshot};
pub use out::{DumpError, Dumps, InProgress};
pub use spool::Spool;

use crate::{
    Answer, Args, Reply, Store,
    numbers::number,
    store::{filter_of, get_to_read},
};

/// The maximum number of dumps, and of loads, in progress. A further one ends the oldest.
pub const MAX_IN_PROGRESS: usize = 16;

/// The bits of a position that hold the number of bytes handed out; the others hold the number of the
/// dump. Both together stay below 2^53, the range of exact integers in some clients.
const OFFSET_BITS: u32 = 40;

/// The first piece starts with the length of the snapshot in bytes, as a `u64`.
pub const LENGTH_BYTES: usize = 8;

/// The size of a dumped piece in bytes.
pub const PIECE: u64 = 1 << 20;

/// The position of a piece, or the position after it, in the dump with this number.
#[must_use]
pub const fn position_of(number: u64, offset: u64) -> u64 {
    number << OFFSET_BITS | offset
}

/// Returns the number of the dump, and the number of bytes handed out.
#[must_use]
pub const fn offset_of(position: u64) -> (u64, u64) {
    (position >> OFFSET_BITS, position & ((1 << OFFSET_BITS) - 1))
}

/// The reply with a piece and the next position. Loading that piece replies with the same position.
#[must_use]
pub fn piece(next: u64, bytes: Vec<u8>) -> Reply {
    Reply::Array(vec![Reply::Integer(next as i64), Reply::Bulk(bytes)])
}

/// `CF.SCANDUMP key position`
pub(crate) fn scan_dump<S: Store>(store: &S, args: Args<'_>) -> Answer {
    let &[_, key, position] = args else {
        return Err(Reply::wrong_arity(args[0]));
    };
    let position: u64 = number(position).ok_or(Reply::error("Invalid position"))?;
    let kept = get_to_read(store, key)?.ok_or(Reply::error("ERR not found"))?;
    match position {
        0 => Ok(piece(1, Header::of(filter_of(&kept)).to_bytes().into())),
        1 => store.begin_dump(key, &kept),
        position => store.go_on_dump(key, position),
    }
}

/// `CF.LOADCHUNK key position data`
pub(crate) fn load_chunk<S: Store>(store: &S, args: Args<'_>) -> Answer {
    let &[_, key, position, data] = args else {
        return Err(Reply::wrong_arity(args[0]));
    };
    match number::<u64>(position) {
        None | Some(0) => Err(Reply::error("Invalid position")),
        Some(1) => store.begin_load(key, data),
        Some(position) => store.go_on_load(key, position, data),
    }
}
