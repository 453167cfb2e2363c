//! Sequences of calls, with good and bad arguments, against what the header says: bad arguments are
//! refused and change nothing, no item is lost, and no call panics.

#![no_main]

use arbitrary::Arbitrary;
use guira_capi::{
    Bytes, Filter, ITEMS_HASHES, ITEMS_PACKED, ITEMS_ROWS, Items, Options, Status, filter::*,
    guira_bytes_free,
};
use libfuzzer_sys::fuzz_target;
use std::{
    collections::BTreeMap,
    ffi::{CString, c_void},
    fs,
    path::{Path, PathBuf},
    ptr,
    sync::LazyLock,
};

/// An argument that a call must refuse.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq)]
enum Bad {
    NullFilter,
    MisalignedFilter,
    NullItems,
    MisalignedItems,
    Kind(u32),
    Reserved,
    AbsurdCount,
    AbsurdSize,
    NullData,
    FallingOffsets,
    EndOutside,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Layout {
    Hashes,
    Rows,
    Packed,
}

#[derive(Arbitrary, Debug)]
enum Call {
    Add(Vec<u8>),
    AddUnique(Vec<u8>),
    Remove(u8),
    Many {
        items: Vec<[u8; 2]>,
        layout: Layout,
        unique: bool,
    },
    Refused {
        items: Vec<[u8; 2]>,
        layout: Layout,
        bad: Bad,
    },
    Copy,
    Snapshot,
    Damaged {
        at: u16,
        with: u8,
    },
    Bytes(Vec<u8>),
    Merge,
    Clear,
    Tick,
    Options([u64; 9]),
    /// A file with these bytes.
    File(Vec<u8>),
    /// The file of a shared filter with a changed byte.
    DamagedFile {
        at: u16,
        with: u8,
        item: Vec<u8>,
    },
}

/// The most that a filter of options from the fuzzer may need.
const LARGE: u64 = 1 << 16;

/// The directory of all files of this process.
static FILES: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let files = memory.join(format!("guira-capi-fuzz-{}", std::process::id()));
    fs::create_dir_all(&files).expect("a directory");
    files
});

fn file(name: &str) -> (PathBuf, CString) {
    let path = FILES.join(name);
    let text = CString::new(path.as_os_str().as_encoded_bytes()).expect("no zero");
    (path, text)
}

/// A filter, and how many copies of each item it has at least.
struct Tested {
    filter: *mut Filter,
    /// One with a TTL and counters.
    expiring: *mut Filter,
    items: BTreeMap<Vec<u8>, usize>,
}

fn options() -> Options {
    Options {
        size: size_of::<Options>() as u64,
        capacity: 64,
        max_capacity: 4096,
        false_positive_rate: 0.0,
        seed: 7,
        seeded: 1,
        fingerprint_bits: 0,
        prefer: 0,
        epochs: 0,
        counter_bits: 0,
        ttl_ns: 0,
    }
}

impl Tested {
    fn new(is_shared: bool) -> Self {
        let (mut filter, mut expiring) = (ptr::null_mut(), ptr::null_mut());
        let expires = Options {
            capacity: 256,
            max_capacity: 0,
            epochs: 4,
            counter_bits: 4,
            ttl_ns: 1 << 40,
            ..options()
        };
        // SAFETY: all pointers are of live values.
        unsafe {
            if is_shared {
                let fixed = Options {
                    capacity: 512,
                    max_capacity: 0,
                    ..options()
                };
                let (path, text) = file("shared");
                let _ = fs::remove_file(path);
                let mut created = false;
                let status = guira_filter_open_or_create_shared(
                    text.as_ptr(),
                    &fixed,
                    3,
                    &mut filter,
                    &mut created,
                );
                assert_eq!((status, created), (Status::Ok, true));
            } else {
                assert_eq!(guira_filter_new(&options(), &mut filter), Status::Ok);
            }
            assert_eq!(guira_filter_is_shared(filter), is_shared);
            assert_eq!(guira_filter_new(&expires, &mut expiring), Status::Ok);
        }
        Self {
            filter,
            expiring,
            items: BTreeMap::new(),
        }
    }

    fn counted(&mut self, item: &[u8], status: Status, added: bool) {
        match status {
            Status::Ok if added => *self.items.entry(item.to_vec()).or_default() += 1,
            Status::Ok | Status::Full => {}
            _ => panic!("{status:?}"),
        }
    }

    fn take(&mut self, filter: *mut Filter) {
        // SAFETY: no call uses the old filter any more.
        unsafe { guira_filter_free(self.filter) };
        self.filter = filter;
    }

    fn call(&mut self, call: Call) {
        // SAFETY: pointers are null, misaligned or of live values, with as many as the lengths say,
        // and lengths beyond that are impossible ones.
        unsafe {
            match call {
                Call::Add(item) => {
                    let status = guira_filter_add(self.filter, item.as_ptr().cast(), item.len());
                    self.counted(&item, status, true);
                    let mut added = false;
                    let status = guira_filter_add_or_refresh(
                        self.expiring,
                        item.as_ptr().cast(),
                        item.len(),
                        &mut added,
                    );
                    assert!(matches!(status, Status::Ok | Status::Full));
                    let (data, len, mut count) = (item.as_ptr().cast(), item.len(), 0);
                    let before = guira_filter_count(self.expiring, data, len);
                    match guira_filter_add_and_count(self.expiring, data, len, &mut count) {
                        Status::Ok => assert_eq!(count, before + 1),
                        Status::Full => assert_eq!(count, 0),
                        status => panic!("{status:?}"),
                    }
                }
                Call::AddUnique(item) => {
                    let mut added = false;
                    let status = guira_filter_add_unique(
                        self.filter,
                        item.as_ptr().cast(),
                        item.len(),
                        &mut added,
                    );
                    self.counted(&item, status, added);
                }
                Call::Remove(nth) => {
                    // Only what was added may be removed.
                    let Some(item) = self.items.keys().nth(usize::from(nth)).cloned() else {
                        return;
                    };
                    assert!(guira_filter_remove(
                        self.filter,
                        item.as_ptr().cast(),
                        item.len()
                    ));
                    let count = self.items.get_mut(&item).expect("it is there");
                    *count -= 1;
                    if *count == 0 {
                        self.items.remove(&item);
                    }
                }
                Call::Many {
                    items,
                    layout,
                    unique,
                } => self.many(&items, layout, unique),
                Call::Refused { items, layout, bad } => self.refused(&items, layout, bad),
                Call::Copy => {
                    let mut copy = ptr::null_mut();
                    assert_eq!(guira_filter_copy(self.filter, &mut copy), Status::Ok);
                    self.take(copy);
                }
                Call::Snapshot => {
                    let mut copy = ptr::null_mut();
                    let mut bytes = self.snapshot();
                    let (data, len) = (bytes.data.cast(), bytes.len);
                    assert_eq!(len, guira_filter_snapshot_len(self.filter));
                    assert_eq!(
                        guira_filter_from_bytes(data, len, usize::MAX, 0, &mut copy),
                        Status::Ok
                    );
                    guira_bytes_free(&mut bytes);
                    self.take(copy);
                }
                Call::Damaged { at, with } => {
                    let mut bytes = self.snapshot();
                    let at = usize::from(at) % bytes.len;
                    *bytes.data.add(at) ^= with;
                    let mut copy = ptr::null_mut();
                    let status = guira_filter_from_bytes(
                        bytes.data.cast(),
                        bytes.len,
                        1 << 20,
                        0,
                        &mut copy,
                    );
                    assert_eq!(status == Status::Ok, with == 0, "{status:?}");
                    assert_eq!(copy.is_null(), with != 0);
                    guira_filter_free(copy);
                    guira_bytes_free(&mut bytes);
                }
                Call::Bytes(bytes) => {
                    let mut filter = ptr::null_mut();
                    let (data, len) = (bytes.as_ptr().cast(), bytes.len());
                    let status = guira_filter_from_bytes(data, len, 1 << 20, 1 << 30, &mut filter);
                    assert!(matches!(status, Status::Ok | Status::Snapshot));
                    guira_filter_free(filter);
                }
                Call::Merge => {
                    let mut empty = ptr::null_mut();
                    assert_eq!(guira_filter_new(&options(), &mut empty), Status::Ok);
                    let status = guira_filter_merge(self.filter, empty);
                    assert!(matches!(status, Status::Ok | Status::Invalid), "{status:?}");
                    assert_eq!(
                        guira_filter_merge(self.filter, self.filter),
                        Status::Invalid
                    );
                    let status = guira_filter_union_with(self.filter, empty);
                    assert!(matches!(status, Status::Ok | Status::Invalid), "{status:?}");
                    assert_eq!(
                        guira_filter_union_with(self.filter, self.filter),
                        Status::Invalid
                    );
                    guira_filter_free(empty);
                }
                Call::Clear => {
                    assert_eq!(guira_filter_clear(self.filter), Status::Ok);
                    assert_eq!(guira_filter_len(self.filter), 0);
                    self.items.clear();
                }
                Call::Tick => {
                    let mut began = false;
                    assert_eq!(guira_filter_advance(self.expiring, &mut began), Status::Ok);
                    assert!(began);
                }
                Call::Options(mut words) => {
                    // Each field is what the fuzzer says, but memory stays small.
                    words[0] %= 73;
                    words[1] %= LARGE;
                    words[2] %= LARGE;
                    let options = (&raw const words).cast::<Options>();
                    let mut filter = ptr::null_mut();
                    let status = guira_filter_new(options, &mut filter);
                    assert_eq!(status == Status::Ok, !filter.is_null());
                    assert!(matches!(status, Status::Ok | Status::Invalid), "{status:?}");
                    guira_filter_free(filter);
                }
                Call::File(bytes) => {
                    let (path, text) = file("bytes");
                    fs::write(path, bytes).expect("a file");
                    let mut opened = ptr::null_mut();
                    let status = guira_filter_open_shared(text.as_ptr(), &mut opened);
                    assert_eq!((status, opened), (Status::Snapshot, ptr::null_mut()));
                }
                Call::DamagedFile { at, with, item } => {
                    let (path, text) = file("damaged");
                    let _ = fs::remove_file(&path);
                    let mut filter = ptr::null_mut();
                    let fixed = Options {
                        max_capacity: 0,
                        ..options()
                    };
                    let status = guira_filter_create_shared(text.as_ptr(), &fixed, 0, &mut filter);
                    assert_eq!(status, Status::Ok);
                    guira_filter_free(filter);
                    let mut bytes = fs::read(&path).expect("the file");
                    let at = usize::from(at) % bytes.len();
                    bytes[at] ^= with;
                    fs::write(&path, bytes).expect("the file");
                    let status = guira_filter_open_shared(text.as_ptr(), &mut filter);
                    if status != Status::Ok {
                        assert_eq!((status, filter), (Status::Snapshot, ptr::null_mut()));
                        return;
                    }
                    let (data, len, mut added) = (item.as_ptr().cast(), item.len(), false);
                    let statuses = [
                        guira_filter_add_unique(filter, data, len, &mut added),
                        guira_filter_repair(filter, ptr::null_mut()),
                        guira_filter_add(filter, data, len),
                        guira_filter_recount(filter, ptr::null_mut()),
                        guira_filter_clear(filter),
                    ];
                    assert!(!statuses.contains(&Status::Internal), "{statuses:?}");
                    guira_filter_remove(filter, data, len);
                    guira_filter_free(filter);
                }
            }
        }
    }

    fn snapshot(&self) -> Bytes {
        let mut bytes = Bytes {
            data: ptr::null_mut(),
            len: 0,
            capacity: 0,
        };
        // SAFETY: the filter lives.
        assert_eq!(
            unsafe { guira_filter_to_bytes(self.filter, &mut bytes) },
            Status::Ok
        );
        bytes
    }

    /// Adds items of two bytes, and looks them up in another layout.
    fn many(&mut self, items: &[[u8; 2]], layout: Layout, unique: bool) {
        let memory = Memory::new(self.filter, items);
        let (mut done, mut results) = (usize::MAX, vec![true; items.len()]);
        let batch = memory.items(layout);
        // SAFETY: the memory has as many values as the items say.
        let status = unsafe {
            if unique {
                guira_filter_add_unique_many(self.filter, &batch, results.as_mut_ptr(), &mut done)
            } else {
                guira_filter_add_many(self.filter, &batch, &mut done)
            }
        };
        assert_eq!(status == Status::Ok, done == items.len());
        for (item, added) in items[..done].iter().zip(&results) {
            self.counted(item, Status::Ok, *added);
        }
        for layout in [Layout::Hashes, Layout::Rows, Layout::Packed] {
            let mut found = vec![false; items.len()];
            // SAFETY: as above.
            let status = unsafe {
                guira_filter_contains_many(self.filter, &memory.items(layout), found.as_mut_ptr())
            };
            assert_eq!(status, Status::Ok);
            assert!(
                found[..done].iter().all(|&found| found),
                "{layout:?} lost an item"
            );
        }
    }

    fn refused(&mut self, items: &[[u8; 2]], layout: Layout, bad: Bad) {
        let mut memory = Memory::new(self.filter, items);
        let (mut done, len) = (77, unsafe { guira_filter_len(self.filter) });
        let (mut filter, mut is_bad) = (self.filter, true);
        let mut batch = memory.items(layout);
        let mut other = None;
        let packed = matches!(layout, Layout::Packed) && !items.is_empty();
        let rows = matches!(layout, Layout::Rows) && !items.is_empty();
        match bad {
            Bad::NullFilter => filter = ptr::null_mut(),
            Bad::MisalignedFilter => filter = ptr::without_provenance_mut(filter.addr() | 1),
            Bad::NullItems => other = Some(ptr::null()),
            Bad::MisalignedItems => other = Some(ptr::without_provenance(1)),
            Bad::Kind(kind) => {
                batch.kind = kind;
                is_bad = kind > 2;
                if !is_bad {
                    return;
                }
            }
            Bad::Reserved => batch.reserved = 1,
            Bad::AbsurdCount => batch.count = usize::MAX - usize::from(packed),
            Bad::AbsurdSize => {
                batch.size = usize::MAX;
                is_bad = rows || packed;
            }
            Bad::NullData => {
                batch.data = ptr::null();
                is_bad = !items.is_empty();
            }
            Bad::FallingOffsets => {
                if packed {
                    memory.offsets[0] = u64::MAX;
                }
                is_bad = packed;
            }
            Bad::EndOutside => {
                if let (true, Some(last)) = (packed, memory.offsets.last_mut()) {
                    *last += 1;
                }
                is_bad = packed;
            }
        }
        if matches!(bad, Bad::AbsurdCount) && matches!(layout, Layout::Packed) {
            // An offset less than all of memory is as absurd.
            batch.count = usize::MAX / 2;
        }
        if !is_bad {
            return;
        }
        // SAFETY: what is wrong is what a call must notice.
        unsafe {
            assert_eq!(
                guira_filter_add_many(filter, other.unwrap_or(&batch), &mut done),
                Status::Invalid,
                "{bad:?}"
            );
            assert_eq!(guira_filter_len(self.filter), len);
        }
        assert_eq!(done, 0);
    }

    fn holds_all(&self) {
        for (item, count) in &self.items {
            // SAFETY: the filter lives.
            unsafe {
                let found = guira_filter_contains(self.filter, item.as_ptr().cast(), item.len());
                assert!(found, "{item:?} is lost");
                assert!(
                    guira_filter_count(self.filter, item.as_ptr().cast(), item.len()) >= *count
                );
            }
        }
    }
}

impl Drop for Tested {
    fn drop(&mut self) {
        // SAFETY: no call uses them any more.
        unsafe {
            guira_filter_free(self.filter);
            guira_filter_free(self.expiring);
        }
    }
}

/// The same items in each layout.
struct Memory {
    hashes: Vec<u64>,
    data: Vec<u8>,
    offsets: Vec<u64>,
}

impl Memory {
    fn new(filter: *const Filter, items: &[[u8; 2]]) -> Self {
        // SAFETY: the filter lives, and an item has two bytes.
        let hash =
            |item: &[u8; 2]| unsafe { guira_filter_hash_bytes(filter, item.as_ptr().cast(), 2) };
        Self {
            hashes: items.iter().map(hash).collect(),
            data: items.concat(),
            offsets: (0..=items.len() as u64).map(|item| 2 * item).collect(),
        }
    }

    fn items(&self, layout: Layout) -> Items {
        let (kind, data, size): (_, *const c_void, _) = match layout {
            Layout::Hashes => (ITEMS_HASHES, self.hashes.as_ptr().cast(), 0),
            Layout::Rows => (ITEMS_ROWS, self.data.as_ptr().cast(), 2),
            Layout::Packed => (ITEMS_PACKED, self.data.as_ptr().cast(), self.data.len()),
        };
        let (count, offsets) = (self.hashes.len(), self.offsets.as_ptr());
        Items {
            kind,
            reserved: 0,
            count,
            data,
            size,
            offsets,
        }
    }
}

fuzz_target!(|input: (bool, Vec<Call>)| {
    let (is_shared, calls) = input;
    let mut tested = Tested::new(is_shared);
    for call in calls {
        tested.call(call);
        tested.holds_all();
    }
});
