//! The section of space.

use super::markdown::{digits, optional, plot, strings, table};
use crate::{
    effort::Effort,
    measure::{Samples, items, size},
    ops::Table,
    space::{COMPARED, Fixed, MOST_TABLES, PREFERS_SPACE, Point, SIZES, Space},
};
use std::{fmt::Write, path::Path};

fn percent(rate: f64) -> String {
    match rate {
        0.0 => "none seen".into(),
        0.001.. => format!("{:.2} %", rate * 100.0),
        0.00001.. => format!("{:.4} %", rate * 100.0),
        _ => format!("{rate:.1e}"),
    }
}

pub(super) fn section(space: &Space, effort: Effort, plots: &Path) -> String {
    let head = strings([
        "",
        "asked",
        "expected rate",
        "measured rate",
        "bits per item",
        "information limit",
        "cuckoo",
        "Bloom",
        "of the limit",
    ]);
    let row = |point: &Point| {
        let known = point.rate > 0.0;
        let theory = |bits: f64| {
            if known {
                format!("{bits:.2}")
            } else {
                "–".into()
            }
        };
        let (limit, bloom) = (Point::limit(point.rate), Point::bloom(point.rate));
        let cuckoo = Point::cuckoo(point.rate);
        let expected = point.expected.map_or("–".into(), percent);
        let asked = point.asked.map_or("–".into(), percent);
        let times = theory(point.bits / limit);
        let bits = format!("{:.2}", point.bits);
        vec![
            point.title(),
            asked,
            expected,
            if known {
                percent(point.rate)
            } else {
                "–".into()
            },
            bits,
            theory(limit),
            theory(cuckoo),
            theory(bloom),
            times,
        ]
    };
    let mut text = format!(
        "## Space\n\nAll filters are at full capacity, of {} slots.\n\
         The information limit is log2(1/ε) bits per item, and a Bloom filter takes 1.44 times that.\n\
         A cuckoo filter with fingerprints of any size takes (log2(1/ε) + 3) / 0.95.\n\
         The plot uses the rate asked for, and the table the measured one.\n\
         The expected rate is computed from the fingerprint and the load.\n\n{}\n\n\
         {}",
        size(effort.log_medium),
        plot(plots, "space", "Bits per item against the rate asked for"),
        table(
            &head,
            space.points.iter().filter(|point| listed(point)).map(row)
        ),
    );
    text += &fixed(space);
    text += &grown(space, effort);
    text += &construction(space, effort);
    let sizes = SIZES.iter().map(|items| format!("{items} items"));
    let head: Vec<String> = std::iter::once("layout".into()).chain(sizes).collect();
    let rows = space.loads.iter().map(|load| {
        let loads = load
            .highest
            .iter()
            .map(|load| format!("{:.2} %", load * 100.0));
        std::iter::once(load.layout.clone()).chain(loads).collect()
    });
    let _ = write!(
        text,
        "\n### The highest load\n\nUsed slots at the first refused insert, in a filter built for that number of items; the lowest of {} fills.\n\n{}",
        effort.rounds,
        table(&head, rows),
    );
    text
}

/// RedisBloom has no rate to ask for, and is in the table of grown filters only.
fn listed(point: &Point) -> bool {
    !point.name.starts_with("RedisBloom")
}

/// Filters that do not grow, by the rate asked.
fn fixed(space: &Space) -> String {
    let mut text = "\n### Fixed filters at the rate asked\n\nBits per item of filters that hold the items that they were built for, everything included.\n\
         guira appears by default and with `Prefer::Space`, each with the layout it chose.\n\
         The bits of a semi-sorted fingerprint are rounded down.\n\
         Its rates are measured over about 10 000 false positives, or over 64 M lookups.\n\
         A rate is bold if it exceeds the one asked for by more than three standard deviations.\n\
         The table above has the rates of the peers.\n\
         fastbloom is a Bloom filter.\n\
         The last four columns are formulas: the information limit, a Bloom filter, a cuckoo filter and a semi-sorted one.\n\
         The last two are (log2(1/ε) + 3) / 0.95 and (log2(1/ε) + 2) / 0.95 (Fan et al., *Cuckoo Filter*, CoNEXT 2014, §5).\n"
        .to_owned();
    for fixed in &space.fixed {
        let _ = write!(text, "\n{} items:\n\n{}", fixed.items, at_rates(fixed));
    }
    text
}

fn at_rates(fixed: &Fixed) -> String {
    let peers = fixed.at_rates.iter().take(1).flat_map(|it| &it.peers);
    let mut head = strings([
        "asked",
        "guira",
        "words",
        "measured rate",
        "prefers space",
        "words",
        "measured rate",
    ]);
    head.extend(peers.map(|&(name, _)| name.to_owned()));
    head.extend(strings([
        "information limit",
        "Bloom",
        "cuckoo",
        "semi-sorted cuckoo",
    ]));
    let two = |bits: f64| format!("{bits:.2}");
    let rows = fixed.at_rates.iter().map(|it| {
        let mut row = vec![percent(it.asked)];
        for point in &it.guira {
            let rate = match point.exceeds_rate() {
                true => format!("**{}**", percent(point.rate)),
                false => percent(point.rate),
            };
            row.extend([two(point.bits), point.name.clone(), rate]);
        }
        row.extend(it.peers.iter().map(|&(_, bits)| two(bits)));
        let theories = [
            Point::limit,
            Point::bloom,
            Point::cuckoo,
            Point::semi_sorted,
        ];
        row.extend(theories.map(|theory| two(theory(it.asked))));
        row
    });
    table(&head, rows)
}

/// What grows, at the rate asked.
const GROW: [&str; 3] = ["guira", "RedisBloom", "scalable_cuckoo_filter"];

fn grown(space: &Space, effort: Effort) -> String {
    let head = strings([
        "",
        "asked",
        "grown",
        "bits per item",
        "at the first refusal",
        "expected rate",
        "measured rate",
        "refused below the capacity",
    ]);
    let compared = |point: &&Point| {
        let family = GROW.iter().any(|name| point.name.starts_with(name));
        let family = family && !point.name.starts_with(PREFERS_SPACE);
        family && point.asked.is_some_and(|asked| COMPARED.contains(&asked))
    };
    let row = |point: &Point, items: u64| {
        let asked = point.asked.unwrap_or_default();
        // The measurement scatters by a twentieth.
        let measured = match point.rate > asked * 1.15 {
            true => format!("**{}**", percent(point.rate)),
            false => percent(point.rate),
        };
        let name = match point.name.starts_with("guira") {
            true => "guira".into(),
            false => point.name.clone(),
        };
        vec![
            name,
            percent(asked),
            match point.grown {
                1 => "fixed".into(),
                times => format!("{times} times"),
            },
            format!("{:.2}", point.bits),
            point
                .at_full
                .map_or("–".into(), |bits| format!("{bits:.2}")),
            point.expected.map_or("–".into(), percent),
            measured,
            match point.refused {
                0 => "0".into(),
                refused => format!("**{:.1} %**", 100.0 * refused as f64 / items as f64),
            },
        ]
    };
    let rows = |points: &[Point], log_slots| {
        let points = points.iter().filter(compared);
        table(&head, points.map(|point| row(point, items(log_slots))))
    };
    format!(
        "\n### Grown filters at the rate asked\n\nEach filter was built for a fraction of the items, and then got all of them, one by one: the number that {} slots hold at 95 %.\n\
         The bits are those at that moment, per accepted item, everything included.\n\
         A rate above the one asked for is bold, and so are refusals.\n\
         Then guira got more items until it refused one.\n\
         RedisBloom is a model of its chain of tables.\n\
         `EXPANSION` is the factor from table to table, or 0 if it must not grow; at {MOST_TABLES} tables it refuses everything.\n\
         It has no setting for the rate: one table has less than 3 % with its default of 2 slots per bucket, and less than 1 % with 1 slot.\n\
         Nothing below 0.78 % is possible.\n\
         RedisBloom and scalable_cuckoo_filter refuse nothing while they may grow, so they have no first refusal.\n\
         The last table of a chain may be nearly empty at that moment; just before it was added, a chain that doubles had half the bits per item.\n\n{}\n\
         The same for guira, with the items of {} slots:\n\n{}",
        size(effort.log_medium),
        rows(&space.points, effort.log_medium),
        size(effort.log_large),
        rows(&space.large, effort.log_large),
    )
}

/// The least and the most of how much larger than a cuckoo filter with fingerprints of any size
/// these are at a rate, in percent.
fn over_cuckoo<'a>(
    points: impl Iterator<Item = &'a Point>,
    rate: impl Fn(&Point) -> Option<f64>,
) -> String {
    let over = points.filter_map(|point| Some(point.bits / Point::cuckoo(rate(point)?) - 1.0));
    let (least, most) = over.fold((f64::MAX, f64::MIN), |(least, most), over| {
        (over.min(least), over.max(most))
    });
    format!("{:.0} to {:.0} %", least * 100.0, most * 100.0)
}

/// Where guira is larger.
pub(super) fn losses(space: &Space) -> String {
    let guira = |grown: bool| {
        let points = space.points.iter();
        let points = points.filter(|point| {
            point.name.starts_with("guira") && !point.name.starts_with(PREFERS_SPACE)
        });
        points.filter(move |point| (point.grown > 1) == grown)
    };
    let small = || {
        let points = space.points.iter();
        points.filter(|point| point.name.starts_with(PREFERS_SPACE))
    };
    let reached = |point: &Point| (point.rate > 0.0).then_some(point.rate);
    let asked = |point: &Point| point.asked;
    format!(
        "In space, a Bloom filter is smaller at most rates (see Space).\n\
         A cuckoo filter with fingerprints of any size takes 3 bits per item more than the information limit.\n\
         At the rate that guira *reached*, its word-sized buckets cost {} more than that filter.\n\
         There are few sizes of fingerprints, so the rate reached is often far below the one *asked* for.\n\
         At the rate asked for, a fixed filter is {} larger, one with `Prefer::Space` {}, and one that has grown at least 64-fold {}.\n",
        over_cuckoo(guira(false), reached),
        over_cuckoo(guira(false), asked),
        over_cuckoo(small(), asked),
        over_cuckoo(guira(true), asked),
    )
}

/// The table of construction, with bits and rates of the filters of the same names.
fn construction(space: &Space, effort: Effort) -> String {
    let Table { columns, rows, .. } = &space.construction;
    let mut head = strings(["", "load, %", "bits per item", "measured rate"]);
    head.extend(columns[1..].iter().cloned());
    let row = |(name, cells): &(String, Vec<Option<Samples>>)| {
        let mut points = space.points.iter();
        let point = points.find(|point| point.asked.is_none() && point.name == *name);
        let bits = point.map_or("–".into(), |point| digits(point.bits));
        let rate = point.map_or("–".into(), |point| percent(point.rate));
        let mut row: Vec<String> = cells.iter().map(optional).collect();
        row.splice(1..1, [bits, rate]);
        row.insert(0, name.clone());
        row
    };
    format!(
        "\n### Construction\n\nFilters that one thread filled with the items that they were built for.\n\
         The load is the share of the slots in use; it is 95 % in peers with a power of two of slots.\n\
         Bits and rates are those of the table above, for {} slots; out of cache each filter was filled once.\n\n{}",
        size(effort.log_medium),
        table(&head, rows.iter().map(row)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Point;

    /// A filter that takes `times` as much as a cuckoo filter of this rate.
    fn point(asked: f64, rate: f64, times: f64, grown: u64) -> Point {
        Point {
            name: "guira, chose 10 bits".into(),
            asked: Some(asked),
            grown,
            expected: None,
            rate,
            lookups: 1 << 20,
            bits: times * Point::cuckoo(rate),
            at_full: None,
            refused: 0,
        }
    }

    #[test]
    fn what_words_cost_is_less_at_the_rate_reached_than_at_the_one_asked() {
        let points = [point(0.01, 0.01, 1.25, 1), point(0.01, 0.005, 1.125, 1)];
        let reached = over_cuckoo(points.iter(), |point| Some(point.rate));
        let asked = over_cuckoo(points.iter(), |point| point.asked);
        // 11.204 bits for 0.5 % are 12.604 with the eighth, and 10.151 are enough for 1 %.
        assert_eq!(
            (reached.as_str(), asked.as_str()),
            ("12 to 25 %", "24 to 25 %")
        );
    }

    #[test]
    fn grown_filters_stand_in_their_table_with_what_they_refused() {
        let mut redis_bloom = point(0.01, 0.2, 1.0, 64);
        redis_bloom.name = "RedisBloom, BUCKETSIZE 1, EXPANSION 1".into();
        redis_bloom.refused = items(Effort::QUICK.log_medium) / 2;
        let space = Space {
            points: vec![point(0.01, 0.009, 1.25, 64), redis_bloom],
            large: Vec::new(),
            fixed: Vec::new(),
            construction: Table::new(String::new(), &[""]),
            loads: Vec::new(),
        };
        let text = grown(&space, Effort::QUICK);
        let rows = [
            "| guira | 1.00 % | 64 times | 12.89 | – | – | 0.90 % | 0 |",
            "| RedisBloom, BUCKETSIZE 1, EXPANSION 1 | 1.00 % | 64 times | 5.60 | – | – | **20.00 %** | **50.0 %** |",
        ];
        for row in rows {
            assert!(text.contains(row), "{text}");
        }
    }
}
