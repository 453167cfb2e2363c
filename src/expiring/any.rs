//! The protocol in whichever layout an expiring filter has.

#[cfg(feature = "shared")]
use crate::error::InsertError;
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
            #[cfg(feature = "shared")]
            Shared(AnySharedExpiring),
        }

        /// A filter that processes share. It is in a box, so that other filters stay small.
        #[cfg(feature = "shared")]
        pub(crate) enum AnySharedExpiring {
            $($expiring(Box<RawFilter<layout::Shared<layout::$expiring>>>),)*
        }

        /// Runs `$body` with `$raw` bound to the raw filter, in each layout. If processes share the
        /// filter, it runs `$shared` with `$it` bound to the `AnySharedExpiring` instead.
        macro_rules! with_layout_or {
            ($d any:expr, $d raw:ident => $d body:expr, $d it:ident => $d shared:expr) => {{
                use $crate::expiring::any::AnyExpiring as Any;
                match $d any {
                    $(Any::$expiring($d raw) => $d body,)*
                    Any::Growing($d raw) => $d body,
                    #[cfg(feature = "shared")]
                    Any::Shared($d it) => $d shared,
                }
            }};
        }

        /// Runs `$body` with `$raw` bound to the raw filter, in each layout of a filter that processes
        /// share.
        #[cfg(feature = "shared")]
        macro_rules! with_shared {
            ($d shared:expr, $d raw:ident => $d body:expr) => {
                match $d shared {
                    $($crate::expiring::any::AnySharedExpiring::$expiring($d raw) => $d body,)*
                }
            };
        }

        /// Runs `$body` with `$raw` bound to the raw filter, in each layout.
        macro_rules! with_layout {
            ($d any:expr, $d raw:ident => $d body:expr) => {
                $crate::expiring::any::with_layout_or!(
                    $d any,
                    $d raw => $d body,
                    shared => $crate::expiring::any::with_shared!(shared, $d raw => $d body)
                )
            };
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

        /// As `of_series`, of a filter that processes share. `$make` is an option, and so is the result.
        #[cfg(feature = "shared")]
        macro_rules! of_shared_series {
            ($d series:expr, $d layout:ident => $d make:expr) => {{
                use $crate::{
                    expiring::any::{AnyExpiring, AnySharedExpiring as Any},
                    geometry::Series,
                    table::layout,
                };
                match $d series {
                    $(Series { levels: 0, fingerprint_bits: $bits, .. } => {
                        type $d layout = layout::Shared<layout::$expiring>;
                        $d make.map(|raw| AnyExpiring::Shared(Any::$expiring(Box::new(raw))))
                    })*
                    _ => None,
                }
            }};
        }

        #[cfg(feature = "shared")]
        impl AnySharedExpiring {
            #[inline(never)]
            pub(super) fn insert(&self, hash: u64) -> Result<(), InsertError> {
                with_shared!(self, raw => raw.insert_by_hash(hash))
            }

            #[inline(never)]
            pub(super) fn insert_unique(&self, hash: u64) -> Result<bool, InsertError> {
                with_shared!(self, raw => raw.insert_unique_by_hash(hash))
            }

            #[inline(never)]
            pub(super) fn refresh(&self, hash: u64) -> Result<bool, InsertError> {
                with_shared!(self, raw => raw.refresh(raw.class(hash)))
            }

            #[inline(never)]
            pub(super) fn insert_or_refresh(&self, hash: u64) -> Result<bool, InsertError> {
                with_shared!(self, raw => raw.insert_or_refresh(raw.class(hash)))
            }

            #[inline(never)]
            pub(super) fn contains(&self, hash: u64) -> bool {
                with_shared!(self, raw => raw.contains(raw.class(hash)))
            }

            #[inline(never)]
            pub(super) fn remove(&self, hash: u64) -> bool {
                with_shared!(self, raw => raw.remove_by_hash(hash))
            }

            #[inline(never)]
            pub(super) fn count(&self, hash: u64) -> usize {
                with_shared!(self, raw => raw.count(raw.class(hash)))
            }
        }

        #[cfg(feature = "shared")]
        pub(crate) use {of_shared_series, with_shared};
        pub(crate) use {of_series, with_layout, with_layout_or};
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
