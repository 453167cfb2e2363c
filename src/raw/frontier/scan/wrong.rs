//! Chunks scanned wrong for another thread's scan, for negative controls.

use super::{Image, Pass, Read};
use crate::{
    fault::{self, Fault},
    raw::RawFilter,
    table::layout::Layout,
};

/// Enters a chunk and loads its words, with the fault that is switched on.
pub(super) fn read<L: Layout>(
    raw: &RawFilter<L>,
    pass: &Pass,
    chunk: usize,
    image: &mut Image,
) -> Read {
    match fault::now() {
        Fault::HelpUnfenced => {
            pass.enter_unfenced(chunk);
            raw.load_chunk_of(pass, chunk, image)
        }
        Fault::HelpLoadsFirst => {
            let read = raw.load_chunk_of(pass, chunk, image);
            pass.enter(chunk);
            read
        }
        _ => raw.read_chunk_of(pass, chunk, image),
    }
}
