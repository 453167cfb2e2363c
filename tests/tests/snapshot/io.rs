//! Errors of readers and writers are passed on. Short reads and writes are no errors.

use super::common::layouts::{fill, filter};
use guira::{CuckooFilter, SnapshotError};
use std::io::{self, BufReader, Read, Write};

fn filled() -> CuckooFilter {
    let filter = filter(15, 10_000);
    fill(&filter, 0..10_000);
    filter
}

/// Passes on `left` bytes, at most `step` at a time, and then fails.
struct Failing<T> {
    inner: T,
    left: usize,
    step: usize,
}

impl<T> Failing<T> {
    fn next(&mut self, length: usize) -> io::Result<usize> {
        match length.min(self.step).min(self.left) {
            0 if length > 0 => Err(io::Error::other("the disk is gone")),
            step => {
                self.left -= step;
                Ok(step)
            }
        }
    }
}

impl<W: Write> Write for Failing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let step = self.next(bytes.len())?;
        self.inner.write(&bytes[..step])
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.left == 0 {
            return Err(io::Error::other("the disk is gone"));
        }
        self.inner.flush()
    }
}

impl<R: Read> Read for Failing<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let step = self.next(bytes.len())?;
        self.inner.read(&mut bytes[..step])
    }
}

#[test]
fn errors_of_the_writer_are_passed_on() {
    let filter = filled();
    let length = filter.to_bytes().len();
    for left in [0, 1, 63, 64, 1_000, 5_000, length - 1, length] {
        let writer = Failing {
            inner: io::sink(),
            left,
            step: usize::MAX,
        };
        let error = filter.write_to(writer).expect_err("the writer fails");
        assert_eq!(error.to_string(), "the disk is gone");
    }
    let writer = Failing {
        inner: io::sink(),
        left: length + 1,
        step: usize::MAX,
    };
    filter.write_to(writer).expect("the writer takes all");
}

#[test]
fn errors_of_the_reader_are_passed_on() {
    let bytes = filled().to_bytes();
    for left in [0, 1, 63, 64, 1_000, 5_000, bytes.len() - 1] {
        let reader = Failing {
            inner: &bytes[..],
            left,
            step: usize::MAX,
        };
        let error = CuckooFilter::read_from(reader).expect_err("the reader fails");
        assert!(
            matches!(&error, SnapshotError::Io(inner) if inner.to_string() == "the disk is gone")
        );
        assert_eq!(error.to_string(), "the snapshot could not be read");
    }
}

#[test]
fn short_reads_and_writes_are_in_order() {
    let filter = filled();
    let mut bytes = Vec::new();
    for step in [1, 7, 4_096] {
        bytes.clear();
        let writer = Failing {
            inner: &mut bytes,
            left: usize::MAX,
            step,
        };
        filter.write_to(writer).expect("all bytes");
        assert_eq!(bytes, filter.to_bytes());
        let reader = Failing {
            inner: &bytes[..],
            left: usize::MAX,
            step,
        };
        let restored = CuckooFilter::read_from(reader).expect("a snapshot");
        assert_eq!(restored.to_bytes(), bytes);
    }
}

/// When the writer of a snapshot has failed, the snapshot no longer blocks relocations.
#[test]
fn a_failed_snapshot_leaves_nothing_behind() {
    let filter = filled();
    for _ in 0..100 {
        let writer = Failing {
            inner: io::sink(),
            left: 20_000,
            step: usize::MAX,
        };
        filter.write_to(writer).expect_err("the writer fails");
    }
    let relocated = filter.stats().relocations;
    for item in 10_000..20_000 {
        if filter.insert(&item).is_err() {
            break;
        }
    }
    assert!(
        filter.stats().relocations > relocated,
        "no relocation is let through any more"
    );
    assert!(filter.load_factor() > 0.95);
}

/// A tool can draw a progress bar: the bytes come evenly, and their number is
/// known beforehand to about 1 %.
#[test]
fn progress_can_be_observed() {
    struct Observed {
        written: usize,
        largest: usize,
    }
    impl Write for Observed {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.written += bytes.len();
            self.largest = self.largest.max(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let filter = filter(15, 1_000_000);
    let mut observed = Observed {
        written: 0,
        largest: 0,
    };
    filter.write_to(&mut observed).expect("all bytes");
    assert!(observed.largest < 10_000, "the bytes come in small pieces");
    let (written, expected) = (observed.written as f64, filter.memory_usage() as f64);
    assert!(
        (written / expected - 1.0).abs() < 0.01,
        "{written} bytes instead of about {expected}"
    );
}

#[test]
fn files() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join(format!("guira-{}", std::process::id()));
    let filter = filled();
    filter.write_to(std::fs::File::create(&path)?)?;
    let file = BufReader::new(std::fs::File::open(&path)?);
    let restored = CuckooFilter::read_from(file)?;
    std::fs::remove_file(&path)?;
    assert_eq!(restored.to_bytes(), filter.to_bytes());
    Ok(())
}
