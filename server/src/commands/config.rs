//! `CONFIG`: the settings.

use super::{Args, Reply, glob};
use crate::{
    command::Command,
    config::Config,
    files::{self, TooFewFiles},
    keyspace::shown_limit,
    logging,
    server::Server,
    session::Session,
    settings,
};
use guira_commands::shown_rate;
use std::{ffi::OsString, num::NonZeroUsize, os::unix::ffi::OsStringExt, path::PathBuf, sync::Arc};
use tracing::{info, warn};

const LATENCY_THRESHOLD: &str = "latency-monitor-threshold";
const LOG: &str = "log";
const MAX_OUTPUT: &str = "max-output";
const MAX_REPLIES: &str = "max-replies-memory";
const MAX_REQUESTS: &str = "max-requests-memory";
const MAXCLIENTS: &str = "maxclients";
const MAXMEMORY: &str = "maxmemory";
const METRICS_FILTERS: &str = "metrics-filters";
const SAVE_EVERY: &str = "save-every";
const SLOWER_THAN: &str = "slowlog-log-slower-than";
const SLOWLOG_LEN: &str = "slowlog-max-len";
const TIMEOUT: &str = "timeout";

/// The settings that can be changed at run time.
const TUNABLE: [&str; 12] = [
    LATENCY_THRESHOLD,
    LOG,
    MAX_OUTPUT,
    MAX_REPLIES,
    MAX_REQUESTS,
    MAXCLIENTS,
    MAXMEMORY,
    METRICS_FILTERS,
    SAVE_EVERY,
    SLOWER_THAN,
    SLOWLOG_LEN,
    TIMEOUT,
];

/// The maximum length of a value for `CONFIG SET`, because errors repeat it.
const LONGEST: usize = 256;

/// `CONFIG GET pattern [pattern]... | SET setting value... | RESETSTAT`
pub(super) fn config(server: &Arc<Server>, session: &mut Session, args: Args<'_>) -> Reply {
    let [_, word, rest @ ..] = args else {
        return Reply::wrong_arity(b"config");
    };
    match (word.to_ascii_uppercase().as_slice(), rest) {
        (b"GET", [_, ..]) => show(server, rest),
        (b"SET", [_, _, ..]) => set(server, session, rest),
        (b"RESETSTAT", []) => {
            server.stats.reset();
            server.store.keyspace.reset_counts();
            Reply::OK
        }
        (b"REWRITE", []) => Reply::error(
            "ERR CONFIG REWRITE is not supported: edit the file that --config names, or the \
             options the server is started with",
        ),
        _ => Command::help("CONFIG"),
    }
}

fn show(server: &Server, patterns: Args<'_>) -> Reply {
    let mut lower = Vec::new();
    for pattern in patterns {
        if let Err(refusal) = glob::check(pattern) {
            return refusal;
        }
        lower.push(pattern.to_ascii_lowercase());
    }
    let fits = |name: &str| {
        let of_name = |pattern: &Vec<u8>| glob::matches(pattern, name.as_bytes());
        lower.iter().any(of_name)
    };
    Reply::Map(
        shown(server)
            .into_iter()
            .filter(|(name, _)| fits(name))
            .map(|(name, value)| (Reply::bulk(name), Reply::bulk(value)))
            .collect(),
    )
}

/// The settings that `CONFIG GET` shows.
fn shown(server: &Server) -> Vec<(&'static str, String)> {
    let Server {
        config,
        tunable,
        pools,
        slow_log,
        ..
    } = server;
    let path = |path: &Option<PathBuf>| {
        let path = path.as_ref();
        path.map_or_else(String::new, |path| path.display().to_string())
    };
    let every = *tunable.save_every().borrow();
    let protected = if config.protected_mode { "yes" } else { "no" };
    let mode = config.unixsocketperm.map(|mode| format!("{mode:o}"));
    vec![
        ("appendonly", "no".into()),
        ("bind", config.bind.join(" ")),
        ("databases", "1".into()),
        ("default-capacity", config.default_capacity.to_string()),
        ("default-error-rate", shown_rate(config.default_error_rate)),
        ("default-expansion", config.default_expansion.to_string()),
        ("dir", path(&config.dir)),
        ("io-threads", config.threads().to_string()),
        (LATENCY_THRESHOLD, slow_log.latency_threshold().to_string()),
        (LOG, tunable.log()),
        (MAX_OUTPUT, shown_limit(tunable.max_output()).to_string()),
        (MAX_REPLIES, pools.replies.most().to_string()),
        (MAX_REQUESTS, pools.requests.most().to_string()),
        (MAXCLIENTS, tunable.maxclients().to_string()),
        (
            MAXMEMORY,
            shown_limit(server.store.keyspace.limit()).to_string(),
        ),
        ("maxmemory-policy", "noeviction".into()),
        (METRICS_FILTERS, tunable.metrics_filters().to_string()),
        ("port", config.port.to_string()),
        ("protected-mode", protected.into()),
        (
            "replica-every",
            config.standby.replica_every.as_secs().to_string(),
        ),
        (
            "replica-of",
            (config.standby.replica_of.as_ref()).map_or_else(String::new, ToString::to_string),
        ),
        ("proto-max-bulk-len", config.max_argument_size.to_string()),
        (
            "save",
            every.map_or_else(String::new, |every| format!("{} 1", every.as_secs())),
        ),
        (
            SAVE_EVERY,
            every.map_or(0, |every| every.as_secs()).to_string(),
        ),
        (SLOWER_THAN, slow_log.threshold().to_string()),
        (SLOWLOG_LEN, slow_log.most().to_string()),
        (TIMEOUT, tunable.timeout().as_secs().to_string()),
        ("tls-port", config.tls_port.unwrap_or_default().to_string()),
        ("unixsocket", path(&config.unixsocket)),
        ("unixsocketperm", mode.unwrap_or_default()),
    ]
}

/// `CONFIG SET`: changes all of the settings, or none.
fn set(server: &Server, session: &Session, words: Args<'_>) -> Reply {
    let (pairs, []) = words.as_chunks::<2>() else {
        return Reply::wrong_arity(b"config|set");
    };
    let mut named: Vec<(&'static str, OsString)> = Vec::new();
    for &[name, value] in pairs {
        let Some(setting) = find(name) else {
            return unknown(name);
        };
        if named.iter().any(|(other, _)| *other == setting) {
            return refuse(setting, "duplicate parameter");
        }
        if value.len() > LONGEST {
            return refuse(
                setting,
                &format!(
                    "the value has {} bytes, and {LONGEST} are allowed",
                    value.len()
                ),
            );
        }
        named.push((setting, OsString::from_vec(value.to_vec())));
    }
    let config = match settings::parse(&named) {
        Ok(config) => config,
        Err((setting, fault)) => return refuse(setting, &fault),
    };
    for (setting, _) in &named {
        if let Err(fault) = check(server, setting, &config) {
            return refuse(setting, &fault);
        }
    }
    // Applies the settings that can still fail first.
    for fallible in [MAXCLIENTS, LOG] {
        if named.iter().any(|(setting, _)| *setting == fallible)
            && let Err(fault) = prepare(fallible, &config)
        {
            return refuse(fallible, &fault);
        }
    }
    for (setting, value) in named {
        apply(server, setting, &config);
        let value = value.to_string_lossy();
        info!(setting, %value, client = session.client.id, "CONFIG SET");
    }
    if server.store.keyspace.is_over_limit() {
        warn!("the filters need more than maxmemory: inserts are refused");
    }
    Reply::OK
}

/// Returns the name as it is in the table.
fn find(name: &[u8]) -> Option<&'static str> {
    let mut names = TUNABLE.into_iter();
    names.find(|setting| name.eq_ignore_ascii_case(setting.as_bytes()))
}

fn unknown(name: &[u8]) -> Reply {
    let name = String::from_utf8_lossy(&name[..name.len().min(LONGEST)]);
    let error = format!(
        "ERR CONFIG SET cannot change '{name}': it changes {}",
        TUNABLE.join(", ")
    );
    Reply::Error(error.into())
}

fn refuse(setting: &str, fault: &str) -> Reply {
    let error =
        format!("ERR CONFIG SET failed (possibly related to argument '{setting}') - {fault}");
    Reply::Error(error.into())
}

/// Checks whether the server can apply this setting of `config`. Changes nothing.
fn check(server: &Server, setting: &str, config: &Config) -> Result<(), String> {
    match setting {
        SAVE_EVERY if config.save_every().is_some() && server.saver.directory().is_none() => {
            Err("there is nowhere to save to: start the server with --dir".into())
        }
        MAXCLIENTS => all_fit(config, files::clients_that_would_fit(config.maxclients)),
        _ => Ok(()),
    }
}

/// Checks whether all clients of `config` fit.
fn all_fit(config: &Config, fit: Result<NonZeroUsize, TooFewFiles>) -> Result<(), String> {
    let (fit, wanted) = (fit.map_err(|error| error.to_string())?, config.maxclients);
    match fit < wanted {
        true => Err(format!(
            "{wanted} clients do not fit: the limit for open files allows from 1 to {fit}"
        )),
        false => Ok(()),
    }
}

/// Changes what a setting of `config` requires, if the process or its log can refuse that.
fn prepare(setting: &str, config: &Config) -> Result<(), String> {
    match setting {
        MAXCLIENTS => all_fit(config, files::raise_limit(config.maxclients)),
        LOG => logging::change(config.log.clone()).map_err(|error| error.to_string()),
        _ => Ok(()),
    }
}

/// Applies one setting of `config`, after [`prepare`]. This cannot fail, so a command changes all of
/// its settings or none.
fn apply(server: &Server, setting: &str, config: &Config) {
    let tunable = &server.tunable;
    match setting {
        LATENCY_THRESHOLD => {
            let threshold = config.latency_monitor_threshold;
            server.slow_log.set_latency_threshold(threshold.into());
        }
        LOG => tunable.set_log(config.log.to_string()),
        MAX_OUTPUT => tunable.set_max_output(config.output_limit()),
        MAX_REPLIES => {
            let pool = &server.pools.replies;
            pool.set_most(config.max_replies_memory);
            while pool.bytes() > pool.most() && server.clients.end_largest(pool, None, 0).is_some()
            {
                server.stats.output_limit_reached();
            }
        }
        MAX_REQUESTS => server.pools.requests.set_most(config.max_requests_memory),
        MAXCLIENTS => tunable.set_maxclients(config.maxclients),
        MAXMEMORY => server.store.keyspace.set_limit(config.memory_limit()),
        METRICS_FILTERS => tunable.set_metrics_filters(config.metrics_filters),
        SAVE_EVERY => tunable.set_save_every(config.save_every()),
        SLOWER_THAN => server
            .slow_log
            .set_threshold(config.slowlog_log_slower_than),
        SLOWLOG_LEN => server.slow_log.set_most(config.slowlog_max_len as usize),
        TIMEOUT => tunable.set_timeout(config.timeout),
        other => unreachable!("{other} is not in the table"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::persist::Saver;
    use clap::{CommandFactory, Parser};

    fn server() -> Arc<Server> {
        let saver = Saver::open(None).unwrap();
        Arc::new(Server::new(Config::parse_from([""]), saver))
    }

    #[test]
    fn each_tunable_setting_is_an_option_and_is_shown_as_it_was_set() {
        let server = server();
        let session = Session::new(1, String::new(), true);
        let command = Config::command();
        for setting in TUNABLE {
            let mut options = command.get_arguments();
            assert!(
                options.any(|option| option.get_long() == Some(setting)),
                "{setting}"
            );
            let value = match setting {
                LOG => "warn",
                // The server has no directory for saves.
                SAVE_EVERY => "0",
                MAX_OUTPUT => "77777",
                _ => "77",
            };
            let words = [setting.as_bytes(), value.as_bytes()];
            assert_eq!(set(&server, &session, &words), Reply::OK, "{setting}");
            let expected = Reply::Map(vec![(Reply::bulk(setting), Reply::bulk(value))]);
            assert_eq!(show(&server, &[setting.as_bytes()]), expected);
        }
        assert_eq!(server.store.keyspace.limit(), 77);
        assert_eq!(server.tunable.unauthenticated_clients(), 39);
    }
}
