//! Threads of the module's own, which begin with the first work for them.

use crate::{
    engine::{guarded, warn},
    settings,
};
use guira_commands::Filter;
use std::{
    collections::VecDeque,
    io,
    sync::{Condvar, Mutex, MutexGuard, PoisonError, Weak},
    thread,
};

type Work = Box<dyn FnOnce() + Send>;

struct Workers {
    state: Mutex<State>,
    /// There is work, or too many threads.
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

/// Lets a thread do it; does it here, if there is no thread.
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

/// Lets a thread sweep out what the filter has forgotten, if it is still there.
///
/// If it comes late, the next step of the filter begins with it, on the main thread.
pub(crate) fn sweep(filter: Weak<Filter>) {
    submit(move || {
        if let Some(filter) = filter.upgrade() {
            filter.sweep();
        }
    });
}

fn begin() -> io::Result<()> {
    let thread = thread::Builder::new().name("guira".into());
    thread.spawn(|| WORKERS.run()).map(drop)
}

impl Workers {
    /// A panic while the lock is held leaves nothing half-done here.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does the queued work, as long as this thread is wanted.
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
        // What it was woken for another one does.
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
