//! From requests to the store and back.

use crate::store::{Put, Store};
use axum::{
    Json, Router,
    body::Bytes,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::get,
};
use std::sync::Arc;
use thiserror::Error;
use tokio::task::{self, JoinError};

pub(crate) fn router(store: Arc<Store>) -> Router {
    Router::new()
        .route(
            "/items/{key}",
            get(get_item).put(put_item).delete(delete_item),
        )
        .route("/stats", get(stats))
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
    Path(key): Path<String>,
    value: Bytes,
) -> Result<StatusCode, Failure> {
    Ok(match blocking(move || store.put(&key, &value)).await? {
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
/// It runs to its end even if the client hangs up, which drops the future that
/// waits for it. That is why the database and the filter are changed together
/// in there, with no `await` between the two.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, redb::Error> + Send + 'static,
) -> Result<T, Failure> {
    Ok(task::spawn_blocking(work).await??)
}

/// What the client is not to blame for, and is told no more about.
#[derive(Debug, Error)]
enum Failure {
    #[error("the database failed: {0}")]
    Database(#[from] redb::Error),
    #[error("a worker failed: {0}")]
    Worker(#[from] JoinError),
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        eprintln!("absent-keys: {self}");
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    }
}
