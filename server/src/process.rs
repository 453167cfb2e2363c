//! What the operating system knows about this process.

/// The resources that the process uses.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    /// The resident bytes.
    pub resident_bytes: u64,
    /// The bytes of address space.
    pub virtual_bytes: u64,
    /// The seconds of processor time of all threads in user mode.
    pub user_seconds: f64,
    /// The seconds of processor time of all threads in the kernel.
    pub system_seconds: f64,
    /// The start time in seconds since 1970.
    pub start_seconds: f64,
    /// The number of threads.
    pub threads: u64,
    /// The number of open file descriptors.
    pub open_files: u64,
    /// The limit for open file descriptors.
    pub max_files: u64,
}

/// The resources that this process uses now; `None` if the system does not report them.
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
        user_seconds: seconds(stat.utime),
        system_seconds: seconds(stat.stime),
        start_seconds: boot_time_secs().ok()? as f64 + seconds(stat.starttime),
        threads: stat.num_threads.try_into().ok()?,
        open_files: this.fd_count().ok()? as u64,
        max_files,
    })
}

/// The resources that this process uses now; `None` if the system does not report them.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn now() -> Option<Process> {
    None
}
