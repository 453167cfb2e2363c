//! Filters that do not grow, for one number of items: with guira's two preferences, and what else
//! can be asked for a rate.

use super::{
    Point,
    asked::{Filter, RATES, fixed, measured_until},
    bits,
};
use crate::{effort::Effort, growth::scalable, keys::Key, peers};
use guira::Prefer;

/// Filters of one number of items.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// The items.
    pub items: u64,
    /// One for each rate.
    pub at_rates: Vec<AtRate>,
}

/// Filters that were asked for the same rate.
#[derive(Clone, Debug)]
pub struct AtRate {
    /// The rate.
    pub asked: f64,
    /// guira, with [`Prefer::Speed`] and with [`Prefer::Space`].
    pub guira: [Point; 2],
    /// The peers, and their bits per item.
    pub peers: Vec<(&'static str, f64)>,
}

/// This number of false positives tells the rate to a hundredth.
const MANY: u64 = 10_000;

pub(super) fn measure(items: u64, effort: Effort) -> Fixed {
    let at_rate = |asked| AtRate {
        asked,
        guira: [Prefer::Speed, Prefer::Space].map(|prefer| guira(asked, prefer, items, effort)),
        peers: all_peers(asked, items),
    };
    Fixed {
        items,
        at_rates: RATES.map(at_rate).into(),
    }
}

/// Called by the words that it chose: semi-sorted ones where packed ones take more.
fn guira(asked: f64, prefer: Prefer, items: u64, effort: Effort) -> Point {
    let filter = fixed(asked, prefer, items);
    let packed = fixed(asked, Prefer::Speed, items);
    let kind = match filter.memory_usage() < packed.memory_usage() {
        true => "semi-sorted ",
        false => "",
    };
    let (bits, slots) = (filter.fingerprint_bits(), filter.bucket_slots());
    let name = format!("{kind}{bits} bits × {slots}");
    measured_until(MANY, (name, asked, 1), filter, items, effort)
}

fn all_peers(asked: f64, items: u64) -> Vec<(&'static str, f64)> {
    let mut chain = scalable(items, asked);
    (0..items).for_each(|number| chain.insert(&u64::nth(number)));
    let mut all = vec![("scalable_cuckoo_filter", bits(Filter::bytes(&chain), items))];
    for (name, make) in peers::asked_for::<u64>() {
        let peer = make(items as usize, asked);
        let accepted = peer.insert_all(0..items);
        all.push((name, bits(peer.bytes(), accepted)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_prefers_space_is_never_larger_and_keeps_the_rate() {
        for at_rate in measure(20_000, Effort::QUICK).at_rates {
            let [speed, space] = &at_rate.guira;
            assert!(space.bits <= speed.bits, "{at_rate:?}");
            assert_eq!(space.refused, 0, "{at_rate:?}");
            assert!(!space.exceeds_rate(), "{at_rate:?}");
            assert_eq!(at_rate.peers.len(), 3);
        }
    }
}
