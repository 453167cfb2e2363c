//! `CLIENT`: the connections and their clients.

use super::{Args, Reply};
use crate::{
    clients::Client,
    command::Command,
    server::Server,
    session::{After, NameError, Session, USER, is_name},
};
use guira_commands::number;
use std::{sync::Arc, time::Duration};

/// The maximum number of identifiers in `CLIENT LIST ID`.
const LISTED: usize = 65_536;

/// `CLIENT ID | GETNAME | SETNAME name | SETINFO attribute value | INFO | LIST [TYPE type]
/// [ID id...] | KILL address | KILL filter value... | NO-EVICT | NO-TOUCH | REPLY ON`
pub(super) fn client(server: &Arc<Server>, session: &mut Session, args: Args<'_>) -> Reply {
    let [_, word, rest @ ..] = args else {
        return Reply::wrong_arity(b"client");
    };
    match (word.to_ascii_uppercase().as_slice(), rest) {
        (b"ID", []) => Reply::Integer(session.id as i64),
        (b"GETNAME", []) => match session.client.names().name.as_slice() {
            [] => Reply::Null,
            name => Reply::bulk(name),
        },
        (b"SETNAME", [name]) => session.set_name(name).map_or_else(refusal, |()| Reply::OK),
        (b"SETINFO", [attribute, value]) => set_info(session, attribute, value),
        (b"INFO", []) => Reply::Text(describe(&session.client)),
        (b"LIST", filters) => list(server, filters),
        (b"KILL", [address]) => kill_address(server, session, address),
        (b"KILL", [_, _, ..]) => kill(server, session, rest),
        (b"NO-EVICT" | b"NO-TOUCH", [mode]) => match mode.to_ascii_uppercase().as_slice() {
            b"ON" | b"OFF" => Reply::OK,
            _ => Reply::error("ERR syntax error"),
        },
        (b"REPLY", [mode]) if mode.eq_ignore_ascii_case(b"ON") => Reply::OK,
        (b"HELP", _) => Command::help("CLIENT"),
        _ => Reply::error("ERR syntax error"),
    }
}

/// The reply to an invalid name.
pub(super) fn refusal(error: NameError) -> Reply {
    Reply::Error(format!("ERR {error}").into())
}

fn set_info(session: &Session, attribute: &[u8], value: &[u8]) -> Reply {
    if !is_name(value) {
        let attribute = String::from_utf8_lossy(attribute).to_lowercase();
        return Reply::Error(
            format!("ERR {attribute} cannot contain spaces, newlines or special characters.")
                .into(),
        );
    }
    let mut names = session.client.names();
    match attribute.to_ascii_uppercase().as_slice() {
        b"LIB-NAME" => names.library = value.to_vec(),
        b"LIB-VER" => names.library_version = value.to_vec(),
        _ => {
            let attribute = String::from_utf8_lossy(attribute);
            return Reply::Error(format!("ERR Unrecognized option '{attribute}'").into());
        }
    }
    Reply::OK
}

fn describe(client: &Client) -> String {
    let names = client.names().clone();
    let text = String::from_utf8_lossy;
    let command = client.last_command();
    let (transaction, unread) = (client.transaction(), client.unread.bytes());
    format!(
        "id={} addr={} laddr={} fd={} name={} age={} idle={} flags={} db=0 sub=0 psub=0 ssub=0 \
         multi={} watch={} qbuf=0 qbuf-free=0 argv-mem=0 multi-mem={} rbs=0 rbp=0 obl=0 oll={} \
         omem={unread} tot-mem={} events=r cmd={} user=default redir=-1 resp={} lib-name={} \
         lib-ver={}\n",
        client.id,
        client.address,
        client.local_address.get().map_or("", |address| address),
        client.socket.get().copied().unwrap_or(-1),
        text(&names.name),
        client.age().as_secs(),
        client.idle().as_secs(),
        if transaction.queued.is_some() {
            "x"
        } else {
            "N"
        },
        transaction.queued.map_or(-1, |queued| queued as i64),
        transaction.watched,
        transaction.bytes,
        u8::from(unread > 0),
        unread + transaction.bytes,
        command.map_or_else(|| "NULL".into(), |command| command.name.to_lowercase()),
        client.protocol().number(),
        text(&names.library),
        text(&names.library_version),
    )
}

fn list(server: &Server, filters: Args<'_>) -> Reply {
    let wanted: Box<dyn Fn(&Client) -> bool> = match filters {
        [] => Box::new(|_| true),
        [word, kind] if word.eq_ignore_ascii_case(b"TYPE") => match is_normal(kind) {
            Ok(normal) => Box::new(move |_| normal),
            Err(refusal) => return refusal,
        },
        [word, ids @ ..] if word.eq_ignore_ascii_case(b"ID") && !ids.is_empty() => {
            if ids.len() > LISTED {
                let error = format!("ERR {} client IDs, and {LISTED} are allowed", ids.len());
                return Reply::Error(error.into());
            }
            let mut numbers = Vec::with_capacity(ids.len());
            for id in ids {
                match number::<u64>(id) {
                    Some(number) => numbers.push(number),
                    None => return Reply::error("ERR Invalid client ID"),
                }
            }
            numbers.sort_unstable();
            Box::new(move |client| numbers.binary_search(&client.id).is_ok())
        }
        _ => return Reply::error("ERR syntax error"),
    };
    let all = server.clients.all();
    let lines = all.iter().filter(|client| wanted(client));
    Reply::Text(lines.map(|client| describe(client)).collect())
}

/// Returns whether clients of this type are normal clients. There are no others.
fn is_normal(kind: &[u8]) -> Result<bool, Reply> {
    match kind.to_ascii_lowercase().as_slice() {
        b"normal" => Ok(true),
        b"master" | b"primary" | b"replica" | b"slave" | b"pubsub" => Ok(false),
        _ => {
            let kind = String::from_utf8_lossy(kind);
            Err(Reply::Error(
                format!("ERR Unknown client type '{kind}'").into(),
            ))
        }
    }
}

/// `CLIENT KILL address`
fn kill_address(server: &Server, session: &mut Session, address: &[u8]) -> Reply {
    let all = server.clients.all();
    let Some(client) = all.iter().find(|it| it.address.as_bytes() == address) else {
        return Reply::error("ERR No such client");
    };
    end(session, client);
    Reply::OK
}

/// The filters of `CLIENT KILL`: a client is killed if it matches all of them.
#[derive(Default)]
struct Filters<'a> {
    id: Option<u64>,
    address: Option<&'a [u8]>,
    local_address: Option<&'a [u8]>,
    older: Option<Duration>,
    /// True if no client has the requested type.
    none: bool,
    itself: bool,
}

impl<'a> Filters<'a> {
    fn parse(words: Args<'a>) -> Result<Self, Reply> {
        let (pairs, []) = words.as_chunks::<2>() else {
            return Err(Reply::error("ERR syntax error"));
        };
        let mut it = Self::default();
        for &[name, value] in pairs {
            match name.to_ascii_uppercase().as_slice() {
                b"ID" => match number::<u64>(value) {
                    Some(id @ 1..) => it.id = Some(id),
                    _ => return Err(Reply::error("ERR client-id should be greater than 0")),
                },
                b"ADDR" => it.address = Some(value),
                b"LADDR" => it.local_address = Some(value),
                b"TYPE" => it.none |= !is_normal(value)?,
                b"USER" if value == USER => {}
                b"USER" => {
                    let user = String::from_utf8_lossy(value);
                    return Err(Reply::Error(format!("ERR No such user '{user}'").into()));
                }
                b"MAXAGE" => match number::<u64>(value) {
                    Some(seconds @ 1..) => it.older = Some(Duration::from_secs(seconds)),
                    _ => return Err(Reply::error("ERR maxage is not an integer or out of range")),
                },
                b"SKIPME" => match value.to_ascii_lowercase().as_slice() {
                    b"yes" => it.itself = false,
                    b"no" => it.itself = true,
                    _ => return Err(Reply::error("ERR syntax error")),
                },
                _ => return Err(Reply::error("ERR syntax error")),
            }
        }
        Ok(it)
    }

    fn fit(&self, client: &Client, session: &Session) -> bool {
        let local = client.local_address.get().map_or("", |address| address);
        !self.none
            && self.id.is_none_or(|id| id == client.id)
            && self
                .address
                .is_none_or(|it| it == client.address.as_bytes())
            && self.local_address.is_none_or(|it| it == local.as_bytes())
            && self.older.is_none_or(|age| client.age() >= age)
            && (self.itself || client.id != session.id)
    }
}

/// `CLIENT KILL filter value...`: returns the number of killed clients.
fn kill(server: &Server, session: &mut Session, words: Args<'_>) -> Reply {
    let filters = match Filters::parse(words) {
        Ok(filters) => filters,
        Err(refusal) => return refusal,
    };
    let mut all = server.clients.all();
    all.retain(|client| filters.fit(client, session));
    for client in &all {
        end(session, client);
    }
    Reply::count(all.len())
}

/// Ends the connection of `client`; its own connection ends after the reply.
fn end(session: &mut Session, client: &Client) {
    match client.id == session.id {
        true => session.after = After::Close,
        false => client.kill(),
    }
}
