//! The settings: in the engine's configuration file, by `CONFIG SET`, or as module arguments.

use crate::engine::{Context, Fraction, Number, SettingError};
use guira_commands::{DEFAULT_CAPACITY as CAPACITY, MAX_CAPACITY, MAX_EXPANSION, Options, number};
use thiserror::Error;

const MIB: i64 = 1 << 20;

/// The upper limit of `max-filter-bytes`, unless [`ALLOW_LARGE`] is given.
const MOST_BYTES: i64 = 512 * MIB;

/// The upper limit with [`ALLOW_LARGE`], which is also the limit of the library.
const MOST_BYTES_ALLOWED: i64 = 64 << 30;

/// The module argument that allows filters so large that their operations block the engine for long.
const ALLOW_LARGE: &str = "allow-large-filters";

const DEFAULTS: Defaults = Defaults {
    max_filter_bytes: 128 * MIB,
    offload_items: 2000,
    combine_slots: 100_000,
    threads: 2,
    default_capacity: CAPACITY as i64,
    default_error_rate: 0.01,
    default_expansion: 1,
    allows_large: false,
};

static MAX_FILTER_BYTES: Number =
    Number::new(c"max-filter-bytes", DEFAULTS.max_filter_bytes, 64 << 10).of_memory();
static OFFLOAD_ITEMS: Number = Number::new(c"offload-items", DEFAULTS.offload_items, 1);
static COMBINE_SLOTS: Number = Number::new(c"combine-slots", DEFAULTS.combine_slots, 1);
static THREADS: Number = Number::new(c"threads", DEFAULTS.threads, 1);
static DEFAULT_CAPACITY: Number = Number::new(c"default-capacity", DEFAULTS.default_capacity, 4);
static DEFAULT_EXPANSION: Number = Number::new(c"default-expansion", DEFAULTS.default_expansion, 0);
static DEFAULT_ERROR_RATE: Fraction = Fraction::new(
    c"default-error-rate",
    DEFAULTS.default_error_rate,
    parse_rate,
);

const MOST_ITEMS: i64 = 1 << 40;
const MOST_THREADS: i64 = 64;
const MOST_CAPACITY: i64 = MAX_CAPACITY;
const MOST_EXPANSION: i64 = MAX_EXPANSION as i64;

/// The values that apply unless the engine's configuration file has others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Defaults {
    max_filter_bytes: i64,
    offload_items: i64,
    combine_slots: i64,
    threads: i64,
    default_capacity: i64,
    default_error_rate: f64,
    default_expansion: i64,
    allows_large: bool,
}

/// A module argument is invalid.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum ArgumentError {
    #[error(
        "the module has no argument '{0}': it has max-filter-bytes, offload-items, combine-slots, threads, \
         default-capacity, default-error-rate, default-expansion, each with its value, and {ALLOW_LARGE}"
    )]
    Unknown(String),
    #[error("the argument '{0}' of the module needs a value")]
    NoValue(String),
    #[error("the argument '{name}' of the module is '{value}', and must be from {least} to {most}")]
    Range {
        name: String,
        value: String,
        least: i64,
        most: i64,
    },
    #[error("{0}")]
    Rate(String),
}

pub(crate) fn max_filter_bytes() -> usize {
    positive(&MAX_FILTER_BYTES)
}

pub(crate) fn offload_items() -> usize {
    positive(&OFFLOAD_ITEMS)
}

/// The most slots of filters that a command combines.
pub(crate) fn combine_slots() -> usize {
    positive(&COMBINE_SLOTS)
}

pub(crate) fn threads() -> usize {
    positive(&THREADS)
}

/// The options of keys that are created by an insert.
pub(crate) fn default_options() -> Options {
    Options {
        capacity: positive(&DEFAULT_CAPACITY),
        rate: DEFAULT_ERROR_RATE.get(),
        expansion: u16::try_from(DEFAULT_EXPANSION.get()).unwrap_or(MAX_EXPANSION),
        ..Options::default()
    }
}

fn positive(setting: &Number) -> usize {
    usize::try_from(setting.get()).unwrap_or(0)
}

fn parse_rate(text: &str) -> Result<f64, String> {
    const LEAST: f64 = 2e-9;
    match text.parse() {
        Ok(rate) if (LEAST..1.0).contains(&rate) => Ok(rate),
        _ => Err(format!(
            "default-error-rate is '{text}', and must be in the range [2e-9, 1)"
        )),
    }
}

impl Defaults {
    fn most_bytes(&self) -> i64 {
        if self.allows_large {
            MOST_BYTES_ALLOWED
        } else {
            MOST_BYTES
        }
    }
}

/// Parses the module arguments: names and values, such as `max-filter-bytes 64mb`.
pub(crate) fn parse(arguments: &[&[u8]]) -> Result<Defaults, ArgumentError> {
    let mut words = arguments.iter().map(|word| String::from_utf8_lossy(word));
    let allows_large = words.clone().any(|word| word == ALLOW_LARGE);
    let mut chosen = Defaults {
        allows_large,
        ..DEFAULTS
    };
    while let Some(name) = words.next() {
        if name == ALLOW_LARGE {
            continue;
        }
        let most_bytes = chosen.most_bytes();
        let (number, setting, most) = match &*name {
            "max-filter-bytes" => (&mut chosen.max_filter_bytes, &MAX_FILTER_BYTES, most_bytes),
            "offload-items" => (&mut chosen.offload_items, &OFFLOAD_ITEMS, MOST_ITEMS),
            "combine-slots" => (&mut chosen.combine_slots, &COMBINE_SLOTS, MOST_ITEMS),
            "threads" => (&mut chosen.threads, &THREADS, MOST_THREADS),
            "default-capacity" => (
                &mut chosen.default_capacity,
                &DEFAULT_CAPACITY,
                MOST_CAPACITY,
            ),
            "default-expansion" => (
                &mut chosen.default_expansion,
                &DEFAULT_EXPANSION,
                MOST_EXPANSION,
            ),
            "default-error-rate" => {
                let value = words
                    .next()
                    .ok_or_else(|| ArgumentError::NoValue(name.into()))?;
                chosen.default_error_rate = parse_rate(&value).map_err(ArgumentError::Rate)?;
                continue;
            }
            _ => return Err(ArgumentError::Unknown(name.into())),
        };
        let value = words
            .next()
            .ok_or_else(|| ArgumentError::NoValue(name.to_string()))?;
        let least = setting.least();
        *number = bytes(&value)
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| ArgumentError::Range {
                name: name.into(),
                value: value.into(),
                least,
                most,
            })?;
    }
    Ok(chosen)
}

/// Parses a number of bytes, with the engine's memory units.
fn bytes(text: &str) -> Option<i64> {
    let text = text.to_ascii_lowercase();
    let (digits, unit) = match text.find(|c: char| c.is_ascii_alphabetic()) {
        Some(at) => text.split_at(at),
        None => (&text[..], ""),
    };
    let unit = match unit {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    number::<i64>(digits.as_bytes())?.checked_mul(unit)
}

/// Registers all settings with the engine, and applies the values of its configuration file.
pub(crate) fn register(context: &Context, defaults: &Defaults) -> Result<(), SettingError> {
    let most_bytes = defaults.most_bytes();
    let register = |setting, default, most| context.register_number(setting, default, most);
    register(&MAX_FILTER_BYTES, defaults.max_filter_bytes, most_bytes)?;
    register(&OFFLOAD_ITEMS, defaults.offload_items, MOST_ITEMS)?;
    register(&COMBINE_SLOTS, defaults.combine_slots, MOST_ITEMS)?;
    register(&THREADS, defaults.threads, MOST_THREADS)?;
    register(&DEFAULT_CAPACITY, defaults.default_capacity, MOST_CAPACITY)?;
    register(
        &DEFAULT_EXPANSION,
        defaults.default_expansion,
        MOST_EXPANSION,
    )?;
    context.register_fraction(&DEFAULT_ERROR_RATE, defaults.default_error_rate)?;
    context.load_settings()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &str) -> Result<Defaults, ArgumentError> {
        let words: Vec<_> = words.split_whitespace().map(str::as_bytes).collect();
        parse(&words)
    }

    #[test]
    fn arguments_are_parsed() {
        assert_eq!(of(""), Ok(DEFAULTS));
        let chosen = of("max-filter-bytes 64mb threads 3 default-error-rate 0.001").unwrap();
        let expected = Defaults {
            max_filter_bytes: 64 * MIB,
            threads: 3,
            default_error_rate: 0.001,
            ..DEFAULTS
        };
        assert_eq!(chosen, expected);
        let large = of("max-filter-bytes 2GB allow-large-filters").unwrap();
        assert_eq!(large.max_filter_bytes, 2 << 30);
        for (text, number) in [
            ("7", 7),
            ("7b", 7),
            ("7k", 7000),
            ("7KB", 7168),
            ("2m", 2_000_000),
        ] {
            assert_eq!(bytes(text), Some(number));
        }
        for text in ["", "x", "1tb", "-", "9223372036854775807kb", "1 kb"] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }

    #[test]
    fn wrong_arguments_are_named() {
        let cases = [
            (
                "speed 9",
                "the module has no argument 'speed': it has max-filter-bytes, offload-items, combine-slots, threads, default-capacity, default-error-rate, default-expansion, each with its value, and allow-large-filters",
            ),
            (
                "threads",
                "the argument 'threads' of the module needs a value",
            ),
            (
                "threads 0",
                "the argument 'threads' of the module is '0', and must be from 1 to 64",
            ),
            (
                "threads many",
                "the argument 'threads' of the module is 'many', and must be from 1 to 64",
            ),
            (
                "max-filter-bytes 1gb",
                "the argument 'max-filter-bytes' of the module is '1gb', and must be from 65536 to 536870912",
            ),
            (
                "default-capacity 3",
                "the argument 'default-capacity' of the module is '3', and must be from 4 to 25769803776",
            ),
            (
                "default-expansion 32769",
                "the argument 'default-expansion' of the module is '32769', and must be from 0 to 32768",
            ),
            (
                "default-error-rate 1",
                "default-error-rate is '1', and must be in the range [2e-9, 1)",
            ),
        ];
        for (words, expected) in cases {
            assert_eq!(of(words).unwrap_err().to_string(), expected);
        }
    }
}
