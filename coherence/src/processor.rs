//! Processors, according to published figures.
//!
//! | source | address |
//! |---|---|
//! | C2C | N. Viennot, *Measuring CPU core-to-core latency*, <https://github.com/nviennot/core-to-core-latency> |
//! | MLC | Intel Memory Latency Checker on two Ice Lake Xeons, `info/icelake_mlc.txt` of <https://github.com/gjbex/Code-optimization> |
//! | Rome | AnandTech on EPYC Rome, *Memory Subsystem: Latency*, <https://www.anandtech.com/show/14694/amd-rome-epyc-2nd-gen/7> |
//! | Milan | AnandTech on EPYC Milan, <https://www.anandtech.com/show/16529/amd-epyc-milan-review> |
//! | Genoa-X | Chips and Cheese, *Genoa-X: Server V-Cache Round 2*, <https://chipsandcheese.com/p/genoa-x-server-v-cache-round-2> |
//! | Zen 4 | Chips and Cheese, *AMD's Zen 4, Part 2: Memory Subsystem*, <https://chipsandcheese.com/p/amds-zen-4-part-2-memory-subsystem-and-conclusion> |
//! | Guide | AMD, *Software Optimization Guide for the AMD Zen4 Microarchitecture*, publication 57647 |
//! | V-Cache | Chips and Cheese, *Deep Diving Zen 3 V-Cache*, <https://chipsandcheese.com/2022/01/21/deep-diving-zen-3-v-cache/> |
//! | Caches | AnandTech on Ice Lake, *Cache and TLB Updates*, <https://www.anandtech.com/show/14664/testing-intel-ice-lake-10nm/2> |

/// A time in picoseconds.
pub type Time = u64;

/// A cache, or each of several equal caches.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    /// The number of lines of 64 bytes.
    pub lines: usize,
    /// The number of lines in a set.
    pub ways: usize,
    /// The latency of a load in cycles.
    pub cycles: u64,
}

/// The costs of accesses on one kind of processor.
#[derive(Clone, Copy, Debug)]
pub struct Processor {
    /// The name on the command line.
    pub name: &'static str,
    /// A description.
    pub about: &'static str,
    /// The picoseconds of a cycle.
    pub cycle: Time,
    /// The number of cores that share a third-level cache.
    pub cores_of_domain: usize,
    /// The number of cores in a socket.
    pub cores_of_socket: usize,
    /// The first-level cache of each core.
    pub l1: Level,
    /// The second-level cache of each core.
    pub l2: Level,
    /// The third-level cache of each domain.
    pub l3: Level,
    /// The latency from another core of the domain, in nanoseconds.
    pub near: u64,
    /// The latency from another domain of the socket, in nanoseconds.
    pub far: u64,
    /// The latency from the other socket, in nanoseconds.
    pub remote: u64,
    /// The latency of memory, in nanoseconds.
    pub memory: u64,
    /// The latency of memory of the other socket, in nanoseconds.
    pub remote_memory: u64,
    /// The memory bandwidth of a socket, in bytes per nanosecond.
    pub bandwidth: u64,
    /// The cycles of a read-modify-write of a line that the core owns, in addition to a load of it.
    pub exchange: u64,
    /// The number of cycles by which a core executes ahead of a pending load. It is the size of the
    /// reorder buffer divided by the rate of these operations, some three instructions per cycle.
    pub window: u64,
}

/// AMD EPYC 7R13 and similar processors (Zen 3), with domains of 8 cores.
pub const MILAN: Processor = Processor {
    name: "milan",
    about: "AMD EPYC 7003 (Milan)",
    // 3.5 GHz, by Genoa-X about Milan.
    cycle: 286,
    cores_of_domain: 8,
    cores_of_socket: 64,
    // Rome and V-Cache: all Zen generations so far have equal first and second levels.
    l1: Level {
        lines: 512,
        ways: 8,
        cycles: 4,
    },
    l2: Level {
        lines: 8192,
        ways: 8,
        cycles: 13,
    },
    // Genoa-X: 50 cycles with the stacked cache, which adds 4.
    l3: Level {
        lines: 1 << 19,
        ways: 16,
        cycles: 46,
    },
    // C2C: 23 ns, 107 ns, 197 ns.
    near: 23,
    far: 107,
    remote: 197,
    // Rome, NPS1, because there is no figure for Milan. The remote latency adds the difference of
    // C2C.
    memory: 122,
    remote_memory: 212,
    // Milan: the peak of 8 channels of DDR4-3200.
    bandwidth: 205,
    // An assumption, as for Ice Lake.
    exchange: 16,
    window: 85,
};

/// Intel Xeon Platinum 8375C and similar processors (Ice Lake), with one mesh per socket.
pub const ICE_LAKE: Processor = Processor {
    name: "icelake",
    about: "Intel Xeon Scalable, third generation (Ice Lake)",
    // 2.9 GHz, by C2C.
    cycle: 345,
    // The largest processor has 40 cores. With 64 cores on a mesh, the predictions are optimistic.
    cores_of_domain: 64,
    cores_of_socket: 64,
    // By Caches.
    l1: Level {
        lines: 768,
        ways: 12,
        cycles: 5,
    },
    // 1.25 MiB. Rome: 14 cycles, for Cascade Lake.
    l2: Level {
        lines: 20_480,
        ways: 20,
        cycles: 14,
    },
    // 54 MiB in 12 ways. Rome: 46 cycles, for Cascade Lake.
    l3: Level {
        lines: 72 << 14,
        ways: 9,
        cycles: 46,
    },
    // C2C: 51 ns, 108 ns.
    near: 51,
    far: 51,
    remote: 108,
    // By MLC.
    memory: 89,
    remote_memory: 143,
    bandwidth: 175,
    exchange: 16,
    window: 115,
};

/// AMD EPYC 9004 and similar processors (Zen 4), for comparisons with a machine that has them.
///
/// No latencies between its domains were found, so these are Milan's. A comparison replaces them by the
/// measured one.
pub const GENOA: Processor = Processor {
    name: "genoa",
    about: "AMD EPYC 9004 (Genoa)",
    // 3.7 GHz, by Genoa-X.
    cycle: 270,
    // 1 MiB. Zen 4: 14 cycles, and 50 for the third level.
    l2: Level {
        lines: 16_384,
        ways: 8,
        cycles: 14,
    },
    l3: Level {
        cycles: 50,
        ..MILAN.l3
    },
    // Guide: a reorder buffer of 320 operations.
    window: 107,
    ..MILAN
};

/// The processors of the tables.
pub const ALL: [Processor; 2] = [MILAN, ICE_LAKE];

impl Processor {
    /// The processor with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        ALL.into_iter().chain([GENOA]).find(|it| it.name == name)
    }

    /// Two of these cores in a virtual machine, if a line takes this time from one to the other.
    ///
    /// They are in one domain or in two, whichever the published figures are nearer to. Other machines
    /// run on the other cores, so these two have only their share of the third level.
    #[must_use]
    pub fn of_two_cores(mut self, nanoseconds: u64) -> Self {
        let share = self.l3.lines / self.cores_of_domain;
        if 2 * nanoseconds < self.near + self.far {
            (self.l3.lines, self.near) = (2 * share, nanoseconds);
        } else {
            self.l3.lines = share;
            (self.cores_of_domain, self.far) = (1, nanoseconds);
        }
        self
    }

    /// The domain of a core.
    #[must_use]
    pub fn domain(&self, core: usize) -> usize {
        core / self.cores_of_domain
    }

    /// The socket of a domain.
    #[must_use]
    pub fn socket(&self, domain: usize) -> usize {
        domain * self.cores_of_domain / self.cores_of_socket
    }

    /// The latency from one domain to another, or between cores of the same domain.
    #[must_use]
    pub fn transfer(&self, from: usize, to: usize) -> Time {
        let nanoseconds = if from == to {
            self.near
        } else if self.socket(from) == self.socket(to) {
            self.far
        } else {
            self.remote
        };
        nanoseconds * 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cores_have_their_share_of_the_third_level() {
        let near = GENOA.of_two_cores(33);
        assert_eq!((near.domain(1), near.near), (0, 33));
        assert_eq!(near.l3.lines, GENOA.l3.lines / 4);
        let far = GENOA.of_two_cores(107);
        assert_eq!((far.domain(1), far.far), (1, 107));
        assert_eq!(far.l3.lines, GENOA.l3.lines / 8);
    }
}
