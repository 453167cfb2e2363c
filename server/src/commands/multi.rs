//! `MULTI` and its kin: commands that are queued and done in one go.
//!
//! They run in order. Commands of other clients run in between: nothing is isolated. `WATCH`
//! detects whether a key has changed before.

use super::{Args, Command, Reply, command::MANY};
use crate::{
    keyspace::Watched,
    server::Server,
    session::{After, Session},
};
use guira_commands::try_with_capacity;
use smallvec::SmallVec;
use std::{collections::TryReserveError, sync::Arc, time::Instant};

/// Bytes that a queued command takes beside its words, and each of these beside its bytes.
const PER_COMMAND: usize = 16;
const PER_WORD: usize = 8;

/// The answer to a command that `EXEC` will do.
pub const QUEUED: Reply = Reply::Status("QUEUED");

/// The answer to a command that cannot be queued.
const NO_MEMORY: Reply = Reply::error("OOM there is no memory for the queued command");

/// Keys that a client watches at most.
const WATCHED: usize = 65_536;

/// What a client watches and has queued. What it takes up is charged as memory.
#[derive(Debug)]
pub struct Transaction {
    server: Arc<Server>,
    watched: Vec<Watched>,
    queue: Option<Queue>,
    charged: usize,
}

/// Commands that wait for `EXEC`.
#[derive(Debug, Default)]
struct Queue {
    commands: Vec<Queued>,
    /// The bytes of all words, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// One of them takes long.
    is_slow: bool,
    /// One was refused, so none will be done.
    spoiled: bool,
}

#[derive(Debug)]
struct Queued {
    command: &'static Command,
    words: usize,
}

impl Transaction {
    fn new(server: &Arc<Server>) -> Self {
        Self {
            server: server.clone(),
            watched: Vec::new(),
            queue: None,
            charged: 0,
        }
    }

    /// True between `MULTI` and `EXEC`.
    #[must_use]
    pub fn is_queueing(&self) -> bool {
        self.queue.is_some()
    }

    /// Commands that are queued.
    #[must_use]
    pub fn commands(&self) -> Option<usize> {
        self.queue.as_ref().map(|queue| queue.commands.len())
    }

    /// Keys that are watched.
    #[must_use]
    pub fn watched(&self) -> usize {
        self.watched.len()
    }

    /// True if to do what is queued may take long, or may have to wait for another transaction.
    #[must_use]
    pub fn will_take_long(&self) -> bool {
        let takes_long = |queue: &Queue| queue.is_slow || queue.ends.len() > MANY;
        !self.watched.is_empty() || self.queue.as_ref().is_some_and(takes_long)
    }

    /// `EXEC` will do nothing. What is queued is given back.
    pub fn spoil(&mut self) {
        if let Some(queue) = &mut self.queue {
            *queue = Queue {
                spoiled: true,
                ..Queue::default()
            };
        }
    }

    /// Charges for `bytes` more.
    fn charge(&mut self, bytes: usize) -> Result<(), Reply> {
        let charged = self.server.store.keyspace.charge(bytes);
        let refused = |_| Reply::error("OOM command not allowed when used memory > 'maxmemory'.");
        charged.map_err(refused)?;
        self.charged += bytes;
        Ok(())
    }

    fn push(&mut self, command: &'static Command, args: Args<'_>) -> Result<(), Reply> {
        let config = &self.server.config;
        let (most_commands, most_bytes) = (config.max_arguments.get(), config.max_request_size);
        let words: usize = args.iter().map(|word| word.len() + PER_WORD).sum();
        let bytes = words + PER_COMMAND;
        let queued = self.queue.as_ref().map_or(0, |queue| {
            queue.bytes.len() + PER_WORD * queue.ends.len() + PER_COMMAND * queue.commands.len()
        });
        if queued + bytes > most_bytes {
            let error = format!(
                "ERR the queued commands would take {} bytes, and {most_bytes} are allowed: \
                 --max-request-size",
                queued + bytes
            );
            return Err(Reply::Error(error.into()));
        }
        if self.commands().unwrap_or(0) >= most_commands {
            let error = format!(
                "ERR {most_commands} commands are queued, and no more are allowed: --max-arguments"
            );
            return Err(Reply::Error(error.into()));
        }
        self.charge(bytes)?;
        if let Some(queue) = &mut self.queue {
            queue.reserve(args).map_err(|_| NO_MEMORY)?;
            for word in args {
                queue.bytes.extend_from_slice(word);
                queue.ends.push(queue.bytes.len());
            }
            queue.is_slow |= command.is_slow();
            let words = args.len();
            queue.commands.push(Queued { command, words });
        }
        Ok(())
    }
}

impl Queue {
    /// Makes room for a command of these words.
    fn reserve(&mut self, args: Args<'_>) -> Result<(), TryReserveError> {
        let bytes = args.iter().map(|word| word.len()).sum();
        self.bytes.try_reserve(bytes)?;
        self.ends.try_reserve(args.len())?;
        self.commands.try_reserve(1)
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let keyspace = &self.server.store.keyspace;
        keyspace.release(self.charged);
        for watched in self.watched.drain(..) {
            keyspace.unwatch(watched);
        }
    }
}

/// Refuses a command, and with it the transaction.
pub(super) fn refuse(session: &mut Session) -> Reply {
    session.spoil_transaction();
    Reply::error("ERR Command not allowed inside a transaction")
}

/// Queues a command.
pub(super) fn queue(session: &mut Session, command: &'static Command, args: Args<'_>) -> Reply {
    let Some(transaction) = &mut session.transaction else {
        return Reply::error("ERR EXEC without MULTI");
    };
    let spoiled = transaction.queue.as_ref().is_some_and(|it| it.spoiled);
    match spoiled {
        // It will not be done, so it is not kept.
        true => QUEUED,
        false => match transaction.push(command, args) {
            Ok(()) => QUEUED,
            Err(refusal) => {
                transaction.spoil();
                refusal
            }
        },
    }
}

/// `MULTI`
pub(super) fn multi(server: &Arc<Server>, session: &mut Session, _: Args<'_>) -> Reply {
    if session.is_queueing() {
        return Reply::error("ERR MULTI calls can not be nested");
    }
    let transaction = session
        .transaction
        .get_or_insert_with(|| Box::new(Transaction::new(server)));
    transaction.queue = Some(Queue::default());
    Reply::OK
}

/// `DISCARD`
pub(super) fn discard(_: &Arc<Server>, session: &mut Session, _: Args<'_>) -> Reply {
    if !session.is_queueing() {
        return Reply::error("ERR DISCARD without MULTI");
    }
    session.transaction = None;
    Reply::OK
}

/// `WATCH key [key]...`
pub(super) fn watch(server: &Arc<Server>, session: &mut Session, args: Args<'_>) -> Reply {
    if session.is_queueing() {
        return Reply::error("ERR WATCH inside MULTI is not allowed");
    }
    let transaction = session
        .transaction
        .get_or_insert_with(|| Box::new(Transaction::new(server)));
    let keyspace = &server.store.keyspace;
    for key in &args[1..] {
        if transaction.watched.len() >= WATCHED {
            let error = format!("ERR {WATCHED} keys are watched, and no more are allowed");
            return Reply::Error(error.into());
        }
        if let Err(refusal) = transaction.charge(key.len() + size_of::<Watched>()) {
            return refusal;
        }
        transaction.watched.push(keyspace.watch(key));
    }
    Reply::OK
}

/// `UNWATCH`
pub(super) fn unwatch(_: &Arc<Server>, session: &mut Session, _: Args<'_>) -> Reply {
    // In a transaction it comes with `EXEC`, which has ended the watching.
    session.transaction = None;
    Reply::OK
}

/// `EXEC`
pub(super) fn exec(server: &Arc<Server>, session: &mut Session, _: Args<'_>) -> Reply {
    if !session.is_queueing() {
        return Reply::error("ERR EXEC without MULTI");
    }
    // Given back at the end, however it comes.
    let Some(mut transaction) = session.transaction.take() else {
        return Reply::error("ERR EXEC without MULTI");
    };
    let queue = transaction.queue.take().unwrap_or_default();
    if queue.spoiled {
        return Reply::error("EXECABORT Transaction discarded because of previous errors.");
    }
    let keyspace = &server.store.keyspace;
    // Of two clients that watch a key the second one sees what the first one does.
    let _turn = match transaction.watched.is_empty() {
        true => None,
        false => Some(keyspace.take_turn()),
    };
    let changed = |watched: &Watched| !keyspace.is_as_it_was(watched);
    if transaction.watched.iter().any(changed) {
        return Reply::NullArray;
    }
    // Before anything is done.
    let mut args: SmallVec<[&[u8]; 8]> = SmallVec::new();
    let longest = queue.commands.iter().map(|queued| queued.words).max();
    if args.try_reserve_exact(longest.unwrap_or(0)).is_err() {
        return Reply::NO_MEMORY;
    }
    let mut replies = match try_with_capacity(queue.commands.len()) {
        Ok(replies) => replies,
        Err(refusal) => return refusal,
    };
    let most_bytes = server.tunable.max_output();
    let (mut bytes, mut word, mut start) = (0, 0, 0);
    for &Queued { command, words } in &queue.commands {
        args.clear();
        for &end in &queue.ends[word..word + words] {
            args.push(&queue.bytes[start..end]);
            start = end;
        }
        word += words;
        let since = Instant::now();
        let reply = command.run(server, session, &args);
        let time = since.elapsed();
        let errors = u64::from(reply.is_error());
        server.stats.count(command.index(), 1, errors, time);
        server.slow_log.note(session, command, &args, time);
        bytes += reply.bytes();
        // What the client could not be sent is not kept, but all commands are done.
        match bytes <= most_bytes {
            true => replies.push(reply),
            false => replies.clear(),
        }
    }
    if bytes > most_bytes {
        server.stats.output_limit_reached();
        session.after = After::Close;
        return Reply::Silence;
    }
    Reply::Array(replies)
}
