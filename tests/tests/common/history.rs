//! Checks in near-linear time whether the results that threads got are possible, class by class.
//!
//! A class is a counter: an insert adds a copy, and a remove takes one. The moment at which each
//! takes effect is unknown, but lies between its invocation and its return. During a call from `a`
//! to `b` there were therefore at every moment at least
//!
//! ```text
//! copies before + inserts returned before a - removes invoked up to b
//! ```
//!
//! copies, and at no moment more than
//!
//! ```text
//! copies before + inserts invoked up to b - removes returned before a
//! ```
//!
//! Only successful inserts and removes count. Each thread records its own times: a common ticket
//! would order the threads, and hide the effects of a missing ordering.

use super::event::{Answer, Event};
use std::fmt;

/// A result that no order of the operations can give.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    pub(crate) class: usize,
    pub(crate) event: Option<Event>,
    pub(crate) law: &'static str,
    pub(crate) bounds: (i64, i64),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            class,
            event,
            law,
            bounds: (least, most),
        } = self;
        write!(
            f,
            "class {class}, between {least} and {most} copies: {law}; {event:?}"
        )
    }
}

/// Checks all events, given the copies `before` and `after` at rest by class. Returns the number of
/// lookups that found a class that was absent during the whole call. These are allowed, but each
/// must have been a conservative result.
pub(crate) fn check(events: &[Event], before: &[i64], after: &[i64]) -> Result<u64, Violation> {
    let mut by_class = vec![Vec::new(); before.len()];
    for event in events {
        assert!(event.invoked <= event.returned, "{event:?}");
        by_class[event.class].push(*event);
    }
    let mut unfounded = 0;
    for (class, events) in by_class.iter().enumerate() {
        unfounded += Class::new(class, events, before[class]).check(events, after[class])?;
    }
    Ok(unfounded)
}

/// The times at which copies of one class were added and removed, each list in order.
struct Class {
    class: usize,
    before: i64,
    adds_invoked: Vec<u64>,
    adds_returned: Vec<u64>,
    takes_invoked: Vec<u64>,
    takes_returned: Vec<u64>,
    /// Plain inserts, which may add a second copy.
    plain: bool,
}

impl Class {
    fn new(class: usize, events: &[Event], before: i64) -> Self {
        let adds = |e: &&Event| {
            matches!(
                e.answer,
                Answer::Insert(true) | Answer::InsertUnique(Some(true))
            )
        };
        let takes = |e: &&Event| e.answer == Answer::Remove(true);
        let sorted = |times: &mut dyn Iterator<Item = u64>| {
            let mut times: Vec<u64> = times.collect();
            times.sort_unstable();
            times
        };
        Self {
            class,
            before,
            adds_invoked: sorted(&mut events.iter().filter(adds).map(|e| e.invoked)),
            adds_returned: sorted(&mut events.iter().filter(adds).map(|e| e.returned)),
            takes_invoked: sorted(&mut events.iter().filter(takes).map(|e| e.invoked)),
            takes_returned: sorted(&mut events.iter().filter(takes).map(|e| e.returned)),
            plain: events.iter().any(|e| e.answer == Answer::Insert(true)),
        }
    }

    /// The minimum number of copies that were present during the whole time from `a` to `b`, and
    /// the maximum number that were present at some moment of it.
    fn bounds(&self, a: u64, b: u64) -> (i64, i64) {
        let before = |times: &[u64], end: u64| times.partition_point(|&t| t < end) as i64;
        let up_to = |times: &[u64], end: u64| times.partition_point(|&t| t <= end) as i64;
        let least = self.before + before(&self.adds_returned, a) - up_to(&self.takes_invoked, b);
        let most = self.before + up_to(&self.adds_invoked, b) - before(&self.takes_returned, a);
        (least, most)
    }

    fn check(&self, events: &[Event], after: i64) -> Result<u64, Violation> {
        let mut unfounded = 0;
        for event in events {
            let (least, most) = self.bounds(event.invoked, event.returned);
            let law = match event.answer {
                Answer::Contains(false) if least > 0 => {
                    Some("contains answered false: false negative")
                }
                Answer::Remove(false) if least > 0 => {
                    Some("remove answered false of a present item")
                }
                Answer::Remove(true) if most < 1 => Some("remove answered true of an absent item"),
                Answer::InsertUnique(Some(true)) if least > 0 => {
                    Some("insert_unique added a present item")
                }
                Answer::InsertUnique(Some(false)) if most < 1 => {
                    Some("insert_unique found an absent item")
                }
                Answer::Count(count) if (count as i64) < least => Some("count is too small"),
                Answer::Count(count) if count as i64 > most => Some("count is too large"),
                Answer::Contains(true) if most < 1 => {
                    unfounded += 1;
                    None
                }
                _ => None,
            };
            if let Some(law) = law {
                return Err(self.violation(law, Some(*event), (least, most)));
            }
        }
        self.check_takes()?;
        self.check_uniqueness()?;
        let expected =
            self.before + self.adds_invoked.len() as i64 - self.takes_invoked.len() as i64;
        if after != expected {
            let law = if after < expected {
                "a copy was lost"
            } else {
                "a copy too many is left"
            };
            return Err(self.violation(law, None, (expected, after)));
        }
        Ok(unfounded)
    }

    /// Checks that at no moment more copies were taken than added.
    fn check_takes(&self) -> Result<(), Violation> {
        for (taken, &at) in (1..).zip(&self.takes_returned) {
            let added = self.before + self.adds_invoked.partition_point(|&t| t <= at) as i64;
            if taken > added {
                return Err(self.violation(
                    "more copies were taken than added",
                    None,
                    (added, taken),
                ));
            }
        }
        Ok(())
    }

    /// Checks that a class that only `insert_unique` adds never has two copies.
    fn check_uniqueness(&self) -> Result<(), Violation> {
        if self.plain || self.before > 1 {
            return Ok(());
        }
        for &at in &self.adds_returned {
            // This concerns one moment instead of a call: every add that returned by then is
            // present.
            let added = self.adds_returned.partition_point(|&t| t <= at) as i64;
            let taken = self.takes_invoked.partition_point(|&t| t <= at) as i64;
            let copies = self.before + added - taken;
            if copies > 1 {
                return Err(self.violation(
                    "insert_unique added a second copy",
                    None,
                    (copies, copies),
                ));
            }
        }
        Ok(())
    }

    fn violation(&self, law: &'static str, event: Option<Event>, bounds: (i64, i64)) -> Violation {
        Violation {
            class: self.class,
            event,
            law,
            bounds,
        }
    }
}
