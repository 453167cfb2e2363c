//! Starts servers and connects clients to them.

// tests/panics.rs is a separate crate, and uses only a part of this.
#![allow(dead_code)]

pub(crate) mod dump;

use redis::{Connection, FromRedisValue, RedisError, Value};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

/// A timeout that no reply needs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server on loopback. Dropping it kills the process.
pub(crate) struct Server {
    pub(crate) process: Child,
    pub(crate) port: u16,
}

/// Both versions of the protocol.
pub(crate) const PROTOCOLS: [Protocol; 2] = [Protocol::Resp2, Protocol::Resp3];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Resp2,
    Resp3,
}

impl Protocol {
    /// A boolean reply in this protocol.
    pub(crate) fn boolean(self, value: bool) -> Value {
        match self {
            Self::Resp2 => Value::Int(value.into()),
            Self::Resp3 => Value::Boolean(value),
        }
    }
}

/// Runs a test in either protocol, and deletes all keys after each.
pub(crate) fn in_both(test: impl Fn(Protocol, &mut Connection)) {
    let server = Server::start(&[]);
    for protocol in PROTOCOLS {
        let mut client = server.client(protocol);
        test(protocol, &mut client);
        ask::<()>(&mut client, "FLUSHALL");
    }
}

/// The command that starts a server on a free port. `GUIRA_TEST_SERVER` may name another program
/// that has to behave alike: `ci/module.sh` tests the module in this way.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let other = std::env::var_os("GUIRA_TEST_SERVER");
    let is_other = other.is_some();
    let mut command = Command::new(other.unwrap_or(env!("CARGO_BIN_EXE_guira-server").into()));
    command
        .args(["--port", "0"])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    if !arguments.contains(&"--log") {
        command.args(["--log", "warn"]);
    }
    for (name, _) in std::env::vars_os() {
        if !is_other && name.to_string_lossy().starts_with("GUIRA_") {
            command.env_remove(name);
        }
    }
    command
}

impl Server {
    /// Starts a server, and returns when it is ready.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::spawn(&mut command(arguments))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let (mut server, line) = Self::spawn_anywhere(command);
        let port = line
            .split("on port ")
            .nth(1)
            .and_then(|rest| rest.split('.').next());
        let port = port.and_then(|port| port.parse().ok());
        server.port = port.unwrap_or_else(|| panic!("no port in {line:?}"));
        server
    }

    /// Starts a server that may have no port. Returns the line that it prints when it is ready.
    pub(crate) fn spawn_anywhere(command: &mut Command) -> (Self, String) {
        let mut process = command.spawn().expect("the server starts");
        let out = process.stdout.take().expect("its output is piped");
        let mut line = String::new();
        BufReader::new(out)
            .read_line(&mut line)
            .expect("it says that it is ready");
        assert!(line.contains(" is ready "), "{line:?}");
        (Self { process, port: 0 }, line)
    }

    /// Starts a server by a command with `--log info` and `--metrics`, on a free port. Returns the
    /// address of its metrics.
    pub(crate) fn spawn_with_metrics(command: &mut Command) -> (Self, SocketAddr) {
        let log = tempfile::NamedTempFile::new().expect("a file can be made");
        // Each has a position of its own: the server may still write.
        let server = Self::spawn(command.stderr(log.reopen().expect("it can be opened")));
        let text = fs::read_to_string(log.path()).expect("it can be read");
        let address = text
            .split("metrics are shown address=")
            .nth(1)
            .and_then(|rest| rest.split_whitespace().next());
        let address = address.and_then(|address| address.parse().ok());
        (
            server,
            address.unwrap_or_else(|| panic!("no address in {text}")),
        )
    }

    /// A client of the `redis` crate.
    pub(crate) fn client(&self, protocol: Protocol) -> Connection {
        let version = match protocol {
            Protocol::Resp2 => "resp2",
            Protocol::Resp3 => "resp3",
        };
        let url = format!("redis://127.0.0.1:{}/?protocol={version}", self.port);
        let client = redis::Client::open(url).expect("the address is right");
        // Without a timeout: with one, a pause of the whole machine can fail a command as interrupted.
        client.get_connection().expect("the server is there")
    }

    /// A client that sends and receives bytes.
    pub(crate) fn raw(&self) -> Raw {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server is there");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a timeout can be set");
        stream.set_nodelay(true).expect("the socket is one");
        Raw(BufReader::new(stream))
    }

    pub(crate) fn signal(&self, signal: &str) {
        let status = Command::new("kill")
            .args(["-s", signal, &self.process.id().to_string()])
            .status();
        assert!(status.expect("there is a kill").success());
    }

    /// Stops the server with SIGTERM, and returns its exit status.
    pub(crate) fn terminate(mut self) -> ExitStatus {
        self.signal("TERM");
        self.process.wait().expect("it ends")
    }

    /// Limits the server to at most `more` bytes of address space in addition to its present size.
    /// A later call can raise the limit.
    pub(crate) fn limit_address_space(&self, more: usize) {
        let limit = self.memory("VmSize:") + more;
        let status = Command::new("prlimit")
            .arg(format!("--pid={}", self.process.id()))
            .arg(format!("--as={limit}:"))
            .status();
        assert!(status.expect("prlimit runs").success());
    }

    /// The processor time of all its threads. Other processes do not affect it.
    pub(crate) fn worked(&self) -> Duration {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.process.id()));
        let times = tasks.expect("there is a /proc").filter_map(|task| {
            // A thread may have ended since it was listed.
            let times = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
            times.split(' ').next()?.parse::<u64>().ok()
        });
        Duration::from_nanos(times.sum())
    }

    /// The resident bytes of the process.
    pub(crate) fn resident_bytes(&self) -> usize {
        self.memory("VmRSS:")
    }

    /// The most memory that was resident at any time.
    pub(crate) fn peak_resident_bytes(&self) -> usize {
        self.memory("VmHWM:")
    }

    /// The bytes in the line with this name of the process's status.
    pub(crate) fn memory(&self, name: &str) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let status = status.expect("there is a /proc");
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.split_whitespace().next());
        1024 * kib
            .and_then(|kib| kib.parse::<usize>().ok())
            .expect("it is a number")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A client that sends and receives bytes.
pub(crate) struct Raw(pub(crate) BufReader<TcpStream>);

impl Raw {
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0
            .get_mut()
            .write_all(bytes.as_ref())
            .expect("the server reads");
    }

    /// Reads a line, without its end.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("the server writes");
        assert!(line.ends_with("\r\n"), "{line:?} is no line");
        line.truncate(line.len() - 2);
        line
    }

    /// Sends bytes, and reads a line.
    pub(crate) fn ask(&mut self, bytes: impl AsRef<[u8]>) -> String {
        self.send(bytes);
        self.line()
    }

    /// Closes the sending side, and returns all bytes that arrive until the server closes.
    pub(crate) fn rest(mut self) -> Vec<u8> {
        // The server may have closed already.
        let _ = self.0.get_mut().shutdown(Shutdown::Write);
        let mut rest = Vec::new();
        match self.0.read_to_end(&mut rest) {
            Ok(_) => rest,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => rest,
            Err(error) => panic!("the server does not close: {error}"),
        }
    }
}

/// Encodes a request of these words.
pub(crate) fn request<W: AsRef<[u8]>>(words: &[W]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n", word.as_ref().len()).bytes());
        bytes.extend(word.as_ref());
        bytes.extend(b"\r\n");
    }
    bytes
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

/// Stops the server with this command, which gets no reply.
pub(crate) fn shut_down(client: &mut Connection, words: &str) {
    match try_ask::<Value>(client, words) {
        Ok(value) => panic!("{words} was answered with {value:?}"),
        Err(error) => assert!(error.is_io_error(), "{words}: {error}"),
    }
}

/// The response of the listener for metrics, including the headers.
pub(crate) fn get(address: SocketAddr, path: &str, accept: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it is there");
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n"
    )
    .expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it writes text");
    text
}

/// A number in `INFO memory`. The name ends in a colon.
pub(crate) fn memory(client: &mut Connection, name: &str) -> usize {
    info(client, "memory", name)
}

/// A number in a section of `INFO`. The name ends in a colon.
pub(crate) fn info(client: &mut Connection, section: &str, name: &str) -> usize {
    let info: String = ask(client, &format!("INFO {section}"));
    let line = info.lines().find_map(|line| line.strip_prefix(name));
    let line = line.unwrap_or_else(|| panic!("no {name} in {info}"));
    line.parse().expect("it is a number")
}

/// The text of the error, as the server sent it.
pub(crate) fn text(error: &RedisError) -> String {
    let words = [error.code(), error.detail()];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Waits until `done` returns true, and panics after a timeout.
pub(crate) fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::yield_now();
    }
}

/// True in the long run, which `GUIRA_LONG=1` requests.
pub(crate) fn long() -> bool {
    std::env::var_os("GUIRA_LONG").is_some()
}
