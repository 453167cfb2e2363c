//! Is there an order of a few operations that explains all their answers? The search
//! for one, after Wing, Gong and Lowe, class by class.
//!
//! It sees more than bounds on the number of copies do: answers that are possible one by one,
//! although no single order explains all of them. It takes exponential time at worst, so the
//! histories are short, and begin and end at rest.

use super::event::{Answer, Event};
use todc_utils::{
    Action::{Call, Response},
    History, Specification, WGLChecker,
};

/// What is asked of a counter of copies.
#[derive(Clone, Copy, Debug)]
enum Operation {
    /// The number of copies at rest, before all operations.
    Start(i64),
    /// What an operation answered.
    Answer(Answer),
}

/// A class is a counter.
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

/// False for a count that meets an insert and a remove of the class. A remove that takes from Q may
/// be counted from before a copy came into P (DESIGN, section 10).
fn is_promised(event: &Event, events: &[(usize, Event)]) -> bool {
    let meets = |answer: fn(Answer) -> bool| {
        let met = |other: &Event| {
            answer(other.answer)
                && other.invoked <= event.returned
                && event.invoked <= other.returned
        };
        events.iter().any(|(_, other)| met(other))
    };
    let inserts = |answer| {
        matches!(
            answer,
            Answer::Insert(true) | Answer::InsertUnique(Some(true))
        )
    };
    let is_count = matches!(event.answer, Answer::Count(_));
    !(is_count && meets(inserts) && meets(|answer| answer == Answer::Remove(true)))
}

/// True if some order of the events, each with the number of its thread, leads from
/// the copies `before` to those `after`.
pub(crate) fn has_order(events: &[(usize, Event)], before: i64, after: i64) -> bool {
    // Nothing can be wrong with these: "present" may be said of what is absent.
    let says_something = |event: &Event| {
        event.answer != Answer::Contains(true) && !event.is_full() && is_promised(event, events)
    };
    let mut ends = Vec::with_capacity(2 * events.len());
    for (thread, event) in events.iter().filter(|(_, event)| says_something(event)) {
        let operation = Operation::Answer(event.answer);
        // What begins when something else ends may have come first: the clock has steps.
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
