//! The replies that wait for a client in large buffers, whose memory counts.
//!
//! The buffers belong to the list of clients and not to the connection. So the memory of a client that
//! is ended to make room is free at once, and not when its connection notices.

use crate::{lock::lock, pools::Pool};
use std::{
    collections::VecDeque,
    io, mem,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// The buffers of a client.
#[derive(Debug, Default)]
pub struct Unread {
    buffers: Mutex<Buffers>,
    /// The memory of all buffers.
    bytes: AtomicUsize,
}

#[derive(Debug, Default)]
struct Buffers {
    all: VecDeque<Vec<u8>>,
    /// The bytes of the first buffer that were sent.
    sent: usize,
    /// The bytes of all buffers that were not.
    left: usize,
    /// True once the client was ended to make room.
    has_ended: bool,
}

/// The client was ended to make room, and gets no more replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended;

impl Unread {
    /// The memory of all buffers.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    /// Appends to the last buffer what `write` appends, which is at most `most` bytes. Returns the
    /// number of bytes, or `None` if there is no room for them.
    pub(crate) fn append(
        &self,
        most: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Option<usize>, Ended> {
        let buffers = &mut *lock(&self.buffers);
        if buffers.has_ended {
            return Err(Ended);
        }
        let last = buffers.all.back_mut();
        let last = last.filter(|last| last.capacity() - last.len() >= most);
        Ok(last.map(|last| {
            let before = last.len();
            write(last);
            let more = last.len() - before;
            buffers.left += more;
            more
        }))
    }

    /// Adds a buffer whose capacity has been charged to the pool.
    pub(crate) fn push(&self, pool: &Pool, buffer: Vec<u8>) -> Result<(), Ended> {
        let capacity = buffer.capacity();
        let mut buffers = lock(&self.buffers);
        // Without memory for a few words, the client cannot be served either.
        if buffers.has_ended || buffers.all.try_reserve(1).is_err() {
            drop(buffer);
            pool.release(capacity);
            return Err(Ended);
        }
        buffers.left += buffer.len();
        buffers.all.push_back(buffer);
        self.bytes.fetch_add(capacity, Relaxed);
        Ok(())
    }

    /// Lets `send` send the bytes, buffer by buffer, and frees each that was sent completely.
    /// Returns the number of bytes that are left, and the error that ended the attempt.
    pub(crate) fn send(
        &self,
        pool: &Pool,
        mut send: impl FnMut(&[u8]) -> io::Result<usize>,
    ) -> (usize, io::Result<()>) {
        let mut buffers = lock(&self.buffers);
        let mut result = Ok(());
        while let Some(first) = buffers.all.front() {
            match send(&first[buffers.sent..]) {
                Ok(sent) => {
                    buffers.sent += sent;
                    buffers.left -= sent;
                }
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
            if buffers.all.front().map(Vec::len) == Some(buffers.sent) {
                buffers.sent = 0;
                let first = buffers.all.pop_front();
                self.free(pool, first);
            }
        }
        (buffers.left, result)
    }

    /// Frees all buffers.
    pub(crate) fn clear(&self, pool: &Pool) {
        self.take(pool, &mut lock(&self.buffers));
    }

    /// Frees all buffers, and refuses further replies.
    pub(super) fn end(&self, pool: &Pool) {
        let mut buffers = lock(&self.buffers);
        buffers.has_ended = true;
        self.take(pool, &mut buffers);
    }

    fn take(&self, pool: &Pool, buffers: &mut Buffers) {
        (buffers.sent, buffers.left) = (0, 0);
        self.free(pool, mem::take(&mut buffers.all));
    }

    /// The charge ends after the memory is free.
    fn free(&self, pool: &Pool, buffers: impl IntoIterator<Item = Vec<u8>>) {
        for buffer in buffers {
            let capacity = buffer.capacity();
            drop(buffer);
            self.bytes.fetch_sub(capacity, Relaxed);
            pool.release(capacity);
        }
    }
}
