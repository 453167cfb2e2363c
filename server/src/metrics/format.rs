//! The two text formats of Prometheus, and the choice between them.

use prometheus_client::{encoding::text::encode, registry::Registry};
use std::fmt;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The older format of Prometheus, version 0.0.4.
    Text,
}

impl Format {
    /// The format for a client with this `Accept` header: OpenMetrics if its quality is not lower than
    /// that of `text/plain`, and text otherwise.
    pub(super) fn of(accept: &str) -> Self {
        let open_metrics = quality(accept, "application/openmetrics-text");
        let text = quality(accept, "text/plain");
        match open_metrics > 0.0 && open_metrics >= text {
            true => Self::OpenMetrics,
            false => Self::Text,
        }
    }

    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => OPEN_METRICS,
            Self::Text => TEXT,
        }
    }

    pub(super) fn encode(self, registry: &Registry) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, registry)?;
        Ok(match self {
            Self::OpenMetrics => text,
            Self::Text => to_text(&text),
        })
    }
}

/// The highest quality that `accept` gives to a media type; 0 if it is not listed.
fn quality(accept: &str, media_type: &str) -> f32 {
    let mut best = 0.0_f32;
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        if !parts
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case(media_type))
        {
            continue;
        }
        let quality = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("q").then_some(value)
        });
        let quality = quality.map_or(1.0, |value| value.trim().parse().unwrap_or(0.0));
        best = best.max(quality);
    }
    best
}

/// Converts OpenMetrics to text, where a counter has the name of its samples, and there are neither
/// units nor an end marker.
fn to_text(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let mut lines = open_metrics.lines().peekable();
    let mut line_of = |words: &[&str]| {
        text.push_str(&words.join(" "));
        text.push('\n');
    };
    while let Some(line) = lines.next() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next()) {
            (Some("#"), Some("HELP")) => {
                let (name, help) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
                // The type follows.
                let kind = lines.next_if(|next| next.starts_with("# TYPE "));
                let kind = kind.and_then(|line| line.rsplit(' ').next());
                let kind = kind.unwrap_or("untyped");
                let name = match kind {
                    "counter" => format!("{name}_total"),
                    _ => name.to_owned(),
                };
                line_of(&["# HELP", &name, help]);
                line_of(&["# TYPE", &name, kind]);
            }
            (Some("#"), _) => {}
            _ => line_of(&[line]),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_choose_the_format() {
        // The header of Prometheus 2.53.
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,\
                          application/openmetrics-text;version=0.0.1;q=0.4,\
                          text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        for (accept, format) in [
            (prometheus, Format::OpenMetrics),
            ("application/openmetrics-text", Format::OpenMetrics),
            ("Application/OpenMetrics-Text; Q=1", Format::OpenMetrics),
            (
                "text/plain;version=0.0.4, application/openmetrics-text;q=0.2",
                Format::Text,
            ),
            ("application/openmetrics-text;q=0", Format::Text),
            ("application/openmetrics-text;q=x", Format::Text),
            ("text/plain", Format::Text),
            ("*/*", Format::Text),
            ("", Format::Text),
        ] {
            assert_eq!(Format::of(accept), format, "{accept}");
        }
    }

    #[test]
    fn counters_are_described_under_the_name_of_their_samples() {
        let open_metrics = "# HELP a_b Some  text.\n# TYPE a_b counter\na_b_total{k=\"# HELP\"} 1\n\
                            # HELP t_seconds Time.\n# TYPE t_seconds gauge\n# UNIT t_seconds seconds\n\
                            t_seconds 2.5\n# EOF\n";
        let text = "# HELP a_b_total Some  text.\n# TYPE a_b_total counter\na_b_total{k=\"# HELP\"} 1\n\
                    # HELP t_seconds Time.\n# TYPE t_seconds gauge\nt_seconds 2.5\n";
        assert_eq!(to_text(open_metrics), text);
    }
}
