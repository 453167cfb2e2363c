//! The commands, from the engine's arguments to its reply.

use crate::{
    effects::{AGE, Adds, CLOCK, Effects, MAKE},
    engine::{
        Access, CategoryRefused, Command, CommandRefused, Context, Description, Flags, Key, Str,
        guarded, standing, warn,
    },
    host::Host,
    offload::{Plan, offload},
    reply,
    windows::{self, Pass},
};
use guira_commands::{Answer, Argument, ArgumentKind, Kind, Reply, commands};
use smallvec::SmallVec;
use std::{
    cell::RefCell,
    ffi::CStr,
    marker::PhantomData,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

/// The category of access for all of the commands, where a module can have its own.
const CATEGORY: &CStr = c"cuckoo";

/// Replicated commands, or commands of an AOF, that this node could not carry out.
static REFUSED: AtomicU64 = AtomicU64::new(0);

pub(crate) fn refused_on_replica() -> u64 {
    REFUSED.load(Ordering::Relaxed)
}

/// The commands, on keys that are open for so long.
struct Table<'words, 'key>(PhantomData<(&'words (), &'key ())>);

impl<'words, 'key> Table<'words, 'key> {
    const COMMANDS: [guira_commands::Command<Host<'words, Key<'key>>>; 16] = commands();
}

/// The command with this index in the table.
struct Nth<const INDEX: usize>;

/// `CF.MAKE`, which clients cannot use.
struct Make;

/// `CF.AGE`, which clients cannot use.
struct Age;

/// `CF.CLOCK`, which clients cannot use.
struct Clock;

/// What the module does with a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Conduct {
    access: Access,
    flags: &'static CStr,
    categories: &'static CStr,
}

impl Conduct {
    const fn of(name: &str, kind: Kind, arity: i64, may_grow: bool) -> Self {
        // It changes no answer.
        let is_compact = matches!(name.as_bytes(), b"CF.COMPACT");
        let is_slow = matches!(kind, Kind::SlowWrite | Kind::SlowRead) || arity < 0;
        let is_write = matches!(kind, Kind::Write | Kind::SlowWrite) && !is_compact;
        let (flags, categories) = match (is_write, may_grow, is_slow) {
            (true, true, true) => (c"write deny-oom", c"write cuckoo"),
            (true, true, false) => (c"write deny-oom fast", c"write fast cuckoo"),
            (true, false, true) => (c"write", c"write cuckoo"),
            (true, false, false) => (c"write fast", c"write fast cuckoo"),
            (false, _, true) => (c"readonly", c"read cuckoo"),
            (false, _, false) => (c"readonly fast", c"read fast cuckoo"),
        };
        let access = if is_write {
            Access::Write
        } else {
            Access::Read
        };
        Self {
            access,
            flags,
            categories,
        }
    }
}

impl<const INDEX: usize> Command for Nth<INDEX> {
    fn call(context: &mut Context, arguments: &[Str<'_>]) {
        let command = const { &Table::COMMANDS[INDEX] };
        let conduct = Conduct::of(command.name, command.kind, command.arity, command.may_grow);
        let plan = Plan::of(command.name);
        let words: SmallVec<[&[u8]; 8]> = arguments.iter().map(|word| word.as_bytes()).collect();
        let Some(&name) = arguments.get(1) else {
            return reply::write(context, &Reply::wrong_arity(command.name.as_bytes()), false);
        };
        if plan.may_be_worth_it(&words) && context.flags().may_block() {
            let found = plan.filter(&context.open(name, conduct.access));
            if let Some(filter) = found
                && offload(INDEX, context, arguments, filter)
            {
                return;
            }
        }
        let adds = Adds::of(command.name);
        let command =
            |host: &Host<'_, Key<'_>>, words: &[&[u8]]| (Table::COMMANDS[INDEX].run)(host, words);
        run(
            context,
            arguments,
            &words,
            name,
            conduct.access,
            adds,
            command,
        );
    }
}

impl Command for Make {
    fn call(context: &mut Context, arguments: &[Str<'_>]) {
        run_as_told(context, arguments, |host| host.make_as_told());
    }
}

impl Command for Age {
    fn call(context: &mut Context, arguments: &[Str<'_>]) {
        run_as_told(context, arguments, |host| host.age_as_told());
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
        reply::write(context, &reply::of(answer), flags.is_resp3());
    }
}

/// What clients cannot use, on a key.
fn run_as_told(
    context: &mut Context,
    arguments: &[Str<'_>],
    work: impl FnOnce(&Host<'_, Key<'_>>) -> Answer,
) {
    let words: SmallVec<[&[u8]; 8]> = arguments.iter().map(|word| word.as_bytes()).collect();
    let Some(&name) = arguments.get(1) else {
        let command = words.first().copied().unwrap_or_default();
        return reply::write(context, &Reply::wrong_arity(command), false);
    };
    let work = |host: &Host<'_, Key<'_>>, _: &[&[u8]]| work(host);
    run(
        context,
        arguments,
        &words,
        name,
        Access::Write,
        Adds::Copy,
        work,
    );
}

/// `CF.CLOCK milliseconds wall is-idle`, which is replicated: this time has passed.
fn move_clock(words: &[&[u8]], flags: Flags) -> Answer {
    let [name, rest @ ..] = words else {
        return Err(Reply::error("ERR internal error"));
    };
    if !flags.must_obey() {
        return Err(Reply::error(
            "ERR CF.CLOCK is for replication and the file of commands",
        ));
    }
    let pass = Pass::from_words(rest).ok_or_else(|| Reply::wrong_arity(name))?;
    let standing = standing();
    // The clock of a primary is its own, also while a slot moves here.
    if flags.is_loading() || !standing.is_primary {
        let is_from_file = flags.is_loading() && standing.is_primary;
        windows::of_engine().pass_as_told(pass, is_from_file, Instant::now(), windows::wall());
    }
    Ok(Reply::OK)
}

/// Runs the command on the main thread: the key is open as long as it runs. Its changes are
/// replicated even if it fails in the end.
fn run(
    context: &mut Context,
    arguments: &[Str<'_>],
    words: &[&[u8]],
    name: Str<'_>,
    access: Access,
    adds: Adds,
    run: impl FnOnce(&Host<'_, Key<'_>>, &[&[u8]]) -> Answer,
) {
    // To ask takes a tenth of a microsecond, and who only reads need not know.
    let flags = match access {
        Access::Read => Flags::NONE,
        Access::Write => context.flags(),
    };
    let effects = RefCell::new(Effects::default());
    let work = || {
        let key = context.open(name, access);
        let host = Host::new(words, key, &effects, flags, windows::of_engine());
        let answer = run(&host, words);
        drop(host.into_key());
        answer
    };
    let otherwise = || Err(Reply::error("ERR internal error"));
    let answer = guarded("a command", work, otherwise);
    if flags.must_obey() && access == Access::Write && differs(&answer, adds) {
        count_refusal(words, &answer);
    }
    effects.into_inner().tell(context, arguments, adds);
    reply::write(context, &reply::of(answer), flags.is_resp3());
}

/// True if a replicated command did not do all that it says: this node and its source differ now.
fn differs(answer: &Answer, adds: Adds) -> bool {
    match answer {
        // Present or not: its time begins now.
        Ok(Reply::Bool(_)) if adds == Adds::OrTouches => false,
        Err(_) | Ok(Reply::Bool(false)) => true,
        Ok(Reply::Insertions(inserted)) => inserted.contains(&false),
        Ok(_) => false,
    }
}

fn count_refusal(words: &[&[u8]], answer: &Answer) {
    let count = 1 + REFUSED.fetch_add(1, Ordering::Relaxed);
    // Each of them would fill the log.
    if count.is_power_of_two() {
        let [name, key] = [0, 1].map(|index| words.get(index).map_or(&[][..], |word| word));
        let text = format!(
            "{} of the key '{}' could not be done as the primary or the file of commands has it \
             ({answer:?}): this is number {count}, and filters may differ from now on",
            name.escape_ascii(),
            key.escape_ascii(),
        );
        warn(&text);
    }
}

/// Tells the engine of all commands.
pub(crate) fn register(context: &Context) -> Result<(), RegisterError> {
    context.add_category(CATEGORY)?;
    macro_rules! register {
        ($($index:literal)*) => {
            const { assert!([$($index),*].len() == Table::COMMANDS.len()) };
            $(context.create_command::<Nth<$index>>(&describe($index))?;)*
        };
    }
    register!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
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
    let conduct = Conduct::of(command.name, command.kind, command.arity, command.may_grow);
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

/// A name, as descriptions have it.
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

/// One that must be there.
const fn argument(name: &'static str, kind: ArgumentKind) -> Argument {
    Argument {
        name,
        kind,
        token: None,
        is_optional: false,
        is_multiple: false,
    }
}

/// The engine refuses commands.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RegisterError {
    #[error(transparent)]
    Category(#[from] CategoryRefused),
    #[error(transparent)]
    Command(#[from] CommandRefused),
}
