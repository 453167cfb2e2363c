//! Pointers of the caller become references, once they are checked.

use crate::status::Failure;
use guira::SeededState;
use std::{
    ffi::{CStr, c_char, c_void},
    ptr, slice,
};

/// A pointer to `name` that is neither null nor misaligned.
#[inline(always)]
fn checked<T>(pointer: *const T, name: &'static str) -> Result<*const T, Failure> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(unusable(pointer.addr(), align_of::<T>(), name));
    }
    Ok(pointer)
}

/// Apart from the check, so that a call with good pointers does not prepare a message.
#[cold]
#[inline(never)]
fn unusable(address: usize, alignment: usize, name: &'static str) -> Failure {
    if address == 0 {
        return Failure::invalid(format_args!("{name} is null"));
    }
    Failure::invalid(format_args!(
        "{name} is at {address:#x}, which is not a multiple of {alignment}"
    ))
}

/// # Safety
///
/// The pointer is null, misaligned, or that of a value that lives and is only read for `'a`.
#[inline(always)]
pub(crate) unsafe fn shared<'a, T>(
    pointer: *const T,
    name: &'static str,
) -> Result<&'a T, Failure> {
    let pointer = checked(pointer, name)?;
    // SAFETY: it is checked, and the caller promises the rest.
    Ok(unsafe { &*pointer })
}

/// # Safety
///
/// As [`shared`], for a value that only this call uses for `'a`.
pub(crate) unsafe fn exclusive<'a, T>(
    pointer: *mut T,
    name: &'static str,
) -> Result<&'a mut T, Failure> {
    checked(pointer, name)?;
    // SAFETY: it is checked, and the caller promises the rest.
    Ok(unsafe { &mut *pointer })
}

/// A text that ends with a zero.
///
/// # Safety
///
/// The pointer is null or that of a text with a zero at its end, which is only read for `'a`.
pub(crate) unsafe fn text<'a>(
    pointer: *const c_char,
    name: &'static str,
) -> Result<&'a CStr, Failure> {
    let pointer = checked(pointer, name)?;
    // SAFETY: it is checked, and the caller promises the rest.
    Ok(unsafe { CStr::from_ptr(pointer) })
}

/// # Safety
///
/// As [`shared`], for `len` values, unless the length is impossible.
#[inline(always)]
pub(crate) unsafe fn slice<'a, T>(
    pointer: *const T,
    len: usize,
    name: &'static str,
) -> Result<&'a [T], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    let pointer = checked(pointer, name)?;
    fits::<T>(pointer.addr(), len, name)?;
    // SAFETY: it is checked, and the caller promises the rest.
    Ok(unsafe { slice::from_raw_parts(pointer, len) })
}

/// The hash of an item of `len` bytes.
///
/// # Safety
///
/// As [`slice`].
#[inline(always)]
pub(crate) unsafe fn hash_of_bytes(
    state: &SeededState,
    item: *const c_void,
    len: usize,
) -> Result<u64, Failure> {
    // SAFETY: the caller's promise.
    let item = unsafe { slice(item.cast::<u8>(), len, "item") }?;
    Ok(state.hash_bytes(item))
}

/// The results of a batch, all false.
///
/// # Safety
///
/// As [`slice`], for memory that this call alone uses for `'a`. It need not be initialised.
#[inline(always)]
pub(crate) unsafe fn answers<'a>(
    pointer: *mut bool,
    len: usize,
) -> Result<&'a mut [bool], Failure> {
    if len == 0 {
        return Ok(&mut []);
    }
    checked(pointer, "results")?;
    fits::<bool>(pointer.addr(), len, "results")?;
    // SAFETY: the memory is the call's for `'a`, and zero is `false`.
    Ok(unsafe {
        pointer.write_bytes(0, len);
        slice::from_raw_parts_mut(pointer, len)
    })
}

/// An error if that many values cannot be at the address.
#[inline(always)]
fn fits<T>(address: usize, len: usize, name: &'static str) -> Result<(), Failure> {
    let size = len.checked_mul(size_of::<T>());
    match size.filter(|size| isize::try_from(*size).is_ok() && address.checked_add(*size).is_some())
    {
        Some(_) => Ok(()),
        None => Err(too_many(len, name)),
    }
}

#[cold]
#[inline(never)]
fn too_many(len: usize, name: &'static str) -> Failure {
    Failure::invalid(format_args!("{name} cannot have {len} elements"))
}

/// A place for a result of the call.
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// # Safety
    ///
    /// The pointer is null, misaligned, or that of memory for a `T` that this call alone uses.
    #[inline(always)]
    pub(crate) unsafe fn new(pointer: *mut T, name: &'static str) -> Result<Self, Failure> {
        checked(pointer, name)?;
        Ok(Self(pointer))
    }

    /// As [`new`](Self::new), but null means that the result is not wanted.
    ///
    /// # Safety
    ///
    /// As [`new`](Self::new).
    #[inline(always)]
    pub(crate) unsafe fn optional(pointer: *mut T, name: &'static str) -> Result<Self, Failure> {
        if !pointer.is_null() {
            checked(pointer, name)?;
        }
        Ok(Self(pointer))
    }

    #[inline(always)]
    pub(crate) fn set(&self, value: T) {
        if !self.0.is_null() {
            // SAFETY: it is aligned, and the caller of the constructor promises the rest.
            unsafe { self.0.write(value) };
        }
    }
}

impl<T> Out<*mut T> {
    /// The place of a new object, set to null.
    ///
    /// # Safety
    ///
    /// As [`new`](Self::new).
    pub(crate) unsafe fn new_handle(
        pointer: *mut *mut T,
        name: &'static str,
    ) -> Result<Self, Failure> {
        // SAFETY: the caller promises it.
        let place = unsafe { Self::new(pointer, name) }?;
        place.set(ptr::null_mut());
        Ok(place)
    }

    /// Hands out a new object, which the caller frees.
    pub(crate) fn give(&self, value: T) {
        self.set(Box::into_raw(Box::new(value)));
    }
}

/// Frees what [`Out::give`] handed out. Null is nothing.
///
/// # Safety
///
/// The pointer is null or was handed out, and this call alone uses it.
pub(crate) unsafe fn free<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: it comes from `Box::into_raw`.
        drop(unsafe { Box::from_raw(pointer) });
    }
}

/// Options of the caller, which begin with their size in bytes.
///
/// # Safety
///
/// Every pattern of bits is a value of the type, and it has no padding.
pub(crate) unsafe trait Sized64: Copy {
    /// All zero.
    const DEFAULT: Self;
}

/// More than any options will have.
const MOST_OPTIONS: u64 = 4096;

/// Options, which may come from an older or a newer header. Fields that the caller does not have
/// are 0. Fields that this library does not know must be 0.
///
/// # Safety
///
/// The pointer is null, misaligned, or that of a `u64`, the number of all bytes there,
/// unless that is impossible.
pub(crate) unsafe fn options<T: Sized64>(pointer: *const T) -> Result<T, Failure> {
    let pointer = checked(pointer, "options")?;
    let words = pointer.cast::<u64>();
    // SAFETY: the caller promises the size, and each `T` is aligned like its first field or more.
    let size = unsafe { words.read() };
    let word = size_of::<u64>() as u64;
    if size < word || size > MOST_OPTIONS || size % word != 0 {
        return Err(Failure::invalid(format_args!(
            "the size of options is {size}: set it to sizeof the structure"
        )));
    }
    let known = (size_of::<T>() as u64 / word).min(size / word) as usize;
    let mut options = T::DEFAULT;
    // SAFETY: both have that many words, and any bits are a `T`.
    unsafe { words.copy_to_nonoverlapping((&raw mut options).cast(), known) };
    for index in known..(size / word) as usize {
        // SAFETY: the caller promises all words of the size.
        if unsafe { words.add(index).read() } != 0 {
            return Err(Failure::invalid(format_args!(
                "the options have a field at byte {} that this library does not know",
                index as u64 * word
            )));
        }
    }
    Ok(options)
}
