//! Builds one filter with several workers: each fills a key of its own, and one command combines these
//! keys. Workers may be on different machines. Items are lines of the standard input:
//!
//! ```sh
//! parallel_build redis://localhost:6379 key 8 < items
//! ```

use redis::Client;
use std::{
    env,
    error::Error,
    io::{self, BufRead},
    thread,
};

type Done = Result<(), Box<dyn Error + Send + Sync>>;

/// The number of items per command.
const BATCH: usize = 1_000;

/// Adds `items` to `key`, which must exist, with this number of workers. Their keys are `key:part:0` and so
/// on, and are deleted in the end.
pub(crate) fn build(client: &Client, key: &str, workers: usize, items: &[Vec<u8>]) -> Done {
    let each = items.len().div_ceil(workers.max(1)).max(1);
    let shares = items.chunks(each).enumerate();
    let shares: Vec<_> = shares
        .map(|(number, items)| (format!("{key}:part:{number}"), items))
        .collect();
    thread::scope(|scope| {
        let fill = |(part, items)| scope.spawn(move || fill(client, key, part, items));
        let workers: Vec<_> = shares
            .iter()
            .map(|(part, items)| fill((part, *items)))
            .collect();
        let mut done = workers
            .into_iter()
            .map(|worker| worker.join().expect("it does not panic"));
        done.try_for_each(|done| done)
    })?;
    let parts: Vec<_> = shares.iter().map(|(part, _)| part).collect();
    if parts.is_empty() {
        return Ok(());
    }
    let mut server = client.get_connection()?;
    // If this program fails, it can be started once more: a merge would then add items again.
    let () = redis::cmd("CF.UNION")
        .arg(key)
        .arg(&parts)
        .query(&mut server)?;
    Ok(redis::cmd("DEL").arg(&parts).query(&mut server)?)
}

/// Adds each of the items that is absent to `part`, a new key with the options and the hash function of
/// `key`.
fn fill(client: &Client, key: &str, part: &str, items: &[Vec<u8>]) -> Done {
    let mut server = client.get_connection()?;
    let () = redis::cmd("DEL").arg(part).query(&mut server)?;
    let mut reserve = redis::cmd("CF.RESERVE");
    let () = reserve.arg(part).arg("LIKE").arg(key).query(&mut server)?;
    for batch in items.chunks(BATCH) {
        let mut insert = redis::cmd("CF.INSERTNX");
        insert.arg(part).arg("NOCREATE").arg("ITEMS").arg(batch);
        let added: Vec<i64> = insert.query(&mut server)?;
        if added.contains(&-1) {
            return Err(format!("'{part}' has no room").into());
        }
    }
    Ok(())
}

fn main() -> Done {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [url, key, workers] = &arguments[..] else {
        return Err("usage: parallel_build URL KEY WORKERS < items".into());
    };
    let items = io::stdin().lock().split(b'\n');
    let items: Vec<_> = items.collect::<Result<_, _>>()?;
    build(&Client::open(url.as_str())?, key, workers.parse()?, &items)
}
