//! Commands without an engine: their replies, and the replicated commands.

mod combined;
mod effects;
mod limits;
mod loads;
mod windows;

use super::*;
use crate::{
    effects::{Shape, Word},
    entry::tests::some_filter,
    slot::FakeKey,
};
use guira_commands::{Command, Effect, commands};

const CLIENT: Flags = Flags::of(false, false, false);
const PRIMARY: Flags = Flags::of(true, false, false);

/// The result of a command.
#[derive(Debug)]
struct Done {
    reply: Reply,
    /// The replicated commands, as words.
    told: Vec<Vec<Vec<u8>>>,
}

/// Runs the command with these words.
fn run(key: &mut FakeKey, flags: Flags, words: &[&[u8]]) -> Done {
    run_with(key, &[], flags, words)
}

/// Runs the command with these words, which reads these other keys.
fn run_with(key: &mut FakeKey, others: &[(&str, &FakeKey)], flags: Flags, words: &[&[u8]]) -> Done {
    let effects = RefCell::new(Effects::default());
    let windows = key.windows.clone();
    key.flags = flags;
    let sources = others
        .iter()
        .map(|(name, key)| (name.as_bytes(), fetch(*key)));
    let sources: Vec<_> = sources.collect();
    let host = Host::new(words, std::mem::take(key), &sources, &effects, &windows);
    let name = str::from_utf8(words[0]).unwrap();
    let (shape, answer) = match name {
        "CF.MAKE" => (Shape::of_replication(Effect::Make), host.make_as_told()),
        "CF.AGE" => (Shape::of_replication(Effect::None), host.age_as_told()),
        _ => {
            let commands = commands::<Host<'_, FakeKey>>();
            let named = |command: &&Command<_>| command.name == name;
            let command = commands.iter().find(named).unwrap();
            (Shape::of(command), (command.run)(&host, words))
        }
    };
    *key = host.into_key();
    let effects = effects.into_inner();
    let told = effects.told(shape);
    assert_eq!(told.is_empty(), effects.is_empty());
    let word = |word: &Word<'_>| match *word {
        Word::Own(index) => words[index].to_vec(),
        Word::Bytes(bytes) => bytes.to_vec(),
    };
    let is_own = |told: &&crate::effects::Told<'_>| told.is_verbatim && told.command.is_empty();
    for told in told.iter().filter(|told| told.is_verbatim && !is_own(told)) {
        assert_eq!(told.command.to_bytes(), words[0]);
        assert!(
            told.arguments()
                .iter()
                .map(word)
                .eq(words[1..].iter().map(|word| word.to_vec()))
        );
    }
    let words_of = |told: &crate::effects::Told<'_>| {
        if is_own(&told) {
            return words.iter().map(|word| word.to_vec()).collect();
        }
        let name = told.command.to_bytes().to_vec();
        std::iter::once(name)
            .chain(told.arguments().iter().map(word))
            .collect()
    };
    Done {
        reply: crate::reply::of(answer),
        told: told.iter().map(words_of).collect(),
    }
}

/// Runs the command in `words`, which are separated by spaces.
fn ask(key: &mut FakeKey, words: &str) -> Done {
    let words: Vec<_> = words.split(' ').map(str::as_bytes).collect();
    run(key, CLIENT, &words)
}

/// Applies the replicated commands to a replica, where all of them must succeed.
fn tell(replica: &mut FakeKey, done: &Done) {
    for told in &done.told {
        if told[0] == b"DEL" {
            replica.delete().unwrap();
            continue;
        }
        let words: Vec<_> = told.iter().map(|word| &word[..]).collect();
        let there = run(replica, PRIMARY, &words);
        assert!(!there.reply.is_error(), "{:?}", there.reply);
        assert!(words[0] == b"CF.ADDTOUCH" || there.reply != Reply::Bool(false));
        // A replica of the replica receives the same.
        assert_eq!(there.told, std::slice::from_ref(told));
    }
}

fn digest(key: &FakeKey) -> Option<Vec<u8>> {
    key.entry.as_deref().map(crate::engine::Value::digest)
}

fn names(done: &Done) -> Vec<&str> {
    done.told
        .iter()
        .map(|words| str::from_utf8(&words[0]).unwrap())
        .collect()
}

fn filter(key: &FakeKey) -> &Filter {
    match key.entry.as_deref().map(Entry::content) {
        Some(Content::Filter(filter)) => filter,
        other => panic!("no filter: {other:?}"),
    }
}

/// The pieces of a dump, each with the position at which it is loaded.
fn dump(key: &mut FakeKey) -> Vec<(u64, Vec<u8>)> {
    let mut pieces = Vec::new();
    let mut position = 0;
    loop {
        let Reply::Array(reply) = ask(key, &format!("CF.SCANDUMP k {position}")).reply else {
            panic!("no dump");
        };
        match &reply[..] {
            [Reply::Integer(0), Reply::Null] => return pieces,
            [Reply::Integer(next), Reply::Bulk(piece)] => {
                position = u64::try_from(*next).unwrap();
                pieces.push((position, piece.clone()));
            }
            other => panic!("{other:?}"),
        }
    }
}

fn load(key: &mut FakeKey, (position, piece): &(u64, Vec<u8>)) -> Done {
    let position = position.to_string();
    run(
        key,
        CLIENT,
        &[b"CF.LOADCHUNK", b"k", position.as_bytes(), piece],
    )
}
