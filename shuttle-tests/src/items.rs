//! The material of the laws: items whose buckets are known, and threads.

use guira::model::{Growing, Item};
use shuttle::{
    rand::{Rng, RngCore, thread_rng},
    thread,
};

/// Returns items of a filter with a fixed number of buckets, all with different fingerprints.
#[derive(Debug)]
pub struct Items {
    buckets: usize,
    /// The number of items per class of pairs that share their fingerprints, which are the pairs
    /// with the same sum.
    taken: Vec<usize>,
}

impl Items {
    /// Items for a filter of `buckets` buckets, an even number.
    #[must_use]
    pub fn new(buckets: usize) -> Self {
        Self {
            buckets,
            taken: vec![0; buckets],
        }
    }

    /// Another item whose pair is `a` and `b`, one even and one odd bucket.
    pub fn of(&mut self, a: usize, b: usize) -> Item {
        let nth = &mut self.taken[(a + b) % self.buckets];
        *nth += 1;
        Growing::<2>::item_ending(self.buckets, (a, b), 0, 0, *nth - 1)
    }

    /// Another item of a bucket and one of its neighbours in the ring of buckets. The number of hops to a
    /// free slot is then the distance in the ring.
    pub fn beside(&mut self, bucket: usize) -> Item {
        let other = bucket + if chance(2) { 1 } else { self.buckets - 1 };
        self.of(bucket, other % self.buckets)
    }
}

/// A hash whose fingerprint differs from that of every other `nth` below 64, in any layout. The
/// scheduler chooses the other bits. A fixed filter uses the 9 lowest bits, among others, and a
/// filter that grows from 4 buckets uses those from 54 to 62.
#[must_use]
pub fn hash(nth: u64) -> u64 {
    assert!(nth < 64, "six bits tell the hashes apart");
    let (random, low) = (thread_rng().next_u64(), 1 + below(7) as u64);
    let own = nth << 3 | low;
    random & !(0x1ff | 0x1ff << 54) | own | own << 54
}

/// True with a probability of 1 in `of`. The scheduler decides.
#[must_use]
pub fn chance(of: u32) -> bool {
    thread_rng().gen_ratio(1, of)
}

/// A number below `end` that the scheduler chooses.
#[must_use]
pub fn below(end: usize) -> usize {
    thread_rng().gen_range(0..end)
}

/// One of `values` that the scheduler chooses.
#[must_use]
pub fn one_of<T: Copy>(values: &[T]) -> T {
    values[below(values.len())]
}

/// The work of a thread.
pub type Part<R> = Box<dyn FnOnce() -> R + Send>;

/// Runs all parts concurrently, each in its own thread, and returns their results.
pub fn at_once<R: Send + 'static>(parts: Vec<Part<R>>) -> Vec<R> {
    let threads: Vec<_> = parts.into_iter().map(thread::spawn).collect();
    threads
        .into_iter()
        .map(|thread| thread.join().expect("shuttle reports the panic"))
        .collect()
}
