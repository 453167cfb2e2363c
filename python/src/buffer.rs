//! Items in the memory of another object, through the buffer protocol.
//!
//! Other threads may write that memory during a batch. So each item is copied once, by relaxed atomic
//! loads, and only the copy is hashed: the answer is right for the bytes that were copied. An exporter must
//! keep the memory allocated while it is exported, which numpy's `resize(refcheck=False)` does not.

#![allow(unsafe_code)]

use crate::{
    arguments::Items,
    batch::{Hashes, Keys, Stop},
    errors::out_of_memory,
};
use guira::Hashed;
use pyo3::{
    buffer::PyUntypedBuffer,
    exceptions::{PyBufferError, PyTypeError},
    prelude::*,
    types::PyMemoryView,
};
use std::{
    slice,
    sync::atomic::{
        AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64,
        AtomicUsize, Ordering::Relaxed,
    },
};

/// The bytes copied at a time, unless one item is longer.
pub(crate) const COPIED: usize = 1 << 15;

/// The most items hashed at a time.
pub(crate) const MOST: usize = 1 << 10;

/// What the bytes of an item mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Unsigned,
    Signed,
    /// A byte string.
    Row,
    /// A byte string, without the NULs at its end.
    Padded,
    /// A string of UCS-4 code points, without the NULs at its end.
    Wide,
}

/// Items in a buffer. The buffer must outlive it.
pub(crate) struct View {
    start: *const u8,
    items: usize,
    /// From one item to the next, in bytes.
    stride: isize,
    /// Bytes of an item.
    width: usize,
    /// From one byte of an item to the next, in bytes; 1 unless the rows of an array are strided.
    step: isize,
    kind: Kind,
}

// SAFETY: a view is used while its buffer is held. By the buffer protocol, the exporter keeps the
// memory allocated until then. All reads of the memory are atomic.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

impl View {
    /// The items of a buffer.
    pub(crate) fn of(buffer: &PyUntypedBuffer, keys: &Keys<'_>) -> PyResult<Self> {
        if buffer.suboffsets().is_some() {
            let message = "a buffer with suboffsets is not supported: copy it";
            return Err(PyBufferError::new_err(message));
        }
        let (kind, width, step) = layout(buffer, keys)?;
        Ok(Self {
            start: buffer.buf_ptr().cast(),
            items: buffer.shape()[0],
            stride: buffer.strides()[0],
            width,
            step,
            kind,
        })
    }

    /// Integers in native byte order. The caller keeps their memory, as a buffer would.
    pub(crate) fn of_ints(
        start: *const u8,
        items: usize,
        stride: isize,
        width: usize,
        is_signed: bool,
    ) -> Self {
        let kind = match is_signed {
            false => Kind::Unsigned,
            true => Kind::Signed,
        };
        Self {
            start,
            items,
            stride,
            width,
            step: 1,
            kind,
        }
    }

    /// True if the filter takes them: the error is made from a buffer, which describes itself.
    pub(crate) fn suits(&self, keys: &Keys<'_>) -> bool {
        match keys {
            Keys::Hashes => self.kind == Kind::Unsigned && self.width == 8,
            Keys::Items(rule, _) => {
                rule.items == Items::Any || !matches!(self.kind, Kind::Unsigned | Kind::Signed)
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.items
    }

    /// True if each value of the memory is an item. Code points need not be, nor bytes that may have lost
    /// zeros.
    pub(crate) fn is_total(&self) -> bool {
        !matches!(self.kind, Kind::Wide | Kind::Padded)
    }

    /// Passes the hashes of all items to `sink`, in order, some at a time.
    pub(crate) fn for_each_chunk(
        &self,
        keys: &Keys<'_>,
        mut sink: impl FnMut(&[Hashed]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        match (self.kind, self.width) {
            (Kind::Unsigned, 1) => return self.for_each_int::<u8>(keys, sink),
            (Kind::Unsigned, 2) => return self.for_each_int::<u16>(keys, sink),
            (Kind::Unsigned, 4) => return self.for_each_int::<u32>(keys, sink),
            (Kind::Unsigned, _) => return self.for_each_int::<u64>(keys, sink),
            (Kind::Signed, 1) => return self.for_each_int::<i8>(keys, sink),
            (Kind::Signed, 2) => return self.for_each_int::<i16>(keys, sink),
            (Kind::Signed, 4) => return self.for_each_int::<i32>(keys, sink),
            (Kind::Signed, _) => return self.for_each_int::<i64>(keys, sink),
            _ => {}
        }
        let most = (COPIED / self.width.max(1)).clamp(1, MOST);
        let mut bytes = Hashes::reserved(most.min(self.items) * self.width)?;
        let mut hashes = Hashes::reserved(most.min(self.items))?;
        let mut padding = Padding::default();
        for first in (0..self.items).step_by(most) {
            let items = most.min(self.items - first);
            bytes.resize(items * self.width, 0);
            self.copy(first, &mut bytes);
            if self.kind == Kind::Padded && self.width > 0 {
                padding.check(&bytes, self.width, first)?;
            }
            hashes.clear();
            self.hash(keys, items, &bytes, &mut hashes)
                .map_err(|item| Stop::Text(first + item))?;
            sink(&hashes)?;
        }
        Ok(())
    }

    /// The same for integers, which are read one by one.
    fn for_each_int<T: Int>(
        &self,
        keys: &Keys<'_>,
        mut sink: impl FnMut(&[Hashed]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let align = align_of::<T::Shared>();
        let is_aligned = self.start.addr().is_multiple_of(align)
            && (self.items <= 1 || self.stride.unsigned_abs().is_multiple_of(align));
        let int = |item: usize| {
            let place = self.place(item);
            // SAFETY: the place is that of an integer of this size in the buffer, and is aligned.
            match is_aligned {
                true => unsafe { T::load(&*place.cast()) },
                false => {
                    let mut bytes = [0; size_of::<u64>()];
                    let bytes = &mut bytes[..size_of::<T>()];
                    // SAFETY: as above, but for the alignment.
                    unsafe { copy_shared(place, bytes) };
                    T::of_bytes(bytes)
                }
            }
        };
        let mut hashes = Hashes::reserved(MOST.min(self.items))?;
        for first in (0..self.items).step_by(MOST) {
            let ints = (first..self.items.min(first + MOST)).map(int);
            hashes.clear();
            match keys {
                Keys::Items(rule, _) => hashes.extend(ints.map(|int| rule.hash_u64(int))),
                Keys::Hashes => hashes.extend(ints.map(Hashed)),
            }
            sink(&hashes)?;
        }
        Ok(())
    }

    fn place(&self, item: usize) -> *const u8 {
        self.start.wrapping_offset(item as isize * self.stride)
    }

    /// Fills `into` with items, from `first` on.
    fn copy(&self, first: usize, into: &mut [u8]) {
        if into.is_empty() {
            return;
        }
        if self.step == 1 && self.stride == self.width as isize {
            // SAFETY: items follow each other without a gap, and the caller asks for existing ones.
            unsafe { copy_shared(self.place(first), into) };
            return;
        }
        for (item, into) in into.chunks_exact_mut(self.width).enumerate() {
            let start = self.place(first + item);
            if self.step == 1 {
                // SAFETY: `width` bytes from `start` on are an item of the buffer.
                unsafe { copy_shared(start, into) };
                continue;
            }
            for (at, byte) in into.iter_mut().enumerate() {
                let at = start.wrapping_offset(at as isize * self.step);
                // SAFETY: `at` is a byte of an item of the buffer.
                unsafe { copy_shared(at, slice::from_mut(byte)) };
            }
        }
    }

    /// Appends the hashes of the items in `bytes`; or the item that is not one.
    fn hash(
        &self,
        keys: &Keys<'_>,
        items: usize,
        bytes: &[u8],
        hashes: &mut Vec<Hashed>,
    ) -> Result<(), usize> {
        let Keys::Items(rule, _) = keys else {
            unreachable!("hashes are integers");
        };
        match (self.kind, self.width) {
            (Kind::Unsigned | Kind::Signed, _) => unreachable!("integers are not copied"),
            // `chunks_exact` has no chunks of no bytes.
            (_, 0) => hashes.extend((0..items).map(|_| rule.hash_bytes(&[]))),
            (Kind::Row, width) => {
                hashes.extend(bytes.chunks_exact(width).map(|row| rule.hash_bytes(row)));
            }
            (Kind::Padded, width) => {
                let rows = bytes.chunks_exact(width);
                hashes.extend(rows.map(|row| rule.hash_bytes(without_padding(row))));
            }
            (Kind::Wide, width) => {
                let mut text = String::new();
                for (item, row) in bytes.chunks_exact(width).enumerate() {
                    text.clear();
                    text_of(row, &mut text).ok_or(item)?;
                    hashes.push(rule.hash_str(&text));
                }
            }
        }
        Ok(())
    }

    /// The bytes of an item as they are now, for an error.
    pub(crate) fn bytes_of(&self, item: usize) -> Vec<u8> {
        let mut bytes = vec![0; self.width];
        self.copy(item, &mut bytes);
        bytes
    }
}

/// What an array of byte strings says of the zeros at their ends. numpy adds them to short items, and does
/// not tell them from zeros of an item. Text has none of its own, but digests do.
#[derive(Default)]
struct Padding {
    /// The first item that ends in zeros.
    short: Option<usize>,
    has_binary: bool,
}

impl Padding {
    /// Refuses items, from `first` on, whose zeros may be their own.
    fn check(&mut self, rows: &[u8], width: usize, first: usize) -> Result<(), Stop> {
        for (item, row) in rows.chunks_exact(width).enumerate() {
            let bytes = without_padding(row);
            if self.short.is_none() && bytes.len() < width {
                self.short = Some(first + item);
            }
            self.has_binary = self.has_binary || !is_text(bytes);
            if let (Some(short), true) = (self.short, self.has_binary) {
                return Err(Stop::Column(format!(
                    "item {short} of the array ends in zeros, which numpy takes for padding, and the array \
                     has bytes that are no text: use `.view(\"V{width}\")` if all {width} bytes of an item \
                     count, and `.tolist()` if zeros at its end do not"
                )));
            }
        }
        Ok(())
    }
}

/// UTF-8 without control characters, except those of white space.
fn is_text(bytes: &[u8]) -> bool {
    let is_control = |&byte: &u8| byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r');
    !bytes.iter().any(is_control) && str::from_utf8(bytes).is_ok()
}

/// An integer in the memory of another object.
trait Int: Sized {
    /// The same, while other threads may write it.
    type Shared;

    /// Widened to 64 bits, with its sign if it has one.
    fn load(shared: &Self::Shared) -> u64;

    fn of_bytes(bytes: &[u8]) -> u64;
}

macro_rules! ints {
    ($($int:ty: $shared:ty),*) => {$(
        impl Int for $int {
            type Shared = $shared;

            #[inline]
            fn load(shared: &$shared) -> u64 {
                shared.load(Relaxed) as i64 as u64
            }

            fn of_bytes(bytes: &[u8]) -> u64 {
                let bytes = bytes.try_into().expect("the bytes of an integer");
                <$int>::from_ne_bytes(bytes) as i64 as u64
            }
        }
    )*};
}
ints!(
    u8: AtomicU8, u16: AtomicU16, u32: AtomicU32, u64: AtomicU64,
    i8: AtomicI8, i16: AtomicI16, i32: AtomicI32, i64: AtomicI64
);

fn without_padding(bytes: &[u8]) -> &[u8] {
    let len = bytes
        .iter()
        .rposition(|&byte| byte != 0)
        .map_or(0, |last| last + 1);
    &bytes[..len]
}

/// Appends the text of these code points, without the NULs at the end; `None` if it has none.
fn text_of(row: &[u8], text: &mut String) -> Option<()> {
    let (points, _) = row.as_chunks::<4>();
    let points = points.iter().map(|&point| u32::from_ne_bytes(point));
    let len = points
        .clone()
        .rposition(|point| point != 0)
        .map_or(0, |last| last + 1);
    for point in points.take(len) {
        text.push(char::from_u32(point)?);
    }
    Some(())
}

/// Copies memory that other threads may write: in words where it is aligned for them.
///
/// # Safety
///
/// `into.len()` bytes from `from` on must be readable.
pub(crate) unsafe fn copy_shared(from: *const u8, into: &mut [u8]) {
    const WORD: usize = size_of::<usize>();
    let byte = |at: usize| {
        // SAFETY: the caller says that it is readable, and bytes are always aligned.
        unsafe { (*from.add(at).cast::<AtomicU8>()).load(Relaxed) }
    };
    let head = from.align_offset(align_of::<AtomicUsize>()).min(into.len());
    let (start, rest) = into.split_at_mut(head);
    for (at, into) in start.iter_mut().enumerate() {
        *into = byte(at);
    }
    let (words, end) = rest.as_chunks_mut::<WORD>();
    for (at, into) in words.iter_mut().enumerate() {
        // SAFETY: the caller says that it is readable, and `head` bytes further it is aligned.
        let word = unsafe { &*from.add(head + at * WORD).cast::<AtomicUsize>() };
        *into = word.load(Relaxed).to_ne_bytes();
    }
    let done = head + words.len() * WORD;
    for (at, into) in end.iter_mut().enumerate() {
        *into = byte(done + at);
    }
}

/// The buffer of an object. Buffers of ctypes have no strides; a memoryview adds them.
pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<PyUntypedBuffer> {
    PyUntypedBuffer::get(object).or_else(|error| {
        let view = PyMemoryView::from(object).map_err(|_| error)?;
        PyUntypedBuffer::get(&view)
    })
}

/// A copy of all bytes of a contiguous buffer.
pub(crate) fn bytes_of(buffer: &PyUntypedBuffer) -> PyResult<Vec<u8>> {
    if !buffer.is_c_contiguous() {
        let message = "the bytes of a snapshot must be contiguous: copy them";
        return Err(PyBufferError::new_err(message));
    }
    let len = buffer.len_bytes();
    let mut bytes = Hashes::reserved(len).map_err(|_| out_of_memory(format!("{len} bytes")))?;
    bytes.resize(len, 0);
    // SAFETY: a contiguous buffer has `len` readable bytes from its start on.
    unsafe { copy_shared(buffer.buf_ptr().cast(), &mut bytes) };
    Ok(bytes)
}

/// The kind, the width and the step of a buffer's items.
fn layout(buffer: &PyUntypedBuffer, keys: &Keys<'_>) -> PyResult<(Kind, usize, isize)> {
    let format = buffer.format().to_bytes();
    let (order, code) = match format {
        [
            order @ (b'@' | b'=' | b'<' | b'>' | b'!' | b'|' | b'^'),
            code @ ..,
        ] => (*order, code),
        code => (b'@', code),
    };
    let native = if cfg!(target_endian = "little") {
        b'<'
    } else {
        b'>'
    };
    let size = buffer.item_size();
    let is_native = matches!(order, b'@' | b'=' | b'|' | b'^') || order == native || size == 1;
    let refuse = |hint: &str| {
        let format = buffer.format().to_string_lossy();
        let dimensions = buffer.dimensions();
        let message = format!(
            "a buffer of format {format:?}, {size} bytes each, with {dimensions} dimensions, holds \
             no items: {hint}"
        );
        Err(PyTypeError::new_err(message))
    };
    let kind = match code {
        b"?" | b"B" | b"H" | b"I" | b"L" | b"Q" | b"N" => Kind::Unsigned,
        b"b" | b"h" | b"i" | b"l" | b"q" | b"n" => Kind::Signed,
        b"c" => Kind::Row,
        [digits @ .., b's'] if is_number(digits) => Kind::Padded,
        [digits @ .., b'w'] if is_number(digits) && size.is_multiple_of(4) => Kind::Wide,
        [digits @ .., b'x'] if is_number(digits) => Kind::Row,
        [.., b'e' | b'f' | b'd' | b'g'] => {
            return refuse("use `.view(\"i8\")` for equal bits, or `.astype(\"i8\")` to round");
        }
        _ => return refuse("use integers, byte strings or str, or a list of items"),
    };
    if !is_native {
        return refuse("use `.astype(a.dtype.newbyteorder(\"=\"))` for native byte order");
    }
    let is_int = matches!(kind, Kind::Unsigned | Kind::Signed);
    if is_int && !matches!(size, 1 | 2 | 4 | 8) {
        return refuse("integers have 1, 2, 4 or 8 bytes");
    }
    let is_byte = size == 1 && matches!(code, b"B" | b"b" | b"c");
    let found = match (buffer.dimensions(), buffer.shape(), buffer.strides()) {
        (1, ..) => (kind, size, 1),
        (2, &[_, width], &[_, step]) if is_byte => (Kind::Row, width, step),
        (2, ..) if is_int => return refuse("use `.ravel()`, or a list of tuples"),
        _ => return refuse("use one dimension, or two of bytes"),
    };
    match keys {
        Keys::Hashes if found.0 != Kind::Unsigned || size != 8 => {
            refuse("hashes are 64-bit unsigned integers (uint64)")
        }
        Keys::Items(rule, _)
            if rule.items == Items::Bytes && matches!(found.0, Kind::Unsigned | Kind::Signed) =>
        {
            refuse("items of this filter are bytes or str, as it has items='bytes'")
        }
        _ => Ok(found),
    }
}

fn is_number(digits: &[u8]) -> bool {
    digits.iter().all(u8::is_ascii_digit)
}
