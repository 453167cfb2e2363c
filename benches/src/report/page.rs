//! Pages from templates.
//!
//! A line `{{part NAME}}` begins what a page has of a part, if that was measured. Other marks stand for
//! what was measured. On a line of its own, `{{tables KEY}}` is all tables whose keys begin so, each with
//! its heading, and `{{losses KEY}}` lists where guira loses in them. Within a line,
//! `{{value KEY | ROW | COLUMN}}` is a cell, and `{{row KEY | COLUMN}}` the cells of all contestants.

use super::data::Data;
use crate::{
    peers,
    table::{Column, Row, Samples, Table, Unit},
};
use std::fmt::Write;

/// What a table shows where there is no figure.
const NONE: &str = "–";

/// guira's name in tables that compare its layouts.
const GUIRA_BY_LAYOUT: &str = "guira, 15 bits × 4";

/// Three digits, as the spread allows no more.
fn digits(value: f64) -> String {
    match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A number with its unit.
pub(super) fn figure(value: f64, unit: Unit) -> String {
    match (unit, value) {
        (Unit::Share, 0.0) => "0".into(),
        (Unit::Share, 0.1..) => format!("{:.1} %", value * 100.0),
        (Unit::Share, 0.001..) => format!("{:.2} %", value * 100.0),
        (Unit::Share, 0.00001..) => format!("{:.4} %", value * 100.0),
        (Unit::Share, _) => format!("{value:.1e}"),
        (Unit::Time, 1e9..) => format!("{} s", digits(value / 1e9)),
        (Unit::Time, 1e6..) => format!("{} ms", digits(value / 1e6)),
        (Unit::Time, 1e3..) => format!("{} µs", digits(value / 1e3)),
        (Unit::Time, _) => format!("{value:.0} ns"),
        (Unit::Bytes, _) => format!("{} MiB", digits(value / f64::from(1 << 20))),
        (Unit::Count, _) => format!("{value:.0}"),
        (Unit::Rate | Unit::Number, _) => digits(value),
    }
}

/// The median; with a spread of 10 % and more that too. Of shares the mean, of counts the sum.
fn cell((samples, unit): (&Samples, Unit)) -> String {
    let Some(median) = samples.median() else {
        return NONE.into();
    };
    let spread = samples.spread() * 100.0;
    match unit {
        Unit::Share => figure(samples.mean(), unit),
        Unit::Count => figure(samples.sum(), unit),
        Unit::Rate | Unit::Number if spread >= 10.0 => {
            format!("{} ± {spread:.0} %", digits(median))
        }
        _ => figure(median, unit),
    }
}

/// A table in Markdown with the columns in which something was measured.
fn cells(table: &Table) -> String {
    let has = |place: &usize| {
        table
            .rows
            .iter()
            .any(|row| row.1[*place].median().is_some())
    };
    let places: Vec<usize> = (0..table.columns.len()).filter(has).collect();
    let mut text = "| ".to_owned();
    for &place in &places {
        let _ = write!(text, " | {}", table.columns[place].0);
    }
    let _ = writeln!(text, " |\n|---|{}", "---:|".repeat(places.len()));
    for row in &table.rows {
        let _ = write!(text, "| {}", row.0);
        for &place in &places {
            let _ = write!(text, " | {}", cell((&row.1[place], table.columns[place].1)));
        }
        text.push_str(" |\n");
    }
    text
}

/// A page of a machine that has these charts. Others are not shown.
pub(super) fn render(template: &str, data: &Data, charts: &[String]) -> String {
    let is_there = |line: &str| charts.iter().any(|name| line.contains(name));
    let mut page = String::new();
    let mut is_shown = true;
    for line in template.lines() {
        let mark = line.strip_prefix("{{").and_then(|it| it.strip_suffix("}}"));
        match mark.map(|mark| mark.split_once(' ').unwrap_or((mark, ""))) {
            Some(("part", name)) => is_shown = data.0.keys().any(|part| part.name() == name),
            Some(("end", _)) => is_shown = true,
            _ if !is_shown || (line.starts_with("![") && !is_there(line)) => {}
            Some(("tables", key)) => {
                let with_heading =
                    |table: &Table| format!("### {}\n\n{}", table.title, cells(table));
                let tables: Vec<String> = data.tables(key).map(with_heading).collect();
                page += &tables.join("\n");
            }
            Some(("losses", key)) => page += &losses(data, key),
            Some(("runs", _)) => page += &runs(data),
            _ => {
                let _ = writeln!(page, "{}", inline(line, data));
            }
        }
    }
    page
}

/// A line whose marks are replaced by cells.
fn inline(line: &str, data: &Data) -> String {
    let Some((before, rest)) = line.split_once("{{") else {
        return line.to_owned();
    };
    let (mark, after) = rest.split_once("}}").expect("the mark ends");
    let figure = |key, row: &str, column| data.cell(key, row, column).map_or(NONE.into(), cell);
    let parts: Vec<&str> = mark.splitn(2, ' ').collect();
    let arguments: Vec<&str> = parts[1].split(" | ").collect();
    let figures = match (parts[0], &arguments[..]) {
        ("value", &[key, row, column]) => figure(key, row, column),
        ("row", &[key, column]) => {
            let of = |entry: peers::Entry| match entry.name {
                "guira" if key.starts_with("space") => figure(key, GUIRA_BY_LAYOUT, column),
                name => figure(key, name, column),
            };
            let figures: Vec<String> = peers::all().into_iter().map(of).collect();
            figures.join(" | ")
        }
        _ => panic!("no mark is called {mark}"),
    };
    format!("{before}{figures}{}", inline(after, data))
}

/// In which cases of these tables a contestant is ahead of guira, whose row is the first, by 5 % or more.
fn losses(data: &Data, key: &str) -> String {
    let mut ahead: Vec<(&str, String)> = Vec::new();
    for table in data.tables(key) {
        let columns = table.columns.iter().enumerate();
        for (place, Column(column, _)) in columns.filter(|(_, it)| it.1 == Unit::Rate) {
            let of = |row: &Row| row.1[place].median();
            for row in table.rows.iter().skip(1) {
                let ratio = of(row)
                    .zip(of(&table.rows[0]))
                    .map(|(theirs, ours)| theirs / ours);
                if let Some(ratio) = ratio.filter(|ratio| *ratio >= 1.05) {
                    let case = format!("{}, {column}: {} times", table.title, digits(ratio));
                    ahead.push((&row.0, case));
                }
            }
        }
    }
    ahead.sort_by_key(|&(name, _)| name);
    let mut text = String::new();
    for group in ahead.chunk_by(|a, b| a.0 == b.0) {
        let _ = writeln!(text, "- **{}**", group[0].0);
        for (_, case) in group {
            let _ = writeln!(text, "  - {case}");
        }
    }
    match text.is_empty() {
        true => "None.\n".into(),
        false => text,
    }
}

/// The runs, each with its parts.
fn runs(data: &Data) -> String {
    let mut runs: Vec<(&[String], Vec<String>)> = Vec::new();
    for (part, measured) in &data.0 {
        match runs.iter_mut().find(|(run, _)| *run == measured.run) {
            Some((_, parts)) => parts.push(part.name()),
            None => runs.push((&measured.run, vec![part.name()])),
        }
    }
    let mut text = String::new();
    for (run, parts) in runs {
        let _ = writeln!(
            text,
            "- **{}**\n  - {}",
            parts.join(", "),
            run.join("\n  - ")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Part, data::Measured},
        *,
    };
    use std::collections::BTreeMap;

    const TEMPLATE: &str = "# Title\n{{part one-thread}}\nHit: {{value a/b | guira | hit}}.\n\n\
        {{tables a}}\n{{losses a}}{{part growth}}\nGrowth.\n{{end}}\n| all | {{row a/b | hit}} |\n{{runs}}\n";

    fn data() -> Data {
        let mut table = Table::new("a/b", "B").with(Unit::Rate, ["hit", "miss"]);
        for hit in [1.0, 2.0, 3.0] {
            table.push("guira", "hit", hit);
        }
        table.push("cuckoo-clock", "hit", 400.0);
        let of = |tables| {
            let run = vec!["a day".into(), "a machine".into()];
            Measured { run, tables }
        };
        let one_thread = (Part::OneThread, of(vec![table]));
        Data(BTreeMap::from([
            one_thread,
            (Part::Latency, of(Vec::new())),
        ]))
    }

    #[test]
    fn a_page_has_what_was_measured() {
        let page = render(&TEMPLATE.replace("}}{{", "}}\n{{"), &data(), &[]);
        // A column without a figure is left out, and so is a part.
        let expected = "# Title\nHit: 2.00 ± 25 %.\n\n### B\n\n|  | hit |\n|---|---:|\n\
            | guira | 2.00 ± 25 % |\n| cuckoo-clock | 400 |\n- **cuckoo-clock**\n  - B, hit: 200 times\n\
            | all | 2.00 ± 25 % | – | 400 | – | – | – | – | – | – | – |\n\
            - **one-thread, latency**\n  - a day\n  - a machine\n";
        assert_eq!(page, expected);
    }

    #[test]
    fn figures_have_their_units() {
        let cell = |value, unit| {
            let mut table = Table::new("", "").with(unit, ["a"]);
            table.push("b", "a", value);
            cell((&table.rows[0].1[0], unit))
        };
        assert_eq!(cell(1_304.0, Unit::Time), "1.30 µs");
        assert_eq!(cell(46.0, Unit::Time), "46 ns");
        assert_eq!(cell(0.000231, Unit::Share), "0.0231 %");
        assert_eq!(cell(5.3e-6, Unit::Share), "5.3e-6");
        assert_eq!(cell(3.0, Unit::Count), "3");
    }

    #[test]
    fn the_data_file_keeps_all_tables() {
        let json = data().write().expect("it is text");
        assert_eq!(Data::read(&json).expect("it is well-formed"), data());
        assert!(Data::read("{\"speed\": {}}").is_err());
    }
}
