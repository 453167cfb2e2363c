//! The digest of one class, as `docs/FORMAT.md` describes it, without the library.

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The state after the numbers that were absorbed so far.
pub(crate) type State = (u64, u64);

fn mix(mut x: u64) -> u64 {
    x ^= x >> 30;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 27;
    x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

pub(crate) fn absorb((a, b): State, number: u64) -> State {
    let a = mix((a ^ number).wrapping_add(GAMMA));
    (a, mix((b ^ a).wrapping_add(GAMMA)))
}

pub(crate) fn value((a, b): State) -> u128 {
    u128::from(a) + (u128::from(b) << 64)
}

/// The value of a copy of this fingerprint in this bucket, or in its alternate bucket.
pub(crate) fn copy(start: State, buckets: u64, bucket: u64, fingerprint: u64) -> u128 {
    let spread = fingerprint.wrapping_mul(GAMMA);
    let h = (u128::from(spread) * u128::from(buckets / 2)) >> 64;
    let other = (2 * h as u64 + 1 + buckets - bucket) % buckets;
    value(absorb(absorb(start, bucket.min(other)), fingerprint))
}
