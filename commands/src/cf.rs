//! The `CF.*` commands on items.

use crate::{
    Answer, Args, Filter, Reply, Store, Wanted,
    numbers::shown_rate,
    options,
    reply::try_with_capacity,
    reserve::get_or_make,
    store::{filter_of, get, get_to_read, read},
};
use guira::InsertError;
use smallvec::{SmallVec, smallvec};
use std::{iter, sync::Arc};

/// The reply for a filter without a window.
pub(crate) const NO_WINDOW: Reply =
    Reply::error("This filter has no window: its items stay until they are deleted");

/// `CF.ADD key item`
pub(crate) fn add<S: Store>(store: &S, args: Args<'_>) -> Answer {
    insert_one(store, args, |filter, item| {
        insert_copy(store, filter, item).map(|()| true)
    })
}

/// `CF.ADDCOUNT key item`
pub(crate) fn add_count<S: Store>(store: &S, args: Args<'_>) -> Answer {
    let add = |key: &[u8], kept: &Arc<S::Kept>, item: &[u8]| {
        let filter = filter_of(kept);
        let result = room_for_copy(store, filter, item)
            .and_then(|()| filter.insert_and_count(item, || store.wait()));
        store.added(key, kept, result.iter().map(|_| item));
        result
            .map(Reply::count)
            .map_err(|error| full(filter, error))
    };
    // A key that an insert creates has neither counters nor a window, and would soon refuse the item.
    let missing = "ERR not found: CF.RESERVE key capacity WINDOW seconds COUNTERS 8 makes the key";
    add_one(store, args, add, |_, _| Err(Reply::error(missing)))
}

/// `CF.ADDNX key item`
pub(crate) fn add_nx<S: Store>(store: &S, args: Args<'_>) -> Answer {
    insert_one(store, args, |filter, item| {
        insert_absent(store, filter, item)
    })
}

/// [`add`] to a filter that has room.
#[inline(always)]
pub(crate) fn add_at_once(filter: &Filter, item: &[u8]) -> Option<bool> {
    let added = filter.take_room(1) == 1 && filter.insert_at_once(item).is_ok();
    added.then_some(true)
}

/// [`add_nx`] to a filter that has room.
#[inline(always)]
pub(crate) fn add_nx_at_once(filter: &Filter, item: &[u8]) -> Option<bool> {
    // A node that a slot migrates to may remember the item for longer, so the command alone would not do.
    if filter.window().is_some() || filter.take_room(1) != 1 {
        return None;
    }
    filter.insert_unique_at_once(item).ok()
}

#[inline]
fn insert_one<S: Store>(
    store: &S,
    args: Args<'_>,
    insert: impl Fn(&Filter, &[u8]) -> Result<bool, InsertError>,
) -> Answer {
    let add = |key: &[u8], kept: &_, item: &[u8]| insert_into(store, key, kept, item, &insert);
    add_one(store, args, add, |key, item| {
        insert_into_new(store, key, item, &insert)
    })
}

/// A command that adds one item, by `add`, or by `add_to_missing` if the key does not exist.
#[inline(always)]
pub(crate) fn add_one<S: Store>(
    store: &S,
    args: Args<'_>,
    add: impl FnOnce(&[u8], &Arc<S::Kept>, &[u8]) -> Answer,
    add_to_missing: impl FnOnce(&[u8], &[u8]) -> Answer,
) -> Answer {
    let &[_, key, item] = args else {
        return Err(Reply::wrong_arity(args[0]));
    };
    if store.refuses_growth() {
        return Err(Reply::OUT_OF_MEMORY);
    }
    match store.with(key, |kept| add(key, kept, item))? {
        Some(answer) => answer,
        None => add_to_missing(key, item),
    }
}

/// Inserts into the filter of a key, and tells the host.
#[inline(always)]
fn insert_into<S: Store>(
    store: &S,
    key: &[u8],
    kept: &Arc<S::Kept>,
    item: &[u8],
    insert: &impl Fn(&Filter, &[u8]) -> Result<bool, InsertError>,
) -> Answer {
    let filter = filter_of(kept);
    let result = insert(filter, item);
    let added = (result == Ok(true)).then_some(item);
    store.added(key, kept, added.into_iter());
    match result {
        Ok(inserted) => Ok(Reply::Bool(inserted)),
        Err(error) => Err(full(filter, error)),
    }
}

/// As [`insert_into`], if the key does not exist.
#[cold]
fn insert_into_new<S: Store>(
    store: &S,
    key: &[u8],
    item: &[u8],
    insert: &impl Fn(&Filter, &[u8]) -> Result<bool, InsertError>,
) -> Answer {
    let kept = get_or_make(store, key, &default_key(store))?;
    insert_into(store, key, &kept, item, insert)
}

/// The filter of a key, which an insert creates if necessary.
#[cold]
pub(crate) fn default_key<S: Store>(store: &S) -> Wanted {
    Wanted::by_default(store.defaults())
}

/// Adds a copy of `item`.
#[inline(always)]
fn insert_copy<S: Store>(store: &S, filter: &Filter, item: &[u8]) -> Result<(), InsertError> {
    room_for_copy(store, filter, item)?;
    filter.insert(item, || store.wait())
}

/// An error if the filter accepts no copy of `item`.
#[inline(always)]
fn room_for_copy<S: Store>(store: &S, filter: &Filter, item: &[u8]) -> Result<(), InsertError> {
    match room(store, filter, 1) {
        0 if !filter.counts(item) => Err(InsertError::Full),
        _ => Ok(()),
    }
}

/// Adds `item` if it is absent, and returns whether it was.
#[inline]
fn insert_absent<S: Store>(store: &S, filter: &Filter, item: &[u8]) -> Result<bool, InsertError> {
    match room(store, filter, 1) {
        0 if filter.contains(item) => Ok(false),
        0 => Err(InsertError::Full),
        _ => filter.insert_unique(item, || store.wait()),
    }
}

/// The number of items that the filter accepts, if there are `wanted` to come.
#[inline]
pub(crate) fn room<S: Store>(store: &S, filter: &Filter, wanted: usize) -> usize {
    if !S::MAY_BE_STRICT {
        return wanted;
    }
    match filter.take_room(wanted) {
        left if left == wanted => wanted,
        left => scarce_room(store, filter, wanted, left),
    }
}

/// As [`room`], if only `left` items are left until the limit.
#[cold]
fn scarce_room<S: Store>(store: &S, filter: &Filter, wanted: usize, left: usize) -> usize {
    match left {
        // Asked late: some hosts need time to tell.
        _ if !store.is_strict() => wanted,
        0 => {
            // Expired items may still occupy slots.
            filter.sweep();
            filter.take_room(wanted)
        }
        left => left,
    }
}

/// Returns the reason why `item` was not inserted.
#[cold]
pub(crate) fn full(filter: &Filter, error: InsertError) -> Reply {
    match error {
        InsertError::TooManyCopies => {
            let most = filter.most_copies();
            Reply::Error(
                format!("Filter is full of copies of this item: {most} is the most").into(),
            )
        }
        InsertError::BlockedByScan if !filter.has_grown_full() => {
            Reply::error("Filter is full while it is being saved: try again")
        }
        InsertError::Contended if !filter.has_grown_full() => {
            Reply::error("Filter has no room while other commands are in progress: try again")
        }
        // The same number of distinct items would have fitted.
        InsertError::Full if !filter.has_grown_full() => {
            Reply::error("Filter is full of copies of items that share the buckets of this one")
        }
        InsertError::Full | InsertError::BlockedByScan | InsertError::Contended => {
            Reply::error(if filter.window().is_some() {
                "Filter is full: more items came within its window than its capacity"
            } else if filter.expansion() > 0 {
                "Maximum expansions reached"
            } else {
                "Filter is full"
            })
        }
        error => Reply::Error(format!("OOM {error}").into()),
    }
}

/// `CF.INSERT key [CAPACITY n] [option value]... [NOCREATE] ITEMS item [item]...`, with the options of
/// `CF.RESERVE`
pub(crate) fn insert<S: Store>(store: &S, args: Args<'_>) -> Answer {
    let (kept, items) = parse_insert(store, args)?;
    insert_copies(store, args[1], &kept, items)
}

/// Adds a copy of each of `items` to the filter of `key`, and replies whether each was added.
pub(crate) fn insert_copies<S: Store>(
    store: &S,
    key: &[u8],
    kept: &Arc<S::Kept>,
    items: &[&[u8]],
) -> Answer {
    // Allocates before anything is inserted.
    let mut inserted = try_with_capacity(items.len())?;
    insert_all(store, filter_of(kept), items, |_, result| {
        inserted.push(result.is_ok());
    });
    let results = items.iter().zip(&inserted);
    let added = results.filter_map(|(item, inserted)| inserted.then_some(*item));
    store.added(key, kept, added);
    Ok(Reply::Insertions(inserted))
}

/// Adds a copy of each of `items`, and passes the result for each to `of`, in order.
fn insert_all<'a, S: Store>(
    store: &S,
    filter: &Filter,
    items: &[&'a [u8]],
    mut of: impl FnMut(&'a [u8], Result<(), InsertError>),
) {
    let mut rest = items;
    while !rest.is_empty() {
        let fit = room(store, filter, rest.len());
        let inserted = match filter.insert_batch(&rest[..fit]) {
            Ok(()) => fit,
            Err(error) => error.index,
        };
        let (done, left) = rest.split_at(inserted);
        done.iter().for_each(|item| of(item, Ok(())));
        rest = left;
        // Continues, because there was no room for this item only.
        if let [item, left @ ..] = left {
            of(item, insert_copy(store, filter, item));
            rest = left;
        }
    }
}

/// Several `CF.ADD` on one key: replies to each in order.
pub(crate) fn add_together<S: Store>(
    store: &S,
    key: &[u8],
    items: &[&[u8]],
    answer: &mut dyn FnMut(Reply),
) {
    if store.refuses_growth() {
        return items.iter().for_each(|_| answer(Reply::OUT_OF_MEMORY));
    }
    let mut add = |kept: &Arc<S::Kept>| {
        let filter = filter_of(kept);
        let mut refused = Vec::new();
        let mut indices = 0..;
        insert_all(store, filter, items, |_, result| {
            let index = indices.next();
            answer(match result {
                Ok(()) => Reply::Bool(true),
                Err(error) => {
                    refused.extend(index);
                    full(filter, error)
                }
            });
        });
        let added = items.iter().enumerate().filter_map(|(index, item)| {
            let refused = refused.binary_search(&index).is_ok();
            (!refused).then_some(*item)
        });
        store.added(key, kept, added);
    };
    let refusal = match store.with(key, &mut add) {
        Ok(Some(())) => return,
        Ok(None) => match get_or_make(store, key, &default_key(store)) {
            Ok(kept) => return add(&kept),
            Err(refusal) => refusal,
        },
        Err(refusal) => refusal,
    };
    items.iter().for_each(|_| answer(refusal.clone()));
}

/// `CF.INSERTNX key [CAPACITY n] [option value]... [NOCREATE] ITEMS item [item]...`
pub(crate) fn insert_nx<S: Store>(store: &S, args: Args<'_>) -> Answer {
    let (kept, items) = parse_insert(store, args)?;
    let mut results = try_with_capacity(items.len())?;
    let filter = filter_of(&kept);
    let insert = |item: &&[u8]| match insert_absent(store, filter, item) {
        Ok(inserted) => i64::from(inserted),
        Err(_) => -1,
    };
    results.extend(items.iter().map(insert));
    let added = items.iter().zip(&results);
    let added = added.filter_map(|(item, &result)| (result == 1).then_some(*item));
    store.added(args[1], &kept, added);
    Ok(Reply::Integers(results))
}

/// The filter and the items of `CF.INSERT` and `CF.INSERTNX`.
fn parse_insert<'a, S: Store>(
    store: &S,
    args: Args<'a>,
) -> Result<(Arc<S::Kept>, Args<'a>), Reply> {
    let [name, key, rest @ ..] = args else {
        return Err(Reply::wrong_arity(args[0]));
    };
    if args.len() < 4 {
        return Err(Reply::wrong_arity(name));
    }
    let (mut rest, mut create, mut capacity) = (rest, true, None);
    let mut pairs: SmallVec<[[&[u8]; 2]; 8]> = SmallVec::new();
    let is = |word: &[u8], name: &str| word.eq_ignore_ascii_case(name.as_bytes());
    let items = loop {
        rest = match *rest {
            [word, ref items @ ..] if is(word, "ITEMS") => break items,
            [word, ref rest @ ..] if is(word, "NOCREATE") => {
                create = false;
                rest
            }
            [word, value, ref rest @ ..] if is(word, "CAPACITY") => {
                capacity = Some(value);
                rest
            }
            [word, value, ref rest @ ..] if options::is_option(word) => {
                pairs.push([word, value]);
                rest
            }
            [] => break &[],
            [word] if is(word, "CAPACITY") || options::is_option(word) => break &[],
            _ => return Err(options::UNKNOWN_ARGUMENT),
        };
    };
    let wanted = options::of_insert(capacity, &pairs, store.defaults())?;
    if items.is_empty() {
        return Err(Reply::wrong_arity(name));
    }
    if store.refuses_growth() {
        return Err(Reply::OUT_OF_MEMORY);
    }
    let kept = match get(store, key)? {
        Some(kept) => kept,
        None if create => get_or_make(store, key, &wanted)?,
        None => return Err(Reply::error("ERR not found")),
    };
    // Otherwise the items would never expire, although the client expects it.
    if wanted.window.is_some() && filter_of(&kept).window().is_none() {
        return Err(NO_WINDOW);
    }
    Ok((kept, items))
}

/// `CF.EXISTS key item`
pub(crate) fn exists<S: Store>(store: &S, args: Args<'_>) -> Answer {
    let &[_, key, item] = args else {
        return Err(Reply::wrong_arity(args[0]));
    };
    let found = read(store, key, 1, |kept| filter_of(kept).contains(item))?;
    Ok(Reply::Bool(found == Some(true)))
}

/// [`exists`] in a filter.
#[inline(always)]
pub(crate) fn exists_at_once(filter: &Filter, item: &[u8]) -> Option<bool> {
    Some(filter.contains(item))
}

/// Several `CF.EXISTS` on one key: replies to each in order.
pub(crate) fn exist_together<S: Store>(
    store: &S,
    key: &[u8],
    items: &[&[u8]],
    answer: &mut dyn FnMut(Reply),
) {
    let mut results: SmallVec<[bool; 32]> = smallvec![false; items.len()];
    let contains = |kept: &Arc<S::Kept>| filter_of(kept).contains_batch(items, &mut results);
    match read(store, key, items.len(), contains) {
        Ok(_) => results.into_iter().map(Reply::Bool).for_each(answer),
        Err(refusal) => items.iter().for_each(|_| answer(refusal.clone())),
    }
}

/// `CF.MEXISTS key item [item]...`
pub(crate) fn exist_many<S: Store>(store: &S, args: Args<'_>) -> Answer {
    let [_, key, items @ ..] = args else {
        return Err(Reply::wrong_arity(args[0]));
    };
    if items.is_empty() {
        return Err(Reply::wrong_arity(args[0]));
    }
    let mut results = try_with_capacity(items.len())?;
    results.resize(items.len(), false);
    if let Some(kept) = get_to_read(store, key)? {
        filter_of(&kept).contains_batch(items, &mut results);
    }
    Ok(Reply::Bools(results))
}

/// `CF.COUNT key item`
pub(crate) fn count<S: Store>(store: &S, args: Args<'_>) -> Answer {
    let &[_, key, item] = args else {
        return Err(Reply::wrong_arity(args[0]));
    };
    let count = read(store, key, 1, |kept| filter_of(kept).count(item))?;
    Ok(Reply::count(count.unwrap_or(0)))
}

/// `CF.DEL key item`
pub(crate) fn delete<S: Store>(store: &S, args: Args<'_>) -> Answer {
    let &[_, key, item] = args else {
        return Err(Reply::wrong_arity(args[0]));
    };
    let delete = |kept: &Arc<S::Kept>| {
        let removed = filter_of(kept).remove(item);
        if removed {
            store.removed(key, kept, iter::once(item));
        }
        removed
    };
    match store.with(key, delete)? {
        Some(removed) => Ok(Reply::Bool(removed)),
        None => Err(Reply::error("Not found")),
    }
}

/// [`delete`] from a filter.
#[inline(always)]
pub(crate) fn delete_at_once(filter: &Filter, item: &[u8]) -> Option<bool> {
    Some(filter.remove(item))
}

/// `CF.COMPACT key`
pub(crate) fn compact<S: Store>(store: &S, args: Args<'_>) -> Answer {
    let &[_, key] = args else {
        return Err(Reply::wrong_arity(args[0]));
    };
    match get_to_read(store, key)? {
        Some(kept) => {
            filter_of(&kept).finish_growth();
            store.compacted(key, &kept);
            Ok(Reply::OK)
        }
        None => Err(Reply::error("Cuckoo filter was not found")),
    }
}

/// `CF.INFO key`
pub(crate) fn info<S: Store>(store: &S, args: Args<'_>) -> Answer {
    let &[_, key] = args else {
        return Err(Reply::wrong_arity(args[0]));
    };
    let kept = get_to_read(store, key)?.ok_or(Reply::error("ERR not found"))?;
    let (filter, options) = (filter_of(&kept), filter_of(&kept).options());
    let mut fields = vec![
        ("Size", filter.memory_usage()),
        ("Number of buckets", filter.buckets()),
        ("Number of filters", 1),
        ("Number of items inserted", filter.len()),
        ("Number of items deleted", filter.deleted() as usize),
        ("Bucket size", filter.bucket_slots()),
        ("Expansion rate", usize::from(options.expansion)),
        ("Max iterations", usize::from(options.max_iterations)),
    ];
    if let Some(window) = filter.window() {
        fields.extend([
            ("Window in seconds", window.length().as_secs() as usize),
            ("Epochs of the window", window.epochs() as usize),
            (
                "Age of the epoch in milliseconds",
                window.epoch_age().as_millis() as usize,
            ),
        ]);
    }
    let entry = |(name, value)| (Reply::Status(name), Reply::count(value));
    Ok(Reply::Map(fields.into_iter().map(entry).collect()))
}

/// `CF.DEBUG key`
pub(crate) fn debug<S: Store>(store: &S, args: Args<'_>) -> Answer {
    let &[_, key] = args else {
        return Err(Reply::wrong_arity(args[0]));
    };
    let kept = get_to_read(store, key)?.ok_or(Reply::error("ERR not found"))?;
    let filter = filter_of(&kept);
    let (options, stats) = (filter.options(), filter.stats());
    let window = filter.window().map_or_else(String::new, |window| {
        format!(
            " window:{} epochs:{} epoch:{} epoch_length:{:.3} epoch_age:{:.3}",
            window.length().as_secs(),
            window.epochs(),
            window.epoch(),
            window.epoch_length().as_secs_f64(),
            window.epoch_age().as_secs_f64(),
        )
    });
    let counters = match filter.counter_bits() {
        0 => String::new(),
        bits => format!(" counter_bits:{bits}"),
    };
    Ok(Reply::bulk(format!(
        "bktsize:{} buckets:{} items:{} deletes:{} filters:1 max_iterations:{} expansion:{} \
         fingerprint_bits:{} capacity:{} max_capacity:{} false_positive_rate:{} doublings:{} \
         buckets_to_split:{} load_factor:{:.4} relocations:{} longest_path:{}{counters}{window}",
        filter.bucket_slots(),
        filter.buckets(),
        filter.len(),
        filter.deleted(),
        options.max_iterations,
        options.expansion,
        filter.fingerprint_bits(),
        filter.capacity(),
        filter.max_capacity(),
        shown_rate(options.rate),
        stats.doublings,
        stats.buckets_to_split,
        stats.load_factor,
        stats.relocations,
        stats.longest_path,
    )))
}
