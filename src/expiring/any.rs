//! The protocol in whichever layout an expiring filter has.

use crate::{
    geometry::Geometry,
    raw::{RawFilter, batch::InFlight},
    table::{
        Levels,
        layout::{self, layouts},
        time::Epochs,
    },
};

/// Makes from the list of layouts what those of expiring filters need.
macro_rules! any_expiring {
    (
        ($d:tt)
        fixed $_fixed:tt
        semi_sorted $_semi:tt
        expiring { $($expiring:ident($bits:literal $($_expiring:tt)*))* }
    ) => {
        /// One variant for each layout.
        pub(crate) enum AnyExpiring {
            $($expiring(RawFilter<layout::$expiring>),)*
        }

        /// Runs `$body` with `$raw` bound to the raw filter, in each layout.
        macro_rules! with_layout {
            ($d any:expr, $d raw:ident => $d body:expr) => {{
                use $crate::expiring::any::AnyExpiring as Any;
                match $d any {
                    $(Any::$expiring($d raw) => $d body,)*
                }
            }};
        }

        /// The variant of a fingerprint, made by `$make`, in which `$layout` is its layout.
        macro_rules! of_bits {
            ($d bits:expr, $d layout:ident => $d make:expr) => {{
                use $crate::{expiring::any::AnyExpiring as Any, table::layout};
                match $d bits {
                    $($bits => {
                        type $d layout = layout::$expiring;
                        Any::$expiring($d make)
                    })*
                    bits => unreachable!("no expiring layout has {bits} bits"),
                }
            }};
        }

        pub(crate) use with_layout;
    };
}

layouts!(any_expiring, $);

impl AnyExpiring {
    /// An empty filter whose copies are live up to an age of `oldest`; `None` if there is no
    /// memory.
    pub(super) fn new(geometry: &Geometry, oldest: u32) -> Option<Self> {
        Some(of_bits!(geometry.series.fingerprint_bits, L => {
            let raw = RawFilter::<L>::new(geometry.buckets, Levels::FIXED)?;
            raw.with_time(Epochs::new(oldest.into()))
        }))
    }

    /// [`RawFilter::first_in_flight`].
    pub(crate) fn first_in_flight(&self, hashes: &[u64]) -> InFlight {
        with_layout!(self, raw => raw.first_in_flight(hashes))
    }

    /// [`RawFilter::contains_in_flight`].
    pub(crate) fn contains_in_flight(&self, row: &mut InFlight, hashes: &[u64]) -> u32 {
        with_layout!(self, raw => raw.contains_in_flight(row, hashes))
    }
}
