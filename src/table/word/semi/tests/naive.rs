//! Words as plain lists of what they hold, and how those are written.

use crate::table::word::{Mark, semi::SemiSorted};

/// What a word stands for, without any packing.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Naive {
    pub(super) marked: Option<(Mark, u64)>,
    /// The unmarked fingerprints, in order.
    pub(super) rest: Vec<u64>,
    pub(super) token: Option<u64>,
}

/// Multisets of `count` out of `from`: without the largest one, or with it.
pub(super) fn sets(from: u64, count: usize) -> u64 {
    let mut row = vec![1; count + 1];
    row[1..].fill(0);
    for _ in 0..from {
        for size in 1..=count {
            row[size] += row[size - 1];
        }
    }
    row[count]
}

/// The number of the set of these prefixes in the order of a dictionary: how many come before it.
fn number(set: &[u64], prefixes: u64) -> u64 {
    let (mut before, mut least) = (0, 0);
    for (slot, &prefix) in set.iter().enumerate() {
        let after = set.len() - slot - 1;
        before += (least..prefix)
            .map(|smaller| sets(prefixes - smaller, after))
            .sum::<u64>();
        least = prefix;
    }
    before
}

impl Naive {
    pub(super) fn slots_used(&self) -> usize {
        self.rest.len() + usize::from(self.marked.is_some())
    }

    /// The word, as the table in `semi.rs` says.
    pub(super) fn word<L: SemiSorted>(&self) -> u64 {
        let (slots, raw_bits, prefixes) = (L::SLOTS, L::RAW_BITS, L::PREFIXES);
        let raw = |number: u64| number % (1 << raw_bits);
        let taken = usize::from(self.marked.is_some()) + usize::from(self.token.is_some());
        let mut in_order = vec![0; slots - taken - self.rest.len()];
        in_order.extend(&self.rest);
        let set: Vec<u64> = in_order.iter().map(|it| it >> raw_bits).collect();
        let set = number(&set, prefixes);

        let (all, one_less) = (sets(prefixes, slots), sets(prefixes, slots - 1));
        let two_less = sets(prefixes, slots - 2);
        // In each lane there is room for `1 << raw_bits` numbers.
        let room = 1 << raw_bits;
        let heads_with_token = |number: u64| (number * 512).div_ceil(room);
        let reserved = all + 5 * prefixes * one_less;
        let both = reserved + heads_with_token(one_less);

        let mark = self.marked.map_or(0, |(mark, fingerprint)| {
            (mark as u64 - 1) * prefixes + (fingerprint >> raw_bits)
        });
        let with_token = |number: u64| number * 512 + self.token.unwrap_or(0);
        let (head, lane) = match (self.marked, self.token) {
            (None, None) => (set, None),
            (Some(_), None) => (all + mark * one_less + set, None),
            (None, Some(_)) => {
                let all = with_token(set);
                (reserved + all / room, Some(all % room))
            }
            (Some(_), Some(_)) => {
                let all = with_token(mark * two_less + set);
                (both + all / room, Some(all % room))
            }
        };
        let lanes = self.marked.map(|(_, fingerprint)| fingerprint);
        let lanes = lanes.into_iter().chain(lane).chain(in_order);
        let lanes = lanes
            .enumerate()
            .map(|(lane, value)| raw(value) << (lane as u32 * raw_bits));
        head << (raw_bits * slots as u32) | lanes.sum::<u64>()
    }

    fn with_rest(&self, change: impl FnOnce(&mut Vec<u64>)) -> Self {
        let mut changed = self.clone();
        change(&mut changed.rest);
        changed.rest.sort_unstable();
        changed
    }

    pub(super) fn plus(&self, number: u64) -> Self {
        self.with_rest(|rest| rest.push(number))
    }

    pub(super) fn minus(&self, number: u64) -> Option<Self> {
        let place = self.rest.iter().position(|&it| it == number)?;
        Some(self.with_rest(|rest| {
            rest.remove(place);
        }))
    }

    pub(super) fn with_mark(&self, marked: Option<(Mark, u64)>) -> Self {
        Self {
            marked,
            ..self.clone()
        }
    }

    pub(super) fn with_token(&self, token: Option<u64>) -> Self {
        Self {
            token,
            ..self.clone()
        }
    }

    pub(super) fn holds(&self, number: u64) -> bool {
        self.rest.contains(&number)
    }
}
