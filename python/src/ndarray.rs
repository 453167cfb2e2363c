//! numpy arrays without the buffer protocol, which takes longer than a small batch.
//!
//! An array describes itself by `__array_struct__`, and numpy makes arrays through its table of C
//! functions. Both are what numpy offers to compiled modules, and stay as they are in numpy 1 and 2.

#![allow(unsafe_code)]

use crate::buffer::View;
use pyo3::{exceptions::PyImportError, ffi, intern, prelude::*, sync::PyOnceLock};
use std::{
    ffi::{c_char, c_int, c_uint, c_void},
    ptr, slice,
};

/// What `__array_struct__` holds: `PyArrayInterface` in numpy's headers.
#[repr(C)]
struct Interface {
    /// 2 in every version of numpy.
    two: c_int,
    dimensions: c_int,
    kind: c_char,
    item_size: c_int,
    flags: c_int,
    shape: *const isize,
    strides: *const isize,
    data: *const u8,
}

/// The flag of an array in native byte order.
const NATIVE: c_int = 0x200;

/// numpy's number of the type `bool`.
const BOOL: c_int = 0;

type Version = unsafe extern "C" fn() -> c_uint;
type New = unsafe extern "C" fn(
    class: *mut ffi::PyTypeObject,
    dimensions: c_int,
    shape: *const isize,
    kind: c_int,
    strides: *const isize,
    data: *mut c_void,
    item_size: c_int,
    flags: c_int,
    object: *mut ffi::PyObject,
) -> *mut ffi::PyObject;
type GetPointer =
    unsafe extern "C" fn(array: *mut ffi::PyObject, index: *const isize) -> *mut c_void;

/// What this package needs of numpy.
struct Numpy {
    class: *mut ffi::PyTypeObject,
    new: New,
    pointer: GetPointer,
}

// SAFETY: the class and the functions exist as long as the process.
unsafe impl Send for Numpy {}
// SAFETY: as above.
unsafe impl Sync for Numpy {}

/// Set when the first array of answers is made.
static NUMPY: PyOnceLock<Numpy> = PyOnceLock::new();

impl Numpy {
    fn load(py: Python<'_>) -> PyResult<Self> {
        // The second is its name in numpy 1.
        let module = py
            .import("numpy._core._multiarray_umath")
            .or_else(|_| py.import("numpy.core._multiarray_umath"))?;
        let capsule = module.getattr("_ARRAY_API")?;
        // SAFETY: the call sets an exception for an object that is not a capsule without a name.
        let table = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), ptr::null()) };
        if table.is_null() {
            return Err(PyErr::fetch(py));
        }
        let table = table.cast::<*mut c_void>();
        // SAFETY: the table has these functions at these places in both versions, as the numbers
        // in numpy's headers never change.
        unsafe {
            let version = std::mem::transmute::<*mut c_void, Version>(*table)();
            if !matches!(version >> 24, 1 | 2) {
                let message = format!("this numpy has an unknown C interface, {version:#x}");
                return Err(PyImportError::new_err(message));
            }
            Ok(Self {
                class: (*table.add(2)).cast(),
                new: std::mem::transmute::<*mut c_void, New>(*table.add(93)),
                pointer: std::mem::transmute::<*mut c_void, GetPointer>(*table.add(160)),
            })
        }
    }
}

/// The items of a numpy array of integers in one dimension; `None` for all else.
///
/// The caller keeps the array until the view is gone.
pub(crate) fn ints(array: &Bound<'_, PyAny>) -> Option<View> {
    let py = array.py();
    if array.get_type_ptr() != NUMPY.get(py)?.class {
        return None;
    }
    let capsule = array.getattr(intern!(py, "__array_struct__")).ok()?;
    // SAFETY: the object is an array of numpy itself, whose description is a capsule with this
    // structure. It is valid until the capsule is gone.
    unsafe {
        let interface = ffi::PyCapsule_GetPointer(capsule.as_ptr(), ptr::null());
        let interface = interface.cast::<Interface>().as_ref()?;
        let is_plain =
            interface.two == 2 && interface.dimensions == 1 && interface.flags & NATIVE != 0;
        let is_signed = match interface.kind as u8 {
            b'u' => false,
            b'i' => true,
            _ => return None,
        };
        let width = usize::try_from(interface.item_size).ok()?;
        (is_plain && matches!(width, 1 | 2 | 4 | 8)).then(|| {
            let (items, stride) = (*interface.shape, *interface.strides);
            View::of_ints(
                interface.data,
                items.unsigned_abs(),
                stride,
                width,
                is_signed,
            )
        })
    }
}

/// A new array of answers, which only this batch can reach.
pub(crate) struct Answers<'py> {
    array: Bound<'py, PyAny>,
    start: *mut bool,
    len: usize,
}

impl<'py> Answers<'py> {
    /// Answers that are all false. `None` without numpy.
    pub(crate) fn new(py: Python<'py>, len: usize) -> PyResult<Option<Self>> {
        let Ok(numpy) = NUMPY.get_or_try_init(py, || Numpy::load(py)) else {
            return Ok(None);
        };
        let shape = len.cast_signed();
        // SAFETY: one dimension has one number in its shape. Without data, numpy allocates them.
        let array = unsafe {
            let (none, data) = (ptr::null(), ptr::null_mut());
            let array = (numpy.new)(
                numpy.class,
                1,
                &shape,
                BOOL,
                none,
                data,
                0,
                0,
                ptr::null_mut(),
            );
            Bound::from_owned_ptr_or_err(py, array)?
        };
        let first = 0;
        // SAFETY: the index has a number for each dimension. numpy only multiplies it by the strides.
        let start = unsafe { (numpy.pointer)(array.as_ptr(), &first) }.cast::<bool>();
        // SAFETY: the array has that many bytes, and zero is false.
        unsafe { start.write_bytes(0, len) };
        Ok(Some(Self { array, start, len }))
    }

    pub(crate) fn as_mut(&mut self) -> &mut [bool] {
        // SAFETY: numpy keeps them while there is an array, and nothing else knows the array.
        unsafe { slice::from_raw_parts_mut(self.start, self.len) }
    }

    pub(crate) fn array(self) -> Bound<'py, PyAny> {
        self.array
    }
}
