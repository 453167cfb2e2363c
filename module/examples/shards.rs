//! A filter that is split over several keys, and so over the nodes of a cluster: see "Sharding" in
//! `docs/MODULE.md`.
//!
//! `cargo run -p guira-module --example shards -- redis://127.0.0.1:6379`

use redis::{Connection, RedisResult, cmd};
use std::{env, error::Error};

/// A power of two, well above the number of nodes. It cannot change afterwards.
const SHARDS: u64 = 64;

struct Shards<'a> {
    name: &'a str,
    connection: Connection,
}

impl Shards<'_> {
    /// The braces are a hash tag: each number has a slot of its own.
    fn key(&self, shard: u64) -> String {
        format!("{}:{{{shard}}}", self.name)
    }

    /// Any hash will do that all clients share. It is not that of the filters.
    fn shard_of(&self, item: &str) -> u64 {
        u64::from(crc32fast::hash(item.as_bytes())) % SHARDS
    }

    /// Room for this number of items: 5 % more than an equal share, as some shards get more of
    /// them.
    fn reserve(&mut self, capacity: u64) -> RedisResult<()> {
        let share = (capacity / SHARDS * 105 / 100).max(100);
        for shard in 0..SHARDS {
            let key = self.key(shard);
            let () = cmd("CF.RESERVE")
                .arg(key)
                .arg(share)
                .query(&mut self.connection)?;
        }
        Ok(())
    }

    fn add(&mut self, item: &str) -> RedisResult<bool> {
        let key = self.key(self.shard_of(item));
        cmd("CF.ADDNX")
            .arg(key)
            .arg(item)
            .query(&mut self.connection)
    }

    /// A batch is split by shard, and its answers put together again.
    fn exist(&mut self, items: &[&str]) -> RedisResult<Vec<bool>> {
        let mut found = vec![false; items.len()];
        for shard in 0..SHARDS {
            let own = (0..items.len()).filter(|&index| self.shard_of(items[index]) == shard);
            let own: Vec<_> = own.collect();
            if own.is_empty() {
                continue;
            }
            let words: Vec<_> = own.iter().map(|&index| items[index]).collect();
            let key = self.key(shard);
            let mut command = cmd("CF.MEXISTS");
            let answers: Vec<bool> = command.arg(key).arg(words).query(&mut self.connection)?;
            own.iter()
                .zip(answers)
                .for_each(|(&index, answer)| found[index] = answer);
        }
        Ok(found)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let url = env::args()
        .nth(1)
        .ok_or("say where the engine is: redis://127.0.0.1:6379")?;
    println!("{}", run(&url)?);
    Ok(())
}

/// Adds some items, and finds them.
pub(crate) fn run(url: &str) -> Result<String, Box<dyn Error>> {
    let mut shards = Shards {
        name: "seen",
        connection: redis::Client::open(url)?.get_connection()?,
    };
    shards.reserve(1_000_000)?;
    let items: Vec<String> = (0..1000).map(|item| format!("order-{item}")).collect();
    let words: Vec<_> = items.iter().map(String::as_str).collect();
    for item in &words {
        shards.add(item)?;
    }
    let found = shards.exist(&words)?.into_iter().filter(|found| *found);
    Ok(format!("{} items are in {SHARDS} filters", found.count()))
}
