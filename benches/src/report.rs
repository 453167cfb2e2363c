//! The report of a machine, its plots, and the summary in `BENCHMARKS.md`.

mod expiring;
mod losses;
mod machine;
mod markdown;
mod page;
mod plots;
mod space;
mod space_speed;
mod summary;

use crate::{
    contention, curves,
    effort::Effort,
    growth, latency, ops, snapshot,
    targets::{self, Target},
};
use clap::ValueEnum;
use page::{Contribution, Contributions};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

pub use machine::name as machine_name;

/// What can be measured by itself. The report has the parts in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Part {
    /// The targets of filters that do not grow
    Targets,
    /// One thread, all contestants
    OneThread,
    /// Lookups by load and by the share of hits
    Lookups,
    /// Many threads
    Threads,
    /// How long single operations take
    Latency,
    /// What growth costs
    Growth,
    /// What snapshots cost
    Snapshots,
    /// Filters that forget by time
    Expiring,
    /// Memory and rates
    Space,
    /// What it costs to prefer space
    SpaceSpeed,
}

impl Part {
    /// As the command line has it.
    fn name(self) -> &'static str {
        match self {
            Self::Targets => "targets",
            Self::OneThread => "one-thread",
            Self::Lookups => "lookups",
            Self::Threads => "threads",
            Self::Latency => "latency",
            Self::Growth => "growth",
            Self::Snapshots => "snapshots",
            Self::Expiring => "expiring",
            Self::Space => "space",
            Self::SpaceSpeed => "space-speed",
        }
    }

    /// As the report has it.
    fn title(self) -> &'static str {
        match self {
            Self::Targets => "Targets",
            Self::OneThread => "One thread",
            Self::Lookups => "Lookups by load and by the share of hits",
            Self::Threads => "Many threads",
            Self::Latency => "Latency",
            Self::Growth => "Growth",
            Self::Snapshots => "Snapshots",
            Self::Expiring => "Expiring filters",
            Self::Space => "Space",
            Self::SpaceSpeed => "What it costs to prefer space",
        }
    }
}

/// Where the report is written.
#[derive(Clone, Debug)]
pub struct Report {
    /// The root of the repository.
    pub root: PathBuf,
    /// The name of the machine: its pages are in `docs/bench/<machine>`.
    pub machine: String,
    /// The directory of the plots, relative to `root`.
    pub plots: PathBuf,
    /// A remark on this run, in addition to what the machine reports about itself.
    pub note: Option<String>,
    /// How much is measured.
    pub effort: Effort,
}

impl Report {
    /// Measures these parts, and writes `report.md` and `targets.md` of the machine, the plots, and
    /// the summary in `BENCHMARKS.md`. The pages keep what they have of the other parts. Without
    /// parts nothing is measured, and the pages are only rendered again. Prints the targets, and
    /// passes each title to `say` before its part begins.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or written, or the report lacks a part that is not measured.
    pub fn write(&self, parts: &[Part], say: impl Fn(&str)) -> io::Result<()> {
        let folder = self.root.join("docs/bench").join(&self.machine);
        let (report, targets) = (folder.join("report.md"), folder.join("targets.md"));
        // Before anything is measured in vain.
        let before = match (read(&report)?, read(&targets)?) {
            (Some(report), targets) => Some(report + &targets.unwrap_or_default()),
            (None, _) => None,
        };
        let mut contributions = others(before.as_deref(), parts)?;
        fs::create_dir_all(&folder)?;
        fs::create_dir_all(self.root.join(&self.plots))?;
        let run = self.run();
        for &part in parts {
            let (contribution, svgs) = self.measure(part, &run, &say);
            contributions.insert(part, contribution);
            for (name, svg) in svgs {
                let file = self.root.join(&self.plots).join(format!("{name}.svg"));
                fs::write(file, svg.map_err(io::Error::other)?)?;
            }
        }
        fs::write(report, page::report(&contributions))?;
        fs::write(targets, page::targets(&contributions))?;
        let front = self.root.join("BENCHMARKS.md");
        match read(&front)?.and_then(|text| summary::renewed(&text, &contributions)) {
            Some(text) => fs::write(front, text),
            None => Ok(()),
        }
    }

    /// The plots, as the pages of a machine link to them.
    fn linked_plots(&self) -> PathBuf {
        Path::new("../../..").join(&self.plots)
    }

    /// The facts of a run that begins now.
    fn run(&self) -> String {
        let mut facts = vec![format!("{}, {}", machine::date(), rounds(self.effort))];
        facts.extend(machine::describe());
        facts.extend(self.note.clone());
        page::run(&facts)
    }

    fn measure(&self, part: Part, run: &str, say: &impl Fn(&str)) -> (Contribution, Plots) {
        let (effort, plots) = (self.effort, self.linked_plots());
        let plots = plots.as_path();
        let mut it = Contribution {
            run: run.to_owned(),
            ..Contribution::default()
        };
        say(part.title());
        let svgs = match part {
            Part::Targets => {
                it.aims = markdown::aims(&targets::measure(effort, print));
                Vec::new()
            }
            Part::OneThread => {
                let tables = ops::measure(effort);
                it.section = markdown::one_thread(&tables, plots);
                let named = tables.iter();
                // Tables with the peers, not guira's own.
                it.losses =
                    losses::of_tables(named.filter(|table| table.title.contains("slots, ")));
                vec![("insert", plots::insert(&tables))]
            }
            Part::Lookups => {
                let curves = curves::measure(effort);
                it.section = markdown::curves(&curves, plots);
                it.losses = losses::of_tables(curves.by_load.iter().chain(&curves.by_share));
                vec![
                    ("load", plots::load(&curves)),
                    ("share", plots::share(&curves)),
                ]
            }
            Part::Threads => {
                let contests = contention::measure(effort);
                it.section = markdown::contention(&contests, effort.log_medium, plots);
                it.losses = losses::of_contests(&contests);
                vec![("contention", plots::contention(&contests))]
            }
            Part::Latency => {
                let tails = contention::tails(effort);
                it.section = markdown::latency(&tails, latency::clock_cost(), plots);
                vec![("latency", plots::latency(&tails))]
            }
            Part::Growth => {
                let growth = growth::measure(effort, say);
                it.aims = printed(&growth.targets());
                it.section = markdown::growth(&growth, latency::clock_cost(), plots);
                it.losses = losses::of_growth(&growth);
                vec![("growth", plots::growth(&growth.timeline))]
            }
            Part::Snapshots => {
                let snapshots = snapshot::measure(effort, say);
                it.aims = printed(&snapshots.targets());
                it.section = markdown::snapshots(&snapshots);
                Vec::new()
            }
            Part::Expiring => {
                let expiring = crate::expiring::measure(effort, say);
                it.aims = printed(&expiring.targets());
                it.section = expiring::section(&expiring);
                it.losses = losses::of_tables([&expiring.lookups, &expiring.stream]);
                Vec::new()
            }
            Part::Space => {
                let space = crate::space::measure(effort, say);
                it.aims = printed(&space.targets());
                it.section = space::section(&space, effort, plots);
                it.losses = space::losses(&space);
                vec![("space", plots::space(&space.points))]
            }
            Part::SpaceSpeed => {
                let measured = crate::space_speed::measure(effort, say);
                it.aims = printed(&measured.targets());
                it.section = space_speed::section(&measured);
                Vec::new()
            }
        };
        (it, svgs)
    }
}

type Plots = Vec<(&'static str, plots::Svg)>;

fn print(target: &Target) {
    println!("{target}");
}

/// The table of these targets, which are printed, too.
fn printed(targets: &[Target]) -> String {
    targets.iter().for_each(print);
    markdown::aims(targets)
}

fn rounds(effort: Effort) -> String {
    match effort.rounds {
        1 => "one round, which shows that all of it works, and not how fast it is".into(),
        rounds => format!("{rounds} rounds"),
    }
}

/// A file, if it is there.
fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        text => text.map(Some),
    }
}

/// What the pages have of the parts other than these. Without pages there is nothing to keep:
/// they are made of these parts only.
fn others(pages: Option<&str>, parts: &[Part]) -> io::Result<Contributions> {
    let others = Part::value_variants()
        .iter()
        .filter(|part| !parts.contains(part));
    let find = |&part: &Part| {
        let found = pages.map(|pages| page::read(pages, part).ok_or(part));
        found.map(|found| found.map(|contribution| (part, contribution)))
    };
    let found: Result<Contributions, Part> = others.filter_map(find).collect();
    found.map_err(|part| {
        io::Error::other(format!(
            "the report has no part `{0}` to keep: name {0} in --only, too",
            part.name()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_the_parts_are_those_of_the_command_line() {
        for part in Part::value_variants() {
            let value = part.to_possible_value().expect("no part is hidden");
            assert_eq!(value.get_name(), part.name());
        }
    }

    #[test]
    fn a_page_must_have_the_parts_that_stay() {
        assert_eq!(
            others(None, &[Part::Growth]).ok(),
            Some(Contributions::new())
        );
        let error = others(Some("# Benchmarks\n"), &[Part::Growth]);
        let error = error.expect_err("it has no part").to_string();
        assert!(error.contains("`targets`"), "{error}");
        assert!(others(Some("# Benchmarks\n"), Part::value_variants()).is_ok());
    }
}
