//! The protocol in whichever layout a filter has.

use crate::{
    geometry::{self, Geometry},
    raw::RawFilter,
    table::layout::{self, Growing, layouts},
};

/// Makes from the list of layouts what all of them need.
macro_rules! any_filter {
    (
        ($d:tt)
        fixed { $($fixed:ident($bits:literal $($_fixed:tt)*))* }
        semi_sorted {
            $($semi:ident($raw:literal raw bits x $_slots:literal, $prefixes:literal $($_semi:tt)*))*
        }
        expiring $_expiring:tt
    ) => {
        /// One variant for each layout. A filter's variant never changes, so the branch
        /// on it is predicted.
        pub(crate) enum AnyFilter {
            $($fixed(RawFilter<layout::$fixed>),)*
            $($semi(RawFilter<layout::$semi>),)*
            Growing(RawFilter<Growing>),
        }

        /// Runs `$body` with `$raw` bound to the raw filter, in each layout.
        macro_rules! with_layout {
            ($d any:expr, $d raw:ident => $d body:expr) => {{
                use $crate::raw::any::AnyFilter as Any;
                match $d any {
                    $(Any::$fixed($d raw) => $d body,)*
                    $(Any::$semi($d raw) => $d body,)*
                    Any::Growing($d raw) => $d body,
                }
            }};
        }

        /// The variant of a `Series`, made by `$make`, in which `$layout` is its layout.
        macro_rules! of_series {
            ($d series:expr, $d layout:ident => $d make:expr) => {{
                use $crate::{geometry::Series, raw::any::AnyFilter as Any, table::layout};
                match $d series {
                    $(Series { levels: 0, fingerprint_bits: $bits, prefixes: 0 } => {
                        type $d layout = layout::$fixed;
                        Any::$fixed($d make)
                    })*
                    $(Series { levels: 0, fingerprint_bits: $raw, prefixes: $prefixes } => {
                        type $d layout = layout::$semi;
                        Any::$semi($d make)
                    })*
                    Series { levels: 0, .. } => unreachable!("no fixed layout is {:?}", $d series),
                    _ => {
                        type $d layout = layout::Growing;
                        Any::Growing($d make)
                    }
                }
            }};
        }

        pub(crate) use {of_series, with_layout};
    };
}

layouts!(any_filter, $);

impl AnyFilter {
    /// An empty filter; `None` if there is no memory.
    pub(crate) fn new(geometry: &Geometry) -> Option<Self> {
        let (buckets, levels) = (geometry.buckets, geometry.series.table_levels());
        Some(of_series!(geometry.series, L => {
            RawFilter::<L>::new(buckets, levels)?.growing_at(geometry::grow_at)
        }))
    }
}
