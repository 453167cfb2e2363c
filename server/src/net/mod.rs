//! Accepts clients and serves their connections.

mod connection;
mod group;
mod held;
mod listen;
mod stream;
mod tls;

use crate::{clients::Client, limited::Limited, server::Server, session::Session};
use connection::Connection;
use listen::Incoming;
pub use listen::{ListenError, Listener};
use std::{sync::Arc, time::Duration};
pub use tls::Tls;
use tokio::{sync::watch, task::JoinSet, time::timeout};
use tracing::{debug, warn};

/// How long clients have to read their last replies when the server stops.
const LAST_REPLIES: Duration = Duration::from_secs(2);

/// The pause after an error of `accept`, which usually means that there are no file descriptors.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Limits the log lines that clients can provoke.
static NOT_ACCEPTED: Limited = Limited::new();
static MADE_ROOM: Limited = Limited::new();

/// Tells all connections to stop. Any of them can stop the server.
#[derive(Clone, Debug)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Default for Stop {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl Stop {
    /// Stops the server.
    pub fn now(&self) {
        self.0.send_replace(true);
    }

    /// Waits until the server stops.
    pub async fn wait(&self) {
        // The sender is alive as long as `self` is.
        let _ = self.0.subscribe().wait_for(|&stopped| stopped).await;
    }
}

/// Serves clients until `stop` fires and all commands in flight have ended.
pub async fn serve(listeners: Vec<Listener>, server: Arc<Server>, stop: Stop) {
    let mut all = JoinSet::new();
    for listener in listeners {
        all.spawn(serve_from(listener, server.clone(), stop.clone()));
    }
    all.join_all().await;
}

/// Serves the clients that connect to `listener`.
async fn serve_from(listener: Listener, server: Arc<Server>, stop: Stop) {
    let mut connections = JoinSet::new();
    let stopped = stop.wait();
    tokio::pin!(stopped);
    loop {
        let accepted = tokio::select! {
            // `accept` does not wait while clients are queued; tokio's budget still gives other
            // tasks a turn.
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
            () = &mut stopped => break,
        };
        match accepted {
            Ok(client) => match admit(&client, &server) {
                Some(session) => {
                    let (server, stop) = (server.clone(), stop.clone());
                    connections.spawn(serve_client(client, server, session, stop));
                }
                None => refuse(client),
            },
            Err(error) => {
                NOT_ACCEPTED.write(|| warn!(%error, "a client was not accepted"));
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    if timeout(LAST_REPLIES, all).await.is_err() {
        warn!(
            clients = connections.len(),
            "some clients did not read their last replies"
        );
        connections.shutdown().await;
    }
}

/// Returns the session of a client that may connect, or `None` if there are too many clients.
///
/// If there are too many, the server disconnects the oldest client that has not authenticated,
/// because a client that means to authenticate does so at once. Silent connections therefore cannot
/// keep other clients out, however many there are.
fn admit(client: &Incoming, server: &Arc<Server>) -> Option<Session> {
    let make_room = || disconnect_oldest_unauthenticated(server);
    let id = server.stats.admit(server.tunable.maxclients(), make_room)?;
    let authenticated = server.config.password().is_none();
    let mut session = Session::new(id, client.address.clone(), authenticated);
    if !authenticated || client.is_tls() {
        while server.clients.unauthenticated() >= server.tunable.unauthenticated_clients() {
            if !make_room() {
                break;
            }
        }
        session.await_authentication(server);
    }
    Some(session)
}

fn disconnect_oldest_unauthenticated(server: &Server) -> bool {
    let Some(client) = server.clients.kill_oldest_unauthenticated() else {
        return false;
    };
    server.stats.unauthenticated_disconnected();
    let (id, address) = (client.id, &client.address);
    MADE_ROOM.write(|| {
        warn!(
            id,
            address, "a client that has not authenticated was disconnected to make room"
        );
    });
    // Its place is free now, and its task ends at its next turn.
    if client.leave() {
        server.stats.gone();
    }
    true
}

/// Counts the client out, however its task ends.
struct Present(Arc<Server>, Arc<Client>);

impl Drop for Present {
    fn drop(&mut self) {
        if self.1.leave() {
            self.0.stats.gone();
        }
    }
}

async fn serve_client(client: Incoming, server: Arc<Server>, mut session: Session, stop: Stop) {
    let present = Present(server.clone(), session.client.clone());
    let (id, address) = (session.id, session.address.clone());
    debug!(id, address, "a client came");
    let stream = match client.is_tls() {
        false => client.open().await,
        true => tokio::select! {
            stream = client.open() => stream,
            () = stop.wait() => return,
            () = present.1.killed() => return,
        },
    };
    if session.authenticated {
        // The handshake is complete.
        session.authenticate();
    }
    let result = match stream {
        Ok(stream) => Connection::new(stream, server, session).run(&stop).await,
        Err(error) => Err(error),
    };
    drop(present);
    match result {
        Ok(()) => debug!(id, "a client disconnected"),
        Err(error) => debug!(id, %error, "the connection to a client was lost"),
    }
}

/// Refuses a client when there are too many.
fn refuse(client: Incoming) {
    if let Err(error) = client.refuse(b"-ERR max number of clients reached\r\n") {
        debug!(%error, "a client was refused silently");
    }
}
