//! `report.md` of a machine: what all parts share, and each part as it was measured last.

use super::{
    Part,
    data::{Contributions, text},
    markdown::{names, strings, table},
};
use crate::peers;
use clap::ValueEnum;
use std::fmt::Write;

/// The report.
pub(super) fn report(all: &Contributions) -> String {
    let sections = all.values().map(|one| text(&one.section));
    let mut page = introduction(all);
    page.push('\n');
    page += &sections.collect::<Vec<_>>().join("\n");
    page += "\n## Where guira loses\n\nEvery median in which a contestant is ahead by 5 % or more, and the reason.\n";
    for (part, one) in all.iter().filter(|(_, one)| !one.losses.is_empty()) {
        let _ = write!(page, "\n### {}\n\n{}", part.title(), text(&one.losses));
    }
    page
}

fn introduction(all: &Contributions) -> String {
    let peers = peers::all_with_own_hasher::<u64>()
        .into_iter()
        .map(|entry| vec![entry.name.into(), entry.note.into()]);
    let peers = table(&strings(["contestant", "what it is"]), peers);
    format!(
        "# Benchmark report

For anyone who wants every number of [the summary](../../../BENCHMARKS.md), with its conditions.

The benchmarks write this page from [the data](data.json), and the plots; do not edit them:

    cargo run --release -p guira-benches --bin bench-report

| option | effect |
|---|---|
| `-- --quick` | takes a minute, and only shows that everything works |
| `-- --only growth,space` | measures these parts, and keeps the others |
| `-- --render` | measures nothing, and writes the pages again |

The parts are {parts}.
`cargo bench` runs the same loops under criterion.

## The runs

{runs}
## How to read the figures

- All figures of a part are of one run.
  The contestants take turns in each round, and a figure is the median of the rounds.
  Where half the interquartile range is at least 10 % of the median, it is given as ±.
- Figures of one thread count the processor time of that thread, so that other jobs on the machine disturb less.
  Figures of several threads are wall-clock time.
- Compare figures within a table.
  Machines differ, and one machine differs from hour to hour.
- All contestants hash with guira's hasher.
  In the parts with one thread, atomic-cuckoo-filter appears twice: also with its default hasher.
- All contestants get the same keys, generated on the fly, and are built for the same number of items.
  That number fills a table of a power of two slots to 95 %, which suits the peers that round up to one.
  guira's table is then as large as theirs.
- Fingerprints have 15 or 16 bits in all contestants, or the rate asked for is that of guira's 15 bits.
  Only cuckoofilter is fixed at 8 bits: it has half the memory and a hundred times the rate.

{peers}",
        parts = names(Part::value_variants().iter().map(|part| format!("`{}`", part.name()))),
        runs = runs(all),
    )
}

/// The runs, each with its parts.
fn runs(all: &Contributions) -> String {
    let mut runs: Vec<(&[String], Vec<Part>)> = Vec::new();
    for (&part, one) in all {
        match runs.iter_mut().find(|(run, _)| *run == one.run) {
            Some((_, parts)) => parts.push(part),
            None => runs.push((&one.run, vec![part])),
        }
    }
    let mut text = String::new();
    for (run, parts) in runs {
        let parts = names(parts.into_iter().map(|part| part.title().to_owned()));
        let _ = writeln!(text, "- **{parts}**");
        for fact in run {
            let _ = writeln!(text, "  - {fact}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{super::data::Contribution, *};

    #[test]
    fn parts_of_one_run_are_named_together() {
        let of = |machine: &str| Contribution {
            run: vec!["a day".into(), machine.to_owned()],
            ..Contribution::default()
        };
        let all = Contributions::from([
            (Part::Growth, of("a machine")),
            (Part::Latency, of("a machine")),
            (Part::Space, of("another machine")),
        ]);
        let runs = runs(&all);
        assert!(
            runs.starts_with("- **Latency and Growth**\n  - a day\n  - a machine\n- **Space**\n"),
            "{runs}"
        );
    }
}
