//! Dumps and loads of filters that nearly fill the memory.

use crate::common::{
    Protocol, Server, ask,
    dump::{load, piece},
    memory, refusal, text,
};
use redis::{Connection, RedisError};
use tempfile::TempDir;

const MB: usize = 1 << 20;

/// Copies the key from one server to the other.
fn copy(from: &mut Connection, to: &mut Connection) -> Result<(), RedisError> {
    let mut position = 0;
    while let Some((next, piece)) = piece(from, "k", position) {
        load(to, "copy", next, &piece)?;
        position = next;
    }
    Ok(())
}

fn insert(client: &mut Connection, items: &[u32]) {
    let mut command = redis::cmd("CF.INSERT");
    let command = command.arg("k").arg("ITEMS").arg(items);
    let inserted: Vec<i64> = command.query(client).unwrap();
    assert!(inserted.iter().all(|&inserted| inserted == 1));
}

fn assert_has(client: &mut Connection, items: &[u32]) {
    let mut command = redis::cmd("CF.MEXISTS");
    let found: Vec<bool> = command.arg("copy").arg(items).query(client).unwrap();
    assert!(found.into_iter().all(|found| found));
}

#[test]
fn a_filter_that_nearly_fills_the_memory_moves_to_another_server() {
    const LIMIT: usize = 128 * MB;
    let directories = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let [source, target] = directories.each_ref().map(|directory| {
        let directory = directory.path().to_str().unwrap();
        Server::start(&["--maxmemory", "128mb", "--dir", directory])
    });
    let mut from = source.client(Protocol::Resp2);
    let mut to = target.client(Protocol::Resp2);
    ask::<()>(&mut from, "CF.RESERVE k 80000000 EXPANSION 0");
    let filter: usize = ask(&mut from, "MEMORY USAGE k");
    assert!((LIMIT / 10 * 9..LIMIT).contains(&filter), "{filter}");
    let items: Vec<u32> = (0..10_000).collect();
    insert(&mut from, &items);

    let mut most = 0;
    let mut position = 0;
    while let Some((next, piece)) = piece(&mut from, "k", position) {
        load(&mut to, "copy", next, &piece).unwrap();
        position = next;
        for server in [&source, &target] {
            most = most.max(server.resident_bytes());
        }
    }
    assert_has(&mut to, &items);
    assert_eq!(ask::<usize>(&mut to, "MEMORY USAGE copy"), filter);
    assert_eq!(memory(&mut to, "used_memory_loads:"), 0);
    eprintln!("a filter of {filter} bytes, {most} resident at most");
    assert!(most <= filter + 64 * MB, "{most} bytes for {filter}");
    // There is no room for a second filter, which is reported before its bytes arrive.
    ask::<()>(&mut to, "DEL copy");
    ask::<()>(&mut to, "CF.RESERVE other 10000000 EXPANSION 0");
    let (_, header) = piece(&mut from, "k", 0).unwrap();
    let (next, first) = piece(&mut from, "k", 1).unwrap();
    load(&mut to, "copy", 1, &header).unwrap();
    let refused = text(&load(&mut to, "copy", next, &first).unwrap_err());
    assert!(refused.starts_with("OOM the filter needs"), "{refused}");
    assert_eq!(memory(&mut to, "loads_in_progress:"), 0);
}

/// The system refuses memory for a second filter, and the server keeps running.
#[test]
fn no_address_space_is_an_error() {
    let directory = TempDir::new().unwrap();
    let directory = directory.path().to_str().unwrap();
    let server = Server::start(&["--maxmemory", "0", "--threads", "2", "--dir", directory]);
    let mut client = server.client(Protocol::Resp2);
    let mut other = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.RESERVE k 160000000 EXPANSION 0");
    let filter: usize = ask(&mut client, "MEMORY USAGE k");
    assert!(filter > 230 * MB, "{filter}");
    insert(&mut client, &[1, 2, 3]);
    // A load allocates its table once a quarter of the table has arrived. The quarter fits into the
    // remaining memory, and a whole table in addition does not.
    server.limit_address_space(filter / 8 * 9);
    let refused = text(&copy(&mut client, &mut other).unwrap_err());
    // The allocator may already lack address space for a piece. That closes the connection.
    if refused.contains("there is no memory for the request") {
        let mut client = server.client(Protocol::Resp2);
        return assert!(ask::<bool>(&mut client, "CF.EXISTS k 1"));
    }
    assert!(refused.starts_with("OOM no memory for "), "{refused}");
    assert_eq!(memory(&mut client, "loads_in_progress:"), 0);
    let refused = refusal(&mut client, "CF.RESERVE more 160000000 EXPANSION 0");
    assert!(refused.contains("no memory for "), "{refused}");
    // A dump is in a file, so it needs little memory. Its first piece completes the file.
    let (position, _) = piece(&mut client, "k", 1).unwrap();
    assert!(piece(&mut client, "k", position).is_some());
    assert!(memory(&mut client, "dumps_bytes_on_disk:") > filter);
    assert!(ask::<bool>(&mut client, "CF.EXISTS k 1"));
}
