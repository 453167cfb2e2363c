//! The format of a value in RDB files, and in `DUMP` and `RESTORE`.
//!
//! | a filter | a filter that is being loaded |
//! |---|---|
//! | the number 1 | the number 2 |
//! | a string: the header of a dump | the same |
//! | strings of at most 1 MiB: the snapshot | the received pieces |
//! | an empty string | an empty string |
//! | with a window, a string: whether its time passes and when it last did, with a CRC-32 | a number: in its lower half the CRC-32 of the header and the pieces, in its upper half 32 bits of their length |
//!
//! Header and snapshot end with their own checksums, because the engine's can be disabled.

use super::{Content, Entry, NoRoom, Room};
use crate::{
    engine::{
        Load, Save,
        fault::{self, Fault},
    },
    loading::Loading,
    windows::{self, Saved, Windows},
};
use guira::SnapshotError;
use guira_commands::{
    Filter, FilterDecoder,
    dump::{Header, HeaderError, Kind, LoadError},
};
use std::{
    ffi::c_int,
    io::{self, BufWriter, Write},
    sync::Arc,
};
use thiserror::Error;

/// The version of this format.
pub(super) const VERSION: c_int = 2;

/// The maximum size of a string in bytes.
const STRING: usize = 1 << 20;

const FILTER: u64 = 1;
const LOADING: u64 = 2;

/// The bytes are not a value.
#[derive(Debug, Error)]
pub(crate) enum ReadError {
    #[error("it has version {0} of the format, and this module reads version {VERSION} only")]
    Version(c_int),
    #[error("the file cannot be read: {0}")]
    Io(io::Error),
    #[error("it is of kind {0}, and {FILTER} and {LOADING} are known")]
    Kind(u64),
    #[error(transparent)]
    Header(#[from] HeaderError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error("bytes follow the snapshot")]
    Trailing,
    #[error("the age of the filter is damaged")]
    Age,
    #[error("the pieces of what was being loaded are damaged")]
    Pieces,
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

pub(super) fn write(content: &Content, to: &mut impl Save, windows: &Windows) {
    match content {
        Content::Filter(filter) => {
            to.number(FILTER);
            to.string(&Header::of(filter).to_bytes());
            assert!(!fault::is(Fault::PanicInSave), "a fault that a test chose");
            let mut strings = BufWriter::with_capacity(STRING, Strings(to));
            let written = filter.write_to(&mut strings).and_then(|()| strings.flush());
            // The engine reports errors of its file.
            debug_assert!(written.is_ok(), "strings take all bytes");
            drop(strings);
        }
        Content::Loading(loading) => {
            to.number(LOADING);
            to.string(loading.header());
            for string in loading.pieces().flat_map(|piece| piece.chunks(STRING)) {
                to.string(string);
            }
        }
    }
    to.string(b"");
    match content {
        Content::Filter(filter) => {
            if let Some(saved) = windows.save(filter) {
                to.string(&saved.to_bytes());
            }
        }
        Content::Loading(loading) => {
            let mut sum = Sum::new(loading.header());
            loading.pieces().for_each(|piece| sum.add(piece));
            to.number(sum.number());
        }
    }
}

/// The checksum of the bytes of a load; not 0 for no bytes.
struct Sum {
    crc: crc32fast::Hasher,
    length: u64,
}

impl Sum {
    fn new(header: &[u8]) -> Self {
        let mut sum = Self {
            crc: crc32fast::Hasher::new(),
            length: 0,
        };
        sum.add(header);
        sum
    }

    fn add(&mut self, bytes: &[u8]) {
        self.crc.update(bytes);
        self.length += bytes.len() as u64;
    }

    fn number(self) -> u64 {
        self.length << 32 | u64::from(self.crc.finalize())
    }
}

pub(super) fn read(
    from: &mut impl Load,
    version: c_int,
    windows: &Windows,
    mut room: Room,
) -> Result<Arc<Entry>, ReadError> {
    if version != VERSION {
        return Err(ReadError::Version(version));
    }
    match from.number()? {
        FILTER => {
            let header = Header::from_bytes(&from.string()?)?;
            let filter = read_snapshot(from, header, windows, &mut room)?;
            let entry = Arc::new(Entry::of_filter(filter));
            if header.kind == Kind::Windowed {
                let saved = Saved::from_bytes(&from.string()?).ok_or(ReadError::Age)?;
                windows.restore(&entry, saved);
                windows::is_from_file(windows, saved.wall);
            }
            Ok(entry)
        }
        LOADING => {
            let header = from.string()?;
            let mut loading = Loading::restore(&header, windows.clock())?;
            let mut sum = Sum::new(&header);
            loop {
                let piece = from.string()?;
                if piece.is_empty() {
                    break;
                }
                sum.add(&piece);
                loading.restore_piece(&piece)?;
                room.admit(loading.memory_usage())?;
            }
            if from.number()? != sum.number() {
                return Err(ReadError::Pieces);
            }
            let content = Content::Loading(Box::new(loading));
            Ok(Arc::new(Entry::new(content)))
        }
        other => Err(ReadError::Kind(other)),
    }
}

/// Saves each write as a string.
struct Strings<'a, S>(&'a mut S);

impl<S: Save> Write for Strings<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(STRING)];
        // An empty string would be the end.
        if !bytes.is_empty() {
            self.0.string(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads the filter from the following strings, up to an empty one.
fn read_snapshot(
    from: &mut impl Load,
    header: Header,
    windows: &Windows,
    room: &mut Room,
) -> Result<Filter, ReadError> {
    let mut decoder = FilterDecoder::new(header, windows.clock(), room.setting());
    loop {
        let string = from.string()?;
        if string.is_empty() {
            break;
        }
        let taken = decoder.feed(&string).map_err(|error| match error {
            SnapshotError::TooLarge { asked, allowed } => NoRoom::Setting {
                needed: asked,
                limit: allowed,
            }
            .into(),
            error => ReadError::Snapshot(error),
        })?;
        if taken < string.len() {
            return Err(ReadError::Trailing);
        }
        room.admit(decoder.memory_usage())?;
    }
    let filter = decoder.finish()?;
    room.admit(filter.memory_usage())?;
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        engine::Value,
        entry::{
            Entry, pieces,
            tests::{some_filter, some_window, some_window_of},
        },
        fuzzing::{File, Item},
        loading::ANY_SIZE,
        windows::Pass,
    };
    use guira_commands::{Clock, Growth, Options};
    use std::time::Duration;

    fn saved(entry: &Entry) -> File {
        let mut file = File::default();
        entry.save(&mut file);
        file
    }

    /// A filter for 2 000 000 items, whose snapshot has several strings.
    fn large() -> Entry {
        let options = Options {
            capacity: 2_000_000,
            expansion: 0,
            ..Options::default()
        };
        let growth = Growth::furthest(&options, usize::MAX).unwrap();
        let filter = Filter::build(options, growth).unwrap();
        for item in 0..10_000_u32 {
            filter.insert(&item.to_le_bytes(), || false).unwrap();
        }
        Entry::of_filter(filter)
    }

    /// A load of `entry` that has received this number of pieces.
    fn half_loaded(entry: &Entry, count: usize) -> Entry {
        let Content::Filter(filter) = entry.content() else {
            panic!("it is to be a filter");
        };
        let all = pieces::tests::pieces_of(filter);
        let mut loading = Loading::restore(&Header::of(filter).to_bytes(), Clock::Process).unwrap();
        for (_, piece) in &all[..count] {
            loading.restore_piece(piece).unwrap();
        }
        Entry::new(Content::Loading(loading.into()))
    }

    #[test]
    fn a_value_is_read_as_it_was_written() {
        let large = large();
        for entry in [
            Entry::of_filter(some_filter(1)),
            Entry::of_filter(some_filter(20_000)),
            Entry::of_filter(some_window(20_000)),
            half_loaded(&large, 0),
            half_loaded(&large, 1),
            half_loaded(&large, 2),
            large,
        ] {
            let mut file = saved(&entry);
            let strings = file.0.iter().filter_map(|item| match item {
                Item::Bytes(bytes) => Some(bytes.len()),
                Item::Number(_) => None,
            });
            assert!(strings.max().unwrap() <= STRING);
            let read = Entry::load(&mut file, VERSION).unwrap();
            assert_eq!(file, File::default(), "all is read");
            assert_eq!(read.digest(), entry.digest(), "{entry:?}");
        }
    }

    #[test]
    fn a_load_goes_on_after_it_was_saved() {
        let large = large();
        let Content::Filter(filter) = large.content() else {
            panic!("it is a filter");
        };
        let all = pieces::tests::pieces_of(filter);
        assert!(all.len() > 2);
        let mut read = Entry::load(&mut saved(&half_loaded(&large, 1)), VERSION).unwrap();
        let Content::Loading(loading) = Arc::get_mut(&mut read).unwrap().content_mut() else {
            panic!("it is being loaded");
        };
        let mut last = None;
        for (position, piece) in &all[1..] {
            last = Some(loading.take(*position, piece, ANY_SIZE).unwrap());
        }
        let Some(crate::loading::Progress::Done(done)) = last else {
            panic!("the last piece was not the last: {last:?}");
        };
        assert_eq!(Entry::new(Content::Filter(*done)).digest(), large.digest());
    }

    #[test]
    fn a_changed_bit_is_refused() {
        let large = large();
        for entry in [
            Entry::of_filter(some_filter(200)),
            Entry::of_filter(some_window(100)),
            half_loaded(&large, 0),
            half_loaded(&large, 1),
        ] {
            let file = saved(&entry);
            for (index, item) in file.0.iter().enumerate() {
                let bits = match item {
                    Item::Number(_) => 64,
                    Item::Bytes(bytes) => 8 * bytes.len(),
                };
                // Of a large string, changes some bits at its ends and in between.
                for bit in (0..bits).filter(|bit| bit % (1 + bits / 3000) == 0 || bits - bit < 64) {
                    let mut changed = file.clone();
                    match &mut changed.0[index] {
                        Item::Number(number) => *number ^= 1 << bit,
                        Item::Bytes(bytes) => bytes[bit / 8] ^= 1 << (bit % 8),
                    }
                    let read = Entry::load(&mut changed, VERSION);
                    assert!(read.is_err(), "bit {bit} of {index}: {entry:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_cut_or_goes_on_is_refused() {
        for entry in [Entry::of_filter(some_filter(200)), half_loaded(&large(), 1)] {
            let file = saved(&entry);
            for count in 0..file.0.len() {
                let mut cut = File(file.0.iter().take(count).cloned().collect());
                assert!(
                    Entry::load(&mut cut, VERSION).is_err(),
                    "{count} of {entry:?}"
                );
            }
            for index in 0..file.0.len() {
                let mut longer = file.clone();
                if let Item::Bytes(bytes) = &mut longer.0[index] {
                    bytes.push(0);
                    assert!(
                        Entry::load(&mut longer, VERSION).is_err(),
                        "{index} of {entry:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn another_version_is_refused_by_its_number() {
        for version in [1, 3] {
            let error = Entry::load(&mut File::default(), version).unwrap_err();
            let expected = format!(
                "it has version {version} of the format, and this module reads version 2 only"
            );
            assert_eq!(error.to_string(), expected);
        }
    }

    /// The saved state includes the age of an epoch, and whether time passes.
    #[test]
    fn a_window_is_as_old_as_it_was() {
        let windows = Windows::default();
        let entry = Arc::new(Entry::of_filter(some_window_of(&windows, 10)));
        windows.add(&entry);
        let filter: &Filter = (*entry).as_ref();
        let saved = windows.save(filter).unwrap();
        assert!(!saved.has_begun);
        assert_eq!(filter.window().unwrap().epoch_age(), Duration::ZERO);
        let pass = Pass {
            milliseconds: 1500,
            wall: 77,
            is_idle: false,
        };
        (0..2).for_each(|_| windows.pass(pass));
        let mut file = File::default();
        write(entry.content(), &mut file, &windows);
        let other = Windows::default();
        let read = read(&mut file, VERSION, &other, Room::unlimited()).unwrap();
        let read: &Filter = (*read).as_ref();
        let saved = other.save(read).unwrap();
        assert!(saved.has_begun);
        let age = read.window().unwrap().epoch_age();
        assert_eq!(age, Duration::from_millis(1500));
        assert_eq!(windows.save(filter).unwrap().wall, 77);
        assert_eq!(other.count(), 1);
    }
}
