//! Bytes that are not a filter are refused, and never crash the engine.

mod common;

use common::{Engine, ask, is_skipped, is_sound, long};
use rand::RngExt;
use redis::{Connection, Value};

/// The engine's overhead for the type and the checksum.
const TYPE: usize = 1;
const TRAILER: usize = 10;

/// A key that can grow, one of a fixed size, and one that is being loaded.
fn make_keys(client: &mut Connection) -> [&'static str; 3] {
    ask::<()>(client, "CF.RESERVE grows 100");
    ask::<()>(client, "CF.RESERVE fixed 500 EXPANSION 0");
    for item in 0..400 {
        ask::<i64>(client, &format!("CF.ADD grows {item}"));
        ask::<i64>(client, &format!("CF.ADD fixed {item}"));
    }
    let pieces = common::dump(client, "fixed");
    common::load(client, "half", &pieces[0]);
    let half = &pieces[1].1[..300];
    common::load(client, "half", &(300, half.to_vec()));
    ["grows", "fixed", "half"]
}

fn digest_of(client: &mut Connection, key: &str) -> String {
    ask::<Vec<String>>(client, &format!("DEBUG DIGEST-VALUE {key}")).remove(0)
}

/// The engine's own checksum is disabled.
#[test]
fn damaged_payloads_are_refused() {
    if is_skipped() {
        return;
    }
    let mut engine = Engine::start(&[]);
    let mut client = engine.client();
    let keys = make_keys(&mut client);
    ask::<()>(&mut client, "DEBUG SET-SKIP-CHECKSUM-VALIDATION 1");
    let mut random = common::random(1);
    let (mut refused, mut equal) = (0, 0);
    for key in keys {
        let whole = digest_of(&mut client, key);
        let payload: Vec<u8> = ask(&mut client, &format!("DUMP {key}"));
        for _ in 0..if long() { 20_000 } else { 3_400 } {
            let mut damaged = payload.clone();
            match random.random_range(0..4) {
                // Remove some bytes, in the middle or at the end.
                0 => {
                    let from = random.random_range(TYPE..damaged.len() - TRAILER);
                    let most = damaged.len() - TRAILER - from;
                    damaged.drain(from..from + random.random_range(1..=most));
                }
                bits => {
                    for _ in 0..bits {
                        let byte = random.random_range(TYPE..damaged.len() - TRAILER);
                        damaged[byte] ^= 1 << random.random_range(0..8);
                    }
                }
            }
            let mut restore = redis::cmd("RESTORE");
            restore.arg("damaged").arg(0).arg(&damaged).arg("REPLACE");
            match restore.query::<()>(&mut client) {
                Ok(()) => {
                    // The engine compresses strings, and can encode repeated bytes in many ways.
                    let found = digest_of(&mut client, "damaged");
                    assert_eq!(found, whole, "{key}: {payload:?} as {damaged:?}");
                    equal += 1;
                }
                Err(error) => {
                    let text = common::text(&error);
                    assert_eq!(text, "ERR Bad data format", "{key}");
                    refused += 1;
                }
            }
        }
    }
    assert!(
        refused > 10 * equal,
        "{refused} were refused, and {equal} not"
    );
    assert!(engine.is_alive());
    is_sound(&mut client);
}

#[test]
fn damaged_dumps_are_refused() {
    if is_skipped() {
        return;
    }
    let mut engine = Engine::start(&[]);
    let mut client = engine.client();
    make_keys(&mut client);
    let pieces = common::dump(&mut client, "fixed");
    let bytes = pieces[1].1.len();
    let mut random = common::random(2);
    for _ in 0..if long() { 5_000 } else { 500 } {
        let mut damaged = pieces.clone();
        let piece = random.random_range(0..2);
        let byte = random.random_range(0..damaged[piece].1.len());
        damaged[piece].1[byte] ^= 1 << random.random_range(0..8);
        let mut failed = false;
        for (position, piece) in &damaged {
            let mut command = redis::cmd("CF.LOADCHUNK");
            command.arg("damaged").arg(position).arg(&piece[..]);
            failed |= command.query::<Value>(&mut client).is_err();
        }
        // The key may expect more bytes than arrived, because the length comes first.
        let awaits = common::try_ask::<i64>(&mut client, "CF.EXISTS damaged 1");
        assert!(
            failed || awaits.is_err(),
            "byte {byte} of piece {piece} with {bytes} bytes"
        );
        ask::<i64>(&mut client, "DEL damaged");
    }
    assert!(engine.is_alive());
    is_sound(&mut client);
}

/// A value of RedisBloom is refused because of its name, whatever it contains.
#[test]
fn other_types_are_refused_by_name() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let mut client = engine.client();
    let payload = redis_bloom_payload();
    ask::<()>(&mut client, "DEBUG SET-SKIP-CHECKSUM-VALIDATION 1");
    let mut restore = redis::cmd("RESTORE");
    let refused = restore
        .arg("k")
        .arg(0)
        .arg(payload)
        .query::<()>(&mut client)
        .unwrap_err();
    assert_eq!(common::text(&refused), "ERR Bad data format");
    is_sound(&mut client);
}

/// An empty value of the module type `MBbloomCF`, version 4.
fn redis_bloom_payload() -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const MODULE: u8 = 7;
    const NUMBER_OF_64_BITS: u8 = 0x81;
    const END: u8 = 0;
    let place = |letter: u8| LETTERS.iter().position(|&found| found == letter);
    let id = b"MBbloomCF".iter().fold(0_u64, |id, &letter| {
        id << 6 | place(letter).expect("it is one of these") as u64
    });
    let mut payload = vec![MODULE, NUMBER_OF_64_BITS];
    payload.extend((id << 10 | 4).to_be_bytes());
    payload.push(END);
    // The version of the format, and a checksum that is not verified.
    payload.extend([10, 0]);
    payload.extend([0; 8]);
    payload
}
