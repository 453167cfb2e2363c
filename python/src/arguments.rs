//! Arguments whose errors name the value and what is allowed.

use guira::{Builder, CuckooFilter, ExpiringBuilder, ExpiringFilter, Prefer};
use pyo3::{
    exceptions::{PyOverflowError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyDelta, PyDeltaAccess},
};
use std::time::Duration;

/// A whole number from 0 to 2^BITS - 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole<T>(pub(crate) T);

impl<'a, 'py, T: TryFrom<u64>> FromPyObject<'a, 'py> for Whole<T> {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let number = value.extract::<u64>().map_err(|error| {
            if error.is_instance_of::<PyOverflowError>(value.py()) {
                out_of_range::<T>(&value)
            } else {
                error
            }
        })?;
        let number = T::try_from(number).map_err(|_| out_of_range::<T>(&value))?;
        Ok(Self(number))
    }
}

#[cold]
fn out_of_range<T>(value: &Bound<'_, PyAny>) -> PyErr {
    let bits = 8 * size_of::<T>();
    PyValueError::new_err(format!(
        "{} is not in the range 0 to 2**{bits} - 1",
        shown(value)
    ))
}

/// The value as an error shows it: at most 60 characters.
pub(crate) fn shown(value: &Bound<'_, PyAny>) -> String {
    let Ok(text) = value.repr() else {
        return "a value without repr".into();
    };
    let text = text.to_string_lossy();
    match text.char_indices().nth(60) {
        None => text.into_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Which values are items, and how `str` hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Items {
    /// Values of all supported types, each kind apart.
    Any,
    /// Byte strings, as the server hashes them; a `str` counts as its UTF-8.
    Bytes,
}

impl Items {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Bytes => "bytes",
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Items {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        choice(
            "items",
            &value,
            &[("any", Self::Any), ("bytes", Self::Bytes)],
        )
    }
}

/// Which clock an expiring filter has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClockKind {
    Monotonic,
    Manual,
}

impl ClockKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Monotonic => "monotonic",
            Self::Manual => "manual",
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for ClockKind {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let choices = [("monotonic", Self::Monotonic), ("manual", Self::Manual)];
        choice("clock", &value, &choices)
    }
}

/// What the filter is optimised for.
pub(crate) struct Preference(pub(crate) Prefer);

impl<'a, 'py> FromPyObject<'a, 'py> for Preference {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let choices = [("speed", Prefer::Speed), ("space", Prefer::Space)];
        choice("prefer", &value, &choices).map(Self)
    }
}

/// The settings of a filter that does not expire.
pub(crate) struct Settings {
    pub(crate) capacity: Whole<usize>,
    pub(crate) false_positive_rate: Option<f64>,
    pub(crate) max_capacity: Option<Whole<usize>>,
    pub(crate) prefer: Preference,
    pub(crate) fingerprint_bits: Option<Whole<u32>>,
    pub(crate) seed: Option<Whole<u64>>,
}

impl Settings {
    pub(crate) fn builder(self) -> Builder {
        let mut builder = CuckooFilter::builder()
            .capacity(self.capacity.0)
            .prefer(self.prefer.0);
        if let Some(rate) = self.false_positive_rate {
            builder = builder.false_positive_rate(rate);
        }
        if let Some(Whole(capacity)) = self.max_capacity {
            builder = builder.max_capacity(capacity);
        }
        if let Some(Whole(bits)) = self.fingerprint_bits {
            builder = builder.fingerprint_bits(bits);
        }
        if let Some(Whole(seed)) = self.seed {
            builder = builder.seed(seed);
        }
        builder
    }
}

/// The settings of an expiring filter.
pub(crate) struct ExpiringSettings {
    pub(crate) ttl: Seconds,
    pub(crate) capacity: Whole<usize>,
    pub(crate) false_positive_rate: Option<f64>,
    pub(crate) max_capacity: Option<Whole<usize>>,
    pub(crate) epochs: Option<Whole<u32>>,
    pub(crate) fingerprint_bits: Option<Whole<u32>>,
    pub(crate) counter_bits: Option<Whole<u32>>,
    pub(crate) seed: Option<Whole<u64>>,
}

impl ExpiringSettings {
    pub(crate) fn builder(self) -> ExpiringBuilder {
        let mut builder = ExpiringFilter::builder(self.ttl.0).capacity(self.capacity.0);
        if let Some(rate) = self.false_positive_rate {
            builder = builder.false_positive_rate(rate);
        }
        if let Some(Whole(capacity)) = self.max_capacity {
            builder = builder.max_capacity(capacity);
        }
        if let Some(Whole(epochs)) = self.epochs {
            builder = builder.epochs(epochs);
        }
        if let Some(Whole(bits)) = self.counter_bits {
            builder = builder.counter_bits(bits);
        }
        if let Some(Whole(bits)) = self.fingerprint_bits {
            builder = builder.fingerprint_bits(bits);
        }
        if let Some(Whole(seed)) = self.seed {
            builder = builder.seed(seed);
        }
        builder
    }
}

pub(crate) fn choice<T: Copy>(
    name: &str,
    value: &Bound<'_, PyAny>,
    choices: &[(&str, T)],
) -> PyResult<T> {
    let found = value.extract::<&str>().ok().and_then(|text| {
        let mut choices = choices.iter();
        choices.find(|(choice, _)| *choice == text)
    });
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<_> = choices
            .iter()
            .map(|(choice, _)| format!("'{choice}'"))
            .collect();
        let names = names.join(" or ");
        PyValueError::new_err(format!("{name} must be {names}, not {}", shown(value)))
    })
}

/// A duration of at least 0: seconds as a number, or a `timedelta`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seconds(pub(crate) Duration);

impl<'a, 'py> FromPyObject<'a, 'py> for Seconds {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let duration = if let Ok(delta) = value.cast::<PyDelta>() {
            of_delta(
                delta.get_days(),
                delta.get_seconds(),
                delta.get_microseconds(),
            )
        } else {
            let seconds: f64 = value.extract().map_err(|_| {
                PyTypeError::new_err(format!(
                    "a duration is a number of seconds or a timedelta, not {}",
                    shown(&value)
                ))
            })?;
            Duration::try_from_secs_f64(seconds).ok()
        };
        duration.map(Self).ok_or_else(|| {
            PyValueError::new_err(format!(
                "a duration of {} seconds is not in the range 0 to 2**64 - 1",
                shown(&value)
            ))
        })
    }
}

fn of_delta(days: i32, seconds: i32, micros: i32) -> Option<Duration> {
    let days = u64::try_from(days).ok()?;
    let seconds = u64::try_from(seconds).ok()?;
    let micros = u64::try_from(micros).ok()?;
    Some(Duration::from_secs(days * 86_400 + seconds) + Duration::from_micros(micros))
}

/// The time since a snapshot was written.
pub(crate) fn since(age: Option<Seconds>) -> Duration {
    age.map_or(Duration::ZERO, |Seconds(age)| age)
}
