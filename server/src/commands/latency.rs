//! `LATENCY`: shows when commands took long.

use super::{Args, Reply};
use crate::{
    command::Command,
    server::Server,
    session::Session,
    slow_log::{EVENTS, Event, Latency, Sample},
};
use std::{fmt::Write, sync::Arc};

/// `LATENCY LATEST | HISTORY event | RESET [event]... | DOCTOR | HELP`
pub(super) fn latency(server: &Arc<Server>, _: &mut Session, args: Args<'_>) -> Reply {
    let [_, word, rest @ ..] = args else {
        return Reply::wrong_arity(args[0]);
    };
    let log = &server.slow_log;
    match (word.to_ascii_uppercase().as_slice(), rest) {
        (b"LATEST", []) => latest(&log.latency),
        (b"HISTORY", [event]) => history(&log.latency, event),
        (b"RESET", events) => reset(&log.latency, events),
        (b"DOCTOR", []) => Reply::Text(doctor(&log.latency, log.latency_threshold())),
        _ => Command::help("LATENCY"),
    }
}

fn latest(latency: &Latency) -> Reply {
    let events = latency.lock();
    let named = EVENTS.iter().zip(events.iter());
    let entry = |(name, event): (&&str, &Event)| {
        let last = event.samples.back()?;
        Some(Reply::Array(vec![
            Reply::bulk(name),
            Reply::Integer(last.at),
            Reply::Integer(last.milliseconds),
            Reply::Integer(event.longest),
        ]))
    };
    Reply::Array(named.filter_map(entry).collect())
}

fn history(latency: &Latency, event: &[u8]) -> Reply {
    let Some(index) = index_of(event) else {
        return Reply::Array(Vec::new());
    };
    let pair = |sample: &Sample| Reply::Integers(vec![sample.at, sample.milliseconds]);
    Reply::Array(latency.lock()[index].samples.iter().map(pair).collect())
}

fn reset(latency: &Latency, events: Args<'_>) -> Reply {
    let is_meant = |index| {
        let named = |event: &&[u8]| index_of(event) == Some(index);
        events.is_empty() || events.iter().any(named)
    };
    let mut forgotten = 0;
    for (index, event) in latency.lock().iter_mut().enumerate() {
        if is_meant(index) && !event.samples.is_empty() {
            *event = Event::default();
            forgotten += 1;
        }
    }
    Reply::Integer(forgotten)
}

fn index_of(event: &[u8]) -> Option<usize> {
    let mut names = EVENTS.iter();
    names.position(|name| name.as_bytes().eq_ignore_ascii_case(event))
}

/// Describes the samples in sentences.
fn doctor(latency: &Latency, threshold: u64) -> String {
    if threshold == 0 {
        return "Latency is not monitored. CONFIG SET latency-monitor-threshold 100 starts to \
                sample commands that take 100 ms or longer.\n"
            .into();
    }
    let mut text = String::new();
    for (name, event) in EVENTS.iter().zip(latency.lock().iter()) {
        let Some(last) = event.samples.back() else {
            continue;
        };
        let sum: i64 = event.samples.iter().map(|it| it.milliseconds).sum();
        let mean = sum / event.samples.len() as i64;
        let written = writeln!(
            text,
            "{name}: samples in {} seconds, mean {mean} ms, latest {} ms, longest {} ms. SLOWLOG \
             GET shows the commands.",
            event.samples.len(),
            last.milliseconds,
            event.longest,
        );
        if written.is_err() {
            unreachable!("a string takes all text");
        }
    }
    if text.is_empty() {
        text = format!("No command took {threshold} ms or longer.\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Cost;

    #[test]
    fn events_are_forgotten_by_name() {
        let latency = Latency::default();
        latency.note(Cost::Long, 1, 10);
        latency.note(Cost::Short, 1, 20);
        let names = |reply| match reply {
            Reply::Array(events) => events.len(),
            other => panic!("{other:?}"),
        };
        assert_eq!(names(latest(&latency)), 2);
        assert_eq!(reset(&latency, &[b"none"]), Reply::Integer(0));
        assert_eq!(
            reset(&latency, &[b"Command", b"command"]),
            Reply::Integer(1)
        );
        assert_eq!(names(history(&latency, b"command")), 0);
        let expected = Reply::Array(vec![Reply::Integers(vec![1, 20])]);
        assert_eq!(history(&latency, b"fast-command"), expected);
        assert!(doctor(&latency, 5).starts_with("fast-command: samples in 1 seconds, mean 20 ms"));
        assert_eq!(reset(&latency, &[]), Reply::Integer(1));
        assert_eq!(doctor(&latency, 5), "No command took 5 ms or longer.\n");
        assert!(doctor(&latency, 0).starts_with("Latency is not monitored"));
    }
}
