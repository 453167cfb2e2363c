//! `data.json` of a machine: what each part of the report contributes, as it was measured last.

use super::{Part, markdown};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt::Write};

/// What one part contributes to the pages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Contribution {
    /// When, where and how much was measured.
    pub(super) run: Vec<String>,
    /// Its section.
    pub(super) section: Vec<Block>,
    /// Where guira loses.
    pub(super) losses: Vec<Block>,
}

/// A piece of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Block {
    /// A line of Markdown.
    Line(String),
    /// The cells of a table.
    Table {
        head: Vec<String>,
        rows: Vec<Vec<String>>,
    },
}

/// The contributions of all parts.
pub(super) type Contributions = BTreeMap<Part, Contribution>;

/// The blocks of a text in Markdown.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.starts_with('|') {
            blocks.push(Block::Line(line.to_owned()));
            continue;
        }
        // Below the head is a line of dashes.
        lines.next();
        let mut rows = Vec::new();
        while let Some(row) = lines.next_if(|line| line.starts_with('|')) {
            rows.push(cells(row));
        }
        let head = cells(line);
        blocks.push(Block::Table { head, rows });
    }
    blocks
}

/// The cells of a line of a table.
fn cells(line: &str) -> Vec<String> {
    let line = line.strip_prefix('|').unwrap_or(line);
    let line = line.strip_suffix('|').unwrap_or(line);
    line.split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// The text of these blocks.
pub(super) fn text(blocks: &[Block]) -> String {
    let text = |block: &Block| match block {
        Block::Line(line) => format!("{line}\n"),
        Block::Table { head, rows } => markdown::table(head, rows.iter().cloned()),
    };
    blocks.iter().map(text).collect()
}

/// Reads `data.json`.
pub(super) fn read(json: &str) -> serde_json::Result<Contributions> {
    serde_json::from_str(json)
}

/// Writes `data.json`: a line for each block, so that changes can be read.
pub(super) fn write(all: &Contributions) -> serde_json::Result<String> {
    let list = |blocks: &[Block]| -> serde_json::Result<String> {
        let lines = blocks.iter().map(serde_json::to_string);
        let lines = lines.collect::<serde_json::Result<Vec<_>>>()?;
        Ok(lines.join(",\n    "))
    };
    let mut parts = Vec::new();
    for (part, one) in all {
        let mut text = String::new();
        let _ = write!(
            text,
            "  {}: {{\n   \"run\": {},\n   \"section\": [\n    {}\n   ],\n   \"losses\": [\n    {}\n   ]\n  }}",
            serde_json::to_string(part)?,
            serde_json::to_string(&one.run)?,
            list(&one.section)?,
            list(&one.losses)?,
        );
        parts.push(text);
    }
    Ok(format!("{{\n{}\n}}\n", parts.join(",\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECTION: &str = "## Space\n\n|  | bits |\n|---|---:|\n| guira | 16.9 |\n| papaya::HashSet | – |\n\nA \"line\".\n";

    #[test]
    fn a_text_is_that_of_its_blocks() {
        let blocks = blocks(SECTION);
        assert_eq!(blocks.len(), 5);
        let head = vec![String::new(), "bits".into()];
        assert!(
            matches!(&blocks[2], Block::Table { head: it, rows } if *it == head && rows.len() == 2)
        );
        assert_eq!(text(&blocks), SECTION);
    }

    #[test]
    fn the_file_keeps_all_contributions() {
        let space = Contribution {
            run: vec!["a day".into(), "a machine".into()],
            section: blocks(SECTION),
            losses: Vec::new(),
        };
        let all = Contributions::from([
            (Part::Space, space),
            (Part::OneThread, Contribution::default()),
        ]);
        let json = write(&all).expect("it is text");
        assert_eq!(read(&json).expect("it is well-formed"), all);
        assert!(json.contains("\"one-thread\""), "{json}");
        assert!(read("{\"speed\": {}}").is_err());
    }
}
