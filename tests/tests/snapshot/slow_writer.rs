//! A snapshot whose writer is slow does not stop inserts.

use guira::CuckooFilter;
use std::{
    collections::VecDeque,
    io::{self, Write},
};

/// A writer that replaces items of the filter before it takes each piece.
struct Replacing<'a> {
    filter: &'a CuckooFilter,
    items: VecDeque<usize>,
    next: usize,
}

impl Write for Replacing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for _ in 0..2_000 {
            let old = self.items.pop_front().expect("items");
            assert!(self.filter.remove(&old), "{old} was in");
            self.filter
                .insert(&self.next)
                .expect("room for as many items as before");
            self.items.push_back(self.next);
            self.next += 1;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// So small a filter is scanned at once. After that, and before it, no relocation
/// does the snapshot any harm, and none is held up.
#[test]
fn a_small_full_filter_takes_inserts_while_the_writer_is_slow() {
    for bits in [10, 12, 15, 20, 30] {
        let filter = CuckooFilter::builder()
            .capacity(400)
            .fingerprint_bits(bits)
            .seed(1)
            .build()
            .expect("a filter");
        for item in 0..400 {
            filter.insert(&item).expect("room");
        }
        let mut writer = Replacing {
            filter: &filter,
            items: (0..400).collect(),
            next: 400,
        };
        filter.write_to(&mut writer).expect("all bytes");
        assert!(writer.next > 8_000, "{bits}: several pieces were written");
        assert!(filter.stats().relocations > 100, "{bits}: it was full");
        assert!(writer.items.iter().all(|item| filter.contains(item)));
    }
}
