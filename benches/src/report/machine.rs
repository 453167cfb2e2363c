//! The machine, as it describes itself.

use crate::crew::cores;
use std::process::Command;

/// What a program prints.
fn output(program: &str, options: &[&str]) -> String {
    let output = Command::new(program).args(options).output();
    output.map_or("unknown".into(), |output| {
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    })
}

/// Today's, as "2026-11-23".
pub(super) fn date() -> String {
    output("date", &["-u", "+%F"])
}

/// What `lscpu` tells of the processor.
fn processor(name: &str) -> String {
    let text = output("lscpu", &[]);
    let mut facts = text.lines().filter_map(|line| line.split_once(':'));
    let fact = facts.find(|(of, _)| of.trim() == name);
    fact.map_or("unknown", |(_, value)| value.trim()).to_owned()
}

/// The name of this machine's folder, such as "intel-xeon-2-threads".
pub(super) fn name() -> String {
    folder(&processor("Model name"), cores())
}

/// The words of the processor's name up to its clock rate, without trademarks.
fn folder(processor: &str, threads: usize) -> String {
    let plain = processor.split('@').next().unwrap_or_default();
    let plain = plain.replace("(R)", " ").replace("(TM)", " ");
    let plain = plain.to_lowercase();
    let words = plain.split(|c: char| !c.is_ascii_alphanumeric());
    let words = words.filter(|word| !["", "cpu", "processor"].contains(word));
    let words: Vec<&str> = words.collect();
    format!("{}-{threads}-threads", words.join("-"))
}

/// Processor, caches, memory, system, compiler.
pub(super) fn describe() -> Vec<String> {
    let [model, family] = ["Model name", "CPU family"].map(processor);
    let caches = ["L1d", "L1i", "L2", "L3"];
    let caches = caches.map(|level| format!("{level} {}", processor(&format!("{level} cache"))));
    let memory = output("free", &["--gibi"]);
    let memory = memory.lines().nth(1).unwrap_or_default();
    let memory = memory.split_whitespace().nth(1).unwrap_or("unknown");
    // What follows the version's numbers is the builder's own.
    let system = output("uname", &["-sr"]);
    let system = system.split('-').next().unwrap_or_default();
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let rustc = output(&rustc, &["--version"]);
    let threads = cores();
    vec![
        format!("processor: {model} (family {family}), {threads} hardware threads"),
        format!("caches: {}", caches.join(", ")),
        format!("memory: {memory} GiB"),
        format!("system: {system}"),
        format!("compiler: {rustc}, `--release` (thin LTO), no `target-cpu`"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_by_the_words_of_the_processor() {
        let processors = [
            ("Intel(R) Xeon(R) Processor", "intel-xeon"),
            ("AMD EPYC 7B13", "amd-epyc-7b13"),
            ("Intel(R) Core(TM) i7 CPU @ 1.90GHz", "intel-core-i7"),
        ];
        for (processor, expected) in processors {
            assert_eq!(folder(processor, 2), format!("{expected}-2-threads"));
        }
    }
}
