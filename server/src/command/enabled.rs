//! Looks up commands by the names in requests.

use super::{COMMANDS, Command};

/// The length of the longest name.
const LONGEST: usize = longest();

/// The commands that clients can use, by the lengths of their names: few names have the same length.
#[derive(Debug)]
pub struct Enabled([Vec<&'static Command>; LONGEST + 1]);

impl Enabled {
    /// All commands except those with the names `disabled`, which are in capitals.
    #[must_use]
    pub fn without(disabled: &[&str]) -> Self {
        let mut by_length: [Vec<_>; LONGEST + 1] = Default::default();
        let enabled = |command: &&Command| !disabled.contains(&command.name);
        for command in COMMANDS.iter().filter(enabled) {
            by_length[command.name.len()].push(command);
        }
        Self(by_length)
    }

    /// The command with this name, in any case.
    #[inline]
    #[must_use]
    pub fn find(&self, name: &[u8]) -> Option<&'static Command> {
        let commands = self.0.get(name.len())?.iter().copied();
        { commands }.find(|command| command.is_called(name))
    }

    /// The number of commands.
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    /// All of them, ordered by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static Command> {
        let is_enabled = |command: &&Command| self.find(command.name.as_bytes()).is_some();
        COMMANDS.iter().filter(is_enabled)
    }
}

const fn longest() -> usize {
    let (mut longest, mut index) = (0, 0);
    while index < COMMANDS.len() {
        if COMMANDS[index].name.len() > longest {
            longest = COMMANDS[index].name.len();
        }
        index += 1;
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    #[test]
    fn all_commands_are_found_in_any_case() {
        let all = Enabled::without(&[]);
        assert_eq!(all.len(), COMMANDS.len());
        let names = |command: &Command| command.name;
        assert!(all.iter().map(names).eq(COMMANDS.iter().map(names)));
        for command in &COMMANDS {
            for name in [command.name.to_lowercase(), command.name.to_uppercase()] {
                let found = all.find(name.as_bytes()).expect("it is enabled");
                assert!(ptr::eq(found, command), "{name}");
            }
        }
        for name in [
            "",
            "CF",
            "CF.ADDN",
            "CF.ADDNXX",
            "ZZ",
            "CF.INSERTNXINSERTNX",
        ] {
            assert!(all.find(name.as_bytes()).is_none(), "{name}");
        }
    }

    #[test]
    fn disabled_commands_are_not_found() {
        let some = Enabled::without(&["CF.ADD", "KEYS"]);
        assert_eq!(some.len(), COMMANDS.len() - 2);
        assert_eq!(some.iter().count(), some.len());
        for name in ["cf.add", "CF.ADD", "keys"] {
            assert!(some.find(name.as_bytes()).is_none(), "{name}");
        }
        assert!(some.find(b"CF.ADDNX").is_some());
    }
}
