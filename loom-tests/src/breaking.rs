//! `cargo xtask break NAME`: shows how the protocol fails when one thing is removed.
//!
//! With `GUIRA_LOOM_BREAK=NAME`, a scenario runs only its negative control of that name. The first
//! control that fails prints its law and its interleaving, and ends the process with [`SHOWN`].

use guira::model::{Access, end_trace};
use std::{process, sync::OnceLock};

/// The exit code of a process that has shown a failure. `xtask/src/break_it.rs` expects it.
const SHOWN: i32 = 42;

/// The width of a thread's column.
const COLUMN: usize = 48;

/// The name of the control to run, if only one is requested.
pub(crate) fn breaking() -> Option<&'static str> {
    static NAME: OnceLock<Option<String>> = OnceLock::new();
    NAME.get_or_init(|| std::env::var("GUIRA_LOOM_BREAK").ok())
        .as_deref()
}

/// Prints how the scenario failed, and ends the process.
pub(crate) fn show(
    scenario: &str,
    weakness: &str,
    bound: Option<usize>,
    iterations: usize,
    message: &str,
) -> ! {
    let accesses = end_trace();
    let bound = bound.map_or("none".into(), |bound| bound.to_string());
    println!("scenario   {scenario}");
    println!("weakened   {weakness}");
    println!("explored   {iterations} interleavings, at preemption bound {bound}");
    println!("violated   {}\n", message.replace('\n', " "));
    print!("{}", table(&accesses));
    process::exit(SHOWN)
}

/// One row for each access, and one column for each thread.
fn table(accesses: &[Access]) -> String {
    let mut threads = Vec::new();
    for access in accesses {
        if !threads.contains(&access.thread) {
            threads.push(access.thread);
        }
    }
    let mut text = String::new();
    let mut line = |cells: Vec<String>| {
        let cells = cells.iter().map(|cell| format!("{cell:COLUMN$}"));
        text += cells.collect::<String>().trim_end();
        text += "\n";
    };
    line(
        (0..threads.len())
            .map(|thread| format!("thread {thread}"))
            .collect(),
    );
    for access in accesses {
        let step = access
            .step
            .map_or(String::new(), |step| format!("{step:?}"));
        let cell = format!("{step:14} {}", access.effect);
        let cells = threads.iter().map(|thread| match *thread == access.thread {
            true => cell.clone(),
            false => String::new(),
        });
        line(cells.collect());
    }
    text
}
