//! All commands by name.

use crate::{
    Store, cf,
    command::{
        Answer, Args, Argument,
        ArgumentKind::{Bytes, Flag, Float, Integer},
        Command,
        Kind::{self, Read, SlowRead, SlowWrite, Write},
    },
    dump, reserve, touch,
};

const KEY: Argument = Argument::KEY;
const ITEM: Argument = Argument::ITEM;
const ITEMS: Argument = Argument::ITEMS;
const POSITION: Argument = Argument::one("position", Integer);

const ON_KEY: &[Argument] = &[KEY];
const ON_ITEM: &[Argument] = &[KEY, ITEM];
const INSERT: &[Argument] = &[
    KEY,
    Argument::option("CAPACITY", "capacity", Integer),
    Argument::option("NOCREATE", "nocreate", Flag),
    ITEMS.after("ITEMS"),
];
const RESERVE: &[Argument] = &[
    KEY,
    Argument::one("capacity", Integer),
    Argument::option("BUCKETSIZE", "bucketsize", Integer),
    Argument::option("MAXITERATIONS", "maxiterations", Integer),
    Argument::option("EXPANSION", "expansion", Integer),
    Argument::option("ERROR", "rate", Float),
    Argument::option("MAXCAPACITY", "maxcapacity", Integer),
    Argument::option("WINDOW", "seconds", Integer),
    Argument::option("EPOCHS", "epochs", Integer),
];
const LOAD: &[Argument] = &[KEY, POSITION, Argument::one("data", Bytes)];

/// The number of commands.
const COUNT: usize = 16;

/// All commands, ordered by name.
#[must_use]
#[rustfmt::skip]
pub const fn commands<S: Store>() -> [Command<S>; COUNT] {
    [
        command("CF.ADD", 3, Write, true, ON_ITEM, cf::add, "Adds a copy of an item"),
        command("CF.ADDNX", 3, Write, true, ON_ITEM, cf::add_nx, "Adds an item if it is absent"),
        command("CF.ADDTOUCH", 3, Write, true, ON_ITEM, touch::add_touch, "Adds an item if it is absent, and begins its time anew if it is present"),
        command("CF.COMPACT", 2, SlowWrite, false, ON_KEY, cf::compact, "Completes a doubling that has begun"),
        command("CF.COUNT", 3, Read, false, ON_ITEM, cf::count, "Counts the copies of an item"),
        command("CF.DEBUG", 2, Read, false, ON_KEY, cf::debug, "Describes a filter in a line"),
        command("CF.DEL", 3, Write, false, ON_ITEM, cf::delete, "Deletes a copy of an item"),
        command("CF.EXISTS", 3, Read, false, ON_ITEM, cf::exists, "Tells whether an item is present"),
        command("CF.INFO", 2, Read, false, ON_KEY, cf::info, "Describes a filter"),
        command("CF.INSERT", -4, Write, true, INSERT, cf::insert, "Adds a copy of each of many items"),
        command("CF.INSERTNX", -4, Write, true, INSERT, cf::insert_nx, "Adds those of many items that are absent"),
        command("CF.LOADCHUNK", 4, SlowWrite, true, LOAD, dump::load_chunk, "Restores a piece of a dump"),
        command("CF.MEXISTS", -3, Read, false, &[KEY, ITEMS], cf::exist_many, "Tells which of many items are present"),
        command("CF.RESERVE", -3, Write, true, RESERVE, reserve::reserve, "Makes a filter"),
        command("CF.SCANDUMP", 3, SlowRead, false, &[KEY, POSITION], dump::scan_dump, "Dumps a piece of a filter"),
        command("CF.TOUCH", 3, Write, false, ON_ITEM, touch::touch, "Begins the time of an item anew if it is present"),
    ]
}

const fn command<S>(
    name: &'static str,
    arity: i64,
    kind: Kind,
    may_grow: bool,
    arguments: &'static [Argument],
    run: fn(&S, Args<'_>) -> Answer,
    summary: &'static str,
) -> Command<S> {
    Command {
        name,
        arity,
        kind,
        may_grow,
        summary,
        arguments,
        run,
    }
}
