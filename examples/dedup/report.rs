//! The output other than lines: a progress bar and a closing line.

use crate::{failure::Failure, input::Input, pipeline::Totals, seen::Seen};
use indicatif::{DecimalBytes, HumanBytes, HumanCount, ProgressBar, ProgressStyle};
use std::{
    io::{self, IsTerminal},
    time::Duration,
};

/// A bar if the size of every input is known, and a spinner otherwise. It is hidden unless standard
/// error is a terminal and standard output is not, because on a terminal the lines themselves show
/// the progress.
pub(crate) fn progress(inputs: &[Input], quiet: bool) -> Result<ProgressBar, Failure> {
    if quiet || io::stdout().is_terminal() || !io::stderr().is_terminal() {
        return Ok(ProgressBar::hidden());
    }
    let bytes: Option<u64> = inputs.iter().map(Input::bytes).sum::<Result<_, _>>()?;
    let (progress, template) = match bytes {
        Some(bytes) => (
            ProgressBar::new(bytes),
            "{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
        ),
        None => (
            ProgressBar::new_spinner(),
            "{spinner} {bytes}, {bytes_per_sec}",
        ),
    };
    progress.enable_steady_tick(Duration::from_millis(100));
    Ok(progress.with_style(ProgressStyle::with_template(template).expect("the template is valid")))
}

pub(crate) fn closing_line(totals: &Totals, filter: &Seen, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    let fill = filter.len() as f64 / filter.capacity() as f64;
    // The rate is proportional to the load, because the probability of one comparison is small.
    let rate = filter.false_positive_rate() * fill;
    // The rate rose from 0 with each line, so the average is half of it.
    let dropped = rate / 2.0 * totals.distinct as f64;
    format!(
        "{} {}, {} distinct; {} lines/s, {}/s; filter of {}, {:.0} % full, \
         false-positive rate {rate:.1e}: {dropped:.1e} lines wrongly dropped are to be expected",
        HumanCount(totals.lines),
        if totals.lines == 1 { "line" } else { "lines" },
        HumanCount(totals.distinct),
        HumanCount((totals.lines as f64 / seconds) as u64),
        DecimalBytes((totals.bytes as f64 / seconds) as u64),
        HumanBytes(filter.memory_usage() as u64),
        fill * 100.0,
    )
}
