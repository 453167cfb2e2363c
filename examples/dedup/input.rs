//! Splits inputs into blocks of whole lines.

use crate::failure::Failure;
use std::{
    fs::{self, File},
    io::{self, ErrorKind, Read},
    mem,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

/// The size of a read in bytes. A block is the result of one read, so that lines from a slow pipe
/// are passed on as they arrive.
const READ: usize = 256 * 1024;

#[derive(Debug)]
pub(crate) enum Input {
    Stdin,
    File(PathBuf),
}

impl Input {
    /// The inputs on the command line, or standard input if there are none.
    pub(crate) fn all(files: &[PathBuf]) -> Vec<Self> {
        let input = |path: &PathBuf| match path.as_path() {
            path if path == Path::new("-") => Self::Stdin,
            path => Self::File(path.to_owned()),
        };
        if files.is_empty() {
            vec![Self::Stdin]
        } else {
            files.iter().map(input).collect()
        }
    }

    /// The number of bytes, or `None` if it is unknown before the input is read.
    pub(crate) fn bytes(&self) -> Result<Option<u64>, Failure> {
        let Self::File(path) = self else {
            return Ok(None);
        };
        let metadata = fs::metadata(path).map_err(|error| self.failure(error))?;
        Ok(metadata.is_file().then_some(metadata.len()))
    }

    fn open(&self) -> Result<Box<dyn Read>, Failure> {
        Ok(match self {
            Self::Stdin => Box::new(io::stdin().lock()),
            Self::File(path) => Box::new(File::open(path).map_err(|error| self.failure(error))?),
        })
    }

    fn failure(&self, error: io::Error) -> Failure {
        let name = match self {
            Self::Stdin => "standard input".to_owned(),
            Self::File(path) => path.display().to_string(),
        };
        Failure::Read { name, error }
    }

    /// Passes the result of each read to `sink`, until `sink` breaks off.
    fn read(
        &self,
        mut sink: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Failure> {
        let mut source = self.open()?;
        let mut buffer = vec![0; READ];
        loop {
            match source.read(&mut buffer) {
                Ok(0) => return Ok(ControlFlow::Continue(())),
                Ok(read) => {
                    if sink(&buffer[..read]).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failure(error)),
            }
        }
    }

    fn count_lines(&self) -> Result<usize, Failure> {
        let mut lines = 0;
        let mut ended = true;
        // This never breaks off.
        let _ = self.read(|piece| {
            lines += piece.iter().filter(|&&byte| byte == b'\n').count();
            ended = piece.ends_with(b"\n");
            ControlFlow::Continue(())
        })?;
        Ok(lines + usize::from(!ended))
    }

    /// Passes blocks of whole lines to `sink`, until `sink` breaks off. Only the last block of an
    /// input may end without a line feed.
    pub(crate) fn read_blocks(
        &self,
        mut sink: impl FnMut(Vec<u8>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Failure> {
        let mut begun = Vec::new();
        let flow = self.read(|piece| {
            let Some(end) = piece.iter().rposition(|&byte| byte == b'\n') else {
                begun.extend_from_slice(piece);
                return ControlFlow::Continue(());
            };
            let (lines, rest) = piece.split_at(end + 1);
            let mut block = mem::take(&mut begun);
            block.extend_from_slice(lines);
            begun.extend_from_slice(rest);
            sink(block)
        })?;
        Ok(if flow.is_continue() && !begun.is_empty() {
            sink(begun)
        } else {
            flow
        })
    }
}

/// The numbers of lines in all inputs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines {
    /// The lines of the regular files.
    pub(crate) counted: usize,
    /// True if the lines of some input cannot be counted in advance.
    pub(crate) and_more: bool,
}

pub(crate) fn count_lines(inputs: &[Input]) -> Result<Lines, Failure> {
    let mut lines = Lines {
        counted: 0,
        and_more: false,
    };
    for input in inputs {
        if input.bytes()?.is_some() {
            lines.counted = lines.counted.saturating_add(input.count_lines()?);
        } else {
            lines.and_more = true;
        }
    }
    Ok(lines)
}
