//! One thread: all peers, all layouts, batches.

use crate::{
    effort::{Effort, Size},
    keys::Asked,
    measure::items,
    peer::Peer,
    peers::with_bits,
    sheet::{Contestant, LOOKUPS, What, sheet},
    special::{Floor, How, Special},
    table::Table,
};

/// guira's fingerprint sizes, each with the slots of its bucket.
pub const LAYOUTS: [(u32, u32); 5] = [(10, 6), (12, 5), (15, 4), (20, 3), (30, 2)];

/// The sizes of batches.
pub const BATCHES: [usize; 4] = [8, 32, 128, 1024];

/// The name of one of [`LAYOUTS`].
pub(crate) fn layout(bits: u32, slots: u32) -> String {
    format!("{bits} bits × {slots}")
}

/// What is measured of filters: inserts by the part of the fill, lookups, and removes.
fn operations() -> Vec<What> {
    let parts = [(0, 100), (0, 50), (50, 90), (90, 95), (95, 99), (99, 100)];
    let inserts = parts.map(|(from, to)| What::Insert(from, to));
    [&inserts[..], &LOOKUPS, &[What::Remove]].concat()
}

/// Everything of one thread.
pub(crate) fn measure(effort: Effort) -> Vec<Table> {
    let sizes = effort.sizes();
    let of_peers = |size: Size| {
        let key = format!("one-thread/peers/{}", size.key);
        let title = format!("{}, u64 keys", size.slots());
        let all = Contestant::all(size, |_| true);
        sheet((key, title), &operations(), &all, effort.plan(size))
    };
    let mut tables: Vec<Table> = sizes.map(of_peers).into();
    tables.extend([sizes[0], sizes[1]].map(|size| layouts(effort, size)));
    tables.extend(sizes.map(|size| batches(effort, size)));
    tables
}

/// Lookups by the load, in percent of the capacity, as Fan et al., *Cuckoo Filter*, CoNEXT 2014, §7 draw
/// them. The contestants are guira, and the peers whose lookups take no lock and which fill quickly.
pub(crate) fn measure_loads(effort: Effort) -> Vec<Table> {
    let names = ["guira", "atomic-cuckoo-filter", "fastbloom (atomic)"];
    let mut tables = Vec::new();
    let [_, medium, large] = effort.sizes();
    for size in [medium, large] {
        let contestants = Contestant::all(size, |entry| names.contains(&entry.name));
        for (name, asked) in [("Hits", Asked::Hits), ("Misses", Asked::Misses)] {
            let whats = [10, 25, 50, 75, 90, 100].map(|load| What::LookAt(load, asked));
            let title = format!("{name} by load, {}", size.slots());
            let key = format!("lookups/{}/{}", asked.name(), size.key);
            tables.push(sheet((key, title), &whats, &contestants, effort.plan(size)));
        }
    }
    tables
}

/// guira's layouts, each filled to its own capacity.
fn layouts(effort: Effort, size: Size) -> Table {
    let contestants = LAYOUTS.map(|(bits, slots)| {
        // The same number of buckets in each layout; the builder turns them into items.
        let buckets = 1_u64 << (size.log_slots - 2);
        let guess = buckets * u64::from(slots) * 84 / 100;
        let made = with_bits(guess, bits).buckets() as u64;
        let count = guess * buckets / made;
        Contestant::new(layout(bits, slots), count, move || with_bits(count, bits))
    });
    let kibibytes = (2 << size.log_slots) >> 10;
    let key = format!("one-thread/layouts/{}", size.key);
    let title = format!("guira's layouts, {kibibytes} KiB of memory");
    sheet((key, title), &operations(), &contestants, effort.plan(size))
}

/// guira in batches and by hash, and the floors of the machine.
fn batches(effort: Effort, size: Size) -> Table {
    let count = items(size.log_slots);
    let make = move || with_bits(count, 15);
    let special = |name: &str, how| Contestant::new(name, count, move || Special(make(), how));
    let mut contestants = vec![Contestant::new("one by one", count, make)];
    contestants.extend(BATCHES.map(|it| special(&format!("batches of {it}"), How::Batches(it))));
    contestants.push(special("by iterator (`contains_iter`)", How::Iterator));
    contestants.push(special("by hash (`*_hash`)", How::Hashes));
    let floor = move || Floor::new(make().bytes());
    contestants.push(Contestant::new("floor", count, floor));
    let whats = [&[What::Insert(0, 100)][..], &LOOKUPS, &[What::Remove]].concat();
    let key = format!("one-thread/batches/{}", size.key);
    let title = format!("guira in batches and by hash, {}", size.slots());
    sheet((key, title), &whats, &contestants, effort.plan(size))
}
