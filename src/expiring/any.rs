//! The protocol in whichever layout an expiring filter has.

use crate::{
    geometry::Geometry,
    raw::{RawFilter, batch::InFlight},
    table::{
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
        counting $_counting:tt
    ) => {
        /// One variant for each layout.
        pub(crate) enum AnyExpiring {
            $($expiring(RawFilter<layout::$expiring>),)*
            Growing(RawFilter<layout::GrowingExpiring>),
        }

        /// Runs `$body` with `$raw` bound to the raw filter, in each layout.
        macro_rules! with_layout {
            ($d any:expr, $d raw:ident => $d body:expr) => {{
                use $crate::expiring::any::AnyExpiring as Any;
                match $d any {
                    $(Any::$expiring($d raw) => $d body,)*
                    Any::Growing($d raw) => $d body,
                }
            }};
        }

        /// The variant of a `Series`, made by `$make`, in which `$layout` is its layout.
        macro_rules! of_series {
            ($d series:expr, $d layout:ident => $d make:expr) => {{
                use $crate::{expiring::any::AnyExpiring as Any, geometry::Series, table::layout};
                match $d series {
                    $(Series { levels: 0, fingerprint_bits: $bits, .. } => {
                        type $d layout = layout::$expiring;
                        Any::$expiring($d make)
                    })*
                    Series { levels: 0, .. } => {
                        unreachable!("no expiring layout is {:?}", $d series)
                    }
                    _ => {
                        type $d layout = layout::GrowingExpiring;
                        Any::Growing($d make)
                    }
                }
            }};
        }

        pub(crate) use {of_series, with_layout};
    };
}

layouts!(any_expiring, $);

impl AnyExpiring {
    /// An empty filter whose copies are live up to an age of `oldest`; `None` if there is no
    /// memory.
    pub(super) fn new(geometry: &Geometry, oldest: u32) -> Option<Self> {
        let (buckets, levels) = (geometry.buckets, geometry.series.table_levels());
        Some(of_series!(geometry.series, L => {
            let raw = RawFilter::<L>::new(buckets, levels)?;
            let raw = raw.growing_early();
            raw.with_time(Epochs::new(oldest.into()))
        }))
    }

    /// [`RawFilter::contains`] by hash in a filter that can grow, not inlined. It takes the whole enum,
    /// because a pointer to the filter inside would cost the other layouts a register.
    #[inline(never)]
    pub(super) fn contains_hash_growing(&self, hash: u64) -> bool {
        let Self::Growing(raw) = self else {
            unreachable!("only a filter that can grow is looked up here")
        };
        raw.contains(raw.class(hash))
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
