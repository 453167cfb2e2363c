//! Metrics for Prometheus.

mod format;
mod http;
mod standby;

pub use http::serve;

use crate::{
    keyspace::{Entry, shown_limit},
    panics, process,
    server::Server,
    stats::{BOUNDS, Calls},
};
use guira_commands::Windowed;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder},
    metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge},
    registry::Unit,
};
use std::{cmp::Reverse, fmt, sync::Arc};

/// Labels for families without any label except the command.
type NoLabels = [(&'static str, &'static str); 0];

/// Collects all values at the time of the scrape.
#[derive(Debug)]
struct Exposed(Arc<Server>);

impl Collector for Exposed {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let server = &self.0;
        commands(server, &mut encoder)?;
        clients(server, &mut encoder)?;
        memory_and_saves(server, &mut encoder)?;
        standby::standby(server, &mut encoder)?;
        of_process(&mut encoder)?;
        filters(server, &mut encoder)
    }
}

fn commands(server: &Server, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let called: Vec<_> = server
        .stats
        .commands()
        .filter(|(_, calls)| calls.calls > 0)
        .collect();
    let of = |name: &str| [("command", name.to_lowercase())];
    let mut family =
        encoder.encode_descriptor("guira_commands", "Commands done", None, MetricType::Counter)?;
    for (command, calls) in &called {
        ConstCounter::new(calls.calls).encode(family.encode_family(&of(command.name))?)?;
    }
    let mut family = encoder.encode_descriptor(
        "guira_command_errors",
        "Commands that were answered with an error",
        None,
        MetricType::Counter,
    )?;
    for (command, calls) in &called {
        ConstCounter::new(calls.errors).encode(family.encode_family(&of(command.name))?)?;
    }
    let mut family = encoder.encode_descriptor(
        "guira_command_duration",
        "Time of a command, without parsing and sending; successive equal commands of a pipeline count with their mean",
        Some(&Unit::Seconds),
        MetricType::Histogram,
    )?;
    for (command, calls) in &called {
        latency(calls, family.encode_family(&of(command.name))?)?;
    }
    Ok(())
}

fn latency(calls: &Calls, mut encoder: MetricEncoder<'_>) -> fmt::Result {
    let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
    let bounds = BOUNDS
        .iter()
        .map(|&bound| seconds(bound))
        .chain([f64::INFINITY]);
    let buckets: Vec<(f64, u64)> = bounds.zip(calls.latency).collect();
    encoder.encode_histogram::<NoLabels>(seconds(calls.nanoseconds), calls.calls, &buckets, None)
}

fn clients(server: &Server, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let stats = &server.stats;
    gauge(
        encoder,
        "guira_clients",
        "Clients that are connected",
        stats.clients() as f64,
    )?;
    gauge(
        encoder,
        "guira_long_commands_waiting",
        "Long commands that wait for their turn",
        server.slow.waiting() as f64,
    )?;
    let counters = [
        (
            "guira_connections",
            "Connections that came",
            stats.connections(),
        ),
        (
            "guira_connections_rejected",
            "Connections beyond --maxclients",
            stats.rejected(),
        ),
        (
            "guira_protocol_errors",
            "Connections that ended with garbage",
            stats.protocol_errors(),
        ),
        (
            "guira_output_limit_disconnections",
            "Clients that did not read",
            stats.output_limit(),
        ),
        (
            "guira_unauthenticated_disconnections",
            "Clients that were disconnected before they had authenticated",
            stats.unauthenticated_disconnections(),
        ),
        (
            "guira_wrong_passwords",
            "Passwords that were wrong",
            stats.refused_passwords(),
        ),
        (
            "guira_unknown_commands",
            "Commands that do not exist",
            stats.unknowns(),
        ),
    ];
    for (name, help, value) in counters {
        let metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        ConstCounter::new(value).encode(metric)?;
    }
    Ok(())
}

fn memory_and_saves(server: &Server, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let (keyspace, status) = (&server.store.keyspace, server.saver.status());
    let metric =
        encoder.encode_descriptor("guira_saves", "Complete saves", None, MetricType::Counter)?;
    ConstCounter::new(status.completed).encode(metric)?;
    let gauges = [
        (
            "guira_memory_used_bytes",
            "Bytes of all filters",
            keyspace.used() as f64,
        ),
        (
            "guira_memory_used_peak_bytes",
            "The most bytes of filters, requests and replies at any time",
            keyspace.total().peak() as f64,
        ),
        (
            "guira_requests_memory_bytes",
            "Bytes of requests that have come in part, or wait",
            server.pools.requests.bytes() as f64,
        ),
        (
            "guira_replies_memory_bytes",
            "Bytes of replies that clients have not read",
            server.pools.replies.bytes() as f64,
        ),
        (
            "guira_unauthenticated_memory_bytes",
            "Bytes of requests and replies of clients that have not authenticated",
            server.pools.unauthenticated.bytes() as f64,
        ),
        (
            "guira_memory_limit_bytes",
            "--maxmemory, 0 for none",
            shown_limit(keyspace.limit()) as f64,
        ),
        ("guira_keys", "Keys", keyspace.len() as f64),
        (
            "guira_last_save_timestamp_seconds",
            "The last complete save, or the start",
            status.last_completed as f64,
        ),
        (
            "guira_last_save_failed",
            "1 if the last save failed",
            f64::from(u8::from(status.last_failed)),
        ),
        (
            "guira_uptime_seconds",
            "Time since the start",
            server.started.elapsed().as_secs_f64(),
        ),
    ];
    for (name, help, value) in gauges {
        gauge(encoder, name, help, value)?;
    }
    // Without a directory there are no saves.
    if server.saver.directory().is_some() {
        gauge(
            encoder,
            "guira_last_save_age_seconds",
            "Time since the last complete save, or since the start",
            status.age.as_secs_f64(),
        )?;
        gauge(
            encoder,
            "guira_changes_since_save",
            "Commands that may have changed keys, and other changes, since the last complete save",
            server.changes() as f64,
        )?;
    }
    let panics = encoder.encode_descriptor(
        "guira_panics",
        "Panics, each of which is a defect",
        None,
        MetricType::Counter,
    )?;
    ConstCounter::new(panics::count()).encode(panics)
}

/// Metrics of the process, with the names that all Prometheus clients use.
fn of_process(encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let Some(process) = process::now() else {
        return Ok(());
    };
    let metric = encoder.encode_descriptor(
        "process_cpu",
        "Processor time of all threads",
        Some(&Unit::Seconds),
        MetricType::Counter,
    )?;
    ConstCounter::new(process.user_seconds + process.system_seconds).encode(metric)?;
    let gauges = [
        (
            "process_resident_memory_bytes",
            "Bytes of the process that are in memory",
            process.resident_bytes as f64,
        ),
        (
            "process_virtual_memory_bytes",
            "Bytes of address space",
            process.virtual_bytes as f64,
        ),
        (
            "process_start_time_seconds",
            "When the process was started, in seconds since 1970",
            process.start_seconds,
        ),
        ("process_threads", "Threads", process.threads as f64),
        (
            "process_open_fds",
            "File descriptors that are open",
            process.open_files as f64,
        ),
        (
            "process_max_fds",
            "File descriptors that may be open",
            process.max_files as f64,
        ),
    ];
    for (name, help, value) in gauges {
        gauge(encoder, name, help, value)?;
    }
    Ok(())
}

/// A filter in the metrics: its labels, its statistics at the time of the scrape, and its entry.
type Shown = ([(&'static str, String); 1], guira::Stats, Arc<Entry>);

fn filters(server: &Server, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let mut filters: Vec<_> = server.store.keyspace.entries().collect();
    let most = server.tunable.metrics_filters();
    gauge(
        encoder,
        "guira_filters_left_out",
        "Filters beyond --metrics-filters, the smallest ones, which have no metrics of their own",
        filters.len().saturating_sub(most) as f64,
    )?;
    if filters.len() > most {
        filters.sort_by_cached_key(|(key, filter)| (Reverse(filter.memory_usage()), key.clone()));
        filters.truncate(most);
    }
    let filters: Vec<Shown> = filters
        .into_iter()
        .map(|(key, filter)| {
            let labels = [("key", key.escape_ascii().to_string())];
            (labels, filter.stats(), filter)
        })
        .collect();
    type Of = fn(&guira::Stats, &guira_commands::Filter) -> f64;
    let gauges: [(&str, &str, Of); 6] = [
        ("guira_filter_items", "Items in the filter", |stats, _| {
            stats.items as f64
        }),
        (
            "guira_filter_capacity",
            "Items that fit at its size",
            |_, filter| filter.capacity() as f64,
        ),
        (
            "guira_filter_max_capacity",
            "Items that fit when it has grown",
            |_, filter| filter.max_capacity() as f64,
        ),
        (
            "guira_filter_load_factor",
            "Used slots of all slots",
            |stats, _| stats.load_factor,
        ),
        (
            "guira_filter_memory_bytes",
            "Bytes of the filter",
            |stats, _| stats.memory_usage as f64,
        ),
        (
            "guira_filter_doublings",
            "How often it has doubled",
            |stats, _| f64::from(stats.doublings),
        ),
    ];
    for (name, help, of) in gauges {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, stats, filter) in &filters {
            ConstGauge::new(of(stats, filter)).encode(family.encode_family(labels)?)?;
        }
    }
    windows(&filters, encoder)?;
    type Count = fn(&guira::Stats, &guira_commands::Filter) -> u64;
    let counters: [(&str, &str, Count); 4] = [
        (
            "guira_filter_relocations",
            "Residents moved to make room",
            |stats, _| stats.relocations,
        ),
        (
            "guira_filter_failed_inserts",
            "Inserts that found it full",
            |stats, _| stats.failed_inserts,
        ),
        (
            "guira_filter_retried_lookups",
            "Lookups that a relocation, or an insert of a unique item, made read again",
            |stats, _| stats.retried_lookups,
        ),
        ("guira_filter_deleted", "Items deleted", |_, filter| {
            filter.deleted()
        }),
    ];
    for (name, help, of) in counters {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, stats, filter) in &filters {
            ConstCounter::new(of(stats, filter)).encode(family.encode_family(labels)?)?;
        }
    }
    Ok(())
}

/// Metrics of the filters that have a window.
fn windows(filters: &[Shown], encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    type Of = fn(&Windowed) -> f64;
    let gauges: [(&str, &str, Of); 4] = [
        (
            "guira_filter_window_seconds",
            "For how long the filter remembers its items",
            |window| window.length().as_secs_f64(),
        ),
        (
            "guira_filter_window_epochs",
            "Epochs in its window",
            |window| f64::from(window.epochs()),
        ),
        (
            "guira_filter_epoch",
            "Number of its current epoch",
            |window| window.epoch() as f64,
        ),
        (
            "guira_filter_epoch_age_seconds",
            "Age of its current epoch",
            |window| window.epoch_age().as_secs_f64(),
        ),
    ];
    for (name, help, of) in gauges {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, _, filter) in filters {
            if let Some(window) = filter.window() {
                ConstGauge::new(of(window)).encode(family.encode_family(labels)?)?;
            }
        }
    }
    Ok(())
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: f64) -> fmt::Result {
    let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    ConstGauge::new(value).encode(metric)
}

#[cfg(test)]
mod tests {
    use super::{format::Format, *};
    use crate::{config::Config, persist::Saver};
    use clap::Parser;
    use guira_commands::{Options, Store as _, Wanted, Window};
    use prometheus_client::registry::Registry;
    use std::{
        collections::{HashMap, HashSet},
        time::Duration,
    };

    /// Metrics of a server with every kind of filter, after a command.
    fn encoded(format: Format) -> String {
        let directory = tempfile::TempDir::new().unwrap();
        let saver = Saver::open(Some(directory.path())).unwrap();
        let server = Server::new(Config::parse_from([""]), saver);
        let plain = Wanted::from(Options::default());
        let window = Window {
            length: Duration::from_secs(60),
            epochs: None,
        };
        let windowed = Wanted {
            options: Options {
                expansion: 0,
                ..Options::default()
            },
            window: Some(window),
            ..plain
        };
        server.store.make(b"plain # HELP", &plain).unwrap();
        server.store.make(b"windowed", &windowed).unwrap();
        server.stats.count(0, 1, 0, Duration::from_millis(1));
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Exposed(Arc::new(server))));
        format.encode(&registry).unwrap()
    }

    /// The family of a sample: counters and histograms have suffixes.
    fn family<'a>(sample: &'a str, types: &HashMap<&str, &str>, format: Format) -> &'a str {
        let name = sample.split(['{', ' ']).next().unwrap();
        let suffixes: &[&str] = match format {
            Format::OpenMetrics => &["_total", "_bucket", "_sum", "_count"],
            Format::Text => &["_bucket", "_sum", "_count"],
        };
        let stripped = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix));
        stripped
            .filter(|stripped| types.contains_key(stripped))
            .unwrap_or(name)
    }

    #[test]
    fn long_commands_that_wait_are_shown() {
        let saver = Saver::open(None).unwrap();
        let server = Arc::new(Server::new(Config::parse_from([""]), saver));
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Exposed(server.clone())));
        let shows = |number: usize| {
            let text = Format::Text.encode(&registry).unwrap();
            text.contains(&format!("\nguira_long_commands_waiting {number}"))
        };
        assert!(shows(0));
        let waiting = [server.slow.begin_waiting(), server.slow.begin_waiting()];
        assert!(shows(2));
        drop(waiting);
        assert!(shows(0));
    }

    #[test]
    fn every_family_has_help_and_a_type_in_both_formats() {
        for format in [Format::OpenMetrics, Format::Text] {
            let text = encoded(format);
            let described = |what: &str| -> HashMap<&str, &str> {
                let lines = text.lines().filter_map(|line| line.strip_prefix(what));
                lines.map(|line| line.split_once(' ').unwrap()).collect()
            };
            let (helps, types) = (described("# HELP "), described("# TYPE "));
            let samples = text.lines().filter(|line| !line.starts_with('#'));
            let families: HashSet<_> = samples.map(|line| family(line, &types, format)).collect();
            assert!(families.len() > 40, "{families:?}");
            for name in families {
                assert!(
                    helps.get(name).is_some_and(|help| !help.is_empty()),
                    "{name}"
                );
                assert!(types.contains_key(name), "{name}");
                // As promtool requires.
                let is_counter = types[name] == "counter";
                let has_suffix = name.ends_with("_total");
                assert_eq!(has_suffix, is_counter && format == Format::Text, "{name}");
            }
            assert_eq!(text.ends_with("# EOF\n"), format == Format::OpenMetrics);
            for name in ["guira_last_save_age_seconds", "guira_filter_window_seconds"] {
                assert_eq!(types[name], "gauge");
            }
        }
    }
}
