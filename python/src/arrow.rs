//! Columns of polars, pyarrow and others, through the Arrow PyCapsule interface.
//!
//! The memory of a column is immutable by the rules of Arrow, but it can belong to an array that
//! another thread writes. So it is only ever copied, by relaxed atomic loads, and the copy is checked
//! and hashed: offsets, sizes and UTF-8. The interface has no sizes of buffers, so the last offset of
//! a column is trusted when it is imported, and never read again.

#![allow(unsafe_code)]

use crate::{
    arguments::Items,
    batch::{Hashes, Keys, Nulls, Stop, WithNulls},
    buffer::{COPIED, MOST, copy_shared},
    item::Rule,
};
use arrow_array::{
    AnyDictionaryArray, Array, ArrayReader, ArrayRef, FixedSizeBinaryArray, OffsetSizeTrait,
    cast::AsArray,
    ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi},
    ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream},
    make_array,
    types::{
        Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_data::ByteView;
use arrow_schema::DataType;
use bytemuck::Pod;
use guira::Hashed;
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyCapsule, PyTuple},
};
use std::{ffi::CStr, ops::Range, str};

/// The longest value that is stored in its view.
const INLINE: usize = 12;

/// The items of an Arrow array or stream.
pub(crate) struct Column {
    chunks: Vec<ArrayRef>,
    len: usize,
}

impl Column {
    /// The items of an object that has the interface; `None` for others.
    pub(crate) fn of(items: &Bound<'_, PyAny>, keys: &Keys<'_>) -> PyResult<Option<Self>> {
        let kind = items.get_type();
        let chunks = if kind.hasattr("__arrow_c_array__")? {
            vec![array_of(items, keys)?]
        } else if kind.hasattr("__arrow_c_stream__")? {
            stream_of(items, keys)?
        } else {
            return Ok(None);
        };
        for chunk in &chunks {
            // The data are checked before anything else reads them.
            let data = chunk.to_data();
            let checked = items.py().detach(|| {
                data.validate()?;
                data.validate_nulls()
            });
            checked.map_err(refused)?;
        }
        let len = chunks.iter().map(|chunk| chunk.len()).sum();
        Ok(Some(Self { chunks, len }))
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn hashes(&self, keys: &Keys<'_>) -> Result<WithNulls, Stop> {
        let mut hashes = Hashes::reserved(self.len)?;
        let mut present = Vec::new();
        for chunk in &self.chunks {
            let first = hashes.len();
            let of_chunk = hash(chunk, keys, &mut hashes)?;
            if !of_chunk.is_empty() || !present.is_empty() {
                let more = hashes.len() - present.len();
                reserve(&mut present, more)?;
                present.resize(first, true);
                present.extend(of_chunk);
                present.resize(hashes.len(), true);
            }
        }
        let allowed = matches!(keys, Keys::Items(_, Nulls::Absent));
        if !allowed && present.contains(&false) {
            let nulls = present.iter().filter(|&&present| !present).count();
            let hint = match keys {
                Keys::Items(..) => ", or pass nulls='absent'",
                Keys::Hashes => "",
            };
            return Err(Stop::Column(format!(
                "a column with {nulls} nulls: drop them first{hint}"
            )));
        }
        Ok(WithNulls::of(hashes, present))
    }
}

/// Refuses columns of other types before anything of them is read.
fn check_type(data_type: &DataType, keys: &Keys<'_>) -> PyResult<()> {
    use DataType::*;
    let is_int = data_type.is_integer();
    let is_bytes = matches!(
        data_type,
        Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | FixedSizeBinary(_)
    );
    // The values of a categorical column.
    if let (Dictionary(_, values), Keys::Items(..)) = (data_type, keys) {
        return check_type(values, keys);
    }
    let allowed = match keys {
        Keys::Hashes => *data_type == UInt64,
        Keys::Items(rule, _) => is_bytes || is_int && rule.items == Items::Any,
    };
    if allowed {
        return Ok(());
    }
    let wanted = match keys {
        Keys::Hashes => "hashes are of type UInt64",
        Keys::Items(rule, _) if rule.items == Items::Bytes => {
            "items of this filter are of a string or binary type, as it has items='bytes'"
        }
        Keys::Items(..) => {
            "items are of an integer, string or binary type; of a table, pass one column"
        }
    };
    Err(PyTypeError::new_err(format!(
        "an Arrow column of type {data_type} holds no items: {wanted}"
    )))
}

fn array_of(items: &Bound<'_, PyAny>, keys: &Keys<'_>) -> PyResult<ArrayRef> {
    let capsules = items
        .call_method0("__arrow_c_array__")?
        .cast_into::<PyTuple>()?;
    let [schema, array] = &*capsules.iter().collect::<Vec<_>>() else {
        let message = "__arrow_c_array__ must return two capsules";
        return Err(PyTypeError::new_err(message));
    };
    let schema = pointer::<FFI_ArrowSchema>(schema, c"arrow_schema")?;
    let array = pointer::<FFI_ArrowArray>(array, c"arrow_array")?;
    // SAFETY: capsules of these names point to these structs, by the PyCapsule interface. The
    // schema stays with its capsule; `from_raw` moves the array out of its own.
    let data = unsafe {
        if (*schema).release().is_none() || (*array).is_released() {
            let message = "the capsules of __arrow_c_array__ were already used: they are released";
            return Err(PyValueError::new_err(message));
        }
        let data_type = DataType::try_from(&*schema).map_err(refused)?;
        check_type(&data_type, keys)?;
        from_ffi(FFI_ArrowArray::from_raw(array), &*schema).map_err(refused)?
    };
    data.validate().map_err(refused)?;
    Ok(make_array(data))
}

fn stream_of(items: &Bound<'_, PyAny>, keys: &Keys<'_>) -> PyResult<Vec<ArrayRef>> {
    let capsule = items.call_method0("__arrow_c_stream__")?;
    let stream = pointer::<FFI_ArrowArrayStream>(&capsule, c"arrow_array_stream")?;
    // SAFETY: a capsule of this name points to this struct, by the PyCapsule interface. The call
    // moves the stream out of it.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream) };
    // The stream may wait for a thread that needs the GIL.
    let py = items.py();
    let stream = py.detach(|| ArrayStreamReader::try_new(stream));
    let stream = stream.map_err(refused)?;
    check_type(stream.field().data_type(), keys)?;
    let chunks = py.detach(|| stream.collect::<Result<_, _>>());
    chunks.map_err(refused)
}

fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<*mut T> {
    let capsule = capsule.cast::<PyCapsule>()?;
    Ok(capsule.pointer_checked(Some(name))?.as_ptr().cast())
}

fn refused(error: arrow_schema::ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Appends the hashes of a chunk of a type that `check_type` has allowed. Returns which values are no
/// nulls, or nothing if none is one. The hash of a null is any number.
fn hash(chunk: &dyn Array, keys: &Keys<'_>, hashes: &mut Vec<Hashed>) -> Result<Vec<bool>, Stop> {
    let present = present(chunk)?;
    match chunk.as_any_dictionary_opt() {
        Some(dictionary) => hash_dictionary(dictionary, present, keys, hashes),
        None => {
            hash_values(chunk, &present, keys, hashes)?;
            Ok(present)
        }
    }
}

/// Which values are no nulls, or nothing if none is one.
fn present(chunk: &dyn Array) -> Result<Vec<bool>, Stop> {
    let Some(nulls) = chunk.nulls().filter(|nulls| nulls.null_count() > 0) else {
        return Ok(Vec::new());
    };
    let mut bits = Vec::new();
    copy_of(nulls.validity(), &mut bits)?;
    let mut present = Hashes::reserved(chunk.len())?;
    let places = nulls.offset()..nulls.offset() + chunk.len();
    present.extend(places.map(|place| bits[place / 8] >> (place % 8) & 1 == 1));
    Ok(present)
}

/// The hashes of a categorical column: each value is hashed once.
fn hash_dictionary(
    dictionary: &dyn AnyDictionaryArray,
    mut present: Vec<bool>,
    keys: &Keys<'_>,
    hashes: &mut Vec<Hashed>,
) -> Result<Vec<bool>, Stop> {
    let values = dictionary.values();
    let mut of_values = Hashes::reserved(values.len())?;
    let present_values = hash(values, keys, &mut of_values)?;
    let mut places = Hashes::reserved(dictionary.len())?;
    // As hashes, because those of integers are the integers themselves.
    hash_values(dictionary.keys(), &[], &Keys::Hashes, &mut places)?;
    if !present_values.is_empty() && present.is_empty() {
        reserve(&mut present, dictionary.len())?;
        present.resize(dictionary.len(), true);
    }
    for (item, Hashed(place)) in places.into_iter().enumerate() {
        let is_null = present.get(item) == Some(&false);
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        if present_values.get(place) == Some(&false) {
            present[item] = false;
        }
        hashes.push(match of_values.get(place) {
            Some(&hash) => hash,
            None if is_null => Hashed(0),
            None => {
                return Err(Stop::Column(format!(
                    "the category of item {item} of the column is {place}, and there are {}",
                    of_values.len()
                )));
            }
        });
    }
    Ok(present)
}

fn hash_values(
    chunk: &dyn Array,
    present: &[bool],
    keys: &Keys<'_>,
    hashes: &mut Vec<Hashed>,
) -> Result<(), Stop> {
    macro_rules! ints {
        ($kind:ty) => {{
            let mut copy = Vec::new();
            for ints in chunk.as_primitive::<$kind>().values().chunks(MOST) {
                copy_of(ints, &mut copy)?;
                // Signed ones are widened with their sign.
                let ints = copy.iter().map(|&int| int as i64 as u64);
                match keys {
                    Keys::Items(rule, _) => hashes.extend(ints.map(|int| rule.hash_u64(int))),
                    Keys::Hashes => hashes.extend(ints.map(Hashed)),
                }
            }
            return Ok(());
        }};
    }
    match chunk.data_type() {
        DataType::Int8 => ints!(Int8Type),
        DataType::Int16 => ints!(Int16Type),
        DataType::Int32 => ints!(Int32Type),
        DataType::Int64 => ints!(Int64Type),
        DataType::UInt8 => ints!(UInt8Type),
        DataType::UInt16 => ints!(UInt16Type),
        DataType::UInt32 => ints!(UInt32Type),
        DataType::UInt64 => ints!(UInt64Type),
        _ => {}
    }
    let Keys::Items(rule, _) = keys else {
        unreachable!("hashes and categories are integers");
    };
    let is_text = matches!(
        chunk.data_type(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    );
    let mut values = Values {
        rule,
        is_text,
        present,
        first: hashes.len(),
        hashes,
    };
    macro_rules! with_offsets {
        ($array:expr) => {{
            let array = $array;
            values.of_offsets(array.value_offsets(), array.value_data())
        }};
    }
    macro_rules! with_views {
        ($array:expr) => {{
            let array = $array;
            values.of_views(array.views(), |buffer, place| {
                array.data_buffers().get(buffer)?.get(place)
            })
        }};
    }
    match chunk.data_type() {
        DataType::Utf8 => with_offsets!(chunk.as_string::<i32>()),
        DataType::LargeUtf8 => with_offsets!(chunk.as_string::<i64>()),
        DataType::Binary => with_offsets!(chunk.as_binary::<i32>()),
        DataType::LargeBinary => with_offsets!(chunk.as_binary::<i64>()),
        DataType::Utf8View => with_views!(chunk.as_string_view()),
        DataType::BinaryView => with_views!(chunk.as_binary_view()),
        DataType::FixedSizeBinary(_) => {
            let rows = chunk.as_any().downcast_ref::<FixedSizeBinaryArray>();
            values.of_rows(rows.expect("its type"))
        }
        other => unreachable!("refused before: {other}"),
    }
}

/// Where the hashes of strings and byte strings go.
struct Values<'a> {
    rule: &'a Rule,
    is_text: bool,
    /// Which values of the chunk are no nulls; empty if none is one.
    present: &'a [bool],
    /// The number of hashes before those of the chunk.
    first: usize,
    hashes: &'a mut Vec<Hashed>,
}

impl Values<'_> {
    /// Whether the next value is a null, whose bytes may be anything.
    fn is_null(&self) -> bool {
        let item = self.hashes.len() - self.first;
        self.present.get(item) == Some(&false)
    }

    /// Values that follow each other in `data`.
    fn of_offsets<O: OffsetSizeTrait + Pod>(
        &mut self,
        offsets: &[O],
        data: &[u8],
    ) -> Result<(), Stop> {
        let items = offsets.len().saturating_sub(1);
        let (mut copy, mut bytes) = (Vec::new(), Vec::new());
        for first in (0..items).step_by(MOST) {
            copy_of(&offsets[first..=items.min(first + MOST)], &mut copy)?;
            let mut rest = &copy[..];
            while rest.len() > 1 {
                let start = rest[0].as_usize();
                let is_near = |end: &&O| end.as_usize().wrapping_sub(start) <= COPIED;
                let run = rest[1..].iter().take_while(is_near).count().max(1);
                let shared = data.get(start..rest[run].as_usize());
                copy_of(shared.ok_or_else(|| self.outside())?, &mut bytes)?;
                let places = rest[..=run].windows(2).map(|pair| {
                    pair[0].as_usize().wrapping_sub(start)..pair[1].as_usize().wrapping_sub(start)
                });
                // One check of all bytes is faster than one per value.
                let text = self.is_text.then(|| str::from_utf8(&bytes).ok()).flatten();
                for place in places {
                    match text.and_then(|text| text.get(place.clone())) {
                        Some(value) => self.hashes.push(self.rule.hash_str(value)),
                        None => self.push(bytes.get(place))?,
                    }
                }
                rest = &rest[run..];
            }
        }
        Ok(())
    }

    /// Values that are in their views if they are short, and otherwise in the buffers of `bytes_at`.
    fn of_views<'b>(
        &mut self,
        views: &[u128],
        bytes_at: impl Fn(usize, Range<usize>) -> Option<&'b [u8]>,
    ) -> Result<(), Stop> {
        let (mut copy, mut bytes) = (Vec::new(), Vec::new());
        for views in views.chunks(MOST) {
            copy_of(views, &mut copy)?;
            for &bits in &copy {
                let view = ByteView::from(bits);
                let (len, offset) = (view.length as usize, view.offset as usize);
                if self.is_null() {
                    self.hashes.push(Hashed(0));
                } else if len <= INLINE {
                    self.push(bits.to_le_bytes().get(4..4 + len))?;
                } else {
                    let place = offset..offset.saturating_add(len);
                    let shared = bytes_at(view.buffer_index as usize, place);
                    copy_of(shared.ok_or_else(|| self.outside())?, &mut bytes)?;
                    self.push(Some(&bytes))?;
                }
            }
        }
        Ok(())
    }

    /// Values of one size.
    fn of_rows(&mut self, rows: &FixedSizeBinaryArray) -> Result<(), Stop> {
        let size = rows.value_size();
        let at_once = (COPIED / size.max(1)).clamp(1, MOST);
        let mut bytes = Vec::new();
        for first in (0..rows.len()).step_by(at_once) {
            let count = at_once.min(rows.len() - first);
            let shared = rows.value_data().get(first * size..(first + count) * size);
            copy_of(shared.ok_or_else(|| self.outside())?, &mut bytes)?;
            for row in 0..count {
                self.push(bytes.get(row * size..(row + 1) * size))?;
            }
        }
        Ok(())
    }

    /// Appends the hash of a copied value; `None` is outside of the copy.
    fn push(&mut self, value: Option<&[u8]>) -> Result<(), Stop> {
        if self.is_null() {
            self.hashes.push(Hashed(0));
            return Ok(());
        }
        let value = value.ok_or_else(|| self.outside())?;
        let hash = if self.is_text {
            let text = str::from_utf8(value).map_err(|error| {
                Stop::Column(format!(
                    "item {} of the column is not UTF-8: {error}",
                    self.hashes.len()
                ))
            })?;
            self.rule.hash_str(text)
        } else {
            self.rule.hash_bytes(value)
        };
        self.hashes.push(hash);
        Ok(())
    }

    #[cold]
    fn outside(&self) -> Stop {
        let item = self.hashes.len();
        Stop::Column(format!(
            "the offsets of item {item} of the column are outside of its buffer"
        ))
    }
}

fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<(), Stop> {
    let reserved = values.try_reserve(more);
    reserved.map_err(|_| Stop::Memory(more.saturating_mul(size_of::<T>())))
}

/// Replaces `copy` by the values of memory that other threads may write.
fn copy_of<T: Pod>(values: &[T], copy: &mut Vec<T>) -> Result<(), Stop> {
    copy.clear();
    reserve(copy, values.len())?;
    copy.resize(values.len(), T::zeroed());
    // SAFETY: the bytes of `values` are readable.
    unsafe { copy_shared(values.as_ptr().cast(), bytemuck::cast_slice_mut(copy)) };
    Ok(())
}
