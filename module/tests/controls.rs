//! Modules with faults, and the checks that detect them: each test shows that another one can fail.

mod common;

use common::{
    Engine, FAULT, ask,
    cluster::{Cluster, PRIMARIES},
    digest, dump, is_skipped, load, refusal, text, try_ask, until,
};
use redis::Value;

fn follow(replica: &Engine, primary: &Engine) {
    ask::<()>(
        &mut replica.client(),
        &format!("REPLICAOF 127.0.0.1 {}", primary.port),
    );
    until("the replica is connected", || {
        ask::<String>(&mut replica.client(), "INFO replication").contains("master_link_status:up")
    });
}

/// Whether primary and replica are equal after `work`, with this fault in the module.
fn are_equal_with(fault: &str, work: impl Fn(&Engine)) -> bool {
    let primary = Engine::start(&[FAULT, fault]);
    let replica = Engine::start(&[FAULT, fault]);
    follow(&replica, &primary);
    work(&primary);
    let (mut one, mut other) = (primary.client(), replica.client());
    until("the replica has all", || {
        common::info(&mut one, "master_repl_offset")
            == common::info(&mut other, "master_repl_offset")
    });
    digest(&mut one) == digest(&mut other)
}

fn add(primary: &Engine) {
    let mut client = primary.client();
    ask::<()>(&mut client, "CF.RESERVE k 100");
    for item in 0..100 {
        ask::<i64>(&mut client, &format!("CF.ADD made {item}"));
        ask::<i64>(&mut client, &format!("CF.ADD k {item}"));
    }
}

#[test]
fn to_tell_what_the_client_said_is_wrong() {
    if is_skipped() {
        return;
    }
    assert!(are_equal_with("NONE", add));
    assert!(!are_equal_with("VERBATIM", add));
}

#[test]
fn to_forget_the_time_is_wrong() {
    if is_skipped() {
        return;
    }
    let work = |primary: &Engine| {
        let mut client = primary.client();
        ask::<()>(&mut client, "CF.RESERVE k 100 WINDOW 1 EPOCHS 2");
        ask::<i64>(&mut client, "CF.ADD k a");
        until("the item is forgotten", || {
            ask::<i64>(&mut client, "CF.EXISTS k a") == 0
        });
    };
    assert!(are_equal_with("NONE", work));
    assert!(!are_equal_with("FORGET_CLOCK", work));
}

#[test]
fn to_forget_a_piece_is_wrong() {
    if is_skipped() {
        return;
    }
    let work = |primary: &Engine| {
        let mut client = primary.client();
        ask::<i64>(&mut client, "CF.ADD source a");
        for piece in dump(&mut client, "source") {
            load(&mut client, "copy", &piece);
        }
    };
    assert!(are_equal_with("NONE", work));
    assert!(!are_equal_with("FORGET_LOAD", work));
}

#[test]
fn slots_do_not_move_at_once_unless_the_engine_is_told() {
    if is_skipped() {
        return;
    }
    let words = "CLUSTER MIGRATESLOTS SLOTSRANGE 0 1 NODE 0123456789012345678901234567890123456789";
    for fault in ["NONE", "NO_SLOT_MIGRATION"] {
        let engine = Engine::start(&[FAULT, fault, "--cluster-enabled", "yes"]);
        let mut client = engine.client();
        ask::<()>(&mut client, "CLUSTER ADDSLOTSRANGE 0 16383");
        let refused = refusal(&mut client, words);
        if refused.contains("unknown subcommand") || refused.contains("Unknown subcommand") {
            eprintln!("this engine has no CLUSTER MIGRATESLOTS");
            return;
        }
        let of_module = refused.to_lowercase().contains("module");
        assert_eq!(
            of_module,
            fault == "NO_SLOT_MIGRATION",
            "{fault}: {refused}"
        );
    }
}

/// Valkey 9 reads an uninitialized variable if a module replicates a command without keys while a
/// slot leaves the node. A build with faults sets it to the value that ends the migration.
#[test]
fn the_clock_moves_while_a_slot_moves() {
    const SLOT: (u16, u16) = (0, 0);
    if is_skipped() {
        return;
    }
    for (fault, message) in [
        ("NONE", ""),
        (
            "REPLICATE_CLOCK",
            "A module replicated a cross-slot command",
        ),
    ] {
        let cluster = Cluster::start_with(PRIMARIES, &[FAULT, fault]);
        let mut client = cluster.0[0].client();
        let pause = "DEBUG SLOTMIGRATION PREVENT-PAUSE";
        // The migration waits for the writes to stop until this is 0 again.
        let waits = try_ask::<()>(&mut client, &format!("{pause} 1")).is_ok();
        if !cluster.begin_migration(0, 1, &[SLOT]) {
            eprintln!("this engine has no CLUSTER MIGRATESLOTS");
            return;
        }
        assert!(waits, "the migration may be over before the clock moves");
        // The key is on the first node, in the slot 3300.
        ask::<()>(&mut client, "CF.RESERVE b 100 WINDOW 1 EPOCHS 2");
        ask::<i64>(&mut client, "CF.ADD b a");
        until("the item is forgotten", || {
            ask::<i64>(&mut client, "CF.EXISTS b a") == 0
        });
        assert_eq!(cluster.exports(0)[0]["message"], message);
        if fault == "NONE" {
            ask::<()>(&mut client, &format!("{pause} 0"));
            until("the slot has moved", || {
                cluster.exports(0)[0]["state"] == "success"
            });
        }
    }
}

#[test]
fn memory_is_not_aligned_by_itself() {
    if is_skipped() {
        return;
    }
    let misaligned = |fault| {
        let engine = Engine::start(&[FAULT, fault]);
        let memory: String = ask(&mut engine.client(), "INFO memory");
        let log = engine.log();
        let line = log
            .lines()
            .find_map(|line| line.strip_suffix(" of 2000 allocations are misaligned"));
        let count = line.and_then(|line| line.rsplit(' ').next()?.parse::<u32>().ok());
        (
            count.expect("it is logged"),
            memory.contains("mem_allocator:libc"),
        )
    };
    assert_eq!(misaligned("NONE").0, 0);
    let (count, is_libc) = misaligned("MISALIGNED");
    // jemalloc happens to align memory whose size equals its alignment.
    assert_eq!(count > 1000, is_libc, "{count} of 2000");
}

/// A panic during the save of a value stops the process that writes it, so neither a client nor a
/// file gets half a value.
#[test]
fn half_a_value_is_never_saved() {
    if is_skipped() {
        return;
    }
    let mut engine = Engine::start(&[]);
    ask::<i64>(&mut engine.client(), "CF.ADD k a");
    let before = digest(&mut engine.client());
    ask::<()>(&mut engine.client(), "SAVE");
    engine.kill();
    let arguments = [FAULT, "PANIC_IN_SAVE"];
    for words in ["DUMP k", "SAVE", "DEBUG RELOAD", "SHUTDOWN SAVE"] {
        let mut engine = Engine::start_in(engine.copy_of_file(), &arguments);
        let mut client = engine.client();
        assert_eq!(digest(&mut client), before);
        let answer = try_ask::<Value>(&mut client, words);
        let error = answer.expect_err("half a value is no answer");
        assert!(error.is_io_error(), "{words}: {error}");
        until("the engine ends", || !engine.is_alive());
        assert!(engine.log().contains("a filter was only partly written"));
        // The previous save still exists.
        let engine = Engine::start_in(engine.copy_of_file(), &[]);
        assert_eq!(digest(&mut engine.client()), before, "{words}");
    }
    // A forked child stops alone.
    for (words, failed) in [
        ("BGSAVE", "rdb_last_bgsave_status:err"),
        ("BGREWRITEAOF", "aof_last_bgrewrite_status:err"),
    ] {
        let mut engine = Engine::start_in(engine.copy_of_file(), &arguments);
        let mut client = engine.client();
        ask::<String>(&mut client, words);
        until("the engine says so", || {
            ask::<String>(&mut client, "INFO persistence").contains(failed)
        });
        assert!(engine.is_alive());
        assert_eq!(digest(&mut client), before);
    }
}

/// Other builds do not have the faults.
#[test]
fn a_module_has_no_faults() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    assert!(!engine.log().contains("misaligned"));
    assert!(
        try_ask::<i64>(&mut engine.client(), "CF.ADD k a")
            .map_err(|error| text(&error))
            .is_ok()
    );
}
