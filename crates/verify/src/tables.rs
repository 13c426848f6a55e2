//! The four tables of the web-generator-toolkit: gaps, responses, first bytes, sizes. Each has one row per label, then
//! `Total`.
//!
//! Times are those of successful requests. Failures are often fast, and including them would improve the statistics, so
//! failed requests have their own table.

use std::io;

use offered_events::{Event, Outcome, Recording};
use offered_stats::Summary;
use offered_stats::cov::exponential_interval;
use offered_stats::groups::{Groups, SortedGroups};
use offered_stats::values::{Integer, Sorted, Values};

use crate::criteria::Criteria;
use crate::scope::Scope;
use crate::verdict::statistics::{SizeStats, TimeStats, per_second};

const MS: f64 = 1e6;

/// The four tables of the web-generator-toolkit, and a table of failed requests.
pub struct Tables {
    /// Gaps between sent requests.
    pub gaps: Vec<TimeStats>,
    /// Response times (done - scheduled).
    pub responses: Vec<TimeStats>,
    /// Response times of failed requests, if they are separate.
    pub failures: Vec<TimeStats>,
    /// Times to first byte (first byte - scheduled).
    pub first_byte: Vec<TimeStats>,
    /// Received bytes.
    pub sizes: Vec<SizeStats>,
}

/// The values that all rows of one label share.
struct RowInfo {
    name: String,
    label: Option<u16>,
    /// The time from the first request to the end of the response to the last one, in milliseconds.
    span_ms: f64,
    error_percent: f64,
    kb_per_s: Option<f64>,
}

/// The tables as the web-generator-toolkit computes them: times of all responses, and the rate of gaps over the time to
/// the end of the last response. `None` if no request was sent.
///
/// # Errors
/// The recording cannot be read.
pub fn toolkit(recording: &Recording, criteria: &Criteria) -> io::Result<Option<Tables>> {
    let Some(scope) = Scope::of(recording, criteria) else { return Ok(None) };
    let mut columns = TableCollector::new(scope, Definitions::Toolkit);
    scope.each_sent(|sent, event| columns.add(sent, event))?;
    let labels = recording.labels.len();
    let gaps =
        scope.in_sent_order(|| GapCollector::new(labels), |gaps, launch| gaps.add(launch.label.into(), launch.sent))?;
    Ok(Some(columns.tables(&recording.labels, gaps)))
}

/// Whose definitions apply.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Definitions {
    Ours,
    Toolkit,
}

impl Definitions {
    /// The summary of these values, divided by `per_unit`; `None` without values.
    fn summary<T: Integer>(self, values: &Sorted<T>, per_unit: f64) -> Option<Summary> {
        let ours = values.summary(per_unit)?;
        if self == Self::Ours {
            return Some(ours);
        }
        // The toolkit's percentile is the value of index floor(p (n - 1/2)), so its files agree to the last digit.
        let rank = |p: f64| (p * (values.len() as f64 - 0.5)) as u64;
        let at = |p| values.at(rank(p)).map(|value| value.into() as f64 / per_unit);
        Some(Summary { median: at(0.5)?, p90: at(0.9)?, p95: at(0.95)?, p99: at(0.99)?, p999: at(0.999)?, ..ours })
    }

    /// The rows of all groups that have values; the last group is the total.
    fn rows<'a, T: Integer>(
        self,
        values: &SortedGroups<T>,
        groups: &'a [RowInfo],
        per_unit: f64,
    ) -> Vec<(&'a RowInfo, Summary)> {
        let of = |group: &RowInfo| group.label.map_or(Some(values.all()), |label| values.group(label.into()));
        groups.iter().filter_map(|group| Some((group, self.summary(of(group)?, per_unit)?))).collect()
    }
}

/// Collects gaps between requests in the order of their sent times, by label and in total.
pub(crate) struct GapCollector {
    before: Vec<Option<u64>>,
    last: Option<u64>,
    each: Groups,
    all: Values,
}

impl GapCollector {
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

    fn rows(self, definitions: Definitions, groups: &[RowInfo]) -> Vec<(&RowInfo, Summary)> {
        let Self { before, each, all, .. } = self;
        let (each, all) = (each.sorted(), all.sorted());
        let of = |group: &RowInfo| match group.label {
            Some(label) if before.len() > 1 => each.group(label.into()),
            _ => Some(&all),
        };
        groups.iter().filter_map(|group| Some((group, definitions.summary(of(group)?, MS)?))).collect()
    }
}

/// Sums over the requests of one label, or of all.
#[derive(Clone, Default)]
struct Sums {
    requests: u64,
    failed: u64,
    bytes: u64,
    first: Option<u64>,
    last: (u64, u64),
}

/// Collects all tables except the gaps.
pub(crate) struct TableCollector {
    definitions: Definitions,
    /// One entry per label, then the total.
    sums: Vec<Sums>,
    sizes: Groups<u64>,
    responses: Groups<i64>,
    failures: Groups<i64>,
    first_byte: Groups<i64>,
}

impl TableCollector {
    pub(crate) fn new(scope: Scope, definitions: Definitions) -> Self {
        let labels = scope.recording.labels.len();
        let [responses, failures, first_byte] = [(); 3].map(|()| Groups::default());
        Self {
            definitions,
            sums: vec![Sums::default(); labels + 1],
            sizes: Groups::default(),
            responses,
            failures,
            first_byte,
        }
    }

    /// Adds a sent request of the window.
    pub(crate) fn add(&mut self, sent: u64, event: &Event) {
        let (label, total) = (usize::from(event.label), self.sums.len() - 1);
        let done = event.done.map_or(sent, |done| done.0);
        for at in [label.min(total), total] {
            let sums = &mut self.sums[at];
            sums.requests += 1;
            sums.failed += u64::from(event.outcome != Outcome::Ok);
            sums.bytes += event.bytes_in;
            sums.first = Some(sums.first.map_or(sent, |first| first.min(sent)));
            sums.last = sums.last.max((sent, done));
            if label >= total {
                break;
            }
        }
        let good = event.outcome == Outcome::Ok || self.definitions == Definitions::Toolkit;
        self.sizes.add(label, event.bytes_in);
        if let Some(response) = event.response() {
            if good { &mut self.responses } else { &mut self.failures }.add(label, response.0);
        }
        if let Some(first_byte) = event.first_byte.filter(|_| good) {
            self.first_byte.add(label, (first_byte - event.intended).0);
        }
    }

    /// The tables, with these gaps.
    pub(crate) fn tables(self, labels: &[String], gaps: GapCollector) -> Tables {
        self.with_responses(labels, gaps).0
    }

    /// The tables, and the response times behind them.
    pub(crate) fn with_responses(self, labels: &[String], gaps: GapCollector) -> (Tables, Sorted<i64>) {
        let Self { definitions, sums, sizes, responses, failures, first_byte } = self;
        let groups = groups(&sums, labels);
        let launches = gaps.rows(definitions, &groups).into_iter().map(|(group, row)| {
            // Gaps are consecutive: n of them take n times their mean.
            let span_ms = if definitions == Definitions::Ours { row.n as f64 * row.mean } else { group.span_ms };
            TimeStats::of(group.name.clone(), &row, span_ms, Some(exponential_interval(row.cov, row.n)))
        });
        let launches = launches.collect();
        let plain = |(group, row): (&RowInfo, Summary)| TimeStats::of(group.name.clone(), &row, group.span_ms, None);
        let answered = |(group, row): (&RowInfo, Summary)| TimeStats {
            error_percent: Some(group.error_percent),
            kb_per_s: group.kb_per_s,
            ..plain((group, row))
        };
        let responses = responses.sorted();
        let sizes = definitions.rows(&sizes.sorted(), &groups, 1.0);
        let tables = Tables {
            gaps: launches,
            responses: definitions.rows(&responses, &groups, MS).into_iter().map(answered).collect(),
            failures: definitions.rows(&failures.sorted(), &groups, MS).into_iter().map(plain).collect(),
            first_byte: definitions.rows(&first_byte.sorted(), &groups, MS).into_iter().map(plain).collect(),
            // If a format has no sizes, all of them are zero.
            sizes: match sizes.last() {
                Some((_, total)) if total.max > 0.0 => sizes.iter().map(|(group, row)| group.sizes(row)).collect(),
                _ => Vec::new(),
            },
        };
        (tables, responses.into_all())
    }
}

impl RowInfo {
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

/// The labels with sent requests, sorted by name, then the total.
fn groups(sums: &[Sums], labels: &[String]) -> Vec<RowInfo> {
    let total = labels.len();
    let mut groups: Vec<RowInfo> = sums
        .iter()
        .enumerate()
        .filter_map(|(at, sums)| {
            let span_ms = sums.last.1.saturating_sub(sums.first?) as f64 / MS;
            let label = (at < total).then_some(at as u16);
            Some(RowInfo {
                name: labels.get(at).map_or_else(|| "Total".into(), Clone::clone),
                label,
                span_ms,
                error_percent: sums.failed as f64 * 100.0 / sums.requests as f64,
                kb_per_s: per_second(sums.bytes as f64 / 1e3, span_ms),
            })
        })
        .collect();
    let labels = groups.len().saturating_sub(1);
    groups[..labels].sort_by(|a, b| a.name.cmp(&b.name));
    groups
}
