//! The log, which is written to standard error.

use clap::ValueEnum;
use std::{
    io::{self, IsTerminal, Write},
    sync::OnceLock,
};
use tracing_subscriber::{
    Layer, Registry,
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt,
    reload::{self, Handle},
    util::{SubscriberInitExt, TryInitError},
};

/// The crate whose modules `--log` can name. Dependencies do not log.
const CRATE: &str = "guira_server";

/// The names of levels for `--log`.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// What `--log` takes, for errors.
const ALLOWED: &str = "give off, error, warn, info, debug or trace, or a list such as \
                       warn,guira_server::persist=debug";

/// The level of modules that a list given with `--log` does not cover.
const DEFAULT: LevelFilter = LevelFilter::INFO;

/// Replaces the filter of the log after it was started.
static FILTER: OnceLock<Handle<Targets, Registry>> = OnceLock::new();

/// The format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One line of text per event.
    Text,
    /// One JSON object per event, in a line.
    Json,
}

/// Starts the log.
///
/// # Errors
///
/// [`TryInitError`] if a log was started before.
pub fn start(filter: Targets, format: LogFormat) -> Result<(), TryInitError> {
    let layer = fmt::layer()
        .with_writer(|| Unfailing(io::stderr()))
        .with_ansi(io::stderr().is_terminal())
        // Internal errors would be printed with `eprintln!`, which panics if it fails.
        .log_internal_errors(false);
    let (filter, handle) = reload::Layer::new(filter);
    let layer = match format {
        LogFormat::Text => layer.with_filter(filter).boxed(),
        LogFormat::Json => layer.json().with_filter(filter).boxed(),
    };
    tracing_subscriber::registry().with(layer).try_init()?;
    FILTER.get_or_init(|| handle);
    Ok(())
}

/// Logs events that pass `filter` from now on. Does nothing if there is no log.
///
/// # Errors
///
/// [`reload::Error`] if a thread has panicked during another change.
pub(crate) fn change(filter: Targets) -> Result<(), reload::Error> {
    FILTER.get().map_or(Ok(()), |handle| handle.reload(filter))
}

/// Discards text that cannot be written: the server outlives the reader of its log.
struct Unfailing<W>(W);

impl<W: Write> Write for Unfailing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Writes a line at once, so that it takes few system calls.
        let _ = self.0.write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = self.0.flush();
        Ok(())
    }
}

/// The filter that `text` describes: a level, or a list with levels of modules. Modules that it does
/// not cover are logged from `info` on.
///
/// # Errors
///
/// The part that is wrong, and what is allowed.
pub(crate) fn filter(text: &str) -> Result<Targets, String> {
    let mut filter = Targets::new().with_default(DEFAULT);
    for part in text.split(',').map(str::trim) {
        let (target, name) = match part.split_once('=') {
            None => (None, part),
            Some((target, level)) => (Some(target.trim()), level.trim()),
        };
        let level = level(name).ok_or_else(|| format!("'{name}' is not a level: {ALLOWED}"))?;
        filter = match target {
            None => filter.with_default(level),
            Some(target) if is_of_this_crate(target) => filter.with_target(target, level),
            Some(target) => {
                return Err(format!("'{target}' is not a module of {CRATE}: {ALLOWED}"));
            }
        };
    }
    Ok(filter)
}

fn level(name: &str) -> Option<LevelFilter> {
    let is_known = LEVELS.iter().any(|level| name.eq_ignore_ascii_case(level));
    is_known.then(|| name.parse().ok()).flatten()
}

fn is_of_this_crate(target: &str) -> bool {
    let is_name = |part: &str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !part.is_empty() && part.chars().all(is_part)
    };
    target.split("::").next() == Some(CRATE) && target.split("::").all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    #[test]
    fn levels_are_of_the_server_or_of_its_modules() {
        let would = |text: &str, target: &str, level: Level| {
            filter(text).unwrap().would_enable(target, &level)
        };
        for name in &LEVELS[1..] {
            assert!(would(name, "guira_server", Level::ERROR), "{name}");
        }
        assert!(!would("off", "guira_server", Level::ERROR));
        assert!(!would("WARN", "guira_server::net", Level::INFO));
        let text = "warn, guira_server::persist=debug";
        assert!(would(text, "guira_server::persist", Level::DEBUG));
        assert!(!would(text, "guira_server::net", Level::INFO));
        // What is not covered is not silenced.
        let text = "guira_server::persist=off";
        assert!(!would(text, "guira_server::persist", Level::ERROR));
        assert!(would(text, "guira_server::net", Level::INFO));
    }

    #[test]
    fn other_words_are_refused_by_name() {
        for (text, wrong) in [
            ("inof", "'inof' is not a level: give off, error,"),
            ("", "'' is not a level"),
            ("warn,", "'' is not a level"),
            ("3", "'3' is not a level"),
            ("guira_server", "'guira_server' is not a level"),
            ("guira_server=inof", "'inof' is not a level"),
            ("warn,guira_sever=debug", "'guira_sever' is not a module"),
            ("guira_server::=debug", "'guira_server::' is not a module"),
            ("guira_server[x]=debug", "'guira_server[x]' is not a module"),
        ] {
            let error = filter(text).unwrap_err();
            assert!(error.starts_with(wrong), "{text}: {error}");
        }
    }

    #[test]
    fn a_writer_that_fails_is_not_noticed() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Err(io::ErrorKind::StorageFull.into())
            }
        }
        let mut writer = Unfailing(Full);
        assert_eq!(writer.write(b"line\n").unwrap(), 5);
        writer.flush().unwrap();
    }
}
