//! The command line.

use crate::resp::Limits;
use clap::{Parser, ValueEnum};
use std::{fmt, net::IpAddr, num::NonZeroUsize, path::PathBuf, time::Duration};
use subtle::ConstantTimeEq;

const AFTER_HELP: &str = "\
Sizes are bytes, or end in kb, mb or gb (powers of 1024). Times are seconds, or end in s, m or h.

Examples:
  guira-server
      Listens on 127.0.0.1:6379 and keeps everything in memory only.
  guira-server --dir /var/lib/guira --save-every 5m --metrics 127.0.0.1:9121
      Loads what was saved there, saves every five minutes and at the end, and shows
      metrics for Prometheus at http://127.0.0.1:9121/metrics.
  GUIRA_REQUIREPASS=... guira-server --bind 0.0.0.0 --maxmemory 8gb
      Is reachable from elsewhere, for clients that know the password.

Signals: SIGTERM and SIGINT save if there is a --dir, finish what is in flight, and exit 0. If
the save fails the server goes on; a second SIGINT ends it at once, without one.";

/// A cuckoo filter server: the CF.* commands of the Redis protocol, on any number of cores.
#[derive(Clone, Debug, Parser)]
#[command(name = "guira-server", version, after_help = AFTER_HELP)]
pub struct Config {
    /// Address to listen on. Anything but loopback should have a --requirepass.
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub bind: IpAddr,

    /// TCP port; 0 lets the system choose one, which is printed.
    #[arg(long, value_name = "PORT", default_value_t = 6379)]
    pub port: u16,

    /// Worker threads; as many as there are cores unless given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,

    /// Password that clients must give with AUTH or HELLO, at most 256 bytes.
    /// Better given in the environment: other users can see command lines.
    #[arg(long, value_name = "PASSWORD", env = "GUIRA_REQUIREPASS", hide_env_values = true, value_parser = password)]
    requirepass: Option<Password>,

    /// Directory to load filters from at the start, and to save them to.
    #[arg(long, value_name = "DIRECTORY", help_heading = "Saving")]
    pub dir: Option<PathBuf>,

    /// Saves at this interval, whether or not anything has changed; 0 for never.
    #[arg(long, value_name = "TIME", requires = "dir", value_parser = duration, help_heading = "Saving")]
    save_every: Option<Duration>,

    /// Whether to save when the server ends.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set, help_heading = "Saving")]
    pub save_on_exit: bool,

    /// Bytes for all filters together; 0 for no limit. CF.RESERVE beyond it is an
    /// error, and so are inserts once filters have grown beyond it.
    #[arg(long, value_name = "SIZE", default_value = "1gb", value_parser = size, help_heading = "Limits")]
    pub maxmemory: usize,

    /// Clients at a time.
    #[arg(
        long,
        value_name = "N",
        default_value = "10000",
        help_heading = "Limits"
    )]
    pub maxclients: NonZeroUsize,

    /// Arguments of a command.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1_048_576,
        help_heading = "Limits"
    )]
    pub max_arguments: usize,

    /// Bytes of one argument. Pieces of dumps are up to 1 MiB.
    #[arg(long, value_name = "SIZE", default_value = "16mb", value_parser = size, help_heading = "Limits")]
    pub max_argument_size: usize,

    /// Bytes of a command with all its arguments.
    #[arg(long, value_name = "SIZE", default_value = "64mb", value_parser = size, help_heading = "Limits")]
    pub max_request_size: usize,

    /// Bytes of replies that a client has not read; one with more is disconnected.
    #[arg(long, value_name = "SIZE", default_value = "64mb", value_parser = size, help_heading = "Limits")]
    pub max_output: usize,

    /// Disconnects clients that have been idle for so long; 0 for never.
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = duration, help_heading = "Limits")]
    pub timeout: Duration,

    /// Microseconds from which on SLOWLOG keeps a command; -1: it keeps none.
    #[arg(
        long,
        value_name = "MICROSECONDS",
        default_value_t = 10_000,
        allow_negative_numbers = true,
        help_heading = "Seeing into it"
    )]
    pub slowlog_log_slower_than: i64,

    /// Commands that SLOWLOG keeps.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 128,
        help_heading = "Seeing into it"
    )]
    pub slowlog_max_len: u32,

    /// Shows metrics for Prometheus at http://ADDR/metrics.
    #[arg(long, value_name = "ADDR", help_heading = "Seeing into it")]
    pub metrics: Option<std::net::SocketAddr>,

    /// What to log: error, warn, info, debug, trace, or a list such as
    /// warn,guira_server::persist=debug.
    #[arg(
        long,
        value_name = "FILTER",
        default_value = "info",
        env = "GUIRA_LOG",
        help_heading = "Seeing into it"
    )]
    pub log: String,

    /// How to write the log, to the standard error output.
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        help_heading = "Seeing into it"
    )]
    pub log_format: LogFormat,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// A line of text for each event.
    Text,
    /// A JSON object in a line for each event.
    Json,
}

impl Config {
    /// What a client may send.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits {
            arguments: self.max_arguments,
            argument_bytes: self.max_argument_size,
            request_bytes: self.max_request_size,
        }
    }

    /// Worker threads.
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

    /// The time between saves, if there are to be any.
    #[must_use]
    pub fn save_every(&self) -> Option<Duration> {
        self.save_every.filter(|every| !every.is_zero())
    }

    /// Bytes that filters may take.
    #[must_use]
    pub fn memory_limit(&self) -> usize {
        match self.maxmemory {
            0 => usize::MAX,
            bytes => bytes,
        }
    }

    /// What `CONFIG GET` shows.
    #[must_use]
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let seconds = |time: Duration| time.as_secs().to_string();
        let directory = self.dir.as_ref();
        vec![
            ("appendonly", "no".into()),
            ("bind", self.bind.to_string()),
            ("databases", "1".into()),
            (
                "dir",
                directory.map_or_else(String::new, |path| path.display().to_string()),
            ),
            ("io-threads", self.threads().to_string()),
            ("maxclients", self.maxclients.to_string()),
            ("maxmemory", self.maxmemory.to_string()),
            ("maxmemory-policy", "noeviction".into()),
            ("port", self.port.to_string()),
            ("proto-max-bulk-len", self.max_argument_size.to_string()),
            (
                "save",
                self.save_every()
                    .map_or_else(String::new, |every| format!("{} 1", every.as_secs())),
            ),
            ("timeout", seconds(self.timeout)),
        ]
    }
}

/// A password, which is not shown anywhere.
#[derive(Clone)]
pub struct Password {
    padded: [u8; Self::LONGEST],
    length: usize,
}

impl Password {
    const LONGEST: usize = 256;

    fn new(bytes: &[u8]) -> Option<Self> {
        let mut padded = [0; Self::LONGEST];
        padded.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self {
            padded,
            length: bytes.len(),
        })
    }

    /// Compares in a time that does not depend on where the two differ.
    #[must_use]
    pub fn is(&self, guess: &[u8]) -> bool {
        let Some(guess) = Self::new(guess) else {
            return false;
        };
        let same = self.padded.ct_eq(&guess.padded) & self.length.ct_eq(&guess.length);
        same.into()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

fn password(text: &str) -> Result<Password, String> {
    if text.is_empty() {
        return Err("a password cannot be empty".into());
    }
    Password::new(text.as_bytes()).ok_or_else(|| "a password has at most 256 bytes".into())
}

fn size(text: &str) -> Result<usize, String> {
    let lower = text.to_ascii_lowercase();
    let units = [("kb", 1 << 10), ("mb", 1 << 20), ("gb", 1 << 30), ("", 1)];
    quantity(&lower, &units)
        .and_then(|bytes| usize::try_from(bytes).ok())
        .ok_or_else(|| "not a size: give bytes, or a number with kb, mb or gb".into())
}

fn duration(text: &str) -> Result<Duration, String> {
    let units = [("s", 1), ("m", 60), ("h", 3_600), ("", 1)];
    quantity(text, &units)
        .map(Duration::from_secs)
        .ok_or_else(|| "not a time: give seconds, or a number with s, m or h".into())
}

/// A number with the first of `units` that it ends in.
fn quantity(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    units.iter().find_map(|(unit, factor)| {
        let number: u64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        number.checked_mul(*factor)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Config::command().debug_assert();
    }

    #[test]
    fn no_time_between_saves_is_no_saves() {
        for (time, expected) in [("0", None), ("2m", Some(Duration::from_secs(120)))] {
            let config = Config::parse_from(["", "--dir", ".", "--save-every", time]);
            assert_eq!(config.save_every(), expected);
        }
    }

    #[test]
    fn sizes_and_times_have_units() {
        assert_eq!(size("12"), Ok(12));
        assert_eq!(size("3kb"), Ok(3 << 10));
        assert_eq!(size("2GB"), Ok(2 << 30));
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        for bad in ["", "x", "-1", "1.5gb", "99999999999999999999"] {
            assert!(size(bad).is_err() && duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_the_password_itself_is_right() {
        let password = Password::new(b"secret").unwrap();
        assert!(password.is(b"secret"));
        for guess in [&b""[..], b"secre", b"secret\0", b"secreT", &[b's'; 300]] {
            assert!(!password.is(guess));
        }
        assert!(!format!("{password:?}").contains("secret"));
    }
}
