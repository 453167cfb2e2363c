//! A key-value service over HTTP. A filter in memory answers for most keys that the database does
//! not hold, so that no client waits for the disk to learn that there is nothing on it.

mod keys;
mod routes;
mod store;

use clap::Parser;
use keys::Keys;
use std::{error::Error, net::SocketAddr, path::PathBuf, process::ExitCode, sync::Arc};
use store::Store;
use tokio::{net::TcpListener, signal};

/// Serves a database of items over HTTP, with a filter that spares it the
/// lookups of absent keys.
///
/// PUT, GET and DELETE /items/{key}; GET /stats.
#[derive(Debug, Parser)]
#[command(name = "absent-keys")]
struct Args {
    /// Address and port; with port 0 a free one is taken, and printed
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: SocketAddr,

    /// The database file, which is made if there is none
    #[arg(long, value_name = "PATH")]
    database: PathBuf,

    /// Items that the filter has room for
    #[arg(long, value_name = "ITEMS", default_value_t = 1_000_000)]
    capacity: usize,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("absent-keys: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: Args) -> Result<(), Box<dyn Error>> {
    let store = Arc::new(Store::open(&args.database, args.capacity)?);
    let keys = Arc::new(Keys::new()?);
    let listener = TcpListener::bind(args.listen)
        .await
        .map_err(|error| format!("cannot listen on {}: {error}", args.listen))?;
    println!("listening on http://{}", listener.local_addr()?);
    // Requests in flight are answered before this returns.
    axum::serve(listener, routes::router(store, keys))
        .with_graceful_shutdown(interrupted())
        .await?;
    Ok(())
}

/// Done when the user presses ctrl-c.
async fn interrupted() {
    if let Err(error) = signal::ctrl_c().await {
        eprintln!("absent-keys: stopping, as ctrl-c cannot be waited for: {error}");
    }
}
