//! How long the tests that run for a time are to run.

use std::{env, time::Duration};

/// The time in `GUIRA_STRESS_SECONDS`, if it is set.
pub(crate) fn stress_time() -> Option<Duration> {
    let seconds = env::var("GUIRA_STRESS_SECONDS").ok()?;
    let seconds = seconds
        .parse()
        .expect("GUIRA_STRESS_SECONDS is a whole number");
    Some(Duration::from_secs(seconds))
}
