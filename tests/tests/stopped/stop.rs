//! A thread that is stopped before one of its steps.

use super::steps::chosen;
use guira::{
    CuckooFilter,
    model::{Step, watch},
};
use std::{
    cell::{Cell, RefCell},
    convert::Infallible,
    rc::Rc,
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// Far beyond what anything here needs. Only a thread that is delayed for ever, which
/// is what must not be, comes near it.
pub(crate) const FOR_EVER: Duration = Duration::from_secs(600);

pub(crate) type Filter = Arc<CuckooFilter>;

/// Runs before each step of the thread that is to be stopped, in the thread itself.
pub(crate) type Hook = Box<dyn FnMut(&CuckooFilter, Step)>;

/// What a thread does.
#[derive(Clone)]
pub(crate) struct Act {
    operation: Arc<dyn Fn(&CuckooFilter) + Send + Sync>,
    hook: Arc<dyn Fn() -> Hook + Send + Sync>,
}

impl Act {
    pub(crate) fn new(operation: impl Fn(&CuckooFilter) + Send + Sync + 'static) -> Self {
        Self {
            operation: Arc::new(operation),
            hook: Arc::new(|| Box::new(|_, _| ())),
        }
    }

    /// With a hook for each time that it is done.
    pub(crate) fn hooked(self, hook: impl Fn() -> Hook + Send + Sync + 'static) -> Self {
        Self {
            hook: Arc::new(hook),
            ..self
        }
    }

    /// Does it, and calls `seen` for each step.
    fn run(&self, filter: &Filter, mut seen: impl FnMut(Step) + 'static) {
        let (mut hook, watched) = ((self.hook)(), filter.clone());
        watch(move |step| {
            hook(&watched, step);
            seen(step);
        });
        (self.operation)(filter);
        watch(|_| ());
    }

    /// Does it in this thread: the steps.
    pub(crate) fn steps(&self, filter: &Filter) -> Vec<Step> {
        let steps = Rc::new(RefCell::new(Vec::new()));
        let seen = steps.clone();
        self.run(filter, move |step| seen.borrow_mut().push(step));
        steps.take()
    }
}

/// A thread that stands still, and would for ever.
pub(crate) struct Stopped {
    thread: JoinHandle<()>,
    ends: Receiver<()>,
    /// Never used: the thread continues when this is dropped.
    stands: Sender<Infallible>,
}

impl Stopped {
    /// Lets a thread do `act` on the filter and stops it before one of the steps `step`: the first
    /// (0) or another of those [`chosen`]. The result is `None` if fewer steps are chosen.
    ///
    /// How many there are is seen on `rehearsal`, an equal filter, in the same thread:
    /// which words a thread sweeps depends on it.
    pub(crate) fn before(
        step: Step,
        which: usize,
        act: &Act,
        rehearsal: Filter,
        filter: &Filter,
    ) -> Option<Self> {
        let (stops, reached) = mpsc::channel();
        let (stands, go_on) = mpsc::channel::<Infallible>();
        let (act, filter) = (act.clone(), filter.clone());
        let thread = thread::spawn(move || {
            let steps = act.steps(&rehearsal);
            drop(rehearsal);
            let count = steps.iter().filter(|&&other| other == step).count();
            let Some(&nth) = chosen(count).get(which) else {
                return;
            };
            let seen = Rc::new(Cell::new(0));
            let counter = seen.clone();
            act.run(&filter, move |other| {
                if other != step {
                    return;
                }
                if counter.get() == nth {
                    stops.send(()).expect("the test waits for it");
                    let Err(mpsc::RecvError) = go_on.recv();
                }
                counter.set(counter.get() + 1);
            });
            assert!(seen.get() > nth, "{step:?} {nth} as in the rehearsal");
        });
        match reached.recv_timeout(FOR_EVER) {
            Ok(()) => Some(Self {
                thread,
                ends: reached,
                stands,
            }),
            Err(RecvTimeoutError::Disconnected) => {
                thread.join().expect("the operation succeeds");
                None
            }
            Err(RecvTimeoutError::Timeout) => panic!("the operation does not end"),
        }
    }

    /// Lets the thread complete what it does.
    pub(crate) fn resume(self) {
        drop(self.stands);
        let end = self.ends.recv_timeout(FOR_EVER);
        assert_eq!(end, Err(RecvTimeoutError::Disconnected), "it does not end");
        self.thread.join().expect("the operation succeeds");
    }
}
