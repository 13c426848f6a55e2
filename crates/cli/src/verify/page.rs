//! The page a person reads: the verdict on its first line, then the tables it rests on.

use std::fmt::{self, Display, Formatter};

use offered_verify::{Clock, Finding, Judgement, KeepsUp, Paired, Sizes, Threads, Times, Verdict};

use crate::table::{Table, clipped};
use crate::words;

/// Tables of labels show no more than these; `Total` is always among them.
const ROWS: usize = 40;

/// One verdict, with the tests it rests on where `details` are wanted.
pub(crate) struct Page<'a> {
    pub(crate) verdict: &'a Verdict,
    pub(crate) details: bool,
}

impl Display for Page<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let v = self.verdict;
        writeln!(f, "{}: {}", v.source.path, headline(v))?;
        if let Some(told) = v.requests.last().and_then(words::failures) {
            writeln!(f, "FAILURES: {told}")?;
        }
        if let Some(k) = v.keeps_up.filter(|keeps_up| keeps_up.judgement == Judgement::Fails) {
            writeln!(f, "DOES NOT KEEP UP: {}", flow(&k))?;
            writeln!(f, "Little's law does not apply, and the responses depend on how long the run lasts")?;
        }
        source(f, v)?;
        // The remedy of what the first line says comes first, without saying it again.
        let (told, untold): (Vec<_>, Vec<_>) = v.warnings.iter().partition(|warning| warning.told);
        for warning in told.into_iter().chain(untold) {
            if !warning.told {
                wrapped(f, "doubt:  ", &warning.doubt)?;
            }
            wrapped(f, "remedy: ", &words::remedy(warning))?;
        }
        if !v.runs.is_empty() {
            write!(f, "{}", Summary(&v.runs))?;
        }
        // Milliseconds of a coarse clock are whole; of a fine one three digits are shown.
        let digits = if v.source.resolution_ms >= 1.0 { 0 } else { 3 };
        times(f, "Gaps between launches (ms)", &v.launches, digits)?;
        times(f, "Gaps of each node's launches (ms)", &v.by_node, digits)?;
        times(f, "Gaps of each worker's launches (ms)", &v.by_worker, digits)?;
        clocks(f, &v.clocks)?;
        times(f, "Responses (ms)", &v.responses, digits)?;
        times(f, "Responses that failed (ms)", &v.failures, digits)?;
        times(f, "First bytes (ms)", &v.first_byte, digits)?;
        sizes(f, &v.sizes)?;
        threads(f, &v.by_threads)?;
        sessions(f, v)?;
        lateness(f, v)?;
        keeps_up(f, v)?;
        queue(f, v)?;
        super::policies::write(f, v)?;
        twin(f, v)?;
        super::hosts::write(f, v)?;
        if self.details {
            write!(f, "{}", Details(v))?;
        }
        for run in &v.runs {
            writeln!(f, "\n{}", Page { verdict: run, details: self.details })?;
        }
        Ok(())
    }
}

/// Every test with its numbers.
pub(crate) struct Details<'a>(pub(crate) &'a Verdict);

impl Display for Details<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        findings(f, &self.0.tests)?;
        dispersion(f, self.0)
    }
}

fn headline(v: &Verdict) -> String {
    match v.judgement {
        Judgement::Holds => format!("{} holds - {}", v.meant.arrivals, v.because),
        Judgement::HoldsWithDoubt => format!("{} holds with a doubt - {}", v.meant.arrivals, v.because),
        Judgement::Fails => format!("{} FAILS ({}) - {}", v.meant.arrivals, v.pattern.name(), v.because),
        Judgement::NotChecked => format!("{} not checked ({}) - {}", v.meant.arrivals, v.pattern.name(), v.because),
    }
}

fn source(f: &mut Formatter<'_>, v: &Verdict) -> fmt::Result {
    let (w, s) = (&v.window, &v.source);
    writeln!(
        f,
        "{}, {} rows, stamps to {}{}; judged {} launches from {:.1} s to {:.1} s, left out {}",
        s.format,
        s.rows,
        if s.resolution_ms >= 1.0 {
            format!("{} ms", s.resolution_ms)
        } else {
            format!("{} us", s.resolution_ms * 1e3)
        },
        s.stamps.as_ref().map_or_else(String::new, |stamps| format!(" ({stamps})")),
        w.launches,
        w.from_s,
        w.to_s,
        w.left_out
    )?;
    // The plain case, Poisson, needs no words.
    match v.meant.expected_cov {
        Some(cov) if cov != 1.0 => writeln!(f, "meant: {}; the CoV to expect is {cov:.3}", v.meant.arrivals),
        _ => Ok(()),
    }
}

fn number(x: f64, digits: usize) -> String {
    format!("{x:.digits$}")
}

pub(super) fn maybe(x: Option<f64>, digits: usize) -> String {
    x.map_or_else(|| "-".to_owned(), |x| number(x, digits))
}

fn times(f: &mut Formatter<'_>, title: &str, rows: &[Times], digits: usize) -> fmt::Result {
    let Some(total) = rows.last() else { return Ok(()) };
    writeln!(f, "\n{title}")?;
    // Beyond ten seconds microseconds are noise, and the page has 120 columns.
    let digits = if total.max_ms >= 10_000.0 { digits.min(1) } else { digits };
    let fine = digits.max(2);
    let cells = |row: &Times| {
        let order = [row.p90_ms, row.p95_ms, row.p99_ms, row.min_ms, row.max_ms].map(|x| number(x, digits));
        let [p90, p95, p99, min, max] = order;
        let (mean, sdev) = (number(row.mean_ms, fine), number(row.sdev_ms, fine));
        let head = [clipped(&row.label), row.n.to_string(), maybe(row.rate_per_s, 2), number(row.median_ms, digits)];
        let [label, n, rate, median] = head;
        [label, n, rate, median, mean, sdev, number(row.cov, 2), p90, p95, p99, min, max]
    };
    let heads = ["label", "n", "/s", "median", "mean", "sdev", "CoV", "p90", "p95", "p99", "min", "max"];
    if total.error_percent.is_some() {
        let mut table = Table::new([
            "label", "n", "/s", "median", "mean", "sdev", "CoV", "p90", "p95", "p99", "max", "%error", "KB/s",
        ]);
        for row in shown(rows) {
            let [label, n, rate, median, mean, sdev, cov, p90, p95, p99, _, max] = cells(row);
            let (error, kb) = (maybe(row.error_percent, 2), maybe(row.kb_per_s, 2));
            table.row([label, n, rate, median, mean, sdev, cov, p90, p95, p99, max, error, kb]);
        }
        write!(f, "{table}")
    } else {
        let mut table = Table::new(heads);
        for row in shown(rows) {
            table.row(cells(row));
        }
        write!(f, "{table}")?;
        if let (Some(low), Some(high)) = (total.cov_low, total.cov_high) {
            writeln!(f, "CoV of {}: {:.3}, 95 % interval {low:.3} to {high:.3}", total.label, total.cov)?;
        }
        Ok(())
    }
}

/// The first rows and the last.
fn shown<T>(rows: &[T]) -> impl Iterator<Item = &T> {
    let last = rows.len() - 1;
    rows.iter().enumerate().filter(move |(i, _)| *i == last || *i < ROWS).map(|(_, row)| row)
}

fn sizes(f: &mut Formatter<'_>, rows: &[Sizes]) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(f, "\nSizes (bytes)")?;
    let mut table = Table::new(["label", "n", "median", "mean", "sdev", "CoV", "p90", "p95", "p99", "min", "max"]);
    for row in shown(rows) {
        let [median, p90, p95, p99, min, max] =
            [row.median_bytes, row.p90_bytes, row.p95_bytes, row.p99_bytes, row.min_bytes, row.max_bytes]
                .map(|x| number(x, 0));
        let (mean, sdev, cov) = (number(row.mean_bytes, 2), number(row.sdev_bytes, 2), number(row.cov, 2));
        table.row([clipped(&row.label), row.n.to_string(), median, mean, sdev, cov, p90, p95, p99, min, max]);
    }
    write!(f, "{table}")
}

fn threads(f: &mut Formatter<'_>, rows: &[Threads]) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(f, "\nGaps against the number of threads (ms)")?;
    let mut table = Table::new(["threads", "launches", "/s", "mean", "sdev", "CoV"]);
    for row in rows {
        let (rate, mean, sdev) = (number(row.rate_per_s, 2), number(row.mean_ms, 2), number(row.sdev_ms, 2));
        table.row([row.threads.to_string(), row.launches.to_string(), rate, mean, sdev, number(row.cov, 2)]);
    }
    write!(f, "{table}")
}

fn clocks(f: &mut Formatter<'_>, rows: &[Clock]) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(f, "\nClocks beside worker 1's (ms)")?;
    let mut table = Table::new(["worker", "synchronised", "kernel's bound", "ahead", "drift", "known to"]);
    for row in rows {
        let synchronised = row.synchronised.map_or("-", |is| if is { "yes" } else { "no" });
        let [error, ahead, drift, within] =
            [row.error_ms, row.ahead_ms, row.drift_ms, row.within_ms].map(|ms| maybe(ms, 3));
        table.row([clipped(&row.label), synchronised.to_owned(), error, ahead, drift, within]);
    }
    write!(f, "{table}")
}

fn sessions(f: &mut Formatter<'_>, v: &Verdict) -> fmt::Result {
    let Some(of) = &v.sessions else { return Ok(()) };
    writeln!(f, "\nSessions, by their first launches")?;
    let mut table = Table::new(["n", "asked /s", "launched /s", "CoV meant", "CoV sent", "low", "high"]);
    let rates = [of.asked_per_s, of.launched_per_s].map(|rate| maybe(rate, 2));
    let covs = [of.meant_cov, of.sent_cov, of.cov_low, of.cov_high].map(|cov| maybe(cov, 3));
    let ([asked, launched], [meant, sent, low, high]) = (rates, covs);
    table.row([of.n.to_string(), asked, launched, meant, sent, low, high]);
    write!(f, "{table}")
}

fn lateness(f: &mut Formatter<'_>, v: &Verdict) -> fmt::Result {
    let Some(late) = &v.lateness else { return Ok(()) };
    writeln!(
        f,
        "\nLateness (us): p50 {:.1}, p90 {:.1}, p99 {:.1}, max {:.1}; {} of {} never sent",
        late.p50_us,
        late.p90_us,
        late.p99_us,
        late.max_us,
        late.unsent,
        late.unsent + late.n
    )?;
    if let Some(stalls) = &late.stalls {
        writeln!(
            f,
            "Stalls: {} launches left late together in {} of them, of up to {:.1} ms",
            stalls.launches, stalls.count, stalls.longest_ms
        )?;
    }
    let Some(effect) = &v.effect else { return Ok(()) };
    let percent = |share: f64| format!("{:.2}", 100.0 * share);
    writeln!(f, "\nWhat of the responses is the generator's (ms; {} % tolerated)", percent(effect.tolerance))?;
    let mut table = Table::new(["figure", "response", "without lateness", "% at most its doing"]);
    for share in &effect.shares {
        let (with, without) = (number(share.response_ms, 3), number(share.without_lateness_ms, 3));
        table.row([format!("p{}", share.percentile), with, without, percent(share.at_most())]);
    }
    write!(f, "{table}")
}

fn keeps_up(f: &mut Formatter<'_>, v: &Verdict) -> fmt::Result {
    match v.keeps_up.filter(|keeps_up| keeps_up.judgement == Judgement::Holds) {
        Some(k) => writeln!(f, "\nThe system keeps up: {}", flow(&k)),
        None => Ok(()),
    }
}

/// What arrived, what left, and what that did to the number in the system.
fn flow(k: &KeepsUp) -> String {
    format!(
        "launched {:.2}/s, answered {:.2}/s, {}, growing {:.3}/s ({:.3} to {:.3})",
        k.launched_per_s,
        k.answered_per_s,
        k.in_the_system(),
        k.growth_per_s,
        k.growth_low,
        k.growth_high
    )
}

fn queue(f: &mut Formatter<'_>, v: &Verdict) -> fmt::Result {
    let q = &v.queue;
    if q.concurrency.is_none() {
        return Ok(());
    }
    writeln!(f, "\nLittle's law (times in ms)")?;
    let mut table = Table::new(["lambda /s", "R", "Q = lambda R", "Z", "N = lambda (R+Z)", "users seen", "RoRT"]);
    let seen = q.users_seen.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let (rate, response, think) = (maybe(q.rate_per_s, 2), maybe(q.response_ms, 2), maybe(q.think_ms, 1));
    table.row([rate, response, maybe(q.concurrency, 2), think, maybe(q.users, 1), seen, maybe(q.rort, 4)]);
    write!(f, "{table}")
}

/// The run beside its model.
fn twin(f: &mut Formatter<'_>, v: &Verdict) -> fmt::Result {
    let Some(twin) = &v.twin else { return Ok(()) };
    writeln!(f, "\nBeside its model: {} (ms)", twin.model)?;
    if !twin.requests.is_empty() {
        let heads = ["label", "pairs", "R", "low", "high", "R of the model", "ratio", "low", "high", "correlation"];
        let mut table = Table::new(heads);
        for row in shown(&twin.requests) {
            let Paired { response_low_ms, response_high_ms, model_ms, correlation, .. } = *row;
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
    twin.in_words().iter().try_for_each(|sentence| wrapped(f, "", sentence))
}

fn findings(f: &mut Formatter<'_>, findings: &[Finding]) -> fmt::Result {
    writeln!(f, "\nFindings")?;
    let mut table = Table::new(["finding", "estimate", "low", "high", "statistic", "p", "judgement"]);
    for finding in findings {
        let p = finding.p.map_or_else(|| "-".to_owned(), |p| if p < 1e-4 { "<0.0001".into() } else { number(p, 4) });
        let (estimate, low, high) = (maybe(finding.estimate, 3), maybe(finding.low, 3), maybe(finding.high, 3));
        let judgement = finding.judgement.name().to_owned();
        table.row([finding.check.name().to_owned(), estimate, low, high, maybe(finding.statistic, 3), p, judgement]);
    }
    write!(f, "{table}")
}

fn dispersion(f: &mut Formatter<'_>, v: &Verdict) -> fmt::Result {
    if v.dispersion.is_empty() {
        return Ok(());
    }
    writeln!(f, "\nDispersion of counts (variance / mean; 1 for Poisson at every window)")?;
    let mut table = Table::new(["window", "IDC", "low", "high"]);
    for rung in &v.dispersion {
        let window = format!("{} s", rung.window_s);
        table.row([window, number(rung.idc, 3), number(rung.low, 3), number(rung.high, 3)]);
    }
    write!(f, "{table}")
}

/// A paragraph under a heading, in lines of at most a hundred characters.
pub(super) fn wrapped(f: &mut Formatter<'_>, head: &str, text: &str) -> fmt::Result {
    let mut line = head.to_owned();
    for word in text.split_whitespace() {
        if line.chars().count() + word.chars().count() > 99 {
            writeln!(f, "{}", line.trim_end())?;
            line = " ".repeat(head.len());
        }
        line.extend([word, " "]);
    }
    writeln!(f, "{}", line.trim_end())
}

/// Several verdicts side by side: Figures 12 and 16 of Brady and Gunther.
pub(crate) struct Summary<'a>(pub(crate) &'a [Verdict]);

impl Display for Summary<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nSide by side")?;
        let mut table = Table::new([
            "file",
            "n",
            "/s",
            "mean ms",
            "sdev ms",
            "CoV",
            "low",
            "high",
            "R ms",
            "RoRT",
            "pattern",
            "judgement",
        ]);
        for v in self.0 {
            let total = v.launches.last();
            let cell = |get: fn(&Times) -> f64, digits| maybe(total.map(get), digits);
            let name = v.source.path.rsplit('/').next().unwrap_or_default();
            table.row([
                clipped(name),
                total.map_or(0, |total| total.n).to_string(),
                maybe(total.and_then(|row| row.rate_per_s), 2),
                cell(|row| row.mean_ms, 2),
                cell(|row| row.sdev_ms, 2),
                cell(|row| row.cov, 2),
                maybe(total.and_then(|row| row.cov_low), 2),
                maybe(total.and_then(|row| row.cov_high), 2),
                maybe(v.queue.response_ms, 2),
                maybe(v.queue.rort, 3),
                v.pattern.name().to_owned(),
                v.judgement.name().to_owned(),
            ]);
        }
        write!(f, "{table}")
    }
}
