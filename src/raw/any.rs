//! Filters in whichever layout they have, and the one list of their operations.
//!
//! The layouts that a filter can have are in enums. A macro makes the traits [`Ops`] and [`TimedOps`]
//! from the lists here, and implements them for each enum: it passes each operation on to the filter in
//! its layout.

mod batches;
mod layouts;

use super::{
    RawFilter,
    batch::InFlight,
    copies::Seen,
    image::Sink,
    lower::{Keep, Other},
    restore::Restart,
    union::Present,
};
#[cfg(feature = "shared")]
use super::{crew::Repaired, shared::Census};
use crate::{
    error::{BatchError, InsertError, SnapshotError},
    geometry::Series,
    stats::Stats,
    table::{
        class::Class,
        layout::{
            self, Growing, GrowingCounting, GrowingExpiring, GrowingExpiringCounting, layouts,
        },
        scan::Restored,
        time::{
            Now,
            beginning::{Beginning, Reading},
        },
    },
};
use batches::{collected, in_layout, in_parts};
pub(crate) use layouts::Layouts;
use std::{ops::Range, time::Duration};

/// Lists the operations of every filter for the macro `$then`.
///
/// The calls of one item are what programs call most often, so each enum says what is inline. The
/// operations on batches take items and their hash function, and a place for each answer.
macro_rules! operations {
    ($then:ident $arguments:tt) => {
        $then! {
            $arguments
            calls {
                fn insert(hash: u64) -> Result<(), InsertError> = raw => raw.insert_by_hash(hash);
                fn insert_unique(hash: u64) -> Result<bool, InsertError> =
                    raw => raw.insert_unique_by_hash(hash);
                fn refresh(hash: u64) -> Result<bool, InsertError> =
                    raw => raw.refresh(raw.class(hash));
                fn insert_or_refresh(hash: u64) -> Result<bool, InsertError> =
                    raw => raw.insert_or_refresh(raw.class(hash));
                fn remove(hash: u64) -> bool = raw => raw.remove_by_hash(hash);
                fn count(hash: u64) -> usize = raw => raw.count(raw.class(hash));
            }
            batches {
                fn contains_all(bool) -> ();
                fn insert_all(()) -> Result<(), BatchError>;
                fn insert_all_unique(bool) -> Result<(), BatchError>;
                fn insert_or_refresh_all(bool) -> Result<(), BatchError>;
                fn refresh_all(bool) -> Result<(), BatchError>;
                fn remove_all(bool) -> ();
            }
            others {
                fn insert_and_count(hash: u64) -> Result<usize, InsertError> =
                    raw => raw.insert_and_count_hash(hash);

                fn first_in_flight(hashes: &[u64]) -> InFlight = raw => raw.first_in_flight(hashes);
                fn contains_in_flight(in_flight: &mut InFlight, hashes: &[u64]) -> u32 =
                    raw => raw.contains_in_flight(in_flight, hashes);

                fn series() -> Series = raw => raw.series();
                fn buckets() -> usize = raw => raw.table.buckets();
                fn words() -> usize = raw => raw.table.words();
                fn doublings() -> u32 = raw => raw.table.doublings();
                fn words_to_split() -> usize = raw => raw.table.words_to_split();
                fn finish_growth() -> () = raw => raw.table.finish_level();
                fn memory() -> Option<[u64; 2]> = raw => raw.memory();
                fn len() -> usize = raw => raw.len.copies();
                fn epoch() -> u64 = raw => raw.epoch();
                fn in_use() -> usize = raw => raw.len.slots();
                fn bytes() -> usize = raw => raw.bytes();
                fn stats() -> Stats = raw => raw.stats();
                fn clear() -> () = raw => raw.clear();

                fn scan_chunks(take: &mut dyn FnMut(u64, &mut dyn Iterator<Item = Seen>)) -> Now =
                    raw => raw.scan_chunks(take);
                fn scan_copies(
                    ahead: &dyn Fn(&[Seen]),
                    take: &mut dyn FnMut(&[Seen]) -> Result<(), InsertError>
                ) -> Result<(), InsertError> = raw => raw.scan_copies(ahead, take);
                fn prefetch_copies(copies: &[Seen]) -> () = raw => raw.prefetch_copies(copies);
                fn insert_copies(copies: &[Seen], inserted: &mut usize) -> Result<(), InsertError> =
                    raw => raw.insert_copies(copies, inserted);
                fn present_for_union(class: Class, age: u64) -> Result<Present, InsertError> =
                    raw => raw.present_for_union(class, age);
                fn raise_copies(
                    other: &dyn Fn(Class, u64) -> Result<Present, InsertError>,
                    singles: u32,
                    copies: &[Seen],
                    changed: &mut usize
                ) -> Result<(), InsertError> =
                    raw => raw.raise_copies(other, singles, copies, changed);
                fn find_singles(copies: &[Seen]) -> u32 = raw => raw.find_singles(copies);

                fn find_classes(copies: &[Seen]) -> u32 = raw => raw.find_classes(copies);
                fn count_class(class: Class) -> Option<usize> = raw => raw.count_class(class);
                fn lower_copies(other: Other<'_>, keep: Keep, copies: &[Seen]) -> () =
                    raw => raw.lower_copies(other, keep, copies);

                fn scan(sink: &mut dyn Sink) -> Result<(), SnapshotError> = raw => raw.scan(sink);
                fn end_and_ages(clock: &dyn Fn() -> Reading) -> (Now, Vec<Duration>) =
                    raw => raw.end_and_ages(clock);
                fn end_and_beginning() -> (Now, Beginning) = raw => raw.end_and_beginning();
                fn store_chunk(
                    buckets: Range<usize>,
                    words: &[u64],
                    then: (u64, u64),
                    restored: &mut Restored
                ) -> Result<(), SnapshotError> =
                    raw => raw.store_chunk(buckets, words, then, restored);

                fn complete[mut](restored: &Restored, restart: &Restart<'_>) -> () =
                    raw => raw.complete(restored, restart);
                fn reset[mut]() -> () = raw => raw.reset();
                fn shrink_to_fit[mut]() -> bool = raw => raw.shrink_to_fit();

                #[cfg(feature = "shared")]
                fn repair_dead() -> Repaired = raw => raw.repair_dead(true);
                #[cfg(feature = "shared")]
                fn repair(member: usize) -> Repaired = raw => raw.repair(member);
                #[cfg(feature = "shared")]
                fn most_holds() -> u64 = raw => raw.versions.most_holds();
                #[cfg(feature = "shared")]
                fn census() -> Census = raw => raw.census();
                #[cfg(feature = "shared")]
                fn set_len(items: usize) -> () = raw => raw.len.set(items);
                #[cfg(feature = "shared")]
                fn wrong_progress() -> Option<[u64; 2]> = raw => raw.table.wrong_progress();

                #[cfg(guira_faults)]
                fn fields() -> Vec<crate::coherence::Field> = raw => raw.fields();
            }
        }
    };
}

/// Lists the operations of filters whose copies expire.
macro_rules! operations_of_time {
    ($then:ident $arguments:tt) => {
        $then! {
            $arguments
            calls {}
            batches {}
            others {
                fn tick(length: Duration, clock: &dyn Fn() -> Reading) -> bool =
                    raw => raw.tick(length, clock);
                fn begin_due_epoch(length: Duration, clock: &dyn Fn() -> Reading) -> bool =
                    raw => raw.begin_due_epoch(length, clock).is_some();
                fn pass_time(length: Duration, clock: &dyn Fn() -> Reading) -> Duration =
                    raw => raw.pass_time(length, clock);
                fn advance() -> bool = raw => raw.advance();
                fn begin_epoch() -> bool = raw => raw.begin_epoch().is_some();
                fn sweep() -> bool = raw => raw.sweep();
                fn is_swept() -> bool = raw => raw.is_swept();
                fn epoch_age(reading: Reading) -> Option<Duration> =
                    raw => raw.time.beginning.age(raw.moment().epoch(), reading);

                #[cfg(feature = "shared")]
                fn note_epoch(clock: &dyn Fn() -> Reading) -> () = raw => {
                    raw.time.begin();
                    raw.time.beginning.is_due(raw.moment().epoch(), Duration::MAX, clock());
                };
                #[cfg(feature = "shared")]
                fn wrong_time() -> Option<u64> = raw => raw.time.wrong_time();
                #[cfg(feature = "shared")]
                fn base(boot: u64, store: bool) -> u64 = raw => raw.time.base(boot, store);
            }
        }
    };
}

/// Declares the trait of a list, with the methods `$more` that each enum writes by itself.
macro_rules! declare {
    (
        { $(#[$doc:meta])* $ops:ident: $super:ident $($more:tt)* }
        calls { $(fn $call:ident($hash:ident: u64) -> $result:ty = $_c:ident => $_call:expr;)* }
        batches { $(fn $batch:ident($answer:ty) -> $outcome:ty;)* }
        others { $(
            $(#[$cfg:meta])?
            fn $name:ident$([$mut:ident])?($($arg:ident: $type:ty),*) -> $value:ty
                = $_n:ident => $_name:expr;
        )* }
    ) => {
        $(#[$doc])*
        pub(crate) trait $ops: $super {
            $($more)*
            $(fn $call(&self, $hash: u64) -> $result;)*
            $(
                fn $batch<T>(
                    &self,
                    items: &[T],
                    hash: impl Fn(&T) -> u64,
                    answers: &mut [$answer],
                ) -> $outcome;
            )*
            $(
                $(#[$cfg])?
                fn $name(&$($mut)? self, $($arg: $type),*) -> $value;
            )*
        }
    };
}

operations!(declare {
    /// The operations of all filters. For what they do see [`RawFilter`](super::RawFilter).
    Ops: Sized
    fn contains(&self, hash: u64) -> bool;
});

operations_of_time!(declare {
    /// The operations of filters whose copies expire.
    TimedOps: Ops
});

/// Implements the trait of a list for an enum.
///
/// - `each` is the macro that runs an expression in each layout, and another one for a variant that is
///   an enum itself.
/// - `calls` says whether the calls of one item are `(always)` or `(never)` inline.
/// - `batches` is the macro that makes the operations on batches: [`in_layout`] or [`collected`].
/// - `contains` is the lookup, which is the most frequent operation.
macro_rules! implement {
    ({ $ops:ident for $any:ident, each $each:ident } $($list:tt)*) => {
        // A list without calls and batches.
        implement! {
            { $ops for $any, each $each, calls (never), batches in_layout, contains {} }
            $($list)*
        }
    };
    (
        {
            $ops:ident for $any:ident,
            each $each:ident,
            calls $inline:tt,
            batches $batches:ident,
            contains { $($contains:tt)* }
        }
        calls { $(fn $call:ident($hash:ident: u64) -> $result:ty = $c:ident => $on_call:expr;)* }
        batches $rows:tt
        others { $(
            $(#[$cfg:meta])?
            fn $name:ident$([$mut:ident])?($($arg:ident: $type:ty),*) -> $value:ty
                = $n:ident => $on_name:expr;
        )* }
    ) => {
        impl $ops for $any {
            $($contains)*
            $(
                #[inline $inline]
                fn $call(&self, $hash: u64) -> $result {
                    $each!(self, $c => $on_call, group => $ops::$call(group, $hash))
                }
            )*
            $batches! { $any $each $rows }
            $(
                $(#[$cfg])?
                fn $name(&$($mut)? self, $($arg: $type),*) -> $value {
                    $each!(self, $n => $on_name, group => $ops::$name(group, $($arg),*))
                }
            )*
        }
    };
}

/// Makes the enums from the list of layouts.
///
/// What programs use less is in boxes, so that other filters stay small. Its operations are functions
/// that are not inlined: they are compiled once, and add nothing to the code of other filters.
macro_rules! any {
    (
        ($d:tt)
        fixed { $($fixed:ident $_fixed:tt)* }
        semi_sorted { $($semi:ident $_semi:tt)* }
        expiring { $($expiring:ident $_expiring:tt)* }
        counting { $($counting:ident $_counting:tt)* }
        expiring_counting { $($both:ident $_both:tt)* }
    ) => {
        /// A filter whose items stay.
        pub(crate) enum AnyFilter {
            $($fixed(RawFilter<layout::$fixed>),)*
            $($semi(RawFilter<layout::$semi>),)*
            Growing(RawFilter<Growing>),
            Counting(AnyCounting),
            #[cfg(feature = "shared")]
            Shared(AnyShared),
        }

        /// A filter whose slots have counters.
        pub(crate) enum AnyCounting {
            $($counting(Box<RawFilter<layout::$counting>>),)*
            Growing4(Box<RawFilter<GrowingCounting<4>>>),
            Growing8(Box<RawFilter<GrowingCounting<8>>>),
        }

        /// A filter that processes share.
        #[cfg(feature = "shared")]
        pub(crate) enum AnyShared {
            $($fixed(Box<RawFilter<layout::Shared<layout::$fixed>>>),)*
            $($semi(Box<RawFilter<layout::Shared<layout::$semi>>>),)*
            Growing(Box<RawFilter<layout::Shared<Growing>>>),
        }

        /// A filter whose items expire.
        pub(crate) enum AnyExpiring {
            $($expiring(RawFilter<layout::$expiring>),)*
            Growing(RawFilter<GrowingExpiring>),
            Counting(AnyExpiringCounting),
            #[cfg(feature = "shared")]
            Shared(AnySharedExpiring),
        }

        /// A filter whose items expire, and whose slots have counters.
        pub(crate) enum AnyExpiringCounting {
            $($both(Box<RawFilter<layout::$both>>),)*
            Growing4(Box<RawFilter<GrowingExpiringCounting<4>>>),
            Growing8(Box<RawFilter<GrowingExpiringCounting<8>>>),
        }

        /// A filter that processes share, whose items expire.
        #[cfg(feature = "shared")]
        pub(crate) enum AnySharedExpiring {
            $($expiring(Box<RawFilter<layout::Shared<layout::$expiring>>>),)*
        }

        macro_rules! each_plain {
            ($d any:expr, $d raw:ident => $d body:expr, $d group:ident => $d of_group:expr) => {
                match $d any {
                    $(AnyFilter::$fixed($d raw) => $d body,)*
                    $(AnyFilter::$semi($d raw) => $d body,)*
                    AnyFilter::Growing($d raw) => $d body,
                    AnyFilter::Counting($d group) => $d of_group,
                    #[cfg(feature = "shared")]
                    AnyFilter::Shared($d group) => $d of_group,
                }
            };
        }

        macro_rules! each_counting {
            ($d any:expr, $d raw:ident => $d body:expr, $d group:ident => $d of_group:expr) => {
                match $d any {
                    $(AnyCounting::$counting($d raw) => $d body,)*
                    AnyCounting::Growing4($d raw) => $d body,
                    AnyCounting::Growing8($d raw) => $d body,
                }
            };
        }

        #[cfg(feature = "shared")]
        macro_rules! each_shared {
            ($d any:expr, $d raw:ident => $d body:expr, $d group:ident => $d of_group:expr) => {
                match $d any {
                    $(AnyShared::$fixed($d raw) => $d body,)*
                    $(AnyShared::$semi($d raw) => $d body,)*
                    AnyShared::Growing($d raw) => $d body,
                }
            };
        }

        macro_rules! each_expiring {
            ($d any:expr, $d raw:ident => $d body:expr, $d group:ident => $d of_group:expr) => {
                match $d any {
                    $(AnyExpiring::$expiring($d raw) => $d body,)*
                    AnyExpiring::Growing($d raw) => $d body,
                    AnyExpiring::Counting($d group) => $d of_group,
                    #[cfg(feature = "shared")]
                    AnyExpiring::Shared($d group) => $d of_group,
                }
            };
        }

        macro_rules! each_expiring_counting {
            ($d any:expr, $d raw:ident => $d body:expr, $d group:ident => $d of_group:expr) => {
                match $d any {
                    $(AnyExpiringCounting::$both($d raw) => $d body,)*
                    AnyExpiringCounting::Growing4($d raw) => $d body,
                    AnyExpiringCounting::Growing8($d raw) => $d body,
                }
            };
        }

        #[cfg(feature = "shared")]
        macro_rules! each_shared_expiring {
            ($d any:expr, $d raw:ident => $d body:expr, $d group:ident => $d of_group:expr) => {
                match $d any {
                    $(AnySharedExpiring::$expiring($d raw) => $d body,)*
                }
            };
        }
    };
}

layouts!(any, $);

operations!(implement {
    Ops for AnyFilter,
    each each_plain,
    calls (always),
    batches in_layout,
    contains {
        /// The usual layouts come first and inline: comparisons instead of an indirect jump and a call.
        #[inline(always)]
        fn contains(&self, hash: u64) -> bool {
            match self {
                Self::F15x4(raw) => raw.contains(raw.class(hash)),
                Self::Growing(raw) => raw.contains(raw.class(hash)),
                _ => self.contains_in_other_layouts(hash),
            }
        }
    }
});

operations!(implement {
    Ops for AnyCounting,
    each each_counting,
    calls (never),
    batches collected,
    contains {
        #[inline(always)]
        fn contains(&self, hash: u64) -> bool {
            each_counting!(self, raw => raw.contains_hash(hash), _group => false)
        }
    }
});

#[cfg(feature = "shared")]
operations!(implement {
    Ops for AnyShared,
    each each_shared,
    calls (never),
    batches in_layout,
    contains {
        #[inline(always)]
        fn contains(&self, hash: u64) -> bool {
            each_shared!(self, raw => raw.contains_hash(hash), _group => false)
        }
    }
});

operations!(implement {
    Ops for AnyExpiring,
    each each_expiring,
    calls (always),
    batches in_layout,
    contains {
        #[inline(always)]
        fn contains(&self, hash: u64) -> bool {
            match self {
                // It needs more registers than the other layouts. Inlined, it would slow them down.
                Self::Growing(raw) => raw.contains_hash(hash),
                _ => each_expiring!(
                    self,
                    raw => raw.contains(raw.class(hash)),
                    group => group.contains(hash)
                ),
            }
        }
    }
});

operations!(implement {
    Ops for AnyExpiringCounting,
    each each_expiring_counting,
    calls (never),
    batches collected,
    contains {
        #[inline(never)]
        fn contains(&self, hash: u64) -> bool {
            each_expiring_counting!(self, raw => raw.contains(raw.class(hash)), _group => false)
        }
    }
});

#[cfg(feature = "shared")]
operations!(implement {
    Ops for AnySharedExpiring,
    each each_shared_expiring,
    calls (never),
    batches in_layout,
    contains {
        #[inline(never)]
        fn contains(&self, hash: u64) -> bool {
            each_shared_expiring!(self, raw => raw.contains(raw.class(hash)), _group => false)
        }
    }
});

operations_of_time!(implement { TimedOps for AnyExpiring, each each_expiring });

operations_of_time!(implement { TimedOps for AnyExpiringCounting, each each_expiring_counting });

#[cfg(feature = "shared")]
operations_of_time!(implement { TimedOps for AnySharedExpiring, each each_shared_expiring });

impl AnyFilter {
    #[inline(never)]
    pub(crate) fn contains_in_other_layouts(&self, hash: u64) -> bool {
        each_plain!(self, raw => raw.contains_hash(hash), group => group.contains(hash))
    }
}
