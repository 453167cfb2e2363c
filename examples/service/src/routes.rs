//! Translates requests to calls of the filters, and results to responses.

use crate::{
    denied,
    keys::{Keys, Permit},
    limits::Limits,
    metrics::{CONTENT_TYPE, Metrics},
};
use axum::{
    Router,
    extract::{DefaultBodyLimit, Path, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post, put},
};
use std::sync::Arc;
use tokio::task;

/// The header that identifies a request, which the client may repeat.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// A deny list may have this number of bytes.
const LONGEST_LIST: usize = 64 << 20;

pub(crate) fn router(keys: &'static Keys, limits: Option<&'static Limits>) -> Router {
    let metrics = Arc::new(Metrics::new(keys));
    let lists = put(replace_denied).layer(DefaultBodyLimit::max(LONGEST_LIST));
    Router::new()
        .route("/payments/{account}", post(pay))
        .route("/denied", lists)
        .route("/metrics", get(scrape))
        .with_state((keys, limits, metrics))
}

type Shared = (&'static Keys, Option<&'static Limits>, Arc<Metrics>);

/// Lookups and inserts take less than a microsecond, so they need no other thread.
async fn pay(
    State((keys, limits, metrics)): State<Shared>,
    Path(account): Path<String>,
    headers: HeaderMap,
) -> StatusCode {
    let name = headers.get(IDEMPOTENCY_KEY).map(|name| name.to_str());
    let Some(Ok(name)) = name else {
        return StatusCode::BAD_REQUEST;
    };
    let refusal = limits.and_then(|limits| limits.refusal(&account));
    if let Some(refusal) = refusal {
        return metrics.answer(refusal);
    }
    if denied::is_denied(&account) {
        return metrics.answer(StatusCode::FORBIDDEN);
    }
    metrics.answer(match keys.take(name) {
        // Here the service would pay. If that failed, it would remove the key.
        Permit::First => StatusCode::CREATED,
        Permit::Repeated => StatusCode::CONFLICT,
        Permit::Busy => StatusCode::SERVICE_UNAVAILABLE,
    })
}

/// A list of millions takes seconds, so another thread makes it.
async fn replace_denied(accounts: String) -> Response {
    match task::spawn_blocking(move || denied::replace(&accounts)).await {
        Ok(Ok(count)) => format!("{count} accounts\n").into_response(),
        Ok(Err(error)) => (StatusCode::INSUFFICIENT_STORAGE, error.to_string()).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn scrape(State((_, _, metrics)): State<Shared>) -> Response {
    let content = [(header::CONTENT_TYPE, CONTENT_TYPE)];
    match metrics.text() {
        Ok(text) => (content, text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
