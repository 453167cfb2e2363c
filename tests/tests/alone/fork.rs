//! A child process has filters of its own after a `fork`, and tokens enough for `insert_unique`.
//! Only the thread that forks lives on in the child.

#[cfg(unix)]
pub(crate) mod unix {
    use fork::{Fork, fork, waitpid};
    use guira::CuckooFilter;
    use std::{process, sync::Barrier, thread};

    /// More threads than the 128 that keep a token for their next call.
    const THREADS: u64 = 200;

    /// Children, each of them a child of the one before it.
    const GENERATIONS: u64 = 20;

    /// Inserts an item of its own from each thread, and runs `then` while all of these threads live.
    fn insert_from_threads(filter: &CuckooFilter, generation: u64, then: impl FnOnce()) {
        let (inserted, done) = (
            Barrier::new(THREADS as usize + 1),
            Barrier::new(THREADS as usize + 1),
        );
        thread::scope(|scope| {
            for number in 0..THREADS {
                let (inserted, done) = (&inserted, &done);
                scope.spawn(move || {
                    let item = (generation, number);
                    let result = filter.insert_unique(&item);
                    inserted.wait();
                    done.wait();
                    assert_eq!(result, Ok(true), "{item:?}");
                });
            }
            inserted.wait();
            then();
            done.wait();
        });
    }

    fn assert_present(filter: &CuckooFilter, generations: u64) {
        for generation in 0..=generations {
            for number in 0..THREADS {
                assert!(
                    filter.contains(&(generation, number)),
                    "lost {generation}, {number}"
                );
            }
        }
        assert_eq!(filter.len() as u64, THREADS * (generations + 1));
    }

    /// This process is generation number `generation`. It returns when its descendants have ended.
    fn live(filter: &CuckooFilter, generation: u64) {
        insert_from_threads(filter, generation, || {
            assert_present(filter, generation);
            if generation == GENERATIONS {
                return;
            }
            match fork().expect("a process") {
                Fork::Child => {
                    // A panic ends this process too, with another status.
                    live(filter, generation + 1);
                    process::exit(0);
                }
                Fork::Parent(child) => {
                    let status = waitpid(child).expect("a child");
                    assert_eq!(status, 0, "generation {}", generation + 1);
                    // What the child inserted is not in this process.
                    assert_present(filter, generation);
                }
            }
        });
    }

    pub(crate) fn run() {
        // A fixed seed, by which no two of these items look alike.
        let filter = CuckooFilter::builder()
            .capacity((THREADS * (GENERATIONS + 1) * 2) as usize)
            .false_positive_rate(1e-8)
            .seed(1)
            .build()
            .expect("valid settings");
        live(&filter, 0);
        println!("test {GENERATIONS}_generations_of_{THREADS}_threads_have_tokens ... ok");
    }
}
