//! The changes that a command has made, and their replication to replicas and the AOF.
//!
//! The module replicates effects, never the client's command. Replicas therefore do not depend on
//! settings, on the build of the module, or on refused parts of a command:
//!
//! | effect | replicated command |
//! |---|---|
//! | a filter was created | `CF.MAKE key header header`: its options, its geometry and its seed |
//! | an item was added | the same command |
//! | some of many items were added | `CF.INSERT key NOCREATE ITEMS` with these items |
//! | an item was added to a filter with a window, or its time was reset | `CF.ADDTOUCH key item` |
//! | an item was removed | the same command |
//! | time has passed | `CF.CLOCK`, for all keys: see `windows` |
//! | a piece was loaded | the same command |
//! | a load ended with an error | `DEL key` |

use crate::engine::{
    Context, OwnedStr, Str,
    fault::{self, Fault},
};
use guira_commands::{Effect, Filter, dump::Header};
use smallvec::{SmallVec, smallvec};
use std::ffi::CStr;

/// The index of the key among the words of a command.
pub(crate) const KEY: usize = 1;

/// The replicated command for a new filter.
pub(crate) const MAKE: &CStr = c"CF.MAKE";

/// The command in an AOF that sets the age of a filter with a window.
pub(crate) const AGE: &CStr = c"CF.AGE";

/// The replicated command that moves the clock.
pub(crate) const CLOCK: &CStr = c"CF.CLOCK";

/// The changes that a command has made.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    made: Option<Box<Made>>,
    /// The indices of the words that were added.
    added: SmallVec<[usize; 4]>,
    /// True if the filter that they were added to has a window.
    has_window: bool,
    removed: SmallVec<[usize; 1]>,
    touched: SmallVec<[usize; 1]>,
    loaded: bool,
    deleted: bool,
}

#[derive(Debug)]
struct Made {
    options: [u8; Header::BYTES],
    filter: [u8; 68],
}

/// A command's effect on a filter, and whether it takes a single item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) effect: Effect,
    /// True if the command consists of its name, a key and one item.
    is_of_one: bool,
}

impl Shape {
    pub(crate) const fn of<S>(command: &guira_commands::Command<S>) -> Self {
        Self {
            effect: command.effect,
            is_of_one: command.arity == 3,
        }
    }

    /// The shape of a replicated command that adds, touches and removes no items.
    pub(crate) const fn of_replication(effect: Effect) -> Self {
        Self {
            effect,
            is_of_one: false,
        }
    }
}

/// A replicated command.
#[derive(Debug, PartialEq)]
pub(crate) struct Told<'a> {
    pub(crate) command: &'static CStr,
    pub(crate) arguments: SmallVec<[Word<'a>; 4]>,
    /// True if the command equals the client's, word for word.
    pub(crate) is_verbatim: bool,
    /// The notification for the key.
    pub(crate) event: Event,
}

/// A keyspace notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// An event of the class for modules.
    Module(&'static CStr),
    /// The engine's own event of this name.
    Generic(&'static CStr),
}

/// An argument of a replicated command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word<'a> {
    /// An argument that the command itself adds.
    Own(usize),
    Bytes(&'a [u8]),
}

impl Effects {
    pub(crate) fn made(&mut self, filter: &Filter) {
        self.made = Some(Box::new(Made {
            options: Header::of(filter).to_bytes(),
            filter: filter.header(),
        }));
    }

    /// Records that these words were added to the filter, in their order.
    pub(crate) fn added<'a>(
        &mut self,
        words: &[&[u8]],
        filter: &Filter,
        items: impl Iterator<Item = &'a [u8]>,
    ) {
        self.has_window = filter.window().is_some();
        self.added.extend(indices(words, items));
    }

    /// Records that a copy of each of these words was removed, in their order.
    pub(crate) fn removed<'a>(&mut self, words: &[&[u8]], items: impl Iterator<Item = &'a [u8]>) {
        self.removed.extend(indices(words, items));
    }

    /// Records that the time of each of these words was reset, in their order.
    pub(crate) fn touched<'a>(&mut self, words: &[&[u8]], items: impl Iterator<Item = &'a [u8]>) {
        self.touched.extend(indices(words, items));
    }

    pub(crate) fn loaded(&mut self) {
        self.loaded = true;
    }

    pub(crate) fn deleted(&mut self) {
        self.deleted = true;
    }

    /// The replicated commands after a command of this shape.
    pub(crate) fn told(&self, shape: Shape) -> SmallVec<[Told<'_>; 2]> {
        let Shape { effect, is_of_one } = shape;
        let key = Word::Own(KEY);
        let mut all = SmallVec::new();
        if let Some(made) = &self.made {
            all.push(Told {
                command: MAKE,
                arguments: smallvec![key, Word::Bytes(&made.options), Word::Bytes(&made.filter)],
                is_verbatim: false,
                event: Event::Module(c"cf.reserve"),
            });
        }
        if !self.added.is_empty() {
            // A node to which the slot migrates may remember the item for longer.
            let is_surely = effect == Effect::AddAbsent && self.has_window;
            let items = self.added.iter().map(|&index| Word::Own(index));
            let of_one = match effect {
                Effect::Add => Some(c"CF.ADD"),
                Effect::AddAbsent if is_surely => Some(c"CF.ADDTOUCH"),
                Effect::AddAbsent => Some(c"CF.ADDNX"),
                Effect::AddOrTouch => Some(c"CF.ADDTOUCH"),
                // These effects add no items.
                Effect::None | Effect::Make | Effect::Touch | Effect::Delete | Effect::Load => None,
            };
            let (command, mut arguments): (_, SmallVec<_>) = match of_one {
                Some(command) if is_of_one => (command, smallvec![key]),
                _ => {
                    let before = smallvec![key, Word::Bytes(b"NOCREATE"), Word::Bytes(b"ITEMS")];
                    (c"CF.INSERT", before)
                }
            };
            arguments.extend(items);
            all.push(Told {
                command,
                arguments,
                is_verbatim: is_of_one && !is_surely,
                event: Event::Module(c"cf.add"),
            });
        }
        for &index in &self.touched {
            all.push(Told {
                // This is right even if the item has expired on the other node of a slot migration.
                command: c"CF.ADDTOUCH",
                arguments: smallvec![key, Word::Own(index)],
                is_verbatim: is_of_one && effect == Effect::AddOrTouch,
                event: Event::Module(c"cf.touch"),
            });
        }
        for &index in &self.removed {
            all.push(Told {
                command: c"CF.DEL",
                arguments: smallvec![key, Word::Own(index)],
                is_verbatim: is_of_one,
                event: Event::Module(c"cf.del"),
            });
        }
        if self.loaded && !fault::is(Fault::ForgetLoad) {
            all.push(Told {
                command: c"CF.LOADCHUNK",
                arguments: smallvec![key, Word::Own(2), Word::Own(3)],
                is_verbatim: true,
                event: Event::Module(c"cf.loadchunk"),
            });
        }
        if self.deleted {
            all.push(Told {
                command: c"DEL",
                arguments: smallvec![key],
                is_verbatim: false,
                event: Event::Generic(c"del"),
            });
        }
        all
    }

    /// True if the command has changed nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.made.is_none()
            && self.added.is_empty()
            && self.removed.is_empty()
            && self.touched.is_empty()
            && !self.loaded
            && !self.deleted
    }

    /// Replicates the changes and notifies watchers and listeners. No key may be open.
    pub(crate) fn tell(&self, context: &Context, words: &[Str<'_>], shape: Shape) {
        let Some(&key) = words.get(KEY).filter(|_| !self.is_empty()) else {
            return;
        };
        let all = self.told(shape);
        if fault::is(Fault::Verbatim) {
            return context.replicate_verbatim();
        }
        for told in &all {
            if told.is_verbatim {
                // This is cheaper, because the engine looks nothing up.
                context.replicate_verbatim();
                continue;
            }
            let made = |word: &Word<'_>| match word {
                Word::Own(_) => None,
                Word::Bytes(bytes) => Some(OwnedStr::new(bytes)),
            };
            let made: SmallVec<[Option<OwnedStr>; 4]> = told.arguments.iter().map(made).collect();
            let pairs = told.arguments.iter().zip(&made);
            let arguments: SmallVec<[Str<'_>; 4]> = pairs
                .filter_map(|(word, made)| match (word, made) {
                    (_, Some(made)) => Some(made.as_str()),
                    (Word::Own(index), None) => words.get(*index).copied(),
                    (Word::Bytes(_), None) => None,
                })
                .collect();
            context.replicate(told.command, &arguments);
        }
        context.signal_modified(key);
        // Several items cause one notification.
        for alike in all.chunk_by(|a, b| a.event == b.event) {
            match alike[0].event {
                Event::Module(event) => context.notify(event, key),
                Event::Generic(event) => context.notify_generic(event, key),
            }
        }
    }
}

/// The indices of these items among the words of the command, in their order.
fn indices<'a>(
    words: &[&[u8]],
    items: impl Iterator<Item = &'a [u8]>,
) -> impl Iterator<Item = usize> {
    let mut rest = KEY + 1..words.len();
    items.filter_map(move |item| {
        // Compares addresses, because equal words may occur several times.
        let index = rest.find(|&index| std::ptr::eq(words[index], item));
        debug_assert!(index.is_some(), "an item is a word of the command");
        index
    })
}
