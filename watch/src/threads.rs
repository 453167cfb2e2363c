//! Threads that take turns, step by step.

use crate::run::{Answer, Operation, Progress};
use guira::model::{Item, Step};

/// A thread and its progress.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its operations, each with its result if only one is possible.
    pub program: Vec<(Operation, Option<bool>)>,
    /// The results of the completed operations.
    pub answers: Vec<Answer>,
    /// The progress of the current operation.
    pub progress: Progress,
    /// The number of the word, if the last step was a load for an update.
    pub word: Option<usize>,
}

impl Thread {
    /// A thread that has not begun.
    pub fn new(program: Vec<(Operation, Option<bool>)>) -> Self {
        Self {
            program,
            answers: Vec::new(),
            progress: Progress::default(),
            word: None,
        }
    }

    /// The current operation, or `None` at the end.
    pub fn operation(&self) -> Option<Operation> {
        self.program
            .get(self.answers.len())
            .map(|&(operation, _)| operation)
    }

    /// The next step, or `None` at the end.
    pub fn next(&self) -> Option<Step> {
        self.progress.next
    }

    /// Records the progress of the current operation. If it is complete, the next one begins. True
    /// if that one must be brought to its first step.
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

    /// The operation with an impossible result.
    pub fn wrong_answer(&self) -> Option<usize> {
        let answers = self.program.iter().zip(&self.answers);
        let mut wrong = answers.enumerate().filter(|(_, ((_, must), answer))| {
            must.is_some_and(|must| **answer != Answer::Is(must))
        });
        wrong.next().map(|(index, _)| index)
    }

    /// The change of the number of copies of the item, according to the results of its operations.
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
