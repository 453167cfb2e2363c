//! Starts the server and ends it.

#![forbid(unsafe_code)]

mod allocator;

use guira_server::{
    config::{Config, LogFormat},
    files,
    keyspace::Lane,
    metrics,
    net::{self, Listener, Stop, Tls},
    persist::Saver,
    server::Server,
    settings::{self, SettingsError},
    slow,
};
use sd_notify::NotifyState;
use std::{
    env,
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

/// Threads beside those that serve: for what takes long, and in the place of those on which an
/// insert waits for a snapshot.
const OTHER_THREADS: usize = 2 * slow::AT_A_TIME;

fn main() -> ExitCode {
    let config = match settings::load(env::args_os(), |name| env::var_os(name)) {
        Ok(config) => config,
        Err(SettingsError::CommandLine(error)) => error.exit(),
        Err(error) => {
            eprintln!("guira-server: {error}");
            return ExitCode::from(2);
        }
    };
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

fn run(mut config: Config) -> Result<(), Box<dyn Error>> {
    config.maxclients = files::raise_limit(config.maxclients)?;
    let saver = Saver::open(config.dir.as_deref())?;
    let server = Arc::new(Server::new(config, saver));
    let filters = server.saver.load(&server.store.keyspace)?;
    if filters > 0 {
        info!(filters, bytes = server.store.keyspace.used(), "loaded");
    }
    if server.store.keyspace.is_over_limit() {
        warn!("the filters that were loaded need more than --maxmemory: inserts are refused");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(server.config.threads())
        .max_blocking_threads(OTHER_THREADS)
        .thread_name("guira-worker")
        .on_thread_start(allocator::share)
        .enable_all()
        .build()?;
    let result = runtime.block_on(serve(server));
    // Not to wait for a save that nobody wants any more.
    runtime.shutdown_background();
    result
}

async fn serve(server: Arc<Server>) -> Result<(), Box<dyn Error>> {
    let tls = Tls::open(&server.config)?.map(Arc::new);
    tokio::spawn(reload_at_signal(tls.clone())?);
    let listeners = Listener::all(&server.config, tls).await?;
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
    for lane in Lane::ALL {
        tokio::spawn(server.clone().tick(lane));
    }
    tokio::spawn(stop_at_signal(stop.clone(), server.clone())?);
    if let Some(port) = listeners.iter().find_map(Listener::port) {
        server.listening.get_or_init(|| port);
    }
    for listener in &listeners {
        info!(%listener, "listens");
    }
    info!(threads = server.config.threads(), "ready");
    tell_systemd(NotifyState::Ready);
    if let Some(first) = listeners.first()
        && let Err(error) = welcome(first)
    {
        // Whoever started it may not be listening.
        debug!(%error, "no welcome");
    }
    net::serve(listeners, server.clone(), stop).await;
    tell_systemd(NotifyState::Stopping);
    last_save(server).await?;
    info!("the server has ended");
    Ok(())
}

/// Tells systemd, if that has started this and wants to know.
fn tell_systemd(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        warn!(%error, "systemd could not be told");
    }
}

/// What to do next, for whoever sees this for the first time.
fn welcome(listener: &Listener) -> io::Result<()> {
    let (place, option) = match listener {
        Listener::Tcp(listener) => {
            let port = listener.local_addr()?.port();
            (format!("on port {port}"), format!("-p {port}"))
        }
        Listener::Tls(listener, _) => {
            let port = listener.local_addr()?.port();
            (format!("on port {port}"), format!("--tls -p {port}"))
        }
        Listener::Unix(_, file) => (format!("at {file}"), format!("-s {file}")),
    };
    let mut out = io::stdout();
    writeln!(
        out,
        "guira-server {} is ready {place}. Try, in another terminal:\n\
         \n  redis-cli {option}\n  \
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

/// SIGHUP reads the certificates again. Without any it does nothing, so that a terminal that is
/// closed does not end the server.
fn reload_at_signal(tls: Option<Arc<Tls>>) -> io::Result<impl Future<Output = ()>> {
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        while hangup.recv().await.is_some() {
            match tls.as_ref().map(|tls| tls.reload()) {
                Some(Ok(())) => info!("SIGHUP: the certificates were read again"),
                Some(Err(error)) => error!(%error, "SIGHUP: the certificates stay as they were"),
                None => info!("SIGHUP: there are no certificates"),
            }
        }
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
