//! `guira-server estimate`: what a key will take, without a server.

use guira::Size;
use guira_commands::estimate;
use std::{ffi::OsString, fmt::Write, os::unix::ffi::OsStrExt};

const USAGE: &str = "Usage: guira-server estimate CAPACITY [OPTION]...\n
Prints what a key takes. The options are those of CF.RESERVE: ERROR, WINDOW, MAXCAPACITY, COUNTERS...\n";

/// The table for these arguments, which are those of `CF.RESERVE key`: the capacity, and options.
///
/// # Errors
///
/// The text that says why there is no such key.
pub fn table(arguments: &[OsString]) -> Result<String, String> {
    let words: Vec<&[u8]> = arguments.iter().map(|word| word.as_bytes()).collect();
    if words == [b"--help"] || words == [b"-h"] {
        return Ok(USAGE.into());
    }
    let estimate = estimate(&words, usize::MAX)?;
    let mut table = row(["items", "bytes", "bits per item", "rate", "copies"]);
    for &size in estimate.sizes() {
        let Size { items, bytes, .. } = size;
        let bits = 8.0 * bytes as f64 / items as f64;
        table += &row([
            &items.to_string(),
            &bytes.to_string(),
            &format!("{bits:.1}"),
            &format!("{:.2e}", size.false_positive_rate),
            &size.copies.to_string(),
        ]);
    }
    Ok(table)
}

fn row(cells: [&str; 5]) -> String {
    let mut line = String::new();
    for cell in cells {
        // A string takes all of it.
        let _ = write!(line, "{cell:>16}");
    }
    line.trim_end().to_owned() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arguments: &str) -> Result<String, String> {
        let words: Vec<OsString> = arguments.split_whitespace().map(OsString::from).collect();
        table(&words)
    }

    #[test]
    fn each_size_has_a_row() {
        let text = of("1000 MAXCAPACITY 100000 ERROR 0.001").unwrap();
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(lines[0][..2], ["items", "bytes"]);
        assert!(lines.len() > 5, "{text}");
        let numbers = |column: usize| -> Vec<usize> {
            let cells = lines[1..].iter().map(|line| line[column].parse());
            cells.map(|number| number.unwrap()).collect()
        };
        assert!(numbers(0).is_sorted() && numbers(1).is_sorted(), "{text}");
        assert_eq!(numbers(0).last(), Some(&100_000));
        assert!(
            lines[1..]
                .iter()
                .all(|line| line[3].parse::<f64>().unwrap() <= 0.001)
        );
    }

    #[test]
    fn counters_hold_copies_in_a_window_too() {
        let text = of("1000 WINDOW 60 COUNTERS 8 EXPANSION 0").unwrap();
        let copies = text
            .lines()
            .nth(1)
            .and_then(|line| line.split_whitespace().last());
        assert_eq!(copies, Some("1536"), "{text}");
    }

    #[test]
    fn refusals_are_those_of_the_command() {
        assert_eq!(of("few").unwrap_err(), "Bad capacity");
        assert_eq!(of("--help").unwrap(), USAGE);
        assert_eq!(of("").unwrap_err(), "a capacity is missing");
    }
}
