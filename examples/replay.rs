//! Replay protection: each message counts once, even if anyone sends it again.
//!
//! A message has a time stamp and a nonce, a number that its sender never uses twice. Both are
//! signed, which is left out here. A receiver accepts messages whose stamp is off by at most 30 s,
//! and stores their nonces for as long as the messages could be accepted again.
//!
//! Each line of the input is an incoming message: the receiver's time in milliseconds, the stamp in
//! milliseconds, and the nonce. The output has one line for each.
//!
//! ```text
//! $ cargo run --example replay -- seen.guira
//! 1000 900 a
//! accepted
//! 2000 900 a
//! replayed
//! 50000 900 b
//! stale
//! ```
//!
//! At the end of the input, the filter is saved to the file, and the next run loads it. A message
//! that was accepted before a restart is not accepted again after it.

use guira::ExpiringFilter;
use std::{
    env,
    error::Error,
    fmt, fs,
    io::{self, BufRead, BufReader, ErrorKind, Write},
    path::Path,
    process::ExitCode,
    time::Duration,
};

/// The maximum difference of a stamp in either direction.
const SKEW: Duration = Duration::from_secs(30);

/// The number of messages per minute. Any further ones are rejected, not accepted.
const CAPACITY: usize = 100_000;

struct Receiver {
    seen: ExpiringFilter,
}

struct Message<'a> {
    stamp: Duration,
    nonce: &'a str,
}

/// The verdict on a message. It is accepted only in the first case.
#[derive(Clone, Copy, Debug)]
enum Verdict {
    Accepted,
    /// The stamp is off by more than 30 s.
    Stale,
    /// The message was accepted before. In one of some 10 million cases, it was another message
    /// that looks the same to the filter. The sender then tries again with another nonce.
    Replayed,
    /// There is no room to store the nonce, so the message must not be accepted.
    Busy,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Accepted => "accepted",
            Self::Stale => "stale",
            Self::Replayed => "replayed",
            Self::Busy => "busy",
        })
    }
}

impl Receiver {
    /// A message whose stamp is 30 s ahead is valid for twice that time, so the filter stores it
    /// for that long. The seed is random and secret: an attacker who knew it could find nonces that
    /// collide with the nonces of others, and cause their messages to be rejected.
    fn new() -> Result<Self, Box<dyn Error>> {
        let seen = ExpiringFilter::builder(2 * SKEW)
            .capacity(CAPACITY)
            .false_positive_rate(1e-7)
            .build()?;
        Ok(Self { seen })
    }

    /// Any number of threads may call this concurrently. Of equal messages, one is accepted.
    fn receive(&self, now: Duration, message: &Message<'_>) -> Verdict {
        self.seen.tick_at(|| now);
        if now.abs_diff(message.stamp) > SKEW {
            return Verdict::Stale;
        }
        match self.seen.insert_unique(&(message.stamp, message.nonce)) {
            Ok(true) => Verdict::Accepted,
            Ok(false) => Verdict::Replayed,
            Err(_) => Verdict::Busy,
        }
    }

    /// The receiver that [`save`](Self::save) saved. The time since then is not counted, so items
    /// expire late, which is harmless.
    ///
    /// Messages that were accepted after the last save are not in the file. A program that saves
    /// only at intervals must treat messages as stale if their stamp is at most 30 s after the
    /// start.
    fn load(path: &Path) -> Result<Self, Box<dyn Error>> {
        match fs::File::open(path) {
            Ok(file) => Ok(Self {
                seen: ExpiringFilter::read_from(BufReader::new(file))?,
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => Self::new(),
            Err(error) => Err(error.into()),
        }
    }

    fn save(&self, now: Duration, path: &Path) -> io::Result<()> {
        self.seen.save_at(path, || now)
    }
}

/// The time at which a message arrives, and the message. `None` if the line is invalid.
fn parse(line: &str) -> Option<(Duration, Message<'_>)> {
    let mut words = line.split_whitespace();
    let mut time = || words.next()?.parse().ok().map(Duration::from_millis);
    let (now, stamp) = (time()?, time()?);
    let nonce = words.next()?;
    let message = Message { stamp, nonce };
    words.next().is_none().then_some((now, message))
}

fn run(path: &Path) -> Result<(), Box<dyn Error>> {
    let receiver =
        Receiver::load(path).map_err(|error| format!("cannot load {}: {error}", path.display()))?;
    // The clock of a filter never goes back.
    let mut clock = Duration::ZERO;
    for (number, line) in io::stdin().lock().lines().enumerate() {
        let line = line?;
        let (now, message) = parse(&line).ok_or_else(|| {
            format!(
                "line {}: {line:?} is not a time, a stamp and a nonce, such as `1000 900 a`",
                number + 1
            )
        })?;
        clock = clock.max(now);
        writeln!(io::stdout(), "{}", receiver.receive(clock, &message))?;
    }
    receiver
        .save(clock, path)
        .map_err(|error| format!("cannot save {}: {error}", path.display()))?;
    Ok(())
}

fn main() -> ExitCode {
    let mut args = env::args_os().skip(1);
    let (Some(path), None) = (args.next(), args.next()) else {
        eprintln!("usage: replay FILE");
        return ExitCode::from(2);
    };
    match run(Path::new(&path)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("replay: {error}");
            ExitCode::FAILURE
        }
    }
}
