//! The section on filters that forget by time.

use super::markdown::{cells, digits, strings, table};
use crate::expiring::{Expiring, contestants};
use std::fmt::Write;

pub(super) fn section(expiring: &Expiring) -> String {
    let mut text = format!(
        "## Expiring filters\n\nA filter that forgets by time beside a plain one, whose slots are as large.\n\
         Both have as many slots, of which 70 % are used.\n\
         Medians of the ratios of the rounds.\n\n{}\n",
        cells(&expiring.plain)
    );
    let notes = contestants().map(|it| vec![it.name.to_owned(), it.note.to_owned()]);
    let _ = write!(
        text,
        "### What else remembers a window\n\nAll remember as many keys within a TTL, and the filters are asked for one rate of \
         false positives.\n\n{}\n",
        table(&strings(["contestant", "what it is"]), notes)
    );
    for one in [&expiring.lookups, &expiring.stream] {
        let _ = write!(
            text,
            "### {}\n\nMillions of calls per second.\n\n{}\n",
            one.title,
            cells(one)
        );
    }
    let head = strings([
        "",
        "bits an item",
        "rate",
        "earliest",
        "median",
        "latest",
        "forgotten",
        "twice first",
        "refused",
        "of calls",
    ]);
    let rows = expiring.facts.iter().map(|it| {
        let lives = it.lifetimes.map(digits);
        let counts = [it.forgotten, it.twice, it.refused, it.asked].map(|count| count.to_string());
        [
            it.name.to_owned(),
            digits(it.bits),
            format!("{:.4} %", it.rate * 100.0),
        ]
        .into_iter()
        .chain(lives)
        .chain(counts)
        .collect()
    });
    let _ = write!(
        text,
        "### Memory, lifetimes, wrong answers\n\nLifetimes are in TTLs.\n\
         \"Forgotten\" are keys that were new, came again within half a TTL, and were taken to be new again.\n\
         \"Twice first\" are keys that two threads asked for at once, and both were told that they were first.\n\
         \"Refused\" are keys for which there was no room, or that put another key out.\n\n{}\n",
        table(&head, rows)
    );
    let advance = &expiring.advance;
    let quantiles = |index: usize, name: &str| {
        let lookups = &advance.lookups[index].lookups;
        let values = [0.5, 0.99, 0.999, 0.9999].map(|q| lookups.value_at_quantile(q).to_string());
        std::iter::once(name.to_owned()).chain(values).collect()
    };
    let [none, some] = advance.seconds;
    let _ = write!(
        text,
        "### A step of a table of {} MiB\n\nIt takes {none:.3} s if nothing dies, and {some:.3} s if {} items do.\n\
         Nanoseconds of a lookup, without steps and while another thread begins them all the time:\n\n{}",
        advance.bytes >> 20,
        advance.died,
        table(
            &strings(["", "p50", "p99", "p99.9", "p99.99"]),
            [quantiles(0, "without"), quantiles(1, "beside `advance`")]
        )
    );
    text
}
