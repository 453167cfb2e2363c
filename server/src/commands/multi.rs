//! `MULTI` and related commands: commands that are queued and run together.
//!
//! They run in order. Commands of other clients can run in between: transactions are not isolated.
//! `WATCH` detects whether a key has changed before.

use super::replication::READ_ONLY;
use crate::{
    keyspace::Watched,
    server::Server,
    session::{After, Queued, Runnable, Session, Transaction},
};
use guira_commands::{Args, Reply, try_with_capacity};
use smallvec::SmallVec;
use std::{sync::Arc, time::Instant};

/// The reply to a command that `EXEC` will run.
pub const QUEUED: Reply = Reply::Status("QUEUED");

/// Refuses a command, and the transaction with it.
pub(super) fn refuse(session: &mut Session) -> Reply {
    session.spoil_transaction();
    Reply::error("ERR Command not allowed inside a transaction")
}

/// Queues a command.
pub(super) fn queue(session: &mut Session, runnable: &'static Runnable, args: Args<'_>) -> Reply {
    let Some(transaction) = &mut session.transaction else {
        return Reply::error("ERR EXEC without MULTI");
    };
    let spoiled = transaction.queue.as_ref().is_some_and(|it| it.spoiled);
    match spoiled {
        // The command will not run, so it is not kept.
        true => QUEUED,
        false => match transaction.push(runnable, args) {
            Ok(()) => QUEUED,
            Err(refusal) => refusal,
        },
    }
}

/// `MULTI`
pub(super) fn multi(server: &Arc<Server>, session: &mut Session, _: Args<'_>) -> Reply {
    if session.is_queueing() {
        return Reply::error("ERR MULTI calls can not be nested");
    }
    transaction_of(server, session).begin();
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
    match transaction_of(server, session).watch(&args[1..]) {
        Ok(()) => Reply::OK,
        Err(refusal) => refusal,
    }
}

fn transaction_of<'a>(server: &Arc<Server>, session: &'a mut Session) -> &'a mut Transaction {
    let Session {
        client,
        transaction,
        ..
    } = session;
    transaction.get_or_insert_with(|| Box::new(Transaction::new(server, client)))
}

/// `UNWATCH`
pub(super) fn unwatch(_: &Arc<Server>, session: &mut Session, _: Args<'_>) -> Reply {
    // In a transaction, `UNWATCH` runs during `EXEC`, which has ended the watching.
    session.transaction = None;
    Reply::OK
}

/// `EXEC`
pub(super) fn exec(server: &Arc<Server>, session: &mut Session, _: Args<'_>) -> Reply {
    if !session.is_queueing() {
        return Reply::error("ERR EXEC without MULTI");
    }
    // The transaction ends in any case.
    let Some(mut transaction) = session.transaction.take() else {
        return Reply::error("ERR EXEC without MULTI");
    };
    let queue = transaction.queue.take().unwrap_or_default();
    if queue.spoiled {
        return Reply::error("EXECABORT Transaction discarded because of previous errors.");
    }
    let keyspace = &server.store.keyspace;
    // If two clients watch a key, the second one observes the changes of the first.
    let _turn = match transaction.watched.is_empty() {
        true => None,
        false => Some(keyspace.take_turn()),
    };
    let changed = |watched: &Watched| !keyspace.is_as_it_was(watched);
    if transaction.watched.iter().any(changed) {
        return Reply::NullArray;
    }
    // Allocates before any command runs.
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
    for &Queued { runnable, words } in &queue.commands {
        args.clear();
        for &end in &queue.ends[word..word + words] {
            args.push(&queue.bytes[start..end]);
            start = end;
        }
        word += words;
        let since = Instant::now();
        // The server may have become a standby since.
        let reply = match server.refuses(runnable.command) {
            true => READ_ONLY,
            false => runnable.run(server, session, &args),
        };
        let time = since.elapsed();
        let errors = u64::from(reply.is_error());
        server
            .stats
            .count(runnable.command.index(), 1, errors, time);
        server
            .slow_log
            .note(&session.client, runnable.command, &args, time);
        bytes += reply.bytes();
        // Replies that exceed the client's limit are dropped, but all commands run.
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
