//! The `CF.*` commands on items.

use super::{Args, Reply, Store, options, reserve::get_or_reserve};
use crate::filter::{Filter, Options};
use guira::InsertError;
use smallvec::{SmallVec, smallvec};
use std::sync::{Arc, atomic::Ordering};

/// The answer to inserts while filters have grown beyond the limit.
const OUT_OF_MEMORY: Reply =
    Reply::error("OOM command not allowed when used memory > 'maxmemory'.");

/// `CF.ADD key item`
pub(super) fn add(store: &Store, args: Args<'_>) -> Reply {
    insert_one(store, args, |filter, item| {
        filter.insert(item).map(|()| true)
    })
}

/// `CF.ADDNX key item`
pub(super) fn add_nx(store: &Store, args: Args<'_>) -> Reply {
    insert_one(store, args, Filter::insert_unique)
}

fn insert_one(
    store: &Store,
    args: Args<'_>,
    insert: impl Fn(&Filter, &[u8]) -> Result<bool, InsertError>,
) -> Reply {
    let &[_, key, item] = args else {
        return Reply::wrong_arity(args[0]);
    };
    if store.keyspace.is_over_limit() {
        return OUT_OF_MEMORY;
    }
    let insert = |filter: &Arc<Filter>| {
        let result = insert(filter, item);
        store.keyspace.settle(filter);
        match result {
            Ok(inserted) => Reply::Bool(inserted),
            Err(error) => full(filter, item, error),
        }
    };
    match store.keyspace.with(key, insert) {
        Some(reply) => reply,
        None => match get_or_reserve(store, key, Options::default()) {
            Ok(filter) => insert(&filter),
            Err(refusal) => refusal,
        },
    }
}

/// Why `item` was not inserted.
#[cold]
fn full(filter: &Filter, item: &[u8], error: InsertError) -> Reply {
    match error {
        InsertError::Full if filter.is_full_of(item) => {
            let most = 2 * filter.cuckoo.bucket_slots();
            Reply::Error(
                format!("Filter is full of copies of this item: {most} is the most").into(),
            )
        }
        InsertError::Full if !filter.has_grown_full() && filter.is_being_saved() => {
            Reply::error("Filter is full while it is being saved: try again")
        }
        // As many distinct items as this would have fitted.
        InsertError::Full if !filter.has_grown_full() => {
            Reply::error("Filter is full of copies of items that share the buckets of this one")
        }
        InsertError::Full if filter.options.expansion > 0 => {
            Reply::error("Maximum expansions reached")
        }
        InsertError::Full => Reply::error("Filter is full"),
        error => Reply::Error(format!("OOM {error}").into()),
    }
}

/// `CF.INSERT key [CAPACITY n] [NOCREATE] ITEMS item [item]...`
pub(super) fn insert(store: &Store, args: Args<'_>) -> Reply {
    let (filter, items) = match parse_insert(store, args) {
        Ok(parsed) => parsed,
        Err(refusal) => return refusal,
    };
    let mut inserted = Vec::with_capacity(items.len());
    insert_all(&filter, items, |_, result| inserted.push(result.is_ok()));
    store.keyspace.settle(&filter);
    Reply::Insertions(inserted)
}

/// Adds a copy of each of `items`, and tells `of` in order what became of each.
fn insert_all<'a>(
    filter: &Filter,
    items: &[&'a [u8]],
    mut of: impl FnMut(&'a [u8], Result<(), InsertError>),
) {
    let mut rest = items;
    while !rest.is_empty() {
        let inserted = match filter.cuckoo.insert_batch(rest) {
            Ok(()) => rest.len(),
            Err(error) => error.index,
        };
        let (done, left) = rest.split_at(inserted);
        done.iter().for_each(|item| of(item, Ok(())));
        rest = left;
        // Not the end of all: only for this item there was no room.
        if let [item, left @ ..] = left {
            of(item, filter.insert(item));
            rest = left;
        }
    }
}

/// The answers of as many `CF.ADD`, all of one key, in order.
pub fn add_together(store: &Store, key: &[u8], items: &[&[u8]], mut answer: impl FnMut(Reply)) {
    if store.keyspace.is_over_limit() {
        return items.iter().for_each(|_| answer(OUT_OF_MEMORY));
    }
    let mut add = |filter: &Arc<Filter>| {
        insert_all(filter, items, |item, result| {
            answer(match result {
                Ok(()) => Reply::Bool(true),
                Err(error) => full(filter, item, error),
            });
        });
        store.keyspace.settle(filter);
    };
    if store.keyspace.with(key, &mut add).is_none() {
        match get_or_reserve(store, key, Options::default()) {
            Ok(filter) => add(&filter),
            Err(refusal) => items.iter().for_each(|_| answer(refusal.clone())),
        }
    }
}

/// `CF.INSERTNX key [CAPACITY n] [NOCREATE] ITEMS item [item]...`
pub(super) fn insert_nx(store: &Store, args: Args<'_>) -> Reply {
    let (filter, items) = match parse_insert(store, args) {
        Ok(parsed) => parsed,
        Err(refusal) => return refusal,
    };
    let insert = |item: &&[u8]| match filter.insert_unique(item) {
        Ok(inserted) => i64::from(inserted),
        Err(_) => -1,
    };
    let results = items.iter().map(insert).collect();
    store.keyspace.settle(&filter);
    Reply::Integers(results)
}

/// The filter and the items of `CF.INSERT` and `CF.INSERTNX`.
fn parse_insert<'a>(store: &Store, args: Args<'a>) -> Result<(Arc<Filter>, Args<'a>), Reply> {
    let [name, key, rest @ ..] = args else {
        return Err(Reply::wrong_arity(args[0]));
    };
    if args.len() < 4 {
        return Err(Reply::wrong_arity(name));
    }
    let mut rest = rest;
    let mut wanted = Options::default();
    let mut create = true;
    let items = loop {
        rest = match rest {
            [word, items @ ..] if word.eq_ignore_ascii_case(b"ITEMS") => break items,
            [word, rest @ ..] if word.eq_ignore_ascii_case(b"NOCREATE") => {
                create = false;
                rest
            }
            [word, capacity, rest @ ..] if word.eq_ignore_ascii_case(b"CAPACITY") => {
                wanted = options::of_insert(capacity)?;
                rest
            }
            [] => break &[],
            [word] if word.eq_ignore_ascii_case(b"CAPACITY") => break &[],
            _ => return Err(Reply::error("Unknown argument received")),
        };
    };
    if items.is_empty() {
        return Err(Reply::wrong_arity(name));
    }
    if store.keyspace.is_over_limit() {
        return Err(OUT_OF_MEMORY);
    }
    let filter = match store.keyspace.get(key) {
        Some(filter) => filter,
        None if create => get_or_reserve(store, key, wanted)?,
        None => return Err(Reply::error("ERR not found")),
    };
    Ok((filter, items))
}

/// `CF.EXISTS key item`
pub(super) fn exists(store: &Store, args: Args<'_>) -> Reply {
    let &[_, key, item] = args else {
        return Reply::wrong_arity(args[0]);
    };
    let contains = |filter: &Arc<Filter>| filter.cuckoo.contains(item);
    Reply::Bool(store.keyspace.with(key, contains) == Some(true))
}

/// The answers of as many `CF.EXISTS`, all of one key, in order.
pub fn exist_together(store: &Store, key: &[u8], items: &[&[u8]], answer: impl FnMut(Reply)) {
    let mut results: SmallVec<[bool; 32]> = smallvec![false; items.len()];
    let contains = |filter: &Arc<Filter>| filter.cuckoo.contains_batch(items, &mut results);
    store.keyspace.with(key, contains);
    results.into_iter().map(Reply::Bool).for_each(answer);
}

/// `CF.MEXISTS key item [item]...`
pub(super) fn exist_many(store: &Store, args: Args<'_>) -> Reply {
    let [_, key, items @ ..] = args else {
        return Reply::wrong_arity(args[0]);
    };
    if items.is_empty() {
        return Reply::wrong_arity(args[0]);
    }
    let mut results = vec![false; items.len()];
    if let Some(filter) = store.keyspace.get(key) {
        filter.cuckoo.contains_batch(items, &mut results);
    }
    Reply::Bools(results)
}

/// `CF.COUNT key item`
pub(super) fn count(store: &Store, args: Args<'_>) -> Reply {
    let &[_, key, item] = args else {
        return Reply::wrong_arity(args[0]);
    };
    let count = |filter: &Arc<Filter>| filter.cuckoo.count(item);
    Reply::count(store.keyspace.with(key, count).unwrap_or(0))
}

/// `CF.DEL key item`
pub(super) fn delete(store: &Store, args: Args<'_>) -> Reply {
    let &[_, key, item] = args else {
        return Reply::wrong_arity(args[0]);
    };
    let delete = |filter: &Arc<Filter>| {
        let removed = filter.cuckoo.remove(item);
        if removed {
            // Relaxed: a number to be shown.
            filter.deleted.fetch_add(1, Ordering::Relaxed);
            store.keyspace.changed(filter);
        }
        removed
    };
    match store.keyspace.with(key, delete) {
        Some(removed) => Reply::Bool(removed),
        None => Reply::error("Not found"),
    }
}

/// `CF.COMPACT key`
pub(super) fn compact(store: &Store, args: Args<'_>) -> Reply {
    let &[_, key] = args else {
        return Reply::wrong_arity(args[0]);
    };
    match store.keyspace.get(key) {
        Some(filter) => {
            filter.cuckoo.finish_growth();
            store.keyspace.settle(&filter);
            Reply::OK
        }
        None => Reply::error("Cuckoo filter was not found"),
    }
}

/// `CF.INFO key`
pub(super) fn info(store: &Store, args: Args<'_>) -> Reply {
    let &[_, key] = args else {
        return Reply::wrong_arity(args[0]);
    };
    let Some(filter) = store.keyspace.get(key) else {
        return not_found();
    };
    let (cuckoo, options) = (&filter.cuckoo, &filter.options);
    let fields = [
        ("Size", cuckoo.memory_usage()),
        ("Number of buckets", cuckoo.buckets()),
        ("Number of filters", 1),
        ("Number of items inserted", cuckoo.len()),
        ("Number of items deleted", filter.deleted() as usize),
        ("Bucket size", cuckoo.bucket_slots()),
        ("Expansion rate", usize::from(options.expansion)),
        ("Max iterations", usize::from(options.max_iterations)),
    ];
    Reply::Map(
        fields
            .into_iter()
            .map(|(name, value)| (Reply::Status(name), Reply::count(value)))
            .collect(),
    )
}

/// `CF.DEBUG key`
pub(super) fn debug(store: &Store, args: Args<'_>) -> Reply {
    let &[_, key] = args else {
        return Reply::wrong_arity(args[0]);
    };
    let Some(filter) = store.keyspace.get(key) else {
        return not_found();
    };
    let (cuckoo, options, stats) = (&filter.cuckoo, &filter.options, filter.cuckoo.stats());
    Reply::bulk(format!(
        "bktsize:{} buckets:{} items:{} deletes:{} filters:1 max_iterations:{} expansion:{} \
         fingerprint_bits:{} capacity:{} max_capacity:{} false_positive_rate:{} doublings:{} \
         buckets_to_split:{} load_factor:{:.4} relocations:{} longest_path:{}",
        cuckoo.bucket_slots(),
        cuckoo.buckets(),
        cuckoo.len(),
        filter.deleted(),
        options.max_iterations,
        options.expansion,
        cuckoo.fingerprint_bits(),
        cuckoo.capacity(),
        cuckoo.max_capacity(),
        options.rate,
        stats.level,
        stats.buckets_to_split,
        stats.load_factor,
        stats.relocations,
        stats.longest_path,
    ))
}

fn not_found() -> Reply {
    Reply::error("ERR not found")
}
