//! The fields of each command, on which hosts rely, agree with its behaviour.

use super::host::Host;
use guira_commands::{
    Access, Answer, Argument, ArgumentKind, Command, Cost, Effect, Sources, commands, dump::Header,
};

/// Each command requires exactly the words of its mandatory arguments.
#[test]
fn arguments_agree_with_arities() {
    let commands = commands::<Host>();
    assert!(commands.is_sorted_by(|a, b| a.name < b.name));
    for command in &commands {
        let needed = command.arguments.iter().filter(|it| !it.is_optional);
        let words: usize = needed.map(|it| 1 + usize::from(it.token.is_some())).sum();
        assert!(command.takes(1 + words), "{}", command.name);
        assert!(!command.takes(words), "{}", command.name);
        let is_variable = |it: &Argument| it.is_optional || it.is_multiple;
        let is_variable = command.arguments.iter().any(is_variable);
        assert_eq!(command.arity < 0, is_variable, "{}", command.name);
        assert!(
            command.access == Access::Write || !command.grows,
            "{}",
            command.name
        );
    }
}

/// Calls `command` with its mandatory arguments, on a key with an item `a`, or on a new key if the
/// command creates it.
fn call(host: &Host, command: &Command<Host>) -> Answer {
    host.ask("CF.ADD plain a").unwrap();
    host.ask("CF.RESERVE window 100 WINDOW 60")
        .and_then(|_| host.ask("CF.ADD window a"))
        .unwrap();
    host.ask("CF.RESERVE other LIKE plain").unwrap();
    let header = Header::of(&host.filter("plain")).to_bytes();
    host.told();
    let key = match command.effect {
        Effect::Make | Effect::Load => "new",
        Effect::Touch | Effect::AddOrTouch => "window",
        Effect::None
        | Effect::Add
        | Effect::AddCounted
        | Effect::AddAbsent
        | Effect::Delete
        | Effect::Combine => "plain",
    };
    let mut words = vec![command.name.as_bytes()];
    for argument in command.arguments.iter().filter(|it| !it.is_optional) {
        words.extend(argument.token.map(str::as_bytes));
        words.push(match argument.name {
            "key" | "destination" => key.as_bytes(),
            "source" => b"other",
            "item" => b"a",
            "capacity" => b"100",
            "position" => b"1",
            "data" => &header,
            other => panic!("{}: what is {other}?", command.name),
        });
    }
    host.ask_words(&words)
}

/// Hosts rely on the fields of a command, so these must agree with its behaviour.
#[test]
fn fields_agree_with_what_commands_do() {
    for command in &commands::<Host>() {
        let host = Host::new(true);
        let answer = call(&host, command);
        let name = command.name;
        assert!(answer.is_ok(), "{name}: {answer:?}");
        let expected: &[&str] = match (command.effect, command.cost) {
            // The effect reports that the filter is faster from now on, not that its contents have
            // changed.
            (Effect::None, Cost::Growth) => &["compacted plain"],
            (Effect::None, _) => &[],
            (Effect::Make, _) => &["made new 100"],
            (Effect::Add | Effect::AddCounted, _) => &["added plain a"],
            (Effect::AddAbsent, _) => &["added plain"],
            (Effect::AddOrTouch, _) => &["added window", "touched window a"],
            (Effect::Touch, _) => &["touched window a"],
            (Effect::Delete, _) => &["removed plain a"],
            (Effect::Load, _) => &[],
            (Effect::Combine, _) => &["combined plain"],
        };
        assert_eq!(host.told(), expected, "{name}");
        let loads = host.loads.borrow().len();
        assert_eq!(loads, usize::from(command.effect == Effect::Load), "{name}");
        let expected = match command.effect {
            Effect::None => Access::Read,
            Effect::Make
            | Effect::Add
            | Effect::AddCounted
            | Effect::AddAbsent
            | Effect::AddOrTouch
            | Effect::Touch
            | Effect::Delete
            | Effect::Load
            | Effect::Combine => Access::Write,
        };
        assert_eq!(command.access, expected, "{name}");
        let takes_items = command.arguments.iter().any(|it| it.is_multiple);
        let takes_keys = command.sources == Sources::Rest;
        assert_eq!(
            command.cost == Cost::PerItem,
            takes_items && !takes_keys,
            "{name}"
        );
        let has_seed = command.arguments.iter().any(|it| it.token == Some("SEED"));
        assert_eq!(command.secret, has_seed.then_some("SEED"), "{name}");
        let is_key = |it: &&Argument| it.kind == ArgumentKind::Key;
        let keys = command.arguments.iter().filter(is_key).count();
        assert_eq!(keys > 1, command.sources != Sources::None, "{name}");
    }
}
