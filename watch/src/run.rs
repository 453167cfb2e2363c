//! Runs one operation, which may stop before any of its steps.
//!
//! An operation runs on the stack of the only thread, and that stack cannot be kept while another
//! operation runs. So a stopped operation is abandoned, and is repeated when it continues. Before
//! each step that it has already made, the filter is reset to the state that the step met the first
//! time. An operation depends on nothing else, so it reaches the same point.

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
    /// The rest of the current doubling.
    Finish,
}

/// The result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The result of a lookup or remove, or whether an insert succeeded.
    Is(bool),
    /// The result of a count.
    Number(usize),
}

/// A step that an operation has made.
#[derive(Clone, Debug)]
pub struct Made {
    /// The name of the step.
    pub step: Step,
    /// The number of the word, if the step is a load for an update.
    pub word: Option<usize>,
    /// The state of the filter before the step.
    pub before: Memory,
    /// The state of the filter after the step.
    pub after: Memory,
}

/// The progress of an operation.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The steps that the operation has made.
    pub made: Vec<Made>,
    /// The next step of the operation, or `None` at its end.
    pub next: Option<Step>,
    /// The result of the operation.
    pub answer: Option<Answer>,
}

/// A running operation.
#[derive(Debug)]
struct Run {
    filter: Rc<dyn Watched>,
    /// The current state of the filter, which the next step meets.
    now: Memory,
    progress: Progress,
    /// The number of steps that the operation has made before this run.
    known: usize,
    /// The number of steps that it has begun in this run.
    begun: usize,
    /// The maximum number of steps in total.
    most: usize,
}

thread_local!(static RUN: RefCell<Option<Run>> = const { RefCell::new(None) });

/// Prepares the next call of [`go`], which continues an operation with this progress, until it has
/// made `most` steps.
pub fn prepare(filter: &Rc<dyn Watched>, progress: Progress, most: usize) {
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
            // If panics abort, as in WebAssembly, the caller of `go` sees a trap.
            std::panic::resume_unwind(Box::new("stopped"));
        }
    });
}

impl Run {
    /// Called when the operation is about to make this step. True if it must stop.
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

    /// Ends the step that was begun last.
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

/// Performs the operation. If the operation stops in its middle, this does not return.
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

/// The progress after [`go`], whether it returned or stopped.
pub fn finish() -> Progress {
    unwatch();
    let Some(run) = RUN.take() else {
        return Progress::default();
    };
    // A stopped thread keeps its marks, which unwinding the stack has removed.
    run.filter.restore(&run.now);
    run.progress
}
