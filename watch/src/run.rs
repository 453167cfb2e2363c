//! One operation, which may stop before any of its steps.
//!
//! An operation runs on the stack of the only thread that there is, and the stack cannot be kept
//! while another operation runs. So an operation that has stopped is given up, and repeated when it
//! has to continue. Before each step that it has made already, the filter is put back to what that
//! step met the first time. An operation depends on nothing else, so it comes to the same place.

use guira::model::{Item, Memory, Step, Watched, unwatch, watch};
use std::{cell::RefCell, rc::Rc};

/// An operation of the library.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// `insert`.
    Insert(Item),
    /// `contains`.
    Contains(Item),
    /// `remove`.
    Remove(Item),
    /// `count`.
    Count(Item),
    /// One relocation of an item out of a bucket.
    Move(Item, usize),
    /// The split of the word of this plane and bucket.
    Split(u64, usize),
    /// The end of the doubling that has begun.
    Finish,
}

/// What an operation answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes or no; of an insert: whether it succeeded.
    Is(bool),
    /// A number.
    Number(usize),
}

/// A step that an operation has made.
#[derive(Clone, Debug)]
pub struct Made {
    /// Its name.
    pub step: Step,
    /// Of a load for an update: the number of the word.
    pub word: Option<usize>,
    /// The filter before it.
    pub before: Memory,
    /// The filter after it.
    pub after: Memory,
}

/// How far an operation has come.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The steps that it has made.
    pub made: Vec<Made>,
    /// The step that it makes next; `None` at its end.
    pub next: Option<Step>,
    /// What it has answered.
    pub answer: Option<Answer>,
}

/// An operation that runs.
#[derive(Debug)]
struct Run {
    filter: Rc<Watched>,
    /// The filter now, which the steps to come meet.
    now: Memory,
    progress: Progress,
    /// How many of its steps it has made before.
    known: usize,
    /// The steps that it has begun in this run.
    begun: usize,
    /// The steps that it may make in all.
    most: usize,
}

thread_local!(static RUN: RefCell<Option<Run>> = const { RefCell::new(None) });

/// Provides that the next [`go`] makes an operation that has come so far, until it has made `most`
/// steps.
pub fn prepare(filter: &Rc<Watched>, progress: Progress, most: usize) {
    let run = Run {
        filter: Rc::clone(filter),
        now: filter.memory(),
        known: progress.made.len(),
        progress: Progress {
            next: None,
            ..progress
        },
        begun: 0,
        most,
    };
    RUN.set(Some(run));
    watch(|step| {
        let stops = RUN.with_borrow_mut(|run| run.as_mut().is_none_or(|run| run.meets(step)));
        if stops {
            // Where panics abort, as in WebAssembly, the caller of `go` finds that it has trapped.
            std::panic::resume_unwind(Box::new("stopped"));
        }
    });
}

impl Run {
    /// The operation is about to make this step. True if it must stop.
    fn meets(&mut self, step: Step) -> bool {
        self.end_step();
        if self.begun == self.most {
            self.progress.next = Some(step);
            self.now = self.filter.memory();
            return true;
        }
        let made = &mut self.progress.made;
        match made.get(self.begun) {
            Some(known) => self.filter.restore(&known.before),
            None => {
                if self.begun == self.known {
                    self.filter.restore(&self.now);
                }
                let before = self.filter.memory();
                made.push(Made {
                    step,
                    word: None,
                    after: before.clone(),
                    before,
                });
            }
        }
        self.begun += 1;
        false
    }

    /// The step that was begun last is over.
    fn end_step(&mut self) {
        if self.begun <= self.known {
            return;
        }
        if let Some(last) = self.progress.made.last_mut() {
            last.after = self.filter.memory();
            if last.step == Step::LoadForUpdate {
                last.word = self.filter.touched();
            }
        }
    }
}

/// Makes the operation, or stops in its middle: then it does not return.
pub fn go(operation: Operation) {
    let filter = RUN.with_borrow(|run| run.as_ref().map(|run| Rc::clone(&run.filter)));
    let Some(filter) = filter else { return };
    let answer = match operation {
        Operation::Insert(item) => Answer::Is(filter.insert(item).is_ok()),
        Operation::Contains(item) => Answer::Is(filter.contains(item)),
        Operation::Remove(item) => Answer::Is(filter.remove(item)),
        Operation::Count(item) => Answer::Number(filter.count(item)),
        Operation::Move(item, from) => Answer::Is(filter.relocate(item, from)),
        Operation::Split(plane, bucket) => {
            filter.split(plane, bucket);
            Answer::Is(true)
        }
        Operation::Finish => {
            filter.finish_growth();
            Answer::Is(true)
        }
    };
    RUN.with_borrow_mut(|run| {
        if let Some(run) = run {
            run.end_step();
            run.progress.answer = Some(answer);
            run.now = filter.memory();
        }
    });
}

/// What came of [`go`], whether it returned or stopped.
pub fn finish() -> Progress {
    unwatch();
    let Some(run) = RUN.take() else {
        return Progress::default();
    };
    // A thread that stops keeps what it holds; the stack that was unwound has let go of it.
    run.filter.restore(&run.now);
    run.progress
}
