//! Translates requests to calls of the store, and results to responses.

use crate::{
    keys::{Keys, Permit},
    store::{Put, Store},
};
use axum::{
    Extension, Json, Router,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::get,
};
use std::sync::Arc;
use thiserror::Error;
use tokio::task::{self, JoinError};

/// The header that identifies a request, which the client may repeat.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

pub(crate) fn router(store: Arc<Store>, keys: Arc<Keys>) -> Router {
    Router::new()
        .route(
            "/items/{key}",
            get(get_item).put(put_item).delete(delete_item),
        )
        .route("/stats", get(stats))
        .layer(Extension(keys))
        .with_state(store)
}

async fn get_item(
    State(store): State<Arc<Store>>,
    Path(key): Path<String>,
) -> Result<Response, Failure> {
    if !store.may_hold(&key) {
        return Ok(StatusCode::NOT_FOUND.into_response());
    }
    Ok(match blocking(move || store.get(&key)).await? {
        Some(value) => value.into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    })
}

async fn put_item(
    State(store): State<Arc<Store>>,
    Extension(keys): Extension<Arc<Keys>>,
    Path(key): Path<String>,
    headers: HeaderMap,
    value: Bytes,
) -> Result<StatusCode, Failure> {
    let name = match headers.get(IDEMPOTENCY_KEY).map(|name| name.to_str()) {
        Some(Ok(name)) => Some(name.to_owned()),
        Some(Err(_)) => return Ok(StatusCode::BAD_REQUEST),
        None => None,
    };
    blocking(move || put_once(&store, &keys, name.as_deref(), &key, &value)).await
}

/// Stores the value, unless a request with this key was already executed.
fn put_once(
    store: &Store,
    keys: &Keys,
    name: Option<&str>,
    key: &str,
    value: &[u8],
) -> Result<StatusCode, redb::Error> {
    match name.map_or(Permit::First, |name| keys.take(name)) {
        Permit::First => {}
        Permit::Repeated => return Ok(StatusCode::CONFLICT),
        Permit::Busy => return Ok(StatusCode::SERVICE_UNAVAILABLE),
    }
    let put = store.put(key, value);
    if let (Some(name), Ok(Put::FilterFull) | Err(_)) = (name, &put) {
        keys.give_back(name);
    }
    Ok(match put? {
        Put::Created => StatusCode::CREATED,
        Put::Overwritten => StatusCode::NO_CONTENT,
        Put::FilterFull => StatusCode::INSUFFICIENT_STORAGE,
    })
}

async fn delete_item(
    State(store): State<Arc<Store>>,
    Path(key): Path<String>,
) -> Result<StatusCode, Failure> {
    if !store.may_hold(&key) {
        return Ok(StatusCode::NOT_FOUND);
    }
    let deleted = blocking(move || store.delete(&key)).await?;
    Ok(if deleted {
        StatusCode::NO_CONTENT
    } else {
        StatusCode::NOT_FOUND
    })
}

async fn stats(State(store): State<Arc<Store>>) -> Result<Response, Failure> {
    Ok(Json(blocking(move || store.stats()).await?).into_response())
}

/// Runs `work` on a thread that may wait for the disk.
///
/// If the client disconnects, the waiting future is dropped, but `work` still runs to its end. That
/// is why it changes the database and the filter together, without an `await` in between.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, redb::Error> + Send + 'static,
) -> Result<T, Failure> {
    Ok(task::spawn_blocking(work).await??)
}

/// A failure that the client did not cause, and whose details the client does not see.
#[derive(Debug, Error)]
enum Failure {
    #[error("the database failed: {0}")]
    Database(redb::Error),
    #[error("a worker failed: {0}")]
    Worker(JoinError),
}

impl From<redb::Error> for Failure {
    fn from(error: redb::Error) -> Self {
        Self::Database(error)
    }
}

impl From<JoinError> for Failure {
    fn from(error: JoinError) -> Self {
        Self::Worker(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        eprintln!("absent-keys: {self}");
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    }
}
