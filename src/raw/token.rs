//! Tokens for the reservations of `insert_unique`: no two calls in flight share one.

use crossbeam_utils::CachePadded;
use std::sync::atomic::{AtomicU64, Ordering};

/// Tokens there are: 2^9, as the shortest fingerprint of any layout has 9 bits.
pub(crate) const TOKENS: usize = 512;

/// One bit for each token in use. One pool serves all filters of the process,
/// so that a small filter need not carry one.
static POOL: [CachePadded<AtomicU64>; TOKENS / 64] =
    [const { CachePadded::new(AtomicU64::new(0)) }; TOKENS / 64];

/// A token, given back when dropped.
#[derive(Debug)]
pub(crate) struct Token(usize);

impl Token {
    /// A token that no other call holds; `None` if it found none. Lock-free.
    ///
    /// It looks at each group once: one that is given back behind it stays unseen.
    #[inline]
    pub(crate) fn acquire() -> Option<Self> {
        let start = crate::threads::thread_number() % POOL.len();
        (0..POOL.len()).find_map(|offset| {
            let group = (start + offset) % POOL.len();
            // Relaxed: a hint; the fetch_or decides.
            let mut used = POOL[group].load(Ordering::Relaxed);
            while used != u64::MAX {
                let bit = used.trailing_ones();
                // Acquire: pairs with the Release in `drop`: the token's earlier
                // owner has made its last exchange with it.
                let before = POOL[group].fetch_or(1 << bit, Ordering::Acquire);
                if before >> bit & 1 == 0 {
                    return Some(Self(group * 64 + bit as usize));
                }
                used = before;
            }
            None
        })
    }

    /// The token's number, below [`TOKENS`].
    #[inline]
    pub(crate) fn value(&self) -> u64 {
        self.0 as u64
    }
}

impl Drop for Token {
    #[inline]
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `acquire`.
        POOL[self.0 / 64].fetch_and(!(1 << (self.0 % 64)), Ordering::Release);
    }
}

/// Held by tests that use tokens, as one of them takes all there are.
#[cfg(test)]
pub(crate) fn turn() -> impl Drop {
    use std::sync::{Mutex, PoisonError};

    static WHOLE_POOL: Mutex<()> = Mutex::new(());
    WHOLE_POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::HashSet, sync::atomic::AtomicBool, thread};

    #[test]
    fn the_error_names_the_number_of_tokens() {
        let text = crate::error::InsertError::TooManyInFlight.to_string();
        assert!(
            text.contains(&format!("there are {TOKENS} tokens")),
            "{text}"
        );
    }

    #[test]
    fn no_two_tokens_in_use_are_equal() {
        let _turn = turn();
        let tokens: Vec<Vec<Token>> = thread::scope(|scope| {
            let taker = || (0..TOKENS / 8).map(|_| Token::acquire().unwrap()).collect();
            let takers: Vec<_> = (0..7).map(|_| scope.spawn(taker)).collect();
            takers
                .into_iter()
                .map(|taker| taker.join().unwrap())
                .collect()
        });
        let values: HashSet<u64> = tokens.iter().flatten().map(Token::value).collect();
        assert_eq!(values.len(), TOKENS / 8 * 7);
        assert!(values.iter().all(|&value| value < TOKENS as u64));
        let rest: Vec<Token> = std::iter::from_fn(Token::acquire).collect();
        assert_eq!(rest.len(), TOKENS / 8);
        drop(tokens);
        assert!(Token::acquire().is_some());
    }

    #[test]
    fn a_token_that_is_given_back_is_the_one_that_is_free() {
        let _turn = turn();
        let mut tokens: Vec<Token> = std::iter::from_fn(Token::acquire).collect();
        assert_eq!(tokens.len(), TOKENS);
        for _ in 0..TOKENS {
            let token = tokens.remove(0);
            let value = token.value();
            drop(token);
            let again = Token::acquire().expect("the one");
            assert_eq!(again.value(), value);
            assert!(Token::acquire().is_none());
            tokens.push(again);
        }
    }

    /// All want the same two.
    #[test]
    fn a_token_has_one_owner_at_a_time() {
        let _turn = turn();
        let mut kept: Vec<Token> = std::iter::from_fn(Token::acquire).collect();
        drop(kept.drain(4..6));
        let owned = [const { AtomicBool::new(false) }; TOKENS];
        let owners: usize = thread::scope(|scope| {
            let user = || {
                let use_one = |token: Token| {
                    let owned = &owned[token.value() as usize];
                    // Relaxed: one flag for each token, and nothing beside it.
                    assert!(!owned.swap(true, Ordering::Relaxed), "two owners");
                    owned.store(false, Ordering::Relaxed);
                };
                (0..100_000)
                    .filter_map(|_| Token::acquire().map(use_one))
                    .count()
            };
            let users: Vec<_> = (0..4).map(|_| scope.spawn(user)).collect();
            users.into_iter().map(|user| user.join().unwrap()).sum()
        });
        assert!(owners > 0);
        drop(kept);
    }
}
