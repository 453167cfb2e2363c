//! The JSON that the page reads. It is written by hand, because a library would be half of the
//! page's download.

use crate::{
    run::{Answer, Made},
    threads::Thread,
};
use guira::model::{Item, Memory, Watched};
use std::fmt::Write;

/// A list `[a,b,…]`, whose elements `one` writes.
pub(crate) fn list<T>(items: impl IntoIterator<Item = T>, one: impl Fn(T) -> String) -> String {
    let items: Vec<String> = items.into_iter().map(one).collect();
    format!("[{}]", items.join(","))
}

pub(crate) fn item(item: Item, hash: u64) -> String {
    let [p, q] = item.buckets();
    format!(
        r#"{{"fingerprint":{},"p":{p},"q":{q},"hash":"{hash:016x}"}}"#,
        item.fingerprint()
    )
}

/// The current state of the filter.
pub(crate) fn state(filter: &dyn Watched) -> String {
    let words = list(filter.words(), |word| {
        let mut text = format!(r#"{{"slots":{:?}"#, word.slots);
        if let Some(mark) = word.mark {
            let _ = write!(text, r#","mark":"{mark}""#);
        }
        if word.reserved {
            text.push_str(r#","reserved":true"#);
        }
        match word.level {
            None => text.push_str(r#","unmade":true"#),
            Some(0) => {}
            Some(level) => {
                let _ = write!(text, r#","level":{level}"#);
            }
        }
        if word.frozen {
            text.push_str(r#","frozen":true"#);
        }
        text.push('}');
        text
    });
    let versions = list(filter.versions(), |(version, holds)| {
        format!("[{version},{holds}]")
    });
    format!(
        r#"{{"buckets":{},"words":{words},"versions":{versions},"len":{},"first":{},"doublings":{}}}"#,
        filter.buckets(),
        filter.items(),
        filter.first_level(),
        filter.doublings()
    )
}

/// The state of the filter at an earlier time.
fn state_at(filter: &dyn Watched, memory: &Memory) -> String {
    let now = filter.memory();
    filter.restore(memory);
    let state = state(filter);
    filter.restore(&now);
    state
}

pub(crate) fn answer(answer: Option<Answer>) -> String {
    match answer {
        None => "null".to_owned(),
        Some(Answer::Is(is)) => is.to_string(),
        Some(Answer::Number(number)) => number.to_string(),
    }
}

/// A step, with the state of the filter after it if that has changed.
pub(crate) fn made(filter: &dyn Watched, made: &Made) -> String {
    let mut text = format!(r#"{{"step":"{:?}""#, made.step);
    if let Some(word) = made.word {
        let _ = write!(text, r#","word":{word}"#);
    }
    if made.before != made.after {
        let _ = write!(text, r#","state":{}"#, state_at(filter, &made.after));
    }
    text.push('}');
    text
}

pub(crate) fn thread(thread: &Thread) -> String {
    let answers = list(&thread.answers, |&it| answer(Some(it)));
    let next = thread
        .next()
        .map_or("null".to_owned(), |step| format!(r#""{step:?}""#));
    let word = thread
        .word
        .map_or("null".to_owned(), |word| word.to_string());
    format!(r#"{{"next":{next},"word":{word},"answers":{answers}}}"#)
}
