//! The charts, as SVG: a panel for each table, and a line for each of its rows. Colours belong to
//! contestants, the same in all.

use super::{data::Data, page::figure};
use crate::table::{Table, Unit};
use plotters::{
    coord::{
        Shift,
        ranged1d::{Ranged, ValueFormatter},
        types::RangedCoordf64,
    },
    prelude::*,
};
use std::{error::Error, ops::Range};

type Failure = Box<dyn Error + Send + Sync>;

const FONT: &str = "sans-serif";

/// Colours that people with colour blindness tell apart (Okabe and Ito, 2008).
fn colour(name: &str) -> RGBColor {
    match name {
        "guira" | "grows" | "grows, p99.9" => RGBColor(213, 94, 0),
        "guira, built large" | "grows, longest" => RGBColor(240, 180, 130),
        "guira, prefers space" => RGBColor(0, 60, 160),
        "guira, grown 64 times" => RGBColor(245, 165, 90),
        "guira, grown 1000 times" => RGBColor(145, 65, 0),
        "guira, grown 100000 times" => RGBColor(70, 30, 0),
        "atomic-cuckoo-filter" | "built large" | "built large, p99.9" => RGBColor(0, 114, 178),
        "cuckoo-clock" => RGBColor(0, 158, 115),
        "RwLock<cuckoofilter>" => RGBColor(204, 121, 167),
        "64 × Mutex<cuckoofilter>" => RGBColor(150, 90, 150),
        "RwLock<qfilter>" => RGBColor(86, 180, 233),
        name if name.starts_with("RwLock<scalable") => RGBColor(120, 120, 120),
        "built large, longest" | "cuckoo filter, in theory" => RGBColor(150, 195, 225),
        "fastbloom (atomic)" => RGBColor(190, 150, 0),
        "dashmap::DashSet" => RGBColor(110, 70, 40),
        "Bloom filter, in theory" => RGBColor(225, 200, 90),
        "semi-sorted cuckoo filter, in theory" => RGBColor(120, 200, 170),
        _ => RGBColor(0, 0, 0),
    }
}

fn width(name: &str) -> u32 {
    if name == "guira" { 3 } else { 1 }
}

/// A chart of all tables whose keys begin with `tables`.
struct Chart {
    file: &'static str,
    tables: &'static str,
    /// How many panels stand beside each other.
    across: usize,
    /// The columns that are shown, of those with the unit of the first.
    columns: Range<usize>,
    /// What the axes are called.
    axes: (&'static str, &'static str),
    from_zero: bool,
}

const THREADS: (&str, &str) = ("threads", "M operations / s");
const TIMES: &str = "times the items that it was first made for";

#[rustfmt::skip]
const CHARTS: [Chart; 6] = [
    Chart { file: "insert", tables: "one-thread/peers/", across: 3, columns: 1..6,
        axes: ("of the capacity", "M inserts / s"), from_zero: false },
    Chart { file: "load", tables: "lookups/", across: 2, columns: 0..6,
        axes: ("of the capacity", "M lookups / s"), from_zero: true },
    Chart { file: "contention", tables: "threads/", across: 3, columns: 0..99,
        axes: THREADS, from_zero: false },
    Chart { file: "latency", tables: "latency/", across: 3, columns: 0..5,
        axes: ("quantile of lookups", ""), from_zero: false },
    Chart { file: "growth", tables: "growth/timeline/", across: 1, columns: 0..99,
        axes: (TIMES, ""), from_zero: false },
    Chart { file: "space", tables: "space/medium/bits", across: 1, columns: 0..99,
        axes: ("rate asked for", "bits per item"), from_zero: true },
];

/// The charts of all measurements, with the names of their files. Each workload of many threads also has
/// its own chart.
pub(super) fn all(data: &Data) -> Result<Vec<(String, String)>, Failure> {
    let mut files = Vec::new();
    for chart in CHARTS {
        // One contestant is no comparison.
        let tables = data
            .tables(chart.tables)
            .filter(|table| table.rows.len() > 1);
        let tables: Vec<&Table> = tables.collect();
        if !tables.is_empty() {
            files.push((format!("{}.svg", chart.file), chart.draw(&tables)?));
        }
        if chart.axes == THREADS {
            for table in tables {
                let name = format!("{}.svg", table.key.replace('/', "-"));
                files.push((name, chart.draw(&[table])?));
            }
        }
    }
    Ok(files)
}

impl Chart {
    fn draw(&self, tables: &[&Table]) -> Result<String, Failure> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in tables.iter().flat_map(|table| self.lines(table)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let across = self.across.min(tables.len());
        let down = tables.len().div_ceil(across);
        let wide = if tables.len() == 1 { 640 } else { 960 };
        let (panels, below) = (320 * down, 18 * names.len().div_ceil(wide / 320) + 16);
        let mut text = String::new();
        {
            let size = (wide as u32, (panels + below) as u32);
            let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
            area.fill(&WHITE)?;
            let (above, below) = area.split_vertically(panels as i32);
            for (area, table) in above.split_evenly((down, across)).iter().zip(tables) {
                self.panel(area, table)?;
            }
            // The names with their colours, in rows under the panels.
            for (place, name) in names.iter().enumerate() {
                let columns = wide / 320;
                let (x, y) = (20 + place % columns * 320, 8 + place / columns * 18);
                let (x, y) = (x as i32, y as i32);
                let style = colour(name).stroke_width(width(name));
                below.draw(&PathElement::new(vec![(x, y), (x + 22, y)], style))?;
                below.draw(&Text::new(*name, (x + 28, y - 6), (FONT, 13)))?;
            }
            area.present()?;
        }
        Ok(text)
    }

    /// The columns that are shown, and their unit.
    fn columns(&self, table: &Table) -> (Range<usize>, Unit) {
        let unit = table.columns[self.columns.start].1;
        let same = table.columns[self.columns.start..].iter();
        let end = self.columns.start + same.take_while(|it| it.1 == unit).count();
        (self.columns.start..self.columns.end.min(end), unit)
    }

    /// The rows that have points for a line.
    fn lines<'a>(&self, table: &'a Table) -> Vec<(&'a str, Vec<(f64, f64)>)> {
        let (columns, _) = self.columns(table);
        let lines = table.rows.iter().map(|row| {
            let points = row.1[columns.clone()].iter().enumerate();
            let points = points.filter_map(|(at, cell)| Some((at as f64, cell.median()?)));
            (row.0.as_str(), points.filter(|&(_, y)| y > 0.0).collect())
        });
        let lines = lines.filter(|(_, points): &(_, Vec<_>)| points.len() > 2);
        lines.collect()
    }

    fn panel(
        &self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        table: &Table,
    ) -> Result<(), Failure> {
        let lines = self.lines(table);
        let values = || {
            lines
                .iter()
                .flat_map(|(_, points)| points.iter().map(|&(_, y)| y))
        };
        let least = values().fold(f64::MAX, |least, y| least.min(y / 1.2));
        let most = values().fold(least * 10.0, |most, y| most.max(y * 1.3));
        let title = table.title.split(": ").next().unwrap_or_default();
        let mut chart = ChartBuilder::on(area);
        let chart = chart
            .caption(title, (FONT, 15))
            .margin(8)
            .x_label_area_size(32)
            .y_label_area_size(56);
        let across = -0.2..self.columns(table).0.len() as f64 - 0.8;
        match self.from_zero {
            true => self.fill(chart.build_cartesian_2d(across, 0.0..most)?, table, &lines),
            false => {
                let down = (least..most).log_scale();
                self.fill(chart.build_cartesian_2d(across, down)?, table, &lines)
            }
        }
    }

    fn fill<Y: Ranged<ValueType = f64> + ValueFormatter<f64>>(
        &self,
        mut chart: ChartContext<'_, SVGBackend<'_>, Cartesian2d<RangedCoordf64, Y>>,
        table: &Table,
        lines: &[(&str, Vec<(f64, f64)>)],
    ) -> Result<(), Failure> {
        let (columns, unit) = self.columns(table);
        let label = |x: &f64| {
            let is_column = x.fract().abs() < 0.01 && *x >= 0.0;
            let column = table.columns[columns.clone()].get(x.round() as usize);
            let name = column.filter(|_| is_column).map_or("", |it| &it.0);
            let name = name.split(" thread").next().unwrap_or(name);
            name.trim_start_matches("insert ").to_owned()
        };
        chart
            .configure_mesh()
            .x_desc(self.axes.0)
            .y_desc(self.axes.1)
            .x_labels(columns.len())
            .x_label_formatter(&label)
            .y_label_formatter(&|y| figure(*y, unit))
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(225, 225, 225))
            .label_style((FONT, 11))
            .draw()?;
        // The first row is guira's: it is drawn last, and so on top.
        for (name, points) in lines.iter().rev() {
            let style = colour(name).stroke_width(width(name));
            chart.draw_series(LineSeries::new(points.iter().copied(), style))?;
            let dot = |&at: &(f64, f64)| Circle::new(at, 1 + width(name), colour(name).filled());
            chart.draw_series(points.iter().map(dot))?;
        }
        Ok(())
    }
}
