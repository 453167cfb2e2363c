//! A value as commands: `CF.LOADCHUNK` with the pieces that `CF.SCANDUMP` would return.
//!
//! The AOF is rewritten in this way, and Valkey 9 migrates slots in this way.

use super::Content;
use crate::{
    effects::AGE,
    engine::{
        Rewrite,
        fault::{self, Fault},
    },
    windows::Windows,
};
use guira_commands::{
    Filter,
    dump::{Header, PIECE, position_of},
};
use std::{
    ffi::CStr,
    io::{self, BufWriter, Write},
};

const COMMAND: &CStr = c"CF.LOADCHUNK";

/// The position of a header.
const HEADER: i64 = 1;

/// The position of a piece that ends at this offset. It includes a dump number, so no piece has the
/// position of a header, however short it is.
fn position_after(come: u64) -> i64 {
    const NUMBER: u64 = 1;
    position_of(NUMBER, come) as i64
}

pub(super) fn rewrite(content: &Content, to: &mut impl Rewrite, windows: &Windows) {
    match content {
        Content::Filter(filter) => {
            to.emit(COMMAND, HEADER, &Header::of(filter).to_bytes());
            assert!(!fault::is(Fault::PanicInSave), "a fault that a test chose");
            let written = write(filter, to);
            // If it failed, the pieces would be incomplete, and reading them would not create a filter.
            debug_assert!(written.is_ok(), "commands take all bytes");
            if let (Some(saved), Some(window)) = (windows.save(filter), filter.window()) {
                // The number is for people who read the file; the snapshot contains the age.
                let age = window.epoch_age().as_millis() as i64;
                to.emit(AGE, age, &saved.to_bytes());
            }
        }
        Content::Loading(loading) => {
            to.emit(COMMAND, HEADER, loading.header());
            let mut come = 0;
            for piece in loading.pieces() {
                come += piece.len() as u64;
                to.emit(COMMAND, position_after(come), piece);
            }
        }
    }
}

/// Writes the snapshot, preceded by its length. To determine the length, the snapshot is written
/// twice, which takes a second per GiB, and no memory. In a forked process nothing changes between.
fn write(filter: &Filter, to: &mut impl Rewrite) -> io::Result<()> {
    let mut count = Count(0);
    filter.write_to(&mut count)?;
    let pieces = Pieces { to, come: 0 };
    let mut pieces = BufWriter::with_capacity(PIECE as usize, pieces);
    pieces.write_all(&count.0.to_le_bytes())?;
    filter.write_to(&mut pieces)?;
    pieces.flush()
}

/// Counts written bytes.
struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Emits each write as a piece.
struct Pieces<'a, R> {
    to: &'a mut R,
    come: u64,
}

impl<R: Rewrite> Write for Pieces<'_, R> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(PIECE as usize)];
        if !bytes.is_empty() {
            self.come += bytes.len() as u64;
            self.to.emit(COMMAND, position_after(self.come), bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{
        engine::Value,
        entry::{
            Entry,
            tests::{some_filter, some_window},
        },
        loading::{ANY_SIZE, Loading, Progress},
        windows::Saved,
    };
    use guira_commands::Clock;

    #[derive(Default)]
    struct Commands(Vec<(u64, Vec<u8>)>);

    impl Rewrite for Commands {
        fn emit(&mut self, command: &CStr, number: i64, bytes: &[u8]) {
            if command == AGE {
                assert!(Saved::from_bytes(bytes).is_some());
                return;
            }
            assert_eq!(command, COMMAND);
            self.0.push((number.try_into().unwrap(), bytes.to_vec()));
        }
    }

    /// The pieces after the header.
    pub(in crate::entry) fn pieces_of(filter: &Filter) -> Vec<(u64, Vec<u8>)> {
        let mut commands = Commands::default();
        write(filter, &mut commands).unwrap();
        commands.0
    }

    #[test]
    fn the_commands_make_the_value() {
        for filter in [some_filter(20_000), some_window(20_000)] {
            is_made_by_commands(&Entry::of_filter(filter));
        }
    }

    fn is_made_by_commands(entry: &Entry) {
        let mut commands = Commands::default();
        entry.rewrite(&mut commands);
        let [(1, header), pieces @ ..] = &commands.0[..] else {
            panic!("no header comes first");
        };
        let mut loading = Loading::begin(header, ANY_SIZE, Clock::Process).unwrap();
        let mut last = None;
        for (position, piece) in pieces {
            assert!(piece.len() <= PIECE as usize);
            assert!(!matches!(last, Some(Progress::Done(_))));
            last = Some(loading.take(*position, piece, ANY_SIZE).unwrap());
        }
        let Some(Progress::Done(done)) = last else {
            panic!("the last piece was not the last: {last:?}");
        };
        assert_eq!(Entry::new(Content::Filter(*done)).digest(), entry.digest());
    }

    #[test]
    fn what_is_being_loaded_is_loaded_so_far() {
        let filter = some_filter(20_000);
        let all = pieces_of(&filter);
        let header = Header::of(&filter).to_bytes();
        // Cuts the pieces at other positions than a dump does.
        let begin = &all[0].1[..1000];
        let mut loading = Loading::restore(&header, Clock::Process).unwrap();
        loading.restore_piece(&begin[..1]).unwrap();
        loading.restore_piece(&begin[1..]).unwrap();
        let entry = Entry::new(Content::Loading(loading.into()));
        let mut commands = Commands::default();
        entry.rewrite(&mut commands);
        let after = |come| position_after(come) as u64;
        // Small pieces have been joined.
        assert!(after(1000) > 1000);
        let expected = [(1, &header[..]), (after(1000), begin)];
        let found = commands.0.iter().map(|(at, bytes)| (*at, &bytes[..]));
        assert!(found.eq(expected));
    }
}
