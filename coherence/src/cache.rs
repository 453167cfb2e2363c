//! The lines in a cache.

use crate::processor::Level;

/// Stands for an empty place.
const NONE: u32 = u32::MAX;

/// Sets of line numbers, in the order of their last use.
pub(crate) struct Cache {
    tags: Vec<u32>,
    ways: usize,
}

impl Cache {
    pub(crate) fn new(level: Level) -> Self {
        Self {
            tags: vec![NONE; level.lines],
            ways: level.ways,
        }
    }

    fn set(&mut self, line: u32) -> &mut [u32] {
        // The multiplication spreads neighbouring lines over the sets, as the hashes of large
        // caches do.
        let sets = (self.tags.len() / self.ways) as u64;
        let hash = u64::from(line.wrapping_mul(0x9e37_79b9));
        let start = ((hash * sets) >> 32) as usize * self.ways;
        &mut self.tags[start..start + self.ways]
    }

    /// True if the line is present. It becomes the most recently used line of its set.
    pub(crate) fn touch(&mut self, line: u32) -> bool {
        let set = self.set(line);
        let way = set.iter().position(|&tag| tag == line);
        if let Some(way) = way {
            set[..=way].rotate_right(1);
        }
        way.is_some()
    }

    /// Adds a line that is not present, and returns the evicted one.
    pub(crate) fn insert(&mut self, line: u32) -> Option<u32> {
        let set = self.set(line);
        set.rotate_right(1);
        let evicted = std::mem::replace(&mut set[0], line);
        (evicted != NONE).then_some(evicted)
    }

    /// Removes a line if it is present.
    pub(crate) fn remove(&mut self, line: u32) {
        let set = self.set(line);
        if let Some(way) = set.iter().position(|&tag| tag == line) {
            set[way..].rotate_left(1);
            set[set.len() - 1] = NONE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_line_is_evicted() {
        let level = Level {
            lines: 2,
            ways: 2,
            cycles: 1,
        };
        let mut cache = Cache::new(level);
        assert_eq!((cache.insert(1), cache.insert(2)), (None, None));
        assert!(cache.touch(1));
        assert_eq!(cache.insert(3), Some(2));
        cache.remove(1);
        assert!(!cache.touch(1) && cache.touch(3));
        assert_eq!(cache.insert(4), None);
    }
}
