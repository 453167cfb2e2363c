//! A service that does each request once, also across restarts, and refuses denied accounts and requests that
//! come too often.

mod denied;
mod keys;
mod limits;
mod metrics;
mod routes;

use clap::Parser;
use keys::Keys;
use std::{
    error::Error, io, net::SocketAddr, path::PathBuf, process::ExitCode, sync::LazyLock,
    time::Duration,
};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    task,
    time::{self, MissedTickBehavior},
};

/// Takes payments over HTTP, each of them once.
///
/// POST /payments/{account} with an Idempotency-Key; PUT /denied with an account per line; GET /metrics.
#[derive(Debug, Parser)]
#[command(name = "service")]
struct Args {
    /// Address and port. With port 0, a free port is chosen and printed
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: SocketAddr,

    /// The directory of the saved keys, which is created if it does not exist
    #[arg(long, value_name = "PATH")]
    directory: PathBuf,

    /// Number of keys that arrive within --remember
    #[arg(long, value_name = "KEYS", default_value_t = 1_000_000)]
    capacity: usize,

    /// Seconds for which keys are remembered
    #[arg(long, value_name = "SECONDS", default_value_t = 24 * 60 * 60)]
    remember: u64,

    /// Seconds between two saves
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    save_every: u64,

    /// The most requests for an account within --window: further ones are refused. By default there is no limit
    #[arg(long, value_name = "REQUESTS", value_parser = clap::value_parser!(u16).range(1..=limits::MOST))]
    limit: Option<u16>,

    /// Seconds for which requests count
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    window: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("service: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: Args) -> Result<(), Box<dyn Error>> {
    let remember = Duration::from_secs(args.remember);
    let opened = keys::open(&args.directory, args.capacity, remember)?;
    let keys: &'static Keys = keys::KEYS.get_or_init(|| opened);
    LazyLock::force(&denied::DENIED);
    let window = Duration::from_secs(args.window);
    let limits = args.limit.map(|limit| limits::new(limit.into(), window));
    let limits = limits.transpose()?;
    let limits = limits.map(|limits| limits::LIMITS.get_or_init(|| limits));
    let listener = TcpListener::bind(args.listen)
        .await
        .map_err(|error| format!("cannot listen on {}: {error}", args.listen))?;
    println!("listening on http://{}", listener.local_addr()?);
    every(keys.tick_every(), || keys.tick());
    if let Some(limits) = limits {
        every(limits.tick_every(), || limits.tick());
    }
    every(Duration::from_secs(args.save_every), || {
        // The next save tries again, and the time of the last one is a metric.
        keys.save()
            .unwrap_or_else(|error| eprintln!("service: the keys were not saved: {error}"));
    });
    let stop = stopped()?;
    // This returns after all requests in flight have been answered.
    axum::serve(listener, routes::router(keys, limits))
        .with_graceful_shutdown(stop)
        .await?;
    task::spawn_blocking(|| keys.save()).await??;
    Ok(())
}

/// Does `work` again and again, on a thread that may wait for the disk.
fn every(pause: Duration, work: impl Fn() + Copy + Send + 'static) {
    let mut interval = time::interval(pause);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    task::spawn(async move {
        loop {
            interval.tick().await;
            if task::spawn_blocking(work).await.is_err() {
                eprintln!("service: a worker has panicked");
            }
        }
    });
}

/// Completes at SIGTERM, or when the user presses ctrl-c. From this call on, neither ends the process.
fn stopped() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
