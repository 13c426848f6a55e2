//! The page a person reads: the answer first, then what was launched, what came back, and what to doubt.

use std::collections::BTreeMap;
use std::fmt;

use offered_experiment::{Millis, Summary};
use offered_model::workload::Sessions;
use offered_model::{Count, RunId, Workload};
use offered_run::{End, Halted};
use offered_verify::{Judgement, KeepsUp, Request, Unchecked, Verdict};

use crate::table::{Table, clipped, shown};
use crate::verify::page::Details;
use crate::verify::policies;
use crate::words;

/// So many requests are shown; all are in the JSON.
const REQUESTS: usize = 20;

/// So many failures are shown; all are in the JSON.
const FAILURES: usize = 5;

/// A summary as text.
pub(crate) struct Page<'a> {
    pub(crate) summary: &'a Summary,
    /// What told the run from others, where what was sent says so.
    pub(crate) run: Option<&'a RunId>,
    pub(crate) verdict: &'a Verdict,
    pub(crate) workload: &'a Workload,
    /// Why it stopped itself, if it did.
    pub(crate) halted: Option<&'a Halted>,
    /// Whether every test is shown.
    pub(crate) details: bool,
}

impl fmt::Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.summary;
        self.answer(f)?;
        writeln!(f)?;
        self.load(f)?;
        self.requests(f)?;
        self.endings(f)?;
        if !s.thresholds.is_empty() {
            let mut table = Table::new(["  threshold", "value", ""]);
            for checked in &s.thresholds {
                let name = format!("  {}", checked.threshold);
                table.row([name, checked.value_in_words(), checked.judgement.name().to_owned()]);
            }
            write!(f, "\n{table}")?;
        }
        policies::write(f, self.verdict)?;
        self.arrivals(f)?;
        self.times(f)?;
        self.traffic(f)?;
        if self.details {
            write!(f, "{}", Details(self.verdict))?;
        }
        for warning in &s.warnings {
            writeln!(f, "\nwarning: {}\n         {}", warning.doubt, words::remedy(warning))?;
        }
        if let Some(out) = &s.out {
            writeln!(f, "\nrecorded in {out}")?;
        }
        Ok(())
    }
}

impl Page<'_> {
    /// What must be known before any number is read, what went wrong first: nothing that failed stands under a word that holds.
    fn answer(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (s, because) = (self.summary, &self.verdict.because);
        if let Some(Halted { why, end: End::Threshold }) = self.halted {
            writeln!(f, "STOPPED BY A THRESHOLD: {why}")?;
        }
        if !s.succeeded() {
            writeln!(f, "NOTHING SUCCEEDED: all of {} launches failed{}", s.launched, self.commonest())?;
        }
        // Of a load that was not what was meant the rest counts less.
        if !s.believable() {
            writeln!(f, "DO NOT BELIEVE THIS RUN: {because}")?;
        }
        if let Some(told) = s.requests.last().and_then(words::failures).filter(|_| s.succeeded()) {
            writeln!(f, "FAILURES: {told}{}", self.commonest())?;
        }
        if let Some(keeps_up) = s.keeps_up.filter(|keeps_up| keeps_up.judgement == Judgement::Fails) {
            writeln!(f, "DOES NOT KEEP UP: {}", outrun(&keeps_up, s.asked_rate_per_s))?;
        }
        for checked in s.thresholds.iter().filter(|checked| s.believable() && checked.judgement != Judgement::Holds) {
            let kept = if checked.between.is_some() { "CHECKED" } else { "KEPT" };
            writeln!(f, "THRESHOLD NOT {kept}: {}: {}", checked.threshold, checked.found())?;
        }
        match s.judgement {
            Judgement::Holds => writeln!(f, "HOLDS: {because}"),
            Judgement::HoldsWithDoubt => writeln!(f, "HOLDS WITH A DOUBT: {because}"),
            Judgement::NotChecked => writeln!(f, "NOT CHECKED: {because}"),
            Judgement::Fails => Ok(()),
        }
    }

    /// How most of those failed that did: `, most of them refused: Connection refused (os error 111)`.
    fn commonest(&self) -> String {
        let mut kinds: BTreeMap<_, u64> = BTreeMap::new();
        for failure in &self.summary.failures {
            *kinds.entry((&failure.outcome, failure.status, &failure.why)).or_default() += failure.n;
        }
        let all: u64 = kinds.values().sum();
        let Some(((outcome, status, why), n)) = kinds.into_iter().max_by_key(|(_, n)| *n) else { return String::new() };
        let many = match n {
            n if n == all => "each",
            n if 2 * n > all => "most",
            _ => "many",
        };
        let status = status.map_or(String::new(), |status| format!(" {status}"));
        let why = why.as_deref().map_or(String::new(), |why| format!(": {}", shown(why)));
        format!(", {many} of them {outcome}{status}{why}")
    }

    fn load(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.summary;
        if let Some(set) = &s.set_load {
            writeln!(f, "  set load   {}", set.in_words())?;
        }
        let model = model(self.workload);
        let asked = s.asked_rate_per_s.map_or_else(|| allowed(self.workload), |rate| format!("{}/s", short(rate)));
        // Launches and answers of the same seconds.
        let launched = s.keeps_up.map(|keeps_up| keeps_up.launched_per_s).or(s.offered_rate_per_s);
        let (launched, answered) = (rate(launched), rate(s.answered_rate_per_s));
        let well = self.well_and_failed().unwrap_or_default();
        let run = self.run.map_or(String::new(), |run| format!(", run id {run}"));
        writeln!(
            f,
            "  load       {model}, asked {asked}, launched {launched}{well}, answered {answered}, seed {}{run}",
            s.seed
        )?;
        if let Some(keeps_up) = &s.keeps_up {
            writeln!(f, "  keeps up   {}", kept_up(keeps_up))?;
        }
        let most = match self.workload.count() {
            None => String::new(),
            Some(Count::Requests(n)) => format!("; at most {n} in all"),
            Some(Count::Sessions(n)) => format!("; at most {n} sessions in all"),
        };
        writeln!(f, "  launches   {}, of them {} unsent{most}", s.launched, s.unsent)
    }

    /// Where something failed: of the launches of a second, how many were answered well and how many failed.
    fn well_and_failed(&self) -> Option<String> {
        let total = self.summary.requests.last().filter(|total| total.failed > 0)?;
        let time = Some(self.verdict.window.to_s - self.verdict.window.from_s).filter(|time| *time > 0.0)?;
        let [well, failed] = [total.ok, total.failed].map(|n| short(n as f64 / time));
        Some(format!(" (good {well}/s, failed {failed}/s)"))
    }

    /// A row per request, the total last; of many only those that launched or failed most.
    fn requests(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((total, requests)) = self.summary.requests.split_last() else { return Ok(()) };
        let mut rows: Vec<&Request> = requests.iter().collect();
        rows.sort_by_key(|row| std::cmp::Reverse((row.failed, row.launches)));
        let left_out = rows.len().saturating_sub(REQUESTS);
        rows.truncate(REQUESTS);
        rows.sort_by(|a, b| a.label.cmp(&b.label));
        // The only request is the total.
        let shown = if rows.len() > 1 { rows } else { Vec::new() };
        let mut table = Table::new(["  response ms", "launches", "ok", "failed", "p50", "p95", "p99", "max"]);
        for row in shown.into_iter().chain([total]) {
            let name = if row == total { "  total".to_owned() } else { format!("  {}", clipped(&row.label)) };
            let [p50, p95, p99, max] =
                [row.p50_ms, row.p95_ms, row.p99_ms, row.max_ms].map(|n| n.map_or_else(|| "-".to_owned(), short));
            let [launches, ok, failed] = [row.launches, row.ok, row.failed].map(|n| n.to_string());
            table.row([name, launches, ok, failed, p50, p95, p99, max]);
        }
        write!(f, "\n{table}")?;
        if left_out > 0 {
            writeln!(f, "  {left_out} more requests are in the JSON document")?;
        }
        Ok(())
    }

    fn arrivals(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.summary;
        let (a, cov) = (&s.arrivals, |cov: Option<f64>| cov.map_or_else(|| "-".to_owned(), |cov| format!("{cov:.3}")));
        match &s.sessions {
            None => writeln!(
                f,
                "\n  arrivals   {}: CoV meant {}, sent {} (95 % {} to {})",
                a.pattern.name(),
                cov(a.meant_cov),
                cov(a.sent_cov),
                cov(a.cov_low),
                cov(a.cov_high)
            )?,
            Some(of) => {
                writeln!(
                    f,
                    "\n  sessions   {}: asked {}, launched {}; CoV meant {}, sent {} (95 % {} to {})",
                    a.pattern.name(),
                    rate(of.asked_per_s),
                    rate(of.launched_per_s),
                    cov(of.meant_cov),
                    cov(of.sent_cov),
                    cov(of.cov_low),
                    cov(of.cov_high)
                )?;
                let (asked, launched) = (rate(s.asked_rate_per_s), rate(s.offered_rate_per_s));
                writeln!(f, "  requests   asked {asked}, launched {launched}; CoV sent {}", cov(a.sent_cov))?;
            }
        }
        if let Some(late) = &s.lateness_us {
            writeln!(
                f,
                "  lateness   p50 {} us, p99 {} us, max {} us",
                short(late.p50),
                short(late.p99),
                short(late.max)
            )?;
        }
        if let Some(effect) = &s.effect {
            let percent = |share: f64| format!("{} %", short(100.0 * share.min(1.0)));
            let shares = effect.shares.iter().map(|of| format!("of p{} {}", of.percentile, percent(of.at_most())));
            let shares = shares.collect::<Vec<_>>().join(", ");
            writeln!(f, "  its part   at most {shares}; {} tolerated", percent(effect.tolerance))?;
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
            ("  waiting", &s.waited_ms),
        ] {
            if let Some(Millis { mean, sdev, p50, p90, p95, p99, p999, max, .. }) = times {
                let numbers = [mean, sdev, p50, p90, p95, p99, p999, max].map(|n| short(*n));
                let [mean, sdev, p50, p90, p95, p99, p999, max] = numbers;
                table.row([name.to_owned(), mean, sdev, p50, p90, p95, p99, p999, max]);
            }
            if let Some(t) = self.verdict.failures.last().filter(|_| name == "  response") {
                let numbers = [t.mean_ms, t.sdev_ms, t.median_ms, t.p90_ms, t.p95_ms, t.p99_ms, t.p999_ms, t.max_ms];
                let [mean, sdev, p50, p90, p95, p99, p999, max] = numbers.map(short);
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
            let label = failure.label.as_deref().map_or(String::new(), |label| format!("{}: ", shown(label)));
            let status = failure.status.map_or(String::new(), |status| format!(" {status}"));
            let why = failure.why.as_deref().map_or(String::new(), |why| format!(", {}", shown(why)));
            writeln!(f, "{:>10}   {label}{}{status}{why}", failure.n, failure.outcome)?;
        }
        let more: u64 = s.failures.iter().skip(FAILURES).map(|failure| failure.n).sum();
        if more > 0 {
            writeln!(f, "{more:>10}   of other kinds, which are in the JSON document")?;
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
                "  pages      {}/s with {} objects/s; until the last object mean {} ms, p50 {}, p95 {}, p99 {}, max {}",
                short(p.pages_per_s),
                short(p.objects_per_s),
                short(p.response_mean_ms),
                short(p.response_p50_ms),
                short(p.response_p95_ms),
                short(p.response_p99_ms),
                short(p.response_max_ms)
            )?;
            writeln!(
                f,
                "             {} of {} pages failed, {} of {} objects",
                p.failed, p.pages, p.objects_failed, p.objects
            )?;
        }
        self.little(f)
    }

    /// Little's law, or why it says nothing.
    fn little(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let q = &self.summary.queue;
        let (Some(rate), Some(response), Some(concurrency)) = (q.rate_per_s, q.response_ms, q.concurrency) else {
            let outrun = self.summary.keeps_up.is_some_and(|keeps_up| keeps_up.judgement == Judgement::Fails);
            let why = if outrun { "more came than left" } else { "too little came back" };
            return writeln!(f, "  Little     Q = lambda R does not apply: {why}");
        };
        write!(f, "  Little     Q = lambda R = {}/s x {} ms = {}", short(rate), short(response), short(concurrency))?;
        if let (Some(think), Some(users), Some(rort)) = (q.think_ms, q.users, q.rort) {
            write!(f, "; Z {} ms, N = lambda (R + Z) = {}, RoRT {rort:.3}", short(think), short(users))?;
        }
        writeln!(f)
    }
}

/// What was asked of a system that did not keep up, and what became of it.
fn outrun(keeps_up: &KeepsUp, asked_per_s: Option<f64>) -> String {
    let k = keeps_up;
    format!(
        "asked {}/s, answered {}/s; {}, growing {}/s ({} to {}); times depend on how long the run lasts",
        short(asked_per_s.unwrap_or(k.launched_per_s)),
        short(k.answered_per_s),
        k.in_the_system(),
        short(k.growth_per_s),
        short(k.growth_low),
        short(k.growth_high)
    )
}

/// Whether the system kept up, in a few words.
fn kept_up(keeps_up: &KeepsUp) -> String {
    let k = keeps_up;
    let inside = k.in_the_system();
    match k.not_checked {
        None => format!("{}: {inside}", k.judgement.name()),
        Some(Unchecked::Closed) => "not checked: users wait for their answers".to_owned(),
        Some(Unchecked::Failures) => format!("not checked: too many failed; {inside}"),
        Some(Unchecked::TooFew) => format!("not checked: fewer than a hundred launches; {inside}"),
        Some(Unchecked::TooShort) => format!("not checked: {inside} may be chance, a longer run would tell"),
    }
}

/// What is asked where the server decides.
fn allowed(workload: &Workload) -> String {
    match workload.sessions() {
        Sessions::Closed(closed) if closed.pace().is_some() => {
            format!("at most {}, as the server allows", rate(closed.most_per_s()))
        }
        _ => "as the server allows".to_owned(),
    }
}

fn rate(rate: Option<f64>) -> String {
    rate.map_or_else(|| "nothing".to_owned(), |rate| format!("{}/s", short(rate)))
}

/// The system model in a word.
pub(crate) fn model(workload: &Workload) -> &'static str {
    match workload.sessions() {
        Sessions::Open(_) => "open",
        Sessions::PartlyOpen { .. } => "partly-open",
        Sessions::Closed(_) => "closed",
        Sessions::Replay(_) => "replay",
    }
}

/// A number to four digits, without an exponent.
pub(crate) fn short(number: f64) -> String {
    let places = match number.abs() {
        n if n >= 1000.0 => 0,
        n if n >= 100.0 => 1,
        n if n >= 10.0 => 2,
        n if n >= 1.0 => 3,
        _ => 4,
    };
    let text = format!("{number:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
