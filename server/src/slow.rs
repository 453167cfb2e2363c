//! What takes long is done beside the threads that serve, a few things at a time.

use std::{panic::resume_unwind, sync::Arc};
use tokio::{sync::Semaphore, task::spawn_blocking};

/// Things done at a time. One of them may be a save, and others wait for it.
pub const AT_A_TIME: usize = 4;

/// Where to have done what takes long, or waits for the disk.
#[derive(Debug)]
pub struct SlowWork(Arc<Semaphore>);

impl Default for SlowWork {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_A_TIME)))
    }
}

impl SlowWork {
    /// Runs `work` on another thread, when its turn comes. Work that has begun is completed even if
    /// its caller no longer waits. `None` if the server stops before that.
    ///
    /// # Panics
    ///
    /// As `work`.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let place = self.0.clone().acquire_owned().await.ok()?;
        run_beside(move || {
            let done = work();
            drop(place);
            done
        })
        .await
    }
}

/// Does `work` on another thread. `None` if the server ends before that.
///
/// # Panics
///
/// As `work`.
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
    use std::sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering},
    };

    /// Not more at a time, and each has its turn.
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
