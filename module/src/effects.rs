//! The changes that a command has made, and their replication to replicas and the AOF.
//!
//! The module replicates effects, never the client's command. Replicas therefore do not depend on
//! settings, on the build of the module, or on refused parts of a command:
//!
//! | effect | replicated command |
//! |---|---|
//! | a filter was created | `CF.MAKE key header header`: its options, its geometry and its seed |
//! | an item was added | the same command, which adds the same on a replica |
//! | some of many items were added | `CF.INSERT key NOCREATE ITEMS` with these items |
//! | an item was added to a filter with a window, or its time was reset | `CF.ADDTOUCH key item` |
//! | an item was removed | the same command |
//! | the filter was combined with others | the same command: the other keys are the same there |
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
    /// What was done with the item of a command that has one.
    only: Option<Item>,
    /// True if the filter that items were added to has a window.
    has_window: bool,
    /// All other changes, in a box: nearly all commands have one item, and make no other change.
    more: Option<Box<More>>,
}

/// The changes that a command has made beside that of its only item.
#[derive(Debug, Default)]
struct More {
    made: Option<Made>,
    /// What was done with words of the command, in their order.
    items: SmallVec<[Item; 4]>,
    loaded: bool,
    combined: bool,
    deleted: bool,
}

/// What was done with the word at this index.
#[derive(Clone, Copy, Debug)]
struct Item {
    change: Change,
    index: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Added,
    Touched,
    Removed,
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
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told<'a> {
    /// Its name; empty for a command that is verbatim and may be one of several.
    pub(crate) command: &'static CStr,
    arguments: Arguments<'a>,
    /// True if the command equals the client's, word for word.
    pub(crate) is_verbatim: bool,
    /// The notification for the key.
    pub(crate) event: Event,
}

/// The arguments of a replicated command after its key.
#[derive(Clone, Copy, Debug)]
enum Arguments<'a> {
    None,
    Made(&'a Made),
    /// The word at this index.
    Item(usize),
    /// `NOCREATE ITEMS`, followed by the added items.
    Added(&'a [Item]),
    /// The position and the bytes of a piece.
    Piece,
}

impl<'a> Told<'a> {
    pub(crate) fn arguments(&self) -> SmallVec<[Word<'a>; 4]> {
        let key = Word::Own(KEY);
        match self.arguments {
            Arguments::None => smallvec![key],
            Arguments::Made(made) => {
                smallvec![key, Word::Bytes(&made.options), Word::Bytes(&made.filter)]
            }
            Arguments::Item(index) => smallvec![key, Word::Own(index)],
            Arguments::Added(items) => {
                let before = [key, Word::Bytes(b"NOCREATE"), Word::Bytes(b"ITEMS")];
                let added = items.iter().filter(|item| item.change == Change::Added);
                let added = added.map(|item| Word::Own(item.index));
                before.into_iter().chain(added).collect()
            }
            Arguments::Piece => smallvec![key, Word::Own(2), Word::Own(3)],
        }
    }
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
    /// The changes of a command of this shape, which has one item and has replied true.
    #[inline(always)]
    pub(crate) fn of_item(shape: Shape) -> Self {
        let change = match shape.effect {
            Effect::Add | Effect::AddCounted | Effect::AddAbsent | Effect::AddOrTouch => {
                Some(Change::Added)
            }
            Effect::Touch => Some(Change::Touched),
            Effect::Delete => Some(Change::Removed),
            Effect::None | Effect::Make | Effect::Load | Effect::Combine => None,
        };
        let index = KEY + 1;
        Self {
            only: change.map(|change| Item { change, index }),
            ..Self::default()
        }
    }

    pub(crate) fn made(&mut self, filter: &Filter) {
        self.more().made = Some(Made {
            options: Header::of(filter).to_bytes(),
            filter: filter.header(),
        });
    }

    fn more(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }

    /// Records that these words were added to the filter, in their order.
    #[inline]
    pub(crate) fn added<'a>(
        &mut self,
        words: &[&[u8]],
        filter: &Filter,
        items: impl Iterator<Item = &'a [u8]>,
    ) {
        self.has_window = filter.window().is_some();
        self.record(Change::Added, words, items);
    }

    /// Records that a copy of each of these words was removed, in their order.
    pub(crate) fn removed<'a>(&mut self, words: &[&[u8]], items: impl Iterator<Item = &'a [u8]>) {
        self.record(Change::Removed, words, items);
    }

    /// Records that the time of each of these words was reset, in their order.
    pub(crate) fn touched<'a>(&mut self, words: &[&[u8]], items: impl Iterator<Item = &'a [u8]>) {
        self.record(Change::Touched, words, items);
    }

    #[inline(always)]
    fn record<'a>(
        &mut self,
        change: Change,
        words: &[&[u8]],
        items: impl Iterator<Item = &'a [u8]>,
    ) {
        if let [_, _, only] = words {
            // Nearly all commands have one item.
            let item = Item {
                change,
                index: KEY + 1,
            };
            return items.for_each(|item_of| {
                debug_assert!(
                    std::ptr::eq(*only, item_of) && self.only.is_none(),
                    "an item is a word of the command"
                );
                self.only = Some(item);
            });
        }
        let mut rest = KEY + 1..words.len();
        for item in items {
            // Compares addresses, because equal words may occur several times.
            let index = rest.find(|&index| std::ptr::eq(words[index], item));
            debug_assert!(index.is_some(), "an item is a word of the command");
            if let Some(index) = index {
                self.more().items.push(Item { change, index });
            }
        }
    }

    pub(crate) fn loaded(&mut self) {
        self.more().loaded = true;
    }

    /// Records that the filter was combined with others. If it is new, a replica makes it in the same
    /// way, with what it holds.
    pub(crate) fn combined(&mut self) {
        let more = self.more();
        (more.made, more.combined) = (None, true);
    }

    pub(crate) fn deleted(&mut self) {
        self.more().deleted = true;
    }

    /// The replicated commands after a command of this shape.
    pub(crate) fn told(&self, shape: Shape) -> SmallVec<[Told<'_>; 2]> {
        let mut all = SmallVec::new();
        let made = self.more.as_ref().and_then(|more| more.made.as_ref());
        if let Some(made) = made {
            all.push(Told {
                command: MAKE,
                arguments: Arguments::Made(made),
                is_verbatim: false,
                event: Event::Module(c"cf.reserve"),
            });
        }
        for change in [Change::Added, Change::Touched, Change::Removed] {
            let items = self.items().iter().filter(|item| item.change == change);
            // One command adds all items, unless the client's command takes a single one.
            let are_together = change == Change::Added;
            let items = items.take(if are_together { 1 } else { usize::MAX });
            all.extend(items.map(|&item| self.told_of(item, shape)));
        }
        if self.has(|more| more.loaded) && !fault::is(Fault::ForgetLoad) {
            all.push(Told {
                command: c"CF.LOADCHUNK",
                arguments: Arguments::Piece,
                is_verbatim: true,
                event: Event::Module(c"cf.loadchunk"),
            });
        }
        if self.has(|more| more.combined) {
            all.push(Told {
                command: c"",
                arguments: Arguments::None,
                is_verbatim: true,
                event: Event::Module(c"cf.combine"),
            });
        }
        if self.has(|more| more.deleted) {
            all.push(Told {
                command: c"DEL",
                arguments: Arguments::None,
                is_verbatim: false,
                event: Event::Generic(c"del"),
            });
        }
        all
    }

    /// The replicated command for an item, or for all items that were added.
    #[inline]
    fn told_of(&self, Item { change, index }: Item, shape: Shape) -> Told<'_> {
        let Shape { effect, is_of_one } = shape;
        let told = |command, is_verbatim, event| Told {
            command,
            arguments: Arguments::Item(index),
            is_verbatim,
            event: Event::Module(event),
        };
        match change {
            Change::Added => {
                // A node to which the slot migrates may remember the item for longer.
                let is_surely = effect == Effect::AddAbsent && self.has_window;
                let of_one = match effect {
                    Effect::Add => Some(c"CF.ADD"),
                    Effect::AddCounted => Some(c"CF.ADDCOUNT"),
                    Effect::AddAbsent if is_surely => Some(c"CF.ADDTOUCH"),
                    Effect::AddAbsent => Some(c"CF.ADDNX"),
                    Effect::AddOrTouch => Some(c"CF.ADDTOUCH"),
                    // These effects add no items.
                    Effect::None
                    | Effect::Make
                    | Effect::Touch
                    | Effect::Delete
                    | Effect::Load
                    | Effect::Combine => None,
                };
                match of_one {
                    Some(command) if is_of_one => told(command, !is_surely, c"cf.add"),
                    _ => Told {
                        arguments: Arguments::Added(self.items()),
                        ..told(c"CF.INSERT", false, c"cf.add")
                    },
                }
            }
            // This is right even if the item has expired on the other node of a slot migration.
            Change::Touched => {
                let is_verbatim = is_of_one && effect == Effect::AddOrTouch;
                told(c"CF.ADDTOUCH", is_verbatim, c"cf.touch")
            }
            Change::Removed => told(c"CF.DEL", is_of_one, c"cf.del"),
        }
    }

    /// All items, in their order.
    fn items(&self) -> &[Item] {
        match &self.more {
            Some(more) if !more.items.is_empty() => &more.items,
            _ => self.only.as_slice(),
        }
    }

    fn has(&self, of: impl FnOnce(&More) -> bool) -> bool {
        self.more.as_deref().is_some_and(of)
    }

    /// The only item that the command has changed, if it has no other effect.
    #[inline]
    fn only_item(&self) -> Option<Item> {
        self.only.filter(|_| self.more.is_none())
    }

    /// True if the command has changed nothing.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.only.is_none() && self.more.is_none()
    }

    /// Replicates the changes, at least one, and notifies watchers and listeners. No key
    /// may be open.
    #[inline(always)]
    pub(crate) fn tell(&self, context: &Context, words: &[Str<'_>], shape: Shape) {
        let Some(&key) = words.get(KEY) else {
            return;
        };
        // Nearly all writes change one item, and are replicated as they are.
        match self.only_item().map(|item| self.told_of(item, shape)) {
            Some(told) if told.is_verbatim => {
                context.replicate_verbatim();
                if !fault::is(Fault::Verbatim) {
                    context.signal_modified(key);
                    notify(context, told.event, key);
                }
            }
            _ => self.tell_all(context, words, key, shape),
        }
    }

    fn tell_all(&self, context: &Context, words: &[Str<'_>], key: Str<'_>, shape: Shape) {
        if fault::is(Fault::Verbatim) {
            return context.replicate_verbatim();
        }
        let all = self.told(shape);
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
            let all = told.arguments();
            let made: SmallVec<[Option<OwnedStr>; 4]> = all.iter().map(made).collect();
            let pairs = all.iter().zip(&made);
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
            notify(context, alike[0].event, key);
        }
    }
}

#[inline]
fn notify(context: &Context, event: Event, key: Str<'_>) {
    match event {
        Event::Module(event) => context.notify(event, key),
        Event::Generic(event) => context.notify_generic(event, key),
    }
}
