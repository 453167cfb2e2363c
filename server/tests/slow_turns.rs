//! Requests that wait for the turn of a slow command count towards `--max-requests-memory`.

use crate::common::{Raw, request, until};
use clap::Parser;
use guira_server::{
    config::Config,
    net::{self, Listener, Stop},
    persist::Saver,
    resp::{Decoder, Limits},
    server::Server,
    slow::AT_A_TIME,
};
use std::{
    io::BufReader,
    net::TcpStream,
    sync::{Arc, Barrier},
};
use tokio::runtime::Runtime;

/// More words than fast commands have.
const ITEMS: usize = 5000;

/// One request fits, including the spare room of a buffer that is being filled. Two do not.
const ROOM: &str = "1160000";

/// A server in this process whose slow turns are all taken until `release`.
struct Busy {
    /// `None` during the drop.
    runtime: Option<Runtime>,
    server: Arc<Server>,
    released: Arc<Barrier>,
    port: u16,
    stop: Stop,
}

impl Busy {
    fn start(arguments: &[&str]) -> Self {
        let arguments = [&["guira-server", "--port", "0"], arguments].concat();
        let config = Config::parse_from(arguments);
        let saver = Saver::open(None).expect("nothing is opened");
        let server = Arc::new(Server::new(config, saver));
        let runtime = Runtime::new().expect("a runtime starts");
        let listeners = runtime.block_on(Listener::all(&server.config, None));
        let listeners = listeners.expect("there is a free port");
        let port = listeners.iter().find_map(Listener::port);
        let stop = Stop::default();
        let taken = Arc::new(Barrier::new(AT_A_TIME + 1));
        let released = Arc::new(Barrier::new(AT_A_TIME + 1));
        for _ in 0..AT_A_TIME {
            let (server, taken, released) = (server.clone(), taken.clone(), released.clone());
            runtime.spawn(async move {
                let work = move || {
                    taken.wait();
                    released.wait();
                };
                server.slow.run(work).await
            });
        }
        taken.wait();
        runtime.spawn(net::serve(listeners, server.clone(), stop.clone()));
        Self {
            runtime: Some(runtime),
            server,
            released,
            port: port.expect("it listens on TCP"),
            stop,
        }
    }

    fn waiting(&self) -> usize {
        self.server.pools.requests.bytes()
    }

    fn client(&self) -> Raw {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server is there");
        stream
            .set_read_timeout(Some(crate::common::PATIENCE))
            .expect("a timeout can be set");
        Raw(BufReader::new(stream))
    }

    /// Ends the work that holds the turns.
    fn release(&self) {
        self.released.wait();
    }
}

impl Drop for Busy {
    /// The drop does not wait for the work that holds the turns, so a failing test ends.
    fn drop(&mut self) {
        self.stop.now();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A request of about 600 KB that needs a slow turn.
fn slow_request() -> Vec<u8> {
    let mut words = vec!["CF.INSERT".to_owned(), "k".to_owned(), "ITEMS".to_owned()];
    words.extend((0..ITEMS).map(|item| format!("{item:0100}")));
    request(&words)
}

/// The bytes that count for the request while it waits.
fn decoded() -> usize {
    let mut decoder = Decoder::default();
    decoder.buffer().extend_from_slice(&slow_request());
    let limits = Limits {
        arguments: 2 * ITEMS,
        argument_bytes: 1024,
        request_bytes: 1 << 20,
    };
    let request = decoder.next(&limits);
    request.unwrap().expect("it is complete").memory()
}

#[test]
fn requests_that_wait_for_a_slow_turn_count_until_they_are_answered() {
    let busy = Busy::start(&["--max-requests-memory", ROOM]);
    let decoded = decoded();
    let mut first = busy.client();
    first.send(slow_request());
    until("it is decoded", || busy.waiting() == decoded);
    until("it waits", || busy.server.slow.waiting() == 1);
    // A second request is too much, and the first one keeps waiting.
    let mut second = busy.client();
    second.send(slow_request());
    assert_eq!(
        String::from_utf8(second.rest()).unwrap(),
        "-ERR Protocol error: too many bytes of unfinished requests\r\n"
    );
    until("the second one is gone", || busy.waiting() == decoded);
    // Fast commands need no turn.
    assert_eq!(busy.client().ask("PING\r\n"), "+PONG");
    busy.release();
    assert_eq!(first.line(), format!("*{ITEMS}"));
    for _ in 0..ITEMS {
        assert_eq!(first.line(), ":1");
    }
    until("it is given back", || busy.waiting() == 0);
    assert_eq!(busy.server.slow.waiting(), 0);
}

/// The memory of a request is freed at its turn if its client has disconnected.
#[test]
fn requests_of_clients_that_have_gone_are_given_back() {
    let busy = Busy::start(&[]);
    let decoded = decoded();
    let mut client = busy.client();
    client.send(slow_request());
    until("it is decoded", || busy.waiting() == decoded);
    drop(client);
    busy.release();
    until("it is given back", || busy.waiting() == 0);
}
