//! The plots, as SVG. Colours and shapes belong to contestants, the same in all.

use crate::{
    contention::{Contest, THREADS, Tail},
    growth::{TIMES, Timeline, Window},
    latency::Latencies,
    measure::Samples,
    ops::Table,
    space::{GROWTHS, PREFERS_SPACE, Point},
};
use plotters::{
    coord::{
        ranged1d::{Ranged, ValueFormatter},
        types::RangedCoordf64,
    },
    prelude::*,
};
use std::error::Error;

pub(super) type Svg = Result<String, Box<dyn Error + Send + Sync>>;

/// A line for each name.
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
}

/// Colours that people with colour blindness tell apart (Okabe and Ito, 2008).
fn colour(name: &str) -> RGBColor {
    match name {
        "guira" => RGBColor(213, 94, 0),
        "atomic-cuckoo-filter" => RGBColor(0, 114, 178),
        "atomic-cuckoo-filter, own hasher" => RGBColor(0, 50, 90),
        "cuckoo-clock" => RGBColor(0, 158, 115),
        "RwLock<cuckoofilter>" => RGBColor(204, 121, 167),
        "64 × Mutex<cuckoofilter>" => RGBColor(150, 90, 150),
        "RwLock<qfilter>" => RGBColor(86, 180, 233),
        "RwLock<scalable_cuckoo_filter>" | "scalable_cuckoo_filter, fixed and grown" => {
            RGBColor(120, 120, 120)
        }
        "RedisBloom, fixed and grown *" => RGBColor(200, 0, 40),
        "grows, p99.9" => RGBColor(213, 94, 0),
        "grows, longest" => RGBColor(240, 180, 130),
        "built large, p99.9" => RGBColor(0, 114, 178),
        "built large, longest" => RGBColor(150, 195, 225),
        "fastbloom (atomic)" => RGBColor(190, 150, 0),
        _ => RGBColor(0, 0, 0),
    }
}

fn width(name: &str) -> u32 {
    if name.starts_with("guira") { 3 } else { 1 }
}

const FONT: &str = "sans-serif";

/// Draws into an SVG of this size, on white.
fn svg(
    size: (u32, u32),
    draw: impl FnOnce(
        &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    ) -> Result<(), Box<dyn Error + Send + Sync>>,
) -> Svg {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        area.fill(&WHITE)?;
        draw(&area)?;
        area.present()?;
    }
    Ok(text)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
/// How the marks of an axis are written.
type Format = fn(&f64) -> String;

type Drawn = Result<(), Box<dyn Error + Send + Sync>>;

/// What a panel shows, apart from its lines. The marks of its first axis are
/// 0, 1, 2 and so on, each with a label.
struct Panel<'a> {
    title: &'a str,
    x: (&'a str, &'a [String]),
    y: (&'a str, Format),
    scale: Scale,
}

/// How the second axis goes.
#[derive(Clone, Copy)]
enum Scale {
    Log,
    FromZero,
}

fn panel(area: &Area<'_>, panel: &Panel<'_>, lines: &[Line]) -> Drawn {
    let points = lines.iter().flat_map(|line| &line.points);
    let ys = points.map(|&(_, y)| y).filter(|y| *y > 0.0);
    let (least, most) = ys.fold((f64::MAX, f64::MIN), |(least, most), y| {
        (least.min(y), most.max(y))
    });
    let (least, most) = if least > most {
        (1.0, 10.0)
    } else {
        (least / 1.2, most * 1.3)
    };
    let mut chart = ChartBuilder::on(area);
    let chart = chart
        .caption(panel.title, (FONT, 15))
        .margin(8)
        .x_label_area_size(32)
        .y_label_area_size(56);
    let across = -0.2..panel.x.1.len() as f64 - 0.8;
    match panel.scale {
        Scale::Log => draw(
            chart.build_cartesian_2d(across, (least..most).log_scale())?,
            panel,
            lines,
        ),
        Scale::FromZero => draw(chart.build_cartesian_2d(across, 0.0..most)?, panel, lines),
    }
}

type Chart<'a, Y> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, Y>>;

fn draw<Y>(mut chart: Chart<'_, Y>, panel: &Panel<'_>, lines: &[Line]) -> Drawn
where
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let labels = panel.x.1;
    chart
        .configure_mesh()
        .x_desc(panel.x.0)
        .y_desc(panel.y.0)
        .x_labels(labels.len())
        .x_label_formatter(&|x| labels.get(x.round() as usize).cloned().unwrap_or_default())
        .y_label_formatter(&panel.y.1)
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(225, 225, 225))
        .label_style((FONT, 11))
        .draw()?;
    for line in lines {
        let style = colour(&line.name).stroke_width(width(&line.name));
        chart.draw_series(LineSeries::new(line.points.iter().copied(), style))?;
        let dot = |&point: &(f64, f64)| {
            Circle::new(point, 1 + width(&line.name), colour(&line.name).filled())
        };
        chart.draw_series(line.points.iter().map(dot))?;
    }
    Ok(())
}

/// A rate in millions.
fn plain(value: &f64) -> String {
    if *value >= 1.0 {
        format!("{value:.0}")
    } else {
        format!("{value}")
    }
}

/// A time in nanoseconds.
fn time(value: &f64) -> String {
    match *value {
        1e9.. => format!("{} s", value / 1e9),
        1e6.. => format!("{} ms", value / 1e6),
        1e3.. => format!("{} µs", value / 1e3),
        _ => format!("{value} ns"),
    }
}

/// The names with their colours, in a row under the panels.
fn legend(area: &Area<'_>, names: &[String]) -> Drawn {
    let (wide, _) = area.dim_in_pixel();
    let column = wide as i32 / 3;
    for (index, name) in names.iter().enumerate() {
        let (x, y) = (20 + index as i32 % 3 * column, 8 + index as i32 / 3 * 18);
        let style = colour(name).stroke_width(width(name));
        area.draw(&PathElement::new(vec![(x, y), (x + 22, y)], style))?;
        area.draw(&Text::new(name.clone(), (x + 28, y - 6), (FONT, 13)))?;
    }
    Ok(())
}

fn names<'a>(lines: impl Iterator<Item = &'a [Line]>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for line in lines.flatten() {
        if !names.contains(&line.name) {
            names.push(line.name.clone());
        }
    }
    names
}

/// A figure: panels in rows and columns, over one legend.
struct Figure<'a> {
    grid: (usize, usize),
    x: (&'a str, &'a [String]),
    y: &'a str,
    scale: Scale,
    /// A title, how the marks of the second axis are written, and the lines: the last is on top.
    panels: Vec<(String, Format, Vec<Line>)>,
}

fn figure(figure: &Figure<'_>) -> Svg {
    let lines = figure.panels.iter().map(|(.., lines)| lines.as_slice());
    let names: Vec<String> = names(lines).into_iter().rev().collect();
    let (panels, below) = (320 * figure.grid.0, 18 * names.len().div_ceil(3) + 16);
    svg((960, (panels + below) as u32), |area| {
        let (above, below) = area.split_vertically(panels as i32);
        let areas = above.split_evenly(figure.grid);
        for (area, (title, format, lines)) in areas.iter().zip(&figure.panels) {
            let (x, y, scale) = (figure.x, (figure.y, *format), figure.scale);
            panel(area, &Panel { title, x, y, scale }, lines)?;
        }
        legend(&below, &names)
    })
}

/// Throughput against threads, a panel for each scenario.
pub(super) fn contention(contests: &[Contest]) -> Svg {
    let panel = |contest: &Contest| {
        let line = |row: &crate::contention::Row| Line {
            name: row.name.to_owned(),
            points: THREADS
                .iter()
                .zip(&row.rates)
                .map(|(&threads, rate)| ((threads as f64).log2(), rate.median()))
                .collect(),
        };
        // guira last, so that it is on top.
        let lines = contest.rows.iter().rev().map(line).collect();
        (contest.scenario.name.to_owned(), plain as Format, lines)
    };
    figure(&Figure {
        grid: (2, 3),
        x: ("threads", &THREADS.map(|threads| threads.to_string())),
        y: "M operations / s",
        scale: Scale::Log,
        panels: contests.iter().map(panel).collect(),
    })
}

/// Quantiles of lookups, a panel for each run.
pub(super) fn latency(tails: &[Tail]) -> Svg {
    let quantiles = || (0..=20).map(|step| 10_f64.powf(-f64::from(step) / 4.0));
    let line = |tail: &Tail| {
        let lookups = &tail.latencies.lookups;
        let seen = quantiles().filter(|rest| rest * lookups.len() as f64 >= 1.0);
        let points = seen.map(|rest| (-rest.log10(), lookups.value_at_quantile(1.0 - rest) as f64));
        Line {
            name: tail.name.to_owned(),
            points: points
                .filter(|&(_, nanoseconds)| nanoseconds > 0.0)
                .collect(),
        }
    };
    let groups = tails.chunk_by(|a, b| (a.scenario, a.threads) == (b.scenario, b.threads));
    let panel = |group: &[Tail]| {
        let title = format!("{}, {} threads", group[0].scenario, group[0].threads);
        (
            title,
            time as Format,
            group.iter().rev().map(line).collect(),
        )
    };
    let labels = ["0 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %"].map(str::to_owned);
    figure(&Figure {
        grid: (2, 3),
        x: ("quantile of lookups", &labels),
        y: "",
        scale: Scale::Log,
        panels: groups
            .filter(|group| group[0].threads != 32)
            .map(panel)
            .collect(),
    })
}

/// Bytes.
fn bytes(value: &f64) -> String {
    match *value {
        1_048_576.0.. => format!("{:.1} MiB", value / 1_048_576.0),
        _ => format!("{:.1} KiB", value / 1024.0),
    }
}

/// What operations take while the filter grows, and its bytes, over the items.
pub(super) fn growth(timeline: &Timeline) -> Svg {
    type Value = Box<dyn Fn(&Window) -> f64>;
    type Operation = fn(&Latencies) -> &hdrhistogram::Histogram<u64>;
    let last = timeline.grown.last().map_or(1, |window| window.items) as f64;
    let line = |name: String, windows: &[Window], value: Value| Line {
        name,
        points: windows
            .iter()
            .map(|window| (window.items as f64 * TIMES as f64 / last, value(window)))
            .map(|(times, value)| (times.log2(), value))
            .filter(|&(_, value)| value > 0.0)
            .collect(),
    };
    // guira that grows last, so that it is on top.
    let fills = [("built large", &timeline.fixed), ("grows", &timeline.grown)];
    let latency = |of: Operation| -> Vec<Line> {
        let kinds = [("longest", 1.0), ("p99.9", 0.999)];
        let lines = kinds.into_iter().flat_map(|(kind, quantile)| {
            fills.map(|(name, windows)| {
                let value =
                    move |window: &Window| of(&window.latencies).value_at_quantile(quantile) as f64;
                line(format!("{name}, {kind}"), windows, Box::new(value))
            })
        });
        lines.collect()
    };
    let memory = fills.map(|(name, windows)| {
        let value = Box::new(|window: &Window| window.bytes as f64);
        line(format!("{name}, p99.9"), windows, value)
    });
    let labels: Vec<String> = (0..=TIMES.ilog2())
        .map(|doublings| format!("{} ×", 1 << doublings))
        .collect();
    let (inserts, lookups) = (
        latency(|latencies| &latencies.inserts),
        latency(|latencies| &latencies.lookups),
    );
    figure(&Figure {
        grid: (3, 1),
        x: ("times the items that it was first made for", &labels),
        y: "",
        scale: Scale::Log,
        panels: vec![
            ("Inserts while the filter grows".into(), time, inserts),
            ("Concurrent lookups".into(), time, lookups),
            ("Memory".into(), bytes, memory.into()),
        ],
    })
}

/// The points of the plot of space that have one colour and one entry of the legend.
struct Series {
    name: String,
    shade: RGBColor,
    kind: Kind,
    points: Vec<(f64, f64)>,
}

/// How a series is drawn.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// A point for each rate asked, and a line through them.
    Line,
    /// Points at the rates asked.
    Asked,
    /// Points at the rates reached, as there are none to ask for.
    Reached,
}

/// Shades of guira's colour, from fixed filters to the filters that grew furthest.
const SHADES: [RGBColor; GROWTHS.len()] = [
    RGBColor(213, 94, 0),
    RGBColor(245, 165, 90),
    RGBColor(145, 65, 0),
    RGBColor(70, 30, 0),
];

/// That of fixed filters that prefer space.
const SPACE_SHADE: RGBColor = RGBColor(0, 60, 160);

/// Those of the contestants that were asked for one rate, and here are asked for all.
const TAKE_RATES: [&str; 3] = [
    "RwLock<qfilter>",
    "RwLock<scalable_cuckoo_filter>",
    "fastbloom (atomic)",
];

fn series(points: &[Point]) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for point in points {
        let name = point.name.as_str();
        let (family, kind, rate) = match point.asked {
            Some(_) if name.starts_with("RedisBloom") => {
                ("RedisBloom, fixed and grown *", Kind::Reached, point.rate)
            }
            Some(asked) if name.starts_with("scalable") => (
                "scalable_cuckoo_filter, fixed and grown",
                Kind::Asked,
                asked,
            ),
            Some(asked) if name.starts_with("guira") => ("guira", Kind::Line, asked),
            Some(asked) => (name, Kind::Line, asked),
            None if name.starts_with("guira") || TAKE_RATES.contains(&name) => continue,
            None => (name, Kind::Reached, point.rate),
        };
        let growth = GROWTHS.iter().position(|&times| times == point.grown);
        let (label, shade) = match (family, kind, point.grown) {
            ("guira", _, 1) if name.starts_with(PREFERS_SPACE) => {
                ("guira, fixed, prefers space".to_owned(), SPACE_SHADE)
            }
            ("guira", _, 1) => ("guira, fixed".to_owned(), SHADES[0]),
            ("guira", _, times) => (
                format!("guira, grown {times} times"),
                SHADES[growth.unwrap_or(0)],
            ),
            (_, Kind::Reached, _) if !family.ends_with('*') => {
                (format!("{family} *"), colour(family))
            }
            _ => (family.to_owned(), colour(family)),
        };
        // Points that are off the scale have no place in the legend.
        if rate <= 0.0 || point.bits >= MOST_BITS {
            continue;
        }
        match all.iter_mut().find(|series| series.name == label) {
            Some(series) => series.points.push((rate, point.bits)),
            None => all.push(Series {
                name: label,
                shade,
                kind,
                points: vec![(rate, point.bits)],
            }),
        }
    }
    all
}

/// Bits per item at a rate, a colour, and a name.
type Theory = (fn(f64) -> f64, RGBColor, &'static str);

/// Where the second axis of the plot of space ends.
const MOST_BITS: f64 = 50.0;

/// Bits per item against the rate that was asked for, with the curves of theory.
pub(super) fn space(points: &[Point]) -> Svg {
    svg((960, 560), |area| {
        let mut chart = ChartBuilder::on(area)
            .caption("Bits per item against the rate asked for", (FONT, 16))
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(48)
            .build_cartesian_2d((1e-7..40.0).log_scale(), 0.0..MOST_BITS)?;
        chart
            .configure_mesh()
            .x_desc(
                "rate of false positives asked for (*: none can be asked for, so the one reached)",
            )
            .y_desc("bits per item")
            .x_label_formatter(&|x| match *x > 1.5 {
                true => String::new(),
                false => format!("{x:.0e}"),
            })
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(225, 225, 225))
            .label_style((FONT, 12))
            .draw()?;
        let rates = || (0..=140).map(|step| 10_f64.powf(-7.0 + f64::from(step) / 20.0));
        let theories: [Theory; 4] = [
            (Point::limit, RGBColor(120, 120, 120), "information limit"),
            (
                Point::bloom,
                RGBColor(225, 200, 90),
                "Bloom, 1.44 log2(1/ε)",
            ),
            (
                Point::cuckoo,
                RGBColor(150, 195, 225),
                "cuckoo, (log2(1/ε) + 3) / 0.95",
            ),
            (
                Point::semi_sorted,
                RGBColor(120, 200, 170),
                "semi-sorted cuckoo, (log2(1/ε) + 2) / 0.95",
            ),
        ];
        for (theory, shade, name) in theories {
            chart
                .draw_series(LineSeries::new(
                    rates().map(|rate| (rate, theory(rate))),
                    shade,
                ))?
                .label(name)
                .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 16, y)], shade));
        }
        // guira last, so that it is on top.
        for series in series(points).into_iter().rev() {
            let shade = series.shade;
            let style = match series.kind {
                Kind::Reached => shade.stroke_width(1),
                Kind::Line | Kind::Asked => shade.filled(),
            };
            if series.kind == Kind::Line {
                chart.draw_series(LineSeries::new(series.points.iter().copied(), shade))?;
            }
            let dots = series.points.into_iter();
            chart
                .draw_series(dots.map(|point| Circle::new(point, 4, style)))?
                .label(series.name)
                .legend(move |(x, y)| Circle::new((x + 8, y), 4, style));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .border_style(RGBColor(200, 200, 200))
            .background_style(WHITE)
            .label_font((FONT, 12))
            .draw()?;
        Ok(())
    })
}

/// A panel for each table, a line for each row, and a point for each of the columns from `first` on.
fn panels<'a>(
    tables: impl Iterator<Item = &'a Table>,
    first: usize,
) -> Vec<(String, Format, Vec<Line>)> {
    let line = |(name, cells): &(String, Vec<Option<Samples>>)| {
        let points = cells[first..].iter().enumerate();
        Line {
            name: name.clone(),
            points: points
                .filter_map(|(index, samples)| Some((index as f64, samples.as_ref()?.median())))
                .collect(),
        }
    };
    // guira last, so that it is on top.
    let lines = |table: &Table| table.rows.iter().rev().map(line).collect();
    tables
        .map(|table| (table.title.clone(), plain as Format, lines(table)))
        .collect()
}

/// The rate of inserts by the part of the fill, in and out of cache.
pub(super) fn insert(tables: &[Table]) -> Svg {
    let labels = ["0–50", "50–90", "90–95", "95–99", "99–100"].map(|band| format!("{band} %"));
    let tables = tables
        .iter()
        .filter(|table| table.title.ends_with("u64 keys"));
    let mut panels = panels(tables, 1);
    // The columns after those of inserts have other units.
    let lines = panels.iter_mut().flat_map(|(.., lines)| lines);
    lines.for_each(|line| line.points.retain(|&(at, _)| at < labels.len() as f64));
    figure(&Figure {
        grid: (1, panels.len()),
        x: ("of the capacity", &labels),
        y: "M inserts / s",
        scale: Scale::Log,
        panels,
    })
}

/// The rate of lookups by load, in and out of cache.
pub(super) fn load(curves: &[Table]) -> Svg {
    figure(&Figure {
        grid: (2, 2),
        x: ("load", &curves[0].columns),
        y: "M lookups / s",
        scale: Scale::FromZero,
        panels: panels(curves.iter(), 0),
    })
}
