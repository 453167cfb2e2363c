//! The module's own threads, which start with the first work for them.

use crate::{
    engine::{guarded, warn},
    settings,
};
use guira_commands::{Filter, Windowed};
use std::{
    collections::VecDeque,
    io,
    sync::{Condvar, Mutex, MutexGuard, PoisonError, Weak},
    thread,
};

/// What may have a filter.
pub(crate) trait HasFilter: Send + Sync + 'static {
    fn filter(&self) -> Option<&Filter>;

    fn window(&self) -> Option<&Windowed> {
        self.filter()?.window()
    }
}

#[cfg(test)]
impl HasFilter for Filter {
    fn filter(&self) -> Option<&Filter> {
        Some(self)
    }
}

type Work = Box<dyn FnOnce() + Send>;

struct Workers {
    state: Mutex<State>,
    /// Signalled when there is work, or when there are too many threads.
    changed: Condvar,
}

struct State {
    work: VecDeque<Work>,
    threads: usize,
    idle: usize,
}

static WORKERS: Workers = Workers {
    state: Mutex::new(State {
        work: VecDeque::new(),
        threads: 0,
        idle: 0,
    }),
    changed: Condvar::new(),
};

/// Queues the work for a thread. Does it on the calling thread if no thread can be started.
pub(crate) fn submit(work: impl FnOnce() + Send + 'static) {
    let work: Work = Box::new(work);
    let mut state = WORKERS.lock();
    if state.idle <= state.work.len() && state.threads < settings::threads() {
        match begin() {
            Ok(()) => state.threads += 1,
            Err(error) => warn(&format!("no further thread can be started: {error}")),
        }
    }
    if state.threads == 0 {
        drop(state);
        work();
        return;
    }
    state.work.push_back(work);
    drop(state);
    WORKERS.changed.notify_one();
}

/// True if there is a thread, so that the work that is submitted does not run on the calling one.
pub(crate) fn are_ready() -> bool {
    let mut state = WORKERS.lock();
    if state.threads == 0 && begin().is_ok() {
        state.threads = 1;
    }
    state.threads > 0
}

/// Queues a sweep of the filter's expired items, unless the filter is dropped before.
///
/// If the next epoch of the filter begins first, the main thread does the sweep then.
pub(crate) fn sweep(filter: Weak<dyn HasFilter>) {
    submit(move || {
        if let Some(kept) = filter.upgrade()
            && let Some(filter) = kept.filter()
        {
            filter.sweep();
        }
    });
}

fn begin() -> io::Result<()> {
    let thread = thread::Builder::new().name("guira".into());
    thread.spawn(|| WORKERS.run()).map(drop)
}

impl Workers {
    /// The state is consistent even if a thread panicked while it held the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does queued work until there are more threads than the settings allow.
    fn run(&self) {
        let mut state = self.lock();
        while state.threads <= settings::threads() {
            if let Some(work) = state.work.pop_front() {
                drop(state);
                guarded("a thread", work, || ());
                state = self.lock();
            } else {
                state.idle += 1;
                state = self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
        }
        state.threads -= 1;
        // Passes on the notification, which was meant for a thread that continues.
        drop(state);
        self.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn all_work_is_done_also_after_a_panic() {
        let (sender, receiver) = mpsc::channel();
        for number in 0..1000 {
            let sender = sender.clone();
            submit(move || {
                assert!(number % 100 != 7, "on purpose");
                sender.send(number).expect("the test waits");
            });
        }
        drop(sender);
        let mut done: Vec<_> = receiver.iter().collect();
        done.sort_unstable();
        assert!(
            done.into_iter()
                .eq((0..1000).filter(|number| number % 100 != 7))
        );
        assert!(WORKERS.lock().threads <= settings::threads());
    }
}
