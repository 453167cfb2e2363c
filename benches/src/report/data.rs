//! `data.json` of a machine: the tables of each part, as they were measured last.

use super::Part;
use crate::table::{Samples, Table, Unit};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, io};

/// What one part has measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Measured {
    /// When, where and how much was measured.
    pub(super) run: Vec<String>,
    pub(super) tables: Vec<Table>,
}

/// All parts that were measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Data(pub(super) BTreeMap<Part, Measured>);

impl Data {
    /// The tables whose keys begin with this.
    pub(super) fn tables<'a>(&'a self, prefix: &str) -> impl Iterator<Item = &'a Table> {
        let tables = self.0.values().flat_map(|part| &part.tables);
        tables.filter(move |table| table.key.starts_with(prefix))
    }

    /// What was measured in a cell of a table.
    pub(super) fn cell(&self, key: &str, row: &str, column: &str) -> Option<(&Samples, Unit)> {
        let table = self.tables(key).find(|table| table.key == key)?;
        let unit = table.columns.iter().find(|it| it.0 == column)?.1;
        Some((table.cell(row, column)?, unit))
    }

    pub(super) fn read(json: &str) -> io::Result<Self> {
        Ok(serde_json::from_str(json)?)
    }

    /// The text of `data.json`: a line for each table, so that changes can be read.
    pub(super) fn write(&self) -> io::Result<String> {
        let json = serde_json::to_string(self)?;
        Ok(json.replace("{\"key\":", "\n{\"key\":") + "\n")
    }
}
