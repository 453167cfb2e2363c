//! Searches, class by class, for an order of a few operations that explains all their results. The
//! algorithm is that of Wing, Gong and Lowe.
//!
//! Unlike bounds on the number of copies, the search rejects results that are possible one by one
//! but have no common order. In the worst case it takes exponential time, so histories are short,
//! and begin and end at rest.

use super::event::{Answer, Event};
use todc_utils::{
    Action::{Call, Response},
    History, Specification, WGLChecker,
};

/// An event of a counter of copies.
#[derive(Clone, Copy, Debug)]
enum Operation {
    /// The number of copies at rest, before all operations.
    Start(i64),
    /// The result of an operation.
    Answer(Answer),
}

/// A class, as a counter.
struct Copies;

impl Specification for Copies {
    type State = i64;
    type Operation = Operation;

    fn init() -> i64 {
        0
    }

    fn apply(operation: &Operation, &copies: &i64) -> (bool, i64) {
        let (possible, after) = match *operation {
            Operation::Start(copies) => (true, copies),
            Operation::Answer(answer) => match answer {
                Answer::Insert(true) => (true, copies + 1),
                Answer::InsertUnique(Some(true)) => (copies == 0, copies + 1),
                Answer::InsertUnique(Some(false)) | Answer::Contains(true) => (copies > 0, copies),
                Answer::Remove(true) => (copies > 0, copies - 1),
                Answer::Remove(false) | Answer::Contains(false) => (copies == 0, copies),
                Answer::Count(count) => (count as i64 == copies, copies),
                Answer::Insert(false) | Answer::InsertUnique(None) => (true, copies),
            },
        };
        (possible, if possible { after } else { copies })
    }
}

/// False for a count that has no place in the order (PROOF, section 11): one that overlaps a
/// successful remove, if an insert overlaps the count or this remove.
///
/// A remove that takes from Q may come in the order before an insert into P, even though the insert
/// returned first. Until the remove takes its copy, counts include both copies.
fn is_promised(event: &Event, events: &[(usize, Event)]) -> bool {
    let overlap = |a: &Event, b: &Event| a.invoked <= b.returned && b.invoked <= a.returned;
    let with = |answers: &'static [Answer]| {
        let all = events.iter().map(|(_, event)| event);
        all.filter(|event| answers.contains(&event.answer))
    };
    let has_place = |remove: &Event| {
        with(&[Answer::Insert(true), Answer::InsertUnique(Some(true))])
            .all(|insert| !overlap(insert, event) && !overlap(insert, remove))
    };
    let is_count = matches!(event.answer, Answer::Count(_));
    !is_count
        || with(&[Answer::Remove(true)]).all(|remove| !overlap(remove, event) || has_place(remove))
}

/// True if some order of the events leads from `before` to `after` copies. Each event has the
/// number of its thread.
pub(crate) fn has_order(events: &[(usize, Event)], before: i64, after: i64) -> bool {
    // A lookup that finds the class and a refused insert are always allowed.
    let says_something = |event: &Event| {
        event.answer != Answer::Contains(true) && !event.is_full() && is_promised(event, events)
    };
    let mut ends = Vec::with_capacity(2 * events.len());
    for (thread, event) in events.iter().filter(|(_, event)| says_something(event)) {
        let operation = Operation::Answer(event.answer);
        // Times are discrete. If one operation begins at the time at which another ends, either may
        // be first.
        ends.push((event.invoked, false, thread + 1, operation));
        ends.push((event.returned, true, thread + 1, operation));
    }
    ends.sort_by_key(|&(at, is_end, ..)| (at, is_end));
    let action = |(_, is_end, thread, operation)| match is_end {
        false => (thread, Call(operation)),
        true => (thread, Response(operation)),
    };
    let alone = |operation| [(0, Call(operation)), (0, Response(operation))];
    let history: Vec<_> = alone(Operation::Start(before))
        .into_iter()
        .chain(ends.into_iter().map(action))
        .chain(alone(Operation::Answer(Answer::Count(after as usize))))
        .collect();
    WGLChecker::<Copies>::is_linearizable(History::from_actions(history))
}
