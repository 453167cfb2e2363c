//! Making a filter in the layout that its geometry says.

use super::{AnyCounting, AnyExpiring, AnyExpiringCounting, AnyFilter, Ops};
#[cfg(feature = "shared")]
use super::{AnyShared, AnySharedExpiring};
use crate::{
    error::SnapshotError,
    geometry::{Geometry, Series},
    raw::RawFilter,
    table::layout::{
        self, Growing, GrowingCounting, GrowingExpiring, GrowingExpiringCounting, layouts,
    },
};
#[cfg(feature = "shared")]
use crate::{raw::shared::SharedPlace, table::layout::Layout};

/// Filters by their layouts, as the fields of [`Filter`](crate::Filter) have them.
pub(crate) trait Layouts: Ops + Sized + Send + Sync {
    /// An empty filter, in which copies with an age of at most `oldest` are live; `None` if there is
    /// no memory.
    fn new(geometry: &Geometry, oldest: u64) -> Option<Self>;

    /// A filter for the words of a snapshot that has doubled so often.
    fn for_images(geometry: Geometry, doublings: u32) -> Result<Self, SnapshotError>;

    /// The filter at this place in memory that processes share. `None` if there is no such layout, or
    /// if the words are too few.
    #[cfg(feature = "shared")]
    fn in_words(geometry: &Geometry, oldest: u64, place: SharedPlace) -> Option<Self>;
}

/// The filter of [`in_words`](Layouts::in_words) in one layout.
#[cfg(feature = "shared")]
fn shared<L: Layout>(
    geometry: &Geometry,
    oldest: u64,
    place: SharedPlace,
) -> Option<Box<RawFilter<layout::Shared<L>>>> {
    let levels = geometry.series.table_levels();
    RawFilter::in_words(geometry.buckets, levels, oldest, place).map(Box::new)
}

/// Makes the constructors from the list of layouts.
macro_rules! made {
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
                Some(Self::Shared(match geometry.series {
                    $(Series { levels: 0, fingerprint_bits: $bits, prefixes: 0, counter_bits: 0, .. } => {
                        AnyShared::$fixed(shared(geometry, oldest, place)?)
                    })*
                    $(Series { levels: 0, fingerprint_bits: $raw_bits, prefixes: $prefixes, counter_bits: 0, .. } => {
                        AnyShared::$semi(shared(geometry, oldest, place)?)
                    })*
                    Series { levels: 1.., counter_bits: 0, .. } => {
                        AnyShared::Growing(shared(geometry, oldest, place)?)
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
                Some(Self::Shared(match geometry.series {
                    $(Series { levels: 0, fingerprint_bits: $short, counter_bits: 0, .. } => {
                        AnySharedExpiring::$expiring(shared(geometry, oldest, place)?)
                    })*
                    _ => return None,
                }))
            }
        }
    };
}

layouts!(made, $);
