//! A file system in user space with one empty file, and room for others.
//!
//! The layouts of requests and replies are in `linux/fuse.h`, version 7.31.

use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
};
use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    os::fd::AsRawFd,
    path::Path,
    thread,
};

/// The most bytes of a request that has no data to write.
const REQUEST: usize = 8192;

/// The bytes before what differs from request to request.
const HEADER: usize = 40;

/// The name of the file.
pub(crate) const NAME: &str = "old";

const ROOT: u64 = 1;
const FILE: u64 = 2;

const LOOKUP: u32 = 1;
const GETATTR: u32 = 3;
const OPEN: u32 = 14;
const STATFS: u32 = 17;
const INIT: u32 = 26;
const CREATE: u32 = 35;

/// Mounts it at `directory`, for this process only, and serves it in a thread.
pub(crate) fn mount_fuse(directory: &Path) -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/fuse")?;
    let options = format!(
        "fd={},rootmode=40000,user_id=0,group_id=0",
        device.as_raw_fd()
    );
    let (kind, flags) = (Some("fuse"), MsFlags::empty());
    mount(Some("test"), directory, kind, flags, Some(options.as_str()))?;
    thread::spawn(move || serve(device));
    Ok(())
}

/// Answers until the process ends.
fn serve(mut device: File) {
    let mut request = vec![0; REQUEST];
    while let Ok(bytes) = device.read(&mut request) {
        let words: Vec<u64> = request[..bytes]
            .chunks_exact(8)
            .map(|word| u64::from_ne_bytes(word.try_into().unwrap()))
            .collect();
        let [_, operation] = halves(words[0]);
        let (unique, node) = (words[1], words[2]);
        let is_named = request[HEADER..bytes].starts_with(NAME.as_bytes());
        let (error, reply) = match answer(operation, node) {
            Some(_) if operation == LOOKUP && !is_named => (-nix::libc::ENOENT, Vec::new()),
            Some(reply) => (0, reply),
            None => (-nix::libc::ENOSYS, Vec::new()),
        };
        let length = 16 + 8 * reply.len() as u32;
        let header = [pair(length, error.cast_unsigned()), unique];
        let bytes: Vec<u8> = header
            .into_iter()
            .chain(reply)
            .flat_map(u64::to_ne_bytes)
            .collect();
        // A request without a reply is refused here.
        let _ = device.write(&bytes);
    }
}

fn answer(operation: u32, node: u64) -> Option<Vec<u64>> {
    // Nothing is valid for any time, so each call asks again.
    let entry = || [vec![FILE, 0, 0, 0, 0], attributes(FILE)].concat();
    let opened = vec![0, 0];
    Some(match operation {
        INIT => vec![pair(7, 31), 0, pair(0, 4096), pair(1, 0), 0, 0, 0, 0],
        LOOKUP => entry(),
        GETATTR => [vec![0, 0], attributes(node)].concat(),
        OPEN => opened,
        CREATE => [entry(), opened].concat(),
        STATFS => [[0; 5].as_slice(), &[pair(4096, 255), 0], &[0; 3]].concat(),
        _ => return None,
    })
}

/// A directory or a file that is empty.
fn attributes(node: u64) -> Vec<u64> {
    let mode = if node == ROOT { 0o040_755 } else { 0o100_644 };
    vec![node, 0, 0, 0, 0, 0, 0, pair(0, mode), pair(1, 0), 0, 0]
}

/// Two adjacent fields.
fn pair(first: u32, second: u32) -> u64 {
    let [first, second] = [first, second].map(u32::to_ne_bytes);
    u64::from_ne_bytes([first, second].concat().try_into().unwrap())
}

fn halves(word: u64) -> [u32; 2] {
    let bytes = word.to_ne_bytes();
    [&bytes[..4], &bytes[4..]].map(|half| u32::from_ne_bytes(half.try_into().unwrap()))
}
