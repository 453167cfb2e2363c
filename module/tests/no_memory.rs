//! If the system refuses memory, the command returns an error, and the engine keeps running.

mod common;

use common::{ADDRESSES, Engine, ask, is_skipped, is_sound, refusal};

/// The engine itself takes 100 to 200 MB of this address space.
const MOST: &str = "540000000";

/// A table of 62 MB, and one of 500 MB.
const SMALL: &str = "CF.RESERVE small 40000000 EXPANSION 0";
const LARGE: &str = "CF.RESERVE large 320000000 EXPANSION 0";

const SETTINGS: [&str; 4] = ["--loadmodule", "MODULE", "max-filter-bytes", "512mb"];

#[test]
fn a_table_that_the_system_has_no_memory_for_is_refused() {
    if is_skipped() {
        return;
    }
    let mut engine = Engine::start(&[&[ADDRESSES, MOST][..], &SETTINGS].concat());
    let mut client = engine.client();
    let refused = refusal(&mut client, LARGE);
    assert!(refused.contains("no memory"), "{refused}");
    assert!(engine.is_alive());
    ask::<()>(&mut client, SMALL);
    assert_eq!(ask::<i64>(&mut client, "CF.ADD small a"), 1);
    is_sound(&mut client);
}

/// Allocating a table writes nothing to it, however much the engine reports as used.
#[test]
fn a_new_table_takes_no_memory_until_it_is_used() {
    const MIB: u64 = 1 << 20;
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&SETTINGS);
    let mut client = engine.client();
    let before = engine.resident();
    ask::<()>(&mut client, LARGE);
    for number in 0..20 {
        ask::<()>(
            &mut client,
            &format!("CF.RESERVE few:{number} 2000000 EXPANSION 0"),
        );
    }
    let more = engine.resident().saturating_sub(before);
    assert!(more < 32 * MIB, "{more} bytes");
}
