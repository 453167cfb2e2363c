//! How fast snapshots are made and read, beside a plain copy with a checksum.
//!
//! ```text
//! cargo run --release --example snapshot_throughput -- [MiB] [rounds]
//! ```
//!
//! Each round copies the bytes of a snapshot into fresh memory and takes their
//! checksum, makes the snapshot, and reads it. A ratio of 2 means: in twice the
//! time of the plain copy. The best round of each counts.

use guira::CuckooFilter;
use std::{
    error::Error,
    hint::black_box,
    time::{Duration, Instant},
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().map_or(Ok(default), |text| text.parse());
    let (mebibytes, rounds): (usize, usize) = (number(256)?, number(5)?);
    let items = mebibytes << 19;
    for (name, filter) in [
        ("fixed", CuckooFilter::builder().capacity(items / 10 * 9)),
        (
            "grown",
            CuckooFilter::builder()
                .capacity(items / 10)
                .max_capacity(items / 10 * 9),
        ),
    ] {
        let filter = filter
            .fingerprint_bits(if name == "fixed" { 15 } else { 14 })
            .build()?;
        for item in 0..items / 10 * 9 {
            filter.insert(&item)?;
        }
        filter.finish_growth();
        measure(name, &filter, rounds)?;
    }
    Ok(())
}

fn measure(name: &str, filter: &CuckooFilter, rounds: usize) -> Result<(), Box<dyn Error>> {
    let bytes = filter.to_bytes();
    let mut best = [Duration::MAX; 4];
    let mut time = |which: usize, start: Instant| best[which] = best[which].min(start.elapsed());
    for _ in 0..rounds {
        let start = Instant::now();
        let copy = black_box(&bytes).to_vec();
        black_box(crc32fast::hash(&copy));
        time(0, start);
        drop(copy);
        let start = Instant::now();
        black_box(filter.to_bytes());
        time(1, start);
        let start = Instant::now();
        black_box(CuckooFilter::from_bytes(black_box(&bytes))?);
        time(2, start);
        let start = Instant::now();
        black_box(filter.clone());
        time(3, start);
    }
    let size = bytes.len() as f64;
    let names = ["copy and checksum", "to_bytes", "from_bytes", "clone"];
    for (what, time) in names.iter().zip(best) {
        let rate = size / time.as_secs_f64() / f64::from(1 << 30);
        let ratio = time.as_secs_f64() / best[0].as_secs_f64();
        println!("{name}, {what}: {rate:.2} GiB/s, ratio {ratio:.2}");
    }
    Ok(())
}
