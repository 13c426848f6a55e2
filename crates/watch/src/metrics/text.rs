//! Formats snapshots as metrics, in both Prometheus formats.
//!
//! Sources: the `OpenMetrics` specification 1.0.0, <https://prometheus.io/docs/specs/om/open_metrics_spec/>, and the text format 0.0.4,
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>.

use std::fmt::Write;

use offered_base::visible;
use offered_events::Outcome;
use offered_verify::{CheckResult, Validity};

use crate::Snapshot;
use crate::totals::{BucketHistogram, RequestTotals};

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    OpenMetrics,
    Plain,
}

impl Format {
    /// The format for these `Accept` headers.
    pub(super) fn from_accept<'a>(mut accept: impl Iterator<Item = &'a str>) -> Self {
        let is_open = |accept: &str| accept.to_ascii_lowercase().contains("application/openmetrics-text");
        if accept.any(is_open) { Self::OpenMetrics } else { Self::Plain }
    }

    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Plain => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// The metrics of a snapshot; empty before the first.
pub(super) fn text(snapshot: Option<&Snapshot>, format: Format) -> String {
    let mut writer = Writer { text: String::new(), format };
    if let Some(snapshot) = snapshot {
        writer.snapshot(snapshot);
    }
    if format == Format::OpenMetrics {
        writer.text.push_str("# EOF\n");
    }
    writer.text
}

struct Writer {
    text: String,
    format: Format,
}

/// Labels and their values.
type Tags<'a, const N: usize> = [(&'static str, &'a str); N];

impl Writer {
    fn snapshot(&mut self, snapshot: &Snapshot) {
        self.gauge("offered_run_time_seconds", "Time since the start of the run.", [([], Some(snapshot.time_s))]);
        self.counter("offered_scheduled_requests", "Requests that were due, sent or not.", [([], snapshot.requests)]);
        self.counter("offered_unsent_requests", "Requests that were due and not sent.", [([], snapshot.unsent)]);
        let visits = snapshot.visits.map(|visits| [("ok", visits.ok), ("failed", visits.failed)]);
        let visits = visits.iter().flatten().map(|(outcome, n)| ([("outcome", *outcome)], *n));
        self.counter("offered_visits", "Visits of the analysed time that ended, by outcome.", visits);
        self.gauge("offered_requests_in_flight", "Requests in flight.", [([], Some(snapshot.in_flight as f64))]);
        let users = snapshot.totals.as_ref().and_then(|totals| totals.users);
        self.gauge("offered_users", "Users of a closed system.", [([], users.map(|users| users as f64))]);
        self.gauge(
            "offered_target_requests_per_second",
            "Target rate in the last ten seconds; absent in a closed system.",
            [([], snapshot.recent.target_rate_per_s)],
        );
        self.gauge(
            "offered_sent_requests_per_second",
            "Sent requests per second in the last ten seconds.",
            [([], snapshot.recent.sent_rate_per_s)],
        );
        self.gauge(
            "offered_interarrival_cov",
            "Coefficient of variation of the gaps between sent requests; 1 for a Poisson process.",
            [([], snapshot.measured_cov)],
        );
        let stable = snapshot.growth.map(|growth| f64::from(u8::from(!growth.overloaded)));
        self.gauge(
            "offered_stable",
            "1 if completions follow arrivals, 0 if the number of requests in flight grows significantly.",
            [([], stable)],
        );
        let is = |validity| Some(f64::from(u8::from(validity == snapshot.validity)));
        self.gauge(
            "offered_validity",
            "Interim validity of the run: 1 for the current value.",
            Validity::ALL.map(|validity| ([("validity", validity.name())], is(validity))),
        );
        let thresholds: Vec<_> = snapshot
            .thresholds
            .iter()
            .map(|checked| {
                let passed = checked.result != CheckResult::Failed;
                let known = checked.result != CheckResult::NotChecked;
                (checked.threshold.to_string(), known.then_some(f64::from(u8::from(passed))))
            })
            .collect();
        self.gauge(
            "offered_threshold_passed",
            "1 if the threshold passes so far, 0 if it fails.",
            thresholds.iter().map(|(threshold, passed)| ([("threshold", threshold.as_str())], *passed)),
        );
        let Some(totals) = &snapshot.totals else { return };
        let by_outcome = |counts: fn(&RequestTotals) -> Vec<(Outcome, u64)>| {
            totals.requests.iter().flat_map(move |total| {
                let tags = move |outcome: Outcome| [("request", total.name.as_str()), ("outcome", outcome.name())];
                counts(total).into_iter().map(move |(outcome, n)| (tags(outcome), n))
            })
        };
        let (launches, objects) =
            (|total: &RequestTotals| total.outcomes().collect(), |total: &RequestTotals| total.objects().collect());
        self.counter("offered_requests", "Requests that ended, by outcome.", by_outcome(launches));
        self.counter("offered_objects", "Objects of pages that ended, by outcome.", by_outcome(objects));
        let by_request = |cells: fn(&RequestTotals) -> &BucketHistogram| {
            totals.requests.iter().map(move |total| ([("request", total.name.as_str())], cells(total)))
        };
        self.histogram(
            "offered_response_seconds",
            "Response time of successful requests: from the scheduled time to the end of the response.",
            by_request(|total| &total.response),
        );
        self.histogram(
            "offered_service_seconds",
            "Service time of successful requests: from sending to the end of the response.",
            by_request(|total| &total.service),
        );
        self.histogram(
            "offered_lateness_seconds",
            "Lateness: from the scheduled time to sending.",
            [([], &totals.lateness)],
        );
    }

    /// Writes a gauge with all known values; nothing without a known value.
    fn gauge<'a, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Tags<'a, N>, Option<f64>)>,
    ) {
        let mut values = values.into_iter().filter_map(|(tags, value)| Some((tags, value?))).peekable();
        if values.peek().is_some() {
            self.family(name, "gauge", help);
            values.for_each(|(tags, value)| self.sample(name, "", &tags, value));
        }
    }

    fn counter<'a, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        counts: impl IntoIterator<Item = (Tags<'a, N>, u64)>,
    ) {
        // In OpenMetrics the suffix is not part of the family name; in the older format it is.
        let (family, suffix) = match self.format {
            Format::OpenMetrics => (name.to_owned(), "_total"),
            Format::Plain => (format!("{name}_total"), ""),
        };
        let mut counts = counts.into_iter().peekable();
        if counts.peek().is_some() {
            self.family(&family, "counter", help);
            counts.for_each(|(tags, n)| self.sample(&family, suffix, &tags, n as f64));
        }
    }

    fn histogram<'a, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        histograms: impl IntoIterator<Item = (Tags<'a, N>, &'a BucketHistogram)>,
    ) {
        self.family(name, "histogram", help);
        for (tags, cells) in histograms {
            let all = cells.len();
            for (bound, n) in cells.cumulative().chain([(f64::INFINITY, all)]) {
                let bound = if bound.is_finite() { number(bound) } else { "+Inf".to_owned() };
                let tags: Vec<_> = tags.iter().copied().chain([("le", bound.as_str())]).collect();
                self.sample(name, "_bucket", &tags, n as f64);
            }
            self.sample(name, "_sum", &tags, cells.sum);
            self.sample(name, "_count", &tags, all as f64);
        }
    }

    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
    }

    fn sample(&mut self, name: &str, suffix: &str, tags: &[(&str, &str)], value: f64) {
        let tags: Vec<String> = tags.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let tags = if tags.is_empty() { String::new() } else { format!("{{{}}}", tags.join(",")) };
        self.line(format_args!("{name}{suffix}{tags} {}", number(value)));
    }

    fn line(&mut self, line: std::fmt::Arguments) {
        writeln!(self.text, "{line}").expect("text takes all");
    }
}

/// A number as both formats write it. Bucket bounds must have the same text in every scrape, otherwise a bucket would
/// become a new series.
fn number(value: f64) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A label value. Unreadable characters, including line ends, are shown as escapes; then backslashes and quotes are
/// escaped.
fn escaped(value: &str) -> String {
    visible(value).replace('\\', "\\\\").replace('"', "\\\"")
}
