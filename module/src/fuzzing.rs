//! The property that the fuzzer checks without an engine: bytes that the engine reads for the
//! module are either refused, or are a value that works. The fuzz target is in `module/fuzz/`.

use crate::{
    effects::AGE,
    engine::{Load, Rewrite, Save, Value, peak_of},
    entry::{Content, Entry},
    loading::{Loading, Progress},
    windows::Saved,
};
use guira_commands::{Clock, dump::Memory};
use std::{collections::VecDeque, ffi::CStr, io};

/// A number or string that the engine reads or writes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    Number(u64),
    Bytes(Vec<u8>),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct File(pub(crate) VecDeque<Item>);

impl Save for File {
    fn number(&mut self, number: u64) {
        self.0.push_back(Item::Number(number));
    }

    fn string(&mut self, bytes: &[u8]) {
        self.0.push_back(Item::Bytes(bytes.to_vec()));
    }
}

impl Load for File {
    type Bytes = Vec<u8>;

    fn number(&mut self) -> io::Result<u64> {
        match self.0.pop_front() {
            Some(Item::Number(number)) => Ok(number),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn string(&mut self) -> io::Result<Vec<u8>> {
        match self.0.pop_front() {
            Some(Item::Bytes(bytes)) => Ok(bytes),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Commands of the form of `CF.LOADCHUNK`, as the module writes them.
#[derive(Default)]
struct Commands(Vec<(u64, Vec<u8>)>);

impl Rewrite for Commands {
    fn emit(&mut self, command: &CStr, number: i64, bytes: &[u8]) {
        if command == AGE {
            assert!(Saved::from_bytes(bytes).is_some(), "the age can be read");
        } else {
            self.0.push((number.cast_unsigned(), bytes.to_vec()));
        }
    }
}

/// In the input of the fuzzer a number is 0 and eight bytes, and a string is 1, two bytes of
/// length, and its bytes.
const NUMBER: u8 = 0;

impl File {
    /// The bytes that the engine's own encoding takes at least.
    pub(crate) fn len(&self) -> usize {
        let bytes = |item: &Item| match item {
            Item::Number(_) => 2,
            Item::Bytes(bytes) => 2 + bytes.len(),
        };
        self.0.iter().map(bytes).sum()
    }

    fn from_bytes(mut bytes: &[u8]) -> Self {
        let mut file = Self::default();
        while let Some((&kind, rest)) = bytes.split_first() {
            if kind == NUMBER {
                let Some((number, rest)) = rest.split_first_chunk() else {
                    break;
                };
                file.0.push_back(Item::Number(u64::from_le_bytes(*number)));
                bytes = rest;
            } else {
                let Some((length, rest)) = rest.split_first_chunk() else {
                    break;
                };
                let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
                file.0.push_back(Item::Bytes(rest[..length].to_vec()));
                bytes = &rest[length..];
            }
        }
        file
    }

    /// Corrects the checksums, so that the code behind them is tested as well.
    pub(crate) fn with_right_sums(&self) -> Self {
        let mut file = self.clone();
        let mut sum = crc32fast::Hasher::new();
        let mut length = 0;
        let mut strings = 0;
        for item in &mut file.0 {
            match item {
                Item::Bytes(bytes) => {
                    strings += 1;
                    // A filter is a header, a snapshot in one string, and with a window the age.
                    if strings < 3 || bytes.len() == Saved::BYTES {
                        set_sum(bytes);
                    }
                    sum.update(bytes);
                    length += bytes.len() as u64;
                }
                Item::Number(number) if strings > 0 => {
                    *number = length << 32 | u64::from(sum.clone().finalize());
                }
                Item::Number(_) => {}
            }
        }
        file
    }

    #[cfg(test)]
    fn to_bytes(&self) -> Vec<u8> {
        let mut all = Vec::new();
        for item in &self.0 {
            match item {
                Item::Number(number) => {
                    all.push(NUMBER);
                    all.extend(number.to_le_bytes());
                }
                Item::Bytes(bytes) => {
                    all.push(NUMBER + 1);
                    all.extend(u16::try_from(bytes.len()).unwrap().to_le_bytes());
                    all.extend(bytes);
                }
            }
        }
        all
    }
}

fn set_sum(bytes: &mut [u8]) {
    if let Some((body, sum)) = bytes.split_last_chunk_mut::<4>() {
        *sum = crc32fast::hash(body).to_le_bytes();
    }
}

/// The memory that reading an empty value may take.
const BESIDE: usize = 64 << 10;

/// The memory for each byte in addition.
const PER_BYTE: usize = 4;

/// The memory for loads that continue after they were read.
const ROOM: Memory = Memory {
    free: 1 << 20,
    limit: 1 << 20,
};

/// Reads the bytes as they are, and with correct checksums. Returns true if either is a value.
///
/// # Panics
///
/// If a value does not work, or takes more memory than its bytes justify.
pub fn check(bytes: &[u8]) -> bool {
    let file = File::from_bytes(bytes);
    let right = file.with_right_sums();
    [file, right].map(works).contains(&true)
}

fn load(file: &mut File) -> Option<std::sync::Arc<Entry>> {
    let bytes = file.len();
    let (read, peak) = peak_of(|| Entry::load(file, Entry::VERSION).ok());
    assert!(
        peak <= PER_BYTE * bytes + BESIDE,
        "{bytes} bytes have taken {peak} bytes of memory"
    );
    read
}

fn works(mut file: File) -> bool {
    let Some(entry) = load(&mut file) else {
        return false;
    };
    let digest = entry.digest();
    assert!(entry.memory_usage() > 0 && entry.free_effort() > 0);
    let mut saved = File::default();
    entry.save(&mut saved);
    let read = load(&mut saved).expect("what was saved can be read");
    assert_eq!(read.digest(), digest, "{entry:?}");
    assert_eq!(
        entry.copy().expect("there is memory").digest(),
        digest,
        "{entry:?}"
    );
    let mut commands = Commands::default();
    entry.rewrite(&mut commands);
    match (loaded(&commands.0), entry.content()) {
        (Some(loaded), _) => assert_eq!(loaded.digest(), digest, "{entry:?}"),
        // The pieces of a load in progress are decoded when it continues.
        (None, Content::Loading(_)) => {}
        (None, Content::Filter(_)) => panic!("its commands are refused: {entry:?}"),
    }
    true
}

/// Loads the filter from the commands; `None` if one of them is refused.
fn loaded(commands: &[(u64, Vec<u8>)]) -> Option<Entry> {
    let (header, pieces) = commands.split_first().expect("a header comes first");
    let mut loading = Loading::begin(&header.1, ROOM, Clock::Process).expect("the header is right");
    for (index, (position, piece)) in pieces.iter().enumerate() {
        match loading.take(*position, piece, ROOM).ok()? {
            Progress::GoesOn => {}
            Progress::Done(filter) => {
                assert_eq!(index + 1, pieces.len(), "the last piece is the last");
                return Some(Entry::new(Content::Filter(*filter)));
            }
        }
    }
    Some(Entry::new(Content::Loading(Box::new(loading))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::tests::{some_filter, some_window};
    use guira_commands::dump::Header;
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    fn values() -> [Entry; 4] {
        let filter = some_filter(100);
        let mut commands = Commands::default();
        let whole = Entry::of_filter(some_filter(1000));
        Entry::of_filter(filter).rewrite(&mut commands);
        let half = &commands.0[1].1[..200];
        let header = Header::of(&some_filter(100)).to_bytes();
        let mut loading = Loading::restore(&header, Clock::Process).unwrap();
        loading.restore_piece(half).unwrap();
        [
            Entry::of_filter(some_filter(10)),
            whole,
            Entry::of_filter(some_window(100)),
            Entry::new(Content::Loading(loading.into())),
        ]
    }

    #[test]
    fn what_is_read_is_refused_or_works() {
        let mut random = StdRng::seed_from_u64(1);
        let (mut refused, mut read) = (0, 0);
        for entry in values() {
            let mut file = File::default();
            entry.save(&mut file);
            let bytes = file.to_bytes();
            assert_eq!(File::from_bytes(&bytes), file);
            assert!(check(&bytes), "{entry:?}");
            for _ in 0..1000 {
                let mut damaged = bytes.clone();
                for _ in 0..random.random_range(1..4) {
                    let byte = random.random_range(0..damaged.len());
                    damaged[byte] ^= 1 << random.random_range(0..8);
                }
                match check(&damaged) {
                    true => read += 1,
                    false => refused += 1,
                }
            }
        }
        // The checksums are corrected, so both results occur.
        assert!(refused > 100 && read > 100, "{refused} and {read}");
    }

    /// Writes initial inputs for the fuzzer if `GUIRA_CORPUS=DIRECTORY` is set.
    #[test]
    fn the_corpus_has_values() {
        for (index, entry) in values().iter().enumerate() {
            let mut file = File::default();
            entry.save(&mut file);
            let bytes = file.to_bytes();
            assert!(check(&bytes));
            if let Some(directory) = std::env::var_os("GUIRA_CORPUS") {
                let path = std::path::Path::new(&directory).join(format!("value-{index}"));
                std::fs::write(path, bytes).unwrap();
            }
        }
    }
}
