//! The protocol in whichever layout a filter has.

use crate::{
    geometry::{self, Geometry},
    raw::RawFilter,
    table::layout::{F10x6, F12x5, F15x4, F20x3, F30x2, Growing, S7x7, S8x6, S9x5, S12x4, S17x3},
};

/// One variant for each layout. A filter's variant never changes, so the branch
/// on it is predicted.
pub(crate) enum AnyFilter {
    F10x6(RawFilter<F10x6>),
    F12x5(RawFilter<F12x5>),
    F15x4(RawFilter<F15x4>),
    F20x3(RawFilter<F20x3>),
    F30x2(RawFilter<F30x2>),
    S7x7(RawFilter<S7x7>),
    S8x6(RawFilter<S8x6>),
    S9x5(RawFilter<S9x5>),
    S12x4(RawFilter<S12x4>),
    S17x3(RawFilter<S17x3>),
    Growing(RawFilter<Growing>),
}

/// Runs `$body` with `$raw` bound to the raw filter, in each layout.
macro_rules! with_layout {
    ($any:expr, $raw:ident => $body:expr) => {{
        use $crate::raw::any::AnyFilter as Any;
        match $any {
            Any::F10x6($raw) => $body,
            Any::F12x5($raw) => $body,
            Any::F15x4($raw) => $body,
            Any::F20x3($raw) => $body,
            Any::F30x2($raw) => $body,
            Any::S7x7($raw) => $body,
            Any::S8x6($raw) => $body,
            Any::S9x5($raw) => $body,
            Any::S12x4($raw) => $body,
            Any::S17x3($raw) => $body,
            Any::Growing($raw) => $body,
        }
    }};
}

/// The variant of a `Series`, made by `$make`, in which `$layout` is its layout.
macro_rules! of_series {
    ($series:expr, $layout:ident => $make:expr) => {{
        use $crate::{geometry::Series, raw::any::AnyFilter as Any, table::layout};
        macro_rules! of {
            ($name:ident) => {{
                type $layout = layout::$name;
                Any::$name($make)
            }};
        }
        match $series {
            Series {
                levels: 0,
                fingerprint_bits,
                prefixes,
            } => match (fingerprint_bits, prefixes) {
                (10, 0) => of!(F10x6),
                (12, 0) => of!(F12x5),
                (15, 0) => of!(F15x4),
                (20, 0) => of!(F20x3),
                (30, 0) => of!(F30x2),
                (7, 5) => of!(S7x7),
                (8, 8) => of!(S8x6),
                (9, 17) => of!(S9x5),
                (12, 15) => of!(S12x4),
                (17, 14) => of!(S17x3),
                of_none => unreachable!("no fixed layout has {of_none:?} bits and prefixes"),
            },
            _ => of!(Growing),
        }
    }};
}

pub(crate) use {of_series, with_layout};

impl AnyFilter {
    /// An empty filter; `None` if there is no memory.
    pub(crate) fn new(geometry: &Geometry) -> Option<Self> {
        let (buckets, levels) = (geometry.buckets, geometry.series.table_levels());
        Some(of_series!(geometry.series, L => {
            RawFilter::<L>::new(buckets, levels)?.growing_at(geometry::grow_at)
        }))
    }
}
