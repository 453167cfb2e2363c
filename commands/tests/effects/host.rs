//! A host for tests that has its keys in a map.

use guira_commands::{
    Answer, Clock, Command, Filter, Growth, MakeError, Options, Reply, Store, Wanted, Work,
    commands,
    dump::{Dumps, Load, LoadError, Memory},
};
use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    sync::Arc,
};

pub(super) const MEMORY: usize = 1 << 20;

/// A host that has its keys in a map, and records the effects that it learns of.
pub(super) struct Host {
    pub(super) filters: RefCell<HashMap<Vec<u8>, Arc<Filter>>>,
    pub(super) loads: RefCell<HashMap<Vec<u8>, Load>>,
    dumps: Dumps,
    pub(super) told: RefCell<Vec<String>>,
    is_strict: bool,
    pub(super) is_full: Cell<bool>,
    /// The bytes that filters may take when they are combined.
    pub(super) free: Cell<usize>,
    pub(super) waits: Cell<u32>,
}

impl Host {
    pub(super) fn new(is_strict: bool) -> Self {
        Self {
            filters: RefCell::default(),
            loads: RefCell::default(),
            dumps: Dumps::new(None),
            told: RefCell::default(),
            is_strict,
            is_full: Cell::new(false),
            free: Cell::new(MEMORY),
            waits: Cell::new(0),
        }
    }

    pub(super) fn ask(&self, line: &str) -> Answer {
        let words: Vec<_> = line.split(' ').map(str::as_bytes).collect();
        self.ask_words(&words)
    }

    pub(super) fn ask_words(&self, words: &[&[u8]]) -> Answer {
        let commands = commands::<Self>();
        let named = |command: &&Command<_>| command.name.as_bytes().eq_ignore_ascii_case(words[0]);
        let command = commands.iter().find(named).expect("a command");
        (command.run)(self, words)
    }

    /// The replies of a command to several calls at once.
    pub(super) fn ask_together(&self, name: &str, key: &[u8], items: &[&[u8]]) -> Vec<Reply> {
        let mut replies = Vec::new();
        let commands = commands::<Self>();
        let command = commands.iter().find(|command| command.name == name);
        let together = command.and_then(|command| command.together);
        together.expect("a command with a form for several calls")(self, key, items, &mut |it| {
            replies.push(it);
        });
        replies
    }

    /// The effects since the last call of this function.
    pub(super) fn told(&self) -> Vec<String> {
        self.told.take()
    }

    pub(super) fn tell(&self, what: &str, key: &[u8], items: impl IntoIterator<Item = String>) {
        let items: Vec<_> = items.into_iter().collect();
        let line = format!("{what} {} {}", text(key), items.join(","));
        self.told.borrow_mut().push(line.trim_end().to_owned());
    }

    pub(super) fn filter(&self, key: &str) -> Arc<Filter> {
        self.filters.borrow()[key.as_bytes()].clone()
    }
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(super) fn refusal(answer: Answer) -> String {
    match answer {
        Err(Reply::Error(text)) => text.into_owned(),
        other => panic!("{other:?}"),
    }
}

impl Store for Host {
    type Kept = Filter;

    fn with<R>(
        &self,
        key: &[u8],
        work: impl FnOnce(&Arc<Filter>) -> R,
    ) -> Result<Option<R>, Reply> {
        match key {
            b"list" => Err(Reply::error("WRONGTYPE")),
            key => Ok(self.filters.borrow().get(key).map(work)),
        }
    }

    fn make(&self, key: &[u8], wanted: &Wanted) -> Result<Arc<Filter>, MakeError> {
        if self.filters.borrow().contains_key(key) {
            return Err(MakeError::Exists);
        }
        let refuse = |error: String| MakeError::Refused(Reply::Error(error.into()));
        let growth = Growth::of(wanted, MEMORY).map_err(|error| refuse(error.to_string()))?;
        let built = Filter::wanted(wanted, growth, Clock::Process);
        self.put(key, built.map_err(|error| refuse(error.to_string()))?)
    }

    fn put(&self, key: &[u8], filter: Filter) -> Result<Arc<Filter>, MakeError> {
        if self.filters.borrow().contains_key(key) {
            return Err(MakeError::Exists);
        }
        let filter = Arc::new(filter);
        self.filters.borrow_mut().insert(key.into(), filter.clone());
        if filter.window().is_none() {
            self.tell("made", key, [filter.options().capacity.to_string()]);
        }
        Ok(filter)
    }

    fn may_combine(&self, work: Work) -> Result<(), Reply> {
        match work.bytes > self.free.get() {
            true => Err(Reply::error("OOM this host has no memory")),
            false => Ok(()),
        }
    }

    fn combined(&self, key: &[u8], _: &Filter) {
        self.tell("combined", key, []);
    }

    fn defaults(&self) -> Options {
        Options {
            capacity: 2_000,
            // The rate is so low that no item is mistaken for another one.
            rate: 1e-8,
            ..Options::default()
        }
    }

    fn refuses_growth(&self) -> bool {
        self.is_full.get()
    }

    fn is_strict(&self) -> bool {
        self.is_strict
    }

    fn wait(&self) -> bool {
        self.waits.set(self.waits.get() + 1);
        false
    }

    fn added<'a>(&self, key: &[u8], _: &Filter, items: impl Iterator<Item = &'a [u8]>) {
        self.tell("added", key, items.map(text));
    }

    fn removed<'a>(&self, key: &[u8], _: &Filter, items: impl Iterator<Item = &'a [u8]>) {
        self.tell("removed", key, items.map(text));
    }

    fn touched<'a>(&self, key: &[u8], _: &Filter, items: impl Iterator<Item = &'a [u8]>) {
        self.tell("touched", key, items.map(text));
    }

    fn compacted(&self, key: &[u8], _: &Filter) {
        self.tell("compacted", key, []);
    }

    fn begin_dump(&self, key: &[u8], filter: &Arc<Filter>) -> Answer {
        let begun = self.dumps.begin(key, filter);
        let position = begun.map_err(|error| Reply::Error(error.to_string().into()))?;
        self.go_on_dump(key, position)
    }

    fn go_on_dump(&self, key: &[u8], position: u64) -> Answer {
        let piece = self.dumps.go_on(key, position);
        piece.map_err(|error| Reply::Error(error.to_string().into()))
    }

    fn begin_load(&self, key: &[u8], header: &[u8]) -> Answer {
        let memory = Memory {
            free: MEMORY,
            limit: MEMORY,
        };
        let load = Load::begin(header, memory, Clock::Process);
        let load = load.map_err(|error| Reply::Error(error.to_string().into()))?;
        self.loads.borrow_mut().insert(key.into(), load);
        Ok(Reply::OK)
    }

    fn go_on_load(&self, key: &[u8], position: u64, piece: &[u8]) -> Answer {
        let mut loads = self.loads.borrow_mut();
        let load = loads.get_mut(key).ok_or(Reply::error("ERR not found"))?;
        match load.take(position, piece) {
            Ok(false) => Ok(Reply::OK),
            Ok(true) => {
                let filter = loads.remove(key).expect("it is there").finish();
                let filter = filter.map_err(|error| Reply::Error(error.to_string().into()))?;
                self.filters.borrow_mut().insert(key.into(), filter.into());
                Ok(Reply::OK)
            }
            Err(error) => {
                if !matches!(error, LoadError::Position) {
                    loads.remove(key);
                }
                Err(Reply::Error(error.to_string().into()))
            }
        }
    }
}
