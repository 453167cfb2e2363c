//! The machine, as it describes itself.

use std::{fs, process::Command, thread};

/// Today's, as "2026-11-23".
pub(super) fn date() -> String {
    output("date", &["-u", "+%F"])
}

/// What a program prints.
fn output(program: &str, options: &[&str]) -> String {
    let output = Command::new(program).args(options).output();
    output.map_or("unknown".into(), |output| {
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    })
}

/// The name of this machine's folder, such as "intel-xeon-2-threads".
pub fn name() -> String {
    let threads = thread::available_parallelism().map_or(0, usize::from);
    folder(&value("/proc/cpuinfo", "model name"), threads)
}

/// The words of the processor's name up to its clock rate, without trademarks.
fn folder(processor: &str, threads: usize) -> String {
    let plain = processor.split('@').next().unwrap_or_default();
    let plain = plain
        .replace("(R)", " ")
        .replace("(TM)", " ")
        .to_lowercase();
    let words = plain.split(|c: char| !c.is_ascii_alphanumeric());
    let words = words.filter(|word| !["", "cpu", "processor"].contains(word));
    let words: Vec<&str> = words.collect();
    format!("{}-{threads}-threads", words.join("-"))
}

/// Processor, caches, memory, system, compiler.
pub(super) fn describe() -> Vec<String> {
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
    let rustc = output(&rustc, &["--version"]);
    vec![
        format!("processor: {processor} (family {family}), {threads} hardware threads"),
        format!("caches: {}", caches()),
        format!("memory: {memory}"),
        format!("system: Linux {}", system.trim()),
        format!("compiler: {rustc}, `--release` (thin LTO), no `target-cpu`"),
    ]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_by_the_words_of_the_processor() {
        for (processor, expected) in [
            ("Intel(R) Xeon(R) Processor", "intel-xeon-2-threads"),
            ("AMD EPYC 7B13", "amd-epyc-7b13-2-threads"),
            (
                "Intel(R) Core(TM) i7-8650U CPU @ 1.90GHz",
                "intel-core-i7-8650u-2-threads",
            ),
        ] {
            assert_eq!(folder(processor, 2), expected);
        }
    }
}
