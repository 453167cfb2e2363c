//! How long tests are to run.

use std::{env, time::Duration};

/// True if `GUIRA_LONG` is set: tests take their larger sizes.
pub(crate) fn is_long() -> bool {
    env::var_os("GUIRA_LONG").is_some()
}

/// The time in `GUIRA_STRESS_SECONDS`, if it is set.
pub(crate) fn stress_time() -> Option<Duration> {
    let seconds = env::var("GUIRA_STRESS_SECONDS").ok()?;
    let seconds = seconds
        .parse()
        .expect("GUIRA_STRESS_SECONDS is a whole number");
    Some(Duration::from_secs(seconds))
}
