//! `report.md` and `targets.md` of a machine: what all parts share, and each part as it was
//! measured last.

use super::{
    Part,
    markdown::{names, strings, table},
};
use crate::peers;
use clap::ValueEnum;
use std::{collections::BTreeMap, fmt::Write};

/// What one part contributes to the pages.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Contribution {
    /// When, where and how much was measured: a line for each fact, joined by [`JOINT`].
    pub(super) run: String,
    /// Its targets.
    pub(super) aims: String,
    /// Its section.
    pub(super) section: String,
    /// Where guira loses.
    pub(super) losses: String,
}

/// Between the facts of a run, which are in a comment of one line.
const JOINT: &str = " | ";

/// The contributions of all parts.
pub(super) type Contributions = BTreeMap<Part, Contribution>;

/// A run, of its facts.
pub(super) fn run(facts: &[String]) -> String {
    facts.join(JOINT)
}

/// What the pages, one after the other, have of a part; `None` if they lack it.
pub(super) fn read(pages: &str, part: Part) -> Option<Contribution> {
    let between = |begin: &str, end: &str| {
        let (_, rest) = pages.split_once(begin)?;
        rest.split_once(end).map(|(text, _)| text.to_owned())
    };
    let block = |kind| between(&begin(part, kind), &end(part, kind));
    Some(Contribution {
        run: between(&begin_run(part), END_RUN)?,
        aims: block("aims").unwrap_or_default(),
        section: block("section").unwrap_or_default(),
        losses: block("losses").unwrap_or_default(),
    })
}

fn begin(part: Part, kind: &str) -> String {
    format!("<!-- {kind} of {}: begin -->\n", part.name())
}

fn end(part: Part, kind: &str) -> String {
    format!("<!-- {kind} of {}: end -->\n", part.name())
}

fn begin_run(part: Part) -> String {
    format!("<!-- run of {}: ", part.name())
}

const END_RUN: &str = " -->\n";

fn block(part: Part, kind: &str, text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!("{}{text}{}", begin(part, kind), end(part, kind)),
    }
}

/// All blocks of a kind.
fn blocks(all: &Contributions, kind: &str, of: fn(&Contribution) -> &str) -> Vec<String> {
    let blocks = all.iter().map(|(&part, one)| block(part, kind, of(one)));
    blocks.filter(|block| !block.is_empty()).collect()
}

/// The report.
pub(super) fn report(all: &Contributions) -> String {
    let mut text = introduction(all);
    text.push('\n');
    text += &blocks(all, "section", |one| &one.section).join("\n");
    text += "\n## Where guira loses\n\nEvery median in which a contestant is ahead by 5 % or more, and the reason.\n";
    for (&part, one) in all.iter().filter(|(_, one)| !one.losses.is_empty()) {
        let _ = write!(
            text,
            "\n### {}\n\n{}",
            part.title(),
            block(part, "losses", &one.losses)
        );
    }
    text
}

/// The targets.
pub(super) fn targets(all: &Contributions) -> String {
    format!(
        "# Targets

For maintainers: what guira aims at on this machine, and what it reached.

[The reasons](../../internal/targets.md) explain how the targets were chosen, and why some are missed.
The benchmark report writes this page together with [the measurements](report.md); do not edit it.
A value is a median of ratios, for guira's 15 bits × 4 unless the row names another layout.

{}",
        blocks(all, "aims", |one| &one.aims).join("\n")
    )
}

fn introduction(all: &Contributions) -> String {
    let peers = peers::all_with_own_hasher::<u64>()
        .into_iter()
        .map(|entry| vec![entry.name.into(), entry.note.into()]);
    let peers = table(&strings(["contestant", "what it is"]), peers);
    format!(
        "# Benchmark report

For anyone who wants every number of [the summary](../../../BENCHMARKS.md), with its conditions.

The benchmarks write this page, [the targets](targets.md) and the plots; do not edit them:

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
    let mut runs: Vec<(&str, Vec<Part>)> = Vec::new();
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
        for fact in run.split(JOINT) {
            let _ = writeln!(text, "  - {fact}");
        }
    }
    text.push('\n');
    for (&part, one) in all {
        let _ = write!(text, "{}{}{END_RUN}", begin_run(part), one.run);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contribution(of: &str) -> Contribution {
        Contribution {
            run: run(&["a day".into(), of.to_owned()]),
            aims: format!("aims of {of}\n"),
            section: format!("## {of}\n\n<!-- a mark: begin -->\nits section\n"),
            losses: format!("losses of {of}\n"),
        }
    }

    #[test]
    fn the_pages_keep_all_that_a_part_contributes() {
        let parts = Part::value_variants().iter();
        let all: Contributions = parts
            .map(|&part| (part, contribution(part.name())))
            .collect();
        let pages = report(&all) + &targets(&all);
        for (&part, one) in &all {
            assert_eq!(read(&pages, part).as_ref(), Some(one));
        }
    }

    #[test]
    fn pages_without_a_part_have_nothing_of_it() {
        let all = Contributions::from([(Part::Growth, contribution("growth"))]);
        let pages = report(&all) + &targets(&all);
        assert_eq!(read(&pages, Part::Growth), Some(contribution("growth")));
        assert_eq!(read(&pages, Part::Space), None);
    }

    #[test]
    fn parts_of_one_run_are_named_together() {
        let one = contribution("a machine");
        let all = Contributions::from([
            (Part::Growth, one.clone()),
            (Part::Latency, one),
            (Part::Space, contribution("another machine")),
        ]);
        let runs = runs(&all);
        assert!(
            runs.starts_with("- **Latency and Growth**\n  - a day\n  - a machine\n- **Space**\n"),
            "{runs}"
        );
    }
}
