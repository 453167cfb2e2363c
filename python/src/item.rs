//! From a Python value to its hash.
//!
//! A Python value hashes like the Rust value of the same kind: `docs/FORMAT.md` defines the hashes.
//! The same value therefore has the same hash in every process and in every language.

use crate::{
    arguments::{Items, shown},
    direct,
};
use guira::Hashed;
use guira::SeededState;
use pyo3::{
    exceptions::{PyOverflowError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyByteArray, PyBytes, PyInt, PyMemoryView, PyString, PyTuple},
};
use std::hash::{BuildHasher, Hasher};

/// How a filter hashes items.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    state: SeededState,
    pub(crate) items: Items,
}

impl Rule {
    pub(crate) fn new(state: &SeededState, items: Items) -> Self {
        let state = state.clone();
        Self { state, items }
    }

    pub(crate) fn seed(&self) -> u64 {
        self.state.seed()
    }

    /// An error unless both filters hash the same values as items.
    pub(crate) fn check_items(&self, other: &Self) -> PyResult<()> {
        if self.items == other.items {
            return Ok(());
        }
        Err(PyValueError::new_err(format!(
            "the filters differ in items: '{}' in this one, '{}' in the other one",
            self.items.name(),
            other.items.name()
        )))
    }

    #[inline]
    pub(crate) fn hash_str(&self, item: &str) -> Hashed {
        match self.items {
            Items::Any => Hashed(self.state.hash_str(item)),
            Items::Bytes => self.hash_bytes(item.as_bytes()),
        }
    }

    #[inline]
    pub(crate) fn hash_bytes(&self, item: &[u8]) -> Hashed {
        Hashed(self.state.hash_bytes(item))
    }

    /// An integer in two's complement. Callers refuse integers in a filter of bytes.
    #[inline]
    pub(crate) fn hash_u64(&self, item: u64) -> Hashed {
        Hashed(self.state.hash_u64(item))
    }

    /// The hash of a Python value.
    #[inline]
    pub(crate) fn hash(&self, item: &Bound<'_, PyAny>) -> PyResult<Hashed> {
        match self.hash_exact(item) {
            Some(hash) => Ok(hash),
            None => self.hash_other(item),
        }
    }

    /// The hash of a value of the usual types; `None` for others, and for what is not an item.
    #[inline]
    pub(crate) fn hash_exact(&self, item: &Bound<'_, PyAny>) -> Option<Hashed> {
        if let Ok(text) = item.cast_exact::<PyString>() {
            return Some(self.hash_str(text.to_str().ok()?));
        }
        if self.items == Items::Any
            && let Ok(number) = item.cast_exact::<PyInt>()
        {
            return Some(self.hash_u64(direct::small(number)? as u64));
        }
        if let Ok(bytes) = item.cast_exact::<PyBytes>() {
            return Some(self.hash_bytes(bytes.as_bytes()));
        }
        None
    }

    #[cold]
    fn hash_other(&self, item: &Bound<'_, PyAny>) -> PyResult<Hashed> {
        let mut hasher = self.state.build_hasher();
        match item.cast::<PyTuple>() {
            Ok(tuple) => self.absorb_tuple(tuple, &mut hasher)?,
            Err(_) => self.absorb(item, &mut hasher)?,
        }
        Ok(Hashed(hasher.finish()))
    }

    /// The parts of a tuple are absorbed without a separator. So a nested tuple, or a tuple of one part,
    /// would hash like a flat one, and is refused.
    fn absorb_tuple(&self, tuple: &Bound<'_, PyTuple>, hasher: &mut impl Hasher) -> PyResult<()> {
        if self.items == Items::Bytes {
            return Err(self.refuse(tuple));
        }
        if tuple.len() < 2 {
            let message = "a tuple is an item if it has two parts or more";
            return Err(PyTypeError::new_err(format!("{message}: {}", shown(tuple))));
        }
        for part in tuple.iter_borrowed() {
            if part.is_instance_of::<PyTuple>() {
                let message = "a tuple inside a tuple is not an item: flatten";
                return Err(PyTypeError::new_err(format!("{message} {}", shown(tuple))));
            }
            self.absorb(&part, hasher)?;
        }
        Ok(())
    }

    fn absorb(&self, item: &Bound<'_, PyAny>, hasher: &mut impl Hasher) -> PyResult<()> {
        if let Ok(text) = item.cast::<PyString>() {
            let text = text.to_str()?;
            match self.items {
                Items::Any => {
                    hasher.write(text.as_bytes());
                    hasher.write_u8(0xff);
                }
                Items::Bytes => absorb_bytes(text.as_bytes(), hasher),
            }
        } else if let Ok(bytes) = item.cast::<PyBytes>() {
            absorb_bytes(bytes.as_bytes(), hasher);
        } else if let Ok(bytes) = item.cast::<PyByteArray>() {
            absorb_bytes(&bytes.to_vec(), hasher);
        } else if let Ok(view) = item.cast::<PyMemoryView>() {
            absorb_bytes(bytes_of_view(view)?.as_bytes(), hasher);
        } else if self.items == Items::Any
            && let Some(number) = index(item)?
        {
            absorb_int(&number, hasher)?;
        } else {
            return Err(self.refuse(item));
        }
        Ok(())
    }

    /// A type that is not an item: the error says what to write instead.
    #[cold]
    pub(crate) fn refuse(&self, item: &Bound<'_, PyAny>) -> PyErr {
        if item.is_none() && self.items == Items::Any {
            return PyTypeError::new_err(
                "None (a NoneType) is not an item: it is a null in an array of objects and in an Arrow \
                 array only",
            );
        }
        let name = item.get_type().fully_qualified_name();
        let name = name.map_or_else(|_| "?".into(), |name| name.to_string_lossy().into_owned());
        let value = shown(item);
        PyTypeError::new_err(match self.items {
            Items::Any => format!(
                "items are str, bytes, int, or flat tuples of these, not {name} ({value}): \
                 add what makes two of them equal, such as `x.id`, `x.bytes` or `(x.a, x.b)`"
            ),
            Items::Bytes => format!(
                "items of this filter are bytes or str, not {name} ({value}): \
                 it has items='bytes', so add what a client of the server would send, such as \
                 `str(x)`"
            ),
        })
    }
}

fn absorb_bytes(bytes: &[u8], hasher: &mut impl Hasher) {
    hasher.write_usize(bytes.len());
    hasher.write(bytes);
}

/// A view is an item if it is a string of bytes. Its bytes are copied, because other threads may write
/// them.
fn bytes_of_view<'py>(view: &Bound<'py, PyMemoryView>) -> PyResult<Bound<'py, PyBytes>> {
    let format: String = view.getattr("format")?.extract()?;
    let dimensions: usize = view.getattr("ndim")?.extract()?;
    if !matches!(&*format, "B" | "b" | "c") || dimensions != 1 {
        return Err(PyTypeError::new_err(format!(
            "a memoryview is an item if it has one dimension of bytes: this one has \
             {dimensions} of format {format:?}; use `.tobytes()`"
        )));
    }
    Ok(view.call_method0("tobytes")?.cast_into()?)
}

/// What `__index__` returns; `None` for a type without it.
fn index<'py>(item: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyInt>>> {
    if let Ok(number) = item.cast::<PyInt>() {
        return Ok(Some(number.clone()));
    }
    if !item.get_type().hasattr("__index__")? {
        return Ok(None);
    }
    let number = match item.call_method0("__index__") {
        // Arrays have the method, and only some of them are numbers.
        Err(error) if error.is_instance_of::<PyTypeError>(item.py()) => return Ok(None),
        other => other?,
    };
    Ok(number.cast_into().ok())
}

fn absorb_int(number: &Bound<'_, PyInt>, hasher: &mut impl Hasher) -> PyResult<()> {
    if let Ok(number) = number.extract::<i64>() {
        hasher.write_u64(number as u64);
    } else if let Ok(number) = number.extract::<u64>() {
        hasher.write_u64(number);
    } else if let Ok(number) = number.extract::<u128>() {
        hasher.write_u128(number);
    } else if let Ok(number) = number.extract::<i128>() {
        hasher.write_u128(number as u128);
    } else {
        return Err(PyOverflowError::new_err(format!(
            "an int item is in the range -2**127 to 2**128 - 1: {}",
            shown(number)
        )));
    }
    Ok(())
}
