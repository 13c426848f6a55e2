//! A verdict as text: the first screen, and with `--details` the tables behind it.

use std::fmt::{self, Display, Formatter};

use offered_base::{count, visible};
use offered_experiment::Failure;
use offered_report::VerdictLines;
use offered_verify::{
    Clock, Finding, Incomplete, PairedStats, PercentileError, SizeStats, ThreadStats, TimeStats, Verdict,
};

use super::Judged;
use crate::screen::{Fact, Screen, THRESHOLDS, counted, failure_facts};
use crate::table::{Table, clipped, maybe, wrapped};
use crate::token_facts;
use crate::verdict_lines;

/// Maximum number of rows of a table; `Total` is always among them.
const ROWS: usize = 40;

/// One verdict.
pub(crate) struct Text<'a> {
    pub(crate) verdict: &'a Verdict,
    /// The failures by kind; empty if they were not counted.
    pub(crate) failures: &'a [Failure],
    /// Whether to show all tables and tests.
    pub(crate) details: bool,
    /// Whether to show the resource usage of the server's machines.
    pub(crate) hosts: bool,
}

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (v, details) = (self.verdict, self.details);
        let screen = Screen {
            verdict: self.verdict_lines(),
            requests: &v.requests,
            failures: failure_facts(self.failures, v.window.excluded > 0, details),
            facts: self.facts(),
            warnings: &v.warnings,
            reserved: 0,
            details,
        };
        screen.lines().iter().try_for_each(|line| writeln!(f, "{line}"))?;
        if !v.runs.is_empty() {
            write!(f, "\n{}", Summary(&v.runs.iter().collect::<Vec<_>>()))?;
        }
        if details {
            tables(f, v)?;
        }
        threads(f, &v.by_threads)?;
        super::policies::write(f, v)?;
        super::scenarios::write(f, v)?;
        twin(f, v)?;
        if self.hosts || details {
            super::hosts::write(f, v)?;
        }
        if details {
            write!(f, "{}", Details(v))?;
            let run = |run| write!(f, "\n{}", Text { details, ..Text::of(run) });
            v.runs.iter().try_for_each(run)?;
        }
        Ok(())
    }
}

impl<'a> Text<'a> {
    /// The verdict alone.
    pub(crate) fn of(verdict: &'a Verdict) -> Self {
        Self { verdict, failures: &[], details: false, hosts: false }
    }

    /// What the first lines depend on.
    fn verdict_lines(&self) -> VerdictLines<'a> {
        verdict_lines::input(self.verdict, self.failures)
    }

    fn facts(&self) -> Vec<Fact> {
        let Self { verdict: v, details, hosts, .. } = *self;
        let mut facts = Vec::new();
        facts.extend(v.tokens.iter().flat_map(token_facts::facts));
        facts.extend(v.visits.as_ref().map(|visits| Fact::new("visits", visits.text())));
        facts.extend(v.attempts.as_ref().map(|attempts| Fact::new("retried", attempts.text())));
        facts.extend(v.on_the_wire.and_then(|wire| wire.text()).map(|text| Fact::new("on the wire", text)));
        // Saturation is what an overload needs first; the tables are `--details`.
        let hosts = v.server_side.as_ref().filter(|_| !hosts && !details);
        facts.extend(hosts.map(|side| Fact::new("server", side.saturation.clone())));
        facts.push(Fact::new("file", source(v, details)));
        facts
    }
}

/// Several verdicts: each with its file and first lines, or in full with `--details`, then all side by side.
pub(super) struct Several<'a> {
    pub(super) judged: &'a [Judged],
    pub(super) details: bool,
}

impl Display for Several<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for Judged { verdict, failures, .. } in self.judged {
            let text = Text { failures, details: self.details, ..Text::of(verdict) };
            if self.details {
                writeln!(f, "{text}")?;
                continue;
            }
            wrapped(f, "", &visible(&source(verdict, false)))?;
            verdict_lines::lines(text.verdict_lines(), THRESHOLDS).iter().try_for_each(|line| writeln!(f, "{line}"))?;
            let (stated, omitted): (Vec<_>, Vec<_>) =
                verdict.warnings.iter().partition(|warning| verdict_lines::states(warning));
            if let Some(line) = counted(&omitted, !stated.is_empty()) {
                writeln!(f, "{line}")?;
            }
            writeln!(f)?;
        }
        let verdicts: Vec<&Verdict> = self.judged.iter().map(|one| &one.verdict).collect();
        write!(f, "{}", Summary(&verdicts))
    }
}

/// The tables of gaps, times, sizes, clocks and lateness.
fn tables(f: &mut Formatter<'_>, v: &Verdict) -> fmt::Result {
    // Whole milliseconds for a coarse clock, else three decimal places.
    let digits = if v.source.resolution_ms >= 1.0 { 0 } else { 3 };
    times(f, "Gaps between requests (ms)", &v.gaps, digits)?;
    times(f, "Gaps by node (ms)", &v.by_node, digits)?;
    times(f, "Gaps by worker (ms)", &v.by_worker, digits)?;
    clocks(f, &v.clocks)?;
    times(f, "Response times of ok requests (ms)", &v.responses, digits)?;
    times(f, "Response times of failed requests (ms)", &v.failures, digits)?;
    times(f, "Time to first byte (ms)", &v.first_byte, digits)?;
    times(f, "Tokens of streamed responses (ms)", v.tokens.as_ref().map_or(&[], |tokens| &tokens.times[..]), digits)?;
    sizes(f, &v.sizes)?;
    sessions(f, v)?;
    super::visits::write(f, v)?;
    lateness(f, v)?;
    queue(f, v)
}

/// Every statistical test with its numbers.
pub(crate) struct Details<'a>(pub(crate) &'a Verdict);

impl Display for Details<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        findings(f, &self.0.findings)?;
        dispersion(f, self.0)?;
        scheduling(f, self.0)
    }
}

/// What was read and which part of it was judged; with `details`, how its timestamps were understood.
pub(super) fn source(v: &Verdict, details: bool) -> String {
    let (w, s) = (&v.window, &v.source);
    let unit = if s.resolution_ms >= 1.0 {
        format!("{} ms", s.resolution_ms)
    } else {
        format!("{} us", s.resolution_ms * 1e3)
    };
    // The rest is the evidence.
    let stamps =
        s.timestamps.as_deref().map(|stamps| if details { stamps } else { stamps.split(',').next().unwrap_or(stamps) });
    let stamps = stamps.map_or_else(String::new, |stamps| format!(" ({stamps})"));
    format!(
        "{}: {}, timestamps to {unit}{stamps}; {} analysed, from {:.1} s to {:.1} s",
        s.path,
        s.format,
        analysed(v),
        w.start_s,
        w.end_s,
    )
}

/// How many of the requests were analysed, and why the others were not: `4,897 of 6,259 requests (1,362 not sent)`.
fn analysed(v: &Verdict) -> String {
    if v.incomplete.as_ref().is_some_and(Incomplete::is_running) {
        return format!("the {} requests recorded so far", count(v.window.requests));
    }
    let scheduled = v.incomplete.as_ref().and_then(|incomplete| incomplete.scheduled_requests);
    let requests = scheduled.unwrap_or(0).max(v.source.requests);
    let (analysed, excluded) = (v.window.requests, v.window.excluded);
    let others = [(excluded, "excluded"), (requests.saturating_sub(analysed + excluded), v.not_sent_heading())];
    let others: Vec<_> = others.iter().filter(|(n, _)| *n > 0).map(|(n, why)| format!("{} {why}", count(*n))).collect();
    match &others[..] {
        [] => format!("all {} requests", count(requests)),
        _ => format!("{} of {} requests ({})", count(analysed), count(requests), others.join(", ")),
    }
}

fn number(x: f64, digits: usize) -> String {
    format!("{x:.digits$}")
}

fn times(f: &mut Formatter<'_>, title: &str, rows: &[TimeStats], digits: usize) -> fmt::Result {
    let Some(total) = rows.last() else { return Ok(()) };
    writeln!(f, "\n{title}")?;
    // Above ten seconds, one decimal place: tables have 120 columns.
    let digits = if total.max_ms >= 10_000.0 { digits.min(1) } else { digits };
    let fine = digits.max(2);
    let heads = ["label", "n", "/s", "median", "mean", "sdev", "CoV", "p90", "p95", "p99", "min", "max"];
    let with_errors =
        ["label", "n", "/s", "median", "mean", "sdev", "CoV", "p90", "p95", "p99", "max", "%error", "KB/s"];
    let has_errors = total.error_percent.is_some();
    let mut table = if has_errors { Table::new(with_errors) } else { Table::new(heads) };
    for row in shown(rows) {
        let order = [row.p90_ms, row.p95_ms, row.p99_ms, row.min_ms, row.max_ms].map(|x| number(x, digits));
        let [p90, p95, p99, min, max] = order;
        let (mean, sdev) = (number(row.mean_ms, fine), number(row.sdev_ms, fine));
        let head = [clipped(&row.label), row.n.to_string(), maybe(row.rate_per_s, 2), number(row.p50_ms, digits)];
        let [label, n, rate, median] = head;
        let cov = number(row.cov, 2);
        if has_errors {
            let (error, kb) = (maybe(row.error_percent, 2), maybe(row.kb_per_s, 2));
            table.row([label, n, rate, median, mean, sdev, cov, p90, p95, p99, max, error, kb]);
        } else {
            table.row([label, n, rate, median, mean, sdev, cov, p90, p95, p99, min, max]);
        }
    }
    write!(f, "{table}")?;
    if let (Some(low), Some(high)) = (total.cov_low, total.cov_high) {
        writeln!(f, "CoV of {}: {:.3}, 95 % interval {low:.3} to {high:.3}", total.label, total.cov)?;
    }
    Ok(())
}

/// The first rows and the last.
fn shown<T>(rows: &[T]) -> impl Iterator<Item = &T> {
    let last = rows.len() - 1;
    rows.iter().enumerate().filter(move |(i, _)| *i == last || *i < ROWS).map(|(_, row)| row)
}

fn sizes(f: &mut Formatter<'_>, rows: &[SizeStats]) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(f, "\nSizes (bytes)")?;
    let mut table = Table::new(["label", "n", "median", "mean", "sdev", "CoV", "p90", "p95", "p99", "min", "max"]);
    for row in shown(rows) {
        let [median, p90, p95, p99, min, max] =
            [row.p50_bytes, row.p90_bytes, row.p95_bytes, row.p99_bytes, row.min_bytes, row.max_bytes]
                .map(|x| number(x, 0));
        let (mean, sdev, cov) = (number(row.mean_bytes, 2), number(row.sdev_bytes, 2), number(row.cov, 2));
        table.row([clipped(&row.label), row.n.to_string(), median, mean, sdev, cov, p90, p95, p99, min, max]);
    }
    write!(f, "{table}")
}

fn threads(f: &mut Formatter<'_>, rows: &[ThreadStats]) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(f, "\nGaps by number of threads (ms)")?;
    let mut table = Table::new(["threads", "requests", "/s", "mean", "sdev", "CoV"]);
    for row in rows {
        let (rate, mean, sdev) = (number(row.rate_per_s, 2), number(row.mean_ms, 2), number(row.sdev_ms, 2));
        table.row([row.threads.to_string(), row.requests.to_string(), rate, mean, sdev, number(row.cov, 2)]);
    }
    write!(f, "{table}")
}

fn clocks(f: &mut Formatter<'_>, rows: &[Clock]) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(f, "\nClocks relative to worker 1 (ms)")?;
    let mut table = Table::new(["worker", "synchronised", "max error", "offset", "drift", "uncertainty"]);
    for row in rows {
        let synchronised = row.synchronised.map_or("-", |is| if is { "yes" } else { "no" });
        let [error, ahead, drift, within] =
            [row.max_error_ms, row.offset_ms, row.drift_ms, row.offset_uncertainty_ms].map(|ms| maybe(ms, 3));
        table.row([clipped(&row.label), synchronised.to_owned(), error, ahead, drift, within]);
    }
    write!(f, "{table}")
}

fn sessions(f: &mut Formatter<'_>, v: &Verdict) -> fmt::Result {
    let Some(of) = &v.sessions else { return Ok(()) };
    writeln!(f, "\nSessions, by their first requests")?;
    let mut table = Table::new(["n", "target/s", "sent/s", "CoV expected", "CoV measured", "low", "high"]);
    let rates = [of.target_rate_per_s, of.sent_rate_per_s].map(|rate| maybe(rate, 2));
    let covs = [of.scheduled_cov, of.measured_cov, of.cov_low, of.cov_high].map(|cov| maybe(cov, 3));
    let ([target_rate, sent_rate], [expected, measured, low, high]) = (rates, covs);
    table.row([of.n.to_string(), target_rate, sent_rate, expected, measured, low, high]);
    write!(f, "{table}")
}

fn lateness(f: &mut Formatter<'_>, v: &Verdict) -> fmt::Result {
    let Some(late) = &v.lateness else { return Ok(()) };
    let [p50, p90, p99, max] = [late.p50_us, late.p90_us, late.p99_us, late.max_us].map(|us| number(us, 1));
    let (unsent, all) = (count(late.unsent), count(late.unsent + late.n));
    writeln!(f)?;
    let head = "Lateness (us): ";
    wrapped(f, head, &format!("p50 {p50}, p90 {p90}, p99 {p99}, max {max}; {unsent} of {all} not sent"))?;
    if let Some(stalls) = &late.stalls {
        writeln!(
            f,
            "Stalls: {} requests were late in {} stalls of up to {:.1} ms",
            stalls.delayed_requests, stalls.count, stalls.longest_ms
        )?;
    }
    if let Some(reading) = &v.reading {
        writeln!(
            f,
            "Reading lateness (us): p50 {:.1}, p90 {:.1}, p99 {:.1}, max {:.1}; of {} responses",
            reading.p50_us, reading.p90_us, reading.p99_us, reading.max_us, reading.n
        )?;
    }
    let Some(effect) = &v.generator_error else { return Ok(()) };
    let percent = |share: f64| format!("{:.2}", 100.0 * share);
    writeln!(f, "\nGenerator error of the response time (ms; tolerance {} %)", percent(effect.tolerance))?;
    let row = |share: &PercentileError| {
        let (with, without) = (number(share.response_ms, 3), number(share.service_ms, 3));
        (format!("p{}", share.percentile), with, without, percent(share.upper_bound()))
    };
    if effect.percentiles.iter().all(|share| share.reading_share.is_none()) {
        let mut table = Table::new(["figure", "response", "without lateness", "generator error %, at most"]);
        for share in &effect.percentiles {
            let (figure, with, without, error) = row(share);
            table.row([figure, with, without, error]);
        }
        return write!(f, "{table}");
    }
    let head = ["figure", "response", "without lateness", "wrote late %", "read late %", "error %, at most"];
    let mut table = Table::new(head);
    for share in &effect.percentiles {
        let (figure, with, without, error) = row(share);
        let [writing, reading] =
            [share.writing_share, share.reading_share].map(|share| share.map_or_else(|| "-".to_owned(), percent));
        table.row([figure, with, without, writing, reading, error]);
    }
    write!(f, "{table}")?;
    if effect.streams.is_empty() {
        return Ok(());
    }
    writeln!(f, "\nGenerator error of streams (ms)")?;
    let mut table = Table::new(["figure", "value", "without delays, least", "largest", "generator error, at most"]);
    for error in &effect.streams {
        let times = [error.value_ms, error.least_ms, error.most_ms, error.error_ms].map(|ms| number(ms, 3));
        let [value, least, most, error_ms] = times;
        table.row([format!("{} p{}", error.metric, error.percentile), value, least, most, error_ms]);
    }
    write!(f, "{table}")
}

fn queue(f: &mut Formatter<'_>, v: &Verdict) -> fmt::Result {
    let q = &v.queue;
    if q.concurrency.is_none() {
        return Ok(());
    }
    writeln!(f, "\nLittle's law (times in ms)")?;
    let mut table = Table::new(["lambda /s", "R", "Q = lambda R", "Z", "N = lambda (R+Z)", "users observed", "RoRT"]);
    let seen = q.users_observed.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let (rate, response, think) = (maybe(q.rate_per_s, 2), maybe(q.response_ms, 2), maybe(q.think_ms, 1));
    table.row([rate, response, maybe(q.concurrency, 2), think, maybe(q.users, 1), seen, maybe(q.rort, 4)]);
    write!(f, "{table}")
}

/// The run beside its simulation.
fn twin(f: &mut Formatter<'_>, v: &Verdict) -> fmt::Result {
    let Some(twin) = &v.twin else { return Ok(()) };
    writeln!(f, "\nCompared with its simulation: {} (ms)", twin.model)?;
    if !twin.requests.is_empty() {
        let heads = ["label", "pairs", "response", "low", "high", "simulated", "ratio", "low", "high", "correlation"];
        let mut table = Table::new(heads);
        for row in shown(&twin.requests) {
            let PairedStats { response_low_ms, response_high_ms, model_ms, correlation, .. } = *row;
            table.row([
                clipped(&row.label),
                row.n.to_string(),
                number(row.response_ms, 3),
                maybe(response_low_ms, 3),
                maybe(response_high_ms, 3),
                number(model_ms, 3),
                maybe(row.ratio, 3),
                maybe(row.ratio_low, 3),
                maybe(row.ratio_high, 3),
                maybe(correlation, 3),
            ]);
        }
        write!(f, "{table}")?;
    }
    twin.sentences().iter().try_for_each(|sentence| wrapped(f, "", sentence))
}

fn findings(f: &mut Formatter<'_>, findings: &[Finding]) -> fmt::Result {
    writeln!(f, "\nFindings")?;
    let mut table = Table::new(["finding", "estimate", "low", "high", "statistic", "p", "result"]);
    for finding in findings {
        let p =
            finding.p_value.map_or_else(|| "-".to_owned(), |p| if p < 1e-4 { "<0.0001".into() } else { number(p, 4) });
        let (estimate, low, high) = (maybe(finding.estimate, 3), maybe(finding.low, 3), maybe(finding.high, 3));
        let result = finding.result.name().to_owned();
        table.row([finding.check.name().to_owned(), estimate, low, high, maybe(finding.statistic, 3), p, result]);
    }
    write!(f, "{table}")
}

fn dispersion(f: &mut Formatter<'_>, v: &Verdict) -> fmt::Result {
    if v.dispersion.is_empty() {
        return Ok(());
    }
    writeln!(f, "\nDispersion of counts (variance / mean; 1 for Poisson in every window)")?;
    let mut table = Table::new(["window", "IDC", "low", "high"]);
    for rung in &v.dispersion {
        let window = format!("{} s", rung.window_s);
        table.row([window, number(rung.idc, 3), number(rung.low, 3), number(rung.high, 3)]);
    }
    write!(f, "{table}")
}

/// How the operating system scheduled the sending threads.
fn scheduling(f: &mut Formatter<'_>, v: &Verdict) -> fmt::Result {
    if v.scheduling.is_empty() {
        return Ok(());
    }
    writeln!(f, "\nPriority of the sending threads")?;
    v.scheduling.iter().try_for_each(|of| wrapped(f, "", &format!("{} requested, granted {of}", of.requested)))
}

/// Several verdicts side by side: Figures 12 and 16 of Brady and Gunther. The gaps are those between requests.
pub(super) struct Summary<'a>(pub(super) &'a [&'a Verdict]);

impl Display for Summary<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "Side by side")?;
        let heads = ["file", "result", "n", "/s", "CoV", "95 %", "R ms", "pattern", "mean ms", "sdev ms", "RoRT"];
        let mut table = Table::new(heads).with_whole_names();
        for v in self.0 {
            let total = v.gaps.last();
            let cell = |get: fn(&TimeStats) -> f64, digits| maybe(total.map(get), digits);
            let name = v.source.path.rsplit('/').next().unwrap_or_default();
            let [low, high] = [total.and_then(|row| row.cov_low), total.and_then(|row| row.cov_high)];
            table.row([
                clipped(name),
                v.validity.heading().to_owned(),
                count(total.map_or(0, |total| total.n)),
                maybe(total.and_then(|row| row.rate_per_s), 2),
                cell(|row| row.cov, 2),
                low.zip(high).map_or_else(|| "-".to_owned(), |(low, high)| format!("{low:.2} to {high:.2}")),
                maybe(v.queue.response_ms, 2),
                v.pattern.name().replace('_', "-"),
                cell(|row| row.mean_ms, 2),
                cell(|row| row.sdev_ms, 2),
                maybe(v.queue.rort, 3),
            ]);
        }
        write!(f, "{table}")
    }
}
