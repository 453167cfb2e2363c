//! Three things that PyO3 does more slowly. Methods of one item take it without a list of arguments,
//! the integers of a list are read without a reference to each, and a large integer is no exception.
//!
//! The methods of PyO3 take their arguments from an array, and count calls in a variable of the
//! thread. For `add` that is a large part of the time. So the methods that are called once per item
//! are replaced when the module is loaded: CPython passes the item itself (`METH_O`). The
//! replacement hashes an exact `str`, `int` or `bytes`. It leaves all else to the replaced method.

#![allow(unsafe_code)]

use crate::shared::{SharedExpiringFilter, SharedFilter};
use crate::{common::Changes, expiring::ExpiringFilter, filter::Filter, item::Rule};
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
use guira::Hashed;
use pyo3::{
    PyClass, PyTypeInfo, ffi,
    panic::PanicException,
    prelude::*,
    pyclass::boolean_struct::True,
    sync::PyOnceLock,
    types::{PyBool, PyInt, PyList},
};
use std::{
    ffi::{CStr, CString},
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
};

/// A class whose methods hash items.
pub(crate) trait Hashing {
    fn rule(&self) -> &Rule;
}

/// What a method returns.
trait Answer {
    fn object(self, py: Python<'_>) -> Py<PyAny>;
}

impl Answer for () {
    #[inline]
    fn object(self, py: Python<'_>) -> Py<PyAny> {
        py.None()
    }
}

impl Answer for bool {
    #[inline]
    fn object(self, py: Python<'_>) -> Py<PyAny> {
        PyBool::new(py, self).to_owned().into_any().unbind()
    }
}

/// The method that was replaced.
type Replaced = PyOnceLock<Py<PyAny>>;

/// Replaces the methods of one item.
pub(crate) fn init(py: Python<'_>) -> PyResult<()> {
    macro_rules! replace {
        ($class:ty, $($name:literal => $method:ident),*) => {$({
            static REPLACED: Replaced = Replaced::new();
            unsafe extern "C" fn call(
                filter: *mut ffi::PyObject,
                item: *mut ffi::PyObject,
            ) -> *mut ffi::PyObject {
                // SAFETY: it is a method of this class only, by `replace`.
                unsafe { call_with(filter, item, <$class>::$method, &REPLACED) }
            }
            replace::<$class>(py, $name, call, &REPLACED)?;
        })*};
    }
    replace!(Filter, c"add" => add_hash, c"add_unique" => add_unique_hash, c"discard" => discard_hash);
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    replace!(
        SharedFilter,
        c"add" => add_hash, c"add_unique" => add_unique_hash, c"discard" => discard_hash
    );
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    replace!(
        SharedExpiringFilter,
        c"add" => add_hash, c"add_unique" => add_unique_hash, c"discard" => discard_hash,
        c"add_or_refresh" => add_or_refresh_hash
    );
    replace!(
        ExpiringFilter,
        c"add" => add_hash, c"add_unique" => add_unique_hash, c"discard" => discard_hash,
        c"add_or_refresh" => add_or_refresh_hash
    );
    Ok(())
}

/// Makes `call` the method of this name. Its docstring stays.
fn replace<C: PyTypeInfo>(
    py: Python<'_>,
    name: &'static CStr,
    call: ffi::PyCFunction,
    replaced: &Replaced,
) -> PyResult<()> {
    let class = py.get_type::<C>();
    let text = name.to_string_lossy();
    let method = class.getattr(&*text)?;
    if replaced.set(py, method.clone().unbind()).is_err() {
        return Ok(());
    }
    // CPython takes the signature from the docstring.
    let signature: String = method.getattr("__text_signature__")?.extract()?;
    let doc: String = method.getattr("__doc__")?.extract()?;
    let doc = CString::new(format!("{text}{signature}\n--\n\n{doc}"))?;
    // The class exists as long as the process.
    let definition = Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunction: call },
        ml_flags: ffi::METH_O,
        ml_doc: doc.into_raw(),
    }));
    // SAFETY: the class and the definition are valid for ever. The call returns a new reference, or
    // null with an exception.
    let method = unsafe {
        let method = ffi::PyDescr_NewMethod(class.as_type_ptr(), definition);
        Bound::from_owned_ptr_or_err(py, method)?
    };
    class.setattr(&*text, method)
}

/// Calls a method with the hash of an item, or the replaced method with the item.
///
/// # Safety
///
/// The thread must be attached to the interpreter, `filter` must be an instance of `C`, and `item`
/// an object. The caller keeps both alive.
#[inline]
unsafe fn call_with<C, A>(
    filter: *mut ffi::PyObject,
    item: *mut ffi::PyObject,
    method: impl Fn(&C, Python<'_>, Hashed) -> PyResult<A>,
    replaced: &Replaced,
) -> *mut ffi::PyObject
where
    C: Hashing + PyClass<Frozen = True> + Sync,
    A: Answer,
{
    // SAFETY: the caller says so.
    let (py, filter, item) = unsafe {
        let py = Python::assume_attached();
        let filter = Borrowed::from_ptr(py, filter).cast_unchecked::<C>();
        (py, filter, Borrowed::from_ptr(py, item))
    };
    let called = catch_unwind(AssertUnwindSafe(|| {
        let this = filter.get();
        match this.rule().hash_exact(&item) {
            Some(hash) => Ok(method(this, py, hash)?.object(py)),
            None => call_replaced(replaced, filter.as_any(), &item),
        }
    }));
    match called {
        Ok(Ok(answer)) => answer.into_ptr(),
        Ok(Err(error)) => raise(py, error),
        Err(_) => raise(py, PanicException::new_err("a method of a filter panicked")),
    }
}

#[cold]
fn call_replaced(
    replaced: &Replaced,
    filter: &Bound<'_, PyAny>,
    item: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    let py = item.py();
    let method = replaced.get(py).expect("set before it was replaced");
    Ok(method.bind(py).call1((filter, item))?.unbind())
}

#[cold]
fn raise(py: Python<'_>, error: PyErr) -> *mut ffi::PyObject {
    error.restore(py);
    ptr::null_mut()
}

/// The hash of an item of a list if it is an exact `str`, `int` or `bytes`. With the GIL, nothing
/// else runs during the call, so integers and bytes need no reference.
#[cfg(not(Py_GIL_DISABLED))]
#[inline]
pub(crate) fn hash_at(rule: &Rule, list: &Bound<'_, PyList>, at: usize) -> Option<Hashed> {
    // SAFETY: the list keeps the item alive until it changes. `hash_exact` does not release the
    // GIL, and runs no Python code that could change the list. The exception is a `str` that is
    // not Unicode, whose error can start a garbage collection. Beyond the end there is null.
    unsafe {
        let item = ffi::PyList_GetItem(list.as_ptr(), at.cast_signed());
        let Some(item) = Borrowed::from_ptr_or_opt(list.py(), item) else {
            ffi::PyErr_Clear();
            return None;
        };
        if item.is_exact_instance_of::<pyo3::types::PyString>() {
            return rule.hash_exact(&item.to_owned());
        }
        rule.hash_exact(&item)
    }
}

/// Without the GIL, another thread may remove the item during the call. So the caller takes a
/// reference.
#[cfg(Py_GIL_DISABLED)]
#[inline]
pub(crate) fn hash_at(_: &Rule, _: &Bound<'_, PyList>, _: usize) -> Option<Hashed> {
    None
}

/// The value of an integer of at most 64 bits with its sign.
#[inline]
pub(crate) fn small(number: &Bound<'_, PyInt>) -> Option<i64> {
    let mut overflow = 0;
    // SAFETY: the object is an integer, so there is no exception: larger ones set `overflow`.
    let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(number.as_ptr(), &raw mut overflow) };
    (overflow == 0).then_some(value)
}
