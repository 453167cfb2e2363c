//! What filters are made of: structures that can get further fields.

use crate::{
    lifetime::Either,
    pointer::{Sized64, options},
    status::Failure,
};
use guira::{
    Builder, CuckooFilter, ExpiringBuilder, ExpiringFilter, Lifetime, Prefer, SeededState,
};
use std::time::Duration;

/// For `prefer`: the fastest layout.
pub const PREFER_SPEED: u32 = 0;
/// For `prefer`: the smallest layout, for filters that do not grow.
pub const PREFER_SPACE: u32 = 1;

/// How to make a filter. Set all of it to 0, then `size`, then what you want:
/// `guira_options options = {.size = sizeof options, .capacity = 1000000};`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// `sizeof(guira_options)`.
    pub size: u64,
    /// Distinct items that fit at first. 0 means 1024.
    pub capacity: u64,
    /// Distinct items that fit after growth. 0 means that the filter does not grow.
    pub max_capacity: u64,
    /// The share of absent items that seem present, below 1. 0 means 0.001.
    pub false_positive_rate: f64,
    /// The seed of the hash, if `seeded` is not 0. Else it is random.
    pub seed: u64,
    /// Whether `seed` counts. A seed that clients know lets them overfill buckets.
    pub seeded: u32,
    /// The bits of a fingerprint, instead of the rate. 0 chooses by the rate.
    pub fingerprint_bits: u32,
    /// `GUIRA_PREFER_SPEED` or `GUIRA_PREFER_SPACE`.
    pub prefer: u32,
    /// The epochs of a TTL: an item lives at most one epoch too long. 0 chooses.
    pub epochs: u32,
    /// The bits of the counter that each slot has: 4 or 8. 0 means no counters. Without them 4 to 14
    /// copies of one item fit, and with them 32 to 1536; copies in one slot make no filter grow. With a TTL
    /// a slot has copies of one epoch: a TTL has at most 5, and an item takes up room for each in which
    /// it is added.
    pub counter_bits: u64,
    /// Nanoseconds for which an item lives, at least. 0 means that items stay. The capacities are then of the
    /// distinct items of a TTL; to prefer space is for filters without one.
    pub ttl_ns: u64,
}

// SAFETY: integers and a float, without padding.
#[allow(unsafe_code)]
unsafe impl Sized64 for Options {
    const DEFAULT: Self = Self {
        size: 0,
        capacity: 0,
        max_capacity: 0,
        false_positive_rate: 0.0,
        seed: 0,
        seeded: 0,
        fingerprint_bits: 0,
        prefer: 0,
        epochs: 0,
        counter_bits: 0,
        ttl_ns: 0,
    };
}

const _: () = assert!(size_of::<Options>() == 72);

const CAPACITY: usize = 1024;

fn capacity(asked: u64, name: &str) -> Result<usize, Failure> {
    asked
        .try_into()
        .map_err(|_| Failure::invalid(format_args!("{name} {asked} exceeds the address space")))
}

/// A field that filters of this lifetime do not have.
fn unused(name: &str, asked: u32, when: &str) -> Result<(), Failure> {
    match asked {
        0 => Ok(()),
        _ => Err(Failure::invalid(format_args!(
            "{name} is {asked}: it must be 0 {when} a TTL"
        ))),
    }
}

impl Options {
    /// # Safety
    ///
    /// As [`options`].
    #[allow(unsafe_code)]
    pub(crate) unsafe fn builder(
        pointer: *const Self,
    ) -> Result<Either<Builder, ExpiringBuilder>, Failure> {
        // SAFETY: the caller promises it.
        let this = unsafe { options(pointer) }?;
        Ok(match this.ttl_ns {
            0 => Either::Forever(this.forever()?),
            _ => Either::Expiring(this.expiring()?),
        })
    }

    fn forever(self) -> Result<Builder, Failure> {
        unused("epochs", self.epochs, "without")?;
        let builder = self.common(CuckooFilter::builder())?;
        Ok(builder.prefer(match self.prefer {
            PREFER_SPEED => Prefer::Speed,
            PREFER_SPACE => Prefer::Space,
            other => {
                return Err(Failure::invalid(format_args!(
                    "prefer is {other}: it must be 0 or 1"
                )));
            }
        }))
    }

    fn expiring(self) -> Result<ExpiringBuilder, Failure> {
        unused("prefer", self.prefer, "with")?;
        let ttl = Duration::from_nanos(self.ttl_ns);
        let builder = self.common(ExpiringFilter::builder(ttl))?;
        Ok(match self.epochs {
            0 => builder,
            epochs => builder.epochs(epochs),
        })
    }

    fn common<T: Lifetime>(
        self,
        builder: Builder<SeededState, T>,
    ) -> Result<Builder<SeededState, T>, Failure> {
        let mut builder = builder.capacity(match self.capacity {
            0 => CAPACITY,
            asked => capacity(asked, "capacity")?,
        });
        if self.max_capacity != 0 {
            builder = builder.max_capacity(capacity(self.max_capacity, "max_capacity")?);
        }
        if self.false_positive_rate != 0.0 {
            builder = builder.false_positive_rate(self.false_positive_rate);
        }
        if self.fingerprint_bits != 0 {
            builder = builder.fingerprint_bits(self.fingerprint_bits);
        }
        if self.counter_bits != 0 {
            let bits = self.counter_bits.try_into().map_err(|_| {
                let bits = self.counter_bits;
                Failure::invalid(format_args!("counter_bits is {bits}: it must be 0, 4 or 8"))
            })?;
            builder = builder.counter_bits(bits);
        }
        if self.seeded != 0 {
            builder = builder.seed(self.seed);
        }
        Ok(builder)
    }
}
