//! The operations in which a thread is stopped.

use super::{
    stage::{Stage, insert, insert_unique, remove},
    stop::{Act, Filter, Stopped},
};
use guira::{
    CuckooFilter,
    model::{Step, watch},
};
use std::{hint::black_box, thread};

/// Where the items of the operations begin.
const NEW: u64 = 1 << 32;

/// An item that is never inserted.
const ABSENT: u64 = u64::MAX;

/// An operation on a filter.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    stage: Stage,
    /// Who stands still all the time, and where.
    mover: Option<(Act, Step)>,
    pub(crate) act: Act,
    /// The items of the stage with which the others work.
    pub(crate) of_others: Vec<u64>,
    /// Besides, the items that are in the filter in the end.
    pub(crate) remain: Vec<u64>,
    /// Others that may be in it: the act removes them, or does not come to that.
    pub(crate) may_remain: Vec<u64>,
    /// Items that are in the filter all the time, as the act needs them.
    pub(crate) needs: Vec<u64>,
    /// What the act inserts unless it is present, and another thread likewise.
    pub(crate) contested: Option<u64>,
    pub(crate) keeps: Keeps,
}

/// What a thread that is stopped in the act may keep from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// Nothing at all.
    Nothing,
    /// The words of a move, for other moves.
    Words,
}

impl Case {
    fn new(name: &'static str, stage: Stage, act: Act) -> Self {
        Self {
            name,
            stage,
            mover: None,
            act,
            of_others: (0..stage.items).collect(),
            remain: Vec::new(),
            may_remain: Vec::new(),
            needs: Vec::new(),
            contested: None,
            keeps: Keeps::Nothing,
        }
    }

    /// The act adds these items.
    fn adding(mut self, items: impl IntoIterator<Item = u64>) -> Self {
        self.remain.extend(items);
        self
    }

    /// The act needs these items of the stage.
    fn needing(mut self, items: impl IntoIterator<Item = u64>) -> Self {
        for item in items {
            self.of_others.retain(|&other| other != item);
            self.needs.push(item);
            self.remain.push(item);
        }
        self
    }

    /// The act removes these items of the stage.
    fn removing(mut self, items: impl IntoIterator<Item = u64>) -> Self {
        for item in items {
            self.of_others.retain(|&other| other != item);
        }
        self
    }

    /// The act is an insert_unique of this item.
    fn contesting(self, item: u64) -> Self {
        Self {
            contested: Some(item),
            ..self.adding([item])
        }
    }

    fn keeping(self, keeps: Keeps) -> Self {
        Self { keeps, ..self }
    }

    /// The filter before the act.
    pub(crate) fn scene(&self) -> (Filter, Option<Stopped>) {
        let filter = self.stage.build();
        let mover = self.mover.as_ref().map(|(mover, step)| {
            let stopped = Stopped::before(*step, 0, mover, self.stage.build(), &filter);
            stopped.expect("a move")
        });
        (filter, mover)
    }

    /// The steps of the act when no other thread is at work.
    pub(crate) fn steps(&self) -> Vec<Step> {
        let (filter, _mover) = self.scene();
        self.act.steps(&filter)
    }
}

/// The first new item for which the steps of `act` are as `wanted`, whichever thread does it.
///
/// How far a level is split depends on the thread that fills the filter, and 64 threads try it.
fn item(
    stage: Stage,
    act: impl Fn(u64) -> Act + Sync,
    wanted: impl Fn(&[Step]) -> bool + Sync,
) -> u64 {
    const THREADS: usize = 64;
    (NEW..NEW + 2_000)
        .find(|&item| {
            let wanted = || wanted(&act(item).steps(&stage.build()));
            wanted()
                && thread::scope(|scope| {
                    let others: Vec<_> = (0..THREADS).map(|_| scope.spawn(wanted)).collect();
                    let mut others = others.into_iter();
                    others.all(|other| other.join().expect("a wanted item or not"))
                })
        })
        .expect("such an item")
}

/// What does not depend on the state of the filter.
pub(crate) fn anywhere(stage: Stage) -> Vec<Case> {
    let claims = |steps: &[Step]| !steps.contains(&Step::Outline);
    let new = item(stage, insert, claims);
    let unique = item(stage, insert_unique, claims);
    let (raced, loses) = insert_unique_that_loses(stage);
    let many = move || NEW..NEW + 40;
    let mut cases = vec![
        Case::new("insert", stage, insert(new)).adding([new]),
        Case::new("insert_unique", stage, insert_unique(unique)).contesting(unique),
        Case::new("insert_unique, present", stage, insert_unique(0)).needing([0]),
        Case::new("insert_unique, raced", stage, loses).adding([raced]),
        Case::new("remove", stage, remove(0)).removing([0]),
        Case::new(
            "remove, absent",
            stage,
            Act::new(|filter| assert!(!filter.remove(&ABSENT))),
        ),
        Case::new("contains", stage, contains(0)).needing([0]),
        Case::new(
            "contains, absent",
            stage,
            Act::new(|filter| _ = black_box(filter.contains(&ABSENT))),
        ),
        Case::new("count", stage, count(0)).needing([0]),
        Case::new(
            "insert_batch",
            stage,
            Act::new(move |filter| {
                let items: Vec<u64> = many().collect();
                filter.insert_batch(&items).expect("room");
            }),
        )
        .adding(many())
        .keeping(Keeps::Words),
        Case::new(
            "contains_batch",
            stage,
            Act::new(|filter| {
                let mut found = [false; 40];
                filter.contains_batch(&Vec::from_iter(0..40_u64), &mut found);
                assert_eq!(found, [true; 40]);
            }),
        )
        .needing(0..40),
        Case::new(
            "remove_batch",
            stage,
            Act::new(|filter| {
                let mut removed = [false; 40];
                filter.remove_batch(&Vec::from_iter(0..40_u64), &mut removed);
                assert_eq!(removed, [true; 40]);
            }),
        )
        .removing(0..40),
        write_to(stage),
        Case::new(
            "clone",
            stage,
            Act::new(|filter| {
                let clone = filter.clone();
                no_more_stops();
                assert!(clone.contains(&0_u64));
            }),
        )
        .needing([0]),
    ];
    // In a fixed filter it does nothing at all.
    if stage.grows {
        let finish = Act::new(CuckooFilter::finish_growth);
        cases.push(Case::new("finish_growth", stage, finish));
    }
    cases
}

pub(crate) fn write_to(stage: Stage) -> Case {
    let act = Act::new(|filter| {
        let mut bytes = Vec::new();
        filter.write_to(&mut bytes).expect("a vector takes all");
        no_more_stops();
        let restored = CuckooFilter::from_bytes(&bytes).expect("a snapshot");
        assert!(restored.contains(&0_u64));
    });
    Case::new("write_to", stage, act).needing([0])
}

/// What the act has brought about is looked at.
fn no_more_stops() {
    watch(|_| ());
}

fn contains(item: u64) -> Act {
    Act::new(move |filter| assert!(filter.contains(&item)))
}

fn count(item: u64) -> Act {
    Act::new(move |filter| assert!(filter.count(&item) > 0))
}

/// An item, and an insert_unique of it that finds it in its other bucket when its
/// reservation stands: just then it is inserted.
fn insert_unique_that_loses(stage: Stage) -> (u64, Act) {
    let act = |item: u64| {
        let act = Act::new(move |filter| {
            let inserted = filter.insert_unique(&item);
            assert_eq!(inserted, Ok(false));
        });
        act.hooked(move || {
            let (mut last, mut raced) = (None, false);
            Box::new(move |filter, step| {
                if last == Some(Step::Reserve) && !raced {
                    raced = true;
                    filter.insert(&item).expect("room");
                }
                last = Some(step);
            })
        })
    };
    let item = item(stage, act, |steps| steps.contains(&Step::Cancel));
    (item, act(item))
}

/// A call of insert_unique stands still with its reservation, and one of another item takes
/// that away.
pub(crate) fn evicting() -> Case {
    let stage = Stage {
        grows: false,
        items: 100,
    };
    let case = |holder, item| Case {
        mover: Some((insert_unique(holder), Step::Confirm)),
        ..Case::new("insert_unique that evicts", stage, insert_unique(item))
            .contesting(item)
            .adding([holder])
    };
    let evicts = |steps: Vec<Step>| steps.contains(&Step::Evict);
    // In one filter for each holder many items are tried, and taken out again.
    let found = (NEW + 10_000..).find_map(|holder| {
        let (filter, _holder) = case(holder, ABSENT).scene();
        let mut items = NEW..NEW + 2_000;
        let item = items.find(|&item| {
            let evicts = evicts(insert_unique(item).steps(&filter));
            assert!(filter.remove(&item));
            evicts
        })?;
        let case = case(holder, item);
        evicts(case.steps()).then_some(case)
    });
    found.expect("such items")
}

/// An intersection takes all copies of an item but one, from both of its words.
pub(crate) fn intersecting() -> Case {
    const COPIES: usize = 6;
    let stage = Stage {
        grows: false,
        items: 100,
    };
    let act = Act::new(|filter| {
        let other = filter.clone();
        for _ in 1..COPIES {
            filter.insert(&0_u64).expect("room");
        }
        filter.intersect_with(&other).expect("it is like the other");
    });
    let case = Case::new("intersect_with", stage, act);
    Case {
        // It leaves more copies if it meets marks for too long.
        may_remain: vec![0; COPIES],
        ..case.needing([0]).keeping(Keeps::Words)
    }
}

/// Where the next insert moves a resident.
pub(crate) fn moves(stage: Stage) -> Vec<Case> {
    let next = stage.items;
    let unique = item(stage, insert_unique, |steps| {
        steps.contains(&Step::Deliver) && steps.contains(&Step::Confirm)
    });
    vec![
        Case::new("insert that relocates", stage, insert(next))
            .adding([next])
            .keeping(Keeps::Words),
        Case::new("insert_unique that relocates", stage, insert_unique(unique))
            .contesting(unique)
            .keeping(Keeps::Words),
        given_up(stage),
    ]
}

/// A move is given up, as its item is gone: it is removed just before Decide.
fn given_up(stage: Stage) -> Case {
    let next = stage.items;
    let moved = moved(&mover(stage, Step::Deliver));
    let act = insert(next).hooked(move || {
        let mut decides = false;
        Box::new(move |filter, step| {
            if step == Step::Decide && !decides {
                decides = true;
                assert!(filter.remove(&moved));
            }
        })
    });
    let case = Case::new("insert whose relocation is given up", stage, act);
    Case {
        may_remain: vec![moved],
        keeps: Keeps::Words,
        ..case.adding([next]).removing([moved])
    }
}

/// The next insert stands still before the first of such steps: nothing is done yet.
pub(crate) fn mover(stage: Stage, at: Step) -> Case {
    let next = stage.items;
    Case {
        mover: Some((insert(next), at)),
        keeps: Keeps::Words,
        ..Case::new("", stage, Act::new(|_| ())).adding([next])
    }
}

/// The item that the mover of the case is moving.
pub(crate) fn moved(case: &Case) -> u64 {
    let (filter, _mover) = case.scene();
    (0..case.stage.items)
        .find(|&item| remove(item).steps(&filter).contains(&Step::Kill))
        .expect("an item that is being moved")
}

/// The steps of a move.
const MOVE: [Step; 7] = [
    Step::Outline,
    Step::Advance,
    Step::Shadow,
    Step::Decide,
    Step::Deliver,
    Step::Erase,
    Step::Settle,
];

/// While a mover stands still in the middle of a move, others are stopped with the
/// item that it moves.
pub(crate) fn among_marks(stage: Stage) -> Vec<Case> {
    let mut cases = Vec::new();
    let moved = moved(&mover(stage, Step::Deliver));
    for at in MOVE {
        let case = |name, act| Case {
            name,
            act,
            ..mover(stage, at)
        };
        cases.extend([
            case("remove among marks", remove(moved)).removing([moved]),
            case("contains among marks", contains(moved)).needing([moved]),
            case("count among marks", count(moved)).needing([moved]),
            case("insert_unique among marks", insert_unique(moved)).needing([moved]),
        ]);
    }
    cases
}

/// The next insert begins a level, or completes one.
pub(crate) fn ends_of_a_level() -> Vec<Case> {
    let case =
        |name, stage: Stage| Case::new(name, stage, insert(stage.items)).adding([stage.items]);
    let stage = Stage::begin();
    let splits = |steps: &[Step]| steps.contains(&Step::Freeze);
    let unique = item(stage, insert_unique, splits);
    vec![
        case("insert that begins a level", stage),
        Case::new(
            "insert_unique that begins a level",
            stage,
            insert_unique(unique),
        )
        .contesting(unique)
        .keeping(Keeps::Words),
        case("insert that completes a level", Stage::end()),
        Case::new(
            "finish_growth at the end",
            Stage::end(),
            Act::new(CuckooFilter::finish_growth),
        ),
    ]
}
