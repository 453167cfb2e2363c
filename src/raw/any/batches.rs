//! Operations on batches, in whichever layout a filter has.

use crate::error::BatchError;

/// The number of hashes that a batch collects before it passes them on.
const COLLECTED: usize = 256;

/// Operations on batches that are compiled for the items of each program.
macro_rules! in_layout {
    ($any:ident $each:ident { $(fn $batch:ident($answer:ty) -> $outcome:ty;)* }) => {
        $(
            fn $batch<T>(
                &self,
                items: &[T],
                hash: impl Fn(&T) -> u64,
                answers: &mut [$answer],
            ) -> $outcome {
                $each!(
                    self,
                    raw => raw.$batch(items, hash, answers),
                    group => Ops::$batch(group, items, hash, answers)
                )
            }
        )*
    };
}

/// Operations on batches that collect hashes, and are compiled once for all programs.
macro_rules! collected {
    ($any:ident $each:ident { $(fn $batch:ident($answer:ty) -> $outcome:ty;)* }) => {
        $(
            fn $batch<T>(
                &self,
                items: &[T],
                hash: impl Fn(&T) -> u64,
                answers: &mut [$answer],
            ) -> $outcome {
                fn of_hashes(any: &$any, hashes: &[u64], answers: &mut [$answer]) -> $outcome {
                    $each!(any, raw => raw.$batch(hashes, |&hash| hash, answers), _group => ())
                }
                in_parts(items, hash, answers, |hashes, answers| {
                    of_hashes(self, hashes, answers)
                })
            }
        )*
    };
}

pub(super) use {collected, in_layout};

/// How a part of a batch ends.
pub(super) trait Outcome: Sized {
    const DONE: Self;

    /// What the batch ends with if this ends it, after the `before` items of other parts.
    fn of_part(self, before: usize) -> Option<Self>;
}

impl Outcome for () {
    const DONE: Self = ();

    fn of_part(self, _before: usize) -> Option<()> {
        None
    }
}

impl Outcome for Result<(), BatchError> {
    const DONE: Self = Ok(());

    fn of_part(self, before: usize) -> Option<Self> {
        self.err().map(|error| Err(error.after(before)))
    }
}

/// Passes the hashes of the items to `of`, part by part, with the places of their answers.
pub(super) fn in_parts<T, R, O: Outcome>(
    items: &[T],
    hash: impl Fn(&T) -> u64,
    answers: &mut [R],
    mut of: impl FnMut(&[u64], &mut [R]) -> O,
) -> O {
    assert_eq!(items.len(), answers.len(), "a result for each item");
    let parts = items.chunks(COLLECTED).zip(answers.chunks_mut(COLLECTED));
    for (part, (items, answers)) in parts.enumerate() {
        let mut hashes = [0; COLLECTED];
        let hashes = &mut hashes[..items.len()];
        for (place, item) in hashes.iter_mut().zip(items) {
            *place = hash(item);
        }
        if let Some(end) = of(hashes, answers).of_part(part * COLLECTED) {
            return end;
        }
    }
    O::DONE
}
