//! Tokens for the reservations of `insert_unique`: no two calls in flight share one.

use crate::sync::{self, Ordering, unchecked::AtomicU64};
use crossbeam_utils::CachePadded;
use std::cell::Cell;

/// Tokens there are: 2^9, as the shortest fingerprint of any layout has 9 bits.
pub(crate) const TOKENS: usize = 512;

/// Tokens of a group: the bits of its word.
const GROUP: usize = 64;

/// A thread keeps its token for its next call if the token is one of the first `KEPT` of its group:
/// 128 in all. Without that, each call would make two exchanges to acquire and return its token.
/// The other tokens are for calls of further threads.
const KEPT: usize = 16;

/// One pool serves all filters of the process, so that a small filter need not carry one.
static POOL: Pool = Pool::new();

thread_local! {
    /// The token that this thread keeps; it is given back when the thread ends.
    static OWN: Cell<Option<Token<'static>>> = const { Cell::new(None) };
}

/// Runs `call` with a token that no other call holds; `None` if there was none. Lock-free.
#[inline]
pub(super) fn with_token<R>(call: impl FnOnce(u64) -> R) -> Option<R> {
    // In a model all threads run on one thread of the operating system, so they would share the
    // token. Otherwise there is none if this call runs inside another one, or as its thread ends.
    let own = if sync::IN_MODEL {
        None
    } else {
        OWN.try_with(Cell::take).ok().flatten()
    };
    let token = own.or_else(|| POOL.acquire())?;
    let result = call(token.number as u64);
    if !sync::IN_MODEL && token.number % GROUP < KEPT {
        // A thread that ends gives it back.
        let _ = OWN.try_with(|own| own.set(Some(token)));
    }
    Some(result)
}

/// One bit for each token in use.
struct Pool([CachePadded<AtomicU64>; TOKENS / GROUP]);

/// A token, given back when dropped.
#[derive(Debug)]
struct Token<'a> {
    pool: &'a Pool,
    /// Below [`TOKENS`].
    number: usize,
}

impl Pool {
    const fn new() -> Self {
        Self([const { CachePadded::new(AtomicU64::new(0)) }; TOKENS / GROUP])
    }

    /// A token that no other call has; `None` if it found none.
    ///
    /// It looks at each group once: one that is given back behind it stays unseen.
    fn acquire(&self) -> Option<Token<'_>> {
        let start = sync::thread_number() % self.0.len();
        (0..self.0.len()).find_map(|offset| {
            let group = (start + offset) % self.0.len();
            // Relaxed: a hint; the fetch_or decides.
            let mut used = self.0[group].load(Ordering::Relaxed);
            while used != u64::MAX {
                let bit = used.trailing_ones();
                // Acquire: pairs with the Release in `drop`: the token's earlier
                // owner has made its last exchange with it.
                let before = self.0[group].fetch_or(1 << bit, Ordering::Acquire);
                if before >> bit & 1 == 0 {
                    let number = group * GROUP + bit as usize;
                    return Some(Token { pool: self, number });
                }
                used = before;
            }
            None
        })
    }
}

impl Drop for Token<'_> {
    fn drop(&mut self) {
        let group = &self.pool.0[self.number / GROUP];
        // Release: pairs with the Acquire in `acquire`.
        group.fetch_and(!(1 << (self.number % GROUP)), Ordering::Release);
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        collections::HashSet,
        iter,
        sync::{Mutex, PoisonError, atomic::AtomicBool},
        thread,
    };

    #[test]
    fn the_error_names_the_number_of_tokens() {
        let text = crate::error::InsertError::TooManyInFlight.to_string();
        assert!(text.contains(&format!("all {TOKENS} tokens")), "{text}");
    }

    #[test]
    fn no_two_tokens_in_use_are_equal() {
        let pool = Pool::new();
        let tokens: Vec<Vec<Token<'_>>> = thread::scope(|scope| {
            let taker = || (0..TOKENS / 8).map(|_| pool.acquire().unwrap()).collect();
            let takers: Vec<_> = (0..7).map(|_| scope.spawn(taker)).collect();
            takers
                .into_iter()
                .map(|taker| taker.join().unwrap())
                .collect()
        });
        let numbers: HashSet<usize> = tokens.iter().flatten().map(|token| token.number).collect();
        assert_eq!(numbers.len(), TOKENS / 8 * 7);
        assert!(numbers.iter().all(|&number| number < TOKENS));
        let rest: Vec<_> = iter::from_fn(|| pool.acquire()).collect();
        assert_eq!(rest.len(), TOKENS / 8);
        drop(tokens);
        assert!(pool.acquire().is_some());
    }

    #[test]
    fn a_token_that_is_given_back_is_the_one_that_is_free() {
        let pool = Pool::new();
        let mut tokens: Vec<_> = iter::from_fn(|| pool.acquire()).collect();
        assert_eq!(tokens.len(), TOKENS);
        for _ in 0..if cfg!(miri) { 8 } else { TOKENS } {
            let number = tokens.remove(0).number;
            let again = pool.acquire().expect("the one");
            assert_eq!(again.number, number);
            assert!(pool.acquire().is_none());
            tokens.push(again);
        }
    }

    /// All want the same two.
    #[test]
    fn a_token_has_one_owner_at_a_time() {
        let pool = Pool::new();
        let mut kept: Vec<_> = iter::from_fn(|| pool.acquire()).collect();
        drop(kept.drain(4..6));
        let owned = [const { AtomicBool::new(false) }; TOKENS];
        let owners: usize = thread::scope(|scope| {
            let user = || {
                let use_one = |token: Token<'_>| {
                    let owned = &owned[token.number];
                    // Relaxed: one flag for each token, and nothing beside it.
                    assert!(!owned.swap(true, Ordering::Relaxed), "two owners");
                    owned.store(false, Ordering::Relaxed);
                };
                // Miri runs a thousand times slower.
                let rounds = if cfg!(miri) { 100 } else { 100_000 };
                (0..rounds)
                    .filter_map(|_| pool.acquire().map(use_one))
                    .count()
            };
            let users: Vec<_> = (0..4).map(|_| scope.spawn(user)).collect();
            users.into_iter().map(|user| user.join().unwrap()).sum()
        });
        assert!(owners > 0);
        drop(kept);
    }

    /// A test that keeps many tokens leaves none to be kept to one that wants to keep one.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    /// True if the pool that all share has given the token away.
    fn is_in_use(number: u64) -> bool {
        let (group, bit) = (number as usize / GROUP, number as usize % GROUP);
        POOL.0[group].load(Ordering::Acquire) >> bit & 1 == 1
    }

    #[test]
    fn a_thread_keeps_its_token_and_gives_it_back_at_its_end() {
        let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        // Other tests take tokens concurrently, and may take this one while it is free; then it is
        // tried again.
        let given_back = (0..1000).any(|_| {
            let number = thread::spawn(|| {
                let first = with_token(|number| number).unwrap();
                assert!(is_in_use(first), "kept");
                for _ in 0..3 {
                    assert_eq!(with_token(|number| number), Some(first));
                }
                first
            });
            !is_in_use(number.join().unwrap())
        });
        assert!(given_back);
    }

    #[test]
    fn a_call_within_a_call_has_a_token_of_its_own() {
        let (outer, inner) = with_token(|outer| (outer, with_token(|inner| inner))).unwrap();
        assert_ne!(Some(outer), inner);
    }

    #[test]
    #[cfg_attr(miri, ignore = "its threads take a minute")]
    fn threads_keep_a_quarter_of_the_tokens_at_most() {
        let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let (sender, receiver) = std::sync::mpsc::channel();
        let threads: Vec<_> = (0..TOKENS / 2)
            .map(|_| {
                let sender = sender.clone();
                thread::spawn(move || {
                    let taken = with_token(|_| ());
                    sender.send(taken.is_some()).unwrap();
                    thread::park();
                })
            })
            .collect();
        assert!(receiver.iter().take(threads.len()).all(|taken| taken));
        let kept = (0..TOKENS as u64).filter(|&number| is_in_use(number));
        // Tests beside this one have some for the time of a call.
        assert!(kept.count() <= TOKENS / 4 + 64);
        for thread in threads {
            thread.thread().unpark();
            thread.join().unwrap();
        }
    }
}
