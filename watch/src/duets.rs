//! Scenes of several threads: their operations, the faults that they can show, and schedules for
//! these.
//!
//! A schedule names the thread that makes each step, with one digit per step. The texts are in
//! `docs/watch/duets.js`, and `watch/tests/duets.rs` checks all of this.

use crate::json;
use guira::model::Fault;

/// A scene of several threads, with two buckets of two slots.
#[derive(Debug)]
pub struct Duet {
    /// The name of the scene.
    pub name: &'static str,
    /// The items in the filter, and their buckets.
    pub put: &'static [(&'static str, usize)],
    /// The threads.
    pub threads: &'static [Part],
    /// Interesting schedules in which nothing goes wrong.
    pub famous: &'static [(&'static str, &'static str)],
    /// The faults by name, each with a schedule that shows it.
    pub controls: &'static [(&'static str, &'static str)],
}

/// The operations of one thread.
#[derive(Debug)]
pub struct Part {
    /// The name of the thread.
    pub name: &'static str,
    /// The operations in order.
    pub does: &'static [Op],
}

/// An operation, and its result if only one is possible.
#[derive(Clone, Copy, Debug)]
pub struct Op(pub Does, pub Option<bool>);

/// An operation on a word of text.
#[derive(Clone, Copy, Debug)]
pub enum Does {
    /// `contains`.
    Contains(&'static str),
    /// `insert`.
    Insert(&'static str),
    /// `remove`.
    Remove(&'static str),
    /// A relocation out of this bucket.
    Move(&'static str, usize),
}

/// The faults that the scenes show.
const FAULTS: [Fault; 20] = [
    Fault::None,
    Fault::NoAdvance,
    Fault::AdvanceLate,
    Fault::EraseFirst,
    Fault::NoTrailing,
    Fault::NoDelivered,
    Fault::NoRetract,
    Fault::DecideBlindly,
    Fault::ContainsNoValidate,
    Fault::ContainsNoReread,
    Fault::ContainsTrustsMarks,
    Fault::RemoveNoValidate,
    Fault::RemoveNoReread,
    Fault::RemoveHigherFirst,
    Fault::KillNoHold,
    Fault::HoldIgnored,
    Fault::HoldSeenEarly,
    Fault::RemoveIgnoresMarks,
    Fault::RemoveNoKilled,
    Fault::ClaimUnchecked,
];

/// The fault with this name.
pub fn fault(name: &str) -> Option<Fault> {
    FAULTS
        .into_iter()
        .find(|fault| format!("{fault:?}") == name)
}

const P: usize = 0;
const Q: usize = 1;

const MOVE_UP: Part = Part {
    name: "move",
    does: &[Op(Does::Move("ani", Q), None)],
};

const MOVE_DOWN: Part = Part {
    name: "move",
    does: &[Op(Does::Move("ani", P), None)],
};

const REMOVE: Part = Part {
    name: "remove",
    does: &[Op(Does::Remove("ani"), Some(true))],
};

const REMOVE_TWICE: Part = Part {
    name: "remove twice",
    does: &[
        Op(Does::Remove("ani"), Some(true)),
        Op(Does::Remove("ani"), Some(false)),
    ],
};

/// All scenes.
pub static ALL: [Duet; 7] = [
    Duet {
        name: "lookup",
        put: &[("ani", Q)],
        threads: &[
            Part {
                name: "lookup",
                does: &[Op(Does::Contains("ani"), Some(true))],
            },
            MOVE_UP,
        ],
        famous: &[
            ("between", "1111111100000000000011111111"),
            ("passed", "001111111111111111000000000000"),
        ],
        controls: &[
            ("NoAdvance", "00111111111111100"),
            ("AdvanceLate", "001111111111100111"),
            ("ContainsNoValidate", "00111111111111110"),
            ("EraseFirst", "111100000000001111111"),
            ("NoTrailing", "1111111110000000000111"),
            ("ContainsNoReread", "1111110000001111111100"),
        ],
    },
    Duet {
        name: "remove",
        put: &[("ani", Q)],
        threads: &[REMOVE, MOVE_UP],
        famous: &[
            ("killed", "11111111000000000000000011111111"),
            ("taken", "1111100000000111111111"),
        ],
        controls: &[
            ("RemoveNoValidate", "00111111111111110"),
            ("RemoveNoReread", "111111111001111100"),
            ("RemoveIgnoresMarks", "11111111100000011111"),
            ("NoTrailing", "111111111000000111"),
            ("NoRetract", "1111111000011"),
            ("DecideBlindly", "11111110000111111"),
        ],
    },
    Duet {
        name: "stopped",
        put: &[("ani", Q)],
        threads: &[
            Part {
                name: "remove",
                does: &[
                    Op(Does::Remove("ani"), Some(true)),
                    Op(Does::Contains("ani"), Some(false)),
                    Op(Does::Remove("ani"), Some(false)),
                ],
            },
            MOVE_UP,
        ],
        famous: &[],
        controls: &[("ContainsTrustsMarks", "1111000000000000000011111")],
    },
    Duet {
        name: "insert",
        put: &[("ani", P), ("koel", P)],
        threads: &[
            Part {
                name: "insert",
                does: &[
                    Op(Does::Insert("quail"), Some(true)),
                    Op(Does::Contains("quail"), Some(true)),
                ],
            },
            MOVE_DOWN,
        ],
        famous: &[("race", "001111111111111111000000000000")],
        controls: &[("ClaimUnchecked", "001111111111111100000")],
    },
    Duet {
        name: "window",
        put: &[("ani", Q)],
        threads: &[
            Part {
                name: "lookup",
                does: &[Op(Does::Contains("ani"), Some(true))],
            },
            Part {
                name: "insert, then remove",
                does: &[
                    Op(Does::Insert("ani"), Some(true)),
                    Op(Does::Remove("ani"), Some(true)),
                ],
            },
        ],
        famous: &[],
        controls: &[("RemoveHigherFirst", "00111111100")],
    },
    Duet {
        name: "two movers",
        put: &[("ani", Q)],
        threads: &[
            REMOVE_TWICE,
            MOVE_UP,
            Part {
                name: "second move",
                does: &[Op(Does::Move("ani", Q), None)],
            },
        ],
        famous: &[],
        controls: &[
            ("NoDelivered", "122222222221111100000000000111222"),
            ("RemoveNoKilled", "2211111111111000000222220000000001122"),
            ("HoldSeenEarly", "111111111000000122222222222000000000002"),
        ],
    },
    Duet {
        name: "three moves",
        put: &[("ani", Q)],
        threads: &[
            REMOVE_TWICE,
            Part {
                name: "three moves",
                does: &[
                    Op(Does::Move("ani", Q), None),
                    Op(Does::Move("ani", P), None),
                    Op(Does::Move("ani", Q), None),
                ],
            },
        ],
        famous: &[(
            "held",
            "111111110000001111111111111111111111111111111111111111000000000000",
        )],
        controls: &[
            (
                "KillNoHold",
                "11111111000001111111111111111111111111100000011111111",
            ),
            (
                "HoldIgnored",
                "111111110000001111111111111111111111111100000011111111",
            ),
        ],
    },
];

impl Duet {
    /// The words of the scene, without repetitions.
    pub fn words(&self) -> Vec<&'static str> {
        let put = self.put.iter().map(|&(word, _)| word);
        let done = self.threads.iter().flat_map(|thread| thread.does);
        let done = done.map(|Op(does, _)| match *does {
            Does::Contains(word)
            | Does::Insert(word)
            | Does::Remove(word)
            | Does::Move(word, _) => word,
        });
        let mut words: Vec<&str> = put.chain(done).collect();
        words.sort_unstable();
        words.dedup();
        words
    }

    pub(crate) fn json(&self) -> String {
        let pairs = |pairs: &[(&str, &str)]| {
            json::list(pairs, |pair| format!("[{:?},{:?}]", pair.0, pair.1))
        };
        let thread = |part: &Part| {
            let operation = |Op(does, _): &Op| {
                let (kind, word) = match does {
                    Does::Contains(word) => ("contains", word),
                    Does::Insert(word) => ("insert", word),
                    Does::Remove(word) => ("remove", word),
                    Does::Move(word, _) => ("move", word),
                };
                format!("[{kind:?},{word:?}]")
            };
            format!(
                r#"{{"name":{:?},"does":{}}}"#,
                part.name,
                json::list(part.does, operation)
            )
        };
        format!(
            r#"{{"name":{:?},"words":{:?},"threads":{},"famous":{},"controls":{}}}"#,
            self.name,
            self.words(),
            json::list(self.threads, thread),
            pairs(self.famous),
            pairs(self.controls)
        )
    }
}
