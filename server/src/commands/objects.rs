//! `OBJECT` and `MODULE`: information that tools request about values and modules.

use super::{Args, Reply};
use crate::{command::Command, store::Store};

/// The name of the module that tools expect to provide the `CF.*` commands, as in guira-module.
pub(super) const MODULE: &str = "guira";
pub(super) const VERSION: i64 = 1;

/// `OBJECT ENCODING | FREQ | IDLETIME | REFCOUNT key`, `OBJECT HELP`
pub(super) fn object(store: &Store, args: Args<'_>) -> Reply {
    let &[_, word, key] = args else {
        return Command::help("OBJECT");
    };
    if !store.keyspace.contains(key) {
        return Reply::Null;
    }
    match word.to_ascii_uppercase().as_slice() {
        // The same reply as Redis gives for values of modules.
        b"ENCODING" => Reply::bulk("raw"),
        b"REFCOUNT" => Reply::Integer(1),
        // `FREQ` and `IDLETIME`.
        _ => Reply::error(
            "ERR accesses to keys are not tracked, because no key is evicted for lack of memory",
        ),
    }
}

/// `MODULE LIST`, `MODULE HELP`
pub(super) fn module(_: &Store, args: Args<'_>) -> Reply {
    let [_, word, rest @ ..] = args else {
        return Reply::wrong_arity(args[0]);
    };
    match (word.to_ascii_uppercase().as_slice(), rest) {
        (b"LIST", []) => modules(),
        (b"LOAD" | b"LOADEX" | b"UNLOAD", _) => {
            Reply::error("ERR the only module is part of the server: it has no others")
        }
        _ => Command::help("MODULE"),
    }
}

/// The module, as `MODULE LIST` and `HELLO` show it.
pub(super) fn modules() -> Reply {
    let fields = [
        ("name", Reply::bulk(MODULE)),
        ("ver", Reply::Integer(VERSION)),
        ("path", Reply::bulk("")),
        ("args", Reply::Array(Vec::new())),
    ];
    let fields = fields.map(|(name, value)| (Reply::bulk(name), value));
    Reply::Array(vec![Reply::Map(fields.into())])
}
