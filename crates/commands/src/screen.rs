//! The first screen of `run` and `verify`: at most 20 lines. `--details` shows the rest.

use std::cmp::Reverse;

use offered_base::{count, short, visible};
use offered_experiment::Failure;
use offered_report::VerdictLines;
use offered_verify::{RequestStats, Verdict, Warning, WarningKind};

use crate::table::{Table, clipped, paragraph};
use crate::{messages, verdict_lines};

/// Number of lines of a first screen, so that a terminal of 24 lines shows it with the command and the prompt.
pub(crate) const LINES: usize = 20;

/// Number of rows of the table of requests with `--details`; the JSON document has all.
const MOST_ROWS: usize = 40;

/// Number of thresholds with a line each.
pub(crate) const THRESHOLDS: usize = 4;

/// Number of kinds of failures.
const FAILURES: usize = 3;

/// Number of warnings.
const WARNINGS: usize = 2;

/// A named line below the table; the text may contain anything.
pub(crate) struct Fact {
    name: &'static str,
    text: String,
}

impl Fact {
    /// `name` has at most 11 characters.
    pub(crate) fn new(name: &'static str, text: impl Into<String>) -> Self {
        Self { name, text: text.into() }
    }

    /// The fact in lines that start with its name.
    pub(crate) fn lines(&self) -> Vec<String> {
        paragraph(&format!("{:12}", self.name), &visible(&self.text))
    }
}

/// What a first screen shows.
pub(crate) struct Screen<'a> {
    pub(crate) verdict: VerdictLines<'a>,
    /// A row per label, then the total.
    pub(crate) requests: &'a [RequestStats],
    /// Failures by kind.
    pub(crate) failures: Vec<Fact>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) warnings: &'a [Warning],
    /// Lines that the caller prints below.
    pub(crate) reserved: usize,
    /// Whether to show all thresholds, requests, failures and warnings.
    pub(crate) details: bool,
}

impl Screen<'_> {
    /// The lines: verdict, requests, failures, facts, warnings. Without `details` at most [`LINES`] with the reserved ones, unless the verdict
    /// and the facts alone are longer.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = verdict_lines::lines(self.verdict, if self.details { usize::MAX } else { THRESHOLDS });
        let facts: Vec<String> = self.facts.iter().flat_map(Fact::lines).collect();
        let failures: Vec<Vec<String>> = self.failures.iter().map(Fact::lines).collect();
        let mut shown: Vec<&Warning> = self.warnings.iter().filter(|warning| !verdict_lines::states(warning)).collect();
        shown.sort_by_key(|warning| (warning.is_note(), is_of_precision(warning)));
        let verdict = self.verdict.verdict;
        let warnings: Vec<Vec<String>> = shown.iter().map(|warning| warning_lines(verdict, warning)).collect();
        let fitted = if self.details {
            Fitted { rows: MOST_ROWS, failures: failures.len(), warnings: warnings.len() }
        } else {
            let empty = 1 + usize::from(!facts.is_empty());
            let used = lines.len() + facts.len() + self.reserved + empty + table_header(self.requests);
            let labels = self.requests.len().saturating_sub(1);
            Fitted::new(LINES.saturating_sub(used), labels, &failures, &warnings)
        };
        let table = table(self.requests, verdict.not_sent_heading(), fitted.rows, self.details);
        if !table.is_empty() {
            lines.push(String::new());
        }
        lines.extend(table);
        if !facts.is_empty() || fitted.failures > 0 {
            lines.push(String::new());
        }
        lines.extend(failures.into_iter().take(fitted.failures).flatten());
        lines.extend(facts);
        let more: Vec<&Warning> = shown.into_iter().skip(fitted.warnings).collect();
        if fitted.warnings > 0 {
            lines.push(String::new());
        }
        lines.extend(warnings.into_iter().take(fitted.warnings).flatten());
        lines.extend(counted(&more, self.warnings.len() > more.len()));
        lines
    }
}

/// How much of each part fits.
struct Fitted {
    /// Rows of the table, with the total and the line that counts the omitted ones.
    rows: usize,
    failures: usize,
    warnings: usize,
}

impl Fitted {
    /// Distributes `lines` between the parts of the screen, in this order: the first kind of failures, the first
    /// warning, two labels, another warning, then failures and labels.
    fn new(lines: usize, labels: usize, failures: &[Vec<String>], warnings: &[Vec<String>]) -> Self {
        // The total, and the line that counts warnings.
        let mut left = lines.saturating_sub(1 + usize::from(!warnings.is_empty()));
        let mut fitted = Self { rows: 1, failures: 0, warnings: 0 };
        let mut take = |lines: usize| {
            let fits = lines <= left;
            left -= if fits { lines } else { 0 };
            fits
        };
        let size = |part: &[Vec<String>], at: usize| part.get(at).map(Vec::len);
        fitted.failures += usize::from(size(failures, 0).is_some_and(&mut take));
        // An empty line stands before the first.
        fitted.warnings += usize::from(size(warnings, 0).is_some_and(|lines| take(lines + 1)));
        fitted.rows += [labels.min(3), labels.min(2)].into_iter().find(|lines| take(*lines)).unwrap_or(0);
        if fitted.warnings == 1 && WARNINGS > 1 {
            fitted.warnings += usize::from(size(warnings, 1).is_some_and(&mut take));
        }
        while fitted.failures > 0 && size(failures, fitted.failures).is_some_and(&mut take) {
            fitted.failures += 1;
        }
        while fitted.rows <= labels && take(1) {
            fitted.rows += 1;
        }
        fitted
    }
}

/// The failures of `all` as facts, the most frequent first; requests that were not sent, or that the end cut off, apart. `excluded`: the failures
/// are of the whole run, and the table is not.
pub(crate) fn failure_facts(all: &[Failure], excluded: bool, details: bool) -> Vec<Fact> {
    let (cut, failed): (Vec<_>, Vec<_>) =
        all.iter().partition(|failure| failure.outcome == offered_events::Outcome::Cut.name());
    let shown = if details { failed.len() } else { FAILURES };
    let mut facts: Vec<Fact> = Vec::new();
    // A stable sort: each kind stays in the order of its numbers.
    let mut kinds: Vec<&&Failure> = failed.iter().take(shown).collect();
    kinds.sort_by_key(|failure| failure.is_unsent());
    let mut before = None;
    for failure in kinds {
        let label = failure.label.as_ref().map_or_else(String::new, |label| format!("{label}: "));
        let whole = if facts.is_empty() && excluded { "whole run, " } else { "" };
        let (name, text) = match failure.unsent_reason() {
            Some(reason) => ("not sent", reason.to_owned()),
            None if failure.is_unsent() => ("missing", failure.text()),
            None => ("failures", failure.text()),
        };
        let shown_name = if before == Some(name) { "" } else { name };
        before = Some(name);
        facts.push(Fact::new(shown_name, format!("{whole}{label}{} x {text}", count(failure.n))));
    }
    let more: u64 = failed.iter().skip(shown).map(|failure| failure.n).sum();
    if more > 0 {
        facts.push(Fact::new("", format!("{} of other kinds: --details", count(more))));
    }
    let cut: u64 = cut.iter().map(|failure| failure.n).sum();
    if cut > 0 {
        let s = if cut == 1 { "" } else { "s" };
        facts.push(Fact::new(
            "unfinished",
            format!("{} request{s} at the end of the run, neither ok nor failed", count(cut)),
        ));
    }
    facts
}

/// Whether the warning only says that a longer run would be more precise; other warnings come first.
fn is_of_precision(warning: &Warning) -> bool {
    use WarningKind::{CoarseTimestamps, FewGaps, RunTooShortForUsers, TooFewRequests};
    matches!(
        warning.details,
        Some(CoarseTimestamps { .. } | FewGaps { .. } | RunTooShortForUsers { .. } | TooFewRequests { .. })
    )
}

/// A warning or note with its fix.
fn warning_lines(verdict: &Verdict, warning: &Warning) -> Vec<String> {
    let (message, fix) = (visible(&warning.message), messages::fix(verdict, warning));
    let head = format!("{:9}", format!("{}:", word(warning)));
    [paragraph(&head, &message), paragraph("fix:     ", &visible(&fix))].concat()
}

/// What a warning is called: one that needs no action is a note.
pub(crate) fn word(warning: &Warning) -> &'static str {
    if warning.is_note() { "note" } else { "warning" }
}

/// The line that counts omitted warnings and notes: `1 more warning, 2 more notes: --details`. `more`: whether others are shown.
pub(crate) fn counted(omitted: &[&Warning], more: bool) -> Option<String> {
    let notes = omitted.iter().filter(|warning| warning.is_note()).count();
    let more = if more { "more " } else { "" };
    let counts = [(omitted.len() - notes, "warning"), (notes, "note")].into_iter().filter(|(n, _)| *n > 0);
    let counts = counts.map(|(n, word)| format!("{n} {more}{word}{}", if n == 1 { "" } else { "s" }));
    let counts = counts.collect::<Vec<_>>().join(", ");
    (!counts.is_empty()).then(|| format!("{counts}: --details"))
}

/// Whether the times cover only a part of the requests; a line above the table then names this part.
fn is_partial(total: &RequestStats) -> bool {
    0 < total.ok && total.ok < total.requests
}

/// Number of lines above the rows.
fn table_header(requests: &[RequestStats]) -> usize {
    1 + usize::from(requests.last().is_some_and(is_partial))
}

/// One row per request, and the total. If there are too many requests, only those with the most failures and the most
/// requests have a row. `not_sent` is the heading of the column of unsent requests, if there are any.
fn table(requests: &[RequestStats], not_sent: &str, rows: usize, details: bool) -> Vec<String> {
    // A list of send times has none.
    let Some((total, labels)) = requests.split_last().filter(|(total, _)| total.requests > 0) else {
        return Vec::new();
    };
    // A single request equals the total.
    let mut shown: Vec<&RequestStats> = if labels.len() > 1 { labels.iter().collect() } else { Vec::new() };
    shown.sort_by_key(|row| Reverse((row.failed, row.requests)));
    let most = rows.saturating_sub(1);
    // The line that counts them takes the place of one.
    let omitted = if shown.len() > most { shown.len() - most.saturating_sub(1) } else { 0 };
    shown.truncate(shown.len() - omitted);
    shown.sort_by(|a, b| a.label.cmp(&b.label));
    let has_unsent = total.not_sent > 0;
    let unsent = has_unsent.then_some(not_sent);
    let heads = ["request", "requests", "ok", "failed"].into_iter().chain(unsent);
    let heads = heads.chain(["p50 ms", "p95 ms", "p99 ms", "max ms"]);
    let mut table = Table::with_columns(heads.map(str::to_owned).collect());
    let mut row = |name: String, of: &RequestStats| {
        let counts =
            [of.requests, of.ok, of.failed_after_sending()].into_iter().chain(has_unsent.then_some(of.not_sent));
        let times = [of.p50_ms, of.p95_ms, of.p99_ms, of.max_ms];
        let times = times.map(|ms| ms.map_or_else(|| "-".to_owned(), short));
        table.row(std::iter::once(name).chain(counts.map(count)).chain(times).collect::<Vec<_>>());
    };
    for of in shown {
        row(clipped(&of.label), of);
    }
    row("total".to_owned(), total);
    let text = table.to_string();
    let width = text.lines().next().map_or(0, |line| line.chars().count());
    let above = is_partial(total).then(|| format!("{:>width$}", "times of ok requests"));
    let more = match (omitted, details) {
        (0, _) => None,
        (_, false) if rows < 2 => None,
        (n, true) => Some(format!("{n} more requests: --json")),
        (n, false) => Some(format!("{n} more requests: --details")),
    };
    above.into_iter().chain(text.lines().map(str::to_owned)).chain(more).collect()
}

#[cfg(test)]
mod tests {
    use offered_base::Instant;
    use offered_events::{Event, Outcome, Recording};
    use offered_verify::{Criteria, ThresholdResult, Validity, verify};

    use super::*;

    /// The verdict on one request every 10 ms with one of `labels` labels; every 20th fails.
    fn verdict(labels: u16) -> Verdict {
        let event = |i: u64| {
            let at = Instant::from_millis(10 * i);
            let outcome = if i.is_multiple_of(20) { Outcome::HttpError } else { Outcome::Ok };
            Event { sent: Some(at), done: Some(at), outcome, label: (i % u64::from(labels)) as u16, ..Event::at(at) }
        };
        let names = (0..labels).map(|label| format!("request number {label} of this workload")).collect();
        let recording = Recording::of_run((0..2000).map(event).collect(), names);
        let verdict = verify(&recording, &Criteria::default()).unwrap();
        let reason = "sent as scheduled".to_owned();
        Verdict { validity: Validity::Valid, reason, warnings: Vec::new(), ..verdict }
    }

    fn warning(number: usize) -> Warning {
        let message = format!("warning {number} {}", "that needs more than one line of the terminal ".repeat(2));
        Warning { details: None, message, fix: "a fix that is short".to_owned(), in_reason: false }
    }

    fn screen(verdict: &Verdict, thresholds: &[ThresholdResult], warnings: usize, details: bool) -> Vec<String> {
        let failure = |status| Failure {
            label: Some("home".to_owned()),
            outcome: Outcome::HttpError.name().to_owned(),
            status: Some(status),
            reason: None,
            n: 25,
        };
        let failures: Vec<Failure> = (500..505).map(failure).collect();
        let (target_rate_per_s, states_expected) = (Some(100.0), false);
        let lines = VerdictLines { verdict, thresholds, failures: &failures, target_rate_per_s, states_expected };
        let failures_shown = failure_facts(&failures, false, details);
        let warnings: Vec<Warning> = (1..=warnings).map(warning).collect();
        let (requests, facts) = (&verdict.requests[..], vec![Fact::new("load", "open; seed 1")]);
        let warnings = &warnings[..];
        Screen { verdict: lines, requests, failures: failures_shown, facts, warnings, reserved: 1, details }.lines()
    }

    #[test]
    fn a_first_screen_has_at_most_twenty_lines_of_eighty_columns() {
        let threshold = |text: &str| ThresholdResult::check_interim(&text.parse().unwrap(), Some(1.5));
        let failed: Vec<ThresholdResult> =
            ["p50 < 1s", "p90 < 1s", "p95 < 1s", "p99 < 1s", "max < 1s"].map(threshold).to_vec();
        for labels in [1, 2, 30] {
            let verdict = verdict(labels);
            for (thresholds, warnings) in [(&[][..], 0), (&[], 5), (&failed[..2], 1), (&failed[..], 2)] {
                let lines = screen(&verdict, thresholds, warnings, false);
                let text = lines.join("\n");
                assert!(lines.len() < LINES, "{} lines beside a reserved one:\n{text}", lines.len());
                assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
                assert!(lines.iter().any(|line| line.starts_with("total ")), "{text}");
                assert!(text.contains("failures    home: 25 x status 500"), "{text}");
                assert_eq!(text.contains("1 more line of thresholds: --details"), thresholds.len() == 5, "{text}");
                assert_eq!(text.contains("warning"), warnings > 0, "shown or counted: {text}");
                if thresholds.is_empty() {
                    assert_eq!(text.contains("more requests: --details"), labels == 30, "{text}");
                    assert_eq!(text.contains("warning 1"), warnings > 0, "{text}");
                }
                if (thresholds.len(), warnings) == (0, 0) {
                    assert!(text.contains("50 of other kinds: --details"), "{text}");
                }
            }
        }
    }

    #[test]
    fn details_show_everything() {
        let text = screen(&verdict(30), &[], 5, true).join("\n");
        assert!(!text.contains("--details") && text.contains("warning 5") && text.contains("status 504"), "{text}");
        assert_eq!(text.matches("request number").count(), 30, "{text}");
    }

    #[test]
    fn times_are_named_where_they_are_not_of_all_requests() {
        let text = |verdict: &Verdict| screen(verdict, &[], 0, false).join("\n");
        let mut verdict = verdict(1);
        assert!(text(&verdict).contains("  times of ok requests\nrequest  requests"), "{}", text(&verdict));
        verdict.requests.iter_mut().for_each(|row| (row.ok, row.failed) = (row.requests, 0));
        assert!(!text(&verdict).contains("of ok requests"), "{}", text(&verdict));
    }
}
