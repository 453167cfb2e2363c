//! The dashboard and the alerting rules name metrics that the server has.

use crate::common::{Protocol, Server, ask, command, get};
use std::collections::BTreeSet;
use tempfile::TempDir;

const DASHBOARD: &str = include_str!("../monitoring/dashboard.json");
const ALERTS: &str = include_str!("../monitoring/alerts.yml");

/// The words of `text` that look like metrics of the server or of its process.
fn metrics_in(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words
        .filter(|word| word.starts_with("guira_") || word.starts_with("process_"))
        .collect()
}

/// The metrics of a server that was a standby, has keys of all kinds, and has made saves.
fn metrics_of_a_server() -> String {
    let directory = TempDir::new().unwrap();
    let dir = directory.path().to_str().unwrap();
    let metrics = ["--metrics", "127.0.0.1:0", "--log", "info", "--dir", dir];
    // The server starts as a standby, and is promoted for the keys below.
    let start = [&metrics[..], &["--replica-of", "127.0.0.1:1"]].concat();
    let (server, address) = Server::spawn_with_metrics(&mut command(&start));
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "REPLICAOF NO ONE");
    ask::<()>(&mut client, "CF.ADD k a");
    ask::<()>(&mut client, "CF.RESERVE w 100 WINDOW 60");
    ask::<()>(&mut client, "SAVE");
    get(address, "/metrics", "text/plain")
}

#[test]
fn the_files_name_metrics_of_the_server() {
    let scrape = metrics_of_a_server();
    let exported: BTreeSet<&str> = scrape
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(['{', ' ']).next())
        .collect();
    for (file, text, least) in [("dashboard", DASHBOARD, 20), ("alerts", ALERTS, 12)] {
        let named = metrics_in(text);
        assert!(named.len() >= least, "{file}: {named:?}");
        let unknown: Vec<_> = named.difference(&exported).collect();
        assert!(unknown.is_empty(), "{file}: {unknown:?} in {scrape}");
    }
}

#[test]
fn the_dashboard_has_panels_with_queries() {
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() >= 10, "{}", panels.len());
    let mut ids = BTreeSet::new();
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        assert!(!panel["title"].as_str().unwrap().is_empty());
        let place = &panel["gridPos"];
        let [x, width] = ["x", "w"].map(|side| place[side].as_u64().unwrap());
        assert!(x + width <= 24, "{panel}");
        for target in panel["targets"].as_array().unwrap() {
            let query = target["expr"].as_str().unwrap();
            assert!(!metrics_in(query).is_empty(), "{query}");
            for (open, close) in [('(', ')'), ('{', '}'), ('[', ']')] {
                let count = |bracket| query.matches(bracket).count();
                assert_eq!(count(open), count(close), "{query}");
            }
        }
    }
}

/// Each rule has the fields that Prometheus requires and that people need.
#[test]
fn each_alert_has_a_condition_a_severity_and_a_summary() {
    let rules: Vec<&str> = ALERTS.split("      - alert: ").skip(1).collect();
    assert!(rules.len() >= 8, "{}", rules.len());
    let mut names = BTreeSet::new();
    for rule in rules {
        let name = rule.lines().next().unwrap();
        assert!(name.starts_with("Guira") && names.insert(name), "{name}");
        for part in [
            "\n        expr: ",
            "\n        labels: {severity: ",
            "\n          summary: \"",
        ] {
            assert_eq!(rule.matches(part).count(), 1, "{part} in {rule}");
        }
    }
}
