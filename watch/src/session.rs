//! The interface of the page: commands in, JSON out.

use crate::{
    duets::{self, Does, Duet, Op},
    json,
    run::{Operation, Progress, prepare},
    threads::Thread,
};
use guira::{
    SeededState,
    model::{Fault, Item, Watched, weaken},
};
use std::{hash::BuildHasher, rc::Rc};

/// More steps than any operation makes.
const ALL: usize = usize::MAX;

/// A filter, and the threads that use it.
#[derive(Debug)]
pub struct Session {
    filter: Rc<dyn Watched>,
    hasher: SeededState,
    threads: Vec<Thread>,
    duet: Option<&'static Duet>,
    /// The current activity.
    doing: Doing,
}

#[derive(Clone, Copy, Debug)]
enum Doing {
    Nothing,
    /// An operation outside all threads.
    Alone,
    /// A step of this thread.
    Thread(usize),
}

/// The result of a command.
#[derive(Debug)]
pub enum Reply {
    /// The reply is this text.
    Text(String),
    /// `run::go` must perform this operation, and [`Session::finish`] then decides how to continue.
    Run(Operation),
}

impl Default for Session {
    fn default() -> Self {
        Self {
            filter: <dyn Watched>::new("8x2", 8, 0).expect("a layout"),
            hasher: SeededState::new(1),
            threads: Vec::new(),
            duet: None,
            doing: Doing::Nothing,
        }
    }
}

impl Session {
    fn hash(&self, word: &str) -> u64 {
        self.hasher.hash_one(word)
    }

    fn item(&self, word: &str) -> Item {
        self.filter.item(self.hash(word))
    }

    /// Executes a command, which is a name and arguments separated by tabs.
    pub fn call(&mut self, command: &str) -> Reply {
        self.obey(command)
            .unwrap_or_else(|| Reply::Text(r#"{"error":"not a command"}"#.to_owned()))
    }

    fn obey(&mut self, command: &str) -> Option<Reply> {
        let mut arguments = command.split('\t');
        let name = arguments.next()?;
        let mut next = || arguments.next();
        let text = match name {
            "new" => {
                let layout = next()?;
                let (buckets, more) = (next()?.parse().ok()?, next()?.parse().ok()?);
                let seed = next()?.parse().ok()?;
                self.fresh(layout, buckets, more, seed)?;
                json::state(&*self.filter)
            }
            "item" => {
                let word = next()?;
                json::item(self.item(word), self.hash(word))
            }
            "state" => json::state(&*self.filter),
            "insert" => return Some(self.alone(Operation::Insert(self.item(next()?)))),
            "contains" => return Some(self.alone(Operation::Contains(self.item(next()?)))),
            "remove" => return Some(self.alone(Operation::Remove(self.item(next()?)))),
            "count" => return Some(self.alone(Operation::Count(self.item(next()?)))),
            "begin" => self.filter.begin_level().to_string(),
            "split" => {
                let (plane, bucket) = (next()?.parse().ok()?, next()?.parse().ok()?);
                return Some(self.alone(Operation::Split(plane, bucket)));
            }
            "finish" => return Some(self.alone(Operation::Finish)),
            "measure" => self.measure(next()?.parse().ok()?),
            "duets" => json::list(&duets::ALL, Duet::json),
            "duet" => {
                let name = next()?;
                let duet = duets::ALL.iter().find(|duet| duet.name == name)?;
                let fault = duets::fault(next()?)?;
                self.begin(duet, fault);
                return Some(self.prime(0));
            }
            "step" => {
                let number: usize = next()?.parse().ok()?;
                let thread = self.threads.get(number)?;
                thread.next()?;
                return Some(self.step(number));
            }
            _ => return None,
        };
        Some(Reply::Text(text))
    }

    fn fresh(&mut self, layout: &str, buckets: usize, more: u32, seed: u64) -> Option<()> {
        if !(2..=4096).contains(&buckets) || !buckets.is_multiple_of(2) || more > 5 {
            return None;
        }
        weaken(Fault::None, None, false);
        self.filter = <dyn Watched>::new(layout, buckets, more)?;
        self.hasher = SeededState::new(seed);
        self.threads.clear();
        self.duet = None;
        Some(())
    }

    fn alone(&mut self, operation: Operation) -> Reply {
        self.doing = Doing::Alone;
        prepare(&self.filter, Progress::default(), ALL);
        Reply::Run(operation)
    }

    /// The number of absent words, out of `count`, that are reported as present.
    fn measure(&self, count: u32) -> String {
        let probes = (0..count).map(|number| self.item(&format!("absent {number}")));
        let found = probes.filter(|&item| self.filter.contains(item)).count();
        found.to_string()
    }

    /// The initial state of a scene.
    fn begin(&mut self, duet: &'static Duet, fault: Fault) {
        self.fresh("8x2", 2, 0, 1).expect("a layout");
        self.duet = Some(duet);
        for &(word, bucket) in duet.put {
            assert!(self.filter.put(self.item(word), bucket), "bucket is full");
        }
        weaken(fault, None, false);
        let operation = |&Op(does, must): &Op| {
            let operation = match does {
                Does::Contains(word) => Operation::Contains(self.item(word)),
                Does::Insert(word) => Operation::Insert(self.item(word)),
                Does::Remove(word) => Operation::Remove(self.item(word)),
                Does::Move(word, from) => Operation::Move(self.item(word), from),
            };
            (operation, must)
        };
        let threads = duet.threads.iter();
        self.threads = threads
            .map(|thread| Thread::new(thread.does.iter().map(operation).collect()))
            .collect();
    }

    /// Brings the first operation of this thread, and then of the following ones, to its first
    /// step.
    fn prime(&mut self, number: usize) -> Reply {
        let Some(operation) = self.threads.get(number).and_then(Thread::operation) else {
            return Reply::Text(self.scene());
        };
        self.doing = Doing::Thread(number);
        prepare(&self.filter, Progress::default(), 0);
        Reply::Run(operation)
    }

    fn step(&mut self, number: usize) -> Reply {
        let thread = &self.threads[number];
        let Some(operation) = thread.operation() else {
            return Reply::Text(self.scene());
        };
        self.doing = Doing::Thread(number);
        let most = thread.progress.made.len() + 1;
        prepare(&self.filter, thread.progress.clone(), most);
        Reply::Run(operation)
    }

    /// Called when an operation has run, with its progress.
    pub fn finish(&mut self, progress: Progress) -> Reply {
        match std::mem::replace(&mut self.doing, Doing::Nothing) {
            Doing::Nothing => Reply::Text("null".to_owned()),
            Doing::Alone => Reply::Text(format!(
                r#"{{"answer":{},"steps":{},"state":{}}}"#,
                json::answer(progress.answer),
                json::list(&progress.made, |made| json::made(&*self.filter, made)),
                json::state(&*self.filter)
            )),
            Doing::Thread(number) => {
                if self.threads[number].came(progress) {
                    return self.prime(number);
                }
                // At the beginning of the scene, each thread is brought to its first step.
                let idle =
                    |thread: &Thread| thread.next().is_none() && thread.operation().is_some();
                match self.threads.iter().position(idle) {
                    Some(thread) => self.prime(thread),
                    None => Reply::Text(self.scene()),
                }
            }
        }
    }

    /// The threads, the filter, and the error if there is one.
    fn scene(&self) -> String {
        let wrong = self
            .wrong()
            .map_or("null".to_owned(), |it| format!("{it:?}"));
        format!(
            r#"{{"threads":{},"state":{},"wrong":{wrong}}}"#,
            json::list(&self.threads, json::thread),
            json::state(&*self.filter)
        )
    }

    /// True if all threads have ended.
    pub fn is_over(&self) -> bool {
        self.threads
            .iter()
            .all(|thread| thread.operation().is_none())
    }

    /// The threads that have a next step.
    pub fn ready(&self) -> Vec<usize> {
        let ready = |&number: &usize| self.threads[number].next().is_some();
        (0..self.threads.len()).filter(ready).collect()
    }

    /// The error that has occurred, if any.
    pub fn wrong(&self) -> Option<&'static str> {
        let duet = self.duet?;
        for thread in &self.threads {
            if let Some(index) = thread.wrong_answer() {
                return Some(match thread.program[index] {
                    (Operation::Contains(_), Some(true)) => "missed",
                    (Operation::Contains(_), _) => "ghost",
                    (Operation::Remove(_), Some(true)) => "not removed",
                    (Operation::Remove(_), _) => "removed twice",
                    _ => "wrong answer",
                });
            }
        }
        if !self.is_over() {
            return None;
        }
        let words = self.filter.words();
        if words.iter().any(|word| word.mark.is_some()) {
            return Some("mark left");
        }
        for word in duet.words() {
            let item = self.item(word);
            let here = words.iter().flat_map(|word| &word.slots);
            let found = here.filter(|&&slot| slot == item.fingerprint()).count();
            let put = duet.put.iter().filter(|(it, _)| *it == word).count();
            let balance: isize = self.threads.iter().map(|it| it.balance(item)).sum();
            let expected = put.cast_signed() + balance;
            match found.cast_signed() - expected {
                0 => {}
                ..0 => return Some("lost"),
                _ => return Some("copy too many"),
            }
        }
        let used = words.iter().flat_map(|word| &word.slots);
        let used = used.filter(|&&slot| slot != 0).count();
        (used != self.filter.items()).then_some("miscounted")
    }

    /// Plays a scene by `schedule`, as far as the threads have steps, and then runs each thread to
    /// its end. Returns the error, and the steps that were made.
    #[cfg(not(target_family = "wasm"))]
    pub fn play(duet: &str, fault: &str, schedule: &str) -> (Option<&'static str>, String) {
        let mut session = Self::default();
        session.answer(&format!("duet\t{duet}\t{fault}"));
        let mut taken = String::new();
        let mut wanted = schedule.bytes().map(|digit| usize::from(digit - b'0'));
        while let [first, ..] = session.ready()[..] {
            let thread = wanted.next().unwrap_or(first);
            if session.ready().contains(&thread) {
                session.answer(&format!("step\t{thread}"));
                taken.push_str(&thread.to_string());
            }
            assert!(taken.len() < 1000, "{duet} does not end: {taken}");
        }
        (session.wrong(), taken)
    }

    /// Executes a command, where a panic unwinds the stack.
    #[cfg(not(target_family = "wasm"))]
    pub fn answer(&mut self, command: &str) -> String {
        let mut reply = self.call(command);
        loop {
            match reply {
                Reply::Text(text) => return text,
                Reply::Run(operation) => {
                    let result = std::panic::catch_unwind(|| crate::run::go(operation));
                    let progress = crate::run::finish();
                    assert!(
                        result.is_ok() || progress.next.is_some(),
                        "the library panicked"
                    );
                    reply = self.finish(progress);
                }
            }
        }
    }
}
