//! How long a command on a large filter blocks the engine's main thread, which serves all clients:
//! `ci/module.sh --stalls`.

mod common;

use common::{Engine, ask, dump, info, is_skipped, is_sound, until};
use redis::{Connection, Value};
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

/// No command of the module may take this long.
const MOST: Duration = Duration::from_millis(10);

/// With these items the filter has 107 MB. It may have 134.
const ITEMS: usize = 60_000_000;

/// The number of items of one command.
const SOME: usize = 1_000;

const REPEATS: usize = 5;

/// The time that the main thread spends on a command, and the result of the command.
fn cost<R>(engine: &Engine, command: impl FnOnce() -> R) -> (Duration, R) {
    let before = engine.worked();
    let result = command();
    (engine.worked() - before, result)
}

/// The lowest cost of several runs, because other processes slow down a processor.
fn least(engine: &Engine, mut command: impl FnMut()) -> Duration {
    let costs = (0..REPEATS).map(|_| cost(engine, &mut command).0);
    costs.min().unwrap_or_default()
}

fn milliseconds(cost: Duration) -> f64 {
    cost.as_secs_f64() * 1000.0
}

fn exec(client: &mut Connection, words: &redis::Cmd) -> Value {
    words.query(client).expect("it is done")
}

/// A window of 130 MB with epochs of a second.
const WINDOWED: &str = "CF.RESERVE w 55000000 WINDOW 12 EPOCHS 12";

/// The time that the main thread spends on a command and on related work, while a large window
/// advances by many epochs, and items are added and expire.
#[test]
#[ignore = "it fills a window of 130 MB: ci/module.sh --stalls"]
fn steps_do_not_hold_up_others() {
    const ITEMS: usize = 2_000_000;
    const EACH: usize = 200;
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let mut client = engine.client();
    ask::<()>(&mut client, WINDOWED);
    let bytes: u64 = ask(&mut client, "MEMORY USAGE w");
    let begun = Instant::now();
    let (mut costs, mut added) = (Vec::new(), 0);
    for first in (0..ITEMS).step_by(EACH).cycle() {
        let items: Vec<usize> = (first..first + EACH).collect();
        let mut insert = redis::cmd("CF.INSERTNX");
        insert.arg("w").arg("ITEMS").arg(items);
        let (cost, answers) = cost(&engine, || insert.query::<Vec<usize>>(&mut client));
        costs.push(cost);
        added += answers.expect("there is room").iter().sum::<usize>();
        if begun.elapsed() > Duration::from_secs(30) {
            break;
        }
    }
    assert!(costs.len() > 1000, "{} looks", costs.len());
    costs.sort_unstable();
    let most = costs[costs.len() - 1];
    println!(
        "epochs of a window of {bytes} bytes: {:.2} ms at most, {:.2} ms as a rule, in {} looks",
        milliseconds(most),
        milliseconds(costs[costs.len() / 2]),
        costs.len()
    );
    is_sound(&mut client);
    // Epochs began, and another thread swept their expired items.
    let info: HashMap<String, usize> = ask(&mut client, "CF.INFO w");
    let held = info["Number of items inserted"];
    assert!(held < added, "{held} of {added} items");
    assert!(engine.threads("guira") > 0, "nobody has swept");
    assert!(most <= MOST, "a step took {most:?} of the main thread");
}

#[test]
#[ignore = "it fills a filter of 100 MB, for a minute or two: ci/module.sh --stalls"]
fn commands_do_not_hold_up_others() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let mut client = engine.client();
    let mut costs: Vec<(&str, Duration)> = Vec::new();
    let reserve = least(&engine, || {
        ask::<()>(&mut client, "DEL k");
        ask::<()>(&mut client, "CF.RESERVE k 1000000 MAXCAPACITY 64000000");
    });
    costs.push(("CF.RESERVE", reserve));

    // Growth happens only once.
    let inserts: Vec<Duration> = (0..ITEMS)
        .step_by(SOME)
        .map(|first| {
            let items: Vec<usize> = (first..first + SOME).collect();
            let mut insert = redis::cmd("CF.INSERT");
            insert.arg("k").arg("ITEMS").arg(items);
            cost(&engine, || exec(&mut client, &insert)).0
        })
        .collect();
    let bytes: u64 = ask(&mut client, "MEMORY USAGE k");
    let insert = least(&engine, || {
        let mut insert = redis::cmd("CF.INSERT");
        insert
            .arg("k")
            .arg("ITEMS")
            .arg((0..SOME).collect::<Vec<_>>());
        exec(&mut client, &insert);
    });
    costs.push(("CF.INSERT of 1000", insert));

    for name in ["CF.ADD", "CF.EXISTS", "CF.COUNT", "CF.DEL"] {
        let words = format!("{name} k new");
        costs.push((name, least(&engine, || ask(&mut client, &words))));
    }
    let mut lookup = redis::cmd("CF.MEXISTS");
    lookup.arg("k").arg((0..10_000).collect::<Vec<_>>());
    let lookup = least(&engine, || {
        exec(&mut client, &lookup);
    });
    costs.push(("CF.MEXISTS of 10000", lookup));
    for name in ["CF.INFO", "CF.DEBUG", "CF.COMPACT"] {
        let words = format!("{name} k");
        costs.push((name, least(&engine, || ask(&mut client, &words))));
    }
    let mut begin = redis::cmd("CF.SCANDUMP");
    begin.arg("k").arg(1);
    let begin = least(&engine, || {
        exec(&mut client, &begin);
    });
    costs.push(("CF.SCANDUMP, the snapshot", begin));
    let (whole, pieces) = cost(&engine, || dump(&mut client, "k"));
    costs.push((
        "CF.SCANDUMP, a piece on average",
        whole / pieces.len() as u32,
    ));

    let mut loads = vec![Duration::MAX; pieces.len()];
    for _ in 0..REPEATS {
        ask::<()>(&mut client, "DEL loaded");
        for (piece, least) in pieces.iter().zip(&mut loads) {
            let (cost, ()) = cost(&engine, || common::load(&mut client, "loaded", piece));
            *least = cost.min(*least);
        }
    }
    let last = loads.pop().expect("there are pieces");
    costs.push(("CF.LOADCHUNK", loads.into_iter().max().unwrap_or_default()));
    costs.push(("CF.LOADCHUNK, the last", last));
    let of = |client: &mut Connection, key: &str| -> Vec<String> {
        ask(client, &format!("DEBUG DIGEST-VALUE {key}"))
    };
    assert_eq!(of(&mut client, "loaded"), of(&mut client, "k"));

    let mut engines = Vec::new();
    for (name, words) in [
        ("COPY", "COPY k copy REPLACE"),
        ("SAVE", "SAVE"),
        ("DUMP", "DUMP k"),
        ("DEBUG DIGEST-VALUE", "DEBUG DIGEST-VALUE k"),
    ] {
        let cost = least(&engine, || {
            ask::<Value>(&mut client, words);
        });
        engines.push((name, cost));
    }
    engines.push((
        "DEL",
        cost(&engine, || ask::<()>(&mut client, "DEL copy")).0,
    ));
    ask::<()>(&mut client, "UNLINK k loaded");
    until("the filters are freed", || {
        info(&mut client, "guira_filters_bytes") == 0
    });
    is_sound(&mut client);

    println!(
        "a filter of {bytes} bytes with {ITEMS} items, {} pieces:",
        pieces.len()
    );
    for &(name, cost) in costs.iter().chain(&engines) {
        println!("{name}: {:.2} ms", milliseconds(cost));
    }
    let longer = inserts.iter().filter(|&&cost| cost > MOST).count();
    let most = inserts.iter().copied().max().unwrap_or_default();
    println!(
        "while it grew, {longer} of {} CF.INSERT of 1000 took longer than {MOST:?}, and {:.2} ms at most",
        inserts.len(),
        milliseconds(most)
    );
    for (name, cost) in costs {
        assert!(cost <= MOST, "{name} took {cost:?} of the main thread");
    }
    // Other processes slow down a processor.
    assert!(
        longer <= inserts.len() / 1000,
        "{longer} of {}",
        inserts.len()
    );
}
