//! `BENCHMARKS.md`: what all parts share, and the parts, each of the run that measured it last.

use super::{
    Part,
    markdown::{names, strings, table},
};
use crate::peers;
use clap::ValueEnum;
use std::{collections::BTreeMap, fmt::Write, path::Path};

/// Why some targets are missed: from profiles, not from a run.
const MISSED: &str = include_str!("missed.md");

/// What one part brings to the page.
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

/// What a page that was written before has of a part; nothing if it lacks it.
pub(super) fn read(page: &str, part: Part) -> Option<Contribution> {
    let between = |begin: &str, end: &str| {
        let (_, rest) = page.split_once(begin)?;
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

/// The whole page. The directory `plots` is the one of the plots, as it is found from the
/// page; `server` is the table that `server/bench.sh` has printed.
pub(super) fn write(all: &Contributions, plots: &Path, server: &str) -> String {
    let blocks = |kind, of: fn(&Contribution) -> &str| -> Vec<String> {
        let blocks = all.iter().map(|(&part, one)| block(part, kind, of(one)));
        blocks.filter(|block| !block.is_empty()).collect()
    };
    let mut text = introduction(all, plots);
    text += "\n## What guira aims at\n\nMedians of ratios, guira's 15 bits × 4.\n\n";
    text += &blocks("aims", |one| &one.aims).join("\n");
    let _ = write!(text, "\n{MISSED}\n");
    text += &blocks("section", |one| &one.section).join("\n");
    let _ = write!(
        text,
        "\n## The server\n\nguira-server beside redis-server, which answers GET and SET.\n\
         `server/bench.sh >docs/server-throughput.md` remakes this table.\n\n{server}"
    );
    text += "\n## Where guira loses\n\nEvery median in which a contestant is ahead by 5 % or more, and why.\n";
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

fn introduction(all: &Contributions, plots: &Path) -> String {
    let peers = peers::all_with_own_hasher::<u64>()
        .into_iter()
        .map(|entry| vec![entry.name.into(), entry.note.into()]);
    let peers = table(&strings(["contestant", "what it is"]), peers);
    format!(
        "# Benchmarks

This file and the plots in `{plots}` are written by:

    cargo run --release -p guira-benches --bin bench-report

With `-- --quick` it takes a minute and shows only that everything works.
With `-- --only growth,space` only these parts are measured, and the others stay as they are; there are {parts}.
`cargo bench` runs the same loops under criterion, for work on one of them.

## The runs

{runs}
## How to read the figures

- All figures of a part are of one run.
  In each of its rounds the contestants take turns, and the figure is the median of the rounds.
  Where half the distance between the quartiles is 10 % of it or more, it is given as ±.
  A target is the median of the ratios of the rounds, and in cache has three times as many of them.
  How far they scatter comes before the medians.
- Figures of one thread count the processor time of that thread, so that other jobs on the machine disturb less.
  Figures of several threads are wall-clock time.
- Compare figures within a table.
  Machines differ, and so do hours of one machine.
- All contestants hash with guira's hasher.
  Where one thread is measured, the closest peer, atomic-cuckoo-filter, is there twice: also with the hasher that it has by default.
- All get the same keys, made as they are needed, and are made for the same number of items.
  These are as many as fill a table of a power of two slots to 95 %, which suits the peers that round up to one.
  guira's table is then as large as theirs.
- The fingerprints of all contestants are of 15 or 16 bits, or the rate asked for is that of guira's 15 bits.
  Only cuckoofilter is fixed at 8 bits, and so has half the memory and a hundred times the rate.

{peers}",
        plots = plots.display(),
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
    fn what_a_page_has_of_a_part_can_be_read_from_it() {
        let parts = Part::value_variants().iter();
        let all: Contributions = parts
            .map(|&part| (part, contribution(part.name())))
            .collect();
        let page = write(&all, Path::new("docs/plots"), "the server\n");
        for (&part, one) in &all {
            assert_eq!(read(&page, part).as_ref(), Some(one));
        }
    }

    #[test]
    fn a_page_without_a_part_has_nothing_of_it() {
        let all = Contributions::from([(Part::Growth, contribution("growth"))]);
        let page = write(&all, Path::new("docs/plots"), "the server\n");
        assert_eq!(read(&page, Part::Growth), Some(contribution("growth")));
        assert_eq!(read(&page, Part::Space), None);
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
