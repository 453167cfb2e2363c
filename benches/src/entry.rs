//! A contestant as the tables list it.

use crate::lanes::Contestant;

/// A contestant: its name, what it is, and how it is made.
#[derive(Debug)]
pub struct Entry<K> {
    /// How tables and plots call it.
    pub name: &'static str,
    /// Its threads, its fingerprint: what a reader must know to compare.
    pub note: &'static str,
    /// It can delete.
    pub deletes: bool,
    /// It holds a copy of a key for each insert.
    pub copies: bool,
    /// It is quick enough to be filled with tens of millions of items.
    pub large: bool,
    /// Makes one with room for this number of items at a rate near 0.02 %.
    pub make: fn(usize) -> Box<dyn Contestant<K>>,
}
