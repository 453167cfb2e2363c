//! The commands that reset the time of an item.

use crate::{
    Answer, Args, Filter, Reply, Store,
    cf::{NO_WINDOW, add_one, full, room},
    store::filter_of,
};
use guira::InsertError;
use std::{iter, sync::Arc};

/// `CF.TOUCH key item`
pub(crate) fn touch<S: Store>(store: &S, args: Args<'_>) -> Answer {
    let &[_, key, item] = args else {
        return Err(Reply::wrong_arity(args[0]));
    };
    let touch = |kept: &Arc<S::Kept>| {
        let filter = filter_of(kept);
        let refreshed = filter.refresh(item, || store.wait()).ok_or(NO_WINDOW)?;
        let was_present = refreshed.map_err(|error| full(filter, error))?;
        if was_present {
            store.touched(key, kept, iter::once(item));
        }
        Ok(Reply::Bool(was_present))
    };
    // A missing key holds no items.
    store.with(key, touch)?.unwrap_or(Ok(Reply::Bool(false)))
}

/// `CF.ADDTOUCH key item`
pub(crate) fn add_touch<S: Store>(store: &S, args: Args<'_>) -> Answer {
    let add = |key: &[u8], kept: &Arc<S::Kept>, item: &[u8]| {
        let filter = filter_of(kept);
        let result = add_or_refresh(store, filter, item).ok_or(NO_WINDOW)?;
        let added = (result == Ok(true)).then_some(item);
        store.added(key, kept, added.into_iter());
        if result == Ok(false) {
            store.touched(key, kept, iter::once(item));
        }
        result.map(Reply::Bool).map_err(|error| full(filter, error))
    };
    // The command cannot create a key, because it does not specify a window.
    let missing = "ERR not found: CF.RESERVE key capacity WINDOW seconds makes the key";
    add_one(store, args, add, |_, _| Err(Reply::error(missing)))
}

/// Adds `item`, or resets its time. Returns whether it was absent, or `None` if the filter has no
/// window.
fn add_or_refresh<S: Store>(
    store: &S,
    filter: &Filter,
    item: &[u8],
) -> Option<Result<bool, InsertError>> {
    if room(store, filter, 1) > 0 {
        return filter.insert_or_refresh(item, || store.wait());
    }
    let refreshed = filter.refresh(item, || store.wait())?;
    Some(match refreshed {
        Ok(true) => Ok(false),
        Ok(false) => Err(InsertError::Full),
        Err(error) => Err(error),
    })
}
