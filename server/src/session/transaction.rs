//! The watched keys and queued commands of a client.

use super::Runnable;
use crate::{
    clients::{Client, TransactionSeen},
    command::MANY,
    keyspace::Watched,
    server::Server,
};
use guira_commands::{Args, Reply};
use std::{collections::TryReserveError, sync::Arc};

/// The overheads of a queued command and of each of its words, in bytes.
const PER_COMMAND: usize = 16;
const PER_WORD: usize = 8;

/// The maximum number of keys that a client can watch.
const WATCHED: usize = 65_536;

/// The reply if there is no memory to queue a command.
const NO_MEMORY: Reply = Reply::error("OOM there is no memory for the queued command");

/// The watched keys and queued commands of a client. Their memory is charged.
#[derive(Debug)]
pub struct Transaction {
    server: Arc<Server>,
    client: Arc<Client>,
    pub(crate) watched: Vec<Watched>,
    pub(crate) queue: Option<Queue>,
    charged: usize,
}

/// The commands that wait for `EXEC`.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) commands: Vec<Queued>,
    /// The bytes of all words, and the end of each word.
    pub(crate) bytes: Vec<u8>,
    pub(crate) ends: Vec<usize>,
    /// Whether one of the commands may take long.
    is_slow: bool,
    /// Whether a command was refused, so that none will run.
    pub(crate) spoiled: bool,
}

#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) runnable: &'static Runnable,
    pub(crate) words: usize,
}

impl Transaction {
    pub(crate) fn new(server: &Arc<Server>, client: &Arc<Client>) -> Self {
        Self {
            server: server.clone(),
            client: client.clone(),
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

    /// The number of queued commands, or `None` outside a transaction.
    #[must_use]
    pub fn commands(&self) -> Option<usize> {
        self.queue.as_ref().map(|queue| queue.commands.len())
    }

    /// The number of watched keys.
    #[must_use]
    pub fn watched(&self) -> usize {
        self.watched.len()
    }

    /// True if `EXEC` may take long, or may have to wait for another transaction.
    #[must_use]
    pub fn will_take_long(&self) -> bool {
        let takes_long = |queue: &Queue| queue.is_slow || queue.ends.len() > MANY;
        !self.watched.is_empty() || self.queue.as_ref().is_some_and(takes_long)
    }

    /// Makes a change, and shows other clients what the transaction is like after it.
    fn change<R>(&mut self, change: impl FnOnce(&mut Self) -> R) -> R {
        let result = change(self);
        self.client.set_transaction(TransactionSeen {
            queued: self.commands(),
            watched: self.watched(),
            bytes: self.charged,
        });
        result
    }

    /// Queues commands from now on.
    pub(crate) fn begin(&mut self) {
        self.change(|it| it.queue = Some(Queue::default()));
    }

    /// Marks the transaction as aborted, and frees the queued commands.
    pub fn spoil(&mut self) {
        self.change(|it| {
            if let Some(queue) = &mut it.queue {
                *queue = Queue {
                    spoiled: true,
                    ..Queue::default()
                };
            }
        });
    }

    /// Watches keys. If one of them is refused, those before it are watched.
    pub(crate) fn watch(&mut self, keys: &[&[u8]]) -> Result<(), Reply> {
        self.change(|it| keys.iter().try_for_each(|key| it.watch_key(key)))
    }

    fn watch_key(&mut self, key: &[u8]) -> Result<(), Reply> {
        if self.watched.len() >= WATCHED {
            let error = format!("ERR {WATCHED} keys are watched, and no more are allowed");
            return Err(Reply::Error(error.into()));
        }
        self.charge(key.len() + size_of::<Watched>())?;
        let watched = self.server.store.keyspace.watch(key);
        self.watched.push(watched);
        Ok(())
    }

    /// Charges `bytes` more.
    fn charge(&mut self, bytes: usize) -> Result<(), Reply> {
        let charged = self.server.store.keyspace.charge(bytes);
        charged.map_err(|_| Reply::OUT_OF_MEMORY)?;
        self.charged += bytes;
        Ok(())
    }

    /// Queues a command. If there is no room for it, the transaction is aborted.
    pub(crate) fn push(
        &mut self,
        runnable: &'static Runnable,
        args: Args<'_>,
    ) -> Result<(), Reply> {
        let queued = self.change(|it| it.try_push(runnable, args));
        if queued.is_err() {
            self.spoil();
        }
        queued
    }

    fn try_push(&mut self, runnable: &'static Runnable, args: Args<'_>) -> Result<(), Reply> {
        let config = &self.server.config;
        let (most_commands, most_bytes) = (config.max_arguments.get(), config.max_request_size);
        let words: usize = args.iter().map(|word| word.len() + PER_WORD).sum();
        let bytes = words + PER_COMMAND;
        let queued = self.queue.as_ref().map_or(0, |queue| {
            queue.bytes.len() + PER_WORD * queue.ends.len() + PER_COMMAND * queue.commands.len()
        });
        if queued + bytes > most_bytes {
            let error = format!(
                "ERR the queued commands would take {} bytes, but at most {most_bytes} are allowed: \
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
            queue.is_slow |= runnable.command.is_slow();
            let words = args.len();
            queue.commands.push(Queued { runnable, words });
        }
        Ok(())
    }
}

impl Queue {
    /// Reserves room for a command with these words.
    fn reserve(&mut self, args: Args<'_>) -> Result<(), TryReserveError> {
        let bytes = args.iter().map(|word| word.len()).sum();
        self.bytes.try_reserve(bytes)?;
        self.ends.try_reserve(args.len())?;
        self.commands.try_reserve(1)
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.client.set_transaction(TransactionSeen::default());
        let keyspace = &self.server.store.keyspace;
        keyspace.release(self.charged);
        for watched in self.watched.drain(..) {
            keyspace.unwatch(watched);
        }
    }
}
