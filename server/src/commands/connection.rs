//! Commands that concern only the connection.

use super::{Args, Reply, clients, objects};
use crate::{
    limited::Limited,
    resp::Protocol,
    server::{REDIS_VERSION, Server},
    session::{After, Session, USER},
};
use guira_commands::number;
use std::sync::Arc;
use tracing::warn;

/// Limits the log entries that clients can cause.
static WRONG: Limited = Limited::new();

const WRONG_PASSWORD: Reply =
    Reply::error("WRONGPASS invalid username-password pair or user is disabled.");

/// `PING [message]`
pub(super) fn ping(_: &Arc<Server>, _: &mut Session, args: Args<'_>) -> Reply {
    match args {
        [_] => Reply::Status("PONG"),
        [_, message] => Reply::try_bulk(message),
        _ => Reply::wrong_arity(b"ping"),
    }
}

/// `ECHO message`
pub(super) fn echo(_: &Arc<Server>, _: &mut Session, args: Args<'_>) -> Reply {
    match args {
        [_, message] => Reply::try_bulk(message),
        _ => Reply::wrong_arity(b"echo"),
    }
}

/// `QUIT`
pub(super) fn quit(_: &Arc<Server>, session: &mut Session, _: Args<'_>) -> Reply {
    session.after = After::Close;
    Reply::OK
}

/// `RESET`
pub(super) fn reset(server: &Arc<Server>, session: &mut Session, _: Args<'_>) -> Reply {
    let authenticated = server.config.password().is_none();
    session.reset(authenticated);
    if !authenticated {
        session.await_authentication(server);
    }
    Reply::Status("RESET")
}

/// `SELECT index`
pub(super) fn select(_: &Arc<Server>, _: &mut Session, args: Args<'_>) -> Reply {
    match args {
        [_, index] => match number::<i64>(index) {
            Some(0) => Reply::OK,
            Some(_) => Reply::error("ERR DB index is out of range"),
            None => Reply::error("ERR value is not an integer or out of range"),
        },
        _ => Reply::wrong_arity(b"select"),
    }
}

/// The commands of clusters, which some tools send to each server.
pub(super) fn no_cluster(_: &Arc<Server>, _: &mut Session, _: Args<'_>) -> Reply {
    Reply::error("ERR This instance has cluster support disabled")
}

/// `AUTH [user] password`
pub(super) fn auth(server: &Arc<Server>, session: &mut Session, args: Args<'_>) -> Reply {
    let (user, password) = match args {
        [_, password] => (USER, password),
        [_, user, password] => (*user, password),
        _ => return Reply::wrong_arity(b"auth"),
    };
    if server.config.password().is_none() && args.len() == 2 {
        return Reply::error(
            "ERR AUTH <password> called without any password configured for the default user. \
             Are you sure your configuration is correct?",
        );
    }
    if let Err(refusal) = admit(server, session, user, password) {
        return refusal;
    }
    session.authenticate();
    Reply::OK
}

/// Compares a password, unless the client's address has failed too often: more attempts would allow
/// guessing.
fn admit(server: &Server, session: &Session, user: &[u8], password: &[u8]) -> Result<(), Reply> {
    let (id, address) = (session.id, &session.address);
    let guess = server.guesses.begin(address).map_err(|wait| {
        server.stats.refused_password();
        let seconds = wait.as_secs() + 1;
        let text =
            format!("ERR too many wrong passwords from this address: try again in {seconds} s");
        Reply::Error(text.into())
    })?;
    let known = user == USER;
    let right = match server.config.password() {
        Some(expected) => expected.is(password),
        None => true,
    };
    if !(known & right) {
        server.stats.refused_password();
        WRONG.write(|| warn!(id, address, "authentication failed"));
        return Err(WRONG_PASSWORD);
    }
    guess.was_right();
    Ok(())
}

/// `HELLO [version [AUTH user password] [SETNAME name]]`
pub(super) fn hello(server: &Arc<Server>, session: &mut Session, args: Args<'_>) -> Reply {
    let mut protocol = session.protocol;
    let mut rest = &args[1..];
    if let [version, after @ ..] = rest {
        protocol = match number::<i64>(version) {
            Some(2) => Protocol::Resp2,
            Some(3) => Protocol::Resp3,
            Some(_) => return Reply::error("NOPROTO unsupported protocol version"),
            None => {
                return Reply::error("ERR Protocol version is not an integer or out of range");
            }
        };
        rest = after;
    }
    let (mut authenticated, mut name) = (session.authenticated, None);
    loop {
        rest = match rest {
            [] => break,
            [word, user, password, after @ ..] if word.eq_ignore_ascii_case(b"AUTH") => {
                if let Err(refusal) = admit(server, session, user, password) {
                    return refusal;
                }
                authenticated = true;
                after
            }
            [word, given, after @ ..] if word.eq_ignore_ascii_case(b"SETNAME") => {
                name = Some(*given);
                after
            }
            [word, ..] => {
                let word = String::from_utf8_lossy(word);
                return Reply::Error(format!("ERR Syntax error in HELLO option '{word}'").into());
            }
        };
    }
    if !authenticated {
        return Reply::error(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the \
             HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and \
             select the RESP protocol version at the same time",
        );
    }
    if let Some(Err(error)) = name.map(|name| session.set_name(name)) {
        return clients::refusal(error);
    }
    session.authenticate();
    session.set_protocol(protocol);
    let text = |text: &str| Reply::bulk(text);
    Reply::Map(vec![
        (text("server"), text("guira")),
        (text("version"), text(REDIS_VERSION)),
        (text("proto"), Reply::Integer(protocol.number())),
        (text("id"), Reply::Integer(session.id as i64)),
        (text("mode"), text("standalone")),
        (text("role"), text("master")),
        (text("modules"), objects::modules()),
    ])
}
