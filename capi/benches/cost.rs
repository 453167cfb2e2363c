//! What a call through the C interface costs against the same call in Rust, in one run.
//!
//! `cargo bench --package guira-capi`. The calls go through pointers that the compiler does not know,
//! as in a program in C. Both sides take turns; the best of all rounds counts.

use guira::{CuckooFilter, Hashed};
use guira_capi::{Filter, ITEMS_HASHES, ITEMS_ROWS, Items, Status, filter::*};
use std::{ffi::c_void, hint::black_box, ptr, time::Instant};

/// Items of 8 bytes: the filter stays in the caches.
const ITEMS: usize = 1 << 13;
const BATCH: usize = 1024;
const ROUNDS: usize = 200;

type Contains = unsafe extern "C" fn(*const Filter, *const c_void, usize) -> bool;
type ContainsHash = unsafe extern "C" fn(*const Filter, u64) -> bool;
type ContainsMany = unsafe extern "C" fn(*const Filter, *const Items, *mut bool) -> Status;
type CountHash = unsafe extern "C" fn(*const Filter, u64) -> usize;

/// Nanoseconds per item of both, each the best of its rounds.
fn best(mut in_rust: impl FnMut() -> usize, mut in_c: impl FnMut() -> usize) -> [f64; 2] {
    let mut best = [f64::MAX; 2];
    let time = |of: &mut dyn FnMut() -> usize, best: &mut f64| {
        let begun = Instant::now();
        assert_eq!(black_box(of()), ITEMS, "all items are found");
        *best = best.min(begun.elapsed().as_nanos() as f64 / ITEMS as f64);
    };
    for _ in 0..ROUNDS {
        time(&mut in_rust, &mut best[0]);
        time(&mut in_c, &mut best[1]);
    }
    best
}

/// The same filter as C has it.
fn in_c(filter: &CuckooFilter) -> *mut Filter {
    let bytes = filter.to_bytes();
    let mut made = ptr::null_mut();
    // SAFETY: the bytes live.
    let status = unsafe {
        guira_filter_from_bytes(bytes.as_ptr().cast(), bytes.len(), usize::MAX, 0, &mut made)
    };
    assert_eq!(status, Status::Ok);
    made
}

/// The same in a filter that processes share.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn shared(items: &[[u8; 8]]) -> [(&'static str, [f64; 2]); 2] {
    use guira_shm::SharedFilter;
    use std::ffi::CString;

    let path = std::env::temp_dir().join(format!("guira-cost-{}", std::process::id()));
    let builder = CuckooFilter::builder().capacity(2 * ITEMS).seed(7);
    // SAFETY: nothing else uses the file.
    let filter = unsafe { SharedFilter::create(&path, builder) }.expect("a filter");
    filter.insert_batch(items).expect("room");
    let name = CString::new(path.as_os_str().as_encoded_bytes()).expect("no zero");
    let mut c = ptr::null_mut();
    // SAFETY: the name lives.
    let status = unsafe { guira_filter_open_shared(name.as_ptr(), &mut c) };
    assert_eq!(status, Status::Ok);
    let contains = black_box(guira_filter_contains as Contains);
    let contains_many = black_box(guira_filter_contains_many as ContainsMany);
    let mut found = [false; BATCH];
    let mut found_in_c = [false; BATCH];
    let count = |found: &[bool]| found.iter().filter(|&&found| found).count();
    // SAFETY, for both calls: the filter and the items live, and have the sizes that the calls say.
    let one = best(
        || {
            let all = items.iter();
            all.filter(|item| black_box(&filter).contains(*item))
                .count()
        },
        || {
            let all = items.iter();
            all.filter(|item| unsafe { contains(c, item.as_ptr().cast(), 8) })
                .count()
        },
    );
    let many = best(
        || {
            let batches = items.chunks(BATCH).map(|part| {
                filter.contains_batch(part, &mut found);
                count(&found)
            });
            batches.sum()
        },
        || {
            let batches = items.chunks(BATCH).map(|part| {
                let items = Items {
                    kind: ITEMS_ROWS,
                    reserved: 0,
                    count: BATCH,
                    data: part.as_ptr().cast(),
                    size: 8,
                    offsets: ptr::null(),
                };
                let status = unsafe { contains_many(c, &items, found_in_c.as_mut_ptr()) };
                assert_eq!(status, Status::Ok);
                count(&found_in_c)
            });
            batches.sum()
        },
    );
    // SAFETY: no call uses the filter any more.
    unsafe { guira_filter_free(c) };
    std::fs::remove_file(path).expect("the file is removed");
    [
        ("contains, 8 bytes, shared", one),
        ("contains_many, 1024 rows of 8 bytes, shared", many),
    ]
}

fn main() {
    let filter = CuckooFilter::builder().capacity(2 * ITEMS).seed(7).build();
    let filter = filter.expect("a filter");
    let items: Vec<[u8; 8]> = (0..ITEMS as u64).map(u64::to_le_bytes).collect();
    let hashes: Vec<u64> = items
        .iter()
        .map(|item| filter.hasher().hash_bytes(item))
        .collect();
    filter.insert_batch(&items).expect("room");
    let c = in_c(&filter);
    let mut found = [false; BATCH];
    let mut found_in_c = [false; BATCH];
    let count = |found: &[bool]| found.iter().filter(|&&found| found).count();

    let contains = black_box(guira_filter_contains as Contains);
    let contains_hash = black_box(guira_filter_contains_hash as ContainsHash);
    let contains_many = black_box(guira_filter_contains_many as ContainsMany);
    let count_hash = black_box(guira_filter_count_hash as CountHash);
    let batch = |kind, data, size| Items {
        kind,
        reserved: 0,
        count: BATCH,
        data,
        size,
        offsets: ptr::null(),
    };
    // SAFETY, for all calls: the filter and the items live, and have the sizes that the calls say.
    let rows = [
        (
            "contains, 8 bytes",
            best(
                || {
                    items
                        .iter()
                        .filter(|item| black_box(&filter).contains(*item))
                        .count()
                },
                || {
                    items
                        .iter()
                        .filter(|item| unsafe { contains(c, item.as_ptr().cast(), 8) })
                        .count()
                },
            ),
        ),
        (
            "contains_hash",
            best(
                || {
                    hashes
                        .iter()
                        .filter(|hash| black_box(&filter).contains(&Hashed(**hash)))
                        .count()
                },
                || {
                    hashes
                        .iter()
                        .filter(|hash| unsafe { contains_hash(c, **hash) })
                        .count()
                },
            ),
        ),
        (
            "count_hash",
            best(
                || {
                    hashes
                        .iter()
                        .filter(|hash| black_box(&filter).count(&Hashed(**hash)) > 0)
                        .count()
                },
                || {
                    hashes
                        .iter()
                        .filter(|hash| unsafe { count_hash(c, **hash) } > 0)
                        .count()
                },
            ),
        ),
        (
            "contains_many, 1024 hashes",
            best(
                || {
                    let batches = hashes.chunks(BATCH).map(|part| {
                        filter.contains_batch(part, &mut found);
                        count(&found)
                    });
                    batches.sum()
                },
                || {
                    let batches = hashes.chunks(BATCH).map(|part| {
                        let items = batch(ITEMS_HASHES, part.as_ptr().cast(), 0);
                        let status = unsafe { contains_many(c, &items, found_in_c.as_mut_ptr()) };
                        assert_eq!(status, Status::Ok);
                        count(&found_in_c)
                    });
                    batches.sum()
                },
            ),
        ),
        (
            "contains_many, 1024 rows of 8 bytes",
            best(
                || {
                    let batches = items.chunks(BATCH).map(|part| {
                        filter.contains_batch(part, &mut found);
                        count(&found)
                    });
                    batches.sum()
                },
                || {
                    let batches = items.chunks(BATCH).map(|part| {
                        let items = batch(ITEMS_ROWS, part.as_ptr().cast(), 8);
                        let status = unsafe { contains_many(c, &items, found_in_c.as_mut_ptr()) };
                        assert_eq!(status, Status::Ok);
                        count(&found_in_c)
                    });
                    batches.sum()
                },
            ),
        ),
    ];
    println!("| ns per item | Rust | C | C / Rust |\n|---|---|---|---|");
    let print = |rows: &[(&str, [f64; 2])]| {
        for (name, [rust, c]) in rows {
            println!("| {name} | {rust:.1} | {c:.1} | {:.2} |", c / rust);
        }
    };
    print(&rows);
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    print(&shared(&items));
    // SAFETY: no call uses the filter any more.
    unsafe { guira_filter_free(c) };
}
