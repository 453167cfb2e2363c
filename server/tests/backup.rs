//! The commands for backup and restore in docs/server/operations.md work as it says.

use crate::common::{Protocol, Server, ask, shut_down};
use std::{fs, path::Path, process::Command};
use tempfile::TempDir;

const MANUAL: &str = "../docs/server/operations.md";

/// The commands below a heading of the manual, or `None` outside the repository.
fn commands_below(heading: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(MANUAL);
    let manual = fs::read_to_string(path).ok()?;
    let (_, below) = manual
        .split_once(&format!("\n{heading}\n"))
        .unwrap_or_else(|| panic!("no {heading}"));
    let (_, commands) = below.split_once("```sh\n").expect("commands");
    let (commands, _) = commands.split_once("```").expect("their end");
    Some(commands.to_owned())
}

/// Replaces the client by one that needs no other program, and makes systemctl do nothing.
const TOOLS: &str = r#"
set -eu
redis-cli() {
    exec 3<>"/dev/tcp/127.0.0.1/$PORT"
    printf '%s\r\n' "$*" >&3
    IFS= read -r line <&3
    printf '%s\n' "$line"
    case $line in -*) return 1 ;; esac
}
sudo() { "$@"; }
systemctl() { :; }
"#;

fn run(commands: &str, port: u16, data: &Path, backups: &Path) {
    let commands = commands
        .replace("/var/lib/guira", data.to_str().unwrap())
        .replace("/var/backups/guira", backups.to_str().unwrap());
    let output = Command::new("bash")
        .args(["-c", &format!("{TOOLS}{commands}")])
        .env("PORT", port.to_string())
        .output()
        .expect("there is a bash");
    assert!(output.status.success(), "{commands}: {output:?}");
}

#[test]
fn the_commands_of_the_manual_back_up_and_restore() {
    let (Some(back_up), Some(restore)) =
        (commands_below("### Back up"), commands_below("### Restore"))
    else {
        return eprintln!("there is no manual beside the sources");
    };
    let (data, backups) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let arguments = ["--dir", data.path().to_str().unwrap()];
    let server = Server::start(&arguments);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.MADD k a b c");
    run(&back_up, server.port, data.path(), backups.path());
    assert_eq!(fs::read_dir(backups.path()).unwrap().count(), 1);

    // Later changes are lost, and so is the damage.
    ask::<()>(&mut client, "FLUSHALL");
    ask::<()>(&mut client, "CF.ADD other x");
    shut_down(&mut client, "SHUTDOWN");
    let mut server = server;
    assert!(server.process.wait().unwrap().success());
    fs::write(data.path().join("guira.save"), "damaged").unwrap();
    let restore = restore
        .lines()
        .filter(|line| !line.starts_with("redis-cli"))
        .fold(String::new(), |all, line| all + line + "\n");
    run(&restore, 0, data.path(), backups.path());

    let server = Server::start(&arguments);
    let mut client = server.client(Protocol::Resp2);
    assert_eq!(ask::<i64>(&mut client, "DBSIZE"), 1);
    let found: Vec<i64> = ask(&mut client, "CF.MEXISTS k a b c");
    assert_eq!(found, [1, 1, 1]);
}
