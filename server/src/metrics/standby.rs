//! Metrics of a standby.

use super::gauge;
use crate::server::Server;
use prometheus_client::{
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{MetricType, counter::ConstCounter},
};
use std::fmt;

pub(super) fn standby(server: &Server, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let standby = &server.standby;
    gauge(
        encoder,
        "guira_is_standby",
        "1 if the server copies a primary, 0 if it is one",
        f64::from(u8::from(standby.is_replica())),
    )?;
    if server.config.standby.replica_of.is_none() {
        return Ok(());
    }
    let status = standby.status();
    gauge(
        encoder,
        "guira_last_sync_age_seconds",
        "Time since the primary began the snapshot that was copied last, or since the start",
        standby.age().as_secs_f64(),
    )?;
    for (name, help, value) in [
        (
            "guira_syncs",
            "Complete copies of the primary",
            status.copies,
        ),
        (
            "guira_sync_failures",
            "Copies of the primary that failed",
            status.failures,
        ),
    ] {
        let metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        ConstCounter::new(value).encode(metric)?;
    }
    Ok(())
}
