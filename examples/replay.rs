//! Replay protection: each message counts once, also if it is sent again, by whomever.
//!
//! A message has a time stamp and a nonce, a number that its sender never uses twice, and both are
//! signed (that is left out here). A receiver lets messages pass whose stamp is off by 30 s at most,
//! and remembers the nonces of those, for as long as they could pass again.
//!
//! Each line of the input is a message as it comes in: the receiver's time, in milliseconds, the
//! stamp, likewise, and the nonce. For each there is a line of output.
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
//! At the end of the input the filter goes to the file, and the next run begins with it: nothing
//! that passed before a restart passes again after it.

use guira::ExpiringFilter;
use std::{
    env,
    error::Error,
    ffi::OsStr,
    fmt, fs,
    io::{self, BufRead, BufReader, BufWriter, ErrorKind, Write},
    path::Path,
    process::ExitCode,
    time::Duration,
};

/// How far a stamp may be off, before or after.
const SKEW: Duration = Duration::from_secs(30);

/// Messages in a minute. More of them are rejected, not let through.
const CAPACITY: usize = 100_000;

struct Receiver {
    seen: ExpiringFilter,
}

struct Message<'a> {
    stamp: Duration,
    nonce: &'a str,
}

/// What becomes of a message. Only the first one lets it pass.
#[derive(Clone, Copy, Debug)]
enum Verdict {
    Accepted,
    /// Its stamp is off by more than 30 s.
    Stale,
    /// It passed before; or, in one of some 10 million cases, another one did that looks the same
    /// to the filter. Its sender tries again with another nonce.
    Replayed,
    /// There is no room to remember it: then it must not pass.
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
    /// A message whose stamp is 30 s ahead is valid for twice that time, so the filter remembers it
    /// for that long. Its seed is random and secret: an attacker who knew it could find nonces that
    /// collide with the nonces of others, and have their messages rejected.
    fn new() -> Result<Self, Box<dyn Error>> {
        let seen = ExpiringFilter::builder(2 * SKEW)
            .capacity(CAPACITY)
            .false_positive_rate(1e-7)
            .build()?;
        Ok(Self { seen })
    }

    /// Any number of threads may call this at a time: of equal messages one passes.
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

    /// The receiver that [`save`](Self::save) saved. The time since then does not count: items
    /// expire late by it, which does no harm.
    ///
    /// What passed after it was saved is not in it. Who saves only now and then must take all
    /// messages for stale whose stamp is not more than 30 s after the start.
    fn load(path: &Path) -> Result<Self, Box<dyn Error>> {
        match fs::File::open(path) {
            Ok(file) => Ok(Self {
                seen: ExpiringFilter::read_from(BufReader::new(file))?,
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => Self::new(),
            Err(error) => Err(error.into()),
        }
    }

    /// The file holds the seed: no other user may read it.
    fn save(&self, now: Duration, path: &Path) -> io::Result<()> {
        let mut name = path.file_name().unwrap_or(OsStr::new("seen")).to_owned();
        name.push(".new");
        let new = path.with_file_name(name);
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = BufWriter::new(options.open(&new)?);
        self.seen.write_to_at(&mut file, || now)?;
        file.into_inner()?.sync_all()?;
        fs::rename(new, path)
    }
}

/// The time at which a message comes in, and the message; `None` if the line is not one.
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
    // A filter's clock never goes back.
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
