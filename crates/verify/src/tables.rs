//! The four tables of the web-generator-toolkit: gaps, responses, first bytes, sizes; a row per label, then `Total`.
//!
//! Times are those of good answers. A failure is often quick, and a table in which it counts gets better the more there are; so
//! the failed have a table of their own.

use std::io;

use offered_model::{Event, Outcome, Recording};
use offered_stats::cov::exponential_interval;
use offered_stats::groups::{Groups, SortedGroups};
use offered_stats::values::{Sorted, Values, Whole};
use offered_stats::{Interval, Summary};

use crate::criteria::Criteria;
use crate::scope::Scope;
use crate::verdict::{SizeStats, TimeStats};

const MS: f64 = 1e6;

/// The four tables, and one of what failed.
pub struct Tables {
    /// Gaps between launches.
    pub launches: Vec<TimeStats>,
    /// done - intended.
    pub responses: Vec<TimeStats>,
    /// The same of what failed, where that stands apart.
    pub failures: Vec<TimeStats>,
    /// first byte - intended.
    pub first_byte: Vec<TimeStats>,
    /// Bytes read.
    pub sizes: Vec<SizeStats>,
}

/// What the rows of one label have in common.
struct Group {
    name: String,
    label: Option<u16>,
    /// From the first launch to the end of the answer to the last one, in ms.
    span_ms: f64,
    error_percent: f64,
    kb_per_s: Option<f64>,
}

/// The tables as the web-generator-toolkit makes them: times of all answers, and the rate of gaps over the time to the end of the
/// last answer; `None` when nothing was sent.
///
/// # Errors
/// The recording can no longer be read.
pub fn toolkit(recording: &Recording, ask: &Criteria) -> io::Result<Option<Tables>> {
    let Some(scope) = Scope::of(recording, ask) else { return Ok(None) };
    let mut columns = Columns::new(scope, Rule::Toolkit);
    scope.launches(|sent, event| columns.add(sent, event))?;
    let labels = recording.labels.len();
    let gaps = scope.in_order(|| Gaps::new(labels), |gaps, launch| gaps.add(launch.label.into(), launch.sent))?;
    Ok(Some(columns.tables(&recording.labels, gaps)))
}

/// Whose rule it is.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Rule {
    Ours,
    Toolkit,
}

/// The row of every group that has one; the whole is in the last.
fn rows<'a, T: Whole>(values: &SortedGroups<T>, groups: &'a [Group], per_unit: f64) -> Vec<(&'a Group, Summary)> {
    let of = |group: &Group| group.label.map_or(Some(values.all()), |label| values.of(label.into()));
    groups.iter().filter_map(|group| Some((group, of(group)?.summary(per_unit)?))).collect()
}

/// Gaps between launches that come in order: of each label, and of all.
pub(crate) struct Gaps {
    before: Vec<Option<u64>>,
    last: Option<u64>,
    each: Groups,
    all: Values,
}

impl Gaps {
    pub(crate) fn new(labels: usize) -> Self {
        Self { before: vec![None; labels], last: None, each: Groups::default(), all: Values::default() }
    }

    #[inline]
    pub(crate) fn add(&mut self, label: usize, sent: u64) {
        if let Some(last) = self.last.replace(sent) {
            self.all.add(sent - last);
        }
        if self.before.len() > 1
            && let Some(before) = self.before.get_mut(label)
            && let Some(last) = before.replace(sent)
        {
            self.each.add(label, sent - last);
        }
    }

    fn rows(self, groups: &[Group]) -> Vec<(&Group, Summary)> {
        let Self { before, each, all, .. } = self;
        let (each, all) = (each.sorted(), all.sorted());
        let of = |group: &Group| match group.label {
            Some(label) if before.len() > 1 => each.of(label.into()),
            _ => Some(&all),
        };
        groups.iter().filter_map(|group| Some((group, of(group)?.summary(MS)?))).collect()
    }
}

/// What the launches that share a label, or all of them, came to.
#[derive(Clone, Default)]
struct Sums {
    launches: u64,
    failed: u64,
    bytes: u64,
    first: Option<u64>,
    last: (u64, u64),
}

/// The columns of the tables but for gaps, in the making.
pub(crate) struct Columns {
    rule: Rule,
    /// A label each, then all.
    sums: Vec<Sums>,
    sizes: Groups<u64>,
    responses: Groups<i64>,
    failures: Groups<i64>,
    first_byte: Groups<i64>,
}

impl Columns {
    pub(crate) fn new(scope: Scope, rule: Rule) -> Self {
        let labels = scope.recording.labels.len();
        let [responses, failures, first_byte] = [(); 3].map(|()| Groups::default());
        Self {
            rule,
            sums: vec![Sums::default(); labels + 1],
            sizes: Groups::default(),
            responses,
            failures,
            first_byte,
        }
    }

    /// Takes a launch of the window.
    pub(crate) fn add(&mut self, sent: u64, event: &Event) {
        let (label, total) = (usize::from(event.label), self.sums.len() - 1);
        let done = event.done.map_or(sent, |done| done.0);
        for at in [label.min(total), total] {
            let sums = &mut self.sums[at];
            sums.launches += 1;
            sums.failed += u64::from(event.outcome != Outcome::Ok);
            sums.bytes += event.bytes_in;
            sums.first = Some(sums.first.map_or(sent, |first| first.min(sent)));
            sums.last = sums.last.max((sent, done));
            if label >= total {
                break;
            }
        }
        let good = event.outcome == Outcome::Ok || self.rule == Rule::Toolkit;
        self.sizes.add(label, event.bytes_in);
        if let Some(response) = event.response() {
            if good { &mut self.responses } else { &mut self.failures }.add(label, response.0);
        }
        if let Some(first_byte) = event.first_byte.filter(|_| good) {
            self.first_byte.add(label, (first_byte - event.intended).0);
        }
    }

    /// The tables, with these gaps.
    pub(crate) fn tables(self, labels: &[String], gaps: Gaps) -> Tables {
        self.with_responses(labels, gaps).0
    }

    /// The same, and the responses that they are of.
    pub(crate) fn with_responses(self, labels: &[String], gaps: Gaps) -> (Tables, Sorted<i64>) {
        let Self { rule, sums, sizes, responses, failures, first_byte } = self;
        let groups = groups(&sums, labels);
        let launches = gaps.rows(&groups).into_iter().map(|(group, row)| {
            // Gaps follow one another: n of them take n times their mean.
            let span_ms = if rule == Rule::Ours { row.n as f64 * row.mean } else { group.span_ms };
            times(group.name.clone(), &row, span_ms, Some(exponential_interval(row.cov, row.n)))
        });
        let launches = launches.collect();
        let plain = |(group, row): (&Group, Summary)| times(group.name.clone(), &row, group.span_ms, None);
        let answered = |(group, row): (&Group, Summary)| TimeStats {
            error_percent: Some(group.error_percent),
            kb_per_s: group.kb_per_s,
            ..plain((group, row))
        };
        let responses = responses.sorted();
        let sizes = rows(&sizes.sorted(), &groups, 1.0);
        let tables = Tables {
            launches,
            responses: rows(&responses, &groups, MS).into_iter().map(answered).collect(),
            failures: rows(&failures.sorted(), &groups, MS).into_iter().map(plain).collect(),
            first_byte: rows(&first_byte.sorted(), &groups, MS).into_iter().map(plain).collect(),
            // A format without sizes leaves them all zero.
            sizes: match sizes.last() {
                Some((_, total)) if total.max > 0.0 => sizes.iter().map(|(group, row)| group.sizes(row)).collect(),
                _ => Vec::new(),
            },
        };
        (tables, responses.into_all())
    }
}

impl Group {
    fn sizes(&self, row: &Summary) -> SizeStats {
        SizeStats {
            label: self.name.clone(),
            n: row.n as u64,
            rate_per_s: per_second(row.n as f64, self.span_ms),
            p50_bytes: row.median,
            mean_bytes: row.mean,
            sdev_bytes: row.sdev,
            cov: row.cov,
            p90_bytes: row.p90,
            p95_bytes: row.p95,
            p99_bytes: row.p99,
            min_bytes: row.min,
            max_bytes: row.max,
        }
    }
}

/// So many in so many milliseconds; `None` where they took no time.
fn per_second(n: f64, span_ms: f64) -> Option<f64> {
    (span_ms > 0.0).then(|| n * 1e3 / span_ms)
}

/// A summary as a row.
pub(crate) fn times(label: String, row: &Summary, span_ms: f64, cov: Option<Interval>) -> TimeStats {
    TimeStats {
        label,
        n: row.n as u64,
        rate_per_s: per_second(row.n as f64, span_ms),
        p50_ms: row.median,
        mean_ms: row.mean,
        sdev_ms: row.sdev,
        cov: row.cov,
        cov_low: cov.map(|cov| cov.low),
        cov_high: cov.map(|cov| cov.high),
        p90_ms: row.p90,
        p95_ms: row.p95,
        p99_ms: row.p99,
        p999_ms: row.p999,
        min_ms: row.min,
        max_ms: row.max,
        error_percent: None,
        kb_per_s: None,
    }
}

/// The labels that launched something in the order of their names, then all of them together.
fn groups(sums: &[Sums], labels: &[String]) -> Vec<Group> {
    let total = labels.len();
    let mut groups: Vec<Group> = sums
        .iter()
        .enumerate()
        .filter_map(|(at, sums)| {
            let span_ms = sums.last.1.saturating_sub(sums.first?) as f64 / MS;
            let label = (at < total).then_some(at as u16);
            Some(Group {
                name: labels.get(at).map_or_else(|| "Total".into(), Clone::clone),
                label,
                span_ms,
                error_percent: sums.failed as f64 * 100.0 / sums.launches as f64,
                kb_per_s: per_second(sums.bytes as f64 / 1e3, span_ms),
            })
        })
        .collect();
    let labels = groups.len().saturating_sub(1);
    groups[..labels].sort_by(|a, b| a.name.cmp(&b.name));
    groups
}
