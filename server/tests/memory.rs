//! The memory that the process really uses.

use crate::common::{Protocol, Raw, Server, ask, long, memory, request};
use std::{
    io::Read,
    sync::atomic::{
        AtomicBool,
        Ordering::{Acquire, Relaxed, Release},
    },
    thread,
    time::{Duration, Instant},
};

const MB: usize = 1 << 20;

/// The number of clients that create keys.
const MAKERS: usize = 8;

/// The number of commands in a pipeline.
const PIPELINE: usize = 10;

/// The most resident bytes when this number is charged.
fn allowed(used: usize) -> usize {
    used * 13 / 10 + 64 * MB
}

/// Reads a reply and drops it.
fn skip(client: &mut Raw) {
    let line = client.line();
    let (kind, rest) = line.split_at(1);
    let number = || rest.parse::<usize>().unwrap();
    match kind {
        "$" => {
            let mut reply = vec![0; number() + 2];
            client.0.read_exact(&mut reply).unwrap();
        }
        "*" => (0..number()).for_each(|_| skip(client)),
        "+" | ":" => {}
        _ => panic!("{line}"),
    }
}

/// Creates a key for each of these numbers, with a filter of this capacity.
fn make_keys(server: &Server, numbers: impl Iterator<Item = usize>, capacity: &str) {
    let mut client = server.raw();
    let numbers: Vec<usize> = numbers.collect();
    for numbers in numbers.chunks(PIPELINE) {
        let reserve = |number: &usize| {
            let key = format!("k{number}");
            request(&["CF.RESERVE", &key, capacity, "EXPANSION", "0"])
        };
        client.send(numbers.iter().flat_map(reserve).collect::<Vec<u8>>());
        numbers.iter().for_each(|_| skip(&mut client));
    }
}

/// The highest numbers of charged and of resident bytes.
#[derive(Clone, Copy, Default)]
struct Peak {
    used: usize,
    resident: usize,
}

/// Creates keys on eight connections. Other clients list keys and delete some of them.
fn round(server: &Server, keys: usize) -> Peak {
    let done = AtomicBool::new(false);
    let until_done = |most: usize, command: &dyn Fn(usize) -> Vec<u8>| {
        let mut client = server.raw();
        for number in (0..most).take_while(|_| !done.load(Relaxed)) {
            client.send(command(number));
            skip(&mut client);
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| until_done(usize::MAX, &|_| request(&["KEYS", "*"])));
        // Nine of ten keys stay.
        scope.spawn(|| {
            until_done(keys / 10, &|number| {
                request(&["DEL", &format!("k{}", number * 7 % keys)])
            });
        });
        let watch = scope.spawn(|| {
            let mut client = server.client(Protocol::Resp2);
            let mut peak = Peak::default();
            loop {
                // The last pass sees all keys that stay.
                let is_last = done.load(Acquire);
                peak.used = peak.used.max(memory(&mut client, "used_memory:"));
                peak.resident = peak.resident.max(server.resident_bytes());
                if is_last {
                    return peak;
                }
                thread::sleep(Duration::from_millis(3));
            }
        });
        let makers: Vec<_> = (0..MAKERS)
            .map(|maker| {
                scope.spawn(move || make_keys(server, (maker..keys).step_by(MAKERS), "5000"))
            })
            .collect();
        for maker in makers {
            maker.join().unwrap();
        }
        done.store(true, Release);
        watch.join().unwrap()
    })
}

/// Keys are created and deleted, and new keys reuse the memory of deleted ones, whichever threads
/// created and deleted them.
#[test]
#[cfg_attr(
    not(feature = "jemalloc"),
    ignore = "the C library's allocator keeps more"
)]
fn resident_memory_stays_near_what_is_charged() {
    let (rounds, keys) = if long() { (10, 24_000) } else { (3, 8_000) };
    let server = Server::start(&["--maxmemory", "300mb", "--threads", "4"]);
    let mut client = server.client(Protocol::Resp2);
    let mut peak = Peak::default();
    for _ in 0..rounds {
        let of_round = round(&server, keys);
        peak.used = peak.used.max(of_round.used);
        peak.resident = peak.resident.max(of_round.resident);
        ask::<()>(&mut client, "FLUSHALL");
    }
    let Peak { used, resident } = peak;
    eprintln!("{used} bytes charged at most, {resident} resident");
    assert!(used > keys * 8_000, "{used}");
    assert!(
        resident <= allowed(used),
        "{resident} resident, {used} charged"
    );
    if long() {
        let (begun, most) = (Instant::now(), allowed(memory(&mut client, "used_memory:")));
        while server.resident_bytes() > most {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "{} resident, and {most} are allowed",
                server.resident_bytes()
            );
            thread::sleep(Duration::from_millis(100));
        }
        eprintln!("given back after {:?}", begun.elapsed());
    }
}

/// The smallest filters, for which the server keeps more than their words.
#[test]
fn small_keys_are_charged_for_what_they_take() {
    const KEYS: usize = 100_000;
    let server = Server::start(&["--threads", "2"]);
    let mut client = server.client(Protocol::Resp2);
    let before = server.resident_bytes();
    make_keys(&server, 0..KEYS, "4");
    let used = memory(&mut client, "used_memory:");
    let grown = server.resident_bytes() - before;
    eprintln!(
        "{} bytes charged for a key, {} taken",
        used / KEYS,
        grown / KEYS
    );
    assert!(
        (used * 8 / 10..used * 11 / 10).contains(&grown),
        "{grown} for {used}"
    );
}

/// What monitoring sees of the process.
#[test]
fn info_shows_resident_memory() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    let shown = memory(&mut client, "used_memory_rss:");
    let seen = server.resident_bytes();
    assert!(shown.abs_diff(seen) < 8 * MB, "{shown} shown, {seen} seen");
}

/// A few threads run many slow commands, while others run fast commands.
#[test]
fn slow_commands_do_not_need_a_thread_each() {
    const CLIENTS: usize = 50;
    let server = Server::start(&["--threads", "2"]);
    make_keys(&server, 0..3_000, "100");
    let threads = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", server.process.id()));
        tasks.unwrap().count()
    };
    let mut busy: Vec<Raw> = (0..CLIENTS).map(|_| server.raw()).collect();
    for client in &mut busy {
        client.send(request(&["KEYS", "*"]).repeat(5));
    }
    let mut fast = server.raw();
    let mut most = 0;
    for _ in 0..100 {
        assert_eq!(fast.ask("PING\r\n"), "+PONG");
        most = most.max(threads());
    }
    for client in &mut busy {
        (0..5).for_each(|_| skip(client));
    }
    // The main thread; the workers; threads for slow or waiting work, a scrape and a standby; and
    // the threads of the allocator.
    let expected = 1 + 2 + (2 * guira_server::slow::AT_A_TIME + 2) + 4;
    assert!(most <= expected, "{most} threads, {expected} expected");
}
