//! The section on filters that forget by time.

use super::markdown::{cells, digits, strings, table};
use crate::expiring::{Expiring, contestants};
use std::fmt::Write;

pub(super) fn section(expiring: &Expiring) -> String {
    let mut text = format!(
        "## Expiring filters\n\nAn expiring filter compared with a plain filter whose slots have the same size.\n\
         Both have the same number of slots, and 70 % of them are used.\n\
         Medians of the ratios of the rounds.\n\n{}\n",
        cells(&expiring.plain)
    );
    let notes = contestants().map(|it| vec![it.name.to_owned(), it.note.to_owned()]);
    let _ = write!(
        text,
        "### What else remembers a window\n\nAll remember the same number of keys per TTL, and the filters are built for the same rate.\n\n{}\n",
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
         \"Forgotten\" counts keys that were repeated within half a TTL, and accepted again as new.\n\
         \"Twice first\" counts keys that two threads inserted concurrently, and both got \"first\".\n\
         \"Refused\" counts keys without room, and keys that evicted another one.\n\n{}\n",
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
        "### An epoch of a table of {} MiB\n\nIt takes {none:.3} s if nothing expires, and {some:.3} s if {} items do.\n\
         Nanoseconds of a lookup, alone and while another thread calls `advance` in a loop:\n\n{}",
        advance.bytes >> 20,
        advance.died,
        table(
            &strings(["", "p50", "p99", "p99.9", "p99.99"]),
            [quantiles(0, "without"), quantiles(1, "beside `advance`")]
        )
    );
    text
}
