//! Fills a key from the source of truth, and compares it with a key of another server, such as
//! RedisBloom. Items are lines of the standard input:
//!
//! ```sh
//! come_over insert redis://new:6379 key < items
//! come_over insert-absent redis://new:6379 key < items
//! come_over compare redis://old:6379 redis://new:6379 key < items
//! ```
//!
//! `docs/server/redisbloom.md` in the repository says which to use, and when.

use redis::{Connection, RedisResult, Value};
use std::{
    env,
    error::Error,
    io::{self, BufRead},
    process::ExitCode,
};

/// The number of items per command.
const BATCH: usize = 1_000;

/// The number of missing items that a comparison keeps and shows.
const SHOWN: usize = 10;

/// How to insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Insert {
    /// Inserts a copy of each item, whether or not it is present.
    Copy,
    /// Inserts each item that is absent.
    Absent,
}

/// The results of the inserts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Inserted {
    pub(crate) added: usize,
    pub(crate) present: usize,
    /// The number of items without room.
    pub(crate) refused: usize,
}

/// Where the items were found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Comparison {
    pub(crate) both: usize,
    pub(crate) only_old: usize,
    pub(crate) only_new: usize,
    pub(crate) neither: usize,
    /// The first items that the new server lacks.
    pub(crate) missing: Vec<Vec<u8>>,
}

/// Inserts `items` into a key, which must exist.
pub(crate) fn insert(
    server: &mut Connection,
    key: &str,
    how: Insert,
    items: impl Iterator<Item = io::Result<Vec<u8>>>,
) -> Result<Inserted, Box<dyn Error>> {
    let mut inserted = Inserted::default();
    let name = match how {
        Insert::Copy => "CF.INSERT",
        Insert::Absent => "CF.INSERTNX",
    };
    in_batches(items, |batch| {
        let mut command = redis::cmd(name);
        command.arg(key).arg("NOCREATE").arg("ITEMS").arg(batch);
        let replies: Vec<Value> = command.query(server)?;
        check_len(name, batch, replies.len())?;
        for reply in replies {
            match reply {
                Value::Int(1) | Value::Boolean(true) => inserted.added += 1,
                Value::Int(0) => inserted.present += 1,
                _ => inserted.refused += 1,
            }
        }
        Ok(())
    })?;
    Ok(inserted)
}

/// Looks up `items` in the key of both servers.
pub(crate) fn compare(
    [old, new]: [&mut Connection; 2],
    key: &str,
    items: impl Iterator<Item = io::Result<Vec<u8>>>,
) -> Result<Comparison, Box<dyn Error>> {
    let mut comparison = Comparison::default();
    in_batches(items, |batch| {
        let mut command = redis::cmd("CF.MEXISTS");
        command.arg(key).arg(batch);
        let in_old: Vec<bool> = command.query(old)?;
        let in_new: Vec<bool> = command.query(new)?;
        for answers in [&in_old, &in_new] {
            check_len("CF.MEXISTS", batch, answers.len())?;
        }
        for ((item, in_old), in_new) in batch.iter().zip(in_old).zip(in_new) {
            let count = match (in_old, in_new) {
                (true, true) => &mut comparison.both,
                (true, false) => &mut comparison.only_old,
                (false, true) => &mut comparison.only_new,
                (false, false) => &mut comparison.neither,
            };
            *count += 1;
            if !in_new && comparison.missing.len() < SHOWN {
                comparison.missing.push(item.clone());
            }
        }
        Ok(())
    })?;
    Ok(comparison)
}

/// Checks that every item has a reply, because an item without one must not be counted.
fn check_len(command: &str, batch: &[Vec<u8>], answers: usize) -> Result<(), Box<dyn Error>> {
    match answers == batch.len() {
        true => Ok(()),
        false => Err(format!("{command} of {} items got {answers} replies", batch.len()).into()),
    }
}

fn in_batches(
    items: impl Iterator<Item = io::Result<Vec<u8>>>,
    mut work: impl FnMut(&[Vec<u8>]) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let mut batch = Vec::with_capacity(BATCH);
    for item in items {
        batch.push(item?);
        if batch.len() == BATCH {
            work(&batch)?;
            batch.clear();
        }
    }
    if !batch.is_empty() {
        work(&batch)?;
    }
    Ok(())
}

fn connect(url: &str) -> RedisResult<Connection> {
    redis::Client::open(url)?.get_connection()
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let items = io::stdin().lock().split(b'\n');
    let is_right = match words.as_slice() {
        [how @ ("insert" | "insert-absent"), new, key] => {
            let how = match *how {
                "insert" => Insert::Copy,
                _ => Insert::Absent,
            };
            let inserted = insert(&mut connect(new)?, key, how, items)?;
            println!("{inserted:?}");
            inserted.refused == 0
        }
        ["compare", old, new, key] => {
            let servers = [&mut connect(old)?, &mut connect(new)?];
            let comparison = compare(servers, key, items)?;
            let Comparison {
                both,
                only_old,
                only_new,
                neither,
                missing,
            } = comparison;
            println!(
                "both: {both}, only old: {only_old}, only new: {only_new}, neither: {neither}"
            );
            for item in &missing {
                println!("missing in the new one: {}", item.escape_ascii());
            }
            missing.is_empty()
        }
        _ => {
            return Err(
                "usage: come_over insert|insert-absent NEW key, or compare OLD NEW key".into(),
            );
        }
    };
    Ok(ExitCode::from(u8::from(!is_right)))
}
