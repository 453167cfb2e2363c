//! Metrics for Prometheus.

use crate::{
    keyspace::Entry,
    net::{ACCEPT_PAUSE, Stop},
    process,
    server::Server,
    stats::{BOUNDS, Calls},
};
use guira_commands::Windowed;
use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    body::Bytes,
    header::{CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, text::encode},
    metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge},
    registry::{Registry, Unit},
};
use std::{cmp::Reverse, fmt, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tracing::debug;

const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A scrape may take so long.
const SCRAPE: Duration = Duration::from_secs(10);

/// So many at a time: each takes a file descriptor.
const SCRAPES: usize = 8;

/// Answers scrapes until `stop` says so.
pub async fn serve(listener: TcpListener, server: Arc<Server>, stop: Stop) {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Exposed(server.clone())));
    let registry = Arc::new(registry);
    let scrapes = Arc::new(Semaphore::new(SCRAPES));
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &scrapes) => accepted,
            () = stop.wait() => return,
        };
        let Some((stream, permit)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (server, registry) = (server.clone(), registry.clone());
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let (server, registry) = (server.clone(), registry.clone());
                async move {
                    let answered = server.slow.run(move || answer(&registry, &request));
                    answered.await.ok_or("the server ends")
                }
            });
            let connection = http1::Builder::new()
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service);
            if let Ok(Err(error)) = timeout(SCRAPE, connection).await {
                debug!(%error, "a scrape failed");
            }
            drop(permit);
        });
    }
}

/// The next scrape, when there is room for it.
async fn accept(
    listener: &TcpListener,
    scrapes: &Arc<Semaphore>,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    // It is never closed.
    let permit = scrapes.clone().acquire_owned().await.ok()?;
    let (stream, _) = listener.accept().await.ok()?;
    Some((stream, permit))
}

fn answer<B>(registry: &Registry, request: &Request<B>) -> Response<Full<Bytes>> {
    let (status, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => {
            let mut text = String::new();
            match encode(&mut text, registry) {
                Ok(()) => (StatusCode::OK, text),
                Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
            }
        }
        _ => (StatusCode::NOT_FOUND, "see /metrics\n".into()),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(TEXT));
    response
}

/// No labels beside the command's.
type NoLabels = [(&'static str, &'static str); 0];

/// Reads everything at the time of the scrape.
#[derive(Debug)]
struct Exposed(Arc<Server>);

impl Collector for Exposed {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let server = &self.0;
        commands(server, &mut encoder)?;
        clients(server, &mut encoder)?;
        memory_and_saves(server, &mut encoder)?;
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
            "guira_memory_limit_bytes",
            "--maxmemory, 0 for none",
            server.config.maxmemory as f64,
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
    Ok(())
}

/// By the names that all clients of Prometheus give them.
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
    ConstCounter::new(process.cpu_seconds).encode(metric)?;
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

/// A filter that is shown: its labels, what it was at the time of the scrape, and itself.
type Shown = ([(&'static str, String); 1], guira::Stats, Arc<Entry>);

fn filters(server: &Server, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let mut filters: Vec<_> = server.store.keyspace.entries().collect();
    let most = server.config.metrics_filters;
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

/// Of the filters that have a window.
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
