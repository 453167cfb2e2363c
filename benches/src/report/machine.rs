//! The machine, as it describes itself.

use std::{fs, process::Command, thread};

/// Processor, caches, memory, system, compiler: a line each.
pub(super) fn describe() -> String {
    let processor = value("/proc/cpuinfo", "model name");
    let family = value("/proc/cpuinfo", "cpu family");
    let threads = thread::available_parallelism().map_or(0, usize::from);
    let memory = value("/proc/meminfo", "MemTotal");
    let kib = memory.trim_end_matches(" kB").parse::<f64>();
    let memory = kib.map_or(memory, |kib| format!("{:.0} GiB", kib / f64::from(1 << 20)));
    let system = read("/proc/sys/kernel/osrelease");
    // What follows the version's numbers is the builder's own.
    let system = system.split('-').next().unwrap_or_default();
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let rustc = Command::new(rustc).arg("--version").output();
    let rustc = rustc.map_or(String::new(), |out| {
        String::from_utf8_lossy(&out.stdout).into_owned()
    });
    format!(
        "- processor: {processor} (family {family}), {threads} hardware threads\n\
         - caches: {}\n- memory: {memory}\n- system: Linux {}\n- compiler: {}, `--release` (thin LTO), \
         no `target-cpu`\n",
        caches(),
        system.trim(),
        rustc.trim(),
    )
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_else(|_| "unknown".into())
}

/// The value of the first line that begins with `name`.
fn value(path: &str, name: &str) -> String {
    let text = read(path);
    let line = text.lines().find(|line| line.starts_with(name));
    let value = line
        .and_then(|line| line.split_once(':'))
        .map(|(_, value)| value.trim());
    value.unwrap_or("unknown").to_owned()
}

fn caches() -> String {
    let cache = |index| {
        let file = |name| {
            read(&format!(
                "/sys/devices/system/cpu/cpu0/cache/index{index}/{name}"
            ))
        };
        let (level, kind, size) = (file("level"), file("type"), file("size"));
        (size != "unknown").then(|| {
            let kind = if kind.trim() == "Unified" {
                ""
            } else {
                kind.trim()
            };
            format!("L{} {} {}", level.trim(), kind, size.trim()).replace("  ", " ")
        })
    };
    let caches: Vec<String> = (0..5).filter_map(cache).collect();
    caches.join(", ")
}
