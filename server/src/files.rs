//! The limit for open files. Every client needs one, and so do operations that must never fail for
//! lack of one.

use std::{io, num::NonZeroUsize};
use thiserror::Error;
use tracing::warn;

/// The number of files reserved for listeners, saves, scrapes and dumps, if the limit allows.
const KEPT: u64 = 64;

/// The minimum number of reserved files: a few each for listeners, saves and scrapes.
const KEPT_AT_LEAST: u64 = 24;

/// The server does not start with a lower limit.
const LEAST: u64 = 32;

/// The limit for open files is too low.
#[derive(Debug, Error)]
#[error("the limit for open files is {0}, and {LEAST} is the least: see ulimit -n")]
pub struct TooFewFiles(u64);

/// Raises the limit for open files, so that `clients` fit.
///
/// # Errors
///
/// [`TooFewFiles`]; otherwise returns how many clients fit, which may be fewer.
pub fn raise_limit(clients: NonZeroUsize) -> Result<NonZeroUsize, TooFewFiles> {
    let needed = (clients.get() as u64).saturating_add(KEPT);
    let raised = rlimit::increase_nofile_limit(needed);
    let files = raised.or_else(|error| {
        warn!(%error, "the limit for open files could not be raised");
        rlimit::getrlimit(rlimit::Resource::NOFILE).map(|(soft, _)| soft)
    });
    let files = files.unwrap_or_else(|error: io::Error| {
        warn!(%error, "the limit for open files is not known");
        needed
    });
    let fit = clients_that_fit(files, clients)?;
    if fit < clients {
        warn!(
            files,
            maxclients = fit,
            "the limit for open files is too low for --maxclients, which is lowered: see ulimit -n"
        );
    }
    Ok(fit)
}

/// Returns how many of `clients` would fit if [`raise_limit`] raised the limit as far as the system
/// allows. Changes nothing.
///
/// # Errors
///
/// [`TooFewFiles`]
pub fn clients_that_would_fit(clients: NonZeroUsize) -> Result<NonZeroUsize, TooFewFiles> {
    // If the limit is unknown, raising it reports the error.
    let most = rlimit::getrlimit(rlimit::Resource::NOFILE).map_or(u64::MAX, |(_, hard)| hard);
    clients_that_fit(most, clients)
}

fn clients_that_fit(files: u64, wanted: NonZeroUsize) -> Result<NonZeroUsize, TooFewFiles> {
    if files < LEAST {
        return Err(TooFewFiles(files));
    }
    let rest = files - (files / 2).clamp(KEPT_AT_LEAST, KEPT);
    let rest = usize::try_from(rest).unwrap_or(usize::MAX);
    Ok(NonZeroUsize::new(rest).map_or(wanted, |rest| rest.min(wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_kept_back_from_clients() {
        let wanted = NonZeroUsize::new(10_000).unwrap();
        for (files, clients) in [
            (32, 8),
            (48, 24),
            (100, 50),
            (1_024, 960),
            (10_063, 9_999),
            (10_064, 10_000),
            (1 << 20, 10_000),
        ] {
            assert_eq!(
                clients_that_fit(files, wanted).unwrap().get(),
                clients,
                "{files}"
            );
        }
        let error = clients_that_fit(31, wanted).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the limit for open files is 31, and 32 is the least: see ulimit -n"
        );
    }
}
