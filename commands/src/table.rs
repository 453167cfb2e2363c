//! The table of all commands.

use crate::{
    Store,
    argument::{
        Argument,
        ArgumentKind::{Bytes, Flag, Integer, Key},
    },
    cf, combine,
    command::{
        Access::{self, Read, Write},
        Answer, Args, AtOnce, Command,
        Cost::{self, Allocation, Constant, Filters, Growth, PerItem, Snapshot},
        Effect, Sources, Together,
    },
    dump, many,
    options::{LIKE, OPTIONS, SEED},
    reserve, touch,
};

const KEY: Argument = Argument::KEY;
const ITEM: Argument = Argument::ITEM;
const ITEMS: Argument = Argument::ITEMS;
const POSITION: Argument = Argument::one("position", Integer);

const ON_KEY: &[Argument] = &[KEY];
const ON_ITEM: &[Argument] = &[KEY, ITEM];
const ON_ITEMS: &[Argument] = &[KEY, ITEMS];
const INSERT: &[Argument] = &with_options::<13>(
    &[KEY, Argument::option("CAPACITY", "capacity", Integer)],
    &[
        Argument::option("NOCREATE", "nocreate", Flag),
        ITEMS.after("ITEMS"),
    ],
);
const RESERVE: &[Argument] = &with_options::<12>(
    &[KEY, Argument::one("capacity", Integer)],
    &[Argument::option(LIKE, "source", Key)],
);
const COMBINE: &[Argument] = &[Argument::one("destination", Key), Argument::SOURCES];
const LOAD: &[Argument] = &[KEY, POSITION, Argument::one("data", Bytes)];

/// The number of commands.
pub const COMMAND_COUNT: usize = 25;

/// All commands, ordered by name.
#[must_use]
#[rustfmt::skip]
pub const fn commands<S: Store>() -> [Command<S>; COMMAND_COUNT] {
    [
        command("CF.ADD", 3, Write, Constant, Effect::Add, ON_ITEM, cf::add, "Adds a copy of an item")
            .grows().together(cf::add_together).at_once(cf::add_at_once),
        command("CF.ADDCOUNT", 3, Write, Constant, Effect::AddCounted, ON_ITEM, cf::add_count, "Adds a copy of an item, and returns the number of copies")
            .grows(),
        command("CF.ADDNX", 3, Write, Constant, Effect::AddAbsent, ON_ITEM, cf::add_nx, "Adds an item if it is absent")
            .grows().at_once(cf::add_nx_at_once),
        command("CF.ADDTOUCH", 3, Write, Constant, Effect::AddOrTouch, ON_ITEM, touch::add_touch, "Adds an item if it is absent, or resets its time if it is present")
            .grows(),
        command("CF.COMPACT", 2, Read, Growth, Effect::None, ON_KEY, cf::compact, "Completes a doubling that has begun"),
        command("CF.COUNT", 3, Read, Constant, Effect::None, ON_ITEM, cf::count, "Returns the number of copies of an item"),
        command("CF.DEBUG", 2, Read, Constant, Effect::None, ON_KEY, cf::debug, "Describes a filter in one line"),
        command("CF.DEL", 3, Write, Constant, Effect::Delete, ON_ITEM, cf::delete, "Deletes a copy of an item")
            .at_once(cf::delete_at_once),
        command("CF.DIFF", -3, Write, Filters, Effect::Combine, COMBINE, combine::difference, "Removes each item that another filter has")
            .with_sources(Sources::Rest),
        command("CF.DIGEST", 2, Read, Filters, Effect::None, ON_KEY, combine::digest, "Returns a digest of what a filter holds"),
        command("CF.EXISTS", 3, Read, Constant, Effect::None, ON_ITEM, cf::exists, "Returns whether an item is present")
            .together(cf::exist_together).at_once(cf::exists_at_once),
        command("CF.INFO", 2, Read, Constant, Effect::None, ON_KEY, cf::info, "Describes a filter"),
        command("CF.INSERT", -4, Write, PerItem, Effect::Add, INSERT, cf::insert, "Adds a copy of each item")
            .grows().with_secret(SEED),
        command("CF.INSERTNX", -4, Write, PerItem, Effect::AddAbsent, INSERT, cf::insert_nx, "Adds each item that is absent")
            .grows().with_secret(SEED),
        command("CF.INTERSECT", -3, Write, Filters, Effect::Combine, COMBINE, combine::intersection, "Lowers the number of copies of each item to that in other filters")
            .grows().with_sources(Sources::Rest),
        command("CF.LOADCHUNK", 4, Write, Snapshot, Effect::Load, LOAD, dump::load_chunk, "Restores a piece of a dump")
            .grows(),
        command("CF.MADD", -3, Write, PerItem, Effect::Add, ON_ITEMS, many::add_many, "Adds a copy of each item")
            .grows(),
        command("CF.MDEL", -3, Write, PerItem, Effect::Delete, ON_ITEMS, many::delete_many, "Deletes a copy of each item"),
        command("CF.MERGE", -3, Write, Filters, Effect::Combine, COMBINE, combine::merge, "Adds the copies that other filters hold")
            .grows().with_sources(Sources::Rest),
        command("CF.MEXISTS", -3, Read, PerItem, Effect::None, ON_ITEMS, cf::exist_many, "Returns for each item whether it is present"),
        command("CF.MTOUCH", -3, Write, PerItem, Effect::Touch, ON_ITEMS, many::touch_many, "Resets the time of each item that is present"),
        command("CF.RESERVE", -3, Write, Allocation, Effect::Make, RESERVE, reserve::reserve, "Creates a filter")
            .grows().with_secret(SEED).with_sources(Sources::After(LIKE)),
        command("CF.SCANDUMP", 3, Read, Snapshot, Effect::None, &[KEY, POSITION], dump::scan_dump, "Returns a piece of a dump of a filter"),
        command("CF.TOUCH", 3, Write, Constant, Effect::Touch, ON_ITEM, touch::touch, "Resets the time of an item if it is present"),
        command("CF.UNION", -3, Write, Filters, Effect::Combine, COMBINE, combine::union, "Raises the number of copies of each item to that in other filters")
            .grows().with_sources(Sources::Rest),
    ]
}

/// The arguments `before`, the options of new filters, and the arguments `after`.
const fn with_options<const ALL: usize>(
    before: &[Argument],
    after: &[Argument],
) -> [Argument; ALL] {
    let parts = [before, &OPTIONS, after];
    let mut all = [KEY; ALL];
    let (mut part, mut index, mut next) = (0, 0, 0);
    while part < parts.len() {
        if index < parts[part].len() {
            all[next] = parts[part][index];
            (index, next) = (index + 1, next + 1);
        } else {
            (part, index) = (part + 1, 0);
        }
    }
    assert!(next == ALL, "the number of arguments");
    all
}

#[expect(
    clippy::too_many_arguments,
    reason = "they are the columns of the table"
)]
const fn command<S>(
    name: &'static str,
    arity: i64,
    access: Access,
    cost: Cost,
    effect: Effect,
    arguments: &'static [Argument],
    run: fn(&S, Args<'_>) -> Answer,
    summary: &'static str,
) -> Command<S> {
    Command {
        name,
        arity,
        access,
        sources: Sources::None,
        cost,
        grows: false,
        effect,
        summary,
        arguments,
        secret: None,
        run,
        together: None,
        at_once: None,
    }
}

impl<S> Command<S> {
    const fn grows(self) -> Self {
        Self {
            grows: true,
            ..self
        }
    }

    const fn with_sources(self, sources: Sources) -> Self {
        Self { sources, ..self }
    }

    const fn with_secret(self, option: &'static str) -> Self {
        Self {
            secret: Some(option),
            ..self
        }
    }

    const fn together(self, together: Together<S>) -> Self {
        Self {
            together: Some(together),
            ..self
        }
    }

    const fn at_once(self, at_once: AtOnce) -> Self {
        Self {
            at_once: Some(at_once),
            ..self
        }
    }
}
