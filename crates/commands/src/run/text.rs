//! The result of a run as text: the first screen, and with `--details` outcomes, arrivals, times and every test.

use std::fmt;

use offered_base::{count, short};
use offered_events::RunId;
use offered_experiment::{Millis, Summary};
use offered_report::VerdictLines;
use offered_report::format::number;
use offered_schedule::{Count, Sessions};
use offered_verify::{StabilityState, Verdict};
use offered_workload::Workload;

use crate::screen::{Fact, Screen, failure_facts};
use crate::table::Table;
use crate::token_facts;
use crate::verify::text::Details;
use crate::verify::{policies, scenarios, visits};

/// A summary as text.
pub(crate) struct Text<'a> {
    pub(crate) summary: &'a Summary,
    /// The run ID, if requests contain it.
    pub(crate) run: Option<&'a RunId>,
    pub(crate) verdict: &'a Verdict,
    pub(crate) workload: &'a Workload,
    /// Whether to show everything that is known.
    pub(crate) details: bool,
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.summary;
        let (thresholds, failures) = (&s.thresholds[..], &s.failures[..]);
        let (verdict, target_rate_per_s, states_expected) = (self.verdict, s.target_rate_per_s, false);
        let saved = self.saved();
        let screen = Screen {
            verdict: VerdictLines { verdict, thresholds, failures, target_rate_per_s, states_expected },
            requests: &s.requests,
            failures: failure_facts(failures, verdict.window.excluded > 0, self.details),
            facts: self.facts(),
            warnings: &s.warnings,
            reserved: saved.len(),
            details: self.details,
        };
        screen.lines().iter().try_for_each(|line| writeln!(f, "{line}"))?;
        policies::write(f, self.verdict)?;
        scenarios::write(f, self.verdict)?;
        if self.details {
            self.details(f)?;
        }
        saved.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl Text<'_> {
    fn facts(&self) -> Vec<Fact> {
        let mut facts = Vec::new();
        facts.extend(self.summary.tokens.iter().flat_map(token_facts::facts));
        facts.extend(self.summary.visits.as_ref().map(|visits| Fact::new("visits", visits.text())));
        facts.extend(self.verdict.attempts.as_ref().map(|attempts| Fact::new("retried", attempts.text())));
        facts.extend(self.summary.on_the_wire.text().map(|text| Fact::new("on the wire", text)));
        facts.extend(self.pages());
        facts.extend(self.summary.set_load.as_ref().map(|set| Fact::new("set load", set.text())));
        facts.push(self.load());
        facts
    }

    /// System model, limits and seed, and the rates if no line of the verdict contains them.
    fn load(&self) -> Fact {
        let s = self.summary;
        let mut text = model(self.workload).to_owned();
        if let Sessions::Closed(closed) = self.workload.sessions()
            && closed.pace().is_some()
        {
            text += &format!(", at most {}", rate(closed.max_rate_per_s()));
        }
        if s.stability.is_none() {
            text += &format!(", sent {}, completed {}", rate(s.sent_rate_per_s), rate(s.completed_rate_per_s));
        }
        match self.workload.count() {
            None => {}
            Some(Count::Requests(n)) => text += &format!("; at most {} requests", count(n)),
            Some(Count::Sessions(n)) => text += &format!("; at most {} sessions", count(n)),
        }
        text += &format!("; seed {}", s.seed);
        if let Some(run) = self.run {
            text += &format!("; run id {run}");
        }
        Fact::new("load", text)
    }

    /// Pages with their objects.
    fn pages(&self) -> Option<Fact> {
        let pages = self.summary.pages.as_ref()?;
        let (failed, objects_failed) = (count(pages.failed), count(pages.objects_failed));
        Some(Fact::new(
            "pages",
            format!(
                "{}, {failed} failed; {} objects, {objects_failed} failed; page time p50 {} ms, p95 {} ms, p99 {} ms",
                count(pages.pages),
                count(pages.objects),
                short(pages.response_p50_ms),
                short(pages.response_p95_ms),
                short(pages.response_p99_ms)
            ),
        ))
    }

    /// The directory of the recording, and the commands that read it.
    fn saved(&self) -> Vec<String> {
        let Some(out) = &self.summary.directory else { return Vec::new() };
        [Fact::new("saved", out), Fact::new("next", format!("offered report {out} -o report.html"))]
            .iter()
            .flat_map(Fact::lines)
            .collect()
    }

    /// The parts that `--details` adds: outcomes, arrivals, times, Little's law, tests.
    fn details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        for fact in self.outcomes().into_iter().chain(self.arrivals()).chain([self.little()]) {
            fact.lines().iter().try_for_each(|line| writeln!(f, "{line}"))?;
        }
        self.times(f)?;
        visits::write(f, self.verdict)?;
        writeln!(f, "{}", Details(self.verdict))
    }

    fn outcomes(&self) -> Vec<Fact> {
        let s = self.summary;
        let outcomes: Vec<String> = s.outcomes.iter().map(|(name, n)| format!("{name} {}", count(*n))).collect();
        let statuses: Vec<String> = s.statuses.iter().map(|(status, n)| format!("{status}: {}", count(*n))).collect();
        let rows = if s.rows == 0 { String::new() } else { format!("; {} rows", count(s.rows)) };
        let bytes = format!("{} in, {} out{rows}", count(s.bytes_in), count(s.bytes_out));
        let mut facts =
            vec![Fact::new("requests", format!("{}, {} not sent", count(s.total_requests), count(s.unsent)))];
        facts.push(Fact::new("outcomes", outcomes.join(", ")));
        if !statuses.is_empty() {
            facts.push(Fact::new("statuses", statuses.join(", ")));
        }
        facts.extend(self.ok_and_failed_rates());
        facts.push(Fact::new("bytes", bytes));
        if let Some(pages) = &s.pages {
            let (pages, objects) = (number(pages.pages_per_s), number(pages.objects_per_s));
            facts.push(Fact::new("page rate", format!("{pages}/s with {objects} objects/s")));
        }
        facts
    }

    /// Rates of successful and failed requests; `None` if none failed.
    fn ok_and_failed_rates(&self) -> Option<Fact> {
        let total = self.summary.requests.last().filter(|total| total.failed > 0)?;
        let time = Some(self.verdict.window.end_s - self.verdict.window.start_s).filter(|time| *time > 0.0)?;
        let [ok, failed] = [total.ok, total.failed].map(|n| number(n as f64 / time));
        Some(Fact::new("rates", format!("ok {ok}/s, failed {failed}/s")))
    }

    fn arrivals(&self) -> Vec<Fact> {
        let s = self.summary;
        let (a, cov) = (&s.arrivals, |cov: Option<f64>| cov.map_or_else(|| "-".to_owned(), |cov| format!("{cov:.3}")));
        let pattern = a.pattern.name().replace('_', "-");
        let compared = |expected, measured, low, high| {
            let [expected, measured, low, high] = [expected, measured, low, high].map(cov);
            format!("CoV expected {expected}, measured {measured} (95 %: {low} to {high})")
        };
        let mut facts = match &s.sessions {
            None => {
                let covs = compared(a.scheduled_cov, a.measured_cov, a.measured_cov_low, a.measured_cov_high);
                vec![Fact::new("arrivals", format!("{pattern}: {covs}"))]
            }
            Some(of) => {
                let covs = compared(of.scheduled_cov, of.measured_cov, of.cov_low, of.cov_high);
                let [target, sent] = [of.target_rate_per_s, of.sent_rate_per_s].map(rate);
                let sessions = format!("{pattern}: target {target}, sent {sent}; {covs}");
                let [target, sent] = [s.target_rate_per_s, s.sent_rate_per_s].map(rate);
                let requests = format!("target {target}, sent {sent}; CoV measured {}", cov(a.measured_cov));
                vec![Fact::new("sessions", sessions), Fact::new("arrivals", requests)]
            }
        };
        if let Some(late) = &s.lateness_us {
            let [p50, p99, max] = [late.p50, late.p99, late.max].map(number);
            facts.push(Fact::new("lateness", format!("p50 {p50} us, p99 {p99} us, max {max} us")));
        }
        if let Some(error) = &s.generator_error {
            let percent = |share: f64| format!("{} %", number(100.0 * share));
            // A run with streams has more percentiles than find room.
            let is_shown = |percentile: f64| error.streams.is_empty() || percentile == 99.0;
            let shares = error.percentiles.iter().filter(|of| is_shown(of.percentile));
            let shares = shares.map(|of| format!("p{} {}", of.percentile, percent(of.upper_bound().min(1.0))));
            let streams = error.streams.iter().filter(|of| is_shown(of.percentile));
            let streams =
                streams.map(|of| format!("{} p{} {}", of.metric, of.percentile, percent(of.share().min(1.0))));
            let (shares, tolerance) = (shares.chain(streams).collect::<Vec<_>>().join(", "), percent(error.tolerance));
            facts.push(Fact::new("generator", format!("error at most {shares}; tolerance {tolerance}")));
        }
        facts
    }

    fn times(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(["ms", "mean", "sdev", "p50", "p90", "p95", "p99", "p99.9", "max"]);
        let s = self.summary;
        let mut row = |name: &str, numbers: [f64; 8]| {
            let [mean, sdev, p50, p90, p95, p99, p999, max] = numbers.map(number);
            table.row([name.to_owned(), mean, sdev, p50, p90, p95, p99, p999, max]);
        };
        let all = [
            ("response, ok", &s.response_ms),
            ("service, ok", &s.service_ms),
            ("handshake", &s.handshake_ms),
            ("connection wait", &s.connection_wait_ms),
        ];
        for (name, times) in all {
            if let Some(Millis { mean, sdev, p50, p90, p95, p99, p999, max, .. }) = times {
                row(name, [*mean, *sdev, *p50, *p90, *p95, *p99, *p999, *max]);
            }
        }
        if let Some(t) = self.verdict.failures.last() {
            row(
                "response, failed",
                [t.mean_ms, t.sdev_ms, t.p50_ms, t.p90_ms, t.p95_ms, t.p99_ms, t.p999_ms, t.max_ms],
            );
        }
        if let Some(tokens) = &s.tokens {
            for t in tokens.times.iter().filter(|row| row.label != "response") {
                row(&t.label, [t.mean_ms, t.sdev_ms, t.p50_ms, t.p90_ms, t.p95_ms, t.p99_ms, t.p999_ms, t.max_ms]);
            }
        }
        write!(f, "\n{table}")
    }

    /// The figures of Little's law, or the reason why it does not apply.
    fn little(&self) -> Fact {
        let q = &self.summary.queue;
        let text = match (q.rate_per_s, q.response_ms, q.concurrency) {
            (Some(rate), Some(response), Some(concurrency)) => {
                let [rate, response, concurrency] = [rate, response, concurrency].map(number);
                format!("Q = lambda R = {rate}/s x {response} ms = {concurrency}")
            }
            _ => {
                let state = self.summary.stability.map(|stability| stability.state);
                let overloaded = state == Some(StabilityState::Overloaded);
                let why = if overloaded { "the system is overloaded" } else { "too few completed requests" };
                return Fact::new("Little", format!("Q = lambda R does not apply: {why}"));
            }
        };
        let users = match (q.think_ms, q.users, q.rort) {
            (Some(think), Some(users), Some(rort)) => {
                format!("; Z {} ms, N = lambda (R + Z) = {}, RoRT {rort:.3}", number(think), number(users))
            }
            _ => String::new(),
        };
        Fact::new("Little", text + &users)
    }
}

fn rate(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".to_owned(), |rate| format!("{}/s", number(rate)))
}

/// Name of the system model.
pub(crate) fn model(workload: &Workload) -> &'static str {
    match workload.sessions() {
        Sessions::Open(_) => "open",
        Sessions::PartlyOpen { .. } => "partly-open",
        Sessions::Closed(_) => "closed",
        Sessions::Replay(_) => "replay",
        Sessions::Scenarios(_) => "scenarios",
    }
}
