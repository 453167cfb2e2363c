//! Bits per item against the rate of false positives, and how full a table gets.

use crate::{
    effort::Effort,
    hasher,
    keys::{Asked, Walk},
    measure::items,
    ops::LAYOUTS,
    peer::Peer,
    peers::{self, Guira},
};
use guira::CuckooFilter;

/// One filter at its capacity.
#[derive(Clone, Debug)]
pub struct Point {
    /// What it is.
    pub name: String,
    /// The rate that was asked for, if one was.
    pub asked: Option<f64>,
    /// The rate that was measured.
    pub rate: f64,
    /// Bits of memory per item.
    pub bits: f64,
}

impl Point {
    /// The least bits per item that this rate needs: log2(1/ε).
    #[must_use]
    pub fn limit(rate: f64) -> f64 {
        -rate.log2()
    }

    /// What a Bloom filter needs: 1.44 log2(1/ε).
    #[must_use]
    pub fn bloom(rate: f64) -> f64 {
        Self::limit(rate) / std::f64::consts::LN_2
    }
}

/// The highest load of a layout: the load at the first refused insert, the least
/// of several seeds.
#[derive(Clone, Debug)]
pub struct Load {
    /// Bits of a fingerprint.
    pub bits: u32,
    /// For each of [`SIZES`].
    pub highest: Vec<f64>,
}

/// Items asked for, where the highest load is measured.
pub const SIZES: [usize; 3] = [1_000, 30_000, 1_000_000];

/// The rates that are asked for.
const ASKED: [f64; 7] = [0.03, 0.01, 0.003, 0.001, 1e-4, 1e-5, 1e-6];

/// Lookups of absent keys until some hundred were found, but not for ever.
fn rate(peer: &dyn Peer<u64>, effort: Effort) -> f64 {
    let (mut asked, mut found) = (0, 0);
    while found < 400 && asked < effort.steps * 64 {
        found += peer.lookup(Walk::new(Asked::Misses, 1, asked >> 16), 1 << 16);
        asked += 1 << 16;
    }
    found as f64 / asked as f64
}

fn filled(
    name: String,
    asked: Option<f64>,
    peer: &dyn Peer<u64>,
    count: u64,
    effort: Effort,
) -> Point {
    peer.insert_all(0..count);
    Point {
        name,
        asked,
        rate: rate(peer, effort),
        bits: peer.bytes() as f64 * 8.0 / count as f64,
    }
}

/// As many items as a table in the third-level cache holds, in each layout, for each rate, and in each peer.
#[must_use]
pub fn points(effort: Effort) -> Vec<Point> {
    let count = items(effort.log_medium);
    let mut points = Vec::new();
    for (bits, slots) in LAYOUTS {
        let guira = Guira::new(count as usize, bits);
        points.push(filled(
            format!("guira, {bits} bits × {slots}"),
            None,
            &guira,
            count,
            effort,
        ));
    }
    for asked in ASKED {
        let builder = CuckooFilter::builder()
            .capacity(count as usize)
            .false_positive_rate(asked);
        let filter = builder
            .hasher(hasher::state())
            .build()
            .expect("a rate on offer");
        let name = format!("guira, chose {} bits", filter.fingerprint_bits());
        points.push(filled(name, Some(asked), &Guira(filter), count, effort));
    }
    for entry in peers::all::<u64>().into_iter().skip(1) {
        let peer = (entry.make)(count as usize);
        points.push(filled(entry.name.to_owned(), None, &*peer, count, effort));
    }
    points
}

/// The highest loads of the layouts.
#[must_use]
pub fn loads(effort: Effort) -> Vec<Load> {
    let highest = |items: usize, bits: u32| {
        let fill = |seed: u64| {
            let guira = Guira::new(items, bits);
            let first = seed << 40;
            let fits = (first..)
                .take_while(|&n| guira.0.insert(&n).is_ok())
                .count();
            fits as f64 / (guira.0.buckets() * guira.0.bucket_slots()) as f64
        };
        (0..effort.rounds as u64).map(fill).fold(1.0, f64::min)
    };
    let load = |(bits, _)| Load {
        bits,
        highest: SIZES
            .into_iter()
            .map(|items| highest(items, bits))
            .collect(),
    };
    LAYOUTS.into_iter().map(load).collect()
}
