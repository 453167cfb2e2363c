//! For any input, the decoders of the library need memory and time in proportion to its length. The
//! search and the printed table come from `guira-hostile`.

use guira::{
    CuckooFilter, Expiring, ExpiringFilter, Filter, FilterDecoder, Forever, Lifetime, Prefer,
    SeededState, SnapshotDecoder,
};
use guira_hostile::{Counting, HEAD, Target, fix_checksum, measure, rounds, search};
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Much larger than any input.
const LIMIT: usize = 1 << 30;

fn plain_seeds() -> Vec<Vec<u8>> {
    let builder = CuckooFilter::builder().seed(0);
    let fixed = builder.clone().capacity(3_000).build();
    let small = builder.clone().capacity(1).build();
    let of_space = builder
        .clone()
        .capacity(2_000)
        .prefer(Prefer::Space)
        .build();
    let growable = builder.clone().capacity(200).max_capacity(4_000);
    let far = builder.capacity(100).max_capacity(1_000_000).build();
    let grown = growable.clone().build();
    let filters = [fixed, small, of_space, growable.build(), grown, far];
    let filters = filters.map(|filter| filter.expect("a filter"));
    for item in 0..3_000_u32 {
        filters[4].insert(&item).expect("room");
    }
    filters.iter().map(CuckooFilter::to_bytes).collect()
}

fn expiring_seeds() -> Vec<Vec<u8>> {
    let of = |bits, capacity| {
        let builder = ExpiringFilter::builder(Duration::from_secs(60))
            .seed(0)
            .epochs(3);
        let filter = builder.fingerprint_bits(bits).capacity(capacity).build();
        let filter = filter.expect("a filter");
        for item in 0..capacity {
            filter.insert(&item).expect("room");
        }
        filter.to_bytes()
    };
    let builder = ExpiringFilter::builder(Duration::from_secs(60)).seed(0);
    let growing = builder.capacity(20).max_capacity(20_000).build();
    let growing = growing.expect("a filter");
    let mut snapshots = vec![of(9, 3_000), of(16, 1), of(26, 1_000), growing.to_bytes()];
    for item in 0..3_000_u32 {
        growing.insert(&item).expect("it grows");
    }
    snapshots.push(growing.to_bytes());
    snapshots
}

/// Feeds pieces of `size` bytes.
fn feed<T: Lifetime>(bytes: &[u8], size: usize) -> bool {
    let mut decoder = FilterDecoder::<T>::new(LIMIT);
    let mut pieces = bytes.chunks(size);
    pieces.all(|piece| decoder.feed(piece).is_ok()) && decoder.finish().is_ok()
}

type Decode = fn(&[u8]) -> bool;

/// The decoders of one kind of filter, by the names of that filter and of the decoder of pieces.
fn decoders<T: Lifetime>(filter: &str, pieces: &str) -> [(String, Decode); 4] {
    let from_bytes = |bytes: &[u8]| Filter::<SeededState, T>::from_bytes(bytes).is_ok();
    let read_from = |bytes: &[u8]| Filter::<SeededState, T>::read_from(bytes).is_ok();
    [
        (format!("`{filter}::from_bytes`"), from_bytes),
        (format!("`{filter}::read_from`"), read_from),
        (format!("`{pieces}`, 100 bytes at a time"), |bytes| {
            feed::<T>(bytes, 100)
        }),
        (format!("`{pieces}`, 4 KiB at a time"), |bytes| {
            feed::<T>(bytes, 4096)
        }),
    ]
}

#[test]
fn no_bytes_cost_more_than_their_number_justifies() {
    let plain = decoders::<Forever>("CuckooFilter", "SnapshotDecoder");
    let expiring = decoders::<Expiring>("ExpiringFilter", "ExpiringSnapshotDecoder");
    println!("{HEAD}");
    for (seeds, decoders) in [(plain_seeds(), plain), (expiring_seeds(), expiring)] {
        for (number, (name, decode)) in decoders.into_iter().enumerate() {
            let target = Target {
                name: &name,
                seeds: seeds.clone(),
                fix: fix_checksum,
                decode: &decode,
            };
            let worst = search(&target, measure, number as u64, rounds());
            println!("{worst}");
            worst.assert_bounded();
        }
    }
}

/// A header alone allocates nothing, whatever size it claims and however high the limit is.
#[test]
fn a_table_is_allocated_when_a_quarter_of_it_has_come() {
    let plain = CuckooFilter::builder().capacity(1_000_000).seed(0).build();
    let growable = CuckooFilter::builder()
        .capacity(1_000_000)
        .max_capacity(4_000_000);
    let growable = growable.seed(0).build();
    for filter in [plain, growable].map(|filter| filter.expect("a filter")) {
        let bytes = filter.to_bytes();
        for part in [100, bytes.len() / 8, bytes.len() / 5] {
            let memory = measure(&mut || {
                let mut decoder = SnapshotDecoder::new(LIMIT);
                for piece in bytes[..part].chunks(100) {
                    decoder.feed(piece).expect("the beginning");
                }
                assert!(decoder.memory_usage() <= part + part / 8 + (32 << 10));
            });
            assert!(
                memory.peak <= part + part / 8 + (32 << 10),
                "{memory:?} of {part}"
            );
        }
    }
}
