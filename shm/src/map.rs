//! Memory that is mapped, as words: the only `unsafe` code of the package.
#![expect(unsafe_code)]

use guira::shared::Memory;
use memmap2::{MmapOptions, MmapRaw};
use nix::libc;
use std::{fs::File, io, slice, sync::atomic::AtomicU64};

/// The bytes of a word.
const WORD: usize = size_of::<AtomicU64>();

/// A mapping, whose words are only ever accessed as atomics.
pub(crate) struct Map {
    map: MmapRaw,
    words: usize,
}

impl Map {
    /// The first words of a file, which other processes map as well.
    pub(crate) fn of_file(file: &File, words: usize) -> io::Result<Self> {
        let map = MmapOptions::new().len(words * WORD).map_raw(file)?;
        Ok(Self { map, words })
    }

    /// The first words of a file, which other processes map as well, and this one only reads: a store
    /// ends it with SIGSEGV.
    ///
    /// Rust promises that relaxed loads work on pages that cannot be written, but lookups acquire. So
    /// this is an error on machines that are not known to have loads that acquire, and store nothing.
    pub(crate) fn of_file_read_only(file: &File, words: usize) -> io::Result<Self> {
        let only_loads = cfg!(any(
            target_arch = "x86_64",
            target_arch = "aarch64",
            target_arch = "riscv64"
        ));
        if !only_loads {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let map = MmapOptions::new()
            .len(words * WORD)
            .map_raw_read_only(file)?;
        Ok(Self { map, words })
    }

    /// Words of this process, which are 0 in a child when that begins.
    pub(crate) fn wiped_on_fork(words: usize) -> io::Result<Self> {
        let map = MmapRaw::from(MmapOptions::new().len(words * WORD).map_anon()?);
        let start = map.as_mut_ptr().cast();
        // SAFETY: these pages were mapped above, and nothing else uses them. In a child they are pages of
        // zeros, which are an atomic like other values.
        match unsafe { libc::madvise(start, words * WORD, libc::MADV_WIPEONFORK) } {
            0 => Ok(Self { map, words }),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Memory for Map {
    fn words(&self) -> &[AtomicU64] {
        let start = self.map.as_mut_ptr().cast::<AtomicU64>().cast_const();
        // SAFETY: the mapping has at least `words` words, begins with a page, and lasts as long as
        // `self`. Every value of its bytes is an atomic's, and this process accesses them in no other
        // way. What other processes write are changes by others of memory that is shared, which is
        // what atomics are for. A reader only loads, by instructions that need no permission to write
        // (`of_file_read_only`). If the file is truncated, an access ends the process (SIGBUS), which
        // is no undefined behaviour. For that reason the functions that map a file are `unsafe`.
        unsafe { slice::from_raw_parts(start, self.words) }
    }
}
