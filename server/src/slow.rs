//! Runs long work on threads other than the serving threads, a few pieces at a time.

use std::{
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
};

/// How many pieces run at a time. One of them may be a save, and others wait for it.
pub const AT_A_TIME: usize = 4;

/// Runs work that takes long, or waits for the disk.
#[derive(Debug)]
pub struct SlowWork {
    places: Arc<Semaphore>,
    /// Scrapes have a place of their own, because they report why the others are taken.
    scrapes: Arc<Semaphore>,
    /// Commands of clients that do not have a place yet.
    waiting: AtomicUsize,
}

/// A waiting command. Dropping this ends the wait.
pub(crate) struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // Relaxed: the count orders nothing.
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Default for SlowWork {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(AT_A_TIME)),
            scrapes: Arc::new(Semaphore::new(1)),
            waiting: AtomicUsize::new(0),
        }
    }
}

impl SlowWork {
    /// The number of client commands that wait for their turn. Epochs and scrapes do not count.
    #[must_use]
    pub fn waiting(&self) -> usize {
        // Relaxed: the count orders nothing.
        self.waiting.load(Relaxed)
    }

    /// Counts a command as waiting.
    pub(crate) fn begin_waiting(&self) -> Waiting<'_> {
        // Relaxed: the count orders nothing.
        self.waiting.fetch_add(1, Relaxed);
        Waiting(&self.waiting)
    }

    /// Like [`run`](Self::run), for a command of a client: it counts as [`waiting`](Self::waiting)
    /// until its turn comes, or its caller no longer waits.
    ///
    /// # Panics
    ///
    /// If `work` panics.
    pub async fn run_command<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let waiting = self.begin_waiting();
        let place = self.places.clone().acquire_owned().await.ok()?;
        drop(waiting);
        run_in(place, work).await
    }

    /// Runs `work` on another thread when its turn comes. Work that has begun completes even if its
    /// caller no longer waits. Returns `None` if the server stops before that.
    ///
    /// # Panics
    ///
    /// If `work` panics.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let place = self.places.clone().acquire_owned().await.ok()?;
        run_in(place, work).await
    }

    /// Like [`run`](Self::run), for a scrape of the metrics: it waits only for other scrapes.
    ///
    /// # Panics
    ///
    /// If `work` panics.
    pub async fn run_scrape<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let place = self.scrapes.clone().acquire_owned().await.ok()?;
        run_in(place, work).await
    }
}

/// Runs `work` on another thread, and releases `place` after it.
async fn run_in<T: Send + 'static>(
    place: OwnedSemaphorePermit,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    run_beside(move || {
        let done = work();
        drop(place);
        done
    })
    .await
}

/// Runs `work` on another thread. Returns `None` if the server stops before that.
///
/// # Panics
///
/// If `work` panics.
pub async fn run_beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    match spawn_blocking(work).await {
        Ok(done) => Some(done),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Barrier, atomic::Ordering};
    use tokio::task::yield_now;

    /// Metrics can be read while long commands have taken all places.
    #[tokio::test]
    async fn a_scrape_does_not_wait_for_long_commands() {
        let slow = Arc::new(SlowWork::default());
        let (taken, released) = (Barrier::new(AT_A_TIME + 1), Barrier::new(AT_A_TIME + 1));
        let barriers = Arc::new((taken, released));
        for _ in 0..AT_A_TIME {
            let (slow, barriers) = (slow.clone(), barriers.clone());
            tokio::spawn(async move {
                let work = move || {
                    barriers.0.wait();
                    barriers.1.wait();
                };
                slow.run(work).await
            });
        }
        let all_taken = barriers.clone();
        run_beside(move || all_taken.0.wait()).await;
        assert_eq!(slow.places.available_permits(), 0);
        assert_eq!(slow.run_scrape(|| 1).await, Some(1));
        run_beside(move || barriers.1.wait()).await;
    }

    /// No more than these run at a time, and each gets its turn.
    #[tokio::test]
    async fn a_few_things_are_done_at_a_time() {
        let slow = Arc::new(SlowWork::default());
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let all_at_once = Arc::new(Barrier::new(AT_A_TIME));
        let tasks: Vec<_> = (0..4 * AT_A_TIME)
            .map(|number| {
                let (slow, now, most) = (slow.clone(), now.clone(), most.clone());
                let barrier = all_at_once.clone();
                tokio::spawn(async move {
                    let work = move || {
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        barrier.wait();
                        now.fetch_sub(1, Ordering::SeqCst);
                        number
                    };
                    slow.run(work).await
                })
            })
            .collect();
        for (number, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.await.unwrap(), Some(number));
        }
        assert_eq!(most.load(Ordering::SeqCst), AT_A_TIME);
    }

    /// Takes all places until the barrier releases their work.
    fn take_all_places(slow: &Arc<SlowWork>) -> Arc<Barrier> {
        let released = Arc::new(Barrier::new(AT_A_TIME + 1));
        for _ in 0..AT_A_TIME {
            let (slow, released) = (slow.clone(), released.clone());
            tokio::spawn(async move { slow.run(move || released.wait()).await });
        }
        released
    }

    async fn until(done: impl Fn() -> bool) {
        while !done() {
            yield_now().await;
        }
    }

    #[tokio::test]
    async fn commands_count_while_they_wait_and_not_while_they_run() {
        let slow = Arc::new(SlowWork::default());
        let released = take_all_places(&slow);
        until(|| slow.places.available_permits() == 0).await;
        assert_eq!(slow.waiting(), 0);
        let started = Arc::new(Barrier::new(2));
        let ended = Arc::new(Barrier::new(2));
        let command = {
            let (slow, started, ended) = (slow.clone(), started.clone(), ended.clone());
            let work = move || {
                started.wait();
                ended.wait();
            };
            tokio::spawn(async move { slow.run_command(work).await })
        };
        until(|| slow.waiting() == 1).await;
        let task = {
            let slow = slow.clone();
            tokio::spawn(async move { slow.run(|| ()).await })
        };
        yield_now().await;
        assert_eq!(slow.waiting(), 1, "only commands count");
        run_beside(move || released.wait()).await;
        run_beside(move || started.wait()).await;
        assert_eq!(slow.waiting(), 0, "it has begun");
        run_beside(move || ended.wait()).await;
        assert_eq!(command.await.unwrap(), Some(()));
        assert_eq!(task.await.unwrap(), Some(()));
    }

    #[tokio::test]
    async fn a_command_whose_caller_is_gone_does_not_count() {
        let slow = Arc::new(SlowWork::default());
        let released = take_all_places(&slow);
        until(|| slow.places.available_permits() == 0).await;
        let command = {
            let slow = slow.clone();
            tokio::spawn(async move { slow.run_command(|| ()).await })
        };
        until(|| slow.waiting() == 1).await;
        command.abort();
        assert!(command.await.is_err_and(|error| error.is_cancelled()));
        assert_eq!(slow.waiting(), 0);
        run_beside(move || released.wait()).await;
    }

    #[tokio::test]
    async fn a_panic_leaves_the_place_to_others() {
        let slow = Arc::new(SlowWork::default());
        for _ in 0..2 * AT_A_TIME {
            let slow = slow.clone();
            let task = tokio::spawn(async move { slow.run(|| panic!("as it should")).await });
            assert!(task.await.is_err_and(|error| error.is_panic()));
        }
        assert_eq!(slow.run(|| 1).await, Some(1));
    }
}
