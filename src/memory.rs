//! Words, and who owns them: the heap, or memory that processes share.
#![cfg_attr(
    not(feature = "shared"),
    allow(
        dead_code,
        unreachable_pub,
        reason = "only filters that processes share need it"
    )
)]

use crate::sync::{self, AtomicU64, OwnWord};
use std::{
    fmt::Debug,
    num::NonZeroU64,
    ops::{Deref, Range},
    panic::RefUnwindSafe,
};
#[cfg(feature = "shared")]
use {std::sync::Arc, yoke::Yoke};

/// Who owns words that a filter works on.
///
/// For the package `guira-shm` only.
#[doc(hidden)]
// A model has atomics of its own.
#[cfg_attr(any(guira_loom, guira_shuttle), allow(private_interfaces))]
pub trait Memory: Send + Sync + RefUnwindSafe + 'static {
    /// The words, at the same place and of the same number each time.
    fn words(&self) -> &[OwnWord];

    /// Makes sure that these words have memory behind them, and leaves their values as they are. False if
    /// there is no memory.
    fn commit(&self, _words: Range<usize>) -> bool {
        true
    }

    /// A thread uses a word that growth has added: for models of memory that is committed late.
    #[cfg(guira_loom)]
    fn touch(&self, _word: usize) {}
}

#[cfg(feature = "shared")]
impl Memory for Box<[OwnWord]> {
    fn words(&self) -> &[OwnWord] {
        self
    }
}

#[cfg(all(feature = "shared", guira_faults))]
impl Memory for Box<[AtomicU64]> {
    fn words(&self) -> &[OwnWord] {
        bytemuck::TransparentWrapper::peel_slice(self)
    }
}

/// Where the words of filters are.
///
/// This is a type parameter of the filter, so a filter on the heap pays nothing for shared memory: its
/// code and its fields are the same as without it.
pub(crate) trait Storage: Copy + Send + Sync + Debug + 'static {
    /// True if processes share them.
    const SHARED: bool;

    /// Words, and their owner.
    type Words: Deref<Target = [AtomicU64]> + Send + Sync + 'static;

    /// A word by itself.
    type Number: Number;

    /// A value that a filter has only if processes share it.
    type Extra<T: Send + Sync + 'static>: Extra<T> + Default;

    /// Words on the heap, all 0; `None` if there is no memory.
    fn zeroed(len: usize) -> Option<Self::Words>;

    /// True if a word may lack what a thread has put there, although no other thread removes it. A program
    /// that does not keep to the protocol may write words that processes share. A model has none.
    const MAY_BE_GONE: bool = Self::SHARED && !sync::IN_MODEL;
}

/// True if a word has what this thread has put there, in the filter of layout `$L`. It must be there, unless
/// the [words may lack it](Storage::MAY_BE_GONE).
macro_rules! is_found {
    ($L:ident, $is_there:expr) => {{
        let may_be_gone = <$L::Storage as crate::memory::Storage>::MAY_BE_GONE;
        debug_assert!(may_be_gone || $is_there);
        !may_be_gone || $is_there
    }};
}
pub(crate) use is_found;

/// A word by itself, wherever it is. It begins with 0.
pub(crate) trait Number: Default + Send + Sync + 'static {
    /// The word.
    fn word(&self) -> &AtomicU64;
}

impl Number for AtomicU64 {
    #[inline(always)]
    fn word(&self) -> &AtomicU64 {
        self
    }
}

/// A value that only some filters have.
pub(crate) trait Extra<T>: Sized + Send + Sync + 'static {
    /// Returns the value, if this filter has one.
    fn get(&self) -> Option<&T>;

    /// The same, to be changed.
    fn get_mut(&mut self) -> Option<&mut T>;

    /// The value that `make` makes, if this filter has one.
    fn made(make: impl FnOnce() -> T) -> Self;

    /// This value. `None` if a filter that has one gets none.
    fn of(value: Option<T>) -> Option<Self>;
}

/// Each run of words is a box of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heap;

/// No value.
#[derive(Default)]
pub(crate) struct Nothing;

impl<T> Extra<T> for Nothing {
    #[inline(always)]
    fn get(&self) -> Option<&T> {
        None
    }

    fn get_mut(&mut self) -> Option<&mut T> {
        None
    }

    fn made(_make: impl FnOnce() -> T) -> Self {
        Self
    }

    fn of(_value: Option<T>) -> Option<Self> {
        Some(Self)
    }
}

/// A value, in each filter.
pub(crate) struct Present<T>(T);

impl<T: Send + Sync + 'static> Extra<T> for Present<T> {
    #[inline(always)]
    fn get(&self) -> Option<&T> {
        Some(&self.0)
    }

    fn get_mut(&mut self) -> Option<&mut T> {
        Some(&mut self.0)
    }

    fn made(make: impl FnOnce() -> T) -> Self {
        Self(make())
    }

    fn of(value: Option<T>) -> Option<Self> {
        value.map(Self)
    }
}

impl<T: Send + Sync + 'static> Extra<T> for Option<Box<T>> {
    #[inline(always)]
    fn get(&self) -> Option<&T> {
        self.as_deref()
    }

    fn get_mut(&mut self) -> Option<&mut T> {
        self.as_deref_mut()
    }

    fn made(make: impl FnOnce() -> T) -> Self {
        Some(Box::new(make()))
    }

    fn of(value: Option<T>) -> Option<Self> {
        Some(value.map(Box::new))
    }
}

/// Whether a filter can grow: what it has if it can, and what it has if it cannot.
///
/// All layouts of filters share an enum, so what only some of them have would take memory in each.
pub(crate) trait Kind: Copy + Send + Sync + Debug + 'static {
    /// A value that only filters of a fixed size have.
    type IfFixed<T: Send + Sync + 'static>: Extra<T>;

    /// True if it can grow.
    const GROWS: bool;

    /// A value that only filters that can grow have.
    type IfGrowing<T: Send + Sync + 'static>: Extra<T>;
}

/// Filters of a fixed size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fixed;

impl Kind for Fixed {
    const GROWS: bool = false;
    type IfFixed<T: Send + Sync + 'static> = Present<T>;
    type IfGrowing<T: Send + Sync + 'static> = Nothing;
}

/// Filters that can grow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CanGrow;

impl Kind for CanGrow {
    const GROWS: bool = true;
    type IfFixed<T: Send + Sync + 'static> = Nothing;
    type IfGrowing<T: Send + Sync + 'static> = Present<T>;
}

impl Storage for Heap {
    const SHARED: bool = false;
    type Words = Box<[AtomicU64]>;
    type Number = AtomicU64;
    type Extra<T: Send + Sync + 'static> = Nothing;

    fn zeroed(len: usize) -> Option<Self::Words> {
        sync::zeroed(len)
    }
}

/// All words are parts of one memory.
#[cfg(feature = "shared")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared;

#[cfg(feature = "shared")]
impl Storage for Shared {
    const SHARED: bool = true;
    type Words = Words;
    type Number = SharedWord;
    type Extra<T: Send + Sync + 'static> = Option<Box<T>>;

    fn zeroed(len: usize) -> Option<Words> {
        Parts::new(Arc::new(sync::zeroed(len)?), 0).take(len)
    }
}

/// A run of words, and a share in their owner.
#[cfg(feature = "shared")]
pub(crate) struct Words(Yoke<&'static [OwnWord], Arc<dyn Memory>>);

/// A word that processes share.
#[cfg(feature = "shared")]
pub(crate) struct SharedWord(Words);

#[cfg(feature = "shared")]
impl SharedWord {
    /// The next word of the memory; `None` if that is too small.
    pub(crate) fn in_words(parts: &mut Parts) -> Option<Self> {
        parts.take(1).map(Self)
    }
}

#[cfg(feature = "shared")]
impl Default for SharedWord {
    fn default() -> Self {
        Self(Shared::zeroed(1).expect("a few bytes"))
    }
}

#[cfg(feature = "shared")]
impl Number for SharedWord {
    #[inline(always)]
    fn word(&self) -> &AtomicU64 {
        &self.0[0]
    }
}

/// No words are of this kind.
#[cfg(not(feature = "shared"))]
pub(crate) enum Words {}

impl Deref for Words {
    type Target = [AtomicU64];

    #[cfg(feature = "shared")]
    #[inline(always)]
    fn deref(&self) -> &[AtomicU64] {
        #[cfg(guira_faults)]
        return bytemuck::TransparentWrapper::wrap_slice(self.0.get());
        #[cfg(not(guira_faults))]
        self.0.get()
    }

    #[cfg(not(feature = "shared"))]
    fn deref(&self) -> &[AtomicU64] {
        match *self {}
    }
}

/// The words of a cache line. (A model has no more words than it uses.)
pub(crate) const LINE: usize = if sync::IN_MODEL { 1 } else { 8 };

/// The parts of a memory, one after the other. Each begins with a cache line.
#[cfg(feature = "shared")]
pub(crate) struct Parts {
    owner: Arc<dyn Memory>,
    next: usize,
}

#[cfg(feature = "shared")]
impl Parts {
    /// The parts from word `start` on.
    pub(crate) fn new(owner: Arc<dyn Memory>, start: usize) -> Self {
        Self { owner, next: start }
    }

    /// Takes the next part; `None` if the memory is too small.
    pub(crate) fn take(&mut self, len: usize) -> Option<Words> {
        let part = self.peek(0, len)?;
        let end = self.next.checked_add(len)?;
        self.next = end.checked_next_multiple_of(LINE)?;
        Some(part)
    }

    /// Returns words of the next part without taking it; `None` if the memory ends before them.
    pub(crate) fn peek(&self, offset: usize, len: usize) -> Option<Words> {
        let start = self.next.checked_add(offset)?;
        let words = start..start.checked_add(len)?;
        self.owner.words().get(words.clone())?;
        // If the owner returns fewer words by now, the part is empty, and its use panics.
        let part = Yoke::attach_to_cart(self.owner.clone(), |owner| {
            owner.words().get(words).unwrap_or(&[])
        });
        Some(Words(part))
    }

    /// The first word of the next part.
    pub(crate) fn position(&self) -> usize {
        self.next
    }

    /// Who owns the words.
    pub(crate) fn owner(&self) -> Arc<dyn Memory> {
        self.owner.clone()
    }

    /// The next part begins with this word; `None` if that is behind it.
    pub(crate) fn skip_to(&mut self, word: usize) -> Option<()> {
        (word >= self.next).then(|| self.next = word)
    }
}

/// The word of a process's own memory that has its [`Seat`], 0 if it has none.
#[doc(hidden)]
pub const SEAT_WORD: usize = 0;

/// The word of a process's own memory that has its number, 0 if it has none yet. Numbers differ between
/// processes, if possible: they choose where a process counts its items
/// ([`process_number`](crate::shared::process_number)).
#[doc(hidden)]
pub const NUMBER_WORD: usize = 1;

/// The processes that share a filter, its *members*, and which of them are dead.
///
/// For the package `guira-shm` only.
#[doc(hidden)]
pub trait Members: Send + Sync + RefUnwindSafe + 'static {
    /// The seat of this process, which becomes a member if it is none yet; `None` if it cannot.
    fn seat(&self) -> Option<Seat>;

    /// False if no process that lives has this seat.
    fn is_alive(&self, member: usize) -> bool;

    /// Identifies the memory: two filters with the same identity are in the same memory.
    fn memory(&self) -> Option<[u64; 2]> {
        None
    }

    /// Calls `repair` for each dead member that may have left something, while no other process can
    /// take or repair its seat. It returns true if nothing is left there. Unless `at_once`, a process
    /// looks for dead members once in some milliseconds only. Returns true if a member was repaired.
    fn repair_dead(&self, at_once: bool, repair: &mut dyn FnMut(usize) -> bool) -> bool;
}

/// The place of a process among the members. It is one number, so that calls return it in a register.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat(NonZeroU64);

impl Seat {
    /// The seat with this number: from 0 on; of all processes that live one has it. The turn differs
    /// between the seats that a process and its parents have taken.
    #[must_use]
    pub fn new(member: u32, turn: u32) -> Self {
        Self(NonZeroU64::MIN.saturating_add(u64::from(turn) << 32 | u64::from(member)))
    }

    /// The seat in a word; `None` if it is 0.
    #[must_use]
    pub fn of_word(word: u64) -> Option<Self> {
        NonZeroU64::new(word).map(Self)
    }

    /// The seat as a word, which is not 0.
    #[must_use]
    pub fn word(self) -> u64 {
        self.0.get()
    }

    /// The number of the seat.
    #[must_use]
    pub fn member(self) -> usize {
        (self.word() as u32).wrapping_sub(1) as usize
    }

    /// The turn.
    #[must_use]
    pub fn turn(self) -> u32 {
        (self.word() >> 32) as u32
    }
}
