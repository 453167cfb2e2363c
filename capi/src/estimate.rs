//! What a filter will take, before it is made.

use crate::{guard, lifetime::with, options::Options, pointer::Out, status::Status};
use guira::Size;

/// What a filter will take: at first, with some number of items, and at its end.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// Bytes of the empty filter.
    pub bytes: u64,
    /// Bytes with the number of items that was asked for.
    pub bytes_at: u64,
    /// Bytes after the last doubling.
    pub max_bytes: u64,
    /// Distinct items that fit after the last doubling; with a TTL, the items that arrive within it.
    pub max_items: u64,
    /// Bits of the full filter per item, after the last doubling.
    pub bits_per_item: f64,
    /// The highest share of absent items that seem present, at any size.
    pub false_positive_rate: f64,
    /// Copies of one item that fit at first.
    pub copies: u64,
    /// How often the filter can double.
    pub doublings: u64,
}

/// Sets `*estimate` to what a filter with these options will take, where `items` is the number for
/// `bytes_at`. Nothing is allocated for the filter.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_estimate(
    options: *const Options,
    items: u64,
    estimate: *mut Estimate,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let place = unsafe { Out::new(estimate, "estimate") }?;
        // SAFETY: the rules of the header.
        let builder = unsafe { Options::builder(options) }?;
        let found = with!(builder, it => it.estimate()?);
        let items = usize::try_from(items).unwrap_or(usize::MAX);
        let last = found.sizes().last();
        place.set(Estimate {
            bytes: found.bytes() as u64,
            bytes_at: found.bytes_at(items) as u64,
            max_bytes: found.max_bytes() as u64,
            max_items: last.map_or(0, |&Size { items, .. }| items as u64),
            bits_per_item: found.bits_per_item(),
            false_positive_rate: found.false_positive_rate(),
            copies: found.copies() as u64,
            doublings: found.doublings().into(),
        });
        Ok(())
    })
}
