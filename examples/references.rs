//! Reference counts in front of shared objects.
//!
//! A store of documents keeps each distinct chunk of them once. When a document is deleted, a chunk of it
//! is deleted as well, unless another document has it. Exact counts would need a map that is as large as
//! the list of all chunks. A filter with counters needs about 3 bytes for each chunk, however many
//! documents have it:
//!
//! - No chunk is deleted that a document has: the filter has no false negatives.
//! - At the false-positive rate, a chunk stays that no document has. It can be deleted later, when the
//!   documents are scanned.
//! - A chunk whose counters are full is pinned: it is never deleted.
//!
//! This program uploads and deletes documents in several threads, checks after each step that no chunk of
//! its documents is missing, and prints what is left:
//!
//! ```text
//! $ cargo run --release --example references
//! ```

use guira::{BuildError, CuckooFilter, InsertError};
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use std::{
    collections::{HashMap, HashSet},
    error::Error,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
};

const THREADS: u64 = 4;
const STEPS: usize = 20_000;
/// Documents of a thread at one time.
const DOCUMENTS: usize = 500;
const CHUNKS_OF_DOCUMENT: usize = 20;
const CHUNKS: u64 = 1_000_000;

/// The name of a chunk: a hash of its contents.
type Chunk = u64;

struct Store {
    references: CuckooFilter,
    /// Chunks of the same number modulo the number of parts share a lock.
    parts: [Mutex<Part>; 64],
}

#[derive(Default)]
struct Part {
    chunks: HashMap<Chunk, Vec<u8>>,
    pinned: HashSet<Chunk>,
}

impl Store {
    fn new() -> Result<Self, BuildError> {
        let references = CuckooFilter::builder()
            .capacity(10_000)
            .max_capacity(10_000_000)
            .false_positive_rate(0.01)
            .counter_bits(8)
            .build()?;
        Ok(Self {
            references,
            parts: [(); 64].map(|()| Mutex::default()),
        })
    }

    fn part(&self, chunk: Chunk) -> MutexGuard<'_, Part> {
        let part = &self.parts[(chunk % self.parts.len() as u64) as usize];
        part.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a reference to a chunk, and stores the chunk if it is new.
    ///
    /// The reference comes first. A thread that deletes the chunk either finds this reference, or has
    /// deleted the chunk before it is looked for here.
    fn acquire(&self, chunk: Chunk) -> Result<(), InsertError> {
        let counted = self.references.insert(&chunk);
        let mut part = self.part(chunk);
        match counted {
            Ok(()) => {}
            Err(InsertError::TooManyCopies) => {
                part.pinned.insert(chunk);
            }
            Err(error) => return Err(error),
        }
        let contents = || chunk.to_le_bytes().to_vec();
        part.chunks.entry(chunk).or_insert_with(contents);
        Ok(())
    }

    /// Removes a reference to a chunk, and deletes the chunk if that was the last one.
    fn release(&self, chunk: Chunk) {
        // The references of a pinned chunk are not counted any more.
        if self.part(chunk).pinned.contains(&chunk) {
            return;
        }
        self.references.remove(&chunk);
        if self.references.contains(&chunk) {
            return;
        }
        let mut part = self.part(chunk);
        // Another thread may have added a reference since.
        if !self.references.contains(&chunk) && !part.pinned.contains(&chunk) {
            part.chunks.remove(&chunk);
        }
    }

    fn has(&self, chunk: Chunk) -> bool {
        self.part(chunk).chunks.contains_key(&chunk)
    }

    fn count(&self, number: impl Fn(&Part) -> usize) -> usize {
        let lock =
            |part: &Mutex<Part>| number(&part.lock().unwrap_or_else(PoisonError::into_inner));
        self.parts.iter().map(lock).sum()
    }
}

/// Uploads and deletes documents. Chunk n is about n times as rare as chunk 1.
fn work(store: &Store, seed: u64) -> Result<Vec<Vec<Chunk>>, String> {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut documents: Vec<Vec<Chunk>> = Vec::new();
    for _ in 0..STEPS {
        if documents.len() < DOCUMENTS {
            let chunk = |_| (CHUNKS as f64).powf(random.random::<f64>()) as Chunk;
            let document: Vec<Chunk> = (0..CHUNKS_OF_DOCUMENT).map(chunk).collect();
            for &chunk in &document {
                let acquired = store.acquire(chunk);
                acquired.map_err(|error| format!("chunk {chunk}: {error}"))?;
            }
            documents.push(document);
        } else {
            let document = documents.swap_remove(random.random_range(0..DOCUMENTS));
            document.into_iter().for_each(|chunk| store.release(chunk));
        }
        let document = &documents[random.random_range(0..documents.len())];
        if let Some(chunk) = document.iter().find(|&&chunk| !store.has(chunk)) {
            return Err(format!("chunk {chunk} is missing"));
        }
    }
    Ok(documents)
}

fn main() -> Result<(), Box<dyn Error>> {
    let store = Store::new()?;
    let documents: Result<Vec<_>, String> = thread::scope(|scope| {
        let store = &store;
        let threads: Vec<_> = (0..THREADS)
            .map(|seed| scope.spawn(move || work(store, seed)))
            .collect();
        let ended = threads.into_iter().map(|thread| {
            let ended = thread.join();
            ended.unwrap_or_else(|_| Err("a thread has panicked".into()))
        });
        ended.collect()
    });
    let documents: Vec<Vec<Chunk>> = documents?.concat();
    let referenced: HashSet<Chunk> = documents.iter().flatten().copied().collect();
    if let Some(chunk) = referenced.iter().find(|&&chunk| !store.has(chunk)) {
        return Err(format!("chunk {chunk} is missing").into());
    }
    let chunks = store.count(|part| part.chunks.len());
    println!("documents                {:>9}", documents.len());
    println!("references               {:>9}", documents.concat().len());
    println!("chunks with a reference  {:>9}", referenced.len());
    println!("chunks without           {:>9}", chunks - referenced.len());
    println!(
        "pinned chunks            {:>9}",
        store.count(|part| part.pinned.len())
    );
    println!(
        "bytes of the filter      {:>9}",
        store.references.memory_usage()
    );
    Ok(())
}
