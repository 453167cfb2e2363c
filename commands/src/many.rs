//! The commands on several items of one key that have no options.

use crate::{
    Answer, Args, Reply, Store,
    cf::{NO_WINDOW, default_key, insert_copies},
    reply::try_with_capacity,
    reserve::get_or_make,
    store::{filter_of, get},
};

/// `CF.MADD key item [item]...`
pub(crate) fn add_many<S: Store>(store: &S, args: Args<'_>) -> Answer {
    let (key, items) = key_and_items(args)?;
    if store.refuses_growth() {
        return Err(Reply::OUT_OF_MEMORY);
    }
    let kept = match get(store, key)? {
        Some(kept) => kept,
        None => get_or_make(store, key, &default_key(store))?,
    };
    insert_copies(store, key, &kept, items)
}

/// `CF.MDEL key item [item]...`
pub(crate) fn delete_many<S: Store>(store: &S, args: Args<'_>) -> Answer {
    let (key, items) = key_and_items(args)?;
    let kept = get(store, key)?.ok_or(Reply::error("Not found"))?;
    // Before anything is removed.
    let mut removed = try_with_capacity(items.len())?;
    let filter = filter_of(&kept);
    removed.extend(items.iter().map(|item| filter.remove(item)));
    if removed.contains(&true) {
        let results = items.iter().zip(&removed);
        let gone = results.filter_map(|(item, removed)| removed.then_some(*item));
        store.removed(key, &kept, gone);
    }
    Ok(Reply::Bools(removed))
}

/// `CF.MTOUCH key item [item]...`
pub(crate) fn touch_many<S: Store>(store: &S, args: Args<'_>) -> Answer {
    let (key, items) = key_and_items(args)?;
    // Before the time of any item is reset.
    let mut results = try_with_capacity(items.len())?;
    let Some(kept) = get(store, key)? else {
        results.resize(items.len(), 0);
        return Ok(Reply::Integers(results));
    };
    let filter = filter_of(&kept);
    for item in items {
        let refreshed = filter.refresh(item, || store.wait()).ok_or(NO_WINDOW)?;
        results.push(refreshed.map_or(-1, i64::from));
    }
    if results.contains(&1) {
        let results = items.iter().zip(&results);
        let touched = results.filter_map(|(item, &result)| (result == 1).then_some(*item));
        store.touched(key, &kept, touched);
    }
    Ok(Reply::Integers(results))
}

/// The key, and at least one item.
fn key_and_items<'a>(args: Args<'a>) -> Result<(&'a [u8], Args<'a>), Reply> {
    match args {
        [_, key, items @ ..] if !items.is_empty() => Ok((key, items)),
        _ => Err(Reply::wrong_arity(args[0])),
    }
}
