//! Disabled commands.

use crate::common::{Protocol, Server, ask, refusal, request};

#[test]
fn a_disabled_command_is_unknown() {
    let server = Server::start(&[
        "--disable-command",
        "shutdown,FlushAll",
        "--disable-command",
        "KEYS",
    ]);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.ADD k a");
    for words in ["SHUTDOWN NOSAVE", "flushall", "KEYS *"] {
        let name = words.split(' ').next().unwrap();
        let refusal = refusal(&mut client, words);
        assert!(
            refusal.starts_with(&format!("ERR unknown command '{name}'")),
            "{refusal}"
        );
    }
    assert_eq!(ask::<i64>(&mut client, "DBSIZE"), 1);
    ask::<()>(&mut client, "FLUSHDB");
    let listed: Vec<String> = ask(&mut client, "COMMAND LIST");
    assert_eq!(ask::<usize>(&mut client, "COMMAND COUNT"), listed.len());
    let is_listed = |name: &str| listed.iter().any(|listed| listed == name);
    assert!(is_listed("flushdb") && !is_listed("flushall") && !is_listed("keys"));
}

/// Commands that run together in a pipeline are refused one by one.
#[test]
fn disabled_commands_of_a_pipeline_are_refused_one_by_one() {
    let server = Server::start(&["--disable-command", "CF.ADD"]);
    let mut client = server.raw();
    client.send(request(&["CF.ADD", "k", "a"]).repeat(3));
    client.send(request(&["CF.EXISTS", "k", "a"]).repeat(3));
    for _ in 0..3 {
        let line = client.line();
        assert!(line.starts_with("-ERR unknown command 'CF.ADD'"), "{line}");
    }
    for _ in 0..3 {
        assert_eq!(client.line(), ":0");
    }
}

#[test]
fn what_is_disabled_must_be_a_command() {
    let output = crate::common::command(&["--disable-command", "FLUSHAL"])
        .stderr(std::process::Stdio::piped())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.contains("invalid value 'FLUSHAL' for '--disable-command <NAME>': not a command"),
        "{text}"
    );
}
