//! Runs the example `references`, which fails if a chunk is missing that a document has.

use crate::common::example::example;

#[test]
fn hardly_any_chunk_outlives_its_references() {
    let output = example("references").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{error}");
    let number = |name: &str| -> f64 {
        let line = text.lines().find(|line| line.starts_with(name));
        let number = line.and_then(|line| line.split_whitespace().last());
        number.unwrap().parse().unwrap()
    };
    assert_eq!(number("documents"), 2000.0);
    assert_eq!(number("references"), 40_000.0);
    let with = number("chunks with a reference");
    assert!(with > 10_000.0);
    // Of all chunks of the past, the false-positive rate; these are many times as many as those left.
    assert!(number("chunks without") < 0.2 * with, "{text}");
    // About 7 bytes for each chunk. A chunk that shares both words with a hot one makes the filter grow, but
    // a level begins only while a sixteenth of the slots is in use.
    assert!(number("bytes of the filter") < 150.0 * with, "{text}");
}
