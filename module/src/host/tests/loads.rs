//! Loads, piece by piece, and their replication.

use super::*;

fn large() -> FakeKey {
    let mut key = FakeKey::default();
    ask(&mut key, "CF.RESERVE k 1000000 EXPANSION 0");
    for item in 0..1000 {
        ask(&mut key, &format!("CF.ADD k {item}"));
    }
    key
}

#[test]
fn each_loaded_piece_is_replicated() {
    let mut source = large();
    let pieces = dump(&mut source);
    assert!(pieces.len() > 2);
    let (mut primary, mut replica) = (FakeKey::default(), FakeKey::default());
    for piece in &pieces {
        let done = load(&mut primary, piece);
        assert_eq!(done.reply, Reply::OK);
        assert_eq!(names(&done), ["CF.LOADCHUNK"]);
        tell(&mut replica, &done);
        assert_eq!(digest(&primary), digest(&replica));
        if piece != pieces.last().unwrap() {
            for words in ["CF.ADD k a", "CF.EXISTS k a", "CF.DEL k a", "CF.INFO k"] {
                let refused = ask(&mut primary, words);
                assert_eq!(
                    refused.reply,
                    Reply::error("ERR the filter is being loaded")
                );
                assert!(refused.told.is_empty());
            }
            let refused = ask(&mut primary, "CF.RESERVE k 100");
            assert_eq!(refused.reply, Reply::error("ERR item exists"));
        }
    }
    assert_eq!(digest(&replica), digest(&source));
    // The load has become a filter.
    let refused = load(&mut primary, &pieces[0]);
    assert_eq!(refused.reply, Reply::error("ERR item exists"));
    let refused = load(&mut primary, &pieces[1]);
    assert_eq!(refused.reply, Reply::error("Couldn't load chunk!"));
    assert!(refused.told.is_empty());
}

#[test]
fn a_failed_load_deletes_its_key() {
    let mut source = large();
    let mut pieces = dump(&mut source);
    pieces.last_mut().unwrap().1[0] ^= 1;
    let (mut primary, mut replica) = (FakeKey::default(), FakeKey::default());
    let mut last = None;
    for piece in &pieces {
        let done = load(&mut primary, piece);
        tell(&mut replica, &done);
        last = Some(done);
    }
    let last = last.unwrap();
    assert_eq!(last.reply, Reply::error("Couldn't load chunk!"));
    assert_eq!(names(&last), ["DEL"]);
    assert!(primary.entry.is_none() && replica.entry.is_none());
    assert_eq!(
        load(&mut primary, &pieces[1]).reply,
        Reply::error("ERR not found")
    );
    // A piece out of order is refused, and the load continues.
    load(&mut primary, &pieces[0]);
    let refused = load(&mut primary, &pieces[2]);
    assert_eq!(refused.reply, Reply::error("Couldn't load chunk!"));
    assert!(refused.told.is_empty() && primary.entry.is_some());
    assert_eq!(load(&mut primary, &pieces[1]).reply, Reply::OK);
    // A header restarts the load.
    assert_eq!(load(&mut primary, &pieces[0]).reply, Reply::OK);
    assert_eq!(load(&mut primary, &pieces[1]).reply, Reply::OK);
}
