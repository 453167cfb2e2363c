//! Tests the service as a process under load: SIGTERM, `kill -9`, changed settings, a new deny list, limits.
#![cfg(unix)]

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use ureq::Agent;

const CLIENTS: u64 = 8;

/// The running service. It is killed on drop, so that a failing test leaves no process behind.
struct Service {
    process: Child,
    url: String,
    agent: Agent,
}

impl Service {
    fn start(directory: &Path, args: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_guira-example-service"))
            .args(["--listen=127.0.0.1:0", "--save-every=1", "--directory"])
            .arg(directory)
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let url = line.trim_end().strip_prefix("listening on ").unwrap();
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_idle_connections_per_host(CLIENTS as usize)
            .build();
        Self {
            process,
            url: url.to_owned(),
            agent: agent.into(),
        }
    }

    /// The status of a payment; `None` if the service does not answer.
    fn try_pay(&self, account: &str, key: &str) -> Option<u16> {
        let request = self.agent.post(format!("{}/payments/{account}", self.url));
        let answer = request.header("Idempotency-Key", key).send_empty();
        answer.ok().map(|answer| answer.status().as_u16())
    }

    #[track_caller]
    fn pay(&self, account: &str, key: &str) -> u16 {
        self.try_pay(account, key).unwrap()
    }

    fn deny(&self, accounts: &str) -> String {
        let request = self.agent.put(format!("{}/denied", self.url));
        let mut answer = request.send(accounts).unwrap();
        assert_eq!(answer.status(), 200);
        answer.body_mut().read_to_string().unwrap()
    }

    /// The value of a metric.
    fn metric(&self, name: &str) -> f64 {
        let answer = self.agent.get(format!("{}/metrics", self.url)).call();
        let text = answer.unwrap().body_mut().read_to_string().unwrap();
        let value = text.lines().find_map(|line| {
            let rest = line.strip_prefix(name)?;
            rest.strip_prefix(' ')
        });
        let value = value.unwrap_or_else(|| panic!("{name} is not in {text}"));
        value.parse().unwrap()
    }

    /// Returns after a save that began after the call is complete.
    fn wait_for_save(&self) {
        let saves = || self.metric("saves_total");
        // The next one may have begun already.
        let enough = saves() + 2.0;
        while saves() < enough {
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.process.id());
        let status = Command::new("sh").args(["-c", &kill]).status();
        assert!(status.unwrap().success());
    }

    /// Ends the service by SIGTERM.
    fn stop(self) {
        self.signal("TERM");
        self.has_stopped();
    }

    /// Waits until the service, which got a signal, has ended successfully.
    fn has_stopped(mut self) {
        assert_eq!(self.process.wait().unwrap().code(), Some(0));
    }

    /// Ends the service as a crash does.
    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // This fails if the process has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn in_each_client(work: impl Fn(u64) + Sync) {
    let work = &work;
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || work(client));
        }
    });
}

/// Pays with `count` new keys per client. Two clients use each key.
fn pay_all(service: &Service, name: &str, count: u64) {
    let done = AtomicU64::new(0);
    in_each_client(|client| {
        for number in 0..count {
            match service.pay("ani", &format!("{name}-{}-{number}", client / 2)) {
                201 => drop(done.fetch_add(1, Ordering::Relaxed)),
                409 => {}
                other => panic!("{other}"),
            }
        }
    });
    // Each key once.
    assert_eq!(done.into_inner(), CLIENTS / 2 * count);
}

/// Each of these keys is known.
fn all_are_known(service: &Service, name: &str, count: u64) {
    in_each_client(|client| {
        for number in 0..count {
            let key = format!("{name}-{}-{number}", client / 2);
            assert_eq!(service.pay("ani", &key), 409, "{key}");
        }
    });
}

#[test]
fn what_was_answered_before_sigterm_is_known_after_it() {
    let directory = TempDir::new().unwrap();
    let service = Service::start(directory.path(), &[]);
    pay_all(&service, "first", 100);
    // While requests arrive, each answered key is saved, and other requests get no answer.
    let stopping = AtomicBool::new(false);
    let answered: Vec<u64> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (service, stopping) = (&service, &stopping);
                scope.spawn(move || {
                    let paid = |number: &u64| {
                        let key = format!("late-{client}-{number}");
                        let answer = service.try_pay("ani", &key);
                        if *number == 50 {
                            stopping.store(true, Ordering::Relaxed);
                        }
                        assert!(matches!(answer, Some(201) | None), "{key}: {answer:?}");
                        answer.is_some()
                    };
                    (0..100_000).take_while(paid).count() as u64
                })
            })
            .collect();
        while !stopping.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        service.signal("TERM");
        clients.into_iter().map(|it| it.join().unwrap()).collect()
    });
    service.has_stopped();

    let service = Service::start(directory.path(), &[]);
    all_are_known(&service, "first", 100);
    for (client, answered) in answered.into_iter().enumerate() {
        for number in 0..answered {
            let key = format!("late-{client}-{number}");
            assert_eq!(service.pay("ani", &key), 409, "{key}");
        }
    }
    service.stop();
}

#[test]
fn what_was_saved_before_a_kill_is_known_after_it() {
    let directory = TempDir::new().unwrap();
    for round in 0..3 {
        let service = Service::start(directory.path(), &[]);
        for before in 0..round {
            all_are_known(&service, &format!("round{before}"), 50);
        }
        pay_all(&service, &format!("round{round}"), 50);
        service.wait_for_save();
        // These may be saved or not.
        pay_all(&service, &format!("unsaved{round}"), 50);
        service.kill();
    }
    let service = Service::start(directory.path(), &[]);
    for round in 0..3 {
        all_are_known(&service, &format!("round{round}"), 50);
        // A key that was not saved is new, once.
        in_each_client(|client| {
            let key = format!("unsaved{round}-{client}-0");
            service.pay("ani", &key);
            assert_eq!(service.pay("ani", &key), 409);
        });
    }
}

#[test]
fn keys_stay_known_when_the_settings_change() {
    let directory = TempDir::new().unwrap();
    let settings = [
        ["--capacity=10000", "--remember=3600"],
        ["--capacity=50000", "--remember=3600"],
        ["--capacity=50000", "--remember=7200"],
        ["--capacity=10000", "--remember=3600"],
    ];
    for (run, args) in settings.iter().enumerate() {
        let service = Service::start(directory.path(), args);
        let capacity = args[0].split_once('=').unwrap().1.parse().unwrap();
        assert_eq!(service.metric("keys_capacity"), capacity);
        for before in 0..run {
            all_are_known(&service, &format!("run{before}"), 50);
        }
        pay_all(&service, &format!("run{run}"), 50);
        // A run ends in each way.
        match run % 2 {
            0 => service.stop(),
            _ => {
                service.wait_for_save();
                service.kill();
            }
        }
    }
    let files = directory.path().read_dir().unwrap().count();
    assert!(files >= settings.len(), "{files}");
}

/// An account that is on both lists is denied at each moment, and one that is on neither is served.
#[test]
fn a_deny_list_is_replaced_while_requests_use_it() {
    let directory = TempDir::new().unwrap();
    let service = Service::start(directory.path(), &[]);
    assert_eq!(service.pay("always", "before"), 201);
    let list = |number: u64| {
        let others = (0..2_000).map(|other| format!("list{number}-{other}\n"));
        format!("always\n{}", others.collect::<String>())
    };
    assert_eq!(service.deny(&list(0)), "2001 accounts\n");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (service, done) = (&service, &done);
            scope.spawn(move || {
                let mut number = 0;
                while !done.load(Ordering::Relaxed) {
                    number += 1;
                    assert_eq!(service.pay("always", "never seen"), 403);
                    assert_eq!(service.pay("ani", &format!("{client}-{number}")), 201);
                }
            });
        }
        for number in 1..30 {
            service.deny(&list(number));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(service.pay("list29-7", "a"), 403);
    assert_eq!(service.pay("list28-7", "b"), 201);
    assert_eq!(service.metric("denied"), 2001.0);
    assert!(service.metric("payments_total{status=\"403\"}") > 0.0);
    assert_eq!(service.deny(""), "0 accounts\n");
    assert_eq!(service.pay("always", "after"), 201);
    service.stop();
}

#[test]
fn requests_above_the_limit_are_refused() {
    let directory = TempDir::new().unwrap();
    let limits = ["--limit=20", "--window=3600"];
    let service = Service::start(directory.path(), &limits);
    for number in 1..=30 {
        let expected = if number <= 20 { 201 } else { 429 };
        assert_eq!(service.pay("ani", &format!("ani-{number}")), expected);
    }
    // Of racing requests, no more than the limit are served.
    let served = AtomicU64::new(0);
    in_each_client(|client| {
        for number in 0..10 {
            match service.pay("koel", &format!("koel-{client}-{number}")) {
                201 => drop(served.fetch_add(1, Ordering::Relaxed)),
                429 => {}
                other => panic!("{other}"),
            }
        }
    });
    assert!(served.load(Ordering::Relaxed) <= 20);
    assert_eq!(service.pay("koel", "koel"), 429);
    // The filter cannot count that many.
    in_each_client(|_| (0..200).for_each(|_| assert_eq!(service.pay("koel", "koel"), 429)));
    let refused = service.metric("payments_total{status=\"429\"}");
    assert_eq!(refused, (10 + 80 - served.into_inner() + 1 + 1600) as f64);
    service.stop();
}

#[test]
fn an_account_is_served_again_after_a_window() {
    let directory = TempDir::new().unwrap();
    let service = Service::start(directory.path(), &["--limit=1", "--window=2"]);
    let begin = Instant::now();
    assert_eq!(service.pay("ani", "before"), 201);
    for number in 0.. {
        // A request within the window counts, so each pause is longer than the one before.
        thread::sleep(Duration::from_millis(500) * number);
        if service.pay("ani", &format!("again-{number}")) == 201 {
            break;
        }
    }
    assert!(begin.elapsed() >= Duration::from_secs(2), "too early");
    service.stop();
}

#[test]
fn requests_without_a_key_are_refused() {
    let directory = TempDir::new().unwrap();
    let service = Service::start(directory.path(), &[]);
    let request = service.agent.post(format!("{}/payments/ani", service.url));
    assert_eq!(request.send_empty().unwrap().status(), 400);
    assert_eq!(service.metric("keys"), 0.0);
}
