//! Parses the values of settings.

use crate::command::COMMANDS;
use guira_commands::{MIN_RATE, number as whole};
use std::{num::NonZeroUsize, time::Duration};

pub(super) fn count(text: &str) -> Result<NonZeroUsize, String> {
    whole(text.as_bytes())
        .and_then(NonZeroUsize::new)
        .ok_or_else(|| format!("not a count: give a number from 1 to {}", usize::MAX))
}

pub(super) fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok();
    rate.filter(|rate| (MIN_RATE..1.0).contains(rate))
        .ok_or_else(|| format!("not a rate: give a number from {MIN_RATE:?} to less than 1"))
}

pub(super) fn command(name: &str) -> Result<&'static str, String> {
    let mut commands = COMMANDS.iter();
    commands
        .find(|command| command.is_called(name.as_bytes()))
        .map(|command| command.name)
        .ok_or_else(|| "not a command of this server: COMMAND LIST has their names".into())
}

pub(super) fn permissions(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok();
    mode.filter(|mode| *mode <= 0o777)
        .ok_or_else(|| "not permissions: give octal digits from 0 to 777".into())
}

pub(super) fn size(text: &str) -> Result<usize, String> {
    let lower = text.to_ascii_lowercase();
    let units = [("kb", 1 << 10), ("mb", 1 << 20), ("gb", 1 << 30), ("", 1)];
    quantity(&lower, &units)
        .and_then(|bytes| usize::try_from(bytes).ok())
        .ok_or_else(|| "not a size: give bytes, or a number with kb, mb or gb".into())
}

/// The lowest limit for unread replies. It is larger than the replies of `AUTH`, `CONFIG` and
/// `INFO`, which an operator needs to find and raise a limit that is too low.
const LEAST_OUTPUT: usize = 64 << 10;

/// A limit for replies, where 0 means none.
pub(super) fn output_size(text: &str) -> Result<usize, String> {
    match size(text)? {
        1..LEAST_OUTPUT => Err(format!(
            "too small: give 0 for no limit, or at least {LEAST_OUTPUT} bytes"
        )),
        bytes => Ok(bytes),
    }
}

/// A size of a request or of a part of it, whose positions are 32-bit numbers.
pub(super) fn request_size(text: &str) -> Result<usize, String> {
    let most = u32::MAX as usize;
    match size(text)? {
        bytes if bytes <= most => Ok(bytes),
        _ => Err(format!("too large: at most {most} bytes")),
    }
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let units = [("s", 1), ("m", 60), ("h", 3_600), ("", 1)];
    quantity(text, &units)
        .map(Duration::from_secs)
        .ok_or_else(|| "not a time: give seconds, or a number with s, m or h".into())
}

/// A duration of a command, or -1 for none.
pub(super) fn microseconds(text: &str) -> Result<i64, String> {
    let time = whole(text.as_bytes());
    time.filter(|time| *time >= -1).ok_or_else(|| {
        format!(
            "not a time: give -1, or microseconds from 0 to {}",
            i64::MAX
        )
    })
}

/// A whole number.
pub(super) fn number(text: &str) -> Result<u32, String> {
    whole(text.as_bytes()).ok_or_else(|| format!("not a number: give one from 0 to {}", u32::MAX))
}

/// A number whose unit is the first of `units` that the text ends in.
fn quantity(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    units.iter().find_map(|(unit, factor)| {
        let number: u64 = whole(text.strip_suffix(unit)?.trim().as_bytes())?;
        number.checked_mul(*factor)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_octal() {
        assert_eq!(permissions("770"), Ok(0o770));
        for bad in ["", "rwx", "8", "1000", "-1"] {
            assert!(permissions(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_and_times_have_units() {
        assert_eq!(size("12"), Ok(12));
        assert_eq!(size("3kb"), Ok(3 << 10));
        assert_eq!(size("2GB"), Ok(2 << 30));
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        assert_eq!(request_size("1gb"), Ok(1 << 30));
        assert_eq!(
            request_size("4gb").unwrap_err(),
            "too large: at most 4294967295 bytes"
        );
        assert_eq!(output_size("0"), Ok(0));
        assert_eq!(output_size("64kb"), Ok(64 << 10));
        for small in ["1", "65535", "63kb"] {
            assert_eq!(
                output_size(small).unwrap_err(),
                "too small: give 0 for no limit, or at least 65536 bytes"
            );
        }
        for bad in ["", "x", "-1", "+5", "007", "1.5gb", "99999999999999999999"] {
            assert!(size(bad).is_err() && duration(bad).is_err(), "{bad}");
        }
    }
}
