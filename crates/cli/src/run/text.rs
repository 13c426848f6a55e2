//! The result of a run as text: verdict, load, requests, failures, arrivals, times, warnings.

use std::fmt;

use offered_base::visible;
use offered_events::RunId;
use offered_experiment::{Millis, Summary};
use offered_report::VerdictLines;
use offered_report::format::number;
use offered_schedule::Count;
use offered_schedule::Sessions;
use offered_verify::{RequestStats, StabilityState, Verdict};
use offered_workload::Workload;

use crate::table::{Table, clipped, wrapped};
use crate::verify::policies;
use crate::verify::text::Details;
use crate::{messages, verdict_lines};

/// Number of requests shown; the JSON document has all.
const REQUESTS: usize = 20;

/// Number of failures shown; the JSON document has all.
const FAILURES: usize = 5;

/// A summary as text.
pub(crate) struct Text<'a> {
    pub(crate) summary: &'a Summary,
    /// The run ID, if requests contain it.
    pub(crate) run: Option<&'a RunId>,
    pub(crate) verdict: &'a Verdict,
    pub(crate) workload: &'a Workload,
    /// Whether to show every statistical test.
    pub(crate) details: bool,
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.summary;
        let (thresholds, failures) = (&s.thresholds[..], &s.failures[..]);
        let (verdict, target_rate_per_s, states_expected) = (self.verdict, s.target_rate_per_s, false);
        verdict_lines::write(f, VerdictLines { verdict, thresholds, failures, target_rate_per_s, states_expected })?;
        writeln!(f)?;
        self.load(f)?;
        self.requests(f)?;
        self.endings(f)?;
        policies::write(f, self.verdict)?;
        self.arrivals(f)?;
        self.times(f)?;
        self.traffic(f)?;
        if self.details {
            write!(f, "{}", Details(self.verdict))?;
        }
        for warning in s.warnings.iter().filter(|warning| !verdict_lines::states(warning)) {
            writeln!(f)?;
            wrapped(f, "warning: ", &warning.message)?;
            wrapped(f, "fix:     ", &messages::fix(warning))?;
        }
        if let Some(out) = &s.directory {
            writeln!(f, "\nsaved       {out}        next: offered report {out} -o report.html")?;
        }
        Ok(())
    }
}

impl Text<'_> {
    fn load(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.summary;
        if let Some(set) = &s.set_load {
            writeln!(f, "  set load   {}", set.text())?;
        }
        let model = model(self.workload);
        let target =
            s.target_rate_per_s.map_or_else(|| closed_target(self.workload), |rate| format!("{}/s", number(rate)));
        // Sent and completed rates of the same seconds.
        let sent = s.stability.map(|stability| stability.sent_rate_per_s).or(s.sent_rate_per_s);
        let (sent, completed) = (rate(sent), rate(s.completed_rate_per_s));
        let ok = self.ok_and_failed_rates().unwrap_or_default();
        let run = self.run.map_or(String::new(), |run| format!(", run id {run}"));
        writeln!(
            f,
            "  load       {model}, target {target}, sent {sent}{ok}, completed {completed}, seed {}{run}",
            s.seed
        )?;
        let most = match self.workload.count() {
            None => String::new(),
            Some(Count::Requests(n)) => format!("; at most {n} in all"),
            Some(Count::Sessions(n)) => format!("; at most {n} sessions in all"),
        };
        writeln!(f, "  requests   {}, of them {} not sent{most}", s.total_requests, s.unsent)
    }

    /// Rates of successful and failed requests; `None` if none failed.
    fn ok_and_failed_rates(&self) -> Option<String> {
        let total = self.summary.requests.last().filter(|total| total.failed > 0)?;
        let time = Some(self.verdict.window.end_s - self.verdict.window.start_s).filter(|time| *time > 0.0)?;
        let [ok, failed] = [total.ok, total.failed].map(|n| number(n as f64 / time));
        Some(format!(" (ok {ok}/s, failed {failed}/s)"))
    }

    /// A row per request and the total. Of many requests, those with most failures and most requests.
    fn requests(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((total, requests)) = self.summary.requests.split_last() else { return Ok(()) };
        let mut rows: Vec<&RequestStats> = requests.iter().collect();
        rows.sort_by_key(|row| std::cmp::Reverse((row.failed, row.requests)));
        let omitted = rows.len().saturating_sub(REQUESTS);
        rows.truncate(REQUESTS);
        rows.sort_by(|a, b| a.label.cmp(&b.label));
        // A single request equals the total.
        let shown = if rows.len() > 1 { rows } else { Vec::new() };
        let mut table = Table::new(["  response ms", "requests", "ok", "failed", "p50", "p95", "p99", "max"]);
        for row in shown.into_iter().chain([total]) {
            let name = if row == total { "  total".to_owned() } else { format!("  {}", clipped(&row.label)) };
            let [p50, p95, p99, max] =
                [row.p50_ms, row.p95_ms, row.p99_ms, row.max_ms].map(|n| n.map_or_else(|| "-".to_owned(), number));
            let [requests, ok, failed] = [row.requests, row.ok, row.failed].map(|n| n.to_string());
            table.row([name, requests, ok, failed, p50, p95, p99, max]);
        }
        write!(f, "\n{table}")?;
        if omitted > 0 {
            writeln!(f, "  {omitted} more requests: see --json")?;
        }
        Ok(())
    }

    fn arrivals(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.summary;
        let (a, cov) = (&s.arrivals, |cov: Option<f64>| cov.map_or_else(|| "-".to_owned(), |cov| format!("{cov:.3}")));
        match &s.sessions {
            None => writeln!(
                f,
                "\n  arrivals   {}: CoV expected {}, measured {} (95 %: {} to {})",
                a.pattern.name().replace('_', "-"),
                cov(a.scheduled_cov),
                cov(a.measured_cov),
                cov(a.measured_cov_low),
                cov(a.measured_cov_high)
            )?,
            Some(of) => {
                writeln!(
                    f,
                    "\n  sessions   {}: target {}, sent {}; CoV expected {}, measured {} (95 %: {} to {})",
                    a.pattern.name().replace('_', "-"),
                    rate(of.target_rate_per_s),
                    rate(of.sent_rate_per_s),
                    cov(of.scheduled_cov),
                    cov(of.measured_cov),
                    cov(of.cov_low),
                    cov(of.cov_high)
                )?;
                let (target, sent) = (rate(s.target_rate_per_s), rate(s.sent_rate_per_s));
                writeln!(f, "  requests   target {target}, sent {sent}; CoV measured {}", cov(a.measured_cov))?;
            }
        }
        if let Some(late) = &s.lateness_us {
            writeln!(
                f,
                "  lateness   p50 {} us, p99 {} us, max {} us",
                number(late.p50),
                number(late.p99),
                number(late.max)
            )?;
        }
        if let Some(effect) = &s.generator_error {
            let percent = |share: f64| format!("{} %", number(100.0 * share.min(1.0)));
            let shares =
                effect.percentiles.iter().map(|of| format!("p{} {}", of.percentile, percent(of.upper_bound())));
            let shares = shares.collect::<Vec<_>>().join(", ");
            writeln!(f, "  generator error  at most {shares}; tolerance {}", percent(effect.tolerance))?;
        }
        Ok(())
    }

    fn times(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(["  ms", "mean", "sdev", "p50", "p90", "p95", "p99", "p99.9", "max"]);
        let s = self.summary;
        for (name, times) in [
            ("  response", &s.response_ms),
            ("  service", &s.service_ms),
            ("  handshake", &s.handshake_ms),
            ("  connection wait", &s.connection_wait_ms),
        ] {
            if let Some(Millis { mean, sdev, p50, p90, p95, p99, p999, max, .. }) = times {
                let numbers = [mean, sdev, p50, p90, p95, p99, p999, max].map(|n| number(*n));
                let [mean, sdev, p50, p90, p95, p99, p999, max] = numbers;
                table.row([name.to_owned(), mean, sdev, p50, p90, p95, p99, p999, max]);
            }
            if let Some(t) = self.verdict.failures.last().filter(|_| name == "  response") {
                let numbers = [t.mean_ms, t.sdev_ms, t.p50_ms, t.p90_ms, t.p95_ms, t.p99_ms, t.p999_ms, t.max_ms];
                let [mean, sdev, p50, p90, p95, p99, p999, max] = numbers.map(number);
                table.row(["  failed".to_owned(), mean, sdev, p50, p90, p95, p99, p999, max]);
            }
        }
        write!(f, "\n{table}")
    }

    fn endings(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.summary;
        let outcomes: Vec<String> = s.outcomes.iter().map(|(name, n)| format!("{name} {n}")).collect();
        writeln!(f, "\n  outcomes   {}", outcomes.join(", "))?;
        if !s.statuses.is_empty() {
            let statuses: Vec<String> = s.statuses.iter().map(|(status, n)| format!("{status} {n}")).collect();
            writeln!(f, "  statuses   {}", statuses.join(", "))?;
        }
        for failure in s.failures.iter().take(FAILURES) {
            let label = failure.label.as_deref().map_or(String::new(), |label| format!("{}: ", visible(label)));
            let status = failure.status.map_or(String::new(), |status| format!(" {status}"));
            let why = failure.reason.as_deref().map_or(String::new(), |error| format!(", {}", visible(error)));
            writeln!(f, "{:>10}   {label}{}{status}{why}", failure.n, failure.outcome)?;
        }
        let more: u64 = s.failures.iter().skip(FAILURES).map(|failure| failure.n).sum();
        if more > 0 {
            writeln!(f, "{more:>10}   of other kinds: see --json")?;
        }
        Ok(())
    }

    fn traffic(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.summary;
        let rows = if s.rows == 0 { String::new() } else { format!("; {} rows", s.rows) };
        writeln!(f, "\n  bytes      {} in, {} out{rows}", s.bytes_in, s.bytes_out)?;
        if let Some(p) = &s.pages {
            writeln!(
                f,
                "  pages      {}/s with {} objects/s; page time mean {} ms, p50 {}, p95 {}, p99 {}, max {}",
                number(p.pages_per_s),
                number(p.objects_per_s),
                number(p.response_mean_ms),
                number(p.response_p50_ms),
                number(p.response_p95_ms),
                number(p.response_p99_ms),
                number(p.response_max_ms)
            )?;
            writeln!(
                f,
                "             {} of {} pages failed, {} of {} objects",
                p.failed, p.pages, p.objects_failed, p.objects
            )?;
        }
        self.little(f)
    }

    /// Little's law, or why it does not apply.
    fn little(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let q = &self.summary.queue;
        let (Some(rate), Some(response), Some(concurrency)) = (q.rate_per_s, q.response_ms, q.concurrency) else {
            let overloaded =
                self.summary.stability.is_some_and(|stability| stability.state == StabilityState::Overloaded);
            let why = if overloaded { "the system is overloaded" } else { "too few completed requests" };
            return writeln!(f, "  Little     Q = lambda R does not apply: {why}");
        };
        write!(
            f,
            "  Little     Q = lambda R = {}/s x {} ms = {}",
            number(rate),
            number(response),
            number(concurrency)
        )?;
        if let (Some(think), Some(users), Some(rort)) = (q.think_ms, q.users, q.rort) {
            write!(f, "; Z {} ms, N = lambda (R + Z) = {}, RoRT {rort:.3}", number(think), number(users))?;
        }
        writeln!(f)
    }
}

/// The target rate of a closed system, which depends on the server.
fn closed_target(workload: &Workload) -> String {
    match workload.sessions() {
        Sessions::Closed(closed) if closed.pace().is_some() => {
            format!("at most {}, limited by the server", rate(closed.most_per_s()))
        }
        _ => "limited by the server".to_owned(),
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
    }
}
