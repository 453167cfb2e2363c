//! The protocol in whichever layout a filter has.

mod counting;

pub(crate) use counting::{AnyCounting, with_counting};

#[cfg(feature = "shared")]
use crate::error::InsertError;
use crate::{
    geometry::{Geometry, Series},
    raw::{RawFilter, copies::Seen, frontier::memory::ScanError},
    table::layout::{self, Growing, GrowingCounting, layouts},
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
        counting {
            $($counting:ident($rest:literal bits and $counter:literal $($_counting:tt)*))*
        }
    ) => {
        /// One variant for each layout. A filter's variant never changes, so the branch
        /// on it is predicted.
        pub(crate) enum AnyFilter {
            $($fixed(RawFilter<layout::$fixed>),)*
            $($semi(RawFilter<layout::$semi>),)*
            Growing(RawFilter<Growing>),
            Counting(AnyCounting),
            #[cfg(feature = "shared")]
            Shared(AnyShared),
        }

        /// A filter that processes share. It is in a box, so that other filters stay small.
        #[cfg(feature = "shared")]
        pub(crate) enum AnyShared {
            $($fixed(Box<RawFilter<layout::Shared<layout::$fixed>>>),)*
            $($semi(Box<RawFilter<layout::Shared<layout::$semi>>>),)*
            Growing(Box<RawFilter<layout::Shared<Growing>>>),
        }

        impl AnyFilter {
            /// The series of its words.
            pub(crate) fn series(&self) -> Series {
                let fixed = |fingerprint_bits, prefixes, counter_bits| Series {
                    fingerprint_bits,
                    prefixes,
                    levels: 0,
                    tag_bits: 0,
                    counter_bits,
                };
                match self {
                    $(Self::$fixed(_) => fixed($bits, 0, 0),)*
                    $(Self::$semi(_) => fixed($raw, $prefixes, 0),)*
                    Self::Growing(raw) => Series::of_levels::<Growing>(raw.table.levels()),
                    Self::Counting(counting) => match counting {
                        $(AnyCounting::$counting(_) => fixed($rest, 0, $counter),)*
                        AnyCounting::Growing4(raw) => {
                            Series::of_levels::<GrowingCounting<4>>(raw.table.levels())
                        }
                        AnyCounting::Growing8(raw) => {
                            Series::of_levels::<GrowingCounting<8>>(raw.table.levels())
                        }
                    },
                    #[cfg(feature = "shared")]
                    Self::Shared(shared) => match shared {
                        $(AnyShared::$fixed(_) => fixed($bits, 0, 0),)*
                        $(AnyShared::$semi(_) => fixed($raw, $prefixes, 0),)*
                        AnyShared::Growing(raw) => {
                            Series::of_levels::<Growing>(raw.table.levels())
                        }
                    },
                }
            }
        }

        /// Runs `$body` with `$raw` bound to the raw filter, in each layout.
        macro_rules! with_layout {
            ($d any:expr, $d raw:ident => $d body:expr) => {{
                use $crate::raw::any::AnyFilter as Any;
                match $d any {
                    $(Any::$fixed($d raw) => $d body,)*
                    $(Any::$semi($d raw) => $d body,)*
                    Any::Growing($d raw) => $d body,
                    Any::Counting(counting) => {
                        $crate::raw::any::with_counting!(counting, $d raw => $d body)
                    }
                    #[cfg(feature = "shared")]
                    Any::Shared(shared) => $crate::raw::any::with_shared!(shared, $d raw => $d body),
                }
            }};
        }

        /// Runs `$body` with `$raw` bound to the operations of the filter: the raw filter, or
        /// [`AnyCounting`], whose code is compiled once. If processes share the filter, it runs `$shared`
        /// with `$it` bound to the [`AnyShared`] instead.
        macro_rules! with_operations_or {
            ($d any:expr, $d raw:ident => $d body:expr, $d it:ident => $d shared:expr) => {{
                use $crate::raw::any::AnyFilter as Any;
                match $d any {
                    $(Any::$fixed($d raw) => $d body,)*
                    $(Any::$semi($d raw) => $d body,)*
                    Any::Growing($d raw) => $d body,
                    Any::Counting($d raw) => $d body,
                    #[cfg(feature = "shared")]
                    Any::Shared($d it) => $d shared,
                }
            }};
        }

        /// Runs `$body` with `$raw` bound to the operations of the filter: the raw filter, or
        /// [`AnyCounting`].
        macro_rules! with_operations {
            ($d any:expr, $d raw:ident => $d body:expr) => {
                $crate::raw::any::with_operations_or!(
                    $d any,
                    $d raw => $d body,
                    shared => $crate::raw::any::with_shared!(shared, $d raw => $d body)
                )
            };
        }

        /// As `with_operations`, for a call of one item: a filter that processes share has it out of line,
        /// so that its layouts add nothing to the code of the others.
        macro_rules! with_calls {
            ($d any:expr, $d raw:ident => $d body:expr) => {
                $crate::raw::any::with_operations_or!($d any, $d raw => $d body, $d raw => $d body)
            };
        }

        /// The variant of a `Series`, made by `$make`, in which `$layout` is its layout.
        macro_rules! of_series {
            ($d series:expr, $d layout:ident => $d make:expr) => {{
                use $crate::{
                    geometry::Series,
                    raw::any::{AnyCounting, AnyFilter as Any},
                    table::layout,
                };
                match $d series {
                    $(Series { levels: 0, fingerprint_bits: $bits, prefixes: 0, counter_bits: 0, .. } => {
                        type $d layout = layout::$fixed;
                        Any::$fixed($d make)
                    })*
                    $(Series { levels: 0, fingerprint_bits: $raw, prefixes: $prefixes, counter_bits: 0, .. } => {
                        type $d layout = layout::$semi;
                        Any::$semi($d make)
                    })*
                    $(Series { levels: 0, fingerprint_bits: $rest, counter_bits: $counter, .. } => {
                        type $d layout = layout::$counting;
                        Any::Counting(AnyCounting::$counting(Box::new($d make)))
                    })*
                    Series { levels: 0, .. } => unreachable!("no fixed layout is {:?}", $d series),
                    Series { counter_bits: 0, .. } => {
                        type $d layout = layout::Growing;
                        Any::Growing($d make)
                    }
                    Series { counter_bits: 4, .. } => {
                        type $d layout = layout::GrowingCounting<4>;
                        Any::Counting(AnyCounting::Growing4(Box::new($d make)))
                    }
                    _ => {
                        type $d layout = layout::GrowingCounting<8>;
                        Any::Counting(AnyCounting::Growing8(Box::new($d make)))
                    }
                }
            }};
        }

        /// Runs `$body` with `$raw` bound to the raw filter, in each layout of a filter that processes
        /// share.
        #[cfg(feature = "shared")]
        macro_rules! with_shared {
            ($d shared:expr, $d raw:ident => $d body:expr) => {
                match $d shared {
                    $($crate::raw::any::AnyShared::$fixed($d raw) => $d body,)*
                    $($crate::raw::any::AnyShared::$semi($d raw) => $d body,)*
                    $crate::raw::any::AnyShared::Growing($d raw) => $d body,
                }
            };
        }

        /// As `of_series`, of a filter that processes share. `$make` is an option, and so is the result.
        #[cfg(feature = "shared")]
        macro_rules! of_shared_series {
            ($d series:expr, $d layout:ident => $d make:expr) => {{
                use $crate::{geometry::Series, raw::any::{AnyFilter, AnyShared as Any}, table::layout};
                match $d series {
                    $(Series { levels: 0, fingerprint_bits: $bits, prefixes: 0, counter_bits: 0, .. } => {
                        type $d layout = layout::Shared<layout::$fixed>;
                        $d make.map(|raw| AnyFilter::Shared(Any::$fixed(Box::new(raw))))
                    })*
                    $(Series { levels: 0, fingerprint_bits: $raw, prefixes: $prefixes, counter_bits: 0, .. } => {
                        type $d layout = layout::Shared<layout::$semi>;
                        $d make.map(|raw| AnyFilter::Shared(Any::$semi(Box::new(raw))))
                    })*
                    Series { levels: 1.., counter_bits: 0, .. } => {
                        type $d layout = layout::Shared<layout::Growing>;
                        $d make.map(|raw| AnyFilter::Shared(Any::Growing(Box::new(raw))))
                    }
                    _ => None,
                }
            }};
        }

        #[cfg(feature = "shared")]
        impl AnyShared {
            #[inline(never)]
            pub(crate) fn insert_by_hash(&self, hash: u64) -> Result<(), InsertError> {
                with_shared!(self, raw => raw.insert_by_hash(hash))
            }

            #[inline(never)]
            pub(crate) fn insert_unique_by_hash(&self, hash: u64) -> Result<bool, InsertError> {
                with_shared!(self, raw => raw.insert_unique_by_hash(hash))
            }

            #[inline(never)]
            pub(crate) fn remove_by_hash(&self, hash: u64) -> bool {
                with_shared!(self, raw => raw.remove_by_hash(hash))
            }

            #[inline(never)]
            pub(crate) fn count_by_hash(&self, hash: u64) -> usize {
                with_shared!(self, raw => raw.count_by_hash(hash))
            }
        }

        /// As `with_layout`, of a filter that processes share; `$other` if it is none.
        #[cfg(feature = "shared")]
        macro_rules! with_shared_layout {
            ($d any:expr, $d raw:ident => $d body:expr, else $d other:expr) => {{
                match $d any {
                    $crate::raw::any::AnyFilter::Shared(shared) => {
                        $crate::raw::any::with_shared!(shared, $d raw => $d body)
                    }
                    _ => $d other,
                }
            }};
        }

        #[cfg(feature = "shared")]
        pub(crate) use {of_shared_series, with_shared, with_shared_layout};
        pub(crate) use {of_series, with_calls, with_layout, with_operations, with_operations_or};
    };
}

layouts!(any_filter, $);

impl AnyFilter {
    /// `RawFilter::scan_copies`.
    pub(crate) fn scan_copies<E: ScanError>(
        &self,
        take: &mut dyn FnMut(&[Seen]) -> Result<(), E>,
    ) -> Result<(), E> {
        with_layout!(self, raw => raw.scan_copies(take))
    }

    /// An empty filter; `None` if there is no memory.
    pub(crate) fn new(geometry: &Geometry) -> Option<Self> {
        let (buckets, levels) = (geometry.buckets, geometry.series.table_levels());
        Some(of_series!(geometry.series, L => {
            RawFilter::<L>::new(buckets, levels)?.growing_early()
        }))
    }
}
