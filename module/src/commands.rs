//! The commands, from the engine's arguments to its reply.

use crate::{
    apart, clock,
    effects::{AGE, CLOCK, Effects, MAKE, Shape},
    engine::{
        Access, CategoryRefused, Command, CommandRefused, Context, Description, Flags, Found, Key,
        Str, allocations, guarded, standing, warn,
    },
    entry::Content,
    host::{Fetched, Host, fetch},
    offload::{Plan, offload},
    reply,
    slot::Slot,
    windows::{self, Pass},
};
use guira_commands::{
    Answer, Argument, ArgumentKind, AtOnce, COMMAND_COUNT, Cost, Effect, Reply, Sources, commands,
};
use smallvec::SmallVec;
use std::{
    cell::RefCell,
    ffi::CStr,
    iter,
    marker::PhantomData,
    mem,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

/// The ACL category of all commands, in engines where a module can define one.
const CATEGORY: &CStr = c"cuckoo";

/// The number of commands from a primary or an AOF that this node could not apply.
static REFUSED: AtomicU64 = AtomicU64::new(0);

pub(crate) fn refused_on_replica() -> u64 {
    REFUSED.load(Ordering::Relaxed)
}

/// The table of commands, for keys that stay open for these lifetimes.
struct Table<'words, 'key>(PhantomData<(&'words (), &'key ())>);

impl<'words, 'key> Table<'words, 'key> {
    const COMMANDS: [guira_commands::Command<Host<'words, Key<'key>>>; COMMAND_COUNT] = commands();
}

/// The command at this index of the table.
struct Nth<const INDEX: usize>;

/// `CF.MAKE`, which clients cannot use.
struct Make;

/// `CF.AGE`, which clients cannot use.
struct Age;

/// `CF.CLOCK`, which clients cannot use.
struct Clock;

/// How the module runs a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Conduct {
    access: Access,
    flags: &'static CStr,
    categories: &'static CStr,
}

impl Conduct {
    const fn of<S>(command: &guira_commands::Command<S>) -> Self {
        let is_fast = match command.cost {
            Cost::Constant => true,
            Cost::PerItem | Cost::Allocation | Cost::Growth | Cost::Snapshot | Cost::Filters => {
                false
            }
        };
        let access = match command.access {
            guira_commands::Access::Read => Access::Read,
            guira_commands::Access::Write => Access::Write,
        };
        let (flags, categories) = match (access, command.grows, is_fast) {
            (Access::Write, true, false) => (c"write deny-oom", c"write cuckoo"),
            (Access::Write, true, true) => (c"write deny-oom fast", c"write fast cuckoo"),
            (Access::Write, false, false) => (c"write", c"write cuckoo"),
            (Access::Write, false, true) => (c"write fast", c"write fast cuckoo"),
            (Access::Read, _, false) => (c"readonly", c"read cuckoo"),
            (Access::Read, _, true) => (c"readonly fast", c"read fast cuckoo"),
        };
        Self {
            access,
            flags,
            categories,
        }
    }
}

impl<const INDEX: usize> Command for Nth<INDEX> {
    const SOURCES: Sources = Table::COMMANDS[INDEX].sources;

    #[inline(always)]
    fn call(context: &mut Context, arguments: &[Str<'_>]) {
        let shape = const { Shape::of(&Table::COMMANDS[INDEX]) };
        let access = const { Conduct::of(&Table::COMMANDS[INDEX]).access };
        let Some(at_once) = (const { Table::COMMANDS[INDEX].at_once }) else {
            return Self::call_in_full(context, arguments);
        };
        let &[_, name, item] = arguments else {
            return Self::call_in_full(context, arguments);
        };
        let item = context.bytes(item);
        let key = context.open(name, access);
        match run_at_once(&key, item, access, at_once) {
            Some(done) => {
                drop(key);
                reply_at_once(context, arguments, access, shape, done);
            }
            None => {
                let (answer, effects) = Self::run_on(key, name, item);
                finish(context, arguments, access, shape, answer, &effects);
            }
        }
    }
}

impl<const INDEX: usize> Nth<INDEX> {
    /// Runs a command, on a thread if it would take long.
    #[cold]
    #[inline(never)]
    fn call_in_full(context: &mut Context, arguments: &[Str<'_>]) {
        let command = const { &Table::COMMANDS[INDEX] };
        let conduct = const { Conduct::of(&Table::COMMANDS[INDEX]) };
        let plan = const { Plan::of(&Table::COMMANDS[INDEX]) };
        let shape = const { Shape::of(&Table::COMMANDS[INDEX]) };
        let Some(&name) = arguments.get(1) else {
            return reply::write_now(context, &Reply::wrong_arity(command.name.as_bytes()));
        };
        with_words(command.name.as_bytes(), arguments, |words| {
            if let Some(name) = command.secret {
                redact(context, words, name);
            }
            if plan.may_be_worth_it(words) && context.flags().may_block() {
                let found = plan.filter(&context.open(name, conduct.access));
                if let Some(filter) = found
                    && offload(INDEX, context, arguments, filter)
                {
                    return;
                }
            }
            let fetched = command.sources.indices(words).map(|index| {
                let key = context.open(arguments[index], Access::Read);
                (words[index], fetch(&key))
            });
            let sources: Vec<Fetched<'_>> = fetched.collect();
            if const { matches!(Table::COMMANDS[INDEX].effect, Effect::Combine) }
                && apart::offload(INDEX, context, arguments, &sources)
            {
                return;
            }
            let key = context.open(name, conduct.access);
            let (answer, effects) = run_on(key, words, &sources, Self::run);
            finish(context, arguments, conduct.access, shape, answer, &effects);
        });
    }

    /// Runs a command of one item with the key open.
    #[cold]
    #[inline(never)]
    fn run_on(key: Key<'_>, name: Str<'_>, item: &[u8]) -> (Answer, Effects) {
        let command = const { Table::COMMANDS[INDEX].name.as_bytes() };
        run_on(key, &[command, name.as_bytes(), item], &[], Self::run)
    }

    fn run(host: &Host<'_, Key<'_>>, words: &[&[u8]]) -> Answer {
        (Table::COMMANDS[INDEX].run)(host, words)
    }
}

/// Runs a command of one item in the usual cases; otherwise changes nothing.
#[inline(always)]
fn run_at_once(key: &Key<'_>, item: &[u8], access: Access, at_once: AtOnce) -> Option<bool> {
    let Found::Value(entry) = Slot::get(key) else {
        return None;
    };
    let Content::Filter(filter) = entry.content() else {
        return None;
    };
    // Without an allocation, the filter has the same size as before.
    let before = allocations();
    let done = at_once(filter, item);
    if access == Access::Write && allocations() != before {
        entry.count();
    }
    done
}

/// Replies to a command that [`run_at_once`] has run.
#[inline(always)]
fn reply_at_once(
    context: &Context,
    arguments: &[Str<'_>],
    access: Access,
    shape: Shape,
    done: bool,
) {
    if access == Access::Write {
        if done {
            Effects::of_item(shape).tell(context, arguments, shape);
        } else {
            note_refusal(context, arguments, &Ok(Reply::Bool(false)));
        }
    }
    context.reply_bool(done);
}

/// Counts the refusal of a command that the node has to apply.
#[cold]
#[inline(never)]
fn note_refusal(context: &Context, arguments: &[Str<'_>], answer: &Answer) {
    if context.flags().must_obey() {
        count_refusal(arguments, answer);
    }
}

/// Keeps the values of the option with this name out of the engine's logs.
fn redact(context: &Context, words: &[&[u8]], name: &str) {
    let is_secret = |word: &[u8]| word.eq_ignore_ascii_case(name.as_bytes());
    let before = words.iter().enumerate().skip(2);
    before
        .filter(|(_, word)| is_secret(word))
        .for_each(|(index, _)| context.redact(index + 1));
}

/// Lets `work` use the words of a command with this name.
#[inline]
fn with_words<R>(name: &[u8], arguments: &[Str<'_>], work: impl FnOnce(&[&[u8]]) -> R) -> R {
    let (three, any);
    // `work` is called in one place, so that it is inlined.
    let words: &[&[u8]] = match arguments {
        // A key and an item, as in most commands.
        [_, key, item] => {
            three = [name, key.as_bytes(), item.as_bytes()];
            &three
        }
        _ => {
            any = all_words(name, arguments);
            &any
        }
    };
    work(words)
}

#[cold]
fn all_words<'a>(name: &'a [u8], arguments: &[Str<'a>]) -> SmallVec<[&'a [u8]; 8]> {
    let rest = arguments.iter().skip(1).map(|word| word.as_bytes());
    iter::once(name).chain(rest).collect()
}

impl Command for Make {
    fn call(context: &mut Context, arguments: &[Str<'_>]) {
        run_as_told(context, arguments, Effect::Make, |host| host.make_as_told());
    }
}

impl Command for Age {
    fn call(context: &mut Context, arguments: &[Str<'_>]) {
        run_as_told(context, arguments, Effect::None, |host| host.age_as_told());
    }
}

impl Command for Clock {
    fn call(context: &mut Context, arguments: &[Str<'_>]) {
        let words: SmallVec<[&[u8]; 4]> = arguments.iter().map(|word| word.as_bytes()).collect();
        let flags = context.flags();
        let answer = move_clock(&words, flags);
        if answer == Ok(Reply::OK) {
            context.replicate_verbatim();
        }
        reply::write_now(context, &reply::of(answer));
    }
}

/// Runs a command on a key that clients cannot use.
fn run_as_told(
    context: &mut Context,
    arguments: &[Str<'_>],
    effect: Effect,
    work: impl FnOnce(&Host<'_, Key<'_>>) -> Answer,
) {
    let command = arguments.first().map_or(&[][..], |name| name.as_bytes());
    let Some(&name) = arguments.get(1) else {
        return reply::write_now(context, &Reply::wrong_arity(command));
    };
    let work = |host: &Host<'_, Key<'_>>, _: &[&[u8]]| work(host);
    let shape = Shape::of_replication(effect);
    with_words(command, arguments, |words| {
        let key = context.open(name, Access::Write);
        let (answer, effects) = run_on(key, words, &[], work);
        finish(context, arguments, Access::Write, shape, answer, &effects);
    });
}

/// `CF.CLOCK milliseconds wall is-idle`, a replicated command: this time has passed. The timer of the
/// primary has moved the clock already, and calls the command to replicate it.
fn move_clock(words: &[&[u8]], flags: Flags) -> Answer {
    let [name, rest @ ..] = words else {
        return Err(Reply::error("ERR internal error"));
    };
    let pass = Pass::from_words(rest);
    if pass.is_some_and(clock::is_own) {
        return Ok(Reply::OK);
    }
    if !flags.must_obey() {
        return Err(Reply::error(
            "ERR CF.CLOCK is for replication and the file of commands",
        ));
    }
    let pass = pass.ok_or_else(|| Reply::wrong_arity(name))?;
    let standing = standing();
    // A primary has a clock of its own, even while a slot is imported.
    if flags.is_loading() || !standing.is_primary {
        let is_from_file = flags.is_loading() && standing.is_primary;
        windows::of_engine().pass_as_told(pass, is_from_file, Instant::now(), windows::wall());
    }
    Ok(Reply::OK)
}

/// Runs a command on the main thread. Returns its answer and its changes, which it may have made even if it
/// failed in the end.
fn run_on(
    key: Key<'_>,
    words: &[&[u8]],
    sources: &[Fetched<'_>],
    run: impl FnOnce(&Host<'_, Key<'_>>, &[&[u8]]) -> Answer,
) -> (Answer, Effects) {
    let effects = RefCell::new(Effects::default());
    let work = || {
        let host = Host::new(words, key, sources, &effects, windows::of_engine());
        let answer = run(&host, words);
        drop(host.into_key());
        answer
    };
    let otherwise = || Err(Reply::error("ERR internal error"));
    let answer = guarded("a command", work, otherwise);
    (answer, effects.into_inner())
}

/// Replicates the changes of a command, and replies.
fn finish(
    context: &Context,
    arguments: &[Str<'_>],
    access: Access,
    shape: Shape,
    answer: Answer,
    effects: &Effects,
) {
    // Last come the flags: see `Slot::flags`.
    if access == Access::Write && differs(&answer, shape.effect) {
        note_refusal(context, arguments, &answer);
    }
    if !effects.is_empty() {
        effects.tell(context, arguments, shape);
    }
    if let Ok(Reply::Bool(value)) = answer {
        // A boolean owns nothing, but dropping it would look for what there is to free.
        mem::forget(answer);
        return context.reply_bool(value);
    }
    reply::write_now(context, &reply::of(answer));
}

/// True if a replicated command was applied only partly: this node and its source now differ.
#[inline]
fn differs(answer: &Answer, effect: Effect) -> bool {
    match answer {
        Ok(Reply::Bool(true)) => false,
        Ok(reply) => falls_short(reply, effect),
        Err(_) => true,
    }
}

/// True if the reply says that a part of the command was not applied.
fn falls_short(reply: &Reply, effect: Effect) -> bool {
    match reply {
        // The time of the item starts now in both cases.
        Reply::Bool(_) if effect == Effect::AddOrTouch => false,
        Reply::Bool(done) => !done,
        Reply::Bools(done) | Reply::Insertions(done) => done.contains(&false),
        // The primary replicates only the items that it has added.
        Reply::Integers(added) => added.iter().any(|&added| added != 1),
        Reply::Array(parts) => parts.iter().any(|part| falls_short(part, effect)),
        Reply::Map(pairs) => pairs.iter().any(|(_, part)| falls_short(part, effect)),
        Reply::Error(_) => true,
        Reply::Status(_)
        | Reply::Integer(_)
        | Reply::Bulk(_)
        | Reply::Text(_)
        | Reply::Null
        | Reply::NullArray
        | Reply::Silence => false,
    }
}

fn count_refusal(words: &[Str<'_>], answer: &Answer) {
    let count = 1 + REFUSED.fetch_add(1, Ordering::Relaxed);
    // Logs only the first, second, fourth and so on, to keep the log short.
    if count.is_power_of_two() {
        let [name, key] =
            [0, 1].map(|index| words.get(index).map_or(&[][..], |word| word.as_bytes()));
        let text = format!(
            "{} of the key '{}' could not be applied as the primary or the AOF has it \
             ({answer:?}): this is number {count}, and filters may differ from now on",
            name.escape_ascii(),
            key.escape_ascii(),
        );
        warn(&text);
    }
}

/// Registers all commands with the engine.
pub(crate) fn register(context: &Context) -> Result<(), RegisterError> {
    context.add_category(CATEGORY)?;
    macro_rules! register {
        ($($index:literal)*) => {
            const { assert!([$($index),*].len() == Table::COMMANDS.len()) };
            $(context.create_command::<Nth<$index>>(&describe($index))?;)*
        };
    }
    register!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24);
    context.create_command::<Make>(&Description {
        name: const { text(MAKE) },
        flags: c"write deny-oom",
        categories: c"write cuckoo",
        arity: 4,
        has_key: true,
        summary: "Makes a filter like one that has been made elsewhere: for replication",
        arguments: MAKE_ARGUMENTS.to_vec(),
    })?;
    context.create_command::<Age>(&Description {
        name: const { text(AGE) },
        flags: c"write",
        categories: c"write cuckoo",
        arity: 4,
        has_key: true,
        summary: "Says how old the step of a filter is: for the file of commands",
        arguments: AGE_ARGUMENTS.to_vec(),
    })?;
    context.create_command::<Clock>(&Description {
        name: const { text(CLOCK) },
        flags: c"write",
        categories: c"write cuckoo",
        arity: 4,
        has_key: false,
        summary: "Lets time pass for all filters with windows: for replication",
        arguments: CLOCK_ARGUMENTS.to_vec(),
    })?;
    Ok(())
}

fn describe(index: usize) -> Description {
    let command = &Table::COMMANDS[index];
    let conduct = Conduct::of(command);
    Description {
        name: command.name,
        flags: conduct.flags,
        categories: conduct.categories,
        arity: i32::try_from(command.arity).unwrap_or(-1),
        summary: command.summary,
        has_key: true,
        arguments: command.arguments.to_vec(),
    }
}

/// The name as it appears in command descriptions.
const fn text(name: &'static CStr) -> &'static str {
    match name.to_str() {
        Ok(name) => name,
        Err(_) => panic!("names are ASCII"),
    }
}

const MAKE_ARGUMENTS: &[Argument] = &[
    argument("key", ArgumentKind::Key),
    argument("options", ArgumentKind::Bytes),
    argument("filter", ArgumentKind::Bytes),
];

const AGE_ARGUMENTS: &[Argument] = &[
    argument("key", ArgumentKind::Key),
    argument("milliseconds", ArgumentKind::Integer),
    argument("window", ArgumentKind::Bytes),
];

const CLOCK_ARGUMENTS: &[Argument] = &[
    argument("milliseconds", ArgumentKind::Integer),
    argument("wall", ArgumentKind::Integer),
    argument("is-idle", ArgumentKind::Integer),
];

/// A required argument.
const fn argument(name: &'static str, kind: ArgumentKind) -> Argument {
    Argument {
        name,
        kind,
        token: None,
        is_optional: false,
        is_multiple: false,
    }
}

/// The engine refused to register commands.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RegisterError {
    #[error(transparent)]
    Category(#[from] CategoryRefused),
    #[error(transparent)]
    Command(#[from] CommandRefused),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A replica notices if any part of a command fails.
    #[test]
    fn a_reply_differs_if_a_part_of_it_failed() {
        let refusal = || Reply::error("Filter is full");
        let failed = [
            Err(refusal()),
            Ok(refusal()),
            Ok(Reply::Bool(false)),
            Ok(Reply::Bools(vec![true, false])),
            Ok(Reply::Insertions(vec![true, false])),
            Ok(Reply::Integers(vec![1, 0])),
            Ok(Reply::Integers(vec![1, -1])),
            Ok(Reply::Array(vec![Reply::OK, refusal()])),
            Ok(Reply::Array(vec![Reply::Bools(vec![false])])),
            Ok(Reply::Map(vec![(Reply::OK, refusal())])),
        ];
        for answer in &failed {
            assert!(differs(answer, Effect::Add), "{answer:?}");
        }
        let done = [
            Ok(Reply::OK),
            Ok(Reply::Bool(true)),
            Ok(Reply::Bools(vec![true, true])),
            Ok(Reply::Insertions(vec![true, true])),
            Ok(Reply::Integers(vec![1, 1])),
            Ok(Reply::Array(vec![Reply::Integer(0), Reply::Null])),
        ];
        for answer in &done {
            assert!(!differs(answer, Effect::Add), "{answer:?}");
        }
        assert!(!differs(&Ok(Reply::Bool(false)), Effect::AddOrTouch));
    }

    /// Lists the engine's flags and the plan of each command. A write never runs on another thread.
    #[test]
    fn each_command_has_a_conduct_and_a_plan() {
        for command in &Table::COMMANDS {
            let (conduct, plan) = (Conduct::of(command), Plan::of(command));
            let flags = conduct.flags.to_str().unwrap();
            let is_write = flags.split(' ').any(|flag| flag == "write");
            assert_eq!(
                is_write,
                conduct.access == Access::Write,
                "{}",
                command.name
            );
            assert!(!is_write || plan == Plan::Never, "{}", command.name);
            let may_be_refused = flags.contains("deny-oom");
            assert_eq!(may_be_refused, command.grows, "{}", command.name);
        }
        let planned = Table::COMMANDS
            .iter()
            .filter(|it| Plan::of(it) != Plan::Never);
        let planned: Vec<_> = planned.map(|it| (it.name, Plan::of(it))).collect();
        assert_eq!(
            planned,
            [
                ("CF.COMPACT", Plan::Growth),
                ("CF.DIGEST", Plan::Filter),
                ("CF.MEXISTS", Plan::Items),
                ("CF.SCANDUMP", Plan::Snapshot)
            ]
        );
    }
}
