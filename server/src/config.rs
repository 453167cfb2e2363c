//! The settings. [`settings`](crate::settings) reads them.

mod password;
mod standby;
mod values;

pub use password::Password;
pub use standby::{Address, Standby};

pub(crate) use password::password;

use crate::{
    logging::{self, LogFormat},
    resp::Limits,
};
use clap::{
    ArgAction, Parser, ValueEnum,
    builder::{BoolishValueParser, NonEmptyStringValueParser},
};
use guira_commands::{MAX_CAPACITY, MAX_EXPANSION, MIN_CAPACITY, Options};
use std::{num::NonZeroUsize, path::PathBuf, time::Duration};
use tracing_subscriber::filter::Targets;
use values::{
    command, count, duration, microseconds, number, output_size, permissions, rate, request_size,
    size,
};

/// The time between saves if a directory for them is given: a crash loses the changes of a minute.
const SAVE_EVERY: Duration = Duration::from_secs(60);

const AFTER_HELP: &str = r#"Sizes are in bytes, or end in kb, mb or gb (powers of 1024). Times are in seconds, or end in s, m
or h.

Each option can also be set by an environment variable: GUIRA_MAX_OUTPUT for --max-output. Or by
the TOML file that --config names: max-output = "64mb". The command line takes precedence over
the environment, and the environment over the file.

Examples:
  guira-server
      Listens on 127.0.0.1:6379 and keeps everything in memory only.
  guira-server --dir /var/lib/guira --save-every 5m --metrics 127.0.0.1:9121
      Loads the filters saved in this directory. Saves every five minutes and at exit. Serves
      metrics for Prometheus at http://127.0.0.1:9121/metrics.
  guira-server --bind 0.0.0.0 --maxmemory 8gb --requirepass-file /etc/guira/password
      Accepts clients from other machines if they know the password.
  guira-server --tcp false --unixsocket /run/guira/guira.sock --unixsocketperm 770
      Listens on this socket only.
  guira-server estimate 1000000 MAXCAPACITY 50000000 ERROR 0.001
      Prints what a key takes that CF.RESERVE makes with these arguments, at each size, and ends.

Signals:
  SIGTERM, SIGINT
      Saves if there is a --dir, completes the commands in flight, and exits with code 0. If the
      save fails, the server keeps running. A second SIGTERM tries to save once more and exits in
      any case. A second SIGINT exits at once. The exit code is then 1.
  SIGHUP
      Reloads the certificates of --tls-port. The server keeps running when its terminal closes."#;

/// A cuckoo filter server: the CF.* commands of the Redis protocol, on any number of cores.
#[derive(Clone, Debug, Parser)]
#[command(name = "guira-server", version, after_help = AFTER_HELP)]
pub struct Config {
    /// TOML file with settings.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Address or host name to listen on. Repeat the option, or separate names by commas, for
    /// several.
    #[arg(
        long,
        value_name = "HOST",
        default_value = "127.0.0.1",
        value_delimiter = ',',
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub bind: Vec<String>,

    /// Refuse to start if other machines could connect without a password or a certificate: yes or
    /// no.
    #[arg(
        long,
        value_name = "BOOL",
        default_value = "yes",
        value_parser = BoolishValueParser::new(),
        hide_possible_values = true,
        action = ArgAction::Set
    )]
    pub protected_mode: bool,

    /// TCP port. With 0 the system chooses one, and the log shows it.
    #[arg(long, value_name = "PORT", default_value_t = 6379)]
    pub port: u16,

    /// Listen on --port. Without it, --unixsocket or --tls-port is required.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    pub tcp: bool,

    /// Path of a Unix socket to listen on.
    #[arg(long, value_name = "PATH")]
    pub unixsocket: Option<PathBuf>,

    /// Permissions of the Unix socket, in octal [default: 600].
    #[arg(long, value_name = "MODE", value_parser = permissions)]
    pub unixsocketperm: Option<u32>,

    /// Port for TLS, in addition to --port. With 0 the system chooses one.
    #[arg(long, value_name = "PORT", help_heading = "TLS")]
    pub tls_port: Option<u16>,

    /// PEM file with the server's certificate and its chain.
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    pub tls_cert_file: Option<PathBuf>,

    /// PEM file with the private key of the certificate.
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    pub tls_key_file: Option<PathBuf>,

    /// PEM file with the certificate authorities of client certificates.
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    pub tls_ca_cert_file: Option<PathBuf>,

    /// Whether clients must present a certificate.
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "yes",
        help_heading = "TLS"
    )]
    pub tls_auth_clients: AuthClients,

    /// Worker threads [default: the number of cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,

    /// Password for AUTH and HELLO, at most 256 bytes. Other users can see the command line:
    /// prefer --requirepass-file or the environment.
    #[arg(long, value_name = "PASSWORD", value_parser = password)]
    pub(crate) requirepass: Option<Password>,

    /// File that contains only the password, in one line.
    #[arg(long, value_name = "FILE")]
    pub requirepass_file: Option<PathBuf>,

    /// Command to disable, as if it did not exist. Repeat the option, or separate names by commas,
    /// for several.
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = command)]
    pub disable_command: Vec<&'static str>,

    /// Directory to load filters from at startup and to save them to.
    #[arg(long, value_name = "DIRECTORY", help_heading = "Saving")]
    pub dir: Option<PathBuf>,

    /// Interval between saves. One without changes is left out. 0: never [default: 60s with --dir].
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Saving")]
    save_every: Option<Duration>,

    /// Save when the server stops.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set, help_heading = "Saving")]
    pub save_on_exit: bool,

    /// What a standby does.
    #[command(flatten)]
    pub standby: Standby,

    /// Distinct items that fit into a key created by an insert, before the filter grows.
    #[arg(
        long,
        value_name = "N",
        default_value_t = Options::default().capacity as i64,
        value_parser = clap::value_parser!(i64).range(MIN_CAPACITY..=MAX_CAPACITY),
        help_heading = "Keys created by inserts"
    )]
    pub default_capacity: i64,

    /// Highest false-positive rate of a key created by an insert, at every size.
    #[arg(
        long,
        value_name = "RATE",
        default_value_t = Options::default().rate,
        value_parser = rate,
        help_heading = "Keys created by inserts"
    )]
    pub default_error_rate: f64,

    /// Whether a key created by an insert grows. 0: its size is fixed.
    #[arg(
        long,
        value_name = "N",
        default_value_t = Options::default().expansion,
        value_parser = clap::value_parser!(u16).range(0..=i64::from(MAX_EXPANSION)),
        help_heading = "Keys created by inserts"
    )]
    pub default_expansion: u16,

    /// Bytes for all filters together. Beyond it, CF.RESERVE fails, and so do inserts once filters
    /// have grown beyond it. 0: no limit.
    #[arg(long, value_name = "SIZE", default_value = "1gb", value_parser = size, help_heading = "Limits")]
    pub maxmemory: usize,

    /// Clients at a time. At most half of them may be unauthenticated.
    #[arg(
        long,
        value_name = "N",
        default_value = "10000",
        value_parser = count,
        help_heading = "Limits"
    )]
    pub maxclients: NonZeroUsize,

    /// Arguments per command.
    #[arg(
        long,
        value_name = "N",
        default_value = "1048576",
        value_parser = count,
        help_heading = "Limits"
    )]
    pub max_arguments: NonZeroUsize,

    /// Bytes per argument. Chunks of dumps have up to 1 MiB.
    #[arg(long, value_name = "SIZE", default_value = "16mb", value_parser = request_size, help_heading = "Limits")]
    pub max_argument_size: usize,

    /// Bytes per command, with all its arguments.
    #[arg(long, value_name = "SIZE", default_value = "64mb", value_parser = request_size, help_heading = "Limits")]
    pub max_request_size: usize,

    /// Bytes of incomplete and queued requests, of all clients together. A client whose request
    /// exceeds it is disconnected.
    #[arg(long, value_name = "SIZE", default_value = "256mb", value_parser = size, help_heading = "Limits")]
    pub max_requests_memory: usize,

    /// Bytes of replies that a client has not read, at least 64kb. A client with more is
    /// disconnected. 0: no limit.
    #[arg(long, value_name = "SIZE", default_value = "64mb", value_parser = output_size, help_heading = "Limits")]
    pub max_output: usize,

    /// Bytes of replies that clients have not read, of all clients together. Beyond it, the client
    /// with the most is disconnected.
    #[arg(long, value_name = "SIZE", default_value = "256mb", value_parser = size, help_heading = "Limits")]
    pub max_replies_memory: usize,

    /// Time after which an unauthenticated client is disconnected, if there is a password. 0:
    /// never.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration, help_heading = "Limits")]
    pub authentication_timeout: Duration,

    /// Time after which an idle client is disconnected. 0: never.
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = duration, help_heading = "Limits")]
    pub timeout: Duration,

    /// Duration in microseconds from which SLOWLOG records a command. -1: it records none.
    #[arg(
        long,
        value_name = "MICROSECONDS",
        default_value_t = 10_000,
        allow_negative_numbers = true,
        value_parser = microseconds,
        help_heading = "Monitoring"
    )]
    pub slowlog_log_slower_than: i64,

    /// Number of commands that SLOWLOG keeps.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 128,
        value_parser = number,
        help_heading = "Monitoring"
    )]
    pub slowlog_max_len: u32,

    /// Duration in milliseconds from which LATENCY samples a command. 0: it samples none.
    #[arg(
        long,
        value_name = "MILLISECONDS",
        default_value_t = 0,
        value_parser = number,
        help_heading = "Monitoring"
    )]
    pub latency_monitor_threshold: u32,

    /// Address at which to serve metrics for Prometheus, at http://ADDR/metrics.
    #[arg(long, value_name = "ADDR", help_heading = "Monitoring")]
    pub metrics: Option<std::net::SocketAddr>,

    /// Start no server: exit with 0 if the one that serves --metrics is ready, and otherwise with 1.
    #[arg(
        long,
        value_name = "BOOL",
        default_value_t = false,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = ArgAction::Set,
        help_heading = "Monitoring"
    )]
    pub check_ready: bool,

    /// Number of filters that have metrics of their own, the largest ones. 0: none.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1_000,
        value_parser = number,
        help_heading = "Monitoring"
    )]
    pub metrics_filters: u32,

    /// What to log: off, error, warn, info, debug or trace, or a list such as
    /// warn,guira_server::persist=debug.
    #[arg(
        long,
        value_name = "FILTER",
        default_value = "info",
        value_parser = logging::filter,
        help_heading = "Monitoring"
    )]
    pub log: Targets,

    /// Format of the log, which is written to standard error.
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        help_heading = "Monitoring"
    )]
    pub log_format: LogFormat,

    /// The settings of the file that variables of the environment outrank with other values.
    #[arg(skip)]
    pub outranked: Vec<Outranked>,
}

/// A setting of the file that does not apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outranked {
    /// The name of the setting.
    pub setting: String,
    /// The variable of the environment that applies instead.
    pub variable: String,
}

/// Which clients must have a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AuthClients {
    /// Every client must present one.
    Yes,
    /// No client is asked for one.
    No,
    /// A client may omit it, but one that is presented must be valid.
    Optional,
}

impl Config {
    /// Checks the combination of settings. Each setting by itself is valid.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let tls = self.tls_port.is_some();
        let cert_and_key = [&self.tls_cert_file, &self.tls_key_file];
        let rules = [
            (
                !self.tcp && self.unixsocket.is_none() && !tls,
                "--tcp false leaves nothing to listen on: give a --unixsocket or a --tls-port",
            ),
            (
                tls && cert_and_key.iter().any(|file| file.is_none()),
                "--tls-port needs a --tls-cert-file and a --tls-key-file",
            ),
            (
                tls && self.tls_auth_clients != AuthClients::No && self.tls_ca_cert_file.is_none(),
                "--tls-auth-clients needs a --tls-ca-cert-file: set one, or use --tls-auth-clients no",
            ),
            (
                !tls && !self.standby.tls_replication
                    && cert_and_key.iter().any(|file| file.is_some()),
                "--tls-cert-file and --tls-key-file need a --tls-port, or --tls-replication",
            ),
            (
                self.unixsocketperm.is_some() && self.unixsocket.is_none(),
                "--unixsocketperm needs a --unixsocket",
            ),
            (
                self.requirepass.is_some() && self.requirepass_file.is_some(),
                "--requirepass and --requirepass-file both set the password: remove one of them",
            ),
            (
                self.save_every.is_some() && self.dir.is_none(),
                "--save-every needs a --dir to save to",
            ),
            (
                self.standby.masterauth.is_some() && self.standby.masterauth_file.is_some(),
                "--masterauth and --masterauth-file both set the password: remove one of them",
            ),
            (
                self.standby.masteruser.is_some()
                    && self.standby.masterauth.is_none()
                    && self.standby.masterauth_file.is_none(),
                "--masteruser needs a --masterauth or a --masterauth-file",
            ),
            (
                self.standby.tls_replication && self.tls_ca_cert_file.is_none(),
                "--tls-replication needs a --tls-ca-cert-file",
            ),
        ];
        let broken = rules.into_iter().find(|(broken, _)| *broken);
        broken.map_or(Ok(()), |(_, rule)| Err(rule))
    }

    /// The limits on what a client may send.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits {
            arguments: self.max_arguments.get(),
            argument_bytes: self.max_argument_size,
            request_bytes: self.max_request_size,
        }
    }

    /// True if a port needs neither a password nor a certificate, and `--protected-mode` forbids
    /// that other machines reach it.
    #[must_use]
    pub fn is_protected(&self) -> bool {
        let tls = self.tls_port.is_some() && self.tls_auth_clients != AuthClients::Yes;
        self.protected_mode && (self.tcp || tls) && self.requirepass.is_none()
    }

    /// The number of worker threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.map_or_else(cores, usize::from)
    }

    /// The password, if there is one.
    #[must_use]
    pub fn password(&self) -> Option<&Password> {
        self.requirepass.as_ref()
    }

    /// The time between saves, or `None` if there are none.
    #[must_use]
    pub fn save_every(&self) -> Option<Duration> {
        let by_default = self.dir.as_ref().map(|_| SAVE_EVERY);
        let every = self.save_every.or(by_default);
        every.filter(|every| !every.is_zero())
    }

    /// The most bytes that filters may take.
    #[must_use]
    pub fn memory_limit(&self) -> usize {
        limit(self.maxmemory)
    }

    /// The most bytes of replies that a client may leave unread.
    #[must_use]
    pub fn output_limit(&self) -> usize {
        limit(self.max_output)
    }

    /// The options of keys that inserts create.
    #[must_use]
    pub fn default_options(&self) -> Options {
        Options {
            capacity: usize::try_from(self.default_capacity).unwrap_or(usize::MAX),
            rate: self.default_error_rate,
            expansion: self.default_expansion,
            ..Options::default()
        }
    }
}

/// The limit that a setting names, where 0 means none.
fn limit(size: usize) -> usize {
    match size {
        0 => usize::MAX,
        bytes => bytes,
    }
}

#[cfg(test)]
mod tests;
