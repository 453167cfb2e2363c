//! Many items: where they come from, and how they are passed to a filter.
//!
//! All Python objects are hashed first. Then the GIL is released once for the whole batch: each
//! return to it can take milliseconds while other threads compete.

use crate::{
    arguments::choice,
    buffer::{self, View},
    direct,
    errors::{batch_error, out_of_memory, raised_at},
    item::Rule,
    ndarray,
    tokens::TRIES,
};
use guira::{BatchError, Hashed, InsertError};
use pyo3::{
    buffer::PyUntypedBuffer,
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyByteArray, PyBytes, PyFloat, PyInt, PyList, PyMemoryView, PyString, PyTuple},
};
use std::{collections::TryReserveError, thread};

/// A batch of fewer items keeps the GIL.
const FEW: usize = 256;

/// Hashes passed to the filter at a time.
const CHUNK: usize = 1 << 10;

/// What a batch consists of.
#[derive(Clone, Copy)]
pub(crate) enum Keys<'a> {
    Items(&'a Rule, Nulls),
    /// Hashes that `hash_of` returned.
    Hashes,
}

/// What the nulls of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// No items: they are never present, and not added.
    Absent,
    Refused,
}

impl<'a, 'py> FromPyObject<'a, 'py> for Nulls {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let choices = [("absent", Self::Absent), ("error", Self::Refused)];
        choice("nulls", &value, &choices)
    }
}

/// The hashes of a batch that may have nulls.
pub(crate) struct WithNulls {
    /// Those of the items that are no nulls.
    pub(crate) hashes: Vec<Hashed>,
    /// Which items have a hash. If it is empty, all have one.
    pub(crate) present: Vec<bool>,
}

impl WithNulls {
    /// One hash per item, whatever it is for a null. `present` is empty if there are no nulls.
    pub(crate) fn of(mut hashes: Vec<Hashed>, present: Vec<bool>) -> Self {
        if !present.is_empty() {
            let mut flags = present.iter();
            hashes.retain(|_| flags.next() == Some(&true));
        }
        Self { hashes, present }
    }

    fn len(&self) -> usize {
        if self.present.is_empty() {
            self.hashes.len()
        } else {
            self.present.len()
        }
    }

    /// The item that has the hash at `place`.
    fn item_at(&self, place: usize) -> usize {
        if self.present.is_empty() {
            return place;
        }
        let mut items = (0..self.present.len()).filter(|&item| self.present[item]);
        items.nth(place).unwrap_or(self.present.len())
    }

    /// Moves the answers of the hashes, which come first, to their items. Those of nulls are false.
    fn spread(&self, answers: &mut [bool]) {
        let mut left = self.hashes.len();
        for (item, &present) in self.present.iter().enumerate().rev() {
            // Answers move back only, so none is overwritten before it has moved.
            answers[item] = present && {
                left -= 1;
                answers[left]
            };
        }
    }
}

impl Keys<'_> {
    fn hash(&self, item: &Bound<'_, PyAny>) -> PyResult<Hashed> {
        match self {
            Self::Items(rule, _) => rule.hash(item),
            Self::Hashes => item.extract().map(Hashed),
        }
    }
}

/// An operation on hashes: the answers go into the slice, which is empty if there are none.
pub(crate) type Operation<'a> = &'a (dyn Fn(&[Hashed], &mut [bool]) -> Result<(), Refused> + Sync);

/// A hash that an operation has not inserted. Those before it are decided.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) index: usize,
    pub(crate) why: Why,
}

/// Why a hash was not inserted.
#[derive(Debug)]
pub(crate) enum Why {
    Insert(InsertError),
    Raised(PyErr),
}

impl From<BatchError> for Refused {
    fn from(BatchError { index, error, .. }: BatchError) -> Self {
        let why = Why::Insert(error);
        Self { index, why }
    }
}

/// Why a batch ended early.
pub(crate) enum Stop {
    Refused(Refused),
    /// This item is not text.
    Text(usize),
    /// What is wrong with the values of a column or an array.
    Column(String),
    Memory(usize),
    /// What a signal handler raised.
    Signal(PyErr),
}

/// Vectors whose memory is reserved without aborting the process.
pub(crate) struct Hashes;

impl Hashes {
    pub(crate) fn reserved<T>(len: usize) -> Result<Vec<T>, Stop> {
        let mut vec = Vec::new();
        let reserved = vec.try_reserve_exact(len);
        reserved.map_err(|_| Stop::Memory(len.saturating_mul(size_of::<T>())))?;
        Ok(vec)
    }
}

/// The items of a batch.
enum Source {
    Hashes(WithNulls),
    /// The buffer keeps the memory of the view. Without one, the caller's array does.
    View(View, #[allow(dead_code)] Option<PyUntypedBuffer>),
    #[cfg(feature = "arrow")]
    Arrow(crate::arrow::Column),
}

/// A batch, with its items and whether they came from an array.
struct Batch<'a> {
    source: Source,
    keys: Keys<'a>,
    is_array: bool,
}

/// What precedes an operation once the items are known: it may release the GIL, which a batch of few
/// items keeps.
pub(crate) type Begin<'a> = &'a dyn Fn(Python<'_>);

/// Applies an operation without answers.
pub(crate) fn apply(
    items: &Bound<'_, PyAny>,
    keys: Keys<'_>,
    begin: Begin<'_>,
    operation: Operation<'_>,
) -> PyResult<()> {
    let batch = Batch::of(items, keys)?;
    begin(items.py());
    batch.run(items.py(), &mut [], operation)
}

/// Applies an operation, and returns an answer per item: an ndarray for an array, else a list.
pub(crate) fn answers<'py>(
    items: &Bound<'py, PyAny>,
    keys: Keys<'_>,
    begin: Begin<'_>,
    operation: Operation<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = items.py();
    let batch = Batch::of(items, keys)?;
    let len = batch.len();
    if batch.is_array
        && let Some(mut answers) = ndarray::Answers::new(py, len)?
    {
        begin(py);
        batch.run(py, answers.as_mut(), operation)?;
        return Ok(answers.array());
    }
    let mut answers = Hashes::reserved(len).map_err(|stop| batch.exception(py, stop))?;
    answers.resize(len, false);
    begin(py);
    batch.run(py, &mut answers, operation)?;
    list(py, &answers)
}

impl<'a> Batch<'a> {
    fn of(items: &Bound<'_, PyAny>, keys: Keys<'a>) -> PyResult<Self> {
        let listed = |hashed| {
            Ok(Self {
                source: Source::Hashes(hashed),
                keys,
                is_array: false,
            })
        };
        if let Ok(list) = items.cast_exact::<PyList>() {
            return listed(WithNulls::of(hashes_of_list(&keys, list)?, Vec::new()));
        }
        if let Ok(tuple) = items.cast_exact::<PyTuple>() {
            let items = tuple.iter().map(Ok);
            return listed(hashes(&keys, tuple.len(), items, |_| false)?);
        }
        let array = |source| {
            Ok(Self {
                source,
                keys,
                is_array: true,
            })
        };
        if let Some(view) = ndarray::ints(items)
            && view.suits(&keys)
        {
            return array(Source::View(view, None));
        }
        refuse_single(items)?;
        if let Some(buffer) = buffer_of(items)? {
            return array(Source::View(View::of(&buffer, &keys)?, Some(buffer)));
        }
        #[cfg(feature = "arrow")]
        if let Some(column) = crate::arrow::Column::of(items, &keys)? {
            return array(Source::Arrow(column));
        }
        let is_array = items.hasattr("dtype")?;
        // The values of an array of objects, such as a column of pandas, may be nulls.
        let may_be_null = is_array && matches!(keys, Keys::Items(_, Nulls::Absent));
        let is_null = |item: &Bound<'_, PyAny>| may_be_null && is_null(item);
        let source = Source::Hashes(hashes(&keys, 0, items.try_iter()?, is_null)?);
        Ok(Self {
            source,
            keys,
            is_array,
        })
    }

    fn len(&self) -> usize {
        match &self.source {
            Source::Hashes(hashed) => hashed.len(),
            Source::View(view, _) => view.len(),
            #[cfg(feature = "arrow")]
            Source::Arrow(column) => column.len(),
        }
    }

    fn run(&self, py: Python<'_>, answers: &mut [bool], operation: Operation<'_>) -> PyResult<()> {
        let keys = &self.keys;
        let mut target = Target {
            operation,
            answers,
            done: 0,
            attempts: 0,
            has_gil: self.len() < FEW,
        };
        let few = target.has_gil;
        let outcome = match &self.source {
            Source::Hashes(hashed) => without_gil(py, few, || target.take_hashed(hashed)),
            Source::View(view, _) if view.is_total() => without_gil(py, few, || {
                view.for_each_chunk(keys, |hashes| target.take(hashes))
            }),
            // All hashes come first, so that no item is in the filter if one of them is none.
            Source::View(view, _) => without_gil(py, few, || {
                let mut all = Hashes::reserved(view.len())?;
                view.for_each_chunk(keys, |hashes| {
                    all.extend_from_slice(hashes);
                    Ok(())
                })?;
                target.take(&all)
            }),
            #[cfg(feature = "arrow")]
            Source::Arrow(column) => {
                without_gil(py, few, || target.take_hashed(&column.hashes(keys)?))
            }
        };
        outcome.map_err(|stop| self.exception(py, stop))
    }

    #[cold]
    fn exception(&self, py: Python<'_>, stop: Stop) -> PyErr {
        match stop {
            Stop::Refused(Refused { index, why }) => match why {
                Why::Insert(error) => batch_error(py, index, error),
                Why::Raised(error) => raised_at(py, index, error),
            },
            Stop::Signal(error) => error,
            Stop::Column(text) => PyValueError::new_err(text),
            Stop::Memory(bytes) => out_of_memory(format!("{bytes} bytes")),
            Stop::Text(item) => {
                let error = self.text_error(py, item);
                error.unwrap_or_else(|error| error)
            }
        }
    }

    /// What Python says of text that is not Unicode.
    fn text_error(&self, py: Python<'_>, item: usize) -> PyResult<PyErr> {
        let Source::View(view, _) = &self.source else {
            unreachable!("only buffers hold code points");
        };
        let codec = if cfg!(target_endian = "little") {
            "utf-32-le"
        } else {
            "utf-32-be"
        };
        let bytes = PyBytes::new(py, &view.bytes_of(item));
        let text = bytes.call_method1("decode", (codec, "surrogatepass"))?;
        Ok(match text.call_method1("encode", ("utf-8",)) {
            Err(error) => note(py, error, item),
            // Another thread has changed it since.
            Ok(_) => PyTypeError::new_err(format!("item {item} of the batch was not text")),
        })
    }
}

/// Where the hashes of a batch go.
struct Target<'a> {
    operation: Operation<'a>,
    answers: &'a mut [bool],
    done: usize,
    /// How often all tokens were in use.
    attempts: u32,
    has_gil: bool,
}

impl Target<'_> {
    fn take(&mut self, mut hashes: &[Hashed]) -> Result<(), Stop> {
        while !hashes.is_empty() {
            let (chunk, rest) = hashes.split_at(hashes.len().min(CHUNK));
            let answers = match self.answers {
                [] => &mut [][..],
                _ => &mut self.answers[self.done..self.done + chunk.len()],
            };
            match (self.operation)(chunk, answers) {
                Ok(()) => {
                    self.done += chunk.len();
                    hashes = rest;
                }
                Err(Refused {
                    index,
                    why: Why::Insert(InsertError::TooManyInFlight),
                }) => {
                    self.await_token()?;
                    self.done += index;
                    hashes = &hashes[index..];
                }
                Err(mut refused) => {
                    refused.index += self.done;
                    return Err(Stop::Refused(refused));
                }
            }
        }
        Ok(())
    }

    /// The whole batch, whose nulls the operation does not see.
    fn take_hashed(&mut self, hashed: &WithNulls) -> Result<(), Stop> {
        match self.take(&hashed.hashes) {
            Ok(()) if self.answers.is_empty() => Ok(()),
            Ok(()) => {
                hashed.spread(self.answers);
                Ok(())
            }
            Err(Stop::Refused(mut refused)) => {
                refused.index = hashed.item_at(refused.index);
                Err(Stop::Refused(refused))
            }
            Err(stop) => Err(stop),
        }
    }

    /// Lets other threads return their tokens, without the GIL. Ctrl-C ends the batch.
    #[cold]
    fn await_token(&mut self) -> Result<(), Stop> {
        self.attempts = self.attempts.wrapping_add(1);
        if self.has_gil {
            Python::attach(|py| py.detach(thread::yield_now));
        } else {
            thread::yield_now();
        }
        if self.attempts.is_multiple_of(TRIES) {
            Python::attach(|py| py.check_signals()).map_err(Stop::Signal)?;
        }
        Ok(())
    }
}

fn without_gil<T: Send>(py: Python<'_>, few: bool, work: impl FnOnce() -> T + Send) -> T {
    if few { work() } else { py.detach(work) }
}

fn hashes_of_list(keys: &Keys<'_>, list: &Bound<'_, PyList>) -> PyResult<Vec<Hashed>> {
    let len = list.len();
    let mut hashes = reserved(len)?;
    for at in 0..len {
        let hash = match keys {
            Keys::Items(rule, _) => direct::hash_at(rule, list, at),
            Keys::Hashes => None,
        };
        hashes.push(match hash {
            Some(hash) => hash,
            // An item is not in the batch if another thread, or `__index__` of an item, has removed it.
            None => match list.get_item(at) {
                Ok(item) => keys
                    .hash(&item)
                    .map_err(|error| note(item.py(), error, at))?,
                Err(_) => break,
            },
        });
    }
    Ok(hashes)
}

fn hashes<'py>(
    keys: &Keys<'_>,
    len: usize,
    items: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
    is_null: impl Fn(&Bound<'py, PyAny>) -> bool,
) -> PyResult<WithNulls> {
    let mut hashes = reserved(len)?;
    let mut present = Vec::new();
    for item in items {
        let item = item?;
        if hashes.len() == hashes.capacity() {
            hashes.try_reserve(1).map_err(no_hashes)?;
        }
        let is_item = !is_null(&item);
        if !is_item && present.is_empty() {
            present.try_reserve(hashes.len()).map_err(no_hashes)?;
            present.resize(hashes.len(), true);
        }
        if !is_item || !present.is_empty() {
            present.try_reserve(1).map_err(no_hashes)?;
            present.push(is_item);
        }
        hashes.push(match is_item.then(|| keys.hash(&item)) {
            Some(Ok(hash)) => hash,
            Some(Err(error)) => return Err(note(item.py(), error, hashes.len())),
            None => Hashed(0),
        });
    }
    Ok(WithNulls::of(hashes, present))
}

/// Whether a value of an array of objects stands for none: None, NaN, and what pandas has for both.
fn is_null(item: &Bound<'_, PyAny>) -> bool {
    // Nearly all items are of these types, and the name of a type is made again for each question.
    if item.is_exact_instance_of::<PyString>()
        || item.is_exact_instance_of::<PyInt>()
        || item.is_exact_instance_of::<PyBytes>()
    {
        return false;
    }
    if let Ok(number) = item.cast::<PyFloat>() {
        return number.value().is_nan();
    }
    item.is_none() || {
        let name = item.get_type().name();
        name.is_ok_and(|name| name == "NAType" || name == "NaTType")
    }
}

fn reserved(len: usize) -> PyResult<Vec<Hashed>> {
    let mut hashes = Vec::new();
    hashes.try_reserve_exact(len).map_err(no_hashes)?;
    Ok(hashes)
}

fn no_hashes(_: TryReserveError) -> PyErr {
    out_of_memory("the hashes of the batch")
}

/// The error, with a note that says which item it is about.
#[cold]
fn note(py: Python<'_>, error: PyErr, item: usize) -> PyErr {
    let note = format!("item {item} of the batch");
    match error.value(py).call_method1("add_note", (note,)) {
        Ok(_) => error,
        Err(other) => other,
    }
}

/// Refuses one item where a batch is expected: its letters would be taken for items.
fn refuse_single(items: &Bound<'_, PyAny>) -> PyResult<()> {
    let is_single = items.is_instance_of::<PyString>()
        || items.is_instance_of::<PyBytes>()
        || items.is_instance_of::<PyByteArray>()
        || match items.cast::<PyMemoryView>() {
            Ok(view) => {
                let format: String = view.getattr("format")?.extract()?;
                let dimensions: usize = view.getattr("ndim")?.extract()?;
                matches!(&*format, "B" | "b" | "c") && dimensions <= 1
            }
            Err(_) => false,
        };
    if is_single {
        let name = items.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "a {name} is one item and not a batch: use `add`, `in` and others, or pass `[item]`"
        )));
    }
    Ok(())
}

/// The buffer of an object; `None` if the object has to be iterated.
fn buffer_of(items: &Bound<'_, PyAny>) -> PyResult<Option<PyUntypedBuffer>> {
    match buffer::of(items) {
        Ok(buffer) if buffer.format().to_bytes() == b"O" => Ok(None),
        Ok(buffer) => Ok(Some(buffer)),
        Err(_) => {
            let kind = items
                .getattr("dtype")
                .and_then(|dtype| dtype.getattr("kind"));
            match kind.and_then(|kind| kind.extract::<String>()) {
                Ok(kind) if kind == "M" || kind == "m" => Err(PyTypeError::new_err(format!(
                    "an array of {} holds no items: use `.view(\"i8\")`",
                    items.getattr("dtype")?
                ))),
                _ => Ok(None),
            }
        }
    }
}

fn list<'py>(py: Python<'py>, answers: &[bool]) -> PyResult<Bound<'py, PyAny>> {
    // A list repeats one answer faster than it takes one after the other.
    let usual = answers.iter().filter(|&&answer| answer).count() > answers.len() / 2;
    let list = PyList::new(py, [usual])?
        .as_sequence()
        .repeat(answers.len())?
        .cast_into::<PyList>()?;
    for (at, &answer) in answers.iter().enumerate() {
        if answer != usual {
            list.set_item(at, answer)?;
        }
    }
    Ok(list.into_any())
}
