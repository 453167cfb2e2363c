//! Loads a filter from a running server into this program, and stores it under another key:
//!
//! ```sh
//! cargo run --package guira-server --example move_filter -- redis://127.0.0.1:6379 from to
//! ```

use guira::{CuckooFilter, SnapshotDecoder};
use redis::{Connection, RedisResult, Value, from_redis_value};
use std::{env, error::Error};

/// The most bytes that the buckets of a filter may take here.
const MOST: usize = 1 << 30;

/// The size of a piece. A server accepts up to 16 MiB.
const PIECE: usize = 1 << 20;

/// The length of the snapshot precedes it.
const LENGTH: usize = 8;

/// Loads the filter of a key, and the header of its dump, which holds the options of `CF.RESERVE`.
pub(crate) fn fetch(
    server: &mut Connection,
    key: &str,
) -> Result<(Vec<u8>, CuckooFilter), Box<dyn Error>> {
    let (mut position, header): (u64, Vec<u8>) = dump(server, key, 0)?;
    let mut decoder = SnapshotDecoder::new(MOST);
    let mut skip = LENGTH;
    loop {
        let (next, piece): (u64, Option<Vec<u8>>) = dump(server, key, position)?;
        let Some(piece) = piece else {
            return Ok((header, decoder.finish()?));
        };
        // The first piece from the server is longer than the length.
        decoder.feed(&piece[skip..])?;
        (position, skip) = (next, 0);
    }
}

fn dump<T: redis::FromRedisValue>(
    server: &mut Connection,
    key: &str,
    position: u64,
) -> Result<T, Box<dyn Error>> {
    let mut command = redis::cmd("CF.SCANDUMP");
    let reply: Value = command.arg(key).arg(position).query(server)?;
    Ok(from_redis_value(reply)?)
}

/// Makes `filter` the filter of a key that does not exist yet.
pub(crate) fn store(
    server: &mut Connection,
    key: &str,
    header: &[u8],
    filter: &CuckooFilter,
) -> RedisResult<()> {
    let mut load = |position: usize, piece: &[u8]| -> RedisResult<()> {
        let mut command = redis::cmd("CF.LOADCHUNK");
        command.arg(key).arg(position).arg(piece).query(server)
    };
    load(1, header)?;
    let snapshot = filter.to_bytes();
    let length = (snapshot.len() as u64).to_le_bytes();
    let bytes = [&length[..], &snapshot].concat();
    let mut position = 0;
    for piece in bytes.chunks(PIECE) {
        // The position of a piece is its end.
        position += piece.len();
        load(position, piece)?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, from, to] = &arguments[..] else {
        return Err("give the address of a server, a key, and a new key".into());
    };
    let mut server = redis::Client::open(&address[..])?.get_connection()?;
    let (header, filter) = fetch(&mut server, from)?;
    println!("{} items in {} bytes", filter.len(), filter.memory_usage());
    // The server hashes bytes, so the program must insert bytes too, not a `str`.
    filter.insert(b"of the program")?;
    store(&mut server, to, &header, &filter)?;
    println!("{to} has them, and one more");
    Ok(())
}
