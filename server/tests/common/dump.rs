//! The pieces of dumps, as CF.SCANDUMP replies with them and CF.LOADCHUNK takes them.

use super::ask;
use redis::{Connection, RedisError, Value};

/// Reads the piece at a position, and the position after it. Returns `None` at the end.
pub(crate) fn piece(client: &mut Connection, key: &str, position: u64) -> Option<(u64, Vec<u8>)> {
    match ask(client, &format!("CF.SCANDUMP {key} {position}")) {
        Value::Array(end) if end[..] == [Value::Int(0), Value::Nil] => None,
        piece => Some(redis::from_redis_value(piece).unwrap()),
    }
}

/// The pieces of a dump, each with the position after it.
pub(crate) fn dump(client: &mut Connection, key: &str) -> Vec<(u64, Vec<u8>)> {
    let (mut pieces, mut position) = (Vec::new(), 0);
    while let Some((next, piece)) = piece(client, key, position) {
        position = next;
        pieces.push((next, piece));
    }
    pieces
}

/// Loads a piece, given the position after it.
pub(crate) fn load(
    client: &mut Connection,
    key: &str,
    position: u64,
    piece: &[u8],
) -> Result<Value, RedisError> {
    let mut command = redis::cmd("CF.LOADCHUNK");
    command.arg(key).arg(position).arg(piece).query(client)
}
