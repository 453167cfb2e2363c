//! Filters survive both kinds of file, reloads, copies, and kills.

mod common;

use common::{
    Engine, ask, digest, dump, info, is_skipped, is_sound, load, long,
    oracle::{Oracle, check_all},
    until,
};
use redis::Connection;
use std::thread;

/// Four clients change one key, each with its own items.
fn churn(engine: &Engine, oracles: &mut [Oracle], count: usize) {
    thread::scope(|scope| {
        for oracle in oracles {
            scope.spawn(|| oracle.work(&mut engine.client(), count));
        }
    });
}

fn clients(key: &str) -> Vec<Oracle> {
    (0..4).map(|client| Oracle::new(key, client)).collect()
}

/// Loads half of a key, and returns the remaining pieces.
fn half_loaded(client: &mut Connection) -> Vec<(u64, Vec<u8>)> {
    ask::<()>(client, "CF.RESERVE source 2000000 EXPANSION 0");
    for item in 0..100 {
        ask::<i64>(client, &format!("CF.ADD source {item}"));
    }
    let mut pieces = dump(client, "source");
    assert!(pieces.len() > 3);
    let rest = pieces.split_off(2);
    for piece in &pieces {
        load(client, "half", piece);
    }
    rest
}

/// Completes the load of a filter that was half loaded.
fn finish(client: &mut Connection, rest: &[(u64, Vec<u8>)]) {
    for piece in rest {
        load(client, "half", piece);
    }
    let of = |client: &mut Connection, key: &str| ask::<String>(client, &format!("CF.DEBUG {key}"));
    let (half, source) = (of(client, "half"), of(client, "source"));
    let known = |text: &str| text.split(" load_factor").next().map(str::to_owned);
    assert_eq!(known(&half), known(&source));
    ask::<()>(client, "DEL half source");
}

/// Runs a few rounds. `end` may stop the engine, and restarts it in this case.
fn survives(arguments: &[&str], end: impl Fn(&mut Engine, &mut Connection)) {
    if is_skipped() {
        return;
    }
    let mut engine = Engine::start(arguments);
    let mut oracles = clients("k");
    for round in 0..if long() { 20 } else { 3 } {
        churn(&engine, &mut oracles, 2_000);
        let mut client = engine.client();
        ask::<()>(
            &mut client,
            &format!("CF.RESERVE fixed{round} 1000 EXPANSION 0 ERROR 0.0001"),
        );
        ask::<()>(&mut client, &format!("EXPIRE fixed{round} 10000"));
        let rest = half_loaded(&mut client);
        let before = digest(&mut client);
        end(&mut engine, &mut client);
        let mut client = engine.client();
        assert_eq!(digest(&mut client), before, "round {round}");
        check_all(&mut client, "k", &oracles.iter().collect::<Vec<_>>());
        assert!(ask::<i64>(&mut client, &format!("TTL fixed{round}")) > 9_000);
        finish(&mut client, &rest);
        is_sound(&mut client);
    }
}

#[test]
fn a_save_has_all() {
    survives(&[], |engine, client| {
        ask::<()>(client, "SAVE");
        engine.kill();
        engine.start_again();
    });
}

#[test]
fn a_save_in_the_background_has_all() {
    survives(&["--rdbcompression", "no"], |engine, client| {
        ask::<()>(client, "BGSAVE");
        until("the save ends", || {
            info(client, "rdb_bgsave_in_progress") == 0
        });
        engine.kill();
        engine.start_again();
    });
}

#[test]
fn a_reload_has_all() {
    survives(&[], |_, client| ask::<()>(client, "DEBUG RELOAD"));
}

#[test]
fn each_command_that_was_answered_is_in_the_file() {
    survives(
        &["--appendonly", "yes", "--appendfsync", "always"],
        |engine, _| {
            engine.kill();
            engine.start_again();
        },
    );
}

#[test]
fn a_file_that_was_rewritten_has_all() {
    for preamble in ["yes", "no"] {
        let arguments = ["--appendonly", "yes", "--appendfsync", "always"];
        let arguments = [&arguments[..], &["--aof-use-rdb-preamble", preamble]].concat();
        survives(&arguments, |engine, client| {
            ask::<()>(client, "BGREWRITEAOF");
            until("the file is rewritten", || {
                info(client, "aof_rewrite_in_progress") + info(client, "aof_rewrite_scheduled") == 0
            });
            engine.kill();
            engine.start_again();
        });
    }
}

/// Clients and the module's threads keep working while the engine forks.
#[test]
fn saves_while_clients_work_can_be_loaded() {
    if is_skipped() {
        return;
    }
    let mut engine = Engine::start(&["--appendonly", "yes", "--appendfsync", "always"]);
    let mut oracles = clients("k");
    let mut client = engine.client();
    ask::<()>(&mut client, "CF.RESERVE large 3000000");
    for _ in 0..if long() { 20 } else { 4 } {
        thread::scope(|scope| {
            for oracle in &mut oracles {
                let mut client = engine.client();
                scope.spawn(move || oracle.work(&mut client, 3_000));
            }
            let mut dumper = engine.client();
            scope.spawn(move || dump(&mut dumper, "large"));
            for _ in 0..3 {
                ask::<()>(&mut client, "BGREWRITEAOF");
                until("the file is rewritten", || {
                    info(&mut client, "aof_rewrite_in_progress") == 0
                });
                assert!(
                    ask::<String>(&mut client, "INFO persistence")
                        .contains("aof_last_bgrewrite_status:ok")
                );
            }
        });
        let before = digest(&mut client);
        engine.kill();
        engine.start_again();
        client = engine.client();
        assert_eq!(digest(&mut client), before);
        check_all(&mut client, "k", &oracles.iter().collect::<Vec<_>>());
        is_sound(&mut client);
    }
}

/// The AOF alone creates the same filters in an engine with other settings.
#[test]
fn the_file_of_commands_does_not_depend_on_settings() {
    if is_skipped() {
        return;
    }
    let arguments = ["--appendonly", "yes", "--aof-use-rdb-preamble", "no"];
    let mut engine = Engine::start(&arguments);
    let mut oracles = clients("k");
    churn(&engine, &mut oracles, 2_000);
    let mut client = engine.client();
    ask::<()>(&mut client, "CF.RESERVE large 100000");
    let before = digest(&mut client);
    ask::<()>(&mut client, "CONFIG SET appendfsync always");
    ask::<i64>(&mut client, "DEL nothing");
    engine.kill();
    let copy = engine.copy_of_commands();
    let settings = [
        "--loadmodule",
        "MODULE",
        "default-capacity",
        "50000",
        "default-error-rate",
        "0.3",
        "max-filter-bytes",
        "64kb",
    ];
    let other = Engine::start_in(copy, &[&arguments[..], &settings].concat());
    let mut client = other.client();
    assert_eq!(digest(&mut client), before);
    check_all(&mut client, "k", &oracles.iter().collect::<Vec<_>>());
    is_sound(&mut client);
}

#[test]
fn copies_and_dumps_of_the_engine_are_equal() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let mut oracles = clients("k");
    churn(&engine, &mut oracles, 3_000);
    let mut client = engine.client();
    let rest = half_loaded(&mut client);
    for key in ["k", "half"] {
        let of = |client: &mut Connection, key: &str| {
            ask::<Vec<String>>(client, &format!("DEBUG DIGEST-VALUE {key}"))
        };
        let before = of(&mut client, key);
        ask::<i64>(&mut client, &format!("COPY {key} copy"));
        assert_eq!(of(&mut client, "copy"), before);
        let payload: Vec<u8> = ask(&mut client, &format!("DUMP {key}"));
        let mut restore = redis::cmd("RESTORE");
        restore.arg("restored").arg(0).arg(payload);
        assert_eq!(restore.query::<String>(&mut client).unwrap(), "OK");
        assert_eq!(of(&mut client, "restored"), before);
        ask::<()>(&mut client, &format!("RENAME {key} renamed"));
        assert_eq!(of(&mut client, "renamed"), before);
        ask::<()>(&mut client, &format!("RENAME renamed {key}"));
        ask::<()>(&mut client, "UNLINK copy restored");
    }
    finish(&mut client, &rest);
    is_sound(&mut client);
}
