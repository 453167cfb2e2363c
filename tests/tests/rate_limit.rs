//! Threads count the requests of clients within a window, as a rate limit does, and each count is within the
//! bounds of what all threads have noted.
//!
//! Some clients have most requests, so that threads race for them, and their copies fill both buckets. Of each
//! client it is noted when its requests began, and in which epochs they ended:
//!
//! - At least: the requests that had returned before the call, and began within the TTL before its end.
//! - At most: the requests that ended no more than E epochs before the call. An insert that an epoch overtakes
//!   may make an older occurrence younger, or leave a second copy, so for each epoch it counts two more.
//!
//! The test runs for a second, or for `GUIRA_STRESS_SECONDS` with a million clients:
//!
//! ```text
//! GUIRA_STRESS_SECONDS=600 cargo test --release -p guira-tests --test all rate_limit:: -- --nocapture
//! ```

use crate::common::stress::stress_time;
use guira::{ExpiringBuilder, ExpiringFilter, InsertError};
use rand::{
    RngExt, SeedableRng,
    distr::{Distribution, weighted::WeightedIndex},
    rngs::SmallRng,
};
use std::{
    array, fmt,
    ops::AddAssign,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

const THREADS: usize = 16;

/// The exponent of the Zipf distribution of requests.
const SKEW: f64 = 1.1;

/// Parts of the TTL in which requests are noted by time.
const PARTS: u32 = 8;

/// A thread that is preempted in an insert for this number of epochs may make expired copies live again: tags
/// have 3 bits.
const LONG: u64 = 6;

/// The tests run one at a time, so that the numbers of threads are as stated.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The numbers of requests in the last `N` turns of a clock.
struct Ring<const N: usize>([AtomicU32; N]);

impl<const N: usize> Ring<N> {
    /// The bits of a number of requests. The rest of an entry is its turn, plus 1.
    const BITS: u32 = 13;

    fn new() -> Self {
        Self(array::from_fn(|_| AtomicU32::new(0)))
    }

    fn add(&self, turn: u64, requests: u32) {
        let tag = turn as u32 + 1;
        let added = |entry: u32| match (entry >> Self::BITS).cmp(&tag) {
            std::cmp::Ordering::Less => Some(tag << Self::BITS | requests),
            std::cmp::Ordering::Equal => Some(entry + requests),
            // The turn is too long ago to matter.
            std::cmp::Ordering::Greater => None,
        };
        // AcqRel: a thread that reads the number has seen the requests return.
        let old =
            self.0[turn as usize % N].fetch_update(Ordering::AcqRel, Ordering::Acquire, added);
        let full = 1 << Self::BITS;
        assert!(old.is_err() || old.is_ok_and(|it| it % full + requests < full));
    }

    fn read(&self) -> [u32; N] {
        array::from_fn(|index| self.0[index].load(Ordering::Acquire))
    }

    /// The requests in the turn `first` and later ones.
    fn since(entries: [u32; N], first: u64) -> usize {
        let tag = first as u32 + 1;
        let recent = entries.iter().filter(|&&entry| entry >> Self::BITS >= tag);
        let all: u32 = recent.map(|entry| entry % (1 << Self::BITS)).sum();
        all as usize
    }
}

/// The requests of a client that were not refused.
struct Noted {
    /// By the part of a TTL in which they began. Noted after they returned.
    begun: Ring<16>,
    /// By the epoch in which they ended, which is not before that of the copy.
    ended: Ring<8>,
}

/// What a thread is doing.
#[repr(align(128))]
struct Doing {
    /// The client, plus 1; 0 between requests.
    client: AtomicU32,
    /// The epoch in which the request began.
    epoch: AtomicU64,
}

/// The filter and its users.
struct Round {
    filter: ExpiringFilter,
    /// The TTL and the epochs that the checks suppose.
    ttl: Duration,
    epochs: u64,
    clients: Vec<u64>,
    noted: Vec<Noted>,
    doing: [Doing; THREADS],
    /// The last epoch in which a request ended that took many epochs.
    slept: AtomicU64,
    start: Instant,
    ends: AtomicBool,
}

#[derive(Clone, Copy, Default)]
struct Report {
    requests: u64,
    /// Requests of clients whose copies fill their buckets.
    refused: u64,
    /// Requests without room because of other clients.
    no_room: u64,
    /// Requests that an epoch has overtaken.
    overtaken: u64,
    /// The sums of what was counted, and of the bounds.
    counted: u64,
    least: u64,
    most: u64,
    largest: usize,
    /// Counts above what was noted at first, because other threads were about to note.
    looked_again: u64,
    /// Counts after a thread has slept for many epochs.
    excused: u64,
    epochs: u64,
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.refused += other.refused;
        self.no_room += other.no_room;
        self.overtaken += other.overtaken;
        self.counted += other.counted;
        self.least += other.least;
        self.most += other.most;
        self.largest = self.largest.max(other.largest);
        self.looked_again += other.looked_again;
        self.excused += other.excused;
        self.epochs += other.epochs;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} requests in {} epochs, {} of them refused, {} without room and {} overtaken by an epoch; counted {}, at \
             least {}, at most {}, up to {} at once; looked again at {}, excused {}",
            self.requests,
            self.epochs,
            self.refused,
            self.no_room,
            self.overtaken,
            self.counted,
            self.least,
            self.most,
            self.largest,
            self.looked_again,
            self.excused
        )
    }
}

impl Round {
    /// A round for this number of clients, whose items are of different classes.
    fn new(builder: &ExpiringBuilder, clients: usize) -> Self {
        let probe = builder.clone().build().expect("a filter");
        let items = (0..u64::MAX).filter(|item| probe.insert_unique(item).expect("there is room"));
        let clients: Vec<u64> = items.take(clients).collect();
        let filter = builder.clone().build().expect("a filter");
        let noted = || Noted {
            begun: Ring::new(),
            ended: Ring::new(),
        };
        Self {
            ttl: filter.ttl(),
            epochs: filter.epochs().into(),
            filter,
            noted: clients.iter().map(|_| noted()).collect(),
            clients,
            doing: array::from_fn(|_| Doing {
                client: AtomicU32::new(0),
                epoch: AtomicU64::new(0),
            }),
            slept: AtomicU64::new(0),
            start: Instant::now(),
            ends: AtomicBool::new(false),
        }
    }

    /// Lets the threads count for this time. The error is the first count that is out of bounds.
    fn run(&self, lasts: Duration) -> Result<Report, String> {
        let weights = (1..=self.clients.len()).map(|rank| (rank as f64).powf(-SKEW));
        let skewed = WeightedIndex::new(weights).expect("weights");
        let reports: Vec<_> = thread::scope(|scope| {
            let work = |thread| {
                let skewed = &skewed;
                scope.spawn(move || {
                    let report = self.work(thread, skewed);
                    if report.is_err() {
                        self.ends.store(true, Ordering::Relaxed);
                    }
                    report
                })
            };
            let threads: Vec<_> = (0..THREADS).map(work).collect();
            let is_enough = || self.start.elapsed() >= lasts && self.filter.epoch() > self.epochs;
            while !is_enough() && !self.ends.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(5));
            }
            self.ends.store(true, Ordering::Relaxed);
            let ended = threads.into_iter().map(thread::ScopedJoinHandle::join);
            ended.map(|report| report.expect("no panic")).collect()
        });
        let mut all = Report {
            epochs: self.filter.epoch(),
            ..Report::default()
        };
        for report in reports {
            all += report?;
        }
        Ok(all)
    }

    fn work(&self, thread: usize, skewed: &WeightedIndex<f64>) -> Result<Report, String> {
        let mut random = SmallRng::seed_from_u64(thread as u64);
        let mut report = Report::default();
        while !self.ends.load(Ordering::Relaxed) {
            for _ in 0..64 {
                self.request(thread, skewed.sample(&mut random), &mut report)?;
            }
            if random.random_range(0..64) == 0 {
                thread::yield_now();
            }
        }
        Ok(report)
    }

    /// The part of a TTL at this time.
    fn part(&self, at: Duration) -> u64 {
        (at.as_nanos() * u128::from(PARTS) / self.ttl.as_nanos()) as u64
    }

    fn request(&self, thread: usize, client: usize, report: &mut Report) -> Result<(), String> {
        let (noted, doing) = (&self.noted[client], &self.doing[thread]);
        let before = self.filter.epoch();
        // Relaxed: it is read with the client.
        doing.epoch.store(before, Ordering::Relaxed);
        // Release: a thread that counts the copy sees this one at work.
        doing.client.store(client as u32 + 1, Ordering::Release);
        let begun = self.start.elapsed();
        let returned = noted.begun.read();
        let result = self.filter.insert_and_count(&self.clients[client]);
        let ended = self.start.elapsed();
        let after = self.filter.epoch();
        if after - before >= LONG {
            self.slept.fetch_max(after, Ordering::AcqRel);
        }
        report.requests += 1;
        report.overtaken += u64::from(after > before);
        let more = 2 * (after - before) as u32;
        let checked = match result {
            Ok(count) => {
                noted.ended.add(after, 1 + more);
                noted.begun.add(self.part(begun), 1);
                // Requests of an earlier part may have begun before the TTL.
                let first = ended
                    .checked_sub(self.ttl)
                    .map_or(0, |since| self.part(since) + 1);
                let least = 1 + Ring::<16>::since(returned, first);
                report.counted += count as u64;
                report.least += least as u64;
                report.largest = report.largest.max(count);
                if count < least {
                    Err(format!(
                        "client {client}: {count} is too low: at least {least}, from {begun:?} to {ended:?}"
                    ))
                } else {
                    self.is_not_above(thread, client, count, before, report)
                }
            }
            Err(
                error @ (InsertError::TooManyCopies | InsertError::Full | InsertError::Contended),
            ) => {
                match error {
                    InsertError::TooManyCopies => report.refused += 1,
                    _ => report.no_room += 1,
                }
                if more > 0 {
                    noted.ended.add(after, more);
                }
                Ok(())
            }
            Err(error) => Err(error.to_string()),
        };
        // Release: a thread that reads it reads what was noted, too.
        doing.client.store(0, Ordering::Release);
        checked
    }

    /// Checks a count of a request that began in the epoch `before`.
    fn is_not_above(
        &self,
        thread: usize,
        client: usize,
        count: usize,
        before: u64,
        report: &mut Report,
    ) -> Result<(), String> {
        let first = before.saturating_sub(self.epochs);
        let noted = || Ring::<8>::since(self.noted[client].ended.read(), first);
        let most = noted();
        report.most += most as u64;
        if count <= most {
            return Ok(());
        }
        report.looked_again += 1;
        // A thread that is not at work here any more has noted its request.
        let at_work = |(index, doing): (usize, &Doing)| {
            let client_of = doing.client.load(Ordering::Acquire) as usize;
            let is_here = index != thread && client_of == client + 1;
            let epoch = doing.epoch.load(Ordering::Relaxed);
            let sleeps = client_of != 0 && self.filter.epoch() >= epoch + LONG;
            (is_here, sleeps)
        };
        let others: Vec<_> = self.doing.iter().enumerate().map(at_work).collect();
        let now = self.filter.epoch();
        let here = others.iter().filter(|(is_here, _)| *is_here).count();
        let in_flight = here * (1 + 2 * (1 + now - before) as usize);
        let most = noted() + in_flight;
        if count <= most {
            return Ok(());
        }
        let has_slept = self.slept.load(Ordering::Acquire) + 2 * LONG >= now.max(2 * LONG + 1);
        if has_slept || others.iter().any(|(_, sleeps)| *sleeps) {
            report.excused += 1;
            return Ok(());
        }
        Err(format!(
            "client {client}: {count} is too high: at most {most}, {in_flight} of them in flight, from \
             epoch {before} to {now}"
        ))
    }

    /// When all threads have ended, each client is within its bounds, and expires.
    fn ends(&self) -> Result<(), String> {
        for _ in 0..=self.epochs {
            let epoch = self.filter.epoch();
            let first = epoch.saturating_sub(self.epochs);
            for (client, noted) in self.noted.iter().enumerate() {
                let count = self.filter.count(&self.clients[client]);
                let most = Ring::<8>::since(noted.ended.read(), first);
                if count > most && self.slept.load(Ordering::Relaxed) == 0 {
                    return Err(format!(
                        "client {client} has {count} at the end, and at most {most}"
                    ));
                }
            }
            self.filter.advance();
        }
        let left = (self.filter.len(), self.filter.slots_in_use());
        match left {
            (0, 0) => Ok(()),
            _ => Err(format!("{left:?} copies and slots are left")),
        }
    }
}

/// The time in all, the clients and the TTL.
fn sizes() -> (Duration, usize, Duration) {
    match stress_time() {
        Some(all) => (all, 1_000_000, Duration::from_secs(1)),
        None => (
            Duration::from_millis(1_800),
            20_000,
            Duration::from_millis(200),
        ),
    }
}

fn builder(clients: usize, ttl: Duration, bits: u32, counter_bits: u32) -> ExpiringBuilder {
    let builder = ExpiringFilter::builder(ttl).seed(7).capacity(2 * clients);
    builder.fingerprint_bits(bits).counter_bits(counter_bits)
}

#[test]
fn counts_are_those_within_the_window() {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let (budget, clients, ttl) = sizes();
    let builders = [
        builder(clients, ttl, 19, 8),
        builder(clients, ttl, 9, 8).epochs(2),
        builder(clients, ttl, 19, 4)
            .capacity(clients / 16)
            .max_capacity(2 * clients),
    ];
    for builder in &builders {
        let round = Round::new(builder, clients);
        let report = round.run(budget / builders.len() as u32);
        let report = report.unwrap_or_else(|violation| panic!("{:?}: {violation}", round.filter));
        round
            .ends()
            .unwrap_or_else(|violation| panic!("{:?}: {violation}", round.filter));
        println!(
            "{} bits, counters of {}, {} epochs: {report}",
            round.filter.fingerprint_bits(),
            round.filter.counter_bits(),
            round.epochs
        );
        assert!(
            report.largest >= 1 << round.filter.counter_bits(),
            "{report}"
        );
        // The bound includes more than the request itself.
        assert!(report.least > report.requests, "{report}");
    }
}

/// A filter that forgets too early is noticed, and one that forgets too late.
#[test]
fn wrong_windows_are_noticed() {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let ttl = Duration::from_millis(100);
    let builder = builder(1_000, ttl, 9, 8).epochs(2);
    let mut round = Round::new(&builder, 1_000);
    round.ttl = 3 * ttl;
    let violation = round
        .run(Duration::from_secs(60))
        .err()
        .expect("it forgets");
    assert!(violation.contains("too low"), "{violation}");
    let mut round = Round::new(&builder, 1_000);
    round.epochs = 1;
    let violation = round
        .run(Duration::from_secs(60))
        .err()
        .expect("it remembers");
    assert!(violation.contains("too high"), "{violation}");
}
