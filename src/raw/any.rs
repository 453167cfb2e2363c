//! The protocol in whichever layout a filter has.

use crate::{
    raw::RawFilter,
    table::layout::{F10x6, F12x5, F15x4, F20x3, F30x2, G9x6, G11x5, G14x4, G18x3, G27x2, G28x2},
};

/// One variant for each layout. A filter's variant never changes, so the branch
/// on it is predicted.
pub(crate) enum AnyFilter {
    F10x6(RawFilter<F10x6>),
    F12x5(RawFilter<F12x5>),
    F15x4(RawFilter<F15x4>),
    F20x3(RawFilter<F20x3>),
    F30x2(RawFilter<F30x2>),
    G9x6(RawFilter<G9x6>),
    G11x5(RawFilter<G11x5>),
    G14x4(RawFilter<G14x4>),
    G18x3(RawFilter<G18x3>),
    G27x2(RawFilter<G27x2>),
    G28x2(RawFilter<G28x2>),
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
            Any::G9x6($raw) => $body,
            Any::G11x5($raw) => $body,
            Any::G14x4($raw) => $body,
            Any::G18x3($raw) => $body,
            Any::G27x2($raw) => $body,
            Any::G28x2($raw) => $body,
        }
    }};
}

/// The variant whose fingerprints have `$bits` bits, made by `$make`, in which
/// `$layout` is its layout. `None` for any other number of bits.
macro_rules! of_layout {
    ($bits:expr, $layout:ident => $make:expr) => {{
        use $crate::{raw::any::AnyFilter as Any, table::layout};
        match $bits {
            10 => {
                type $layout = layout::F10x6;
                Some(Any::F10x6($make))
            }
            12 => {
                type $layout = layout::F12x5;
                Some(Any::F12x5($make))
            }
            15 => {
                type $layout = layout::F15x4;
                Some(Any::F15x4($make))
            }
            20 => {
                type $layout = layout::F20x3;
                Some(Any::F20x3($make))
            }
            30 => {
                type $layout = layout::F30x2;
                Some(Any::F30x2($make))
            }
            9 => {
                type $layout = layout::G9x6;
                Some(Any::G9x6($make))
            }
            11 => {
                type $layout = layout::G11x5;
                Some(Any::G11x5($make))
            }
            14 => {
                type $layout = layout::G14x4;
                Some(Any::G14x4($make))
            }
            18 => {
                type $layout = layout::G18x3;
                Some(Any::G18x3($make))
            }
            27 => {
                type $layout = layout::G27x2;
                Some(Any::G27x2($make))
            }
            28 => {
                type $layout = layout::G28x2;
                Some(Any::G28x2($make))
            }
            _ => None,
        }
    }};
}

pub(crate) use {of_layout, with_layout};

impl AnyFilter {
    /// An empty filter of `buckets` buckets with fingerprints of `bits` bits, that can double
    /// `due.len()` times: each time when it holds so many items. `None` if there is no memory.
    pub(crate) fn new(bits: u32, buckets: usize, due: Box<[usize]>) -> Option<Self> {
        let levels = due.len() as u32;
        of_layout!(bits, L => RawFilter::<L>::new(buckets, levels)?.growing_when(due))
    }
}
