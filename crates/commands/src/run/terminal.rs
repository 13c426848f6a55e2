//! The display of a run in progress: a block on stderr, redrawn every second and removed at the end. Without a
//! terminal, a line every ten seconds. The block shows what fits: first rates and times, then workers, thresholds,
//! requests and a histogram.

use std::io::{Write, stderr};

use console::style;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use offered_base::visible;
use offered_experiment::LiveView;
use offered_verify::Validity;
use offered_watch::{HistogramBin, LiveStats, LiveWorker, Phase, ResponsePercentiles, Snapshot, WorkerPhase};

use crate::table::{Table, clipped};
use offered_report::format::{number, optional};

/// The line of the progress bar. It fits 80 columns with the longest times and phases.
const TEMPLATE: &str = "[{bar:14}] {prefix}, {msg}";

/// The block on a terminal.
pub(crate) struct Block {
    bar: ProgressBar,
}

impl Block {
    /// A block on stderr; `None` if stderr is not a terminal that can move its cursor.
    pub(crate) fn on_stderr() -> Option<Self> {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template(TEMPLATE).expect("a template");
        bar.set_style(style.progress_chars("=>-"));
        (!bar.is_hidden()).then_some(Self { bar })
    }
}

impl LiveView for Block {
    fn show(&mut self, snapshot: &Snapshot) {
        if snapshot.phase == Phase::Ended {
            self.bar.finish_and_clear();
            return;
        }
        self.bar.set_length(1000);
        self.bar.set_position((snapshot.progress() * 1e3) as u64);
        let of = snapshot.duration_s.map_or_else(String::new, |duration| format!(" of {} s", number(duration)));
        self.bar.set_prefix(format!("{:.0} s{of}", snapshot.time_s));
        // One line for the bar and one for the cursor.
        let (rows, columns) = console::Term::stderr().size();
        self.bar.set_message(block(snapshot, usize::from(rows).saturating_sub(2), usize::from(columns)));
    }

    fn show_wait(&mut self, reason: &str) {
        let _ = writeln!(stderr(), "note: {}", visible(reason));
    }
}

/// The lines under the bar, at most `rows`.
fn block(snapshot: &Snapshot, rows: usize, columns: usize) -> String {
    let validity = format!("{} so far", snapshot.validity.heading());
    let reason = fit(snapshot.reason.clone(), columns.saturating_sub(validity.len() + 2));
    let validity = match snapshot.validity {
        Validity::Valid => style(validity).green(),
        Validity::Invalid => style(validity).red(),
        Validity::ValidWithWarnings => style(validity).yellow(),
        Validity::NotChecked => style(validity),
    };
    let overloaded = snapshot.growth.filter(|growth| growth.overloaded).map_or_else(String::new, |growth| {
        let text = "OVERLOADED";
        let details = format!(": {}, backlog grows {}/s", flow(&snapshot.recent), number(growth.per_s));
        let details = fit(details, columns.saturating_sub(text.len()));
        format!("{}{details}\n", style(text).red().for_stderr())
    });
    let Snapshot { requests, in_flight, unsent, .. } = snapshot;
    let most = snapshot.max_requests.map_or_else(String::new, |most| format!(" of {most}"));
    let retries = if snapshot.retries > 0 { format!(", retries {}", snapshot.retries) } else { String::new() };
    let visits = snapshot.visits.map_or_else(String::new, |visits| format!(", visits {}", visits.text()));
    let counts = format!(
        "requests {requests}{most}, in flight {in_flight}, not sent {unsent}{retries}{visits}; errors: {}",
        errors(snapshot)
    );
    let unkept =
        unkept(snapshot).map_or_else(String::new, |text| format!("{}\n", style(fit(text, columns)).red().for_stderr()));
    let mut block = format!(
        "{}\n\n{}{}\n{}\n{}: {reason}\n{overloaded}{unkept}",
        fit(phase(snapshot), columns),
        figures(snapshot),
        fit(counts, columns),
        cov(snapshot),
        validity.for_stderr()
    );
    let mut left = rows.saturating_sub(block.lines().count());
    let parts: [&dyn Fn(usize) -> String; 4] =
        [&|left| workers(snapshot, left), &|_| thresholds(snapshot), &|left| request_table(snapshot, left), &|left| {
            bars(snapshot, left, columns)
        }];
    for part in parts {
        // A part is separated by a blank line, or omitted if it does not fit.
        let part = part(left);
        let lines = part.lines().count() + 1;
        if lines > 1 && lines <= left {
            block.push('\n');
            block.push_str(&part);
            left -= lines;
        }
    }
    block.truncate(block.trim_end().len());
    block
}

/// The phase of the run, and the reason if it is stopping.
fn phase(snapshot: &Snapshot) -> String {
    let why = snapshot.failed_threshold.as_ref().map_or_else(String::new, |broken| format!(": {broken}"));
    format!("{}{why}", snapshot.phase.text())
}

/// The line that says that events cannot be written at present, with the reason.
fn unkept(snapshot: &Snapshot) -> Option<String> {
    snapshot.write_error.as_ref().map(|error| format!("NOT RECORDED, retrying: {error}"))
}

/// Cuts a line to `columns`: a wrapped line could not be erased.
fn fit(line: String, columns: usize) -> String {
    let line = visible(&line);
    if line.chars().count() <= columns {
        return line.into_owned();
    }
    line.chars().take(columns.saturating_sub(3)).chain("...".chars()).collect()
}

/// Rates and times of the last seconds and of the whole measured time.
fn figures(snapshot: &Snapshot) -> Table {
    let heads = ["", "target/s", "sent/s", "completed/s", "p50 ms", "p95 ms", "p99 ms", "late p99 us"];
    let mut table = Table::new(heads);
    let without = LiveStats { response: snapshot.service, ..LiveStats::default() };
    for (name, figures) in [("last 10 s", &snapshot.recent), ("so far", &snapshot.so_far), ("no lateness", &without)] {
        let [target, sent, completed, p50, p95, p99, late] = numbers(figures);
        table.row([name.to_owned(), target, sent, completed, p50, p95, p99, late]);
    }
    table
}

/// Target, sent and completed rate, response percentiles, p99 of lateness.
fn numbers(figures: &LiveStats) -> [String; 7] {
    let LiveStats { target_rate_per_s, sent_rate_per_s, completed_rate_per_s, response: r, lateness: late } = figures;
    let r = r.as_ref();
    let all = [
        *target_rate_per_s,
        *sent_rate_per_s,
        *completed_rate_per_s,
        r.map(|r| r.p50_ms),
        r.map(|r| r.p95_ms),
        r.map(|r| r.p99_ms),
        late.as_ref().map(|late| late.p99_us),
    ];
    all.map(optional)
}

/// `target 150/s, completed 92/s`.
fn flow(figures: &LiveStats) -> String {
    let completed = optional(figures.completed_rate_per_s);
    let target = figures.target_rate_per_s.map_or_else(String::new, |target| format!("target {}/s, ", number(target)));
    format!("{target}completed {completed}/s")
}

/// A row per worker, as many as fit, those with problems first.
fn workers(snapshot: &Snapshot, room: usize) -> String {
    let mut rows: Vec<&LiveWorker> = snapshot.workers.iter().collect();
    rows.sort_by_key(|worker| !has_problem(worker));
    let mut table =
        Table::new(["worker", "", "requests", "not sent", "errors", "sent/s", "p50 ms", "p99 ms", "late p99 us"]);
    for worker in rows.iter().take(room.saturating_sub(2)) {
        let [launched, unsent, errors] = [worker.requests, worker.unsent, worker.errors].map(|n| n.to_string());
        let response = |of: fn(ResponsePercentiles) -> f64| optional(worker.response.map(of));
        let late = optional(worker.lateness.map(|late| late.p99_us));
        let (p50, p99) = (response(|r| r.p50_ms), response(|r| r.p99_ms));
        let sent = optional(worker.sent_rate_per_s);
        table.row([clipped(&worker.name), worker.state_text(), launched, unsent, errors, sent, p50, p99, late]);
    }
    if rows.is_empty() || room < 3 { String::new() } else { table.to_string() }
}

/// Whether the worker is silent or lost.
fn has_problem(worker: &LiveWorker) -> bool {
    matches!(worker.state, WorkerPhase::Silent | WorkerPhase::Lost)
}

/// The thresholds so far.
fn thresholds(snapshot: &Snapshot) -> String {
    let mut table = Table::new(["threshold", "so far", ""]);
    for checked in &snapshot.thresholds {
        table.row([clipped(&checked.threshold.to_string()), checked.value_text(), checked.result.name().to_owned()]);
    }
    if snapshot.thresholds.is_empty() { String::new() } else { table.to_string() }
}

/// A row per request, the most frequent first, as many as fit; empty for a single request.
fn request_table(snapshot: &Snapshot, room: usize) -> String {
    let rows = snapshot.by_request.len().min(room.saturating_sub(2));
    let Some((total, each)) = snapshot.by_request.split_last().filter(|_| rows > 1) else { return String::new() };
    let mut table = Table::new(["request", "ok", "failed", "p50 ms", "p95 ms", "p99 ms", "max ms"]);
    for request in each.iter().take(rows - 1).chain([total]) {
        let [p50, p95, p99, max] = [
            request.response.map(|r| r.p50_ms),
            request.response.map(|r| r.p95_ms),
            request.response.map(|r| r.p99_ms),
            request.response.map(|r| r.max_ms),
        ]
        .map(optional);
        table.row([clipped(&request.name), request.ok.to_string(), request.failed.to_string(), p50, p95, p99, max]);
    }
    table.to_string()
}

/// A histogram of the response times of the last seconds; neighbouring bins are joined to fit.
fn bars(snapshot: &Snapshot, room: usize, columns: usize) -> String {
    // The blank line above and the heading.
    let lines = room.saturating_sub(2);
    if lines < 3 {
        return String::new();
    }
    let together = snapshot.response_histogram.len().div_ceil(lines).max(1);
    let bar = |bars: &[HistogramBin]| HistogramBin {
        from_ms: bars[0].from_ms,
        to_ms: bars[bars.len() - 1].to_ms,
        count: bars.iter().map(|bar| bar.count).sum(),
    };
    let bars: Vec<HistogramBin> = snapshot.response_histogram.chunks(together).map(bar).collect();
    let most = bars.iter().map(|bar| bar.count).max().unwrap_or(0);
    let widest = columns.saturating_sub(28).min(60);
    let line = |bar: &HistogramBin| {
        let width = (bar.count * widest as u64).div_ceil(most.max(1)) as usize;
        format!("{:>8} ms {:>8}  {}\n", number(bar.to_ms), bar.count, "#".repeat(width))
    };
    match most {
        0 => String::new(),
        _ => format!("Response times up to, last 10 s\n{}", bars.iter().map(line).collect::<String>()),
    }
}

fn errors(snapshot: &Snapshot) -> String {
    let kinds: Vec<String> = snapshot.errors().map(|(outcome, n)| format!("{n} {}", outcome.name())).collect();
    if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") }
}

fn cov(snapshot: &Snapshot) -> String {
    let number = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |number| format!("{number:.3}"));
    let Snapshot { measured_cov, measured_cov_low, measured_cov_high, scheduled_cov, .. } = snapshot;
    if measured_cov.is_none() {
        return "CoV of the gaps: too few requests".to_owned();
    }
    let [cov, low, high, scheduled] =
        [measured_cov, measured_cov_low, measured_cov_high, scheduled_cov].map(|n| number(*n));
    format!("CoV of the gaps {cov} (95 %: {low} to {high}), scheduled {scheduled}")
}

/// A line every ten seconds, and a warning when events can no longer be written.
#[derive(Default)]
pub(crate) struct Lines {
    shown: u32,
    unkept: bool,
}

impl LiveView for Lines {
    fn show(&mut self, snapshot: &Snapshot) {
        self.shown += 1;
        if let Some(unkept) = unkept(snapshot).filter(|_| !self.unkept) {
            let _ = writeln!(stderr(), "warning: {}", visible(&unkept));
        }
        self.unkept = snapshot.write_error.is_some();
        if self.shown.is_multiple_of(10) && snapshot.phase != Phase::Ended {
            // Ignore errors: stderr may be closed.
            let _ = writeln!(stderr(), "{}", line(snapshot));
        }
    }

    fn show_wait(&mut self, reason: &str) {
        let _ = writeln!(stderr(), "note: {}", visible(reason));
    }
}

fn line(snapshot: &Snapshot) -> String {
    let [target, sent, completed, p50, p95, p99, late] = numbers(&snapshot.recent);
    let overloaded = if snapshot.growth.is_some_and(|growth| growth.overloaded) { ", overloaded" } else { "" };
    let problems = snapshot.workers.iter().filter(|worker| has_problem(worker));
    let problems: String = problems.map(|worker| format!("; worker {} {}", worker.name, worker.state_text())).collect();
    format!(
        "{:.0} s: target {target}/s, sent {sent}/s, completed {completed}/s, in flight {}, response p50 {p50} p95 {p95} p99 {p99} ms, \
         lateness p99 {late} us, CoV {}, not sent {}, errors: {}; {} so far{overloaded}{problems}",
        snapshot.time_s,
        snapshot.in_flight,
        snapshot.measured_cov.map_or_else(|| "-".to_owned(), |cov| format!("{cov:.3}")),
        snapshot.unsent,
        errors(snapshot),
        snapshot.validity.text()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_events::Outcome;
    use offered_verify::{CheckResult, Pattern, ThresholdResult};
    use offered_watch::{Growth, LatenessPercentiles, LiveRequest};

    /// Long values everywhere.
    fn snapshot() -> Snapshot {
        let figures = LiveStats {
            target_rate_per_s: Some(100_000.0),
            sent_rate_per_s: Some(99_873.2),
            completed_rate_per_s: Some(61_873.2),
            response: Some(ResponsePercentiles {
                p50_ms: 1234.5,
                p95_ms: 12_345.6,
                p99_ms: 30_000.1,
                max_ms: 31_000.7,
            }),
            lateness: Some(LatenessPercentiles { p50_us: 12_345.0, p99_us: 1_234_567.0 }),
        };
        let request = |name: &str, ok| LiveRequest { name: name.into(), ok, failed: 7, response: figures.response };
        Snapshot {
            time_s: 12.004,
            duration_s: Some(1500.0),
            max_requests: None,
            phase: Phase::Draining,
            recent: figures,
            so_far: LiveStats::default(),
            service: Some(ResponsePercentiles { p50_ms: 1222.2, p95_ms: 12_222.2, p99_ms: 28_765.4, max_ms: 29_000.3 }),
            requests: 123_456_789,
            unsent: 12,
            in_flight: 1234,
            retries: 0,
            visits: None,
            by_scenario: Vec::new(),
            by_request: (0..20).map(|i| request(&format!("a request with a long name {i}"), 1_000_000 - i)).collect(),
            workers: Vec::new(),
            response_histogram: (0u32..9)
                .map(|i| HistogramBin { from_ms: f64::from(i), to_ms: f64::from(i + 1), count: u64::from(i) * 1000 })
                .collect(),
            thresholds: vec![ThresholdResult {
                threshold: "p99 < 250ms".parse().unwrap(),
                value: Some(30.0001),
                ok_value: None,
                result: CheckResult::Failed,
                possible_range: None,
                not_checked_reason: None,
            }],
            failed_threshold: None,
            write_error: None,
            growth: Some(Growth { per_s: 38_000.0, overloaded: true }),
            outcomes: [(Outcome::Ok, 5), (Outcome::Timeout, 17), (Outcome::Unsent, 12)].into(),
            statuses: [(200, 5)].into(),
            measured_cov: Some(1.0034),
            measured_cov_low: Some(0.99),
            measured_cov_high: Some(1.02),
            scheduled_cov: None,
            pattern: Pattern::Poisson,
            validity: Validity::Invalid,
            reason:
                "one request in a hundred was more than 1.2 s late, which is a fifth of the median response of 6.1 s"
                    .into(),
            totals: None,
        }
    }

    #[test]
    fn the_block_fits_a_terminal_of_80_by_24() {
        let large = block(&snapshot(), 48, 200);
        assert!(large.contains("a request with a long...   999999") && large.contains("#####"), "{large}");
        assert!(large.lines().count() <= 48);
        // The bar with the longest text.
        let bar = TEMPLATE.replace("{bar:14}", &"=".repeat(14)).replace("{prefix}", "86400 s of 86400 s");
        assert!(bar.replace("{msg}", Phase::Draining.text()).len() < 80, "{bar}");
        let kinds = [
            Outcome::Timeout,
            Outcome::Refused,
            Outcome::Reset,
            Outcome::Malformed,
            Outcome::HttpError,
            Outcome::CheckFailed,
            Outcome::Unprocessed,
        ];
        let failing = Snapshot { outcomes: kinds.map(|kind| (kind, 100_000)).into(), ..snapshot() };
        let errors = block(&failing, 22, 80);
        assert!(errors.lines().all(|line| line.chars().count() <= 80), "{errors}");
        let full = Snapshot { write_error: Some("cannot write runs/1: No space left on device".into()), ..snapshot() };
        let message = "NOT RECORDED, retrying: cannot write runs/1: No space left on device\n";
        assert!(block(&full, 22, 80).contains(message), "{}", block(&full, 22, 80));
        let block = block(&snapshot(), 22, 80);
        let wide: Vec<&str> = block.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty() && block.lines().count() <= 22, "{block}");
        for part in [
            "all requests sent, waiting",
            "in flight 1234, not sent 12; errors: 17 timeout",
            "CoV of the gaps 1.003 (95 %: 0.990 to 1.020), scheduled -",
            "INVALID so far: one request",
            "last 10 s      100000   99873        61873",
            "so far              -       -            -",
            "OVERLOADED: target 100000/s, completed 61873/s, backlog grows 38000/s\n",
            "response.p99 < 250ms  30,000 ms  failed",
            "a request with a long...  1000000       7",
        ] {
            assert!(block.contains(part), "{part}: {block}");
        }
        // Without requests and thresholds, the histogram fits, with joined bins.
        let plain = Snapshot { by_request: Vec::new(), thresholds: Vec::new(), growth: None, ..snapshot() };
        let drawn = super::block(&plain, 17, 80);
        assert_eq!(drawn.lines().count(), 16, "{drawn}");
        let drawn: Vec<&str> =
            drawn.lines().skip_while(|line| !line.starts_with("Response times up to")).skip(1).collect();
        let counts: Vec<&str> = drawn.iter().map(|line| line.split_whitespace().nth(2).unwrap()).collect();
        assert_eq!(counts, ["1000", "5000", "9000", "13000", "8000"], "{drawn:?}");
        assert!(!super::block(&plain, 13, 80).contains("Response times up to"), "fewer than three lines say nothing");
    }

    #[test]
    fn a_line_says_the_same() {
        assert_eq!(
            line(&snapshot()),
            "12 s: target 100000/s, sent 99873/s, completed 61873/s, in flight 1234, response p50 1234 p95 12346 p99 30000 ms, \
             lateness p99 1234567 us, CoV 1.003, not sent 12, errors: 17 timeout; invalid so far, overloaded"
        );
    }
}
