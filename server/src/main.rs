//! Starts and stops the server.

#![forbid(unsafe_code)]

mod allocator;

use guira_server::{
    config::{Config, Outranked},
    estimate,
    fault::Fault,
    files,
    keyspace::Lane,
    logging, metrics,
    net::{self, Listener, Stop, Tls},
    panics::{self, Essential},
    persist::Saver,
    ready,
    server::Server,
    settings::{self, SettingsError},
    slow, welcome,
};
use sd_notify::NotifyState;
use std::{
    env,
    error::Error,
    future::pending,
    io::{self, IsTerminal, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    process::{self, ExitCode},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    task::{JoinHandle, block_in_place},
    time::{interval, sleep, timeout},
};
use tracing::{debug, error, info, warn};

/// The time that connections have to end after a panic, before the last save.
const LAST_CONNECTIONS: Duration = Duration::from_secs(5);

/// The time after which unfinished dumps and loads end.
const IDLE: Duration = Duration::from_secs(600);

/// Threads in addition to the workers. They run long commands, replace workers on which an insert
/// waits for a snapshot, answer a scrape, and make the copies of a standby.
const OTHER_THREADS: usize = 2 * slow::AT_A_TIME + 2;

fn main() -> ExitCode {
    if env::args_os().nth(1).is_some_and(|word| word == "estimate") {
        return print_estimate();
    }
    let config = match settings::load(env::args_os(), |name| env::var_os(name)) {
        Ok(config) => config,
        Err(SettingsError::CommandLine(error)) => error.exit(),
        Err(error) => return refuse(&error),
    };
    if config.check_ready {
        return check_ready(&config);
    }
    if let Err(error) = logging::start(config.log.clone(), config.log_format) {
        return refuse(&error);
    }
    panics::log_and_count();
    for Outranked { setting, variable } in &config.outranked {
        warn!("{variable} in the environment outranks {setting} in the settings file");
    }
    match run(config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error!(%error, "the server ends");
            ExitCode::FAILURE
        }
    }
}

/// `guira-server estimate`, which starts no server.
fn print_estimate() -> ExitCode {
    let arguments: Vec<_> = env::args_os().skip(2).collect();
    match estimate::table(&arguments) {
        Ok(table) => match io::stdout().write_all(table.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(error) => refuse(&*Box::<dyn Error>::from(error)),
    }
}

/// Reports whether the server with these settings is ready.
fn check_ready(config: &Config) -> ExitCode {
    match ready::check(config.metrics) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The exit code reports it as well.
            let _ = writeln!(io::stderr(), "guira-server: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Reports why the server does not start.
fn refuse(error: &dyn Error) -> ExitCode {
    // The exit code reports it as well. `eprintln!` would panic if this cannot be written.
    let _ = writeln!(io::stderr(), "guira-server: {error}");
    ExitCode::from(2)
}

fn run(mut config: Config) -> Result<(), Box<dyn Error>> {
    config.maxclients = files::raise_limit(config.maxclients)?;
    let saver = Saver::open(config.dir.as_deref())?;
    let server = Arc::new(Server::new(config, saver));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(server.config.threads())
        .max_blocking_threads(OTHER_THREADS)
        .thread_name("guira-worker")
        .on_thread_start(allocator::share)
        .enable_all()
        .build()?;
    let result = catch_unwind(AssertUnwindSafe(|| runtime.block_on(serve(server))));
    // Does not wait for a save that was given up.
    runtime.shutdown_background();
    result.unwrap_or_else(|_| Err("it has panicked".into()))
}

async fn serve(server: Arc<Server>) -> Result<(), Box<dyn Error>> {
    let mut tasks = Essential::default();
    // Starts before the filters are loaded, which may take minutes, so that probes get responses.
    if let Some(address) = server.config.metrics {
        let listener = TcpListener::bind(address)
            .await
            .map_err(|error| format!("cannot show metrics on {address}: {error}"))?;
        info!(address = %listener.local_addr()?, "metrics are shown");
        tasks.spawn("metrics", metrics::serve(listener, server.clone()));
    }
    // This thread is not a worker.
    block_in_place(|| load(&server))?;
    let tls = Tls::open(&server.config)?.map(Arc::new);
    tasks.spawn("SIGHUP", reload_at_signal(tls.clone())?);
    let listeners = Listener::all(&server.config, tls).await?;
    let stop = Stop::default();
    tasks.spawn("saves at an interval", save_every(server.clone()));
    tasks.spawn("abandoned dumps and loads", expire(server.clone()));
    tasks.spawn("expired keys", server.clone().sweep());
    if server.config.standby.replica_of.is_some() {
        tasks.spawn("copies of the primary", server.clone().follow());
    }
    for lane in Lane::ALL {
        tasks.spawn("epochs of filters", server.clone().tick(lane));
    }
    tasks.spawn(
        "SIGTERM and SIGINT",
        stop_at_signal(stop.clone(), server.clone())?,
    );
    tasks.spawn("readiness", unready_at(stop.clone(), server.clone()));
    if let Some(port) = listeners.iter().find_map(Listener::port) {
        server.listening.get_or_init(|| port);
    }
    for listener in &listeners {
        info!(%listener, "listens");
    }
    let greeted = greet(&server.config, listeners.first());
    let mut serving = tokio::spawn(net::serve(listeners, server.clone(), stop.clone()));
    server.is_ready.store(true, Relaxed);
    info!(threads = server.config.threads(), "ready");
    tell_systemd(NotifyState::Ready);
    if let Err(error) = greeted {
        // The process that started the server may not read its output.
        debug!(%error, "no welcome");
    }
    let failed = tokio::select! {
        served = &mut serving => served.err().map(|_| "clients"),
        task = tasks.failed() => Some(task),
    };
    tell_systemd(NotifyState::Stopping);
    let failed = match failed {
        Some(task) => Some(task),
        None => tokio::select! {
            saved = last_save(server.clone()) => {
                saved?;
                None
            }
            task = tasks.failed() => Some(task),
        },
    };
    if let Some(task) = failed {
        drop(tasks);
        return Err(end_after_panic(task, server, stop, serving).await.into());
    }
    tell_losses(&server);
    info!("the server has stopped");
    Ok(())
}

/// Says what is lost, if it is not saved.
fn tell_losses(server: &Server) {
    let keys = server.store.keyspace.len();
    match server.saver.directory() {
        None if keys > 0 => warn!(keys, "all keys are lost: they were in memory only"),
        Some(_) if server.has_changed() => {
            warn!(
                changes = server.changes(),
                "changes since the last save are lost"
            );
        }
        _ => {}
    }
}

/// Loads the filters of the last save.
fn load(server: &Server) -> Result<(), Box<dyn Error>> {
    let keyspace = &server.store.keyspace;
    if server.saver.directory().is_none() {
        warn!("all keys are in memory only, and are lost when the server stops: --dir saves them");
    }
    let filters = server.saver.load(keyspace)?;
    if filters > 0 {
        info!(filters, bytes = keyspace.used(), "loaded");
    }
    if keyspace.is_over_limit() {
        warn!("the loaded filters need more than --maxmemory: inserts are refused");
    }
    Ok(())
}

/// Ends the server with a reason if a task has panicked. Without that task, the server would fail
/// late or silently; it should be restarted instead.
async fn end_after_panic(
    task: &'static str,
    server: Arc<Server>,
    stop: Stop,
    serving: JoinHandle<()>,
) -> String {
    // The task that handled signals has ended.
    let (mut terminate, mut interrupt) = match ending_signals() {
        Ok(signals) => signals,
        Err(error) => return format!("{}, and {error}", panicked(task)),
    };
    error!(task, "a task has panicked: the server saves and stops");
    let end = async {
        // Comes first, so that the save includes all acknowledged changes.
        stop.now();
        if !serving.is_finished() && timeout(LAST_CONNECTIONS, serving).await.is_err() {
            warn!("some connections did not close in time");
        }
        match last_save(server).await {
            Ok(()) => panicked(task),
            Err(error) => format!("{}, and {error}", panicked(task)),
        }
    };
    tokio::select! {
        reason = end => reason,
        _ = terminate.recv() => format!("{}, and SIGTERM ended the save", panicked(task)),
        _ = interrupt.recv() => format!("{}, and SIGINT ended the save", panicked(task)),
    }
}

fn panicked(task: &str) -> String {
    format!("the task for {task} has panicked")
}

/// SIGTERM and SIGINT.
fn ending_signals() -> io::Result<(Signal, Signal)> {
    Ok((
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    ))
}

/// Makes the server unready for probes when it stops.
async fn unready_at(stop: Stop, server: Arc<Server>) {
    stop.wait().await;
    server.is_ready.store(false, Relaxed);
}

/// Notifies systemd if it has started this process and expects that.
fn tell_systemd(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        warn!(%error, "could not notify systemd");
    }
}

/// Shows people what to do next. Nothing else is written to the standard output.
fn greet(config: &Config, listener: Option<&Listener>) -> io::Result<()> {
    let mut out = io::stdout();
    let Some(listener) = listener else {
        return Ok(());
    };
    if let Some(text) = welcome::text(config, listener, out.is_terminal())? {
        out.write_all(text.as_bytes())?;
        out.flush()?;
    }
    Ok(())
}

/// SIGTERM and SIGINT stop the server if its data can be saved. After a failed save, a second SIGINT
/// stops it at once, and a second SIGTERM stops it after one more attempt.
fn stop_at_signal(stop: Stop, server: Arc<Server>) -> io::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = ending_signals()?;
    Ok(async move {
        let mut failed = false;
        loop {
            let is_interrupt = tokio::select! {
                _ = terminate.recv() => false,
                _ = interrupt.recv() => true,
            };
            info!("{}", if is_interrupt { "SIGINT" } else { "SIGTERM" });
            Fault::Signals.reach();
            // A save may have succeeded since.
            let again = failed && server.saver.status().last_failed;
            if again && is_interrupt {
                end_at_once();
            }
            // A save may hang, and the next signal must still be handled.
            let saved = tokio::select! {
                saved = last_save(server.clone()) => saved,
                _ = interrupt.recv() => end_at_once(),
            };
            match saved {
                Ok(()) => break,
                Err(error) if again => {
                    error!(error, "second signal: the server stops without a save");
                    process::exit(1);
                }
                Err(error) => error!(
                    error,
                    "what is not saved would be lost, so the server continues: SHUTDOWN NOSAVE or \
                     a second signal ends it"
                ),
            }
            failed = true;
        }
        // The server saves once more when all clients have disconnected, with their last changes.
        stop.now();
        interrupt.recv().await;
        end_at_once();
    })
}

/// SIGHUP reloads the certificates. Without certificates it does nothing, so closing a terminal does
/// not stop the server.
fn reload_at_signal(tls: Option<Arc<Tls>>) -> io::Result<impl Future<Output = ()>> {
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        while hangup.recv().await.is_some() {
            Fault::Hangup.reach();
            match tls.as_ref().map(|tls| tls.reload()) {
                Some(Ok(())) => info!("SIGHUP: certificates reloaded"),
                Some(Err(error)) => error!(%error, "SIGHUP: certificates not reloaded"),
                None => info!("SIGHUP: there are no certificates"),
            }
        }
    })
}

/// [`Server::last_save`], apart from the threads that serve.
async fn last_save(server: Arc<Server>) -> Result<(), String> {
    let saved = slow::run_beside(move || server.last_save()).await;
    let saved = saved.ok_or("the server ends already")?;
    saved.map_err(|error| error.to_string())
}

fn end_at_once() -> ! {
    warn!("second SIGINT: the server stops at once");
    process::exit(1)
}

/// Ends dumps and loads whose clients have disconnected.
async fn expire(server: Arc<Server>) {
    let mut ticks = interval(IDLE / 10);
    loop {
        ticks.tick().await;
        let server = server.clone();
        slow::run_beside(move || server.store.expire(IDLE)).await;
    }
}

/// Saves at the configured interval, if something has changed. After `CONFIG SET` changes the interval, the next save is one
/// interval later.
async fn save_every(server: Arc<Server>) {
    let mut interval = server.tunable.save_every();
    loop {
        let every = *interval.borrow_and_update();
        let next = async {
            match every {
                Some(every) => sleep(every).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = next => {}
            changed = interval.changed() => match changed {
                Ok(()) => continue,
                // The server has been dropped.
                Err(_) => return,
            },
        }
        Fault::SaveEvery.reach();
        if !server.has_changed() {
            continue;
        }
        if let Err(error) = server.save_in_background() {
            warn!(%error, "no save was started");
        }
    }
}
