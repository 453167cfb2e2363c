//! Large filters are combined on a thread of the module, if the result is to be a new key.
//!
//! The thread makes a filter that no other thread has. It then loads that into the key like a client: by
//! `CF.LOADCHUNK`, in pieces that the engine takes between other commands, and replicates. So each piece
//! is a write on the main thread, and what a replica or a file has at any time is what the primary had.

use crate::{
    engine::{Access, Context, Flags, OwnedStr, Str, Waiting, guarded, memory, standing, warn},
    host::{Fetched, fetch},
    offload::{Held, Source, spool},
    reply, settings, workers,
};
use guira_commands::{Answer, Command, Filter, Reply, commands, dump::Header};
use std::{
    ffi::CStr,
    io, thread,
    time::{Duration, Instant},
};
use thiserror::Error;

/// The bytes of a piece, which the engine takes in about a millisecond.
const PIECE: u64 = 1 << 18;

const LOAD: &CStr = c"CF.LOADCHUNK";

/// The position at which the header of a dump is loaded.
const OF_HEADER: u64 = 1;

/// For how long a write waits while a replica takes over or writes are paused, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(10);

/// The combined filter did not become the value of its key.
#[derive(Debug, Error)]
enum Failed {
    #[error("ERR the combined filter cannot be written to a file: {0}")]
    File(#[from] io::Error),
    #[error("ERR this node has become a replica, and the key may be half loaded")]
    Replica,
    #[error("TRYAGAIN writes are paused")]
    Paused,
    #[error("ERR the engine does not load the combined filter")]
    Refused,
    /// The reply of the command that loads.
    #[error("{0}")]
    Load(String),
}

/// Combines the filters on a thread. Returns false if the caller has to do it at once, or to refuse it.
pub(crate) fn offload(
    index: usize,
    context: &mut Context,
    words: &[Str<'_>],
    sources: &[Fetched<'_>],
) -> bool {
    let Some(entries) = large(sources) else {
        return false;
    };
    let is_missing = words
        .get(1)
        .is_some_and(|&name| matches!(fetch(&context.open(name, Access::Read)), Ok(None)));
    let flags = context.flags();
    // The main thread would wait for itself: see `Waiting::with_engine`.
    if !is_missing || !flags.may_block() || !workers::are_ready() {
        return false;
    }
    let held = Held::of_sources(entries, free(flags));
    let Some(waiting) = context.block(words) else {
        return false;
    };
    let is_resp3 = flags.is_resp3();
    let command = &const { commands::<Held>() }[index];
    workers::submit(move || answer(command, waiting, held, is_resp3));
    true
}

/// The filters, if all of them exist and have too many slots for the main thread.
fn large(sources: &[Fetched<'_>]) -> Option<Vec<Source>> {
    let source = |(name, fetched): &Fetched<'_>| match fetched {
        Ok(Some(entry)) => Some((Box::from(*name), entry.clone())),
        _ => None,
    };
    let sources: Vec<Source> = sources.iter().map(source).collect::<Option<_>>()?;
    let filters = sources.iter().map(|(_, entry)| (**entry).as_ref());
    let slots = filters.map(Filter::slots).fold(0, usize::saturating_add);
    (slots > settings::combine_slots()).then_some(sources)
}

/// The bytes that a filter may take: there are two of it in the end.
fn free(flags: Flags) -> usize {
    let limited = flags.has_memory_limit().then(memory).flatten();
    let Some(memory) = limited.filter(|memory| memory.limit > 0) else {
        return usize::MAX;
    };
    // If other keys are evicted, the memory is usually full.
    let used = if flags.may_evict() { 0 } else { memory.used };
    usize::try_from(memory.limit.saturating_sub(used) / 2).unwrap_or(usize::MAX)
}

/// Combines the filters, and replies. This is called on a thread of the module.
fn answer(command: &Command<Held>, waiting: Waiting, held: Held, is_resp3: bool) {
    let run = || {
        let words: Vec<_> = waiting.words().collect();
        let answer = (command.run)(&held, &words);
        match held.into_made() {
            Some(made) if answer.is_ok() => load(&waiting, words[1], (*made).as_ref()),
            _ => answer,
        }
    };
    let otherwise = || Err(Reply::error("ERR internal error"));
    let answer = guarded(command.name, run, otherwise);
    waiting.answer(|context| reply::write(context, &reply::of(answer), is_resp3));
}

/// Loads the filter into the key, piece by piece.
fn load(waiting: &Waiting, key: &[u8], filter: &Filter) -> Answer {
    let load = || -> Result<(), Failed> {
        let pieces = spool(filter)?;
        write(waiting, key, OF_HEADER, &Header::of(filter).to_bytes())?;
        let mut come = 0;
        while come < pieces.length() {
            let piece = pieces.piece(come, PIECE)?;
            come += piece.len() as u64;
            write(waiting, key, come, &piece)?;
        }
        Ok(())
    };
    match load() {
        Ok(()) => Ok(Reply::OK),
        Err(error) => {
            warn(&format!(
                "keys were not combined into '{}': {error}",
                key.escape_ascii()
            ));
            Err(Reply::Error(error.to_string().into()))
        }
    }
}

/// Loads one piece, between other commands.
fn write(waiting: &Waiting, key: &[u8], position: u64, piece: &[u8]) -> Result<(), Failed> {
    let until = Instant::now() + PATIENCE;
    loop {
        let written = waiting.with_engine(|context| {
            if !standing().is_primary {
                return Err(Failed::Replica);
            }
            if context.is_traffic_unwanted() {
                return Err(Failed::Paused);
            }
            let words = [key, position.to_string().as_bytes(), piece].map(OwnedStr::new);
            let loaded = context.call(LOAD, &words.each_ref().map(OwnedStr::as_str));
            loaded.map_err(|error| error.map_or(Failed::Refused, Failed::Load))
        });
        match written {
            Err(Failed::Paused) if Instant::now() < until => thread::sleep(PAUSE),
            written => return written,
        }
    }
}
