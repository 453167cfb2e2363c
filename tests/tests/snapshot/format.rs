//! The library writes the example in `docs/FORMAT.md`.

use guira::CuckooFilter;

/// The bytes of the hexdump, whose lines are an offset, two spaces and up to 16 bytes.
fn hexdump(text: &str) -> Vec<u8> {
    let example = text.split_once("## Example").expect("an example").1;
    let dump = example.split("```").nth(1).expect("a hexdump");
    let byte = |digits| u8::from_str_radix(digits, 16).expect("a byte");
    let lines = dump.lines().filter_map(|line| line.split_once("  "));
    lines
        .flat_map(|(_, bytes)| bytes.split(' ').map(byte))
        .collect()
}

#[test]
fn the_example_is_right() {
    let filter = CuckooFilter::builder()
        .capacity(1)
        .fingerprint_bits(15)
        .seed(7)
        .build()
        .expect("a filter");
    filter.insert("ani").expect("room");
    let example = hexdump(include_str!("../../../docs/FORMAT.md"));
    assert_eq!(example.len(), 100);
    assert_eq!(filter.to_bytes(), example);
    let read = CuckooFilter::from_bytes(&example).expect("a snapshot");
    assert!(read.contains("ani"));
}
