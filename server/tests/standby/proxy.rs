//! A fixed address for primaries that are started and killed.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU16, AtomicU64, Ordering::SeqCst},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

pub(super) struct Proxy {
    pub(super) port: u16,
    target: Arc<AtomicU16>,
    /// The bytes from the primary until `reached` is notified; `u64::MAX` for never.
    until: Arc<AtomicU64>,
    pub(super) reached: Receiver<()>,
}

impl Proxy {
    /// Connects clients to the server at the port `target`.
    pub(super) fn to(target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (tell, reached) = channel();
        let proxy = Self {
            port: listener.local_addr().unwrap().port(),
            target: Arc::new(target.into()),
            until: Arc::new(u64::MAX.into()),
            reached,
        };
        let (target, until) = (proxy.target.clone(), proxy.until.clone());
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                // The server may have been killed.
                if let Ok(server) = TcpStream::connect(("127.0.0.1", target.load(SeqCst))) {
                    forward(client, server, until.clone(), tell.clone());
                }
            }
        });
        proxy
    }

    pub(super) fn retarget(&self, port: u16) {
        self.target.store(port, SeqCst);
    }

    /// Notifies `reached` after this number of bytes from the primary.
    pub(super) fn tell_after(&self, bytes: u64) {
        self.until.store(bytes, SeqCst);
    }
}

fn forward(client: TcpStream, server: TcpStream, until: Arc<AtomicU64>, tell: Sender<()>) {
    let (mut requests, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    thread::spawn(move || {
        let _ = std::io::copy(&mut requests, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Both);
    });
    thread::spawn(move || {
        let (mut client, mut server) = (client, server);
        let mut bytes = [0; 4096];
        while let Ok(read @ 1..) = server.read(&mut bytes) {
            let left = until.load(SeqCst);
            if left != u64::MAX {
                let left = left.saturating_sub(read as u64);
                until.store(if left == 0 { u64::MAX } else { left }, SeqCst);
                if left == 0 && tell.send(()).is_err() {
                    break;
                }
            }
            if client.write_all(&bytes[..read]).is_err() {
                break;
            }
        }
        let _ = client.shutdown(Shutdown::Both);
    });
}
