use std::{error::Error, fmt, time::Duration};

/// A filter cannot be built as requested.
///
/// ```
/// use guira::{BuildError, CuckooFilter};
///
/// let error = CuckooFilter::builder().capacity(100).max_capacity(10).build();
/// let expected = BuildError::MaxCapacity { asked: 10, capacity: 100 };
/// assert_eq!(error.err(), Some(expected));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum BuildError {
    /// The capacity is 0.
    ZeroCapacity,
    /// The capacity needs more buckets than a filter can have.
    Capacity {
        /// The requested capacity; for a filter that can grow, the largest one.
        asked: usize,
        /// The requested fingerprint bits, or those of the layout with the most room.
        fingerprint_bits: u32,
        /// The largest capacity allowed.
        max: usize,
    },
    /// The false-positive rate is not a rate, or no layout reaches it.
    FalsePositiveRate {
        /// The requested rate.
        asked: f64,
        /// The lowest rate that any layout reaches.
        min: f64,
    },
    /// There is no layout with fingerprints of this size.
    FingerprintBits {
        /// The requested number of bits.
        asked: u32,
        /// The supported numbers of bits.
        allowed: Vec<u32>,
    },
    /// Fingerprints of the requested size do not reach the requested rate. If no size was requested:
    /// the longest ones of this kind of filter do not.
    RateOfFingerprint {
        /// The requested rate.
        asked: f64,
        /// The number of bits.
        fingerprint_bits: u32,
        /// The lowest rate that these fingerprints reach.
        min: f64,
    },
    /// A filter that can grow was asked to prefer space, which only a fixed one can.
    GrowthInSpace {
        /// The requested maximum capacity.
        max_capacity: usize,
    },
    /// Counters cannot have this size.
    CounterBits {
        /// The requested number of bits.
        asked: u32,
        /// The supported numbers of bits.
        allowed: Vec<u32>,
    },
    /// A filter with counters was asked to prefer space, which only one without them can.
    CountersInSpace {
        /// The requested number of bits of a counter.
        counter_bits: u32,
    },
    /// The maximum capacity is less than the capacity.
    MaxCapacity {
        /// The requested maximum capacity.
        asked: usize,
        /// The requested capacity.
        capacity: usize,
    },
    /// No layout can double often enough at this rate.
    Growth {
        /// The requested capacity.
        asked: usize,
        /// The requested maximum capacity.
        max_capacity: usize,
        /// The requested rate.
        rate: f64,
        /// The least capacity from which the filter can grow that far.
        min: usize,
    },
    /// A TTL cannot have this number of epochs.
    Epochs {
        /// The requested number of epochs.
        asked: u32,
        /// The largest number of epochs, for the requested fingerprint bits, if any.
        max: u32,
    },
    /// With counters, an item that occurs in each epoch does not fit its two buckets.
    EpochsOfCounters {
        /// The requested number of epochs.
        asked: u32,
        /// The requested number of bits of a counter.
        counter_bits: u32,
        /// The largest number of epochs at the requested rate or fingerprint bits.
        max: u32,
    },
    /// The epochs of the TTL would be too short.
    Ttl {
        /// The requested TTL.
        asked: Duration,
        /// The shortest TTL with this number of epochs.
        min: Duration,
    },
    /// The allocator refused the memory for the table.
    Memory {
        /// Buckets of the table, 8 bytes each.
        buckets: usize,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroCapacity => f.write_str("capacity must be at least 1"),
            Self::Capacity {
                asked,
                fingerprint_bits,
                max,
            } => write!(
                f,
                "capacity {asked} is too large: with {fingerprint_bits}-bit fingerprints at most \
                 {max} items fit"
            ),
            Self::FalsePositiveRate { asked, min } => {
                let (asked, min) = (Rate(*asked), Rate::least(*min));
                write!(
                    f,
                    "false-positive rate {asked} is not in the range [{min}, 1)"
                )
            }
            Self::FingerprintBits { asked, allowed } => write!(
                f,
                "unsupported fingerprint size {asked}: use one of {allowed:?}"
            ),
            Self::RateOfFingerprint {
                asked,
                fingerprint_bits,
                min,
            } => {
                let (asked, min) = (Rate(*asked), Rate::least(*min));
                write!(
                    f,
                    "{fingerprint_bits}-bit fingerprints do not reach a false-positive rate of \
                     {asked}: the range is [{min}, 1)"
                )
            }
            Self::GrowthInSpace { max_capacity } => write!(
                f,
                "`Prefer::Space` does not support growth: remove `max_capacity({max_capacity})` or \
                 use `Prefer::Speed`"
            ),
            Self::CounterBits { asked, allowed } => {
                write!(
                    f,
                    "unsupported counter size {asked}: use one of {allowed:?}"
                )
            }
            Self::CountersInSpace { counter_bits } => write!(
                f,
                "`Prefer::Space` does not support counters: remove `counter_bits({counter_bits})` \
                 or use `Prefer::Speed`"
            ),
            Self::MaxCapacity { asked, capacity } => {
                write!(
                    f,
                    "max_capacity {asked} is less than the capacity, {capacity}"
                )
            }
            Self::Growth {
                asked,
                max_capacity,
                rate,
                min,
            } => {
                let rate = Rate(*rate);
                write!(
                    f,
                    "a filter for {asked} items cannot grow to {max_capacity} at a false-positive \
                     rate of {rate}: it must start with a capacity of at least {min}"
                )
            }
            Self::Epochs { asked, max } => {
                write!(f, "epochs must be between 1 and {max}, got {asked}")
            }
            Self::EpochsOfCounters {
                asked,
                counter_bits,
                max,
            } => write!(
                f,
                "an item that occurs in each of {asked} epochs does not fit its buckets with \
                 counters of {counter_bits} bits: at this false-positive rate there are at most \
                 {max} epochs"
            ),
            Self::Ttl { asked, min } => write!(
                f,
                "a TTL of {asked:?} is too short for its epochs: it must be at least {min:?}"
            ),
            Self::Memory { buckets } => write!(f, "no memory for {buckets} buckets of 8 bytes"),
        }
    }
}

impl Error for BuildError {}

/// A rate as people write it: `0.01`, but `3e-8`.
struct Rate(f64);

impl Rate {
    /// `min` to two digits, rounded up, so that it is still allowed.
    fn least(min: f64) -> Self {
        let to_two_digits = |rate: f64| format!("{rate:.1e}").parse().unwrap_or(min);
        let near = to_two_digits(min);
        if near >= min {
            return Self(near);
        }
        let unit = 10_f64.powi(min.log10().floor() as i32 - 1);
        Self(to_two_digits(near + unit))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(rate) = self;
        match rate.abs() {
            small if small > 0.0 && small < 1e-4 => write!(f, "{rate:e}"),
            _ => write!(f, "{rate}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_written_as_people_write_them() {
        for text in ["0", "0.01", "0.0001", "3e-8", "1.5e-7", "1", "NaN", "-2e-9"] {
            assert_eq!(Rate(text.parse().unwrap()).to_string(), text);
        }
    }

    #[test]
    fn the_lowest_rate_that_is_named_is_allowed() {
        for (min, text) in [
            (2e-9, "2e-9"),
            (0.25, "0.25"),
            (2.980_232_260_973_992e-8, "3e-8"),
            (2.44e-8, "2.5e-8"),
            (9.91e-8, "1e-7"),
            (0.012_34, "0.013"),
        ] {
            let least = Rate::least(min);
            assert!(least.0 >= min && least.0 <= 1.1 * min, "{min}");
            assert_eq!(least.to_string(), text);
        }
        for step in 0..10_000 {
            let min = 1.1e-9 * 1.001_f64.powi(step);
            let least = Rate::least(min).0;
            assert!(least >= min && least <= 1.1 * min, "{min}");
        }
    }
}
