//! Threads that take turns, step by step.

use crate::run::{Answer, Operation, Progress};
use guira::model::{Item, Step};

/// What a thread does, and how far it has come.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its operations, and what each must answer, if that is certain.
    pub program: Vec<(Operation, Option<bool>)>,
    /// The answers of completed operations.
    pub answers: Vec<Answer>,
    /// Where the present one is.
    pub progress: Progress,
    /// If the step made last was a load for an update: the number of the word.
    pub word: Option<usize>,
}

impl Thread {
    /// A thread that has done nothing.
    pub fn new(program: Vec<(Operation, Option<bool>)>) -> Self {
        Self {
            program,
            answers: Vec::new(),
            progress: Progress::default(),
            word: None,
        }
    }

    /// The operation that it makes now; `None` at its end.
    pub fn operation(&self) -> Option<Operation> {
        self.program
            .get(self.answers.len())
            .map(|&(operation, _)| operation)
    }

    /// The step that it makes next; `None` at its end.
    pub fn next(&self) -> Option<Step> {
        self.progress.next
    }

    /// The operation has come so far: if it is over the next one begins. True if that has to be
    /// brought to its first step.
    pub fn came(&mut self, progress: Progress) -> bool {
        if let Some(last) = progress.made.last() {
            self.word = last.word;
        }
        let Some(answer) = progress.answer else {
            self.progress = progress;
            return false;
        };
        self.answers.push(answer);
        self.progress = Progress::default();
        self.operation().is_some()
    }

    /// The operation that has not answered what it must.
    pub fn wrong_answer(&self) -> Option<usize> {
        let answers = self.program.iter().zip(&self.answers);
        let mut wrong = answers.enumerate().filter(|(_, ((_, must), answer))| {
            must.is_some_and(|must| **answer != Answer::Is(must))
        });
        wrong.next().map(|(index, _)| index)
    }

    /// By how many copies of the item its operations have changed the filter, as they say.
    pub fn balance(&self, item: Item) -> isize {
        let same = |other: Item| {
            (other.fingerprint(), other.buckets()) == (item.fingerprint(), item.buckets())
        };
        let answers = self.program.iter().zip(&self.answers);
        answers
            .map(|((operation, _), answer)| match (operation, answer) {
                (Operation::Insert(it), Answer::Is(true)) if same(*it) => 1,
                (Operation::Remove(it), Answer::Is(true)) if same(*it) => -1,
                _ => 0,
            })
            .sum()
    }
}
