//! The protocol in whichever layout an expiring filter has.

use crate::{
    geometry::Geometry,
    raw::RawFilter,
    table::{
        Levels,
        layout::{E9x5, E11x4, E16x3, E26x2},
        time::Steps,
    },
};

/// One variant for each layout.
pub(super) enum AnyExpiring {
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

pub(super) use with_layout;

impl AnyExpiring {
    /// An empty filter whose copies are live up to an age of `oldest`; `None` if there is no
    /// memory.
    pub(super) fn new(geometry: &Geometry, oldest: u32) -> Option<Self> {
        Some(of_bits!(geometry.series.fingerprint_bits, L => {
            let raw = RawFilter::<L>::new(geometry.buckets, Levels::FIXED)?;
            raw.with_time(Steps::new(oldest.into()))
        }))
    }
}
