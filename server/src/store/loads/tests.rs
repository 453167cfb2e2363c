//! Complete, truncated, abandoned, concurrent and hostile loads.

use super::*;
use crate::store::Store;
use guira_commands::Args;
use guira_commands::{
    Options, Window, commands,
    dump::{LENGTH_BYTES, offset_of, position_of},
};
use std::{
    fmt,
    sync::{Arc, mpsc},
    thread,
};

/// Runs once, on the thread that decodes the next piece.
#[derive(Default)]
pub(super) struct Hook(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Hook {
    fn set(&self, work: impl FnOnce() + Send + 'static) {
        *self.0.lock().unwrap() = Some(Box::new(work));
    }

    pub(super) fn run(&self) {
        let work = self.0.lock().unwrap().take();
        if let Some(work) = work {
            work();
        }
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}

/// Runs `work` on another thread while the next piece is decoded, as if for another client, and
/// returns its result.
fn beside_the_next_piece<T: Send + 'static>(
    store: &Arc<Store>,
    work: impl FnOnce(&Store) -> T + Send + 'static,
) -> mpsc::Receiver<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let store_there = store.clone();
    store.loads.while_decoding.set(move || {
        let (done, is_done) = mpsc::channel();
        thread::spawn(move || done.send(work(&store_there)));
        // A client that waited for the piece would block forever.
        let result = is_done.recv_timeout(Duration::from_secs(60));
        sender.send(result.expect("nobody waits")).unwrap();
    });
    receiver
}

#[test]
fn other_clients_do_not_wait_while_a_piece_is_decoded() {
    let (store, used) = with_a_key();
    let store = Arc::new(store);
    let (_, header) = dump(&store, 0);
    let (next, piece) = dump(&store, 1);
    let half = piece.len() / 2;
    assert_eq!(load(&store, 1, &header), Reply::OK);
    assert_eq!(load(&store, half as u64, &piece[..half]), Reply::OK);
    let charged = store.loads.in_progress().bytes;
    let again = piece[half..].to_vec();
    let beside = beside_the_next_piece(&store, move |store| {
        let other: &[&[u8]] = &[b"CF.LOADCHUNK", b"other", b"1", &header];
        let begun = ask(store, other);
        let info = store.loads.in_progress();
        store.loads.abandon(&store.keyspace, |key| key == b"other");
        store
            .loads
            .expire(&store.keyspace, Duration::from_secs(3600));
        (begun, info, load(store, next, &again))
    });
    assert_eq!(load(&store, next, &piece[half..]), Reply::OK);
    let (begun, info, busy) = beside.recv().unwrap();
    assert_eq!(begun, Reply::OK);
    assert_eq!((info.count, info.bytes), (2, charged));
    let Reply::Error(busy) = busy else {
        panic!("{busy:?}");
    };
    assert!(busy.starts_with("TRYAGAIN"), "{busy}");
    assert!(store.keyspace.contains(b"copy"));
    let name = b"copy".len() - b"k".len();
    assert_eq!(store.keyspace.used(), 2 * used + name);
    assert_eq!(store.loads.in_progress(), InProgress { count: 0, bytes: 0 });
}

/// A `DEL`, another load of the key and idleness each end a load.
#[test]
fn a_load_that_is_ended_while_a_piece_is_decoded_is_no_filter() {
    let (store, used) = with_a_key();
    let store = Arc::new(store);
    let (_, header) = dump(&store, 0);
    let (next, piece) = dump(&store, 1);
    let first = &piece[..piece.len() / 2];
    type End = fn(&Store, &[u8]);
    let ends: [(End, usize); 3] = [
        (|store, _| store.abandon(|key| key == b"copy"), 0),
        (
            |store, header| assert_eq!(load(store, 1, header), Reply::OK),
            1,
        ),
        (|store, _| store.expire(Duration::ZERO), 0),
    ];
    for (end, left) in ends {
        for is_last in [false, true] {
            assert_eq!(load(&store, 1, &header), Reply::OK);
            let header = header.clone();
            let beside = beside_the_next_piece(&store, move |store| end(store, &header));
            let reply = match is_last {
                false => load(&store, first.len() as u64, first),
                true => load(&store, next, &piece),
            };
            beside.recv().unwrap();
            assert_eq!(reply, Reply::error("ERR not found"));
            assert_eq!(store.keyspace.used(), used);
            assert!(!store.keyspace.contains(b"copy"));
            assert_eq!(store.loads.in_progress().count, left);
            store.loads.abandon(&store.keyspace, |_| true);
        }
    }
}

/// A window is charged in the same way as a filter without one.
#[test]
fn a_load_of_a_window_is_charged_for_its_table() {
    let (store, _) = with_a_key();
    assert!(store.keyspace.delete(b"k"));
    let wanted = guira_commands::Wanted {
        window: Some(Window {
            length: Duration::from_secs(3600),
            epochs: None,
        }),
        ..Options {
            capacity: 10_000,
            expansion: 0,
            ..Options::default()
        }
        .into()
    };
    let filter = store.keyspace.reserve(b"k", &wanted).unwrap();
    let table = 8 * filter.buckets() as u64;
    let (_, header) = dump(&store, 0);
    let (next, piece) = dump(&store, 1);
    assert!(piece.len() as u64 > table, "one piece");
    assert_eq!(load(&store, 1, &header), Reply::OK);
    let all_but_one = piece.len() - 1;
    assert_eq!(
        load(&store, all_but_one as u64, &piece[..all_but_one]),
        Reply::OK
    );
    let bytes = store.loads.in_progress().bytes;
    assert!(
        (table..table + (16 << 10)).contains(&bytes),
        "{bytes} for {table}"
    );
    assert_eq!(load(&store, next, &piece[all_but_one..]), Reply::OK);
    let copy = store.keyspace.get(b"copy").unwrap();
    assert_eq!(copy.digest(), filter.digest());
}

/// 16 bytes of a pass without a chunk once allocated a table of any size.
#[test]
fn empty_passes_and_passes_at_no_higher_level_are_refused() {
    let (store, used) = with_a_key();
    let (_, header) = dump(&store, 0);
    let (_, piece) = dump(&store, 1);
    let mut bytes = piece[..LENGTH_BYTES + 64].to_vec();
    let level = bytes.len();
    for _ in 0..1_000 {
        bytes.extend(0_u64.to_le_bytes());
        bytes.extend(1_u64.to_le_bytes());
    }
    let length = 1_u64 << 20;
    bytes[..LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
    assert_eq!(load(&store, 1, &header), Reply::OK);
    // The end of the first pass is refused.
    let before = level + 8;
    assert_eq!(load(&store, before as u64, &bytes[..before]), Reply::OK);
    let rest = &bytes[before..];
    let refused = load(&store, bytes.len() as u64, rest);
    assert_eq!(refused, Reply::error("Couldn't load chunk!"));
    assert_eq!(store.loads.in_progress().count, 0);
    assert_eq!(store.keyspace.used(), used);
}

fn with_a_key() -> (Store, usize) {
    let store = Store::new(usize::MAX, None);
    let options = Options {
        capacity: 100,
        ..Options::default()
    };
    store.keyspace.reserve(b"k", &options.into()).unwrap();
    let used = store.keyspace.used();
    (store, used)
}

fn ask(store: &Store, words: Args<'_>) -> Reply {
    let commands = commands::<Store>();
    let named = |command: &&guira_commands::Command<_>| command.name.as_bytes() == words[0];
    let command = commands.iter().find(named).unwrap();
    (command.run)(store, words).unwrap_or_else(|refusal| refusal)
}

/// The position of the next piece, and the piece.
fn dump(store: &Store, position: u64) -> (u64, Vec<u8>) {
    let position = position.to_string();
    let reply = ask(store, &[b"CF.SCANDUMP", b"k", position.as_bytes()]);
    let Reply::Array(reply) = reply else {
        panic!("{reply:?}");
    };
    match &reply[..] {
        [Reply::Integer(next), Reply::Bulk(piece)] => (*next as u64, piece.to_vec()),
        [Reply::Integer(0), Reply::Null] => (0, Vec::new()),
        other => panic!("{other:?}"),
    }
}

fn load(store: &Store, position: u64, piece: &[u8]) -> Reply {
    let position = position.to_string();
    ask(
        store,
        &[b"CF.LOADCHUNK", b"copy", position.as_bytes(), piece],
    )
}

#[test]
fn a_load_is_charged_until_it_ends() {
    let (store, used) = with_a_key();
    let (_, header) = dump(&store, 0);
    let (next, piece) = dump(&store, 1);
    // The dump is in a file.
    assert_eq!(store.keyspace.used(), used);
    assert_eq!(load(&store, 1, &header), Reply::OK);
    let half = &piece[..piece.len() / 2];
    assert_eq!(load(&store, half.len() as u64, half), Reply::OK);
    let dumps = store.dumps.in_progress();
    assert_eq!((dumps.count, dumps.bytes), (1, piece.len() as u64));
    let loads = store.loads.in_progress();
    assert_eq!(loads.count, 1);
    assert!(loads.bytes > 0);
    assert_eq!(store.keyspace.used(), used + loads.bytes as usize);
    // This reads the dumps to their ends.
    assert_eq!(dump(&store, next).0, 0);
    assert_eq!(load(&store, next, &piece[half.len()..]), Reply::OK);
    let name = b"copy".len() - b"k".len();
    assert_eq!(store.keyspace.used(), 2 * used + name);
    let nothing = InProgress { count: 0, bytes: 0 };
    assert_eq!(store.dumps.in_progress(), nothing);
    assert_eq!(store.loads.in_progress(), nothing);
}

#[test]
fn a_load_that_is_refused_gives_its_memory_back() {
    let (store, used) = with_a_key();
    let (_, header) = dump(&store, 0);
    let (next, piece) = dump(&store, 1);
    let mut damaged = piece.clone();
    *damaged.last_mut().unwrap() ^= 1;
    for pieces in [
        &[&damaged[..]][..],
        &[&piece, b"x"],
        &[&piece[..300], &damaged[..1]],
    ] {
        assert_eq!(load(&store, 1, &header), Reply::OK);
        let mut position = position_of(offset_of(next).0, 0);
        let replies = pieces.iter().map(|piece| {
            position += piece.len() as u64;
            load(&store, position, piece)
        });
        let replies: Vec<_> = replies.collect();
        if pieces.len() > 1 && pieces[0].len() == piece.len() {
            // The first piece was the whole load.
            assert_eq!(replies[0], Reply::OK);
            assert!(store.keyspace.delete(b"copy"));
        }
        store.loads.abandon(&store.keyspace, |_| true);
        assert_eq!(store.keyspace.used(), used, "{replies:?}");
    }
}

#[test]
fn a_length_that_cannot_be_is_refused_at_once() {
    let (store, used) = with_a_key();
    let (_, header) = dump(&store, 0);
    for length in [u64::MAX, 1 << 63, position_of(1, 1)] {
        assert_eq!(load(&store, 1, &header), Reply::OK);
        let Reply::Error(refused) = load(&store, 8, &length.to_le_bytes()) else {
            panic!("{length} bytes are awaited");
        };
        let expected = format!("Couldn't load chunk! The dump is said to have {length} bytes");
        assert!(refused.starts_with(&expected), "{refused}");
        assert_eq!(store.loads.in_progress().count, 0);
        assert_eq!(store.keyspace.used(), used);
    }
}

#[test]
fn what_nobody_goes_on_with_ends() {
    let (store, used) = with_a_key();
    let (_, header) = dump(&store, 0);
    let (next, piece) = dump(&store, 1);
    load(&store, 1, &header);
    load(&store, 100, &piece[..100]);
    store.expire(Duration::from_secs(3600));
    assert!(store.keyspace.used() > used);
    store.expire(Duration::ZERO);
    assert_eq!(store.keyspace.used(), used);
    let position = next.to_string();
    assert_eq!(
        ask(&store, &[b"CF.SCANDUMP", b"k", position.as_bytes()]),
        Reply::error("Invalid position")
    );
    assert_eq!(
        load(&store, next, &piece[100..]),
        Reply::error("ERR not found")
    );
}
