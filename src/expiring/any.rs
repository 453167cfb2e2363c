//! The protocol in whichever layout an expiring filter has.

use crate::{
    geometry::Geometry,
    raw::{RawFilter, batch::Row},
    table::{
        Levels,
        layout::{E9x5, E11x4, E16x3, E26x2, PackedLayout},
        time::Steps,
    },
};

/// One variant for each layout.
pub(crate) enum AnyExpiring {
    E9x5(RawFilter<E9x5>),
    E11x4(RawFilter<E11x4>),
    E16x3(RawFilter<E16x3>),
    E26x2(RawFilter<E26x2>),
}

/// Runs `$body` with `$raw` bound to the raw filter, in each layout.
macro_rules! with_layout {
    ($any:expr, $raw:ident => $body:expr) => {{
        use $crate::expiring::any::AnyExpiring as Any;
        match $any {
            Any::E9x5($raw) => $body,
            Any::E11x4($raw) => $body,
            Any::E16x3($raw) => $body,
            Any::E26x2($raw) => $body,
        }
    }};
}

/// The variant of a fingerprint, made by `$make`, in which `$layout` is its layout.
macro_rules! of_bits {
    ($bits:expr, $layout:ident => $make:expr) => {{
        use $crate::{expiring::any::AnyExpiring as Any, table::layout};
        macro_rules! of {
            ($name:ident) => {{
                type $layout = layout::$name;
                Any::$name($make)
            }};
        }
        match $bits {
            9 => of!(E9x5),
            11 => of!(E11x4),
            16 => of!(E16x3),
            26 => of!(E26x2),
            bits => unreachable!("no expiring layout has {bits} bits"),
        }
    }};
}

pub(super) use {of_bits, with_layout};

impl AnyExpiring {
    /// An empty filter whose copies are live up to an age of `oldest`; `None` if there is no
    /// memory.
    pub(super) fn new(geometry: &Geometry, oldest: u32) -> Option<Self> {
        Some(of_bits!(geometry.series.fingerprint_bits, L => {
            let raw = RawFilter::<L>::new(geometry.buckets, Levels::FIXED)?;
            in_steps(raw, oldest, 0)
        }))
    }

    /// [`RawFilter::first_row`].
    pub(crate) fn first_row(&self, hashes: &[u64]) -> Row {
        with_layout!(self, raw => raw.first_row(hashes))
    }

    /// [`RawFilter::contains_row`].
    pub(crate) fn contains_row(&self, row: &mut Row, hashes: &[u64]) -> u32 {
        with_layout!(self, raw => raw.contains_row(row, hashes))
    }
}

/// The filter in the step `step`, with copies that are live up to an age of `oldest`.
pub(super) fn in_steps<L: PackedLayout<Time = Steps>>(
    raw: RawFilter<L>,
    oldest: u32,
    step: u64,
) -> RawFilter<L> {
    raw.with_time(Steps::new(oldest.into()).at(step))
}
