//! Commands on the server: saves, its role, the time, and shutdown.

use super::{Args, Reply};
use crate::{
    persist::SaveError,
    server::Server,
    session::{After, Session},
};
use guira_commands::number;
use std::{
    sync::{Arc, atomic::Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

/// `SAVE`
pub(super) fn save(server: &Arc<Server>, _: &mut Session, args: Args<'_>) -> Reply {
    if args.len() > 1 {
        return Reply::wrong_arity(b"save");
    }
    match server.saver.save(&server.store.keyspace) {
        Ok(()) => Reply::OK,
        Err(error) => refusal(&error),
    }
}

/// `BGSAVE [SCHEDULE]`
pub(super) fn background_save(server: &Arc<Server>, _: &mut Session, _: Args<'_>) -> Reply {
    match server.save_in_background() {
        Ok(()) => Reply::Status("Background saving started"),
        Err(error) => refusal(&error),
    }
}

fn refusal(error: &SaveError) -> Reply {
    Reply::Error(format!("ERR {error}").into())
}

/// `LASTSAVE`
pub(super) fn last_save(server: &Arc<Server>, _: &mut Session, _: Args<'_>) -> Reply {
    Reply::Integer(server.saver.status().last_completed)
}

/// `SHUTDOWN [SAVE|NOSAVE]`
pub(super) fn shutdown(server: &Arc<Server>, session: &mut Session, args: Args<'_>) -> Reply {
    let saved = match args {
        [_] => server.last_save(),
        [_, word] if word.eq_ignore_ascii_case(b"NOSAVE") => {
            server.skip_last_save.store(true, Ordering::Relaxed);
            Ok(())
        }
        [_, word] if word.eq_ignore_ascii_case(b"SAVE") => {
            let saved = server.saver.save_last(&server.store.keyspace);
            server
                .save_at_end
                .fetch_or(saved.is_ok(), Ordering::Relaxed);
            saved
        }
        _ => return Reply::error("ERR syntax error"),
    };
    // If the save fails, the server keeps running, and no data is lost. If it succeeds, the server
    // saves once more when all clients have disconnected, with their last changes.
    if let Err(error) = saved {
        return refusal(&error);
    }
    session.after = After::Shutdown;
    Reply::Silence
}

/// `TIME`
pub(super) fn time(_: &Arc<Server>, _: &mut Session, _: Args<'_>) -> Reply {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Reply::Array(vec![
        Reply::bulk(now.as_secs().to_string()),
        Reply::bulk(now.subsec_micros().to_string()),
    ])
}

/// `WAIT replicas timeout`
pub(super) fn wait(_: &Arc<Server>, _: &mut Session, args: Args<'_>) -> Reply {
    let &[_, replicas, timeout] = args else {
        return Reply::wrong_arity(args[0]);
    };
    if number::<i64>(replicas).is_none() {
        return Reply::error("ERR value is not an integer or out of range");
    }
    match number::<i64>(timeout) {
        Some(0..) => Reply::Integer(0),
        Some(_) => Reply::error("ERR timeout is negative"),
        None => Reply::error("ERR timeout is not an integer or out of range"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Config, persist::Saver};
    use clap::Parser;

    /// A server that does not save at exit receives `SHUTDOWN`.
    fn told(words: &[&[u8]]) -> (Arc<Server>, tempfile::TempDir) {
        let directory = tempfile::TempDir::new().unwrap();
        let config = Config::parse_from(["", "--save-on-exit", "false"]);
        let saver = Saver::open(Some(directory.path())).unwrap();
        let server = Arc::new(Server::new(config, saver));
        let mut session = Session::new(1, String::new(), true);
        for word in words {
            assert_eq!(
                shutdown(&server, &mut session, &[b"SHUTDOWN", word]),
                Reply::Silence
            );
        }
        (server, directory)
    }

    /// Changes that other clients make until they are disconnected are saved, too.
    #[test]
    fn shutdown_save_is_kept_to_at_the_end() {
        for (words, saves) in [
            (&[&b"SAVE"[..]][..], 2),
            (&[b"NOSAVE"], 0),
            (&[b"SAVE", b"NOSAVE"], 1),
            (&[b"NOSAVE", b"SAVE"], 1),
        ] {
            let (server, _directory) = told(words);
            server.last_save().unwrap();
            assert_eq!(server.saver.status().completed, saves);
        }
    }
}
