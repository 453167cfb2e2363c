//! The report of a machine with its charts, and the summary in `BENCHMARKS.md`.

mod charts;
mod data;
mod machine;
mod page;

use crate::{
    effort::Effort, expiring, growth, one_thread, snapshots, space, space_speed, table::Table,
    threads,
};
use clap::ValueEnum;
use data::{Data, Measured};
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The template of the page with every number, and that of `BENCHMARKS.md`.
const REPORT: &str = include_str!("../pages/report.md.in");
const SUMMARY: &str = include_str!("../pages/summary.md.in");

/// The page of the summary, in the root of the repository.
const FRONT: &str = "BENCHMARKS.md";

/// The page with every number.
const ALL: &str = "report.md";

/// What can be measured by itself. The report has the parts in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// One thread, all contestants
    OneThread,
    /// Lookups by load
    Lookups,
    /// Many threads, all workloads
    Threads,
    /// How long single operations take beside others
    Latency,
    /// What growth costs
    Growth,
    /// What snapshots cost
    Snapshots,
    /// Filters that forget by time
    Expiring,
    /// Memory and rates
    Space,
    /// The same of large and of fixed filters
    SpaceLarge,
    /// What it costs to prefer space
    SpaceSpeed,
}

impl Part {
    /// As the command line has it.
    fn name(self) -> String {
        let value = self.to_possible_value().expect("no part is hidden");
        value.get_name().to_owned()
    }

    fn measure(self, effort: Effort) -> Vec<Table> {
        match self {
            Self::OneThread => one_thread::measure(effort),
            Self::Lookups => one_thread::measure_loads(effort),
            Self::Threads => threads::measure(effort),
            Self::Latency => threads::measure_latency(effort),
            Self::Growth => growth::measure(effort),
            Self::Snapshots => snapshots::measure(effort),
            Self::Expiring => expiring::measure(effort),
            Self::Space => space::measure(effort),
            Self::SpaceLarge => space::measure_large(effort),
            Self::SpaceSpeed => space_speed::measure(effort),
        }
    }
}

/// Measures guira and its peers side by side, and writes the data, the report and the charts of this
/// machine. If `BENCHMARKS.md` is of this machine, it is written, too. The report is not committed,
/// because it can be written again from the data.
#[derive(Debug, clap::Parser)]
pub struct Report {
    /// Takes a minute: shows that all of it works, not how fast it is.
    #[arg(long)]
    quick: bool,
    /// Measures these parts only, and keeps the others.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// Measures nothing, and writes the pages again.
    #[arg(long, conflicts_with = "only")]
    render: bool,
    /// The root of the repository.
    #[arg(long, default_value = ".")]
    root: PathBuf,
    /// The directory of the report below `docs/bench` [default: the processor's name].
    #[arg(long)]
    machine: Option<String>,
    /// A remark on this run, in addition to what the machine reports about itself.
    #[arg(long)]
    note: Option<String>,
}

impl Report {
    /// Measures and writes.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or written.
    pub fn write(&self) -> io::Result<()> {
        let machine = self.machine.clone().unwrap_or_else(machine::name);
        let folder = self.root.join("docs/bench").join(&machine);
        let file = folder.join("data.json");
        // Before anything is measured in vain.
        let old = read(&file)?.map(|json| Data::read(&json)).transpose()?;
        fs::create_dir_all(&folder)?;
        let mut data = old.unwrap_or_default();
        let effort = [Effort::FULL, Effort::QUICK][usize::from(self.quick)];
        for &part in match (self.render, &self.only[..]) {
            (true, _) => &[],
            (false, []) => Part::value_variants(),
            (false, only) => only,
        } {
            let (run, tables) = (self.run(effort.rounds), part.measure(effort));
            data.0.insert(part, Measured { run, tables });
            // At once, so that a later part that fails loses nothing.
            fs::write(&file, data.write()?)?;
        }
        let front = format!("docs/bench/{machine}/");
        for (name, text) in pages(&data)? {
            match name.as_str() {
                // Of one machine only.
                FRONT if !SUMMARY.contains(&front) => {}
                FRONT => fs::write(self.root.join(FRONT), text)?,
                name => fs::write(folder.join(name), text)?,
            }
        }
        Ok(())
    }

    /// The facts of a run that begins now.
    fn run(&self, rounds: usize) -> Vec<String> {
        let rounds = match rounds {
            1 => "one round, which shows that all of it works, and not how fast it is".into(),
            rounds => format!("{rounds} rounds"),
        };
        let mut facts = vec![format!("{}, {rounds}", machine::date())];
        facts.extend(machine::describe());
        facts.extend(self.note.clone());
        facts
    }
}

/// The charts, the report and the summary of these data, with the names of their files.
fn pages(data: &Data) -> io::Result<Vec<(String, String)>> {
    let mut files = charts::all(data).map_err(io::Error::other)?;
    let charts: Vec<String> = files.iter().map(|(name, _)| name.clone()).collect();
    for (name, template) in [(ALL, REPORT), (FRONT, SUMMARY)] {
        files.push((name.to_owned(), page::render(template, data, &charts)));
    }
    Ok(files)
}

/// A file, if it is there.
fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        text => text.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_pages_are_those_of_the_data() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let text = |path: &Path| read(path).unwrap().expect("it is committed");
        let mut is_summarized = false;
        for folder in fs::read_dir(root.join("docs/bench")).expect("a folder for each machine") {
            let folder = folder.unwrap().path();
            if !folder.is_dir() {
                continue;
            }
            let data = Data::read(&text(&folder.join("data.json"))).unwrap();
            for (name, expected) in pages(&data).unwrap() {
                match name.as_str() {
                    FRONT => is_summarized |= text(&root.join(FRONT)) == expected,
                    ALL => assert!(!expected.contains("{{"), "a value is missing"),
                    name => assert!(text(&folder.join(name)) == expected, "{name}"),
                }
            }
        }
        assert!(is_summarized, "the summary is of no machine");
    }
}
