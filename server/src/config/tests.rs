//! The command line, and settings that do not fit together.

use super::*;
use clap::CommandFactory;

#[test]
fn the_command_line_is_well_formed() {
    Config::command().debug_assert();
}

#[test]
fn no_time_between_saves_is_no_saves() {
    for (time, expected) in [("0", None), ("2m", Some(Duration::from_secs(120)))] {
        let config = Config::parse_from(["", "--dir", ".", "--save-every", time]);
        assert_eq!(config.save_every(), expected);
    }
    let minute = Some(Duration::from_secs(60));
    assert_eq!(Config::parse_from(["", "--dir", "."]).save_every(), minute);
    assert_eq!(Config::parse_from([""]).save_every(), None);
}

#[test]
fn settings_that_do_not_go_together_are_refused() {
    let check = |args: &[&str]| Config::parse_from([&[""], args].concat()).check();
    for (args, fault) in [
        (&["--tcp", "false"][..], Some("--tcp false leaves nothing")),
        (&["--tcp", "false", "--unixsocket", "s"], None),
        (
            &["--tcp", "false", "--tls-port", "1"],
            Some("--tls-port needs a"),
        ),
        (
            &["--tls-port", "1", "--tls-cert-file", "c"],
            Some("--tls-port needs a"),
        ),
        (
            &[
                "--tls-port",
                "1",
                "--tls-cert-file",
                "c",
                "--tls-key-file",
                "k",
            ],
            Some("--tls-auth-clients needs a --tls-ca-cert-file"),
        ),
        (
            &["--tls-cert-file", "c"],
            Some("--tls-cert-file and --tls-key-file need a --tls-port"),
        ),
        (
            &["--unixsocketperm", "700"],
            Some("--unixsocketperm needs a --unixsocket"),
        ),
        (&["--save-every", "5m"], Some("--save-every needs a --dir")),
        (&["--save-every", "5m", "--dir", "."], None),
        (
            &["--requirepass", "x", "--requirepass-file", "f"],
            Some("--requirepass and --requirepass-file both"),
        ),
    ] {
        match (check(args), fault) {
            (Ok(()), None) => {}
            (Err(error), Some(fault)) => assert!(error.starts_with(fault), "{error}"),
            (result, _) => panic!("{args:?}: {result:?}"),
        }
    }
}
