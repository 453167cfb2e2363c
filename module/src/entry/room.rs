//! The memory that a value may occupy if it is restored or copied for a client.
//!
//! Files, replication and imported slots are not limited. Their contents fit into the memory of
//! another node, and an engine that refused them could neither start nor follow its primary. In all
//! cases memory is allocated as bytes arrive.

use crate::{
    engine::{Flags, Memory, memory, standing},
    settings,
};
use thiserror::Error;

/// For smaller values, only the engine's own check before each command applies: requesting its memory
/// use takes as long as `INFO memory`.
const CHECKED_BYTES: usize = 1 << 20;

/// The number of bytes that one value may occupy.
#[derive(Debug)]
pub(crate) struct Room {
    /// `guira.max-filter-bytes`
    setting: usize,
    flags: Flags,
    /// The number of bytes that `maxmemory` allows, once it has been requested.
    free: Option<usize>,
    memory: fn() -> Option<Memory>,
}

/// The value is larger than a client may make it.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(crate) enum NoRoom {
    #[error("it needs {needed} bytes, and guira.max-filter-bytes is {limit}")]
    Setting { needed: usize, limit: usize },
    #[error("it needs {needed} bytes, and maxmemory allows {free}")]
    Engine { needed: usize, free: usize },
}

impl Room {
    /// The room for a value that the engine is about to load or copy.
    pub(crate) fn of_engine() -> Self {
        let standing = standing();
        if standing.is_loading || !standing.is_primary {
            return Self::unlimited();
        }
        Self {
            setting: settings::max_filter_bytes(),
            flags: standing.flags,
            free: None,
            memory,
        }
    }

    pub(crate) fn unlimited() -> Self {
        Self {
            setting: usize::MAX,
            flags: Flags::NONE,
            free: None,
            memory: || None,
        }
    }

    /// The maximum number of bytes according to the settings.
    pub(crate) fn setting(&self) -> usize {
        self.setting
    }

    /// # Errors
    ///
    /// [`NoRoom`] if the value may not occupy this number of bytes.
    pub(crate) fn admit(&mut self, needed: usize) -> Result<(), NoRoom> {
        let limit = self.setting;
        if needed > limit {
            return Err(NoRoom::Setting { needed, limit });
        }
        if needed < CHECKED_BYTES || !self.flags.has_memory_limit() {
            return Ok(());
        }
        let free = *self.free.get_or_insert_with(|| {
            let memory = (self.memory)().filter(|memory| memory.limit > 0);
            memory.map_or(usize::MAX, |memory| {
                // If other keys are evicted, the memory is usually full.
                let used = match self.flags.may_evict() {
                    true => 0,
                    false => memory.used,
                };
                usize::try_from(memory.limit.saturating_sub(used)).unwrap_or(usize::MAX)
            })
        });
        if needed > free {
            return Err(NoRoom::Engine { needed, free });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn room(has_memory_limit: bool, may_evict: bool) -> Room {
        Room {
            setting: 64 * MIB,
            flags: Flags::of(false, has_memory_limit, may_evict),
            free: None,
            memory: || {
                Some(Memory {
                    used: 30 << 20,
                    limit: 50 << 20,
                })
            },
        }
    }

    #[test]
    fn the_smaller_limit_counts() {
        let refused = |mut room: Room, needed| room.admit(needed).err();
        let of_setting = NoRoom::Setting {
            needed: 64 * MIB + 1,
            limit: 64 * MIB,
        };
        for evicts in [false, true] {
            assert_eq!(refused(room(false, evicts), 64 * MIB), None);
            assert_eq!(refused(room(false, evicts), 64 * MIB + 1), Some(of_setting));
        }
        for (may_evict, free) in [(false, 20 * MIB), (true, 50 * MIB)] {
            let needed = free + 1;
            assert_eq!(refused(room(true, may_evict), free), None);
            let of_engine = NoRoom::Engine { needed, free };
            assert_eq!(refused(room(true, may_evict), needed), Some(of_engine));
        }
    }

    #[test]
    fn small_values_do_not_ask_the_engine() {
        let mut room = Room {
            memory: || panic!("it is asked"),
            ..room(true, false)
        };
        assert_eq!(room.admit(CHECKED_BYTES - 1), Ok(()));
    }

    #[test]
    fn nothing_is_refused_without_a_limit() {
        assert_eq!(Room::unlimited().admit(usize::MAX), Ok(()));
    }
}
