//! The report of a machine, its plots, and the summary in `BENCHMARKS.md`.

mod data;
mod expiring;
mod losses;
mod machine;
mod markdown;
mod page;
mod plots;
mod space;
mod summary;

use crate::{contention, curves, effort::Effort, growth, latency, ops, snapshot};
use clap::ValueEnum;
use data::{Contribution, Contributions, blocks};
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

pub use machine::name as machine_name;

/// What can be measured by itself. The report has the parts in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// One thread, all contestants
    OneThread,
    /// Lookups by load
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
            Self::OneThread => "One thread",
            Self::Lookups => "Lookups by load",
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
    /// Measures these parts, and writes `data.json` and `report.md` of the machine, the plots, and
    /// the summary in `BENCHMARKS.md`. The data of the other parts stay. Without parts nothing is
    /// measured, and the pages are only rendered again. Passes each title to `say` before its part
    /// begins.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or written, or the data lack a part that is not measured.
    pub fn write(&self, parts: &[Part], say: impl Fn(&str)) -> io::Result<()> {
        let folder = self.root.join("docs/bench").join(&self.machine);
        let data = folder.join("data.json");
        // Before anything is measured in vain.
        let mut contributions = others(read(&data)?.as_deref(), parts)?;
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
        fs::write(data, data::write(&contributions)?)?;
        fs::write(folder.join("report.md"), page::report(&contributions))?;
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
    fn run(&self) -> Vec<String> {
        let mut facts = vec![format!("{}, {}", machine::date(), rounds(self.effort))];
        facts.extend(machine::describe());
        facts.extend(self.note.clone());
        facts
    }

    fn measure(&self, part: Part, run: &[String], say: &impl Fn(&str)) -> (Contribution, Plots) {
        let (effort, plots) = (self.effort, self.linked_plots());
        let plots = plots.as_path();
        say(part.title());
        let (section, losses): (String, String);
        let svgs = match part {
            Part::OneThread => {
                let tables = ops::measure(effort);
                section = markdown::one_thread(&tables, plots);
                let named = tables.iter();
                // Tables with the peers, not guira's own.
                losses = losses::of_tables(named.filter(|table| table.title.contains("slots, ")));
                vec![("insert", plots::insert(&tables))]
            }
            Part::Lookups => {
                let curves = curves::measure(effort);
                section = markdown::curves(&curves, plots);
                losses = losses::of_tables(&curves);
                vec![("load", plots::load(&curves))]
            }
            Part::Threads => {
                let contests = contention::measure(effort);
                section = markdown::contention(&contests, effort.log_medium, plots);
                losses = losses::of_contests(&contests);
                vec![("contention", plots::contention(&contests))]
            }
            Part::Latency => {
                let tails = contention::tails(effort);
                section = markdown::latency(&tails, latency::clock_cost(), plots);
                losses = String::new();
                vec![("latency", plots::latency(&tails))]
            }
            Part::Growth => {
                let growth = growth::measure(effort, say);
                section = markdown::growth(&growth, latency::clock_cost(), plots);
                losses = losses::of_growth(&growth);
                vec![("growth", plots::growth(&growth.timeline))]
            }
            Part::Snapshots => {
                let snapshots = snapshot::measure(effort, say);
                section = markdown::snapshots(&snapshots);
                losses = String::new();
                Vec::new()
            }
            Part::Expiring => {
                let expiring = crate::expiring::measure(effort, say);
                section = expiring::section(&expiring);
                losses = losses::of_tables([&expiring.lookups, &expiring.stream]);
                Vec::new()
            }
            Part::Space => {
                let space = crate::space::measure(effort, say);
                section = space::section(&space, effort, plots);
                losses = space::losses(&space);
                vec![("space", plots::space(&space.points))]
            }
            Part::SpaceSpeed => {
                let measured = crate::space_speed::measure(effort, say);
                section = markdown::space_speed(&measured);
                losses = String::new();
                Vec::new()
            }
        };
        let contribution = Contribution {
            run: run.to_owned(),
            section: blocks(&section),
            losses: blocks(&losses),
        };
        (contribution, svgs)
    }
}

type Plots = Vec<(&'static str, plots::Svg)>;

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

/// The data of the parts other than these. Without data there is nothing to keep: the pages are
/// made of these parts only.
fn others(data: Option<&str>, parts: &[Part]) -> io::Result<Contributions> {
    let Some(data) = data else {
        return Ok(Contributions::new());
    };
    let mut all = data::read(data)?;
    let lacks = |part: &&Part| !parts.contains(part) && !all.contains_key(part);
    if let Some(part) = Part::value_variants().iter().find(lacks) {
        return Err(io::Error::other(format!(
            "the data have no part `{0}` to keep: name {0} in --only, too",
            part.name()
        )));
    }
    all.retain(|part, _| !parts.contains(part));
    Ok(all)
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
    fn the_data_must_have_the_parts_that_stay() {
        assert_eq!(
            others(None, &[Part::Growth]).ok(),
            Some(Contributions::new())
        );
        let error = others(Some("{}"), &[Part::Growth]);
        let error = error.expect_err("they have no part").to_string();
        assert!(error.contains("`one-thread`"), "{error}");
        assert!(others(Some("{}"), Part::value_variants()).is_ok());
    }

    #[test]
    fn the_committed_pages_are_those_of_the_data() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let folders = fs::read_dir(root.join("docs/bench")).expect("a folder for each machine");
        let mut folders: Vec<_> = folders.map(|folder| folder.unwrap().path()).collect();
        folders.sort();
        let text = |path: &Path| read(path).unwrap().expect("it is committed");
        let data = |folder: &PathBuf| data::read(&text(&folder.join("data.json"))).unwrap();
        for folder in &folders {
            let page = text(&folder.join("report.md"));
            assert!(page == page::report(&data(folder)), "{}", folder.display());
        }
        let front = text(&root.join("BENCHMARKS.md"));
        let is_source =
            |folder: &PathBuf| summary::renewed(&front, &data(folder)) == Some(front.clone());
        assert!(
            folders.iter().any(is_source),
            "the summary is of no machine"
        );
    }
}
