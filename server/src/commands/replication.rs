//! The commands of primaries and standbys.

use super::{Args, Reply};
use crate::{command::Command, server::Server, session::Session, snapshots::PIECE};
use guira_commands::number;
use std::sync::Arc;
use tracing::warn;

/// The reply to a write on a standby.
pub(super) const READ_ONLY: Reply =
    Reply::error("READONLY You can't write against a read only replica.");

/// `REPLICAOF NO ONE | host port`
pub(super) fn replica_of(server: &Arc<Server>, _: &mut Session, args: Args<'_>) -> Reply {
    let &[_, host, port] = args else {
        return Reply::wrong_arity(args[0]);
    };
    if host.eq_ignore_ascii_case(b"NO") && port.eq_ignore_ascii_case(b"ONE") {
        server.standby.promote();
        return Reply::OK;
    }
    match server.standby.follow_again(host, port) {
        true => Reply::OK,
        false => Reply::error(
            "ERR REPLICAOF takes NO ONE, or the host and port of --replica-of: restart the server \
             with another --replica-of to change its primary",
        ),
    }
}

/// `ROLE`
pub(super) fn role(server: &Arc<Server>, _: &mut Session, _: Args<'_>) -> Reply {
    let Some(primary) = server.standby.primary() else {
        return Reply::Array(vec![
            Reply::bulk("master"),
            Reply::Integer(0),
            Reply::Array(Vec::new()),
        ]);
    };
    let status = server.standby.status();
    let state = match (status.is_copying, status.is_up) {
        (true, _) => "sync",
        (false, true) => "connected",
        (false, false) => "connect",
    };
    Reply::Array(vec![
        Reply::bulk("slave"),
        Reply::bulk(&primary.host),
        Reply::Integer(primary.port.into()),
        Reply::bulk(state),
        Reply::Integer(0),
    ])
}

/// `SNAPSHOT BEGIN | READ offset`
pub(super) fn snapshot(server: &Arc<Server>, session: &mut Session, args: Args<'_>) -> Reply {
    match args {
        [_, word] if word.eq_ignore_ascii_case(b"BEGIN") => begin(server, session),
        [_, word, offset] if word.eq_ignore_ascii_case(b"READ") => read(server, session, offset),
        [_] => Reply::wrong_arity(b"snapshot"),
        _ => Command::help("SNAPSHOT"),
    }
}

fn begin(server: &Server, session: &mut Session) -> Reply {
    // Drops the client's previous snapshot to make room.
    session.snapshot = None;
    match server.snapshots.begin(&server.store.keyspace) {
        Ok(snapshot) => {
            let length = i64::try_from(snapshot.length()).unwrap_or(i64::MAX);
            let age = i64::try_from(snapshot.age().as_millis()).unwrap_or(i64::MAX);
            session.snapshot = Some(snapshot);
            Reply::Integers(vec![length, age])
        }
        Err(error) => refusal(&error),
    }
}

fn read(server: &Server, session: &mut Session, offset: &[u8]) -> Reply {
    let Some(offset) = number::<u64>(offset) else {
        return Reply::error("ERR value is not an integer or out of range");
    };
    let Some(snapshot) = &session.snapshot else {
        return Reply::error("ERR there is no snapshot: send SNAPSHOT BEGIN");
    };
    // A piece and one more reply stay below the client's limit for replies.
    let most = PIECE.min(server.tunable.max_output() as u64 / 2);
    match snapshot.piece(offset, most) {
        Ok(piece) => Reply::Bulk(piece),
        Err(error) => {
            session.snapshot = None;
            refusal(&error)
        }
    }
}

fn refusal(error: &crate::snapshots::SnapshotError) -> Reply {
    warn!(%error, "a standby gets no snapshot");
    Reply::Error(error.to_string().into())
}
