use super::{FalsePositives, MOST_KEYS, PARTS};
use std::{sync::Mutex, thread};

#[test]
fn a_lookup_without_inserts_adds_its_key() {
    let set = FalsePositives::new();
    drop(set.begin_insert("key"));
    assert!(!set.contains("key"));
    let lookup = set.begin_lookup("key");
    set.add(lookup, "key");
    assert!(set.contains("key") && !set.contains("other"));
    let insert = set.begin_insert("key");
    assert!(!set.contains("key"));
    drop(insert);
    assert_eq!(set.len(), 0);
}

/// The order of the steps of one lookup and one insert, with the insert's commit between its own steps.
/// Wherever the database has the key afterwards, it is not in the set.
#[test]
fn no_lookup_adds_a_key_whose_insert_overlaps() {
    for lookup_begins in 0..3 {
        for lookup_reads in lookup_begins..4 {
            for lookup_adds in lookup_reads..5 {
                let set = FalsePositives::new();
                let (mut lookup, mut insert, mut absent) = (None, None, false);
                let mut committed = false;
                for time in 0..5 {
                    if time == lookup_begins {
                        lookup = Some(set.begin_lookup("key"));
                    }
                    if time == lookup_reads {
                        absent = !committed;
                    }
                    if let Some(lookup) = lookup
                        && absent
                        && time == lookup_adds
                    {
                        set.add(lookup, "key");
                    }
                    match time {
                        0 => insert = Some(set.begin_insert("key")),
                        1 => committed = true,
                        2 => insert = None,
                        _ => {}
                    }
                    let context = (lookup_begins, lookup_reads, lookup_adds, time);
                    assert!(!(committed && set.contains("key")), "{context:?}");
                }
                drop(insert);
            }
        }
    }
}

#[test]
fn the_number_of_keys_is_bounded() {
    let set = FalsePositives::new();
    let most = PARTS * MOST_KEYS.get();
    for number in 0..4 * most {
        let key = number.to_string();
        let lookup = set.begin_lookup(&key);
        set.add(lookup, &key);
        assert!(set.contains(&key));
    }
    assert!(set.len() <= most && set.len() > most / 2);
}

/// One thread inserts and deletes a key, and others look it up.
#[test]
fn a_present_key_is_never_in_the_set() {
    let (set, database) = (FalsePositives::new(), Mutex::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..2_000 {
                let insert = set.begin_insert("key");
                *database.lock().unwrap() = true;
                assert!(!set.contains("key"));
                drop(insert);
                assert!(!set.contains("key"));
                *database.lock().unwrap() = false;
            }
        });
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..2_000 {
                    let lookup = set.begin_lookup("key");
                    if !*database.lock().unwrap() {
                        set.add(lookup, "key");
                    }
                }
            });
        }
    });
    let lookup = set.begin_lookup("key");
    set.add(lookup, "key");
    assert!(set.contains("key"));
}
