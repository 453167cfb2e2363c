//! The clock of expiring filters, which all processes of a machine share.

use crate::error::OpenError;
use nix::time::{ClockId, clock_gettime};
use std::{fs, io, time::Duration};

/// The time since the machine started, including the time in which it was suspended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Boottime {
    boot: u64,
}

impl Boottime {
    /// The clock, if it is the same one in all processes.
    pub(crate) fn new() -> Result<Self, OpenError> {
        // Kernels without time namespaces have no such file.
        let offsets = fs::read_to_string("/proc/self/timens_offsets");
        Self::of_namespace(&offsets.unwrap_or_default())
    }

    /// The clock in a time namespace with these offsets.
    fn of_namespace(offsets: &str) -> Result<Self, OpenError> {
        if is_shifted(offsets) {
            return Err(OpenError::TimeNamespace);
        }
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        let boot = number_of(&id).ok_or(io::ErrorKind::InvalidData);
        let boot = boot.map_err(io::Error::from)?;
        let clock = Self { boot };
        // An error here, instead of a clock that stands still.
        clock.try_read()?;
        Ok(clock)
    }

    /// Identifies this start of the machine: a number that is not 0.
    pub(crate) fn boot(self) -> u64 {
        self.boot
    }

    /// The time since this start. If the clock cannot be read any more, it stands still at 0, and no
    /// epoch begins.
    pub(crate) fn read(self) -> Duration {
        self.try_read().unwrap_or_default()
    }

    fn try_read(self) -> io::Result<Duration> {
        Ok(clock_gettime(ClockId::CLOCK_BOOTTIME)?.into())
    }
}

/// The number of a start of the machine, whose identifier is a UUID.
fn number_of(id: &str) -> Option<u64> {
    let digits: String = id.trim().split('-').collect();
    let id = u128::from_str_radix(&digits, 16).ok()?;
    Some(((id >> 64) as u64 ^ id as u64).max(1))
}

/// True if the clock of a time namespace with these offsets differs from that of the machine.
fn is_shifted(offsets: &str) -> bool {
    let of_clock = offsets
        .lines()
        .filter_map(|line| line.strip_prefix("boottime"));
    let mut numbers = of_clock.flat_map(str::split_whitespace);
    numbers.any(|number| number != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_start_has_a_number() {
        let one = number_of("5b0ecd5a-4c5e-4a68-a8b0-a5b5d2b9a6f1\n").unwrap();
        let other = number_of("5b0ecd5a-4c5e-4a68-a8b0-a5b5d2b9a6f2\n").unwrap();
        let third = number_of("5b0ecd5b-4c5e-4a68-a8b0-a5b5d2b9a6f1\n").unwrap();
        assert!(one != other && one != third && one != 0);
        assert_eq!(number_of("00000000-0000-0000-0000-000000000000"), Some(1));
        assert_eq!(number_of("no number"), None);
    }

    #[test]
    fn only_an_offset_of_this_clock_counts() {
        assert!(!is_shifted(""));
        assert!(!is_shifted(
            "monotonic           0         0\nboottime            0         0\n"
        ));
        assert!(!is_shifted(
            "monotonic           5         0\nboottime            0         0\n"
        ));
        assert!(is_shifted(
            "monotonic           0         0\nboottime        86400         0\n"
        ));
        assert!(is_shifted("boottime            0         7\n"));
    }

    #[test]
    fn the_clock_of_another_namespace_is_refused() {
        for (offset, is_refused) in [(0, false), (7, true)] {
            let clock = Boottime::of_namespace(&format!("boottime 0 {offset}"));
            assert_eq!(matches!(clock, Err(OpenError::TimeNamespace)), is_refused);
            assert_eq!(clock.is_ok(), !is_refused);
        }
    }

    #[test]
    fn the_clock_runs() {
        let clock = Boottime::new().unwrap();
        let before = clock.read();
        assert!(before > Duration::ZERO);
        while clock.read() == before {}
        assert!(clock.read() > before);
    }
}
