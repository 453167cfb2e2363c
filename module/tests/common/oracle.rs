//! Clients that change filters at random, and know which items must be present.

use rand::{RngExt, rngs::StdRng};
use redis::{Connection, Value};
use std::collections::HashMap;

/// The items of one client in one key. No other client uses them.
#[derive(Debug)]
pub(crate) struct Oracle {
    key: String,
    client: usize,
    random: StdRng,
    /// The number of copies of each item.
    copies: HashMap<u32, u32>,
}

/// The number of items of a client.
const ITEMS: u32 = 2_000;

/// The number of copies of an item that always fit.
const MOST: u32 = 2;

impl Oracle {
    pub(crate) fn new(key: &str, client: usize) -> Self {
        Self {
            key: key.into(),
            client,
            random: super::random(client as u64 * 7919 + key.len() as u64),
            copies: HashMap::new(),
        }
    }

    fn item(&self, number: u32) -> String {
        format!("{}:{number}", self.client)
    }

    /// Sends `count` commands in pipelines, and checks their replies.
    pub(crate) fn work(&mut self, connection: &mut Connection, count: usize) {
        self.try_work(connection, count)
            .expect("the engine answers");
    }

    /// Like [`work`](Self::work), for an engine that may stop during the commands. Items of
    /// commands without a reply may then be present or absent.
    pub(crate) fn try_work(
        &mut self,
        connection: &mut Connection,
        count: usize,
    ) -> redis::RedisResult<()> {
        for _ in 0..count.div_ceil(16) {
            let mut pipe = redis::pipe();
            let mut expected = Vec::new();
            for _ in 0..16 {
                let number = self.random.random_range(0..ITEMS);
                let item = self.item(number);
                let copies = self.copies.entry(number).or_default();
                match self.random.random_range(0..10) {
                    // The item is there, so the key is.
                    2 if (1..MOST).contains(copies) => {
                        pipe.cmd("CF.ADDCOUNT").arg(&self.key).arg(item);
                        *copies += 1;
                        // Other items may look like this one.
                        expected.push(Some(i64::from(*copies)..=i64::MAX));
                    }
                    0..3 if *copies < MOST => {
                        pipe.cmd("CF.ADD").arg(&self.key).arg(item);
                        expected.push(Some(1..=1));
                        *copies += 1;
                    }
                    3..5 if *copies > 0 => {
                        pipe.cmd("CF.ADDNX").arg(&self.key).arg(item);
                        expected.push(Some(0..=0));
                    }
                    5..8 if *copies > 0 => {
                        pipe.cmd("CF.DEL").arg(&self.key).arg(item);
                        expected.push(Some(1..=1));
                        *copies -= 1;
                    }
                    8 if *copies < MOST => {
                        pipe.cmd("CF.INSERT").arg(&self.key).arg("ITEMS").arg(item);
                        // CF.INSERT replies with an array of one element.
                        expected.push(None);
                        *copies += 1;
                    }
                    _ => {
                        pipe.cmd("CF.COUNT").arg(&self.key).arg(item);
                        expected.push(None);
                    }
                }
            }
            let replies: Vec<Value> = pipe.query(connection)?;
            for (reply, expected) in replies.iter().zip(expected) {
                if let Some(expected) = expected {
                    let is_expected = matches!(reply, Value::Int(it) if expected.contains(it));
                    assert!(is_expected, "{}: {reply:?}", self.key);
                }
            }
        }
        Ok(())
    }

    /// The number of copies of all items.
    pub(crate) fn len(&self) -> u64 {
        self.copies.values().copied().map(u64::from).sum()
    }

    /// Checks that all expected items are present.
    pub(crate) fn check(&self, connection: &mut Connection) {
        let there: Vec<_> = self
            .copies
            .iter()
            .filter(|(_, copies)| **copies > 0)
            .collect();
        for some in there.chunks(500) {
            let mut pipe = redis::pipe();
            for (number, _) in some {
                pipe.cmd("CF.COUNT").arg(&self.key).arg(self.item(**number));
            }
            let found: Vec<u32> = pipe.query(connection).expect("the engine answers");
            for ((number, copies), found) in some.iter().zip(found) {
                assert!(
                    found >= **copies,
                    "{} {number}: {found} of {copies}",
                    self.key
                );
            }
        }
    }
}

/// Checks each client's oracle, and that the filter's count is the sum of their items.
pub(crate) fn check_all(connection: &mut Connection, key: &str, oracles: &[&Oracle]) {
    oracles.iter().for_each(|oracle| oracle.check(connection));
    let info: HashMap<String, u64> = redis::cmd("CF.INFO")
        .arg(key)
        .query(connection)
        .expect("the key is there");
    let expected: u64 = oracles.iter().map(|oracle| oracle.len()).sum();
    assert_eq!(info["Number of items inserted"], expected, "{key}");
}
