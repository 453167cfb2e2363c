//! Notifications to systemd, and the unit file.

use crate::common::{PATIENCE, Server, command};
use guira_server::settings;
use std::{fs, os::unix::net::UnixDatagram, path::Path, process::Command};
use tempfile::TempDir;

const UNIT: &str = include_str!("../systemd/guira-server.service");

#[test]
fn systemd_is_told_of_the_beginning_and_the_end() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let told = || {
        let mut text = [0; 256];
        let length = socket.recv(&mut text).unwrap();
        String::from_utf8(text[..length].to_vec()).unwrap()
    };
    let server = Server::spawn(command(&[]).env("NOTIFY_SOCKET", &path));
    assert_eq!(told(), "READY=1\n");
    assert_eq!(server.raw().ask("PING\r\n"), "+PONG");
    assert!(server.terminate().success());
    assert_eq!(told(), "STOPPING=1\n");
}

/// Without systemd on the machine, nothing can verify the unit.
#[test]
fn systemd_accepts_the_unit() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("guira-server.service");
    let installed = "/usr/local/bin/guira-server";
    assert!(UNIT.contains(installed));
    let unit = UNIT.replace(installed, env!("CARGO_BIN_EXE_guira-server"));
    fs::write(&path, unit).unwrap();
    let verify = Command::new("systemd-analyze")
        .arg("verify")
        .arg(&path)
        .output();
    match verify {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            let of_unit: Vec<_> = text.lines().filter(|line| line.contains("guira")).collect();
            assert!(output.status.success() && of_unit.is_empty(), "{text}");
        }
        Err(error) => eprintln!("systemd-analyze: {error}"),
    }
}

#[test]
fn the_settings_beside_the_unit_are_right() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd/guira.toml");
    let arguments = [
        "guira-server".into(),
        "--config".into(),
        path.into_os_string(),
    ];
    let state = |name: &str| (name == "GUIRA_DIR").then(|| "/var/lib/guira".into());
    let config = settings::load(arguments, state).unwrap();
    assert_eq!(config.disable_command, ["SHUTDOWN"]);
    assert!(config.save_every().is_some());
}
