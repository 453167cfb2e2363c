//! What filters are made of: structures that can get further fields.

use crate::{
    pointer::{Sized64, options},
    status::Failure,
};
use guira::{Builder, CuckooFilter, ExpiringBuilder, ExpiringFilter, Prefer};
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
    /// 0.
    pub reserved: u32,
    /// The bits of the counter that each slot has: 4 or 8. 0 means no counters. Without them 4 to 14
    /// copies of one item fit, and with them 32 to 1536; copies in one slot make no filter grow.
    pub counter_bits: u64,
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
        reserved: 0,
        counter_bits: 0,
    };
}

/// How to make an expiring filter: like `guira_options`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ExpiringOptions {
    /// `sizeof(guira_expiring_options)`.
    pub size: u64,
    /// Nanoseconds for which an item lives, at least.
    pub ttl_ns: u64,
    /// Distinct items of a TTL. 0 means 1024.
    pub capacity: u64,
    /// The share of absent items that seem present, below 1. 0 means 0.001.
    pub false_positive_rate: f64,
    /// The seed of the hash, if `seeded` is not 0. Else it is random.
    pub seed: u64,
    /// Whether `seed` counts.
    pub seeded: u32,
    /// The bits of a fingerprint, instead of the rate. 0 chooses by the rate.
    pub fingerprint_bits: u32,
    /// The epochs of a TTL: an item lives at most one epoch too long. 0 chooses.
    pub epochs: u32,
    /// 0.
    pub reserved: u32,
    /// Distinct items of a TTL after growth. 0 means that the filter does not grow.
    pub max_capacity: u64,
}

// SAFETY: integers and a float, without padding.
#[allow(unsafe_code)]
unsafe impl Sized64 for ExpiringOptions {
    const DEFAULT: Self = Self {
        size: 0,
        ttl_ns: 0,
        capacity: 0,
        false_positive_rate: 0.0,
        seed: 0,
        seeded: 0,
        fingerprint_bits: 0,
        epochs: 0,
        reserved: 0,
        max_capacity: 0,
    };
}

const _: () = {
    assert!(size_of::<Options>() == 64);
    assert!(size_of::<ExpiringOptions>() == 64);
};

const CAPACITY: usize = 1024;

fn capacity(asked: u64, name: &str) -> Result<usize, Failure> {
    asked
        .try_into()
        .map_err(|_| Failure::invalid(format_args!("{name} {asked} exceeds the address space")))
}

fn reserved(value: u32) -> Result<(), Failure> {
    match value {
        0 => Ok(()),
        _ => Err(Failure::invalid(format_args!(
            "reserved is {value}: it must be 0"
        ))),
    }
}

impl Options {
    /// # Safety
    ///
    /// As [`options`].
    #[allow(unsafe_code)]
    pub(crate) unsafe fn builder(pointer: *const Self) -> Result<Builder, Failure> {
        // SAFETY: the caller promises it.
        let this = unsafe { options(pointer) }?;
        reserved(this.reserved)?;
        let mut builder = CuckooFilter::builder().capacity(CAPACITY);
        if this.capacity != 0 {
            builder = builder.capacity(capacity(this.capacity, "capacity")?);
        }
        if this.max_capacity != 0 {
            builder = builder.max_capacity(capacity(this.max_capacity, "max_capacity")?);
        }
        if this.false_positive_rate != 0.0 {
            builder = builder.false_positive_rate(this.false_positive_rate);
        }
        if this.fingerprint_bits != 0 {
            builder = builder.fingerprint_bits(this.fingerprint_bits);
        }
        if this.seeded != 0 {
            builder = builder.seed(this.seed);
        }
        if this.counter_bits != 0 {
            let bits = this.counter_bits.try_into().map_err(|_| {
                let bits = this.counter_bits;
                Failure::invalid(format_args!("counter_bits is {bits}: it must be 0, 4 or 8"))
            })?;
            builder = builder.counter_bits(bits);
        }
        builder = builder.prefer(match this.prefer {
            PREFER_SPEED => Prefer::Speed,
            PREFER_SPACE => Prefer::Space,
            other => {
                return Err(Failure::invalid(format_args!(
                    "prefer is {other}: it must be 0 or 1"
                )));
            }
        });
        Ok(builder)
    }
}

impl ExpiringOptions {
    /// # Safety
    ///
    /// As [`options`].
    #[allow(unsafe_code)]
    pub(crate) unsafe fn builder(pointer: *const Self) -> Result<ExpiringBuilder, Failure> {
        // SAFETY: the caller promises it.
        let this = unsafe { options(pointer) }?;
        reserved(this.reserved)?;
        let ttl = Duration::from_nanos(this.ttl_ns);
        let mut builder = ExpiringFilter::builder(ttl).capacity(CAPACITY);
        if this.capacity != 0 {
            builder = builder.capacity(capacity(this.capacity, "capacity")?);
        }
        if this.max_capacity != 0 {
            builder = builder.max_capacity(capacity(this.max_capacity, "max_capacity")?);
        }
        if this.false_positive_rate != 0.0 {
            builder = builder.false_positive_rate(this.false_positive_rate);
        }
        if this.fingerprint_bits != 0 {
            builder = builder.fingerprint_bits(this.fingerprint_bits);
        }
        if this.seeded != 0 {
            builder = builder.seed(this.seed);
        }
        if this.epochs != 0 {
            builder = builder.epochs(this.epochs);
        }
        Ok(builder)
    }
}
