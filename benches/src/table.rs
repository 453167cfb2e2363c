//! Tables of measured numbers: what `data.json` keeps, and what pages and charts show.

use serde::{Deserialize, Serialize};

/// What the numbers of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Unit {
    /// Millions of operations per second.
    #[serde(rename = "M/s")]
    Rate,
    /// A plain number.
    #[serde(rename = "1")]
    Number,
    /// A share of 1.
    #[serde(rename = "share")]
    Share,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Time,
    /// Bytes.
    #[serde(rename = "bytes")]
    Bytes,
    /// How often something occurred: the rounds are added up.
    #[serde(rename = "count")]
    Count,
}

/// What the rounds of one measurement gave; nothing if it was not made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    /// The median of at least one round.
    pub(crate) fn median(&self) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.quantile(0.5))
    }

    /// Half the distance between the quartiles, as a share of the median.
    pub(crate) fn spread(&self) -> f64 {
        (self.quantile(0.75) - self.quantile(0.25)) / 2.0 / self.quantile(0.5)
    }

    /// The mean of at least one round.
    pub(crate) fn mean(&self) -> f64 {
        self.sum() / self.0.len() as f64
    }

    /// The sum of all rounds.
    pub(crate) fn sum(&self) -> f64 {
        self.0.iter().sum()
    }

    /// Linear between the samples; NaN without any.
    fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let Some(last) = sorted.len().checked_sub(1) else {
            return f64::NAN;
        };
        let place = last as f64 * share;
        let (below, above) = (
            sorted[place.floor() as usize],
            sorted[place.ceil() as usize],
        );
        below + (above - below) * place.fract()
    }
}

/// To the four digits that the data keep: the spread allows no more.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// A name and a unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Column(pub(crate) String, pub(crate) Unit);

/// A name, and the samples of each column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row(pub(crate) String, pub(crate) Vec<Samples>);

/// Measured numbers, by row and column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Table {
    /// What pages and charts call it: a path below its part of the report.
    pub(crate) key: String,
    /// What its heading says.
    pub(crate) title: String,
    /// In the order of the page.
    pub(crate) columns: Vec<Column>,
    /// In the order in which they were measured: guira's first, where it has competitors.
    pub(crate) rows: Vec<Row>,
}

impl Table {
    /// A table without columns and rows.
    pub(crate) fn new(key: impl Into<String>, title: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            title: title.into(),
            columns: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// The same with more columns.
    pub(crate) fn with<S: ToString>(
        mut self,
        unit: Unit,
        names: impl IntoIterator<Item = S>,
    ) -> Self {
        let columns = names.into_iter().map(|name| Column(name.to_string(), unit));
        self.columns.extend(columns);
        self
    }

    /// Adds the result of a round.
    ///
    /// # Panics
    ///
    /// If there is no such column.
    pub(crate) fn push(&mut self, row: &str, column: &str, value: f64) {
        let place = self.columns.iter().position(|it| it.0 == column);
        let place = place.unwrap_or_else(|| panic!("{} has no column {column}", self.key));
        let row = match self.rows.iter().position(|it| it.0 == row) {
            Some(known) => known,
            None => {
                let cells = vec![Samples::default(); self.columns.len()];
                self.rows.push(Row(row.to_owned(), cells));
                self.rows.len() - 1
            }
        };
        self.rows[row].1[place].0.push(rounded(value));
    }

    /// The samples of a cell.
    pub(crate) fn cell(&self, row: &str, column: &str) -> Option<&Samples> {
        let place = self.columns.iter().position(|it| it.0 == column)?;
        let row = self.rows.iter().find(|it| it.0 == row)?;
        row.1.get(place)
    }

    /// Adds a row of the ratios of the rates in the two rows of `pair`, round by round. What slows the
    /// machine down for longer than a round slows down both sides of a ratio.
    ///
    /// # Panics
    ///
    /// If their rounds differ.
    pub(crate) fn push_ratios(&mut self, name: &str, pair: &Self) {
        let [Row(_, ours), Row(_, theirs)] = &pair.rows[..] else {
            panic!("{} is no pair", pair.key);
        };
        for ((Column(column, _), ours), theirs) in pair.columns.iter().zip(ours).zip(theirs) {
            assert_eq!(ours.0.len(), theirs.0.len(), "contestants take turns");
            for (ours, theirs) in ours.0.iter().zip(&theirs.0) {
                self.push(name, column, ours / theirs);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_the_quartiles_of_known_samples() {
        let samples = Samples(vec![5.0, 1.0, 4.0, 2.0, 3.0]);
        assert_eq!(samples.median(), Some(3.0));
        assert!((samples.spread() - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(Samples::default().median(), None);
    }

    #[test]
    fn ratios_are_those_of_the_rounds() {
        let mut rates = Table::new("a", "A").with(Unit::Rate, ["hit", "miss"]);
        for (ours, theirs) in [(8.0, 2.0), (3.0, 1.0), (1.0, 2.0)] {
            rates.push("ours", "hit", ours);
            rates.push("theirs", "hit", theirs);
        }
        let mut ratios = Table::new("b", "B").with(Unit::Number, ["bits", "hit", "miss"]);
        ratios.push_ratios("share", &rates);
        let ratio = Samples(vec![4.0, 3.0, 0.5]);
        let cells = vec![Samples::default(), ratio, Samples::default()];
        assert_eq!(ratios.rows, [Row("share".into(), cells)]);
        assert_eq!(rates.cell("ours", "miss"), Some(&Samples::default()));
    }
}
