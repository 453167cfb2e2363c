//! The descriptions of a command's arguments, for `COMMAND DOCS`.

use super::api::{CommandArgument, with_nul};
use guira_commands::{Argument, ArgumentKind};
use std::{
    ffi::{CString, c_int},
    ptr,
};

/// The constants `REDISMODULE_ARG_TYPE_…` of the engine's header.
const STRING: c_int = 0;
const INTEGER: c_int = 1;
const DOUBLE: c_int = 2;
const KEY: c_int = 3;
const PURE_TOKEN: c_int = 6;

/// The constants `REDISMODULE_CMD_ARG_…`.
const OPTIONAL: c_int = 1;
const MULTIPLE: c_int = 1 << 1;

/// The arguments of a command in the engine's format. The engine copies them.
pub(super) struct Arguments {
    list: Vec<CommandArgument>,
    /// The strings that the list points to.
    _texts: Vec<CString>,
}

impl Arguments {
    pub(super) fn new(arguments: &[Argument]) -> Self {
        let mut texts = Vec::new();
        let mut text = |text: &str| {
            let text = with_nul(text);
            // Moving the `CString` when the list grows does not move its bytes.
            let begin = text.as_ptr();
            texts.push(text);
            begin
        };
        let mut list: Vec<_> = arguments
            .iter()
            .map(|argument| CommandArgument {
                name: text(argument.name),
                kind: kind(argument.kind),
                key_spec: match argument.kind {
                    // A command has one specification of keys.
                    ArgumentKind::Key => 0,
                    _ => -1,
                },
                token: argument.token.map_or(ptr::null(), &mut text),
                flags: flags(argument),
                ..CommandArgument::END
            })
            .collect();
        list.push(CommandArgument::END);
        Self {
            list,
            _texts: texts,
        }
    }

    pub(super) fn as_ptr(&self) -> *const CommandArgument {
        self.list.as_ptr()
    }
}

fn kind(kind: ArgumentKind) -> c_int {
    match kind {
        ArgumentKind::Key => KEY,
        ArgumentKind::Bytes => STRING,
        ArgumentKind::Integer => INTEGER,
        ArgumentKind::Float => DOUBLE,
        ArgumentKind::Flag => PURE_TOKEN,
    }
}

fn flags(argument: &Argument) -> c_int {
    let optional = if argument.is_optional { OPTIONAL } else { 0 };
    let multiple = if argument.is_multiple { MULTIPLE } else { 0 };
    optional | multiple
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn the_list_ends_and_points_at_its_texts() {
        let key = Argument {
            name: "key",
            kind: ArgumentKind::Key,
            token: None,
            is_optional: false,
            is_multiple: false,
        };
        let items = Argument {
            name: "item",
            kind: ArgumentKind::Bytes,
            token: Some("ITEMS"),
            is_optional: true,
            is_multiple: true,
        };
        let arguments = Arguments::new(&[key, items]);
        let [first, second, end] = &arguments.list[..] else {
            panic!("two arguments and an end are not {}", arguments.list.len());
        };
        // SAFETY: the pointers are to strings that end with a NUL and live as long as the list.
        let texts = [first.name, second.name, second.token].map(|at| unsafe { CStr::from_ptr(at) });
        assert_eq!(texts, [c"key", c"item", c"ITEMS"]);
        assert!(first.token.is_null() && end.name.is_null());
        assert_eq!([first.kind, second.kind], [KEY, STRING]);
        assert_eq!([first.key_spec, second.key_spec], [0, -1]);
        assert_eq!([first.flags, second.flags], [0, OPTIONAL | MULTIPLE]);
    }
}
