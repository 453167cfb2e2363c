//! The files for containers: the file system of the image, the manifest, and the readiness check.
#![cfg(target_os = "linux")]

use crate::common::{Protocol, Server, ask, command, get, shut_down, until};
use clap::CommandFactory;
use guira_server::config::Config;
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt,
    path::Path,
    process::{Child, Command, Output},
};
use tempfile::TempDir;

const ROOTFS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/container/rootfs.sh");
const MANIFEST: &str = include_str!("../container/kubernetes.yaml");
const DOCKERFILE: &str = include_str!("../container/Dockerfile");
const IGNORED: &str = include_str!("../container/Dockerfile.dockerignore");

/// The user of the image.
const USER: u32 = 65532;

/// Runs the program of the image as its user, with everything but `/data` read-only.
const RUN: &str = r#"
root=$1; shift
mount --bind "$root" "$root"
mount --bind "$root/data" "$root/data"
mount -o remount,bind,ro "$root"
exec setpriv --no-new-privs chroot --userspec=65532:65532 --groups=65532 "$root" /guira-server "$@"
"#;

/// Without a root user on the machine, nothing can have another root directory.
fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("Uid:"))
        .unwrap();
    line.split_whitespace().nth(2) == Some("0")
}

fn check_ready(metrics: &str) -> Output {
    let mut check = command(&["--check-ready", "--metrics", metrics]);
    check.output().unwrap()
}

#[test]
fn readiness_is_checked_by_the_program_itself() {
    let mut start = command(&["--metrics", "127.0.0.1:0", "--log", "info"]);
    let (server, address) = Server::spawn_with_metrics(&mut start);
    let of_all = format!("0.0.0.0:{}", address.port());
    for metrics in [address.to_string(), of_all] {
        let output = check_ready(&metrics);
        assert!(output.status.success(), "{output:?}");
    }
    assert!(server.terminate().success());
    let output = check_ready(&address.to_string());
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("does not respond"), "{text}");
    let output = command(&["--check-ready"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}

/// A server that is loading, and not yet ready. Dropping it kills the process.
struct Loading(Child);

impl Drop for Loading {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// The save is a pipe, so that the server loads for as long as the test needs.
#[test]
fn a_server_that_loads_is_alive_and_not_ready() {
    let directory = TempDir::new().unwrap();
    let dir = directory.path().to_str().unwrap();
    let save = directory.path().join("guira.save");
    let server = Server::start(&["--dir", dir]);
    ask::<()>(&mut server.client(Protocol::Resp2), "CF.ADD k a");
    assert!(server.terminate().success());
    let saved = fs::read(&save).unwrap();
    fs::remove_file(&save).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(&save)
            .status()
            .unwrap()
            .success()
    );

    let log = tempfile::NamedTempFile::new().unwrap();
    let text = || fs::read_to_string(log.path()).unwrap();
    let arguments = ["--dir", dir, "--metrics", "127.0.0.1:0", "--log", "info"];
    let mut start = command(&arguments);
    let _loading = Loading(start.stderr(log.reopen().unwrap()).spawn().unwrap());
    let shown = |text: &str| -> Option<std::net::SocketAddr> {
        // The line must be complete.
        let (address, _) = text
            .split_once("metrics are shown address=")?
            .1
            .split_once('\n')?;
        Some(address.parse().unwrap())
    };
    until("metrics are shown", || shown(&text()).is_some());
    let address = shown(&text()).unwrap();
    let status = |path: &str| get(address, path, "text/plain")[..12].to_owned();
    assert_eq!(status("/healthz"), "HTTP/1.1 200");
    assert_eq!(status("/readyz"), "HTTP/1.1 503");
    assert_eq!(status("/metrics"), "HTTP/1.1 200");
    fs::write(&save, saved).unwrap();
    until("it is ready", || status("/readyz") == "HTTP/1.1 200");
    assert!(get(address, "/metrics", "text/plain").contains("\nguira_keys 1"));
}

/// The value of a variable in the manifest, or of another field in braces.
fn in_manifest(before: &str) -> &'static str {
    let rest = MANIFEST.split_once(before).unwrap_or_else(|| {
        panic!("no {before}");
    });
    rest.1.split('}').next().unwrap().trim_matches('"')
}

/// The bound that docs/server/operations.md states for the resident memory.
#[test]
fn the_memory_of_the_server_fits_the_limit_of_its_container() {
    let variable = |name: &str| in_manifest(&format!("name: {name}, value: "));
    let size = |text: &str, units: [(&str, u64); 2]| {
        let value = units.iter().find_map(|(unit, mebibytes)| {
            let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
            Some(number * mebibytes)
        });
        value.unwrap_or_else(|| panic!("{text} is not a size"))
    };
    let charged: u64 = [
        "GUIRA_MAXMEMORY",
        "GUIRA_MAX_REQUESTS_MEMORY",
        "GUIRA_MAX_REPLIES_MEMORY",
    ]
    .into_iter()
    .map(|name| size(variable(name), [("gb", 1024), ("mb", 1)]))
    .sum();
    let limit = size(in_manifest("limits: {memory: "), [("Gi", 1024), ("Mi", 1)]);
    assert!(charged * 13 / 10 + 80 <= limit, "{charged} {limit}");
}

/// Everyone in the network of the container can read the metrics.
#[test]
fn metrics_of_containers_name_no_keys() {
    assert!(DOCKERFILE.contains("ENV GUIRA_METRICS_FILTERS=0\n"));
    assert_eq!(
        in_manifest("name: GUIRA_METRICS_FILTERS, value: "),
        "0",
        "{MANIFEST}"
    );
    let start = ["--metrics", "127.0.0.1:0", "--log", "info"];
    let mut start = command(&start);
    start.env("GUIRA_METRICS_FILTERS", "0");
    let (server, address) = Server::spawn_with_metrics(&mut start);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.ADD secret-name a");
    ask::<()>(&mut client, "CF.RESERVE secret-window 100 WINDOW 60");
    let text = get(address, "/metrics", "text/plain");
    assert!(text.contains("\nguira_filters_left_out 2"), "{text}");
    assert!(!text.contains("secret"), "{text}");
}

/// A server that loads is not restarted, however long that takes.
#[test]
fn probes_restart_only_a_server_that_does_not_respond() {
    for (probe, path) in [
        ("startupProbe", "/healthz"),
        ("livenessProbe", "/healthz"),
        ("readinessProbe", "/readyz"),
    ] {
        let before = format!("{probe}:\n            httpGet: {{path: ");
        let action = in_manifest(&before);
        assert_eq!(action, format!("{path}, port: metrics"), "{probe}");
    }
}

#[test]
fn the_context_of_the_image_has_no_builds_and_no_history() {
    for line in [".git", "**/target"] {
        assert!(IGNORED.lines().any(|ignored| ignored == line), "{line}");
    }
}

/// Docker builds the image from these steps.
#[test]
fn the_image_runs_read_only_as_another_user() {
    if !is_root() {
        return eprintln!("only root can change the root directory");
    }
    assert!(DOCKERFILE.contains(&format!("USER {USER}:{USER}")));
    assert!(DOCKERFILE.contains("server/container/rootfs.sh target/release/guira-server /rootfs"));
    let directory = TempDir::new().unwrap();
    let root = directory.path().join("rootfs");
    let built = Command::new(ROOTFS)
        .args([env!("CARGO_BIN_EXE_guira-server").as_ref(), root.as_path()])
        .status();
    assert!(built.unwrap().success());
    // COPY --from preserves the owner.
    let owner = fs::metadata(root.join("data")).unwrap().uid();
    assert_eq!(owner, USER);
    let start = || {
        let mut start = Command::new("unshare");
        start
            .args(["--mount", "sh", "-euc", RUN, "sh"])
            .arg(&root)
            .args(["--port", "0", "--dir", "/data", "--log", "warn"])
            .stdout(std::process::Stdio::piped());
        Server::spawn(&mut start)
    };
    let server = start();
    let status = fs::read_to_string(format!("/proc/{}/status", server.process.id())).unwrap();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().trim().to_owned()
    };
    assert!(
        field("Uid:").starts_with(&format!("{USER}\t{USER}")),
        "{status}"
    );
    assert_eq!(field("CapEff:"), "0".repeat(16));
    let mounts = fs::read_to_string(format!("/proc/{}/mountinfo", server.process.id())).unwrap();
    let is_read_only = |line: &str| {
        let mut words = line.split(' ').skip(4);
        words.next() == Some("/") && words.next().is_some_and(|it| it.starts_with("ro"))
    };
    assert!(mounts.lines().any(is_read_only), "{mounts}");
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.ADD k a");
    shut_down(&mut client, "SHUTDOWN");
    let mut server = server;
    until("it ends", || server.process.try_wait().unwrap().is_some());
    let server = start();
    let mut client = server.client(Protocol::Resp2);
    assert_eq!(ask::<i64>(&mut client, "CF.EXISTS k a"), 1);
    drop(client);
    assert!(server.terminate().success());
    // The image holds only the program, its libraries, and the files that a user account needs.
    let names = fs::read_dir(&root).unwrap();
    let names: BTreeSet<_> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let known = ["data", "etc", "guira-server", "lib", "lib64", "tmp", "usr"];
    assert!(
        names.iter().all(|name| known.contains(&&**name)),
        "{names:?}"
    );
    assert!(!Path::new(&root).join("bin").exists());
}

#[test]
fn the_files_name_settings_of_the_server() {
    let command = Config::command();
    let options = command
        .get_arguments()
        .filter_map(|option| option.get_long());
    let known: BTreeSet<_> = options
        .map(|name| format!("GUIRA_{}", name.to_uppercase().replace('-', "_")))
        .collect();
    for (text, least) in [(MANIFEST, 6), (DOCKERFILE, 3)] {
        let words = text.split(|c: char| !c.is_ascii_uppercase() && c != '_');
        // A comment explains why the variable of this name is avoided.
        let named: BTreeSet<_> = words.filter(|word| word.starts_with("GUIRA_")).collect();
        assert!(named.len() >= least, "{named:?}");
        let unknown: Vec<_> = named
            .iter()
            .filter(|word| !known.contains(**word))
            .collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
    for line in [
        "runAsNonRoot: true",
        "readOnlyRootFilesystem: true",
        "enableServiceLinks: false",
        "path: /readyz",
        "path: /healthz",
    ] {
        assert!(MANIFEST.contains(line), "{line}");
    }
    assert!(MANIFEST.contains(&format!("runAsUser: {USER}")));
}
