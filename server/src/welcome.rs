//! What people who start the server for the first time should know.

use crate::{config::Config, logging::LogFormat, net::Listener};
use std::io;

/// The text for the output of the server when it is ready: one line, and what to do next if people read
/// it. There is none if the log is for programs.
///
/// # Errors
///
/// Those of the system, which has to know the address.
pub fn text(config: &Config, listener: &Listener, is_terminal: bool) -> io::Result<Option<String>> {
    if config.log_format == LogFormat::Json {
        return Ok(None);
    }
    let (place, mut options) = place_of(listener)?;
    let version = env!("CARGO_PKG_VERSION");
    let ready = format!("guira-server {version} is ready {place}.");
    if !is_terminal {
        return Ok(Some(ready + "\n"));
    }
    if config.password().is_some() {
        options.push_str(" --askpass");
    }
    Ok(Some(format!(
        "{ready} Try, in another terminal:\n\
         \n  redis-cli {options}\n  \
         > CF.RESERVE bikes:models 1000000\n  \
         > CF.ADD bikes:models \"Smoky Mountain Striker\"\n  \
         > CF.EXISTS bikes:models \"Smoky Mountain Striker\"\n  \
         > CF.DEL bikes:models \"Smoky Mountain Striker\"\n\n\
         Ctrl-C ends it; guira-server --help shows what else it can do.\n",
    )))
}

/// The address of a listener, and the options with which `redis-cli` connects to it.
fn place_of(listener: &Listener) -> io::Result<(String, String)> {
    Ok(match listener {
        Listener::Tcp(listener) => {
            let port = listener.local_addr()?.port();
            (format!("on port {port}"), format!("-p {port}"))
        }
        Listener::Tls(listener, _) => {
            let port = listener.local_addr()?.port();
            (format!("on port {port}"), format!("--tls -p {port}"))
        }
        Listener::Unix(_, file) => (format!("at {file}"), format!("-s {file}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn welcome(options: &[&str], is_terminal: bool) -> Option<String> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let _runtime = runtime.enter();
        let listener = Listener::Tcp(tokio::net::TcpListener::from_std(listener).unwrap());
        let config = Config::parse_from([&[""], options].concat());
        text(&config, &listener, is_terminal).unwrap()
    }

    #[test]
    fn people_are_welcomed_and_programs_are_not() {
        let text = welcome(&[], true).expect("there is a terminal");
        assert!(
            text.contains("redis-cli -p ") && !text.contains("--askpass"),
            "{text}"
        );
        let line = welcome(&[], false).expect("the log is text");
        assert!(
            line.contains(" is ready on port ") && line.ends_with(".\n"),
            "{line}"
        );
        assert_eq!(line.lines().count(), 1);
        assert_eq!(welcome(&["--log-format", "json"], true), None);
    }

    #[test]
    fn with_a_password_the_client_asks_for_it() {
        let text = welcome(&["--requirepass", "secret"], true).unwrap();
        assert!(
            text.contains(" --askpass\n") && !text.contains("secret"),
            "{text}"
        );
    }
}
