//! The Prometheus endpoint.

use crate::common::{Protocol, Server, ask, command, refusal};
use std::{
    net::SocketAddr,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

/// A server, and the address of its metrics.
fn start(arguments: &[&str]) -> (Server, SocketAddr) {
    let metrics = ["--metrics", "127.0.0.1:0", "--log", "info"];
    Server::spawn_with_metrics(&mut command(&[&metrics, arguments].concat()))
}

fn get(address: SocketAddr, path: &str) -> String {
    crate::common::get(address, path, "application/openmetrics-text;version=1.0.0")
}

fn value(text: &str, name: &str) -> f64 {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let line = line.unwrap_or_else(|| panic!("no {name} in {text}"));
    line.parse().unwrap()
}

#[test]
fn metrics_show_what_goes_on() {
    let since = Instant::now();
    let (server, address) = start(&[]);
    let mut client = server.client(Protocol::Resp3);
    ask::<()>(&mut client, "CF.RESERVE k 100");
    ask::<()>(&mut client, "CF.RESERVE w 50 WINDOW 3600 EPOCHS 6");
    for item in 0..5_000 {
        ask::<()>(&mut client, &format!("CF.ADD k {item}"));
    }
    ask::<()>(&mut client, "CF.DEL k 1");
    refusal(&mut client, "CF.DEL none 1");
    refusal(&mut client, "NONE");
    let text = get(address, "/metrics");
    assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
    assert!(text.ends_with("# EOF\n"), "{text}");
    let exact = [
        ("guira_commands_total{command=\"cf.add\"}", 5_000.0),
        ("guira_commands_total{command=\"cf.del\"}", 2.0),
        ("guira_command_errors_total{command=\"cf.del\"}", 1.0),
        ("guira_command_errors_total{command=\"cf.add\"}", 0.0),
        (
            "guira_command_duration_seconds_count{command=\"cf.add\"}",
            5_000.0,
        ),
        (
            "guira_command_duration_seconds_bucket{le=\"+Inf\",command=\"cf.add\"}",
            5_000.0,
        ),
        ("guira_filter_items{key=\"k\"}", 4_999.0),
        ("guira_filter_deleted_total{key=\"k\"}", 1.0),
        ("guira_unknown_commands_total", 1.0),
        ("guira_clients", 1.0),
        ("guira_keys", 2.0),
        ("guira_filter_window_seconds{key=\"w\"}", 3600.0),
        ("guira_filter_window_epochs{key=\"w\"}", 6.0),
        ("guira_filter_epoch{key=\"w\"}", 0.0),
    ];
    for (name, expected) in exact {
        assert!(
            (value(&text, name) - expected).abs() < 0.5,
            "{name} in {text}"
        );
    }
    assert!(value(&text, "guira_filter_load_factor{key=\"k\"}") > 0.1);
    assert!(value(&text, "guira_filter_relocations_total{key=\"k\"}") > 0.0);
    assert!(value(&text, "guira_filter_doublings{key=\"k\"}") > 0.0);
    assert!(value(&text, "process_cpu_seconds_total") > 0.0);
    assert!(value(&text, "process_resident_memory_bytes") > 1e6);
    assert!(value(&text, "process_virtual_memory_bytes") > 1e6);
    assert!(value(&text, "process_threads") > 1.0);
    let files = value(&text, "process_open_fds");
    assert!(files > 3.0 && value(&text, "process_max_fds") > files);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let age = value(&text, "guira_filter_epoch_age_seconds{key=\"w\"}");
    let most = since.elapsed().as_secs_f64();
    assert!((0.0..=most).contains(&age), "{age}");
    assert!(!text.contains("guira_filter_epoch{key=\"k\"}"), "{text}");
    let age = now.as_secs_f64() - value(&text, "process_start_time_seconds");
    let most = 2.0 + since.elapsed().as_secs_f64();
    assert!((-1.0..=most).contains(&age), "{age}");
    let memory = value(&text, "guira_filter_memory_bytes{key=\"k\"}");
    let used = value(&text, "guira_memory_used_bytes");
    assert!(
        memory > 0.0 && used > memory,
        "growth is charged: {used} for {memory}"
    );
    assert!(get(address, "/").starts_with("HTTP/1.1 404"));
}

#[test]
fn only_the_largest_filters_have_metrics_of_their_own() {
    let (server, address) = start(&["--metrics-filters", "3"]);
    let mut client = server.client(Protocol::Resp2);
    for key in 0..3 {
        ask::<()>(&mut client, &format!("CF.RESERVE large:{key} 100000"));
    }
    assert_eq!(
        value(&get(address, "/metrics"), "guira_filters_left_out") as u64,
        0
    );
    for key in 0..20 {
        ask::<()>(&mut client, &format!("CF.RESERVE small:{key} 100"));
    }
    let text = get(address, "/metrics");
    assert_eq!(value(&text, "guira_filters_left_out") as u64, 20);
    assert_eq!(value(&text, "guira_keys") as u64, 23);
    for key in 0..3 {
        value(&text, &format!("guira_filter_items{{key=\"large:{key}\"}}"));
    }
    assert!(!text.contains("small:"), "{text}");
}

#[test]
fn probes_and_both_formats_are_answered() {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().to_str().unwrap();
    let (server, address) = start(&["--dir", path]);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.ADD k a");
    for (path, body) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
        let text = get(address, path);
        assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
        assert!(text.ends_with(&format!("\r\n\r\n{body}")), "{text}");
    }
    let text = crate::common::get(address, "/metrics", "text/plain;version=0.0.4");
    assert!(
        text.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"),
        "{text}"
    );
    assert!(text.contains("\n# HELP guira_commands_total "), "{text}");
    assert!(!text.contains("# EOF"), "{text}");
    assert!(
        get(address, "/metrics").contains("content-type: application/openmetrics-text;"),
        "{text}"
    );
    assert_eq!(value(&text, "guira_panics_total") as u64, 0);
}

/// A save resets the age, and a failed save does not.
#[test]
fn the_age_is_of_the_last_good_save() {
    const AGE: &str = "guira_last_save_age_seconds";
    let since = Instant::now();
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().to_str().unwrap();
    let (server, address) = start(&["--dir", path]);
    let mut client = server.client(Protocol::Resp2);
    let text = get(address, "/metrics");
    assert!(value(&text, AGE) <= since.elapsed().as_secs_f64(), "{text}");
    std::thread::sleep(std::time::Duration::from_millis(50));
    let saved = Instant::now();
    ask::<()>(&mut client, "SAVE");
    let age = value(&get(address, "/metrics"), AGE);
    // The age is kept in milliseconds.
    assert!(age <= saved.elapsed().as_secs_f64() + 0.002, "{age}");
    let least = Instant::now();
    std::fs::create_dir(directory.path().join("guira.save.tmp")).unwrap();
    refusal(&mut client, "SAVE");
    std::thread::sleep(std::time::Duration::from_millis(50));
    let least = least.elapsed().as_secs_f64();
    let text = get(address, "/metrics");
    assert!(value(&text, AGE) >= least, "{text}");
    assert_eq!(value(&text, "guira_last_save_failed") as u64, 1);
    // The server still serves clients.
    assert!(get(address, "/readyz").starts_with("HTTP/1.1 200 OK"));
    let (_server, address) = start(&[]);
    assert!(!get(address, "/metrics").contains(AGE));
}
