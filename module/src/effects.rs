//! What a command has changed, and what is replicated to replicas and the AOF.
//!
//! Effects are replicated, never the client's command. So replicas do not depend on settings, on
//! the build of the module, or on what was refused:
//!
//! | effect | replicated command |
//! |---|---|
//! | a filter was made | `CF.MAKE key header header`: its options, its geometry and its seed |
//! | an item was added | the same command |
//! | some of many items were added | `CF.INSERT key NOCREATE ITEMS`, and those |
//! | an item was added to a filter with a window, or its time was reset | `CF.ADDTOUCH key item` |
//! | an item was removed | the same command |
//! | time has passed | `CF.CLOCK`, of all keys: see `windows` |
//! | a piece was loaded | the same command |
//! | a load ended with an error | `DEL key` |

use crate::engine::{
    Context, OwnedStr, Str,
    fault::{self, Fault},
};
use guira_commands::{Effect, Filter, dump::Header};
use smallvec::{SmallVec, smallvec};
use std::ffi::CStr;

/// The key among the words of a command.
pub(crate) const KEY: usize = 1;

/// The replicated command for a new filter.
pub(crate) const MAKE: &CStr = c"CF.MAKE";

/// The command in an AOF for the age of a filter with a window.
pub(crate) const AGE: &CStr = c"CF.AGE";

/// The replicated command for the time that has passed.
pub(crate) const CLOCK: &CStr = c"CF.CLOCK";

/// The changes of a command.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    made: Option<Box<Made>>,
    /// Which of the words were added.
    added: SmallVec<[usize; 4]>,
    /// True if they were added to a filter with a window.
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

/// What a command does to a filter, and whether to one item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) effect: Effect,
    /// True if its words are its name, a key and one item.
    is_of_one: bool,
}

impl Shape {
    pub(crate) const fn of<S>(command: &guira_commands::Command<S>) -> Self {
        Self {
            effect: command.effect,
            is_of_one: command.arity == 3,
        }
    }

    /// Of a command for replication, which adds, touches and removes no items.
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
    /// True if that is word for word what the client said.
    pub(crate) is_verbatim: bool,
    /// The event of the key.
    pub(crate) event: Event,
}

/// A keyspace notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Of the class for modules.
    Module(&'static CStr),
    /// The engine's own event of this name.
    Generic(&'static CStr),
}

/// An argument of a replicated command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word<'a> {
    /// One of the command's own.
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

    /// These of the words were added to the filter, in their order.
    pub(crate) fn added<'a>(
        &mut self,
        words: &[&[u8]],
        filter: &Filter,
        items: impl Iterator<Item = &'a [u8]>,
    ) {
        self.has_window = filter.window().is_some();
        self.added.extend(indices(words, items));
    }

    /// A copy of each of these words was removed, in their order.
    pub(crate) fn removed<'a>(&mut self, words: &[&[u8]], items: impl Iterator<Item = &'a [u8]>) {
        self.removed.extend(indices(words, items));
    }

    /// The time of each of these words was reset, in their order. They were not added.
    pub(crate) fn touched<'a>(&mut self, words: &[&[u8]], items: impl Iterator<Item = &'a [u8]>) {
        self.touched.extend(indices(words, items));
    }

    pub(crate) fn loaded(&mut self) {
        self.loaded = true;
    }

    pub(crate) fn deleted(&mut self) {
        self.deleted = true;
    }

    /// What replicas receive after a command of this shape.
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
            // A node to which the slot moves may remember the item for longer.
            let is_surely = effect == Effect::AddAbsent && self.has_window;
            let items = self.added.iter().map(|&index| Word::Own(index));
            let of_one = match effect {
                Effect::Add => Some(c"CF.ADD"),
                Effect::AddAbsent if is_surely => Some(c"CF.ADDTOUCH"),
                Effect::AddAbsent => Some(c"CF.ADDNX"),
                Effect::AddOrTouch => Some(c"CF.ADDTOUCH"),
                // They add nothing.
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
                // Right also where the item is dead already: in a node to which the slot moves.
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

    /// True if nothing has changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.made.is_none()
            && self.added.is_empty()
            && self.removed.is_empty()
            && self.touched.is_empty()
            && !self.loaded
            && !self.deleted
    }

    /// Tells replicas, watchers and listeners. No key may be open.
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
                // Which is cheaper: nothing has to be looked up.
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
        // One event for several items.
        for alike in all.chunk_by(|a, b| a.event == b.event) {
            match alike[0].event {
                Event::Module(event) => context.notify(event, key),
                Event::Generic(event) => context.notify_generic(event, key),
            }
        }
    }
}

/// Where these items are among the words of the command, in their order.
fn indices<'a>(
    words: &[&[u8]],
    items: impl Iterator<Item = &'a [u8]>,
) -> impl Iterator<Item = usize> {
    let mut rest = KEY + 1..words.len();
    items.filter_map(move |item| {
        // They are the very words, and not others that look like them.
        let index = rest.find(|&index| std::ptr::eq(words[index], item));
        debug_assert!(index.is_some(), "an item is a word of the command");
        index
    })
}
