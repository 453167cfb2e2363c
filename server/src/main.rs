//! Starts the server and ends it.

#![forbid(unsafe_code)]

use clap::Parser;
use guira_server::{
    config::{Config, LogFormat},
    metrics, net,
    net::Stop,
    persist::Saver,
    server::Server,
};
use std::{
    error::Error,
    io::{self, Write},
    process::{self, ExitCode},
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    task::spawn_blocking,
    time::{MissedTickBehavior, interval},
};
use tracing::{debug, error, info, warn};
use tracing_subscriber::EnvFilter;

/// Dumps and loads with which nobody has gone on for so long end.
const IDLE: Duration = Duration::from_secs(600);

/// File descriptors beside those of clients.
const OTHER_FILES: u64 = 64;

fn main() -> ExitCode {
    let config = Config::parse();
    if let Err(error) = start_log(&config) {
        eprintln!("guira-server: --log: {error}");
        return ExitCode::from(2);
    }
    match run(config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error!(%error, "the server ends");
            ExitCode::FAILURE
        }
    }
}

fn start_log(config: &Config) -> Result<(), Box<dyn Error>> {
    let builder = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::try_new(&config.log)?)
        .with_writer(io::stderr)
        .with_ansi(io::IsTerminal::is_terminal(&io::stderr()));
    match config.log_format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().init(),
    }
    Ok(())
}

fn run(config: Config) -> Result<(), Box<dyn Error>> {
    let saver = Saver::open(config.dir.as_deref())?;
    let server = Arc::new(Server::new(config, saver));
    let filters = server.saver.load(&server.store.keyspace)?;
    if filters > 0 {
        info!(filters, bytes = server.store.keyspace.used(), "loaded");
    }
    if server.store.keyspace.is_over_limit() {
        warn!("the filters that were loaded need more than --maxmemory: inserts are refused");
    }
    raise_file_limit(&server);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(server.config.threads())
        .thread_name("guira-worker")
        .enable_all()
        .build()?;
    let result = runtime.block_on(serve(server));
    // Not to wait for a save that nobody wants any more.
    runtime.shutdown_background();
    result
}

/// Every client needs a file descriptor.
fn raise_file_limit(server: &Server) {
    let needed = server.config.maxclients.get() as u64 + OTHER_FILES;
    match rlimit::increase_nofile_limit(needed) {
        Ok(files) if files < needed => warn!(
            files,
            needed, "the limit for open files is too low for --maxclients: see ulimit -n"
        ),
        Ok(_) => {}
        Err(error) => warn!(%error, "the limit for open files could not be raised"),
    }
}

async fn serve(server: Arc<Server>) -> Result<(), Box<dyn Error>> {
    let (bind, port) = (server.config.bind, server.config.port);
    let listener = TcpListener::bind((bind, port))
        .await
        .map_err(|error| format!("cannot listen on {bind}:{port}: {error}"))?;
    let stop = Stop::default();
    if let Some(address) = server.config.metrics {
        let listener = TcpListener::bind(address)
            .await
            .map_err(|error| format!("cannot show metrics on {address}: {error}"))?;
        info!(address = %listener.local_addr()?, "metrics are shown");
        tokio::spawn(metrics::serve(listener, server.clone(), stop.clone()));
    }
    if let Some(every) = server.config.save_every() {
        tokio::spawn(save_every(every, server.clone()));
    }
    tokio::spawn(expire(server.clone()));
    tokio::spawn(server.clone().sweep());
    tokio::spawn(stop_at_signal(stop.clone(), server.clone())?);
    let address = listener.local_addr()?;
    server.listening.get_or_init(|| address.port());
    if !bind.is_loopback() && server.config.password().is_none() {
        warn!("others can reach this server, and there is no --requirepass");
    }
    info!(%address, threads = server.config.threads(), "ready");
    if let Err(error) = welcome(address.port()) {
        // Whoever started it may not be listening.
        debug!(%error, "no welcome");
    }
    net::serve(listener, server.clone(), stop).await;
    last_save(server).await?;
    info!("the server has ended");
    Ok(())
}

/// What to do next, for whoever sees this for the first time.
fn welcome(port: u16) -> io::Result<()> {
    let mut out = io::stdout();
    writeln!(
        out,
        "guira-server {} is ready on port {port}. Try, in another terminal:\n\
         \n  redis-cli -p {port}\n  \
         > CF.RESERVE bikes:models 1000000\n  \
         > CF.ADD bikes:models \"Smoky Mountain Striker\"\n  \
         > CF.EXISTS bikes:models \"Smoky Mountain Striker\"\n  \
         > CF.DEL bikes:models \"Smoky Mountain Striker\"\n\n\
         Ctrl-C ends it; guira-server --help shows what else it can do.",
        env!("CARGO_PKG_VERSION"),
    )?;
    out.flush()
}

/// SIGTERM and SIGINT end the server, if what it has can be saved. A SIGINT after that
/// ends it at once.
fn stop_at_signal(stop: Stop, server: Arc<Server>) -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    // To be listened to is not to end the server: a closed terminal does not.
    let _hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        let mut in_vain = false;
        loop {
            tokio::select! {
                _ = terminate.recv() => info!("SIGTERM"),
                _ = interrupt.recv() => {
                    info!("SIGINT");
                    // A save may have succeeded since.
                    if in_vain && server.saver.status().last_failed {
                        end_at_once();
                    }
                }
            }
            // A save may hang, and the next signal is still to be heard.
            let saved = tokio::select! {
                saved = last_save(server.clone()) => saved,
                _ = interrupt.recv() => end_at_once(),
            };
            match saved {
                Ok(()) => break,
                Err(error) => error!(
                    error,
                    "what is not saved would be lost, so the server goes on: SHUTDOWN NOSAVE or a \
                     second SIGINT ends it"
                ),
            }
            in_vain = true;
        }
        // It is saved once more when all clients have gone, with what they did meanwhile.
        stop.now();
        interrupt.recv().await;
        end_at_once();
    })
}

/// [`Server::last_save`], apart from the threads that serve.
async fn last_save(server: Arc<Server>) -> Result<(), String> {
    let saved = spawn_blocking(move || server.last_save()).await;
    saved
        .map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())
}

fn end_at_once() -> ! {
    warn!("SIGINT again: the server ends at once");
    process::exit(1)
}

/// Ends dumps and loads whose clients have gone.
async fn expire(server: Arc<Server>) {
    let mut ticks = interval(IDLE / 10);
    loop {
        ticks.tick().await;
        let server = server.clone();
        if let Err(error) = spawn_blocking(move || server.store.expire(IDLE)).await {
            error!(%error, "dumps were not ended");
        }
    }
}

async fn save_every(every: Duration, server: Arc<Server>) {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first one comes at once.
    ticks.tick().await;
    loop {
        ticks.tick().await;
        if let Err(error) = server.save_in_background() {
            warn!(%error, "no save was started");
        }
    }
}
