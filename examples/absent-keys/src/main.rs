//! A key-value service over HTTP. A filter in memory recognizes most absent keys, so that requests
//! for them do not wait for the disk.

mod false_positives;
mod keys;
mod routes;
mod store;

use clap::Parser;
use keys::Keys;
use std::{error::Error, net::SocketAddr, path::PathBuf, process::ExitCode, sync::Arc};
use store::Store;
use tokio::{net::TcpListener, signal};

/// Serves a database of items over HTTP. A filter avoids most lookups of absent keys.
///
/// PUT, GET and DELETE /items/{key}; GET /stats.
#[derive(Debug, Parser)]
#[command(name = "absent-keys")]
struct Args {
    /// Address and port. With port 0, a free port is chosen and printed
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: SocketAddr,

    /// The database file, which is created if it does not exist
    #[arg(long, value_name = "PATH")]
    database: PathBuf,

    /// Number of items for which the filter has room
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
    // This returns after all requests in flight have been answered.
    axum::serve(listener, routes::router(store, keys))
        .with_graceful_shutdown(interrupted())
        .await?;
    Ok(())
}

/// Completes when the user presses ctrl-c.
async fn interrupted() {
    if let Err(error) = signal::ctrl_c().await {
        eprintln!("absent-keys: stopping, because ctrl-c cannot be handled: {error}");
    }
}
