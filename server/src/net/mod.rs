//! The sockets.

mod connection;
mod group;
mod held;
mod listen;
mod stream;
mod tls;

use crate::{limited::Limited, server::Server, session::Session};
use connection::Connection;
use listen::Incoming;
pub use listen::{ListenError, Listener};
use std::{sync::Arc, time::Duration};
pub use tls::{Tls, TlsError};
use tokio::{sync::watch, task::JoinSet, time::timeout};
use tracing::{debug, warn};

/// How long clients have to read their last replies when the server ends.
const LAST_REPLIES: Duration = Duration::from_secs(2);

/// Pause after an error of `accept`: most likely there are no file descriptors.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What clients can make the log say.
static NOT_ACCEPTED: Limited = Limited::new();

/// Says to all connections that the server ends, and lets any of them say so.
#[derive(Clone, Debug)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Default for Stop {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl Stop {
    /// Ends the server.
    pub fn now(&self) {
        self.0.send_replace(true);
    }

    /// Waits until the server ends.
    pub async fn wait(&self) {
        // The sender is alive as long as `self` is.
        let _ = self.0.subscribe().wait_for(|&stopped| stopped).await;
    }
}

/// Serves clients until `stop` says so and all that is in flight is done.
pub async fn serve(listeners: Vec<Listener>, server: Arc<Server>, stop: Stop) {
    let mut all = JoinSet::new();
    for listener in listeners {
        all.spawn(serve_from(listener, server.clone(), stop.clone()));
    }
    all.join_all().await;
}

/// Serves those clients that come from `listener`.
async fn serve_from(listener: Listener, server: Arc<Server>, stop: Stop) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
            () = stop.wait() => break,
        };
        match accepted {
            Ok(client) => match server.stats.admit(server.config.maxclients.get()) {
                Some(id) => {
                    let authenticated = server.config.password().is_none();
                    let session = Session::new(id, client.address.clone(), authenticated);
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

/// Counts the client out however its task ends.
struct Present(Arc<Server>);

impl Drop for Present {
    fn drop(&mut self) {
        self.0.stats.gone();
    }
}

async fn serve_client(client: Incoming, server: Arc<Server>, session: Session, stop: Stop) {
    let present = Present(server.clone());
    let (id, address) = (session.id, session.address.clone());
    debug!(id, address, "a client came");
    let stream = tokio::select! {
        stream = client.open() => stream,
        () = stop.wait() => return,
    };
    let result = match stream {
        Ok(stream) => Connection::new(stream, server, session).run(&stop).await,
        Err(error) => Err(error),
    };
    drop(present);
    match result {
        Ok(()) => debug!(id, "a client has gone"),
        Err(error) => debug!(id, %error, "a client was lost"),
    }
}

/// One client too many.
fn refuse(client: Incoming) {
    if let Err(error) = client.refuse(b"-ERR max number of clients reached\r\n") {
        debug!(%error, "a client was refused silently");
    }
}
