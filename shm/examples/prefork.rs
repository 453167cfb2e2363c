//! A prefork server: the workers share a deny list, and any of them may be killed.
//!
//! `cargo run --release --package guira-shm --example prefork -- 100` kills a worker 100 times. The
//! parent is also the client: each name whose denial a worker has acknowledged must stay denied.
#![cfg_attr(
    all(target_os = "linux", target_pointer_width = "64"),
    expect(
        unsafe_code,
        reason = "a fork, and a file that only these processes change"
    )
)]

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    prefork::main()
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn main() {}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod prefork {
    use guira::CuckooFilter;
    use guira_shm::SharedFilter;
    use nix::{
        sys::{
            signal::{Signal, kill},
            wait::waitpid,
        },
        unistd::{ForkResult, Pid, fork},
    };
    use std::{
        error::Error,
        io::{BufRead, BufReader, Write, read_to_string},
        net::{SocketAddr, TcpListener, TcpStream},
    };

    const WORKERS: usize = 4;

    /// The names that the client denies between two deaths.
    const NAMES: u64 = 50;

    pub(super) fn main() -> Result<(), Box<dyn Error>> {
        let deaths = match std::env::args().nth(1) {
            Some(text) => text.parse()?,
            None => 20_u64,
        };
        let directory = tempfile::tempdir()?;
        let capacity = usize::try_from(NAMES * deaths)?.max(1000);
        let builder = CuckooFilter::builder().capacity(capacity).seed(1);
        // SAFETY: only this process and its children know the file.
        let denied = unsafe { SharedFilter::create(directory.path().join("denied"), builder) }?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;

        let start = || start_worker(&listener, &denied);
        let mut workers = (0..WORKERS)
            .map(|_| start())
            .collect::<Result<Vec<_>, _>>()?;
        let mut acknowledged = Vec::new();
        for death in 0..deaths {
            for number in 0..NAMES {
                let name = format!("name {death} {number}");
                let stream = send(address, &format!("deny {name}"))?;
                if number == NAMES / 2 {
                    let victim = death as usize % WORKERS;
                    kill(workers[victim], Signal::SIGKILL)?;
                    waitpid(workers[victim], None)?;
                    // Inserts do this by themselves when they are hindered.
                    denied.repair();
                    workers[victim] = start()?;
                }
                // A worker that dies in between answers nothing. Then the name may be denied or not.
                if read_to_string(stream).is_ok_and(|answer| answer == "denied") {
                    acknowledged.push(name);
                }
            }
        }
        for name in &acknowledged {
            let answer = read_to_string(send(address, &format!("is {name}"))?)?;
            assert_eq!(answer, "denied", "{name}");
        }
        for worker in workers {
            kill(worker, Signal::SIGKILL)?;
            waitpid(worker, None)?;
        }
        denied.repair();
        println!(
            "{} names are denied, after {} deaths",
            acknowledged.len(),
            denied.participants().deaths
        );
        Ok(())
    }

    /// Starts a worker, which has the listener and the filter of its parent.
    fn start_worker(listener: &TcpListener, denied: &SharedFilter) -> nix::Result<Pid> {
        // SAFETY: this process has one thread, so the child may do whatever its parent may.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => Ok(child),
            ForkResult::Child => {
                for stream in listener.incoming().flatten() {
                    // A client that is gone is no reason to end.
                    let _ = serve(&stream, denied);
                }
                std::process::exit(0)
            }
        }
    }

    /// Answers one request.
    fn serve(mut stream: &TcpStream, denied: &SharedFilter) -> std::io::Result<()> {
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        let is_denied = match line.trim_end().split_once(' ') {
            Some(("deny", name)) => denied.insert_unique(name).is_ok(),
            Some(("is", name)) => denied.contains(name),
            _ => false,
        };
        let answer = if is_denied { "denied" } else { "welcome" };
        stream.write_all(answer.as_bytes())
    }

    /// Sends a request, which some worker will answer.
    fn send(address: SocketAddr, request: &str) -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(request.as_bytes())?;
        stream.write_all(b"\n")?;
        Ok(stream)
    }
}
