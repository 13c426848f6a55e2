//! Pulses as text, in the two forms that Prometheus reads.
//!
//! Sources: the `OpenMetrics` specification 1.0.0, <https://prometheus.io/docs/specs/om/open_metrics_spec/>, and the text format 0.0.4,
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>.

use std::fmt::Write;

use offered_model::Outcome;
use offered_verify::Judgement;

use crate::Pulse;
use crate::totals::{Cells, Total};

/// In which of the two it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    OpenMetrics,
    Plain,
}

impl Form {
    /// What is accepted.
    pub(super) fn accepted<'a>(mut accept: impl Iterator<Item = &'a str>) -> Self {
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

/// The figures of a pulse; before the first there are none.
pub(super) fn text(pulse: Option<&Pulse>, form: Form) -> String {
    let mut page = Page { text: String::new(), form };
    if let Some(pulse) = pulse {
        page.pulse(pulse);
    }
    if form == Form::OpenMetrics {
        page.text.push_str("# EOF\n");
    }
    page.text
}

struct Page {
    text: String,
    form: Form,
}

/// Labels and their values.
type Tags<'a, const N: usize> = [(&'static str, &'a str); N];

impl Page {
    fn pulse(&mut self, pulse: &Pulse) {
        self.gauge("offered_run_time_seconds", "Time since the run began", [([], Some(pulse.time_s))]);
        self.counter("offered_launches", "Launches that were due, sent or not", [([], pulse.launched)]);
        self.counter("offered_unsent", "Launches that were due and never sent", [([], pulse.unsent)]);
        self.gauge("offered_in_flight", "Launches under way", [([], Some(pulse.in_flight as f64))]);
        let users = pulse.totals.as_ref().and_then(|totals| totals.users);
        self.gauge("offered_users", "Users of a closed system", [([], users.map(|users| users as f64))]);
        self.gauge(
            "offered_asked_launches_per_second",
            "Launches a second asked for, in the last ten seconds; none where the server decides",
            [([], pulse.recent.asked_per_s)],
        );
        self.gauge(
            "offered_sent_launches_per_second",
            "Launches a second sent, in the last ten seconds",
            [([], pulse.recent.sent_per_s)],
        );
        self.gauge(
            "offered_gaps_cov",
            "Coefficient of variation of the gaps between launches; 1 for a Poisson process",
            [([], pulse.cov)],
        );
        let keeps_up = pulse.growth.map(|growth| f64::from(u8::from(!growth.outrun)));
        self.gauge(
            "offered_keeps_up",
            "Whether the system keeps up with its load: 1, or 0 where the number under way grows beyond chance",
            [([], keeps_up)],
        );
        let is = |judgement| Some(f64::from(u8::from(judgement == pulse.judgement)));
        self.gauge(
            "offered_verdict",
            "The verdict on the launches as it stands: 1 for the one that it is",
            Judgement::ALL.map(|judgement| ([("verdict", judgement.name())], is(judgement))),
        );
        let thresholds: Vec<_> = pulse
            .thresholds
            .iter()
            .map(|checked| {
                let kept = checked.judgement != Judgement::Fails;
                let known = checked.judgement != Judgement::NotChecked;
                (checked.threshold.to_string(), known.then_some(f64::from(u8::from(kept))))
            })
            .collect();
        self.gauge(
            "offered_threshold_kept",
            "Whether a threshold holds so far: 1, or 0",
            thresholds.iter().map(|(threshold, kept)| ([("threshold", threshold.as_str())], *kept)),
        );
        let Some(totals) = &pulse.totals else { return };
        let by_outcome = |counts: fn(&Total) -> Vec<(Outcome, u64)>| {
            totals.requests.iter().flat_map(move |total| {
                let tags = move |outcome: Outcome| [("request", total.name.as_str()), ("outcome", outcome.name())];
                counts(total).into_iter().map(move |(outcome, n)| (tags(outcome), n))
            })
        };
        let (launches, objects) =
            (|total: &Total| total.outcomes().collect(), |total: &Total| total.objects().collect());
        self.counter("offered_requests", "Launches that are through, by how they ended", by_outcome(launches));
        self.counter("offered_objects", "Objects of pages that are through, by how they ended", by_outcome(objects));
        let by_request = |cells: fn(&Total) -> &Cells| {
            totals.requests.iter().map(move |total| ([("request", total.name.as_str())], cells(total)))
        };
        self.histogram(
            "offered_response_seconds",
            "Time from the instant a launch was meant for to the end of its answer, of good answers",
            by_request(|total| &total.response),
        );
        self.histogram(
            "offered_service_seconds",
            "Time from the sending of a launch to the end of its answer, of good answers",
            by_request(|total| &total.service),
        );
        self.histogram(
            "offered_lateness_seconds",
            "Time from the instant a launch was meant for to its sending",
            [([], &totals.lateness)],
        );
    }

    /// Values that there are; without any nothing is said of them.
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
        // To OpenMetrics the suffix is no part of the name; in the older form it is.
        let (family, suffix) = match self.form {
            Form::OpenMetrics => (name.to_owned(), "_total"),
            Form::Plain => (format!("{name}_total"), ""),
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
        histograms: impl IntoIterator<Item = (Tags<'a, N>, &'a Cells)>,
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

/// As both forms spell a finite number. A bound is the same text in every scrape, or it would be another series.
fn number(value: f64) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
