//! The table in `BENCHMARKS.md`: a few rows of the report, of all contestants.

use super::{
    Part,
    data::{Block, Contribution, Contributions},
    markdown::table,
};

const BEGIN: &str = "<!-- summary: begin -->\n";
const END: &str = "<!-- summary: end -->\n";

/// A row of the summary is a column of a table in the report.
struct Row {
    title: &'static str,
    part: Part,
    /// The beginning of the title of the table.
    heading: &'static str,
    column: &'static str,
}

const ROWS: [Row; 8] = [
    Row::of(
        "lookup, hit; 1 M slots",
        Part::OneThread,
        "1 M slots, u64 keys",
        "hit",
    ),
    Row::of(
        "lookup, miss; 1 M slots",
        Part::OneThread,
        "1 M slots, u64 keys",
        "miss",
    ),
    Row::of(
        "lookup, half of them hits; 32 M slots",
        Part::OneThread,
        "32 M slots, u64 keys",
        "half",
    ),
    Row::of(
        "insert, empty to full; 1 M slots",
        Part::OneThread,
        "1 M slots, u64 keys",
        "insert 0–100 %",
    ),
    Row::of(
        "remove; 1 M slots",
        Part::OneThread,
        "1 M slots, u64 keys",
        "remove",
    ),
    Row::of(
        "90 % lookups, 5 % inserts, 5 % removes; 8 threads",
        Part::Threads,
        "90/5/5",
        "8 threads",
    ),
    Row::of(
        "lookup while another thread inserts, p99.9 in ns",
        Part::Latency,
        "lookups during a fill",
        "p99.9",
    ),
    Row::of(
        "bits per item",
        Part::Space,
        "Construction",
        "bits per item",
    ),
];

/// The contestants, by their names in the report and in the summary.
const CONTESTANTS: [(&str, &str); 9] = [
    ("guira", "**guira**"),
    ("atomic-cuckoo-filter", "atomic-cuckoo-filter"),
    ("cuckoo-clock", "cuckoo-clock"),
    ("RwLock<cuckoofilter>", "RwLock, cuckoofilter"),
    ("64 × Mutex<cuckoofilter>", "64 × Mutex, cuckoofilter"),
    ("RwLock<qfilter>", "RwLock, qfilter"),
    (
        "RwLock<scalable_cuckoo_filter>",
        "RwLock, scalable_cuckoo_filter",
    ),
    ("fastbloom (atomic)", "fastbloom"),
    ("papaya::HashSet", "papaya::HashSet"),
];

/// guira's name in tables that compare its layouts.
const GUIRA_BY_LAYOUT: &str = "guira, 15 bits × 4";

/// What the summary shows where the report has no figure.
const NONE: &str = "–";

impl Row {
    const fn of(
        title: &'static str,
        part: Part,
        heading: &'static str,
        column: &'static str,
    ) -> Self {
        Self {
            title,
            part,
            heading,
            column,
        }
    }

    /// The figure of a contestant.
    fn figure(&self, of: &Contribution, contestant: &str) -> Option<String> {
        let heading = format!("### {}", self.heading);
        let below = of
            .section
            .iter()
            .skip_while(|block| !matches!(block, Block::Line(line) if line.starts_with(&heading)));
        let (head, rows) = below.into_iter().find_map(|block| match block {
            Block::Table { head, rows } => Some((head, rows)),
            Block::Line(_) => None,
        })?;
        let column = head.iter().position(|cell| cell == self.column)?;
        let is_contestant =
            |name: &str| name == contestant || (contestant == "guira" && name == GUIRA_BY_LAYOUT);
        let row = rows.iter().find(|row| is_contestant(&row[0]))?;
        row.get(column).cloned()
    }
}

/// The page with the summary of these contributions; `None` if it has no place for one.
pub(super) fn renewed(page: &str, all: &Contributions) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    let head = std::iter::once(String::new()).chain(CONTESTANTS.map(|(_, title)| title.to_owned()));
    let rows = ROWS.iter().map(|row| {
        let of = all.get(&row.part);
        let figure = |(name, _): (&str, &str)| {
            let figure = of.and_then(|of| row.figure(of, name));
            figure.unwrap_or_else(|| NONE.to_owned())
        };
        std::iter::once(row.title.to_owned())
            .chain(CONTESTANTS.map(figure))
            .collect()
    });
    let summary = table(&head.collect::<Vec<_>>(), rows);
    Some(format!("{before}{BEGIN}{summary}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::{super::data::blocks, *};

    fn all() -> Contributions {
        let of = |section: &str| Contribution {
            section: blocks(section),
            ..Contribution::default()
        };
        let one_thread = "## One thread\n\n### 64 K slots, u64 keys\n\n|  | hit |\n|---|---:|\n| guira | 7 |\n\n\
                          ### 1 M slots, u64 keys\n\n|  | insert 0–100 % | hit |\n|---|---:|---:|\n\
                          | guira | 1.5 | 2 ± 10 % |\n| cuckoo-clock | 3 | – |\n";
        let space = "## Space\n\n### Construction\n\n|  | load, % | bits per item |\n|---|---:|---:|\n\
                     | guira, 15 bits × 4 | 95 | 16.9 |\n";
        Contributions::from([(Part::OneThread, of(one_thread)), (Part::Space, of(space))])
    }

    #[test]
    fn the_summary_has_the_figures_of_the_report() {
        let page = format!("before\n{BEGIN}old\n{END}after\n");
        let page = renewed(&page, &all()).expect("a place for the summary");
        assert!(page.starts_with("before\n") && page.ends_with("after\n") && !page.contains("old"));
        let row = |title: &str| {
            let row = page.lines().find(|line| line.contains(title));
            let cells = row
                .expect("a row")
                .trim_matches('|')
                .split('|')
                .map(str::trim);
            cells.skip(1).collect::<Vec<_>>()
        };
        assert_eq!(row("lookup, hit; 1 M")[..3], ["2 ± 10 %", "–", "–"]);
        assert_eq!(row("insert, empty to full")[..3], ["1.5", "–", "3"]);
        assert_eq!(row("bits per item")[0], "16.9");
        assert_eq!(row("90 % lookups")[0], NONE);
    }

    #[test]
    fn a_page_without_a_place_stays() {
        assert_eq!(renewed("# Benchmarks\n", &all()), None);
    }
}
