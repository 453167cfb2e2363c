//! Starts engines with the module, and connects to them.
//!
//! `GUIRA_ENGINE` names the engine's program, and `GUIRA_MODULE` the module; `ci/module.sh` sets
//! both for each engine in turn. `GUIRA_ENGINE=none` skips the tests that need one.

// Each test file is a separate crate, and uses only a part of this.
#![allow(dead_code)]

use rand::{SeedableRng, rngs::StdRng};
use redis::{Connection, FromRedisValue, RedisError, Value};
use std::{
    env, fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU16, Ordering},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

pub(crate) mod cluster;
pub(crate) mod oracle;
pub(crate) mod payload;
pub(crate) mod writers;

/// A timeout that no operation needs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// An engine on loopback. Dropping it stops the engine.
#[derive(Debug)]
pub(crate) struct Engine {
    process: Child,
    pub(crate) port: u16,
    directory: TempDir,
    arguments: Vec<String>,
}

/// As the first argument, this starts a module with the fault in the next argument.
pub(crate) const FAULT: &str = "FAULT";

/// As the first argument, this limits the address space of the engine to the bytes in the next one.
pub(crate) const ADDRESSES: &str = "ADDRESSES";

/// The paths of the engine and of the module; `None` if the tests are to be skipped.
fn programs() -> Option<(PathBuf, PathBuf)> {
    let engine = env::var_os("GUIRA_ENGINE").unwrap_or_else(|| {
        panic!(
            "no engine: GUIRA_ENGINE is to name the program of Redis or Valkey, or to be 'none', \
             which skips this test; ci/module.sh gets three of them"
        )
    });
    if engine == "none" {
        eprintln!("SKIPPED: GUIRA_ENGINE is none");
        return None;
    }
    let module = env::var_os("GUIRA_MODULE").map(PathBuf::from);
    let module = module.unwrap_or_else(|| {
        // `cargo build` puts the module beside the directory of the tests.
        let tests = env::current_exe().expect("the test has a path");
        let built = tests.ancestors().nth(2).expect("it is in a directory");
        built.join("libguira_module.so")
    });
    assert!(
        module.exists(),
        "no module at {}: cargo build --package guira-module builds it, and GUIRA_MODULE names another one",
        module.display()
    );
    let module = fs::canonicalize(module).expect("the module has a path");
    Some((engine.into(), module))
}

/// The path of the module.
pub(crate) fn module() -> PathBuf {
    programs()
        .expect("the test has asked whether there is one")
        .1
}

/// True if the tests that need an engine are to be skipped.
pub(crate) fn is_skipped() -> bool {
    programs().is_none()
}

/// True if `GUIRA_ENGINE` runs under valgrind, as `GUIRA_VALGRIND=1` declares.
pub(crate) fn is_checked() -> bool {
    env::var_os("GUIRA_VALGRIND").is_some()
}

/// True in the long run, which `GUIRA_LONG=1` requests.
pub(crate) fn long() -> bool {
    env::var_os("GUIRA_LONG").is_some()
}

/// Random numbers for the use `number`, the same in each run with this `GUIRA_SEED`.
pub(crate) fn random(number: u64) -> StdRng {
    let seed = env::var("GUIRA_SEED").map_or(0, |seed| {
        seed.parse()
            .unwrap_or_else(|_| panic!("GUIRA_SEED is '{seed}', and must be a number"))
    });
    StdRng::seed_from_u64(number.wrapping_add(u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15)))
}

/// A free port whose cluster bus port is free as well.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    const FIRST: u16 = 20_000;
    const COUNT: u16 = 12_000;
    loop {
        let offset = NEXT.fetch_add(1, Ordering::Relaxed);
        // Tests run in several processes.
        let port = FIRST
            + (std::process::id() as u16)
                .wrapping_mul(37)
                .wrapping_add(offset)
                % COUNT;
        let is_free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
        if is_free(port) && is_free(port + 10_000) {
            return port;
        }
    }
}

impl Engine {
    /// Starts an engine, and returns when it is ready.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let directory = TempDir::new().expect("there is room for files");
        Self::start_in(directory, arguments)
    }

    /// A directory with a copy of the current AOF.
    pub(crate) fn copy_of_commands(&self) -> TempDir {
        let copy = TempDir::new().expect("there is room for files");
        let [from, to] = [self.directory(), copy.path()].map(|path| path.join("appendonlydir"));
        fs::create_dir(&to).expect("it can be made");
        for file in fs::read_dir(from).expect("it is there") {
            let file = file.expect("it is there");
            fs::copy(file.path(), to.join(file.file_name())).expect("it can be copied");
        }
        copy
    }

    /// A directory with a copy of the current RDB file.
    pub(crate) fn copy_of_file(&self) -> TempDir {
        const FILE: &str = "dump.rdb";
        let copy = TempDir::new().expect("there is room for files");
        fs::copy(self.directory().join(FILE), copy.path().join(FILE)).expect("it is there");
        copy
    }

    /// Like [`start`](Self::start), in a directory that may contain files.
    pub(crate) fn start_in(directory: TempDir, arguments: &[&str]) -> Self {
        let arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
        for _ in 0..3 {
            let port = free_port();
            let mut process = spawn(directory.path(), port, &arguments);
            if is_ready(&mut process, port) {
                return Self {
                    process,
                    port,
                    directory,
                    arguments,
                };
            }
        }
        panic!("the engine does not start: {}", log_of(directory.path()));
    }

    /// Kills the engine, as a failing machine would.
    pub(crate) fn kill(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ends");
    }

    /// Restarts the engine after [`kill`](Self::kill), with its files.
    pub(crate) fn start_again(&mut self) {
        self.process = spawn(self.directory.path(), self.port, &self.arguments);
        let is_ready = is_ready(&mut self.process, self.port);
        assert!(is_ready, "the engine does not start again: {}", self.log());
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn log(&self) -> String {
        log_of(self.directory.path())
    }

    pub(crate) fn client(&self) -> Connection {
        self.client_of("resp2")
    }

    pub(crate) fn client_of(&self, protocol: &str) -> Connection {
        connect(self.port, protocol).expect("the engine is there")
    }

    /// The log of an engine that stops before it is ready.
    pub(crate) fn refuses(arguments: &[&str]) -> String {
        let directory = TempDir::new().expect("there is room for files");
        let arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
        let port = free_port();
        let mut process = spawn(directory.path(), port, &arguments);
        if is_ready(&mut process, port) {
            let _ = process.kill();
            panic!("the engine starts with {arguments:?}");
        }
        log_of(directory.path())
    }

    /// The number of its threads with this name.
    pub(crate) fn threads(&self, name: &str) -> usize {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.process.id()));
        let names = tasks
            .expect("there is a /proc")
            .filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
        names.filter(|found| found.trim() == name).count()
    }

    /// The identifier of its process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// The processor time of its main thread. Other processes do not affect it.
    pub(crate) fn worked(&self) -> Duration {
        let path = format!("/proc/{0}/task/{0}/schedstat", self.id());
        let times = fs::read_to_string(path).expect("there is a /proc");
        let time = times.split(' ').next().expect("it has three numbers");
        Duration::from_nanos(time.parse().expect("it is a number"))
    }

    /// The peak of its address space. It includes memory that was freed since, or was never
    /// written.
    pub(crate) fn most_memory(&self) -> u64 {
        self.status("VmPeak")
    }

    /// Its resident bytes.
    pub(crate) fn resident(&self) -> u64 {
        self.status("VmRSS")
    }

    fn status(&self, name: &str) -> u64 {
        let path = format!("/proc/{}/status", self.id());
        let status = fs::read_to_string(path).expect("there is a /proc");
        let kib = status.lines().find_map(|line| {
            let value = line.strip_prefix(name)?.strip_prefix(':')?;
            value.trim().strip_suffix(" kB")?.parse::<u64>().ok()
        });
        kib.expect("the process has it") << 10
    }

    /// True if the engine is still running.
    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if is_checked() && !thread::panicking() && self.is_alive() {
            // Under valgrind it reports errors when it stops.
            let _ = try_ask::<Value>(&mut self.client(), "SHUTDOWN NOSAVE");
            let status = self.process.wait().expect("it ends");
            assert!(status.success(), "{status}: {}", self.log());
            return;
        }
        // The engine may have stopped already.
        let _ = self.process.kill();
        let _ = self.process.wait();
        if thread::panicking() {
            eprintln!("the engine on port {} said:\n{}", self.port, self.log());
        }
    }
}

fn spawn(directory: &Path, port: u16, arguments: &[String]) -> Child {
    let (engine, module) = programs().expect("the test has asked whether there is one");
    let log = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(directory.join("log"))
        .expect("the log can be written");
    // The module with faults is a separate file.
    let (fault, arguments) = match arguments {
        [word, fault, rest @ ..] if word == FAULT => (Some(fault), rest),
        _ => (None, arguments),
    };
    let (addresses, arguments) = match arguments {
        [word, bytes, rest @ ..] if word == ADDRESSES => (Some(bytes), rest),
        _ => (None, arguments),
    };
    let module = match fault {
        Some(_) => PathBuf::from(env::var_os("GUIRA_MODULE_FAULTS").expect(
            "GUIRA_MODULE_FAULTS is to name a module with the feature faults; ci/module.sh builds one",
        )),
        None => module,
    };
    let loads_itself = arguments.iter().any(|word| word == "--loadmodule");
    let mut command = match addresses {
        Some(bytes) => {
            // `prlimit` becomes the engine.
            let mut command = Command::new("prlimit");
            command.arg(format!("--as={bytes}")).arg(engine);
            command
        }
        None => Command::new(engine),
    };
    if let Some(fault) = fault {
        command.env(format!("GUIRA_FAULT_{fault}"), "1");
    }
    command
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .arg("--dir")
        .arg(directory)
        .args(["--save", "", "--enable-debug-command", "yes"])
        .args([
            "--repl-diskless-sync-delay",
            "0",
            "--cluster-node-timeout",
            "2000",
        ]);
    if !loads_itself {
        command.arg("--loadmodule").arg(&module);
    }
    for word in arguments {
        // `MODULE` in the arguments of a test is the path of the module.
        match word == "MODULE" {
            true => command.arg(&module),
            false => command.arg(word),
        };
    }
    command
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a file can be had twice"))
        .stderr(log)
        .spawn()
        .expect("the engine starts")
}

fn connect(port: u16, protocol: &str) -> Result<Connection, RedisError> {
    let url = format!("redis://127.0.0.1:{port}/?protocol={protocol}");
    // Replies have no timeout: with one, a pause of the whole machine can fail a command as interrupted.
    redis::Client::open(url)?.get_connection_with_timeout(PATIENCE)
}

/// True once the engine replies and has loaded its files; false if it has stopped.
fn is_ready(process: &mut Child, port: u16) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if !matches!(process.try_wait(), Ok(None)) {
            return false;
        }
        let answers = |mut client: Connection| redis::cmd("PING").query::<String>(&mut client);
        if connect(port, "resp2").and_then(answers).is_ok() {
            return true;
        }
        thread::sleep(Duration::from_millis(10));
    }
    false
}

fn log_of(directory: &Path) -> String {
    fs::read_to_string(directory.join("log")).unwrap_or_default()
}

/// Sends a command. Its words are separated by spaces.
pub(crate) fn try_ask<T: FromRedisValue>(
    client: &mut Connection,
    words: &str,
) -> Result<T, RedisError> {
    let mut words = words.split(' ');
    let mut command = redis::cmd(words.next().expect("there is a word"));
    for word in words {
        command.arg(word);
    }
    command.query(client)
}

/// Like [`try_ask`], for a command that must succeed.
pub(crate) fn ask<T: FromRedisValue>(client: &mut Connection, words: &str) -> T {
    try_ask(client, words).unwrap_or_else(|error| panic!("{words}: {error}"))
}

/// Like [`try_ask`], for a command that must fail. Returns the text of the error.
pub(crate) fn refusal(client: &mut Connection, words: &str) -> String {
    match try_ask::<Value>(client, words) {
        Ok(value) => panic!("{words} was answered with {value:?}"),
        Err(error) => text(&error),
    }
}

/// The text of the error, as the engine sent it.
pub(crate) fn text(error: &RedisError) -> String {
    let words = [error.code(), error.detail()];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// A number in `INFO`.
pub(crate) fn info(client: &mut Connection, name: &str) -> i64 {
    let info: String = ask(client, "INFO everything");
    let found = info
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let found = found.unwrap_or_else(|| panic!("no {name} in {info}"));
    found
        .parse()
        .unwrap_or_else(|_| panic!("{name} is {found}"))
}

/// The engine's digest of all keys and values.
pub(crate) fn digest(client: &mut Connection) -> String {
    ask(client, "DEBUG DIGEST")
}

/// Waits until `done` returns true, and panics after a timeout.
pub(crate) fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Asserts that no panic occurred, and that no replicated command was refused.
pub(crate) fn is_sound(client: &mut Connection) {
    for name in ["guira_panics", "guira_refused_on_replica"] {
        assert_eq!(info(client, name), 0, "{name}");
    }
}

/// The pieces of a filter, each with the position at which it is loaded.
pub(crate) fn dump(client: &mut Connection, key: &str) -> Vec<(u64, Vec<u8>)> {
    let mut pieces = Vec::new();
    let mut position = 0;
    loop {
        let (next, piece): (u64, Option<Vec<u8>>) = redis::cmd("CF.SCANDUMP")
            .arg(key)
            .arg(position)
            .query(client)
            .expect("there is a piece");
        let Some(piece) = piece else { return pieces };
        position = next;
        pieces.push((next, piece));
    }
}

/// Loads a piece.
pub(crate) fn load(client: &mut Connection, key: &str, (position, piece): &(u64, Vec<u8>)) {
    let mut command = redis::cmd("CF.LOADCHUNK");
    let answer: String = command
        .arg(key)
        .arg(position)
        .arg(&piece[..])
        .query(client)
        .expect("the piece is right");
    assert_eq!(answer, "OK");
}
