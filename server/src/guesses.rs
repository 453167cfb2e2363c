//! Limits how often an address may guess the password.
//!
//! A wrong guess costs time. The table has a fixed size: addresses with the same slot share it, and no
//! client can choose its slot.

use std::{
    hash::{BuildHasher, RandomState},
    net::{IpAddr, Ipv6Addr, SocketAddr},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

/// The number of wrong guesses that an address has at once.
const AT_ONCE: u64 = 50;

/// The time in nanoseconds after which an address gets another guess: 5 guesses per second.
const EACH: u64 = 200_000_000;

/// The number of slots of the table, which takes 32 KB.
const PLACES: usize = 4096;

/// The recent guesses of all addresses.
#[derive(Debug)]
pub struct Guesses {
    hasher: RandomState,
    begun: Instant,
    /// For each slot, the time until which its guesses cost, in nanoseconds from `begun`.
    paid: Box<[AtomicU64]>,
}

/// A guess, which counts as wrong unless it [was right](Self::was_right).
#[derive(Debug)]
pub(crate) struct Guess<'a>(&'a AtomicU64);

impl Default for Guesses {
    fn default() -> Self {
        Self {
            hasher: RandomState::new(),
            begun: Instant::now(),
            paid: (0..PLACES).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}

impl Guesses {
    /// Begins a guess of the client with this address. The error is the time until the next guess.
    pub(crate) fn begin(&self, address: &str) -> Result<Guess<'_>, Duration> {
        let now = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.begin_at(now, address)
    }

    fn begin_at(&self, now: u64, address: &str) -> Result<Guess<'_>, Duration> {
        let hash = self.hasher.hash_one(origin(address));
        let paid = &self.paid[hash as usize % PLACES];
        // Relaxed: no other memory depends on the number.
        let taken = paid.fetch_update(Relaxed, Relaxed, |paid| {
            let paid = paid.max(now);
            (paid - now <= (AT_ONCE - 1) * EACH).then_some(paid + EACH)
        });
        match taken {
            Ok(_) => Ok(Guess(paid)),
            Err(paid) => Err(Duration::from_nanos(paid - now - (AT_ONCE - 1) * EACH)),
        }
    }
}

impl Guess<'_> {
    /// The guess costs nothing.
    pub(crate) fn was_right(self) {
        self.0.fetch_sub(EACH, Relaxed);
    }
}

/// The part of an address that a client cannot vary without more machines or networks: an IPv4
/// address, or the network half of an IPv6 address. All clients of a Unix socket share one.
fn origin(address: &str) -> Option<IpAddr> {
    let address: SocketAddr = address.parse().ok()?;
    Some(match address.ip().to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let network = address.to_bits() >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = "192.0.2.1:1";

    #[test]
    fn wrong_guesses_are_paid_for_with_time() {
        let guesses = Guesses::default();
        for _ in 0..AT_ONCE {
            guesses.begin_at(7, HERE).unwrap();
        }
        assert_eq!(
            guesses.begin_at(7, HERE).unwrap_err().as_nanos() as u64,
            EACH
        );
        assert_eq!(
            guesses.begin_at(8, HERE).unwrap_err().as_nanos() as u64,
            EACH - 1
        );
        guesses.begin_at(7 + EACH, HERE).unwrap();
        guesses.begin_at(7 + EACH, HERE).unwrap_err();
        // After a long time an address has its initial number of guesses, and no more.
        let later = 7 + 1_000 * EACH;
        let free = (0..2 * AT_ONCE).filter(|_| guesses.begin_at(later, HERE).is_ok());
        assert_eq!(free.count() as u64, AT_ONCE);
    }

    #[test]
    fn right_guesses_are_free() {
        let guesses = Guesses::default();
        for _ in 0..10 * AT_ONCE {
            guesses.begin_at(7, HERE).unwrap().was_right();
        }
    }

    #[test]
    fn a_network_is_one_origin() {
        for (one, other, same) in [
            ("192.0.2.1:1", "192.0.2.1:2", true),
            ("192.0.2.1:1", "192.0.2.2:1", false),
            ("192.0.2.1:1", "[::ffff:192.0.2.1]:1", true),
            ("[2001:db8::1]:1", "[2001:db8::2]:2", true),
            ("[2001:db8::1]:1", "[2001:db8:0:1::1]:1", false),
            ("/run/guira.sock:0", "/run/other.sock:0", true),
            ("/run/guira.sock:0", "192.0.2.1:1", false),
        ] {
            assert_eq!(origin(one) == origin(other), same, "{one} {other}");
        }
    }
}
