//! Columns of polars, pyarrow and others, through the Arrow PyCapsule interface.
//!
//! The memory of a column is immutable by the rules of Arrow, so it is read in place. Columns are
//! checked before they are read: offsets, sizes and UTF-8.

#![allow(unsafe_code)]

use crate::{
    arguments::Items,
    batch::{Hashes, Keys, Stop},
};
use arrow_array::{
    Array, ArrayReader, ArrayRef, FixedSizeBinaryArray,
    cast::AsArray,
    ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi},
    ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream},
    make_array,
    types::{
        Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::DataType;
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyCapsule, PyTuple},
};
use std::ffi::CStr;

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
            // Before anything else looks at it.
            let checked = chunk.to_data().validate_full();
            checked.map_err(|error| PyValueError::new_err(error.to_string()))?;
            if chunk.null_count() > 0 {
                return Err(PyValueError::new_err(format!(
                    "a column with {} nulls: drop them first",
                    chunk.null_count()
                )));
            }
        }
        let len = chunks.iter().map(|chunk| chunk.len()).sum();
        Ok(Some(Self { chunks, len }))
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn hashes(&self, keys: &Keys<'_>) -> Result<Vec<u64>, Stop> {
        let mut hashes = Hashes::reserved(self.len)?;
        for chunk in &self.chunks {
            hash(chunk, keys, &mut hashes);
        }
        Ok(hashes)
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
    let allowed = match keys {
        Keys::Hashes => *data_type == UInt64,
        Keys::Items(rule) => is_bytes || is_int && rule.items == Items::Any,
    };
    if allowed {
        return Ok(());
    }
    let wanted = match keys {
        Keys::Hashes => "hashes are of type UInt64",
        Keys::Items(rule) if rule.items == Items::Bytes => {
            "items of this filter are of a string or binary type, as it has items='bytes'"
        }
        Keys::Items(_) => {
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
    let stream = unsafe { ArrayStreamReader::from_raw(stream) }.map_err(refused)?;
    check_type(stream.field().data_type(), keys)?;
    stream.collect::<Result<_, _>>().map_err(refused)
}

fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<*mut T> {
    let capsule = capsule.cast::<PyCapsule>()?;
    Ok(capsule.pointer_checked(Some(name))?.as_ptr().cast())
}

fn refused(error: arrow_schema::ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Appends the hashes of a chunk of a type that `check_type` has allowed.
fn hash(chunk: &dyn Array, keys: &Keys<'_>, hashes: &mut Vec<u64>) {
    macro_rules! ints {
        ($kind:ty) => {{
            let ints = chunk.as_primitive::<$kind>().values().iter();
            // Signed ones are widened with their sign.
            let ints = ints.map(|&int| int as i64 as u64);
            match keys {
                Keys::Items(rule) => hashes.extend(ints.map(|int| rule.hash_u64(int))),
                Keys::Hashes => hashes.extend(ints),
            }
            return;
        }};
    }
    let Keys::Items(rule) = keys else {
        ints!(UInt64Type);
    };
    macro_rules! each {
        ($array:expr, $hash:ident) => {{
            let array = $array;
            hashes.extend((0..array.len()).map(|item| rule.$hash(array.value(item))));
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
        DataType::Utf8 => each!(chunk.as_string::<i32>(), hash_str),
        DataType::LargeUtf8 => each!(chunk.as_string::<i64>(), hash_str),
        DataType::Utf8View => each!(chunk.as_string_view(), hash_str),
        DataType::Binary => each!(chunk.as_binary::<i32>(), hash_bytes),
        DataType::LargeBinary => each!(chunk.as_binary::<i64>(), hash_bytes),
        DataType::BinaryView => each!(chunk.as_binary_view(), hash_bytes),
        DataType::FixedSizeBinary(_) => {
            each!(
                chunk
                    .as_any()
                    .downcast_ref::<FixedSizeBinaryArray>()
                    .expect("its type"),
                hash_bytes
            );
        }
        other => unreachable!("refused before: {other}"),
    }
}
