//! What Prometheus scrapes. The values of the filters are read at each scrape, which is cheap.

use crate::{denied::DENIED, keys::Keys};
use axum::http::StatusCode;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric, text},
    metrics::{
        MetricType,
        counter::{ConstCounter, Counter},
        family::Family,
        gauge::ConstGauge,
    },
    registry::Registry,
};
use std::fmt;

/// The format of [`Metrics::text`].
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    answers: Family<[(&'static str, u64); 1], Counter>,
}

impl Metrics {
    pub(crate) fn new(keys: &'static Keys) -> Self {
        let mut registry = Registry::default();
        let answers = Family::default();
        registry.register("payments", "Requests by their answer", answers.clone());
        registry.register_collector(Box::new(Filters(keys)));
        Self { registry, answers }
    }

    /// Counts an answer.
    pub(crate) fn answer(&self, status: StatusCode) -> StatusCode {
        let labels = [("status", u64::from(status.as_u16()))];
        self.answers.get_or_create(&labels).inc();
        status
    }

    pub(crate) fn text(&self) -> Result<String, fmt::Error> {
        let mut out = String::new();
        text::encode(&mut out, &self.registry)?;
        Ok(out)
    }
}

#[derive(Debug)]
struct Filters(&'static Keys);

impl Collector for Filters {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (keys, denied) = (self.0.current(), DENIED.load());
        let stats = keys.stats();
        let gauges = [
            ("keys", "Keys that are remembered", stats.items as f64),
            (
                "keys_capacity",
                "Keys for which there is room",
                keys.max_capacity() as f64,
            ),
            (
                "keys_bytes",
                "Memory of the keys",
                stats.memory_usage as f64,
            ),
            (
                "keys_epoch",
                "It rises while time passes",
                keys.epoch() as f64,
            ),
            (
                "last_save_timestamp_seconds",
                "When the keys were last saved; 0 if not since the start",
                self.0.last_save() as f64,
            ),
            ("denied", "Accounts that are denied", denied.len() as f64),
            (
                "denied_bytes",
                "Memory of the deny list",
                denied.memory_usage() as f64,
            ),
        ];
        for (name, help, value) in gauges {
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(value).encode(metric)?;
        }
        let counters = [
            (
                "keys_refused",
                "Keys for which there was no room",
                stats.failed_inserts,
            ),
            ("saves", "Saves of the keys", self.0.saves()),
        ];
        for (name, help, value) in counters {
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            ConstCounter::new(value).encode(metric)?;
        }
        Ok(())
    }
}
