//! What the system knows of this process.

/// What the process takes of the machine.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    /// Bytes of it that are in memory.
    pub resident_bytes: u64,
    /// Bytes of address space.
    pub virtual_bytes: u64,
    /// Seconds of processor time, of all threads.
    pub cpu_seconds: f64,
    /// When it was started, in seconds since 1970.
    pub start_seconds: f64,
    /// Its threads.
    pub threads: u64,
    /// File descriptors that are open.
    pub open_files: u64,
    /// File descriptors that it may open.
    pub max_files: u64,
}

/// What this process takes now; `None` if the system does not say.
#[cfg(target_os = "linux")]
#[must_use]
pub fn now() -> Option<Process> {
    use procfs::{WithCurrentSystemInfo, boot_time_secs, process, ticks_per_second};

    let this = process::Process::myself().ok()?;
    let stat = this.stat().ok()?;
    let seconds = |ticks: u64| ticks as f64 / ticks_per_second() as f64;
    let (max_files, _) = rlimit::getrlimit(rlimit::Resource::NOFILE).ok()?;
    Some(Process {
        resident_bytes: stat.rss_bytes().get(),
        virtual_bytes: stat.vsize,
        cpu_seconds: seconds(stat.utime + stat.stime),
        start_seconds: boot_time_secs().ok()? as f64 + seconds(stat.starttime),
        threads: stat.num_threads.try_into().ok()?,
        open_files: this.fd_count().ok()? as u64,
        max_files,
    })
}

/// What this process takes now; `None` if the system does not say.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn now() -> Option<Process> {
    None
}
