//! The protocol in whichever layout an expiring filter has.

use crate::{
    geometry::Geometry,
    raw::RawFilter,
    table::{
        Levels,
        layout::{self, PackedLayout, layouts},
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
        pub(super) enum AnyExpiring {
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

        pub(super) use {of_bits, with_layout};
    };
}

layouts!(any_expiring, $);

impl AnyExpiring {
    /// An empty filter whose copies are live up to an age of `oldest`; `None` if there is no
    /// memory.
    pub(super) fn new(geometry: &Geometry, oldest: u32) -> Option<Self> {
        Some(of_bits!(geometry.series.fingerprint_bits, L => {
            let raw = RawFilter::<L>::new(geometry.buckets, Levels::FIXED)?;
            in_steps(raw, oldest, 0)
        }))
    }
}

/// The filter in the step `step`, with copies that are live up to an age of `oldest`.
pub(super) fn in_steps<L: PackedLayout<Time = Epochs>>(
    raw: RawFilter<L>,
    oldest: u32,
    step: u64,
) -> RawFilter<L> {
    raw.with_time(Epochs::new(oldest.into()).at(step))
}
