//! What the laws work on: items of known buckets, and threads.

use guira::model::{Growing, Item};
use shuttle::{
    rand::{Rng, RngCore, thread_rng},
    thread,
};

/// Hands out items of a filter of some buckets, no two with one fingerprint.
#[derive(Debug)]
pub struct Items {
    buckets: usize,
    /// Items handed out of the pairs that share their fingerprints: those with one sum.
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

    /// Another item whose pair is `a` and `b`: one even and one odd bucket.
    pub fn of(&mut self, a: usize, b: usize) -> Item {
        let nth = &mut self.taken[(a + b) % self.buckets];
        *nth += 1;
        Growing::<2>::item_ending(self.buckets, (a, b), 0, 0, *nth - 1)
    }

    /// Another item of a bucket and one of its neighbours in the ring of buckets: a
    /// hole is then as many hops away as it looks.
    pub fn beside(&mut self, bucket: usize) -> Item {
        let other = bucket + if chance(2) { 1 } else { self.buckets - 1 };
        self.of(bucket, other % self.buckets)
    }
}

/// A hash whose fingerprint is that of no other `nth`, below 64, in any layout; the
/// rest is as the scheduler says. A fixed filter takes the 9 lowest bits, among others, and one
/// that can grow those from 18 to 26.
#[must_use]
pub fn hash(nth: u64) -> u64 {
    assert!(nth < 64, "six bits tell the hashes apart");
    let (random, low) = (thread_rng().next_u64(), 1 + below(7) as u64);
    let own = nth << 3 | low;
    random & !(0x1ff | 0x1ff << 18) | own | own << 18
}

/// True once in `of` times, as the scheduler says.
#[must_use]
pub fn chance(of: u32) -> bool {
    thread_rng().gen_ratio(1, of)
}

/// A number below `end`, as the scheduler says.
#[must_use]
pub fn below(end: usize) -> usize {
    thread_rng().gen_range(0..end)
}

/// One of `values`, as the scheduler says.
#[must_use]
pub fn one_of<T: Copy>(values: &[T]) -> T {
    values[below(values.len())]
}

/// What a thread does.
pub type Part<R> = Box<dyn FnOnce() -> R + Send>;

/// Runs all parts at once, each in a thread of its own, and returns their results.
pub fn at_once<R: Send + 'static>(parts: Vec<Part<R>>) -> Vec<R> {
    let threads: Vec<_> = parts.into_iter().map(thread::spawn).collect();
    threads
        .into_iter()
        .map(|thread| thread.join().expect("shuttle reports the panic"))
        .collect()
}
