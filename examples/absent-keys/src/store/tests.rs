//! Tests the order of changes of the filter and commits, as the disk sees it.

use super::{Put, Store};
use redb::{Database, StorageBackend, backends::InMemoryBackend};
use std::{
    fmt, io,
    sync::{Arc, Mutex},
};

type Hook = Box<dyn FnMut() -> io::Result<()> + Send>;

/// A disk in memory. It calls a hook in the middle of each commit, after the database has written
/// its changes.
#[derive(Clone, Default)]
struct Disk {
    memory: Arc<InMemoryBackend>,
    hook: Arc<Mutex<Option<Hook>>>,
}

impl Disk {
    fn set_hook(&self, hook: impl FnMut() -> io::Result<()> + Send + 'static) {
        *self.hook.lock().unwrap() = Some(Box::new(hook));
    }

    /// A store on this disk with these `keys`.
    fn store(&self, capacity: usize, keys: &[&str]) -> Arc<Store> {
        let database = Database::builder()
            .create_with_backend(self.clone())
            .unwrap();
        let store = Store::new(database, capacity).unwrap();
        for key in keys {
            assert_eq!(store.put(key, b"value").unwrap(), Put::Created);
        }
        Arc::new(store)
    }

    /// What the store reports about `key` in the middle of each commit of `work`.
    fn answers(&self, store: &Arc<Store>, key: &'static str, work: impl FnOnce()) -> Vec<bool> {
        let answers = Arc::new(Mutex::new(Vec::new()));
        let (log, watched) = (Arc::clone(&answers), Arc::clone(store));
        self.set_hook(move || {
            log.lock().unwrap().push(watched.may_hold(key));
            Ok(())
        });
        work();
        *self.hook.lock().unwrap() = None;
        let answers = answers.lock().unwrap();
        answers.clone()
    }
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk").finish_non_exhaustive()
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        self.memory.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.memory.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.memory.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        match &mut *self.hook.lock().unwrap() {
            Some(hook) => hook(),
            None => Ok(()),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.memory.write(offset, data)
    }
}

#[test]
fn a_put_inserts_before_it_commits() {
    let disk = Disk::default();
    let store = disk.store(100, &[]);
    assert!(!store.filter.contains("key"));
    let answers = disk.answers(&store, "key", || {
        assert_eq!(store.put("key", b"value").unwrap(), Put::Created);
    });
    assert!(!answers.is_empty());
    assert!(answers.iter().all(|&present| present), "{answers:?}");
}

#[test]
fn a_delete_removes_after_it_has_committed() {
    let disk = Disk::default();
    let store = disk.store(100, &["key"]);
    let answers = disk.answers(&store, "key", || assert!(store.delete("key").unwrap()));
    assert!(!answers.is_empty());
    assert!(answers.iter().all(|&present| present), "{answers:?}");
    assert!(!store.filter.contains("key"));
}

#[test]
fn where_a_commit_failed_the_copy_stays() {
    for delete in [false, true] {
        let disk = Disk::default();
        let store = disk.store(100, if delete { &["key"] } else { &[] });
        disk.set_hook(|| Err(io::Error::other("the disk is on fire")));
        let failed = match delete {
            false => store.put("key", b"value").is_err(),
            true => store.delete("key").is_err(),
        };
        assert!(failed);
        // The key may be on the disk or not, so a request must look.
        assert!(store.may_hold("key"));
    }
}

#[test]
fn deleting_absent_keys_takes_no_copy_from_others() {
    let keys: Vec<String> = (0..500).map(|number| format!("held {number}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let store = Disk::default().store(keys.len(), &keys);
    // Some 60 of these have the fingerprint of a present key.
    for number in 0..300_000 {
        let key = format!("absent {number}");
        assert!(!store.may_hold(&key) || !store.delete(&key).unwrap());
    }
    assert!(store.stats().unwrap().false_positives > 0);
    assert_eq!(store.filter.len(), keys.len());
    assert!(keys.iter().all(|key| store.may_hold(key)));
}

#[test]
fn a_false_positive_reaches_the_database_once() {
    let keys: Vec<String> = (0..500).map(|number| format!("held {number}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let disk = Disk::default();
    let store = disk.store(keys.len(), &keys);
    let mut absent = (0..).map(|number| format!("absent {number}"));
    let absent = absent.find(|key| store.may_hold(key)).unwrap();
    assert_eq!(store.get(&absent).unwrap(), None);
    for _ in 0..10 {
        assert!(!store.may_hold(&absent));
    }
    let stats = store.stats().unwrap();
    assert_eq!((stats.false_positives, stats.repeats_saved), (1, 10));

    // In the middle of the commit of this key, the store reports it as present.
    let key: &'static str = absent.leak();
    let answers = disk.answers(&store, key, || {
        assert_eq!(store.put(key, b"value").unwrap(), Put::Created);
    });
    assert!(!answers.is_empty());
    assert!(answers.iter().all(|&present| present), "{answers:?}");
    assert!(store.get(key).unwrap().is_some() && store.may_hold(key));
    assert!(store.delete(key).unwrap());
}
