//! Tests the service as a process that several HTTP clients use concurrently.
#![cfg(unix)]

use serde_json::Value;
use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
    thread,
};
use tempfile::TempDir;
use ureq::Agent;

const CLIENTS: u64 = 8;

fn service(database: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_guira-example-absent-keys"));
    command
        .args(["--listen", "127.0.0.1:0", "--database"])
        .arg(database);
    command
}

/// The running service. It is killed on drop, so that a failing test leaves no process behind.
struct Service {
    process: Child,
    url: String,
    agent: Agent,
}

impl Service {
    fn start(database: &Path) -> Self {
        Self::spawn(service(database).arg("--capacity=10000"))
    }

    fn spawn(command: &mut Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let url = line
            .trim_end()
            .strip_prefix("listening on ")
            .unwrap()
            .to_owned();
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_idle_connections_per_host(CLIENTS as usize)
            .build()
            .into();
        Self {
            process,
            url,
            agent,
        }
    }

    /// Stops the service as ctrl-c does, and waits until it has ended successfully.
    fn stop(mut self) {
        let kill = format!("kill -INT {}", self.process.id());
        assert!(
            Command::new("sh")
                .args(["-c", &kill])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(self.process.wait().unwrap().code(), Some(0));
    }

    fn item(&self, key: &str) -> String {
        format!("{}/items/{key}", self.url)
    }

    fn put(&self, key: &str, value: &str) -> u16 {
        self.agent
            .put(self.item(key))
            .send(value)
            .unwrap()
            .status()
            .as_u16()
    }

    fn delete(&self, key: &str) -> u16 {
        self.agent
            .delete(self.item(key))
            .call()
            .unwrap()
            .status()
            .as_u16()
    }

    /// The value, or `None` if the key is not found.
    fn get(&self, key: &str) -> Option<String> {
        let mut response = self.agent.get(self.item(key)).call().unwrap();
        let body = response.body_mut().read_to_string().unwrap();
        match response.status().as_u16() {
            200 => Some(body),
            404 => None,
            other => panic!("GET {key}: {other}"),
        }
    }

    fn stats(&self) -> Value {
        let mut response = self
            .agent
            .get(format!("{}/stats", self.url))
            .call()
            .unwrap();
        serde_json::from_str(&response.body_mut().read_to_string().unwrap()).unwrap()
    }

    /// Checks that at rest the filter has one copy for each item in the database.
    #[track_caller]
    fn assert_items(&self, items: u64) {
        let stats = self.stats();
        assert_eq!(stats["items"], items, "{stats}");
        assert_eq!(stats["filter"]["items"], items, "{stats}");
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

#[test]
fn each_client_reads_its_own_writes() {
    let directory = TempDir::new().unwrap();
    let service = Service::start(&directory.path().join("items.redb"));
    in_each_client(|client| {
        for number in 0..40 {
            let key = format!("{client}-{number}");
            assert_eq!(service.get(&key), None);
            assert_eq!(service.put(&key, "first"), 201);
            assert_eq!(service.get(&key).as_deref(), Some("first"));
            assert_eq!(service.put(&key, "second"), 204);
            assert_eq!(service.get(&key).as_deref(), Some("second"));
            if number % 2 == 0 {
                assert_eq!(service.delete(&key), 204);
                assert_eq!(service.get(&key), None);
                assert_eq!(service.delete(&key), 404);
            }
            if number % 4 == 0 {
                assert_eq!(service.put(&key, "third"), 201);
                assert_eq!(service.get(&key).as_deref(), Some("third"));
            }
        }
    });
    // Every other key was deleted, and half of those were stored again.
    service.assert_items(CLIENTS * 30);
    in_each_client(|client| {
        for number in 0..40 {
            let expected = ["third", "second", "", "second"][number % 4];
            let expected = (!expected.is_empty()).then_some(expected);
            assert_eq!(
                service.get(&format!("{client}-{number}")).as_deref(),
                expected
            );
        }
    });
}

#[test]
fn clients_that_race_for_one_key_leave_one_copy_or_none() {
    let directory = TempDir::new().unwrap();
    let service = Service::start(&directory.path().join("items.redb"));
    const KEYS: usize = 3;
    let balance: [AtomicI64; KEYS] = Default::default();
    in_each_client(|client| {
        for round in 0..90 {
            let number = round % KEYS;
            let key = format!("shared-{number}");
            // Half of the clients put while the other half deletes.
            let change = match (client + round as u64 / 3) % 2 {
                0 => match service.put(&key, "value") {
                    201 => 1,
                    204 => 0,
                    other => panic!("PUT {key}: {other}"),
                },
                _ => match service.delete(&key) {
                    204 => -1,
                    404 => 0,
                    other => panic!("DELETE {key}: {other}"),
                },
            };
            balance[number].fetch_add(change, Ordering::Relaxed);
        }
    });
    let balance = balance.map(AtomicI64::into_inner);
    for (number, &balance) in balance.iter().enumerate() {
        assert!(
            balance == 0 || balance == 1,
            "created {balance} times more than deleted"
        );
        assert_eq!(
            service.get(&format!("shared-{number}")).is_some(),
            balance == 1
        );
    }
    service.assert_items(balance.iter().sum::<i64>().try_into().unwrap());
    // After the race, the keys work like any others.
    for number in 0..KEYS {
        let key = format!("shared-{number}");
        service.put(&key, "value");
        assert_eq!(service.get(&key).as_deref(), Some("value"));
        assert_eq!(service.delete(&key), 204);
        assert_eq!(service.get(&key), None);
    }
    service.assert_items(0);
}

#[test]
fn a_key_that_is_only_overwritten_is_never_absent() {
    let directory = TempDir::new().unwrap();
    let service = Service::start(&directory.path().join("items.redb"));
    assert_eq!(service.put("held", "0"), 201);
    in_each_client(|client| {
        for round in 0..40 {
            if client % 2 == 0 {
                assert_eq!(service.put("held", &round.to_string()), 204);
                // These keys share the table with the tested one, and are stored and deleted.
                service.put(&format!("{client}"), "neighbour");
                service.delete(&format!("{client}"));
            } else {
                assert!(service.get("held").is_some());
            }
        }
    });
    service.assert_items(1);
}

#[test]
fn saved_reads_are_counted() {
    let directory = TempDir::new().unwrap();
    let service = Service::start(&directory.path().join("items.redb"));
    in_each_client(|client| {
        for number in 0..10 {
            assert_eq!(service.put(&format!("{client}-{number}"), "value"), 201);
        }
    });
    let found = AtomicU64::new(0);
    in_each_client(|client| {
        for number in 0..100 {
            let value = service.get(&format!("{client}-{number}"));
            assert_eq!(value.is_some(), number < 10);
            found.fetch_add(value.is_some().into(), Ordering::Relaxed);
        }
    });
    let found = found.into_inner();
    let absent = CLIENTS * 100 - found;
    let stats = service.stats();
    let count = |name: &str| stats[name].as_u64().unwrap();
    assert_eq!(count("reads_saved") + count("false_positives"), absent);
    assert_eq!(count("database_reads"), found + count("false_positives"));
    // If the filter were full, at most 0.1 % of 720 lookups would be false positives, so 20 are
    // practically impossible.
    assert!(count("false_positives") < 20, "{stats}");
    assert!(
        stats["filter"]["bytes"].as_u64().unwrap() >= 10_000,
        "{stats}"
    );
}

#[test]
fn the_filter_is_rebuilt_from_the_database() {
    let directory = TempDir::new().unwrap();
    let database = directory.path().join("items.redb");
    let service = Service::start(&database);
    in_each_client(|client| {
        for number in 0..20 {
            assert_eq!(service.put(&format!("{client}-{number}"), "value"), 201);
        }
    });
    assert_eq!(service.delete("0-0"), 204);
    service.stop();

    let service = Service::start(&database);
    service.assert_items(CLIENTS * 20 - 1);
    for client in 0..CLIENTS {
        for number in 0..20 {
            let value = service.get(&format!("{client}-{number}"));
            assert_eq!(value.is_some(), (client, number) != (0, 0));
        }
    }
    // Each key has exactly one copy.
    assert_eq!(service.put("1-1", "again"), 204);
    assert_eq!(service.delete("1-1"), 204);
    assert_eq!(service.get("1-1"), None);
    service.assert_items(CLIENTS * 20 - 2);
    service.stop();

    let output = service_output(service_with_capacity(&database, 1));
    assert_eq!(output.0, Some(1));
    assert!(
        output
            .1
            .contains("holds 158 items, more than --capacity 1 "),
        "{}",
        output.1
    );
}

#[test]
fn a_full_filter_refuses_new_keys_and_keeps_the_old() {
    let directory = TempDir::new().unwrap();
    let database = directory.path().join("items.redb");
    let service = Service::spawn(&mut service_with_capacity(&database, 8));
    let kept: Vec<String> = (0..64)
        .map(|number| number.to_string())
        .filter(|key| match service.put(key, "value") {
            201 => true,
            507 => false,
            other => panic!("PUT {key}: {other}"),
        })
        .collect();
    assert!((8..64).contains(&kept.len()), "{} kept", kept.len());
    service.assert_items(kept.len() as u64);
    for number in 0..64 {
        let key = number.to_string();
        assert_eq!(service.get(&key).is_some(), kept.contains(&key), "{key}");
    }
    // An overwrite needs no room, and a deletion makes room.
    assert_eq!(service.put(&kept[0], "new"), 204);
    assert_eq!(service.delete(&kept[0]), 204);
    assert_eq!(service.put(&kept[0], "newer"), 201);
    assert_eq!(service.get(&kept[0]).as_deref(), Some("newer"));
}

#[test]
fn keys_and_values_may_be_any_text() {
    let directory = TempDir::new().unwrap();
    let service = Service::start(&directory.path().join("items.redb"));
    for key in ["a%2Fb", "%20", "%F0%9F%90%A6", "..%2f.."] {
        assert_eq!(service.put(key, key), 201);
        assert_eq!(service.get(key).as_deref(), Some(key));
    }
    assert_eq!(service.put("empty", ""), 201);
    assert_eq!(service.get("empty").as_deref(), Some(""));
    service.assert_items(5);
}

#[test]
fn what_is_in_the_way_is_named() {
    let directory = TempDir::new().unwrap();
    let no_database = directory.path().join("text");
    std::fs::write(&no_database, "not a database").unwrap();
    let (code, message) = service_output(service(&no_database));
    assert_eq!(code, Some(1));
    assert!(
        message.starts_with("absent-keys: cannot open the database: "),
        "{message}"
    );

    let running = Service::start(&directory.path().join("items.redb"));
    let address = running.url.strip_prefix("http://").unwrap();
    let mut second = Command::new(env!("CARGO_BIN_EXE_guira-example-absent-keys"));
    second
        .args(["--listen", address, "--database"])
        .arg(directory.path().join("other.redb"));
    let (code, message) = service_output(second);
    assert_eq!(code, Some(1));
    assert!(
        message.starts_with(&format!("absent-keys: cannot listen on {address}: ")),
        "{message}"
    );
}

fn service_with_capacity(database: &Path, capacity: usize) -> Command {
    let mut command = service(database);
    command.arg(format!("--capacity={capacity}"));
    command
}

/// The exit status and the error message of a service that does not start.
fn service_output(mut command: Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

fn put_named(service: &Service, name: &str, key: &str, value: &str) -> u16 {
    let request = service.agent.put(service.item(key));
    let request = request.header("Idempotency-Key", name);
    request.send(value).unwrap().status().as_u16()
}

#[test]
fn a_request_with_a_key_is_done_once() {
    let directory = TempDir::new().unwrap();
    let service = Service::start(&directory.path().join("items.redb"));
    assert_eq!(put_named(&service, "request 1", "guira", "one"), 201);
    assert_eq!(put_named(&service, "request 1", "guira", "two"), 409);
    assert_eq!(service.get("guira").as_deref(), Some("one"));
    assert_eq!(put_named(&service, "request 2", "guira", "three"), 204);
    // A request without a key is executed each time.
    assert_eq!(service.put("guira", "four"), 204);
    assert_eq!(service.put("guira", "five"), 204);
    assert_eq!(service.get("guira").as_deref(), Some("five"));
    service.stop();
}

#[test]
fn of_racing_requests_with_a_key_one_is_done() {
    let directory = TempDir::new().unwrap();
    let service = Service::start(&directory.path().join("items.redb"));
    for round in 0..20 {
        let name = format!("request {round}");
        let put = || put_named(&service, &name, &name.replace(' ', "-"), "value");
        let answers: Vec<u16> = thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(put)).collect();
            let answers = clients.into_iter().map(|client| client.join().unwrap());
            answers.collect()
        });
        let done = answers.iter().filter(|&&answer| answer == 201).count();
        let repeated = answers.iter().filter(|&&answer| answer == 409).count();
        assert_eq!((done, repeated), (1, CLIENTS as usize - 1), "{answers:?}");
    }
    service.assert_items(20);
    service.stop();
}

#[test]
fn a_request_that_failed_may_come_again_with_its_key() {
    let directory = TempDir::new().unwrap();
    let database = directory.path().join("items.redb");
    let service = Service::spawn(service(&database).arg("--capacity=1"));
    let mut stored = Vec::new();
    let refused = (0..10_000).find(|item| {
        let (name, key) = (format!("request {item}"), format!("key-{item}"));
        match put_named(&service, &name, &key, "value") {
            201 => stored.push(key),
            507 => return true,
            other => panic!("{key}: {other}"),
        }
        false
    });
    let refused = refused.expect("room for few keys");
    let (name, key) = (format!("request {refused}"), format!("key-{refused}"));
    assert_eq!(put_named(&service, &name, &key, "value"), 507);
    for key in &stored {
        assert_eq!(service.delete(key), 204);
    }
    assert_eq!(put_named(&service, &name, &key, "value"), 201);
    assert_eq!(put_named(&service, &name, &key, "value"), 409);
    service.stop();
}
