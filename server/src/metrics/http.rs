//! The listener for scrapes and probes.

use super::{Exposed, format::Format};
use crate::{fault::Fault, net::ACCEPT_PAUSE, server::Server};
use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, VARY},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use prometheus_client::registry::Registry;
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tracing::debug;

/// The maximum time of a scrape.
const SCRAPE: Duration = Duration::from_secs(10);

/// The maximum number of concurrent scrapes. Each takes a file descriptor.
const SCRAPES: usize = 8;

const PLAIN: &str = "text/plain; charset=utf-8";

type Answer = Response<Full<Bytes>>;

/// Responds to scrapes and probes, even while the server stops.
pub async fn serve(listener: TcpListener, server: Arc<Server>) {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Exposed(server.clone())));
    let registry = Arc::new(registry);
    let scrapes = Arc::new(Semaphore::new(SCRAPES));
    loop {
        let Some((stream, permit)) = accept(&listener, &scrapes).await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        Fault::Scrapes.reach();
        let (server, registry) = (server.clone(), registry.clone());
        tokio::spawn(async move {
            let service = service_fn(|request| answer(request, server.clone(), registry.clone()));
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

/// Accepts the next connection once fewer than [`SCRAPES`] are being served.
async fn accept(
    listener: &TcpListener,
    scrapes: &Arc<Semaphore>,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    // The semaphore is never closed.
    let permit = scrapes.clone().acquire_owned().await.ok()?;
    let (stream, _) = listener.accept().await.ok()?;
    Some((stream, permit))
}

async fn answer(
    request: Request<Incoming>,
    server: Arc<Server>,
    registry: Arc<Registry>,
) -> Result<Answer, &'static str> {
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => {
            let format = Format::of(&accepted(request.headers()));
            let encoded = server.slow.run_scrape(move || metrics(&registry, format));
            encoded.await.ok_or("the server ends")
        }
        // Probes do not wait for long work.
        (&Method::GET, "/healthz") => Ok(response(StatusCode::OK, PLAIN, "ok\n".into())),
        (&Method::GET, "/readyz") => Ok(readiness(&server)),
        _ => {
            let text = "see /metrics, /healthz and /readyz\n";
            Ok(response(StatusCode::NOT_FOUND, PLAIN, text.into()))
        }
    }
}

/// The server is ready from the time when the filters are loaded and clients are accepted, until it
/// stops. A failed save does not make it unready: it serves clients as before, and turning them
/// away would not help the disk. `guira_last_save_failed` reports the failure.
fn readiness(server: &Server) -> Answer {
    match server.is_ready.load(Relaxed) {
        true => response(StatusCode::OK, PLAIN, "ready\n".into()),
        false => {
            let text = "not ready: the server starts or ends\n";
            response(StatusCode::SERVICE_UNAVAILABLE, PLAIN, text.into())
        }
    }
}

fn metrics(registry: &Registry, format: Format) -> Answer {
    match format.encode(registry) {
        Ok(text) => response(StatusCode::OK, format.content_type(), text),
        Err(error) => response(
            StatusCode::INTERNAL_SERVER_ERROR,
            PLAIN,
            format!("{error}\n"),
        ),
    }
}

/// The combined value of all `Accept` headers.
fn accepted(headers: &HeaderMap) -> String {
    let all = headers.get_all(ACCEPT).iter();
    let texts: Vec<_> = all.filter_map(|value| value.to_str().ok()).collect();
    texts.join(",")
}

fn response(status: StatusCode, content_type: &'static str, body: String) -> Answer {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(VARY, HeaderValue::from_static("accept"));
    response
}
