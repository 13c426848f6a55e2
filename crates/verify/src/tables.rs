//! The four tables of the web-generator-toolkit: gaps, responses, first bytes, sizes; a row per label, then `Total`.
//!
//! Times are those of good answers. A failure is often quick, and a table in which it counts gets better the more there are; so
//! the failed have a table of their own.

use offered_model::{Event, Outcome, Recording};
use offered_stats::cov::exponential_interval;
use offered_stats::summary::gaps;
use offered_stats::{Interval, Summary};

use crate::ask::Ask;
use crate::scope::Scope;
use crate::verdict::{Sizes, Times};

const MS: f64 = 1e6;

/// The four tables, and one of what failed.
pub struct Tables {
    /// Gaps between launches.
    pub launches: Vec<Times>,
    /// done - intended.
    pub responses: Vec<Times>,
    /// The same of what failed, where that stands apart.
    pub failures: Vec<Times>,
    /// first byte - intended.
    pub first_byte: Vec<Times>,
    /// Bytes read.
    pub sizes: Vec<Sizes>,
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

/// The tables of `scope`, times of good answers. One measure at a time is held in memory, beside the events.
pub(crate) fn tables(scope: Scope) -> Tables {
    made(scope, Rule::Ours)
}

/// The tables as the web-generator-toolkit makes them: times of all answers, and the rate of gaps over the time to the end of the
/// last answer; `None` when nothing was sent.
pub fn toolkit(recording: &Recording, ask: &Ask) -> Option<Tables> {
    Some(made(Scope::of(recording, ask)?, Rule::Toolkit))
}

/// Whose rule it is.
#[derive(Clone, Copy, PartialEq)]
enum Rule {
    Ours,
    Toolkit,
}

fn made(scope: Scope, rule: Rule) -> Tables {
    let groups = groups(scope);
    let sizes = column(scope, &groups, 1.0, |event| Some(event.bytes_in));
    let sent = Values::of(scope, |sent, _| Some(sent));
    let launches = groups.iter().filter_map(|group| {
        let mut apart: Vec<u64> = gaps(sent.of_group(group)).collect();
        apart.sort_unstable();
        let row = Summary::of_sorted(&apart, MS)?;
        // Gaps follow one another: n of them take n times their mean.
        let span_ms = if rule == Rule::Ours { row.n as f64 * row.mean } else { group.span_ms };
        Some(times(group.name.clone(), &row, span_ms, Some(exponential_interval(row.cov, row.n))))
    });
    let launches = launches.collect();
    drop(sent);
    let good = move |event: &Event| event.outcome == Outcome::Ok || rule == Rule::Toolkit;
    let response =
        move |event: &Event, wanted: bool| event.response().filter(|_| good(event) == wanted).map(|time| time.0);
    let responses = column(scope, &groups, MS, |event| response(event, true)).into_iter().map(|(group, row)| Times {
        error_percent: Some(group.error_percent),
        kb_per_s: group.kb_per_s,
        ..times(group.name.clone(), &row, group.span_ms, None)
    });
    let failures = column(scope, &groups, MS, |event| response(event, false))
        .into_iter()
        .map(|(group, row)| times(group.name.clone(), &row, group.span_ms, None));
    let first_byte =
        column(scope, &groups, MS, |event| Some((event.first_byte.filter(|_| good(event))? - event.intended).0))
            .into_iter()
            .map(|(group, row)| times(group.name.clone(), &row, group.span_ms, None));
    Tables {
        launches,
        responses: responses.collect(),
        failures: failures.collect(),
        first_byte: first_byte.collect(),
        // A format without sizes leaves them all zero.
        sizes: match sizes.last() {
            Some((_, total)) if total.max > 0.0 => sizes.iter().map(|(group, row)| group.sizes(row)).collect(),
            _ => Vec::new(),
        },
    }
}

impl Group {
    fn sizes(&self, row: &Summary) -> Sizes {
        Sizes {
            label: self.name.clone(),
            n: row.n as u64,
            rate_per_s: per_second(row.n as f64, self.span_ms),
            median_bytes: row.median,
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
pub(crate) fn times(label: String, row: &Summary, span_ms: f64, cov: Option<Interval>) -> Times {
    Times {
        label,
        n: row.n as u64,
        rate_per_s: per_second(row.n as f64, span_ms),
        median_ms: row.median,
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
fn groups(scope: Scope) -> Vec<Group> {
    #[derive(Clone, Default)]
    struct Sums {
        launches: u64,
        failed: u64,
        bytes: u64,
        first: Option<u64>,
        last: (u64, u64),
    }
    let mut sums = vec![Sums::default(); scope.recording.labels.len() + 1];
    let total = sums.len() - 1;
    for (sent, event) in scope.launches() {
        let done = event.done.map_or(sent, |done| done.0);
        for at in [usize::from(event.label).min(total), total] {
            let sums = &mut sums[at];
            sums.launches += 1;
            sums.failed += u64::from(event.outcome != Outcome::Ok);
            sums.bytes += event.bytes_in;
            sums.first = Some(sums.first.map_or(sent, |first| first.min(sent)));
            sums.last = sums.last.max((sent, done));
            if at == total && usize::from(event.label) >= total {
                break;
            }
        }
    }
    let mut groups: Vec<Group> = sums
        .iter()
        .enumerate()
        .filter_map(|(at, sums)| {
            let span_ms = sums.last.1.saturating_sub(sums.first?) as f64 / MS;
            let label = (at < total).then_some(at as u16);
            Some(Group {
                name: scope.recording.labels.get(at).map_or_else(|| "Total".into(), Clone::clone),
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

/// A measure summarised for every group that has it; the whole is in the last row.
fn column<'a, T: Copy + Into<i128> + Ord>(
    scope: Scope,
    groups: &'a [Group],
    per_unit: f64,
    measure: impl Fn(&Event) -> Option<T>,
) -> Vec<(&'a Group, Summary)> {
    let values = Values::of(scope, |_, event| measure(event));
    let row = |group: &'a Group| Some((group, Summary::of_sorted(values.of_group(group), per_unit)?));
    groups.iter().filter_map(row).collect()
}

/// A measure of every launch, ascending: of each label by itself, and of all.
struct Values<T> {
    of_label: Vec<Vec<T>>,
    all: Vec<T>,
}

impl<T: Copy + Ord> Values<T> {
    /// What `measure` says of each launch, given the instant it was sent.
    fn of(scope: Scope, measure: impl Fn(u64, &Event) -> Option<T>) -> Self {
        let mut of_label: Vec<Vec<T>> = vec![Vec::new(); scope.recording.labels.len()];
        let mut all = Vec::new();
        for (sent, event) in scope.launches() {
            let Some(value) = measure(sent, event) else { continue };
            all.push(value);
            if of_label.len() < 2 {
                continue; // the one label is all of them
            }
            if let Some(values) = of_label.get_mut(usize::from(event.label)) {
                values.push(value);
            }
        }
        all.sort_unstable();
        for values in &mut of_label {
            values.sort_unstable();
        }
        Self { of_label, all }
    }

    fn of_group(&self, group: &Group) -> &[T] {
        match group.label {
            Some(label) if self.of_label.len() > 1 => &self.of_label[usize::from(label)],
            _ => &self.all,
        }
    }
}
