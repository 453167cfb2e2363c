//! For any input, loading needs memory and time in proportion to its length.

use guira_commands::{
    Clock, Filter, FilterDecoder, Growth, Options, Wanted, Window,
    dump::{Header, LENGTH_BYTES, Load, Memory, position_of},
};
use guira_hostile::{Counting, HEAD, Target, fix_checksum, measure, rounds, search};
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Much larger than any input.
const LIMIT: usize = 1 << 30;

fn options(capacity: usize, expansion: u16) -> Options {
    Options {
        capacity,
        expansion,
        ..Options::default()
    }
}

fn filters() -> Vec<Filter> {
    let plain = |capacity, expansion| {
        let options = options(capacity, expansion);
        let growth = Growth::furthest(&options, 1 << 24).unwrap();
        let filter = Filter::build(options, growth).unwrap();
        for item in 0..capacity {
            filter.insert(&item.to_le_bytes(), || false).unwrap();
        }
        filter
    };
    let windowed = |capacity, counter_bits| {
        let window = Window {
            length: Duration::from_secs(3600),
            epochs: None,
        };
        let wanted = Wanted {
            window: Some(window),
            counter_bits,
            ..options(capacity, 1).into()
        };
        let growth = Growth::of(&wanted, 1 << 24).unwrap();
        Filter::wanted(&wanted, growth, Clock::Process).unwrap()
    };
    vec![
        plain(4, 0),
        plain(3_000, 0),
        plain(500, 1),
        windowed(10, None),
        windowed(3_000, None),
        windowed(3_000, Some(8)),
    ]
}

fn snapshot(filter: &Filter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).unwrap();
    bytes
}

/// The header of a dump, the length of the snapshot, and the snapshot.
fn dump(filter: &Filter) -> Vec<u8> {
    let mut bytes = Header::of(filter).to_bytes().to_vec();
    bytes.extend([0; LENGTH_BYTES]);
    bytes.extend(snapshot(filter));
    fix_dump(&mut bytes);
    bytes
}

fn fix_dump(bytes: &mut [u8]) {
    let Some((header, rest)) = bytes.split_at_mut_checked(Header::BYTES) else {
        return;
    };
    let (body, sum) = header.split_last_chunk_mut::<4>().unwrap();
    *sum = crc32fast::hash(body).to_le_bytes();
    if let Some((length, snapshot)) = rest.split_first_chunk_mut::<LENGTH_BYTES>() {
        *length = (snapshot.len() as u64).to_le_bytes();
        let mut fixed = snapshot.to_vec();
        fix_checksum(&mut fixed);
        snapshot.copy_from_slice(&fixed);
    }
}

fn load(bytes: &[u8], size: usize) -> bool {
    let Some((header, rest)) = bytes.split_at_checked(Header::BYTES) else {
        return false;
    };
    let memory = Memory {
        free: LIMIT,
        limit: LIMIT,
    };
    let Ok(mut load) = Load::begin(header, memory, Clock::Process) else {
        return false;
    };
    let mut come = 0;
    let taken = rest.chunks(size).all(|piece| {
        come += piece.len() as u64;
        load.take(position_of(1, come), piece).is_ok()
    });
    taken && load.finish().is_ok()
}

#[test]
fn no_bytes_cost_more_than_their_number_justifies() {
    println!("{HEAD}");
    let check = |target: &Target<'_>| {
        let worst = search(target, measure, 1, rounds());
        println!("{worst}");
        worst.assert_bounded();
    };
    check(&Target {
        name: "`Load`, 1000 bytes at a time",
        seeds: filters().iter().map(dump).collect(),
        fix: fix_dump,
        decode: &|bytes| load(bytes, 1_000),
    });
    for (filter, name) in filters()
        .iter()
        .skip(2)
        .zip(["grows", "small window", "window"])
    {
        let like = Header::of(filter);
        check(&Target {
            name: &format!("`FilterDecoder`, {name}"),
            seeds: vec![snapshot(filter)],
            fix: fix_checksum,
            decode: &|bytes| {
                let mut decoder = FilterDecoder::new(like, Clock::Process, LIMIT);
                decoder.feed(bytes).is_ok() && decoder.finish().is_ok()
            },
        });
    }
}

/// Pieces of any size, for both kinds of filters.
#[test]
fn pieces_give_the_filter_that_was_dumped() {
    for filter in filters() {
        let bytes = snapshot(&filter);
        for size in [1, 100, bytes.len()] {
            let mut decoder = FilterDecoder::new(Header::of(&filter), Clock::Process, LIMIT);
            for piece in bytes.chunks(size) {
                assert!(!decoder.is_complete());
                assert_eq!(decoder.feed(piece).unwrap(), piece.len());
            }
            assert!(decoder.is_complete());
            assert_eq!(decoder.feed(b"more").unwrap(), 0);
            assert!(decoder.memory_usage() >= 8 * filter.buckets());
            let copy = decoder.finish().unwrap();
            assert_eq!(copy.digest(), filter.digest());
            assert_eq!(copy.options(), filter.options());
            assert_eq!(copy.window().is_some(), filter.window().is_some());
        }
    }
}
