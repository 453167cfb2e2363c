//! A new filter of any kind writes to none of its words: its memory becomes resident as it is used.

use guira::{CuckooFilter, ExpiringFilter, Prefer};
use std::{fs, time::Duration};

/// Items of a filter whose table takes over 100 MB.
const ITEMS: usize = 100_000_000;

/// Bytes that may become resident for what is not a word of the table.
const BESIDE_WORDS: usize = 1 << 20;

/// The resident bytes of this process that no file has.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    1024 * kibibytes
        .expect("a number")
        .parse::<usize>()
        .expect("of kB")
}

fn assert_untouched<F>(kind: &str, make: impl FnOnce() -> F, bytes: impl FnOnce(&F) -> usize) {
    let before = resident();
    let filter = make();
    let touched = resident().saturating_sub(before);
    assert!(bytes(&filter) > 64 << 20, "{kind}: a small table");
    assert!(
        touched <= BESIDE_WORDS,
        "{kind}: {touched} bytes are written"
    );
}

pub(crate) fn run() {
    let plain = || CuckooFilter::builder().capacity(ITEMS).seed(1);
    let ttl = Duration::from_secs(3600);
    let expiring = || ExpiringFilter::builder(ttl).capacity(ITEMS).seed(1);
    let build = |builder: guira::Builder| builder.build().expect("untouched memory");
    let bytes = CuckooFilter::memory_usage;
    assert_untouched("fixed", || build(plain()), bytes);
    assert_untouched(
        "semi-sorted",
        || build(plain().prefer(Prefer::Space)),
        bytes,
    );
    assert_untouched("counting", || build(plain().counter_bits(4)), bytes);
    for doublings in [1, 4, 6] {
        let most = ITEMS << doublings;
        let kind = format!("growing {doublings} times");
        assert_untouched(&kind, || build(plain().max_capacity(most)), bytes);
        let counting = || build(plain().max_capacity(most).counter_bits(4));
        assert_untouched(&format!("counting, {kind}"), counting, bytes);
        let growing = || expiring().max_capacity(most).build().expect("memory");
        assert_untouched(
            &format!("expiring, {kind}"),
            growing,
            ExpiringFilter::memory_usage,
        );
    }
    let fixed = || expiring().build().expect("untouched memory");
    assert_untouched("expiring", fixed, ExpiringFilter::memory_usage);
    println!("test a_new_filter_writes_to_none_of_its_words ... ok");
}
