//! Snapshots, to and from callbacks and memory.

use super::{Filter, handle, status, time::own_clock};
use crate::{
    bytes::{Bytes, Growing},
    guard,
    lifetime::{Either, with},
    pointer::{Out, slice},
    status::{Failure, Status},
    stream::{self, Clock, Read, Write, read_with, write_with},
};
use guira::{
    ExpiringFilter, ExpiringSnapshotDecoder, FilterDecoder, Lifetime, SnapshotDecoder,
    SnapshotError,
};
use std::{ffi::c_void, time::Duration};

/// Writes a snapshot to a callback, while threads use the filter. Items that are present during
/// the whole call are in it.
///
/// With a TTL, the age of the epoch is by the library's own clock. A filter whose ticks read another clock
/// needs `guira_filter_write_at`.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_write(
    filter: *const Filter,
    write: Write,
    context: *mut c_void,
) -> Status {
    // SAFETY: the rules of the header.
    unsafe {
        status(filter, |filter| {
            with!(&filter.kind, it => {
                let it = it.to_scan()?;
                write_with(write, context, |writer| it.write_to(writer))
            })
        })
    }
}

/// Writes a snapshot to memory of the library, and sets `*bytes` to it, or to none on failure.
/// `guira_bytes_free` frees it. A filter whose ticks read a clock of the caller needs
/// `guira_filter_to_bytes_at`.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_to_bytes(filter: *const Filter, bytes: *mut Bytes) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let bytes = unsafe { new_bytes(bytes) }?;
        // SAFETY: the rules of the header.
        let filter = unsafe { handle(filter) }?;
        bytes.set(with!(&filter.kind, it => {
            let it = it.to_scan()?;
            Growing::of(it.snapshot_len_hint(), |bytes| it.write_to(bytes))?
        }));
        Ok(())
    })
}

/// As `guira_filter_write`, for a filter whose ticks read `clock`: pass the same clock here.
///
/// The snapshot has the age of the epoch by that clock, which is read at the end of the call, and
/// again if an epoch begins then. By any other clock the age is lost, and items live up to an epoch
/// too long after each restart. Null is the library's own clock, and the one of a shared filter.
/// UNSUPPORTED without a TTL.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_write_at(
    filter: *const Filter,
    write: Write,
    context: *mut c_void,
    clock: Clock,
    clock_context: *mut c_void,
) -> Status {
    // SAFETY: the rules of the header.
    unsafe {
        status(filter, |filter| {
            let it = filter.expiring()?;
            let clock = own_clock(it, stream::clock(clock, clock_context))?;
            let it = it.to_scan()?;
            write_with(write, context, |writer| match clock {
                Some(clock) => it.write_to_at(writer, clock),
                None => it.write_to(writer),
            })
        })
    }
}

/// As `guira_filter_to_bytes`, for a filter whose ticks read `clock`: pass the same clock here,
/// as to `guira_filter_write_at`.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_to_bytes_at(
    filter: *const Filter,
    bytes: *mut Bytes,
    clock: Clock,
    clock_context: *mut c_void,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let bytes = unsafe { new_bytes(bytes) }?;
        // SAFETY: the rules of the header.
        let it = unsafe { handle(filter) }?.expiring()?;
        // SAFETY: the rules of the header.
        let clock = own_clock(it, unsafe { stream::clock(clock, clock_context) })?;
        let it = it.to_scan()?;
        bytes.set(Growing::of(it.snapshot_len_hint(), |bytes| match clock {
            Some(clock) => it.write_to_at(bytes, clock),
            None => it.write_to(bytes),
        })?);
        Ok(())
    })
}

/// Makes the filter of a snapshot of `len` bytes, which may come from anyone. A table of more
/// than `max_bytes` bytes is refused.
///
/// `elapsed_ns` is the age of the snapshot: items of a filter with a TTL expire as if it had lived on. If
/// its ticks will read a clock of the caller, tick it once right after this call: the age of its epoch counts
/// from there.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_from_bytes(
    data: *const c_void,
    len: usize,
    max_bytes: usize,
    elapsed_ns: u64,
    filter: *mut *mut Filter,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { Out::new_handle(filter, "filter") }?;
        // SAFETY: the rules of the header.
        let data = unsafe { slice(data.cast::<u8>(), len, "data") }?;
        let mut decoder = Decoder::new(max_bytes);
        decoder.feed(data)?;
        filter.give(decoder.finish(elapsed_ns)?);
        Ok(())
    })
}

/// Makes the filter of a snapshot that a callback reads to its end. As
/// `guira_filter_from_bytes`.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_read(
    read: Read,
    context: *mut c_void,
    max_bytes: usize,
    elapsed_ns: u64,
    filter: *mut *mut Filter,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { Out::new_handle(filter, "filter") }?;
        let mut decoder = Decoder::new(max_bytes);
        // SAFETY: the rules of the header.
        unsafe { read_with(read, context, |piece| decoder.feed(piece)) }?;
        filter.give(decoder.finish(elapsed_ns)?);
        Ok(())
    })
}

/// The place of new bytes, set to none.
///
/// # Safety
///
/// As [`Out::new`].
unsafe fn new_bytes(bytes: *mut Bytes) -> Result<Out<Bytes>, Failure> {
    // SAFETY: the caller promises it.
    let bytes = unsafe { Out::new(bytes, "bytes") }?;
    bytes.set(Bytes::NONE);
    Ok(bytes)
}

/// Decoders of both kinds, until the header says which of them the snapshot is for.
struct Decoder {
    forever: Option<SnapshotDecoder>,
    expiring: Option<ExpiringSnapshotDecoder>,
}

impl Decoder {
    fn new(max_bytes: usize) -> Self {
        Self {
            forever: Some(SnapshotDecoder::new(max_bytes)),
            expiring: Some(ExpiringSnapshotDecoder::new(max_bytes)),
        }
    }

    /// Takes the next bytes. All of them must belong to the snapshot.
    fn feed(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let [forever, expiring] = [
            feed(&mut self.forever, bytes),
            feed(&mut self.expiring, bytes),
        ];
        let used = forever.or(expiring).unwrap_or(Err(SnapshotError::Magic))?;
        match bytes.len() - used {
            0 => Ok(()),
            count => Err(SnapshotError::TrailingBytes { count }.into()),
        }
    }

    fn finish(self, elapsed_ns: u64) -> Result<Filter, Failure> {
        Ok(Filter::on_heap(match (self.forever, self.expiring) {
            (None, Some(decoder)) => Either::Expiring(
                ExpiringFilter::restore()
                    .elapsed(Duration::from_nanos(elapsed_ns))
                    .finish(decoder)?,
            ),
            (Some(decoder), _) => Either::Forever(decoder.finish()?),
            (None, None) => return Err(SnapshotError::Magic.into()),
        }))
    }
}

/// What the decoder says to the bytes; none for a snapshot of the other kind.
fn feed<T: Lifetime>(
    decoder: &mut Option<FilterDecoder<T>>,
    bytes: &[u8],
) -> Option<Result<usize, SnapshotError>> {
    let fed = decoder.as_mut()?.feed(bytes);
    if matches!(fed, Err(SnapshotError::Magic)) {
        *decoder = None;
        return None;
    }
    Some(fed)
}
