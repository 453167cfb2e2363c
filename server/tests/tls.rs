//! TLS, with certificates that the tests create.

use crate::common::{self, Protocol, Raw, Server, command, request, until};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use std::{
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::Stdio,
    sync::Arc,
};
use tempfile::TempDir;
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

type Client = BufReader<StreamOwned<ClientConnection, TcpStream>>;

/// Certificates in a directory.
struct Files {
    directory: TempDir,
    authority: Issuer<'static, KeyPair>,
}

impl Files {
    /// Creates an authority, and certificates for a server and a client.
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "authority");
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        fs::write(directory.path().join("ca.pem"), certificate.pem()).unwrap();
        let authority = Issuer::new(params, key);
        let files = Self {
            directory,
            authority,
        };
        files.issue("server");
        files.issue("client");
        files
    }

    /// Writes a certificate for `name`, and its key.
    fn issue(&self, name: &str) {
        let mut params = CertificateParams::new(vec!["localhost".into()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.authority).unwrap();
        fs::write(self.path(&format!("{name}.pem")), certificate.pem()).unwrap();
        fs::write(self.path(&format!("{name}.key")), key.serialize_pem()).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn arguments(&self, clients: &str) -> Vec<String> {
        let file = |name| self.path(name).display().to_string();
        let (certificate, key, authority) =
            (file("server.pem"), file("server.key"), file("ca.pem"));
        let options = [
            ["--tcp", "false"],
            ["--tls-port", "0"],
            ["--tls-cert-file", &certificate],
            ["--tls-key-file", &key],
            ["--tls-ca-cert-file", &authority],
            ["--tls-auth-clients", clients],
        ];
        options
            .as_flattened()
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    fn start(&self, clients: &str, more: &[&str]) -> Server {
        let arguments = self.arguments(clients);
        let mut all: Vec<&str> = arguments.iter().map(String::as_str).collect();
        all.extend(more);
        Server::start(&all)
    }

    /// A client, which presents a certificate if `name` is given.
    fn connect(&self, server: &Server, name: Option<&str>) -> io::Result<Client> {
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_file(self.path("ca.pem")).unwrap())
            .unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let config = match name {
            Some(name) => {
                let certificate = CertificateDer::from_pem_file(self.path(&format!("{name}.pem")));
                let key = PrivateKeyDer::from_pem_file(self.path(&format!("{name}.key")));
                config
                    .with_client_auth_cert(vec![certificate.unwrap()], key.unwrap())
                    .unwrap()
            }
            None => config.with_no_client_auth(),
        };
        let host = "localhost".try_into().unwrap();
        let session = ClientConnection::new(Arc::new(config), host).unwrap();
        let socket = TcpStream::connect(("127.0.0.1", server.port))?;
        socket.set_read_timeout(Some(crate::common::PATIENCE))?;
        let mut client = BufReader::new(StreamOwned::new(session, socket));
        // A refusal only arrives with the first reply.
        assert_eq!(ask(&mut client, "PING\r\n")?, "+PONG");
        Ok(client)
    }
}

fn ask(client: &mut Client, bytes: impl AsRef<[u8]>) -> io::Result<String> {
    client.get_mut().write_all(bytes.as_ref())?;
    let mut line = String::new();
    client.read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

/// The first bytes of the certificate that the server presents.
fn shown(client: &Client) -> Vec<u8> {
    client.get_ref().conn.peer_certificates().unwrap()[0].to_vec()
}

#[test]
fn clients_are_served() {
    let files = Files::new();
    let server = files.start("no", &[]);
    let mut client = files.connect(&server, None).unwrap();
    assert_eq!(
        ask(&mut client, request(&["CF.ADD", "k", "a"])).unwrap(),
        ":1"
    );
    // A pipeline whose commands arrive in many records.
    let pipeline = request(&["CF.EXISTS", "k", "a"]).repeat(50_000);
    client.get_mut().sock.set_nonblocking(false).unwrap();
    let mut replies = vec![0; 50_000 * 4];
    for chunk in pipeline.chunks(100_000) {
        client.get_mut().write_all(chunk).unwrap();
    }
    client.read_exact(&mut replies).unwrap();
    assert_eq!(replies, b":1\r\n".repeat(50_000));
    // A request and a reply that exceed a record and the socket buffers.
    let long = "x".repeat(8 << 20);
    let header = ask(&mut client, request(&["ECHO", &long])).unwrap();
    assert_eq!(header, format!("${}", long.len()));
    let mut reply = vec![0; long.len() + 2];
    client.read_exact(&mut reply).unwrap();
    assert!(reply.starts_with(long.as_bytes()) && reply.ends_with(b"\r\n"));
    // The end of the stream is announced.
    assert_eq!(ask(&mut client, "QUIT\r\n").unwrap(), "+OK");
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
}

/// Replies that a client has not read yet wait for it, even when it sends nothing more.
#[test]
fn a_slow_reader_gets_everything() {
    let files = Files::new();
    let server = files.start("no", &[]);
    let mut client = files.connect(&server, None).unwrap();
    let echo = request(&["ECHO", &"x".repeat(1 << 20)]);
    for _ in 0..20 {
        client.get_mut().write_all(&echo).unwrap();
    }
    client.get_mut().write_all(b"QUIT\r\n").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let mut all = Vec::new();
    client.read_to_end(&mut all).unwrap();
    assert_eq!(
        all.len(),
        20 * ("$1048576\r\n".len() + (1 << 20) + 2) + "+OK\r\n".len()
    );
    assert!(all.ends_with(b"x\r\n+OK\r\n"));
}

#[test]
fn clients_show_certificates_if_they_must() {
    let files = Files::new();
    let others = Files::new();
    fs::copy(others.path("client.pem"), files.path("stranger.pem")).unwrap();
    fs::copy(others.path("client.key"), files.path("stranger.key")).unwrap();
    for (clients, none, stranger) in [
        ("yes", false, false),
        ("optional", true, false),
        ("no", true, true),
    ] {
        let server = files.start(clients, &[]);
        for (name, admitted) in [
            (None, none),
            (Some("stranger"), stranger),
            (Some("client"), true),
        ] {
            let client = files.connect(&server, name);
            assert_eq!(client.is_ok(), admitted, "{clients} {name:?}");
        }
    }
}

#[test]
fn what_is_no_handshake_harms_nobody() {
    let files = Files::new();
    let server = files.start("no", &["--maxclients", "3"]);
    let mut client = files.connect(&server, None).unwrap();
    let mut plain: Raw = server.raw();
    plain.send("PING\r\n");
    // The server sends an alert, or nothing.
    assert!(!plain.rest().starts_with(b"+PONG"));
    // These clients count from the start, and make room for later ones.
    let _silent = [server.raw(), server.raw()];
    let mut third = files.connect(&server, None).unwrap();
    assert_eq!(ask(&mut third, "PING\r\n").unwrap(), "+PONG");
    drop(third);
    until("its place is free", || files.connect(&server, None).is_ok());
    assert_eq!(ask(&mut client, "PING\r\n").unwrap(), "+PONG");
    // A client that does not perform the handshake does not delay the stop.
    let _silent = server.raw();
    assert!(server.terminate().success());
}

#[test]
fn certificates_are_read_again_at_sighup() {
    let files = Files::new();
    let server = files.start("no", &["--log", "off"]);
    let mut before = files.connect(&server, None).unwrap();
    let first = shown(&before);
    files.issue("server");
    assert_eq!(shown(&files.connect(&server, None).unwrap()), first);
    server.signal("HUP");
    until("the new one is shown", || {
        shown(&files.connect(&server, None).unwrap()) != first
    });
    // A key that does not belong to the certificate changes nothing.
    let second = shown(&files.connect(&server, None).unwrap());
    fs::copy(files.path("client.key"), files.path("server.key")).unwrap();
    server.signal("HUP");
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert_eq!(shown(&files.connect(&server, None).unwrap()), second);
    assert_eq!(ask(&mut before, "PING\r\n").unwrap(), "+PONG");
}

#[test]
fn wrong_files_are_refused() {
    let files = Files::new();
    let path = |name: &str| files.path(name).display().to_string();
    fs::write(files.path("empty.pem"), "").unwrap();
    for (option, file, fault) in [
        ("--tls-cert-file", path("none.pem"), "No such file"),
        (
            "--tls-cert-file",
            path("empty.pem"),
            "there is no certificate in it",
        ),
        ("--tls-key-file", path("empty.pem"), "no items found"),
        (
            "--tls-key-file",
            path("client.key"),
            "keys may not be consistent",
        ),
        (
            "--tls-ca-cert-file",
            path("empty.pem"),
            "there is no certificate in it",
        ),
    ] {
        let mut arguments = files.arguments("yes");
        let at = arguments
            .iter()
            .position(|argument| argument == option)
            .unwrap();
        arguments[at + 1] = file.clone();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = command(&arguments).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8(output.stderr).unwrap();
        println!("{text}");
        assert!(text.contains(fault), "{option} {file}: {text}");
    }
}

/// A standby and its primary present their certificates to each other.
#[test]
fn a_standby_copies_by_tls() {
    let files = Files::new();
    let others = Files::new();
    fs::copy(others.path("ca.pem"), files.path("other.pem")).unwrap();
    let primary = files.start("yes", &[]);
    let mut client = files.connect(&primary, Some("client")).unwrap();
    assert_eq!(ask(&mut client, "CF.ADD k a\r\n").unwrap(), ":1");
    let path = |name: &str| files.path(name).display().to_string();
    let (certificate, key) = (path("client.pem"), path("client.key"));
    let own = ["--tls-cert-file", &certificate, "--tls-key-file", &key];
    for (host, authority, own, is_right) in [
        ("localhost", "ca.pem", &own[..], true),
        ("localhost", "other.pem", &own, false),
        ("127.0.0.1", "ca.pem", &own, false),
        ("localhost", "ca.pem", &[], false),
    ] {
        let (address, authority) = (format!("{host}:{}", primary.port), path(authority));
        let arguments = [
            ["--replica-of", &address],
            ["--replica-every", "1s"],
            ["--tls-replication", "yes"],
            ["--tls-ca-cert-file", &authority],
            ["--log", "off"],
        ];
        let standby = Server::start(&[arguments.as_flattened(), own].concat());
        let mut client = standby.client(Protocol::Resp2);
        until("it has tried", || {
            let info: String = common::ask(&mut client, "INFO replication");
            !info.contains("\nsyncs:0\r\nsync_failures:0\r\n")
        });
        let found: i64 = common::ask(&mut client, "CF.EXISTS k a");
        assert_eq!(found == 1, is_right, "{host} {authority} {own:?}");
    }
}
