//! The consequences of a panic.
//!
//! | where | consequence |
//! |---|---|
//! | in a command, or elsewhere in the task of a client or of a scrape | that connection is closed |
//! | in a save | the save fails |
//! | in a task that the server cannot work without | the server saves, and stops with an error: see [`Essential`] |
//!
//! All of them are logged and counted.

use std::{
    any::Any,
    backtrace::{Backtrace, BacktraceStatus},
    collections::HashMap,
    future,
    panic::{self, PanicHookInfo},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
};
use tokio::task::{Id, JoinSet};
use tracing::{Level, enabled, error};

static COUNT: AtomicU64 = AtomicU64::new(0);

/// The number of panics so far.
#[must_use]
pub fn count() -> u64 {
    COUNT.load(Relaxed)
}

/// Counts and logs all further panics.
pub fn log_and_count() {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        COUNT.fetch_add(1, Relaxed);
        match enabled!(Level::ERROR) {
            true => log(panic),
            false => default(panic),
        }
    }));
}

fn log(panic: &PanicHookInfo<'_>) {
    let thread = thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    let place = panic.location().map(ToString::to_string);
    let place = place.unwrap_or_default();
    let message = message(panic.payload());
    // The backtrace is only captured if RUST_BACKTRACE asks for it.
    let backtrace = Backtrace::capture();
    match backtrace.status() {
        BacktraceStatus::Captured => error!(thread, place, %backtrace, "panic: {message}"),
        _ => error!(thread, place, "panic: {message}"),
    }
}

fn message(payload: &(dyn Any + Send)) -> &str {
    let owned = || payload.downcast_ref::<String>().map(String::as_str);
    let text = payload.downcast_ref::<&str>().copied().or_else(owned);
    text.unwrap_or("no message")
}

/// Tasks that the server cannot work without. They are aborted when this is dropped.
#[derive(Debug, Default)]
pub struct Essential {
    tasks: JoinSet<()>,
    names: HashMap<Id, &'static str>,
}

impl Essential {
    /// Starts a task.
    pub fn spawn(&mut self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let id = self.tasks.spawn(task).id();
        self.names.insert(id, name);
    }

    /// Waits, possibly forever, until a task panics, and returns its name.
    ///
    /// Cancel safe: a panic is not lost if this is dropped before it completes.
    pub async fn failed(&mut self) -> &'static str {
        loop {
            match self.tasks.join_next_with_id().await {
                None => future::pending().await,
                // The task has ended normally.
                Some(Ok((id, ()))) => {
                    self.names.remove(&id);
                }
                Some(Err(error)) => return self.names.get(&error.id()).copied().unwrap_or("?"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::task::yield_now;

    #[tokio::test]
    async fn the_task_that_panics_is_named() {
        let mut tasks = Essential::default();
        tasks.spawn("waits", future::pending());
        tasks.spawn("ends", async {});
        tasks.spawn("panics", async { panic!("as it should") });
        assert_eq!(tasks.failed().await, "panics");
    }

    #[tokio::test]
    async fn a_task_that_ends_has_not_failed() {
        let mut tasks = Essential::default();
        for _ in 0..2 {
            // The tasks of this runtime share one thread.
            let others = async {
                for _ in 0..10 {
                    yield_now().await;
                }
            };
            tokio::select! {
                biased;
                name = tasks.failed() => panic!("{name} has failed"),
                () = others => {}
            }
            assert_eq!(tasks.names.len(), 0);
            tasks.spawn("ends", async {});
        }
    }

    #[test]
    fn messages_are_texts_of_either_kind() {
        assert_eq!(message(&"static"), "static");
        assert_eq!(message(&String::from("owned")), "owned");
        assert_eq!(message(&5), "no message");
    }
}
