//! `OBJECT` and `MODULE`: information that tools request about values and modules.

use super::{Args, Reply, unknown::unknown_subcommand};
use crate::store::Store;

/// The name of the module that tools expect to provide the `CF.*` commands, as in guira-module.
pub(super) const MODULE: &str = "guira";
const VERSION: i64 = 1;

/// `OBJECT ENCODING | FREQ | IDLETIME | REFCOUNT key`, `OBJECT HELP`
pub(super) fn object(store: &Store, args: Args<'_>) -> Reply {
    let [_, word, rest @ ..] = args else {
        return Reply::wrong_arity(args[0]);
    };
    let answer = match word.to_ascii_uppercase().as_slice() {
        // The same reply as Redis gives for values of modules.
        b"ENCODING" => Reply::bulk("raw"),
        b"REFCOUNT" => Reply::Integer(1),
        b"FREQ" | b"IDLETIME" => Reply::error(
            "ERR accesses to keys are not tracked, because no key is evicted for lack of memory",
        ),
        b"HELP" if rest.is_empty() => {
            return help(&[
                "OBJECT ENCODING key: raw, as of any value of a module.",
                "OBJECT REFCOUNT key: 1.",
                "OBJECT FREQ key, OBJECT IDLETIME key: an error, because accesses are not tracked.",
            ]);
        }
        b"HELP" => return Reply::wrong_arity(b"object|help"),
        _ => return unknown_subcommand("object", word),
    };
    match rest {
        [key] if store.keyspace.contains(key) => answer,
        [_] => Reply::Null,
        _ => Reply::wrong_arity(&[b"object|", *word].concat()),
    }
}

/// `MODULE LIST`, `MODULE HELP`
pub(super) fn module(_: &Store, args: Args<'_>) -> Reply {
    let [_, word, rest @ ..] = args else {
        return Reply::wrong_arity(args[0]);
    };
    match (word.to_ascii_uppercase().as_slice(), rest) {
        (b"LIST", []) => {
            let fields = [
                ("name", Reply::bulk(MODULE)),
                ("ver", Reply::Integer(VERSION)),
                ("path", Reply::bulk("")),
                ("args", Reply::Array(Vec::new())),
            ];
            let fields = fields.map(|(name, value)| (Reply::bulk(name), value));
            Reply::Array(vec![Reply::Map(fields.into())])
        }
        (b"HELP", []) => help(&[
            "MODULE LIST: one module, which has the CF.* commands. It is part of the server.",
        ]),
        (b"LOAD" | b"LOADEX" | b"UNLOAD", _) => {
            Reply::error("ERR the only module is part of the server: it has no others")
        }
        (name @ (b"LIST" | b"HELP"), _) => Reply::wrong_arity(&[b"module|", name].concat()),
        _ => unknown_subcommand("module", word),
    }
}

/// The reply of a `HELP` subcommand.
pub(super) fn help(lines: &[&'static str]) -> Reply {
    Reply::Array(lines.iter().copied().map(Reply::Status).collect())
}
