//! How often an address may guess the password.
//!
//! A wrong guess costs time. The table has a fixed size: addresses with the same place share it,
//! and no client can choose its place.

use std::{
    hash::{BuildHasher, RandomState},
    net::{IpAddr, Ipv6Addr, SocketAddr},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

/// Wrong guesses that an address has at once.
const AT_ONCE: u64 = 50;

/// After that it gets one guess per this number of nanoseconds: 5 per second.
const EACH: u64 = 200_000_000;

/// Places of the table: 32 KB.
const PLACES: usize = 4096;

/// What the addresses have guessed lately.
#[derive(Debug)]
pub struct Guesses {
    hasher: RandomState,
    begun: Instant,
    /// When all guesses of an address are paid for, in nanoseconds from `begun` on.
    paid: Box<[AtomicU64]>,
}

/// A guess that counts as wrong, unless it [was right](Self::was_right).
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
    /// A guess of the client with this address; or how long it must wait before it has another.
    pub(crate) fn begin(&self, address: &str) -> Result<Guess<'_>, Duration> {
        let now = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.begin_at(now, address)
    }

    fn begin_at(&self, now: u64, address: &str) -> Result<Guess<'_>, Duration> {
        let hash = self.hasher.hash_one(origin(address));
        let paid = &self.paid[hash as usize % PLACES];
        // Relaxed: the number stands for itself.
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
    /// Nothing is to be paid for it.
    pub(crate) fn was_right(self) {
        self.0.fetch_sub(EACH, Relaxed);
    }
}

/// What one client has, and can have many of only with many machines or networks: an address of
/// IPv4, or the half of one of IPv6 that names the network. Clients of a Unix socket are one.
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
        // After a long time there are as many as at first, and no more.
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
