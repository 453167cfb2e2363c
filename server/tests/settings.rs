//! Settings from the command line, the environment and a file.

use crate::common::{Protocol, Server, ask, command};
use clap::CommandFactory;
use guira_server::{
    config::Config,
    settings::{SettingsError, load},
};
use std::{cell::RefCell, collections::HashMap, ffi::OsString, fs, path::PathBuf, time::Duration};
use tempfile::{NamedTempFile, TempDir};

/// A file in its own directory.
fn file(text: &str) -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("guira.toml");
    fs::write(&path, text).unwrap();
    (directory, path)
}

fn load_with(
    arguments: &[&str],
    environment: &[(&str, &str)],
    text: Option<&str>,
) -> Result<Config, SettingsError> {
    let file = text.map(file);
    let mut all: Vec<OsString> = vec!["guira-server".into()];
    if let Some((_, path)) = &file {
        all.extend(["--config".into(), path.into()]);
    }
    all.extend(arguments.iter().map(OsString::from));
    let environment: HashMap<&str, &str> = environment.iter().copied().collect();
    load(all, |name| environment.get(name).map(OsString::from))
}

/// The error for these settings, without the directory of the file.
fn fault(arguments: &[&str], environment: &[(&str, &str)], text: Option<&str>) -> String {
    let error = load_with(arguments, environment, text).expect_err("they are wrong");
    let text = error.to_string();
    match text.split_once("/guira.toml") {
        Some((_, rest)) => format!("guira.toml{rest}"),
        None => text,
    }
}

/// The operator learns which lines of the file do not apply.
#[test]
fn the_environment_that_outranks_the_file_is_named() {
    let file =
        Some("port = 7000\ndir = \"/a\"\ntimeout = \"5m\"\ndisable-command = [\"keys\", \"scan\"]");
    let variables = [
        ("GUIRA_DIR", "/b"),
        ("GUIRA_PORT", "7000"),
        ("GUIRA_DISABLE_COMMAND", "keys"),
        ("GUIRA_THREADS", "2"),
    ];
    let named = |arguments: &[&str]| -> Vec<(String, String)> {
        let config = load_with(arguments, &variables, file).unwrap();
        assert_eq!(config.port, 7000);
        config
            .outranked
            .into_iter()
            .map(|it| (it.setting, it.variable))
            .collect()
    };
    let expected = [
        ("dir", "GUIRA_DIR"),
        ("disable-command", "GUIRA_DISABLE_COMMAND"),
    ];
    let mut all = named(&[]);
    all.sort();
    assert_eq!(all, expected.map(|(a, b)| (a.into(), b.into())));
    // The command line outranks both.
    let all = named(&["--dir", "/c", "--disable-command", "del"]);
    assert_eq!(all, []);
}

#[test]
fn a_line_of_the_file_that_does_not_apply_is_logged_once() {
    let (_guard, path) = file("timeout = \"5m\"\nmaxclients = 7");
    let log = NamedTempFile::new().unwrap();
    let mut start = command(&["--config", path.to_str().unwrap()]);
    start
        .env("GUIRA_TIMEOUT", "1m")
        .stderr(log.reopen().unwrap());
    let server = Server::spawn(&mut start);
    let mut client = server.client(Protocol::Resp2);
    let timeout: (String, String) = ask(&mut client, "CONFIG GET timeout");
    assert_eq!(timeout.1, "60");
    assert!(server.terminate().success());
    let log = fs::read_to_string(log.path()).unwrap();
    let said = "GUIRA_TIMEOUT in the environment outranks timeout in the settings file";
    assert_eq!(log.matches(said).count(), 1, "{log}");
    assert_eq!(log.matches("outranks").count(), 1, "{log}");
}

#[test]
fn a_file_has_every_setting() {
    let config = load_with(
        &[],
        &[],
        Some(
            r#"
            # A comment.
            bind = ["0.0.0.0", "::1"]
            protected-mode = false
            authentication-timeout = "5s"
            max-replies-memory = "7mb"
            port = 7_000
            threads = 3
            requirepass = "secret"
            unixsocket = "/run/guira.sock"
            unixsocketperm = 770
            dir = "/var/lib/guira"
            save-every = "5m"
            save-on-exit = false
            maxmemory = "8gb"
            maxclients = 5
            max-output = 65536
            timeout = "1h"
            metrics = "127.0.0.1:9121"
            disable-command = ["keys", "FLUSHALL"]
            default-capacity = 5_000
            default-error-rate = 0.001
            default-expansion = 0
            log = "warn"
            log-format = "json"
            "#,
        ),
    )
    .unwrap();
    assert_eq!(config.bind, ["0.0.0.0", "::1"]);
    assert!(!config.protected_mode);
    assert_eq!(config.authentication_timeout, Duration::from_secs(5));
    assert_eq!(config.max_replies_memory, 7 << 20);
    assert_eq!((config.port, config.threads()), (7_000, 3));
    assert!(config.password().unwrap().is(b"secret"));
    assert_eq!(
        config.unixsocket.as_deref(),
        Some("/run/guira.sock".as_ref())
    );
    assert_eq!(config.unixsocketperm, Some(0o770));
    assert_eq!(config.save_every(), Some(Duration::from_secs(300)));
    assert!(!config.save_on_exit);
    assert_eq!(config.maxmemory, 8 << 30);
    assert_eq!((config.maxclients.get(), config.max_output), (5, 65_536));
    assert_eq!(config.timeout, Duration::from_secs(3_600));
    assert_eq!(config.metrics.unwrap().port(), 9121);
    assert_eq!(config.log.to_string(), "warn");
    let defaults = config.default_options();
    assert_eq!((defaults.capacity, defaults.expansion), (5_000, 0));
    assert_eq!(defaults.rate.to_bits(), 0.001_f64.to_bits());
    assert_eq!(config.disable_command, ["KEYS", "FLUSHALL"]);
}

#[test]
fn the_command_line_precedes_the_environment_and_that_the_file() {
    let file = Some("port = 1\nmaxclients = 1\ntimeout = 1");
    let environment = [("GUIRA_PORT", "2"), ("GUIRA_MAXCLIENTS", "2")];
    let config = load_with(&["--port", "3"], &environment, file).unwrap();
    assert_eq!(config.port, 3);
    assert_eq!(config.maxclients.get(), 2);
    assert_eq!(config.timeout, Duration::from_secs(1));
    // A list is also replaced.
    let environment = [("GUIRA_DISABLE_COMMAND", "KEYS,SCAN")];
    let file = Some("disable-command = [\"SAVE\"]");
    let config = load_with(&[], &environment, file).unwrap();
    assert_eq!(config.disable_command, ["KEYS", "SCAN"]);
    // An overridden variable of the environment need not be valid.
    assert_eq!(
        load_with(&["--port", "3"], &[("GUIRA_PORT", "x")], None)
            .unwrap()
            .port,
        3
    );
}

#[test]
fn the_environment_has_every_setting() {
    let asked = RefCell::new(Vec::new());
    let variable = |name: &str| {
        asked.borrow_mut().push(name.to_owned());
        None
    };
    load(["guira-server".into()], variable).unwrap();
    let command = Config::command();
    let names = command
        .get_arguments()
        .filter_map(|option| option.get_long());
    let expected: Vec<String> = names
        .map(|name| format!("GUIRA_{}", name.to_uppercase().replace('-', "_")))
        .collect();
    assert!(expected.contains(&"GUIRA_MAX_OUTPUT".into()));
    assert_eq!(asked.into_inner(), expected);
}

#[test]
fn the_environment_can_name_the_file() {
    let (_directory, path) = file("port = 7001");
    let path = path.to_str().unwrap();
    assert_eq!(
        load_with(&[], &[("GUIRA_CONFIG", path)], None)
            .unwrap()
            .port,
        7001
    );
}

#[test]
fn faults_in_a_file_have_a_line() {
    for (text, expected) in [
        (
            "\nport = 65536",
            "guira.toml:2: invalid value '65536' for '--port <PORT>': 65536 is not in 0..=65535",
        ),
        (
            "maxclients = 0",
            "guira.toml:1: invalid value '0' for '--maxclients <N>': not a count: give a number \
             from 1 to 18446744073709551615",
        ),
        (
            "log = \"inof\"",
            "guira.toml:1: invalid value 'inof' for '--log <FILTER>': 'inof' is not a level: give off, \
             error, warn, info, debug or trace, or a list such as warn,guira_server::persist=debug",
        ),
        (
            "default-capacity = 3",
            "guira.toml:1: invalid value '3' for '--default-capacity <N>': 3 is not in 4..=25769803776",
        ),
        (
            "default-error-rate = 1",
            "guira.toml:1: invalid value '1' for '--default-error-rate <RATE>': not a rate: give a \
             number from 2e-9 to less than 1",
        ),
        (
            "default-expansion = 32769",
            "guira.toml:1: invalid value '32769' for '--default-expansion <N>': 32769 is not in 0..=32768",
        ),
        (
            "log-format = \"xml\"",
            "guira.toml:1: invalid value 'xml' for '--log-format <FORMAT>'; \
             [possible values: text, json]",
        ),
        (
            "# limits\n\nmaxmemroy = \"8gb\"",
            "guira.toml:3: unexpected argument '--maxmemroy' found; tip: a similar argument \
             exists: '--maxmemory'",
        ),
        (
            "help = true",
            "guira.toml:1: unexpected value 'true' for '--help' found; no more were expected",
        ),
        (
            "config = \"x\"",
            "guira.toml:1: a settings file cannot name another one",
        ),
        ("port = 1\nport = 2", "guira.toml:2: duplicate key"),
        (
            "port = [1]",
            "guira.toml:1: port: this setting has one value, not a list of them",
        ),
        (
            "port = 1.5",
            "guira.toml:1: invalid value '1.5' for '--port <PORT>': invalid digit found in string",
        ),
        (
            "port = 2026-01-01",
            "guira.toml:1: port: give a number, true, false, or a text in quotes",
        ),
        (
            "unixsocketperm = 0o770",
            "guira.toml:1: unixsocketperm: give numbers in decimal, and other values in quotes",
        ),
        (
            "[limits]\nmaxclients = 5",
            "guira.toml:1: limits: tables are not allowed: write each setting as name = value",
        ),
    ] {
        assert_eq!(fault(&[], &[], Some(text)), expected, "{text}");
    }
    let error = fault(&[], &[], Some("a = 1\nport 7"));
    assert!(error.starts_with("guira.toml:2: "), "{error}");
    let error = fault(&["--config", "/none/such"], &[], None);
    assert!(error.starts_with("/none/such: "), "{error}");
}

#[test]
fn faults_in_the_environment_have_its_name() {
    assert_eq!(
        fault(&[], &[("GUIRA_PORT", "tcp://10.0.0.1")], None),
        "GUIRA_PORT in the environment: invalid value 'tcp://10.0.0.1' for '--port <PORT>': \
         invalid digit found in string"
    );
}

#[test]
fn settings_of_all_sources_must_go_together() {
    for (text, expected) in [
        (
            "tcp = false",
            "--tcp false leaves nothing to listen on: give a --unixsocket or a --tls-port",
        ),
        ("save-every = 5", "--save-every needs a --dir to save to"),
    ] {
        assert_eq!(fault(&[], &[], Some(text)), expected);
    }
}

#[test]
fn the_password_can_be_in_a_file_of_its_own() {
    for (text, password) in [
        ("secret\n", "secret"),
        ("secret\r\n", "secret"),
        (" a b", " a b"),
    ] {
        let (_directory, path) = file(text);
        let path = path.to_str().unwrap();
        let config = load_with(&["--requirepass-file", path], &[], None).unwrap();
        assert!(
            config.password().unwrap().is(password.as_bytes()),
            "{text:?}"
        );
    }
    let (_directory, path) = file("\n");
    let error = fault(&["--requirepass-file", path.to_str().unwrap()], &[], None);
    assert_eq!(error, "guira.toml: a password cannot be empty");
}

#[test]
fn a_server_is_started_with_a_file_and_the_environment() {
    let (_directory, path) = file("maxclients = 7\nrequirepass = \"secret\"");
    let mut start = command(&[]);
    start
        .env("GUIRA_CONFIG", &path)
        .env("GUIRA_MAXMEMORY", "5mb");
    let server = Server::spawn(&mut start);
    let mut client = server.raw();
    assert_eq!(client.ask("PING\r\n"), "-NOAUTH Authentication required.");
    drop(client);
    let url = format!("redis://:secret@127.0.0.1:{}/", server.port);
    let mut client = redis::Client::open(url).unwrap().get_connection().unwrap();
    let config: HashMap<String, String> = ask(&mut client, "CONFIG GET max*");
    assert_eq!(config["maxclients"], "7");
    assert_eq!(config["maxmemory"], (5 << 20).to_string());
}

#[test]
fn keys_that_inserts_make_are_as_the_settings_say() {
    let server = Server::start(&[
        "--default-capacity",
        "5000",
        "--default-error-rate",
        "0.0001",
        "--default-expansion",
        "0",
    ]);
    let mut client = server.client(crate::common::Protocol::Resp2);
    ask::<()>(&mut client, "CF.ADD added a");
    ask::<()>(&mut client, "CF.INSERT inserted ITEMS a");
    ask::<()>(&mut client, "CF.INSERT sized CAPACITY 100 ITEMS a");
    ask::<()>(
        &mut client,
        "CF.RESERVE reserved 5000 ERROR 0.0001 EXPANSION 0",
    );
    ask::<()>(&mut client, "CF.RESERVE small 100 ERROR 0.0001 EXPANSION 0");
    ask::<()>(&mut client, "CF.ADD reserved a");
    ask::<()>(&mut client, "CF.ADD small a");
    let mut info = |key: &str| {
        let info: HashMap<String, i64> = ask(&mut client, &format!("CF.INFO {key}"));
        info
    };
    let reserved = info("reserved");
    assert_eq!(info("added"), reserved);
    assert_eq!(info("inserted"), reserved);
    assert_eq!(info("sized"), info("small"));
    let config: HashMap<String, String> = ask(&mut client, "CONFIG GET default-*");
    assert_eq!(config["default-capacity"], "5000");
    assert_eq!(config["default-error-rate"], "0.0001");
    assert_eq!(config["default-expansion"], "0");
}

#[test]
fn a_server_with_wrong_settings_is_not_started() {
    let (_directory, path) = file("timeout = \"nowhen\"");
    let mut start = command(&["--config", path.to_str().unwrap()]);
    let output = start.stderr(std::process::Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.contains("guira.toml:1: invalid value 'nowhen' for '--timeout <TIME>'"),
        "{text}"
    );
}
