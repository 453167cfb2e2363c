//! Filters in whichever layout they have.

use super::{
    RawFilter,
    batch::InFlight,
    copies::Seen,
    image::Sink,
    lower::{Keep, Other},
    ops::{
        Layouts, Ops, TimedOps, collected, implement, in_layout, in_parts, operations,
        operations_of_time,
    },
    restore::Restart,
    union::Present,
};
#[cfg(feature = "shared")]
use super::{
    crew::Repaired,
    shared::{Census, SharedPlace},
};
use crate::{
    error::{BatchError, InsertError, SnapshotError},
    geometry::{Geometry, Series},
    stats::Stats,
    table::{
        class::Class,
        layout::{
            self, Growing, GrowingCounting, GrowingExpiring, GrowingExpiringCounting, layouts,
        },
        scan::Restored,
        time::{
            Now,
            beginning::{Beginning, Reading},
        },
    },
};
use std::{ops::Range, time::Duration};

/// Makes the enums from the list of layouts.
///
/// What programs use less is in boxes, so that other filters stay small. Its operations are functions
/// that are not inlined: they are compiled once, and add nothing to the code of other filters.
macro_rules! any {
    (
        ($d:tt)
        fixed { $($fixed:ident($bits:literal $($_fixed:tt)*))* }
        semi_sorted {
            $($semi:ident($raw_bits:literal raw bits x $_slots:literal, $prefixes:literal $($_semi:tt)*))*
        }
        expiring { $($expiring:ident($short:literal $($_expiring:tt)*))* }
        counting {
            $($counting:ident($rest:literal bits and $counter:literal $($_counting:tt)*))*
        }
        expiring_counting {
            $($both:ident(
                $left:literal bits, $_tag:literal of a tag and $number:literal $($_both:tt)*
            ))*
        }
    ) => {
        /// A filter whose items stay.
        pub(crate) enum AnyFilter {
            $($fixed(RawFilter<layout::$fixed>),)*
            $($semi(RawFilter<layout::$semi>),)*
            Growing(RawFilter<Growing>),
            Counting(AnyCounting),
            #[cfg(feature = "shared")]
            Shared(AnyShared),
        }

        /// A filter whose slots have counters.
        pub(crate) enum AnyCounting {
            $($counting(Box<RawFilter<layout::$counting>>),)*
            Growing4(Box<RawFilter<GrowingCounting<4>>>),
            Growing8(Box<RawFilter<GrowingCounting<8>>>),
        }

        /// A filter that processes share.
        #[cfg(feature = "shared")]
        pub(crate) enum AnyShared {
            $($fixed(Box<RawFilter<layout::Shared<layout::$fixed>>>),)*
            $($semi(Box<RawFilter<layout::Shared<layout::$semi>>>),)*
            Growing(Box<RawFilter<layout::Shared<Growing>>>),
        }

        /// A filter whose items expire.
        pub(crate) enum AnyExpiring {
            $($expiring(RawFilter<layout::$expiring>),)*
            Growing(RawFilter<GrowingExpiring>),
            Counting(AnyExpiringCounting),
            #[cfg(feature = "shared")]
            Shared(AnySharedExpiring),
        }

        /// A filter whose items expire, and whose slots have counters.
        pub(crate) enum AnyExpiringCounting {
            $($both(Box<RawFilter<layout::$both>>),)*
            Growing4(Box<RawFilter<GrowingExpiringCounting<4>>>),
            Growing8(Box<RawFilter<GrowingExpiringCounting<8>>>),
        }

        /// A filter that processes share, whose items expire.
        #[cfg(feature = "shared")]
        pub(crate) enum AnySharedExpiring {
            $($expiring(Box<RawFilter<layout::Shared<layout::$expiring>>>),)*
        }

        macro_rules! each_plain {
            ($d any:expr, $d raw:ident => $d body:expr, $d group:ident => $d of_group:expr) => {
                match $d any {
                    $(AnyFilter::$fixed($d raw) => $d body,)*
                    $(AnyFilter::$semi($d raw) => $d body,)*
                    AnyFilter::Growing($d raw) => $d body,
                    AnyFilter::Counting($d group) => $d of_group,
                    #[cfg(feature = "shared")]
                    AnyFilter::Shared($d group) => $d of_group,
                }
            };
        }

        macro_rules! each_counting {
            ($d any:expr, $d raw:ident => $d body:expr, $d group:ident => $d of_group:expr) => {
                match $d any {
                    $(AnyCounting::$counting($d raw) => $d body,)*
                    AnyCounting::Growing4($d raw) => $d body,
                    AnyCounting::Growing8($d raw) => $d body,
                }
            };
        }

        #[cfg(feature = "shared")]
        macro_rules! each_shared {
            ($d any:expr, $d raw:ident => $d body:expr, $d group:ident => $d of_group:expr) => {
                match $d any {
                    $(AnyShared::$fixed($d raw) => $d body,)*
                    $(AnyShared::$semi($d raw) => $d body,)*
                    AnyShared::Growing($d raw) => $d body,
                }
            };
        }

        macro_rules! each_expiring {
            ($d any:expr, $d raw:ident => $d body:expr, $d group:ident => $d of_group:expr) => {
                match $d any {
                    $(AnyExpiring::$expiring($d raw) => $d body,)*
                    AnyExpiring::Growing($d raw) => $d body,
                    AnyExpiring::Counting($d group) => $d of_group,
                    #[cfg(feature = "shared")]
                    AnyExpiring::Shared($d group) => $d of_group,
                }
            };
        }

        macro_rules! each_expiring_counting {
            ($d any:expr, $d raw:ident => $d body:expr, $d group:ident => $d of_group:expr) => {
                match $d any {
                    $(AnyExpiringCounting::$both($d raw) => $d body,)*
                    AnyExpiringCounting::Growing4($d raw) => $d body,
                    AnyExpiringCounting::Growing8($d raw) => $d body,
                }
            };
        }

        #[cfg(feature = "shared")]
        macro_rules! each_shared_expiring {
            ($d any:expr, $d raw:ident => $d body:expr, $d group:ident => $d of_group:expr) => {
                match $d any {
                    $(AnySharedExpiring::$expiring($d raw) => $d body,)*
                }
            };
        }

        /// The variant with the layout of a `Series`. `$make` makes the filter in the layout `$layout`.
        macro_rules! plain_of {
            ($d series:expr, $d layout:ident => $d make:expr) => {
                match $d series {
                    $(Series { levels: 0, fingerprint_bits: $bits, prefixes: 0, counter_bits: 0, .. } => {
                        type $d layout = layout::$fixed;
                        AnyFilter::$fixed($d make)
                    })*
                    $(Series { levels: 0, fingerprint_bits: $raw_bits, prefixes: $prefixes, counter_bits: 0, .. } => {
                        type $d layout = layout::$semi;
                        AnyFilter::$semi($d make)
                    })*
                    $(Series { levels: 0, fingerprint_bits: $rest, counter_bits: $counter, .. } => {
                        type $d layout = layout::$counting;
                        AnyFilter::Counting(AnyCounting::$counting(Box::new($d make)))
                    })*
                    Series { levels: 0, .. } => unreachable!("no fixed layout is {:?}", $d series),
                    Series { counter_bits: 0, .. } => {
                        type $d layout = Growing;
                        AnyFilter::Growing($d make)
                    }
                    Series { counter_bits: 4, .. } => {
                        type $d layout = GrowingCounting<4>;
                        AnyFilter::Counting(AnyCounting::Growing4(Box::new($d make)))
                    }
                    _ => {
                        type $d layout = GrowingCounting<8>;
                        AnyFilter::Counting(AnyCounting::Growing8(Box::new($d make)))
                    }
                }
            };
        }

        macro_rules! expiring_of {
            ($d series:expr, $d layout:ident => $d make:expr) => {
                match $d series {
                    $(Series { levels: 0, fingerprint_bits: $short, counter_bits: 0, .. } => {
                        type $d layout = layout::$expiring;
                        AnyExpiring::$expiring($d make)
                    })*
                    $(Series { levels: 0, fingerprint_bits: $left, counter_bits: $number, .. } => {
                        type $d layout = layout::$both;
                        AnyExpiring::Counting(AnyExpiringCounting::$both(Box::new($d make)))
                    })*
                    Series { levels: 0, .. } => {
                        unreachable!("no expiring layout is {:?}", $d series)
                    }
                    Series { counter_bits: 0, .. } => {
                        type $d layout = GrowingExpiring;
                        AnyExpiring::Growing($d make)
                    }
                    Series { counter_bits: 4, .. } => {
                        type $d layout = GrowingExpiringCounting<4>;
                        AnyExpiring::Counting(AnyExpiringCounting::Growing4(Box::new($d make)))
                    }
                    _ => {
                        type $d layout = GrowingExpiringCounting<8>;
                        AnyExpiring::Counting(AnyExpiringCounting::Growing8(Box::new($d make)))
                    }
                }
            };
        }

        impl Layouts for AnyFilter {
            fn new(geometry: &Geometry, oldest: u64) -> Option<Self> {
                Some(plain_of!(geometry.series, L => RawFilter::<L>::empty(geometry, oldest)?))
            }

            fn for_images(geometry: Geometry, doublings: u32) -> Result<Self, SnapshotError> {
                Ok(plain_of!(geometry.series, L => RawFilter::<L>::for_images(geometry, doublings)?))
            }

            #[cfg(feature = "shared")]
            fn in_words(geometry: &Geometry, oldest: u64, place: SharedPlace) -> Option<Self> {
                let (buckets, levels) = (geometry.buckets, geometry.series.table_levels());
                Some(Self::Shared(match geometry.series {
                    $(Series { levels: 0, fingerprint_bits: $bits, prefixes: 0, counter_bits: 0, .. } => {
                        AnyShared::$fixed(Box::new(RawFilter::in_words(buckets, levels, oldest, place)?))
                    })*
                    $(Series { levels: 0, fingerprint_bits: $raw_bits, prefixes: $prefixes, counter_bits: 0, .. } => {
                        AnyShared::$semi(Box::new(RawFilter::in_words(buckets, levels, oldest, place)?))
                    })*
                    Series { levels: 1.., counter_bits: 0, .. } => {
                        AnyShared::Growing(Box::new(RawFilter::in_words(buckets, levels, oldest, place)?))
                    }
                    _ => return None,
                }))
            }
        }

        impl Layouts for AnyExpiring {
            fn new(geometry: &Geometry, oldest: u64) -> Option<Self> {
                Some(expiring_of!(geometry.series, L => RawFilter::<L>::empty(geometry, oldest)?))
            }

            fn for_images(geometry: Geometry, doublings: u32) -> Result<Self, SnapshotError> {
                Ok(expiring_of!(geometry.series, L => RawFilter::<L>::for_images(geometry, doublings)?))
            }

            #[cfg(feature = "shared")]
            fn in_words(geometry: &Geometry, oldest: u64, place: SharedPlace) -> Option<Self> {
                let (buckets, levels) = (geometry.buckets, geometry.series.table_levels());
                Some(Self::Shared(match geometry.series {
                    $(Series { levels: 0, fingerprint_bits: $short, counter_bits: 0, .. } => {
                        AnySharedExpiring::$expiring(Box::new(RawFilter::in_words(buckets, levels, oldest, place)?))
                    })*
                    _ => return None,
                }))
            }
        }
    };
}

layouts!(any, $);

operations!(implement {
    Ops for AnyFilter,
    each each_plain,
    calls (always),
    batches in_layout,
    contains {
        /// The usual layouts come first and inline: comparisons instead of an indirect jump and a call.
        #[inline(always)]
        fn contains(&self, hash: u64) -> bool {
            match self {
                Self::F15x4(raw) => raw.contains(raw.class(hash)),
                Self::Growing(raw) => raw.contains(raw.class(hash)),
                _ => self.contains_in_other_layouts(hash),
            }
        }
    }
});

operations!(implement {
    Ops for AnyCounting,
    each each_counting,
    calls (never),
    batches collected,
    contains {
        #[inline(always)]
        fn contains(&self, hash: u64) -> bool {
            each_counting!(self, raw => raw.contains_hash(hash), _group => false)
        }
    }
});

#[cfg(feature = "shared")]
operations!(implement {
    Ops for AnyShared,
    each each_shared,
    calls (never),
    batches in_layout,
    contains {
        #[inline(always)]
        fn contains(&self, hash: u64) -> bool {
            each_shared!(self, raw => raw.contains_hash(hash), _group => false)
        }
    }
});

operations!(implement {
    Ops for AnyExpiring,
    each each_expiring,
    calls (always),
    batches in_layout,
    contains {
        #[inline(always)]
        fn contains(&self, hash: u64) -> bool {
            match self {
                // It needs more registers than the other layouts. Inlined, it would slow them down.
                Self::Growing(raw) => raw.contains_hash(hash),
                _ => each_expiring!(
                    self,
                    raw => raw.contains(raw.class(hash)),
                    group => group.contains(hash)
                ),
            }
        }
    }
});

operations!(implement {
    Ops for AnyExpiringCounting,
    each each_expiring_counting,
    calls (never),
    batches collected,
    contains {
        #[inline(never)]
        fn contains(&self, hash: u64) -> bool {
            each_expiring_counting!(self, raw => raw.contains(raw.class(hash)), _group => false)
        }
    }
});

#[cfg(feature = "shared")]
operations!(implement {
    Ops for AnySharedExpiring,
    each each_shared_expiring,
    calls (never),
    batches in_layout,
    contains {
        #[inline(never)]
        fn contains(&self, hash: u64) -> bool {
            each_shared_expiring!(self, raw => raw.contains(raw.class(hash)), _group => false)
        }
    }
});

operations_of_time!(implement { TimedOps for AnyExpiring, each each_expiring });

operations_of_time!(implement { TimedOps for AnyExpiringCounting, each each_expiring_counting });

#[cfg(feature = "shared")]
operations_of_time!(implement { TimedOps for AnySharedExpiring, each each_shared_expiring });

impl AnyFilter {
    #[inline(never)]
    pub(crate) fn contains_in_other_layouts(&self, hash: u64) -> bool {
        each_plain!(self, raw => raw.contains_hash(hash), group => group.contains(hash))
    }
}
