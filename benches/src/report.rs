//! `BENCHMARKS.md` and its plots.

mod machine;
mod markdown;
mod plots;

use crate::{
    contention::{self, Contest, Tail},
    curves::{self, Curves},
    effort::Effort,
    growth::{self, Growth},
    latency,
    ops::{self, Table},
    snapshot::{self, Snapshots},
    space::{self, Load, Point},
    targets::{self, Target},
};
use std::{fs, io, path::Path, time::Instant};

/// All that was measured in one run.
#[derive(Clone, Debug)]
pub struct Results {
    /// The targets.
    pub targets: Vec<Target>,
    /// One thread.
    pub tables: Vec<Table>,
    /// Lookups by the load and by the share of hits.
    pub curves: Curves,
    /// Many threads.
    pub contests: Vec<Contest>,
    /// Latencies.
    pub tails: Vec<Tail>,
    /// What reading the clock costs, in nanoseconds.
    pub clock: u64,
    /// What growth costs.
    pub growth: Growth,
    /// What snapshots cost.
    pub snapshots: Snapshots,
    /// Memory and rates.
    pub points: Vec<Point>,
    /// How fast filters are built.
    pub construction: Table,
    /// Highest loads.
    pub loads: Vec<Load>,
    /// The machine.
    pub machine: String,
    /// How much was measured.
    pub effort: Effort,
}

impl Results {
    /// Measures everything; prints the targets, and on the standard error output
    /// how far it is.
    #[must_use]
    pub fn measure(effort: Effort) -> Self {
        let start = Instant::now();
        let say = |what: &str| eprintln!("{:4.0} s: {what}", start.elapsed().as_secs_f64());
        say("targets");
        let print = |target: &Target| println!("{target}");
        let mut targets = targets::measure(effort, print);
        let growth = growth::measure(effort, say);
        let snapshots = snapshot::measure(effort, say);
        let more = targets.len();
        targets.extend(growth.targets());
        targets.extend(snapshots.targets());
        targets[more..].iter().for_each(print);
        say("one thread");
        let tables = ops::measure(effort);
        say("lookups by load and by the share of hits");
        let curves = curves::measure(effort);
        say("many threads");
        let contests = contention::measure(effort);
        say("latencies");
        let (tails, clock) = (contention::tails(effort), latency::clock_cost());
        say("space");
        let (points, loads) = (space::points(effort), space::loads(effort));
        say("construction");
        let construction = space::construction(effort);
        say("done");
        let machine = machine::describe();
        Self {
            targets,
            tables,
            curves,
            contests,
            tails,
            clock,
            growth,
            snapshots,
            points,
            construction,
            loads,
            machine,
            effort,
        }
    }

    /// Writes `BENCHMARKS.md` into `root`, and the plots to which it links into the
    /// directory `plots` of it; the table of the server is that of
    /// `docs/server-throughput.md`.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub fn write(&self, root: &Path, plots: &Path) -> io::Result<()> {
        let directory = root.join(plots);
        fs::create_dir_all(&directory)?;
        let svgs = [
            ("contention.svg", plots::contention(self)),
            ("latency.svg", plots::latency(self)),
            ("growth.svg", plots::growth(self)),
            ("space.svg", plots::space(self)),
            ("insert.svg", plots::insert(self)),
            ("load.svg", plots::load(self)),
            ("share.svg", plots::share(self)),
        ];
        for (name, svg) in svgs {
            fs::write(directory.join(name), svg.map_err(io::Error::other)?)?;
        }
        let server = match fs::read_to_string(root.join("docs/server-throughput.md")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => "Not measured here.\n".into(),
            server => server?,
        };
        let page = markdown::page(self, plots, &server);
        fs::write(root.join("BENCHMARKS.md"), page)
    }
}
