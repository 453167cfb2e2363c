//! The settings of a standby.

use super::{Password, password, values::duration};
use clap::{
    ArgAction, Args,
    builder::{BoolishValueParser, NonEmptyStringValueParser},
};
use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

/// What a standby does.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Standby")]
pub struct Standby {
    /// Primary whose keys this server copies. Clients can only read until REPLICAOF NO ONE.
    #[arg(long, value_name = "HOST:PORT")]
    pub replica_of: Option<Address>,

    /// Interval between copies. The changes since the last copy are lost with the primary.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = interval)]
    pub replica_every: Duration,

    /// Password of the primary. Other users can see the command line: prefer --masterauth-file or
    /// the environment.
    #[arg(long, value_name = "PASSWORD", value_parser = password)]
    pub masterauth: Option<Password>,

    /// File that contains only the password of the primary, in one line.
    #[arg(long, value_name = "FILE")]
    pub masterauth_file: Option<PathBuf>,

    /// User of the primary to authenticate as [default: the default user].
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub masteruser: Option<String>,

    /// Connect to the primary by TLS, whose certificate must be of --tls-ca-cert-file: yes or no.
    #[arg(
        long,
        value_name = "BOOL",
        default_value = "no",
        value_parser = BoolishValueParser::new(),
        hide_possible_values = true,
        action = ArgAction::Set
    )]
    pub tls_replication: bool,
}

/// The address of a primary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Its name or IP address, without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
}

impl FromStr for Address {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "not an address: give HOST:PORT, with a port from 1 to 65535";
        let (host, port) = text.rsplit_once(':').ok_or(FORM)?;
        let inner = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        let host = match inner {
            Some(host) => host,
            None if host.contains(':') => return Err(FORM),
            None => host,
        };
        let port = port
            .parse()
            .ok()
            .filter(|&port: &u16| port > 0)
            .ok_or(FORM)?;
        match host.is_empty() {
            true => Err(FORM),
            false => Ok(Self {
                host: host.to_owned(),
                port,
            }),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        match host.contains(':') {
            true => write!(f, "[{host}]:{port}"),
            false => write!(f, "{host}:{port}"),
        }
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("not an interval: give at least 1s".into()),
        interval => Ok(interval),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_a_port() {
        for text in ["localhost:6379", "10.0.0.1:1", "[::1]:65535"] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
        }
        for text in [
            "",
            "localhost",
            ":1",
            "a:0",
            "a:65536",
            "::1:1",
            "[]:1",
            "a:",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
