//! Computes the results of policies.

use std::collections::HashMap;
use std::io;

use offered_events::{Event, Outcome, Recording};
use offered_stats::groups::{Groups, SortedGroups};
use offered_stats::steady_state::{Estimate, ratio_of_ratios, ratio_of_trials};
use offered_stats::values::Sorted;

use super::{Policy, PolicyRow, RowKind, spans};
use crate::criteria::Criteria;
use crate::verdict::{WarningKind, Window};

/// A warning if a policy was not in effect in some of its blocks.
pub(crate) fn warning(recording: &Recording) -> Option<WarningKind> {
    let blocks = &recording.generator.as_ref()?.blocks;
    let mut missing = blocks.iter().filter(|block| !block.is_in_place()).peekable();
    let first = missing.peek()?;
    let why = first.failed.clone().unwrap_or_else(|| {
        let took = (first.ended_ns - first.began_ns) as f64 / 1e9;
        format!("the command took {took:.1} s, longer than the settling time")
    });
    let policy = first.policy.clone();
    Some(WarningKind::PolicyNotApplied {
        policy,
        reason: why,
        blocks: missing.count() as u64,
        total_blocks: blocks.len() as u64,
    })
}

/// Maps a request to its rows: its class, its label, the total.
struct RowGroups {
    groups: Vec<(RowKind, String)>,
    class_of: Vec<Option<usize>>,
    label_at: usize,
}

impl RowGroups {
    fn new(labels: &[String], classes: &[(String, String)]) -> Self {
        let class_of: HashMap<&str, &str> = classes.iter().map(|(label, class)| (&**label, &**class)).collect();
        let mut groups: Vec<(RowKind, String)> = Vec::new();
        let mut place = |label: &String| {
            let class = *class_of.get(label.as_str())?;
            let known = groups.iter().position(|(_, name)| name == class);
            Some(known.unwrap_or_else(|| {
                groups.push((RowKind::Class, class.to_owned()));
                groups.len() - 1
            }))
        };
        let class_of = labels.iter().map(&mut place).collect();
        let label_at = groups.len();
        groups.extend(labels.iter().map(|label| (RowKind::Label, label.clone())));
        groups.push((RowKind::Total, "Total".to_owned()));
        Self { groups, class_of, label_at }
    }

    fn of(&self, event: &Event) -> impl Iterator<Item = usize> + use<> {
        let label = usize::from(event.label);
        let known = self.class_of.get(label);
        let label = known.map(|_| self.label_at + label);
        known.copied().flatten().into_iter().chain(label).chain([self.groups.len() - 1])
    }
}

/// The sums of one row in one part.
#[derive(Clone, Copy, Default)]
struct Cell {
    requests: u64,
    ok: u64,
    sum_ns: f64,
}

/// The results of each policy, in the order of first turns; empty if no policies alternated.
///
/// # Errors
/// The recording cannot be read.
pub(crate) fn policies(recording: &Recording, criteria: &Criteria, window: &Window) -> io::Result<Vec<Policy>> {
    let (names, spans) = spans(recording, window);
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let grouping = RowGroups::new(&recording.labels, &criteria.classes);
    let width = grouping.groups.len();
    let mut cells = vec![Cell::default(); spans.len() * width];
    let mut responses = Groups::<i64>::default();
    recording.events.each(|event| {
        let at = event.intended.0;
        let place = spans.partition_point(|span| span.start_ns <= at).wrapping_sub(1);
        let Some(span) = spans.get(place).filter(|span| at < span.end_ns) else { return };
        let response = event.response().filter(|_| event.outcome == Outcome::Ok);
        for group in grouping.of(event) {
            let cell = &mut cells[place * width + group];
            cell.requests += 1;
            if let Some(response) = response {
                cell.ok += 1;
                cell.sum_ns += response.0 as f64;
                responses.add(span.policy * width + group, response.0);
            }
        }
    })?;
    let responses = (cells.iter().any(|cell| cell.ok > 0)).then(|| responses.sorted());
    let of = |policy: usize, group: usize| -> Vec<Cell> {
        let own = spans.iter().zip(cells.chunks(width)).filter(|(span, _)| span.policy == policy);
        own.map(|(_, cells)| cells[group]).collect()
    };
    let policy = |(policy, name): (usize, &String)| {
        let own = || spans.iter().filter(|span| span.policy == policy);
        let seconds = own().map(|span| (span.end_ns - span.start_ns) as f64 / 1e9).sum();
        let rows = grouping.groups.iter().enumerate().filter_map(|(group, (rows, label))| {
            let (cells, first) = (of(policy, group), (policy > 0).then(|| of(0, group)));
            row((*rows, label), &cells, first.as_deref(), seconds, (responses.as_ref(), policy * width + group))
        });
        Policy { policy: name.clone(), blocks: own().count() as u64, duration_s: seconds, rows: rows.collect() }
    };
    Ok(names.iter().enumerate().map(policy).collect())
}

/// One row; `None` for a label without requests.
fn row(
    (of, label): (RowKind, &str),
    cells: &[Cell],
    first: Option<&[Cell]>,
    seconds: f64,
    (responses, group): (Option<&SortedGroups<i64>>, usize),
) -> Option<PolicyRow> {
    let pairs = |cells: &[Cell]| cells.iter().map(|cell| (cell.sum_ns / 1e6, cell.ok as f64)).collect::<Vec<_>>();
    let [launches, ok] = [|cell: &Cell| cell.requests, |cell: &Cell| cell.ok].map(|n| cells.iter().map(n).sum::<u64>());
    if launches == 0 && of != RowKind::Total {
        return None;
    }
    let mean = ratio_of_trials(&pairs(cells));
    let known = |x: f64| Some(x).filter(|x| x.is_finite());
    let ratio = first.map(|first| ratio_of_ratios(&pairs(cells), &pairs(first)));
    let ratio_at = |get: fn(&Estimate) -> f64| ratio.as_ref().map(get).and_then(known);
    let times = responses.and_then(|responses| responses.group(group)).filter(|times| !times.is_empty());
    let at = |p: f64| Some(times?.quantile(p)? as f64 / 1e6);
    Some(PolicyRow {
        kind: of,
        label: label.to_owned(),
        requests: launches,
        ok,
        rate_per_s: if seconds > 0.0 { launches as f64 / seconds } else { 0.0 },
        mean_ms: known(mean.value),
        mean_low_ms: known(mean.low),
        mean_high_ms: known(mean.high),
        p50_ms: at(0.5),
        p90_ms: at(0.9),
        p95_ms: at(0.95),
        p99_ms: at(0.99),
        max_ms: times.and_then(Sorted::max).map(|ns| ns as f64 / 1e6),
        ratio: ratio_at(|ratio| ratio.value),
        ratio_low: ratio_at(|ratio| ratio.low),
        ratio_high: ratio_at(|ratio| ratio.high),
    })
}

#[cfg(test)]
mod tests {
    use offered_base::{Instant, Nanos};
    use offered_events::recording::{Block, Evidence};

    use super::*;

    /// Ten requests per second for 24 s. Policies alternate every 4 s, of which the first is settling time. Under `b`
    /// responses take half as long; in the settling times they take an hour.
    fn run(spoil: impl Fn(usize, &mut Block)) -> Recording {
        let mut blocks: Vec<Block> = "abbaab"
            .chars()
            .zip(0u64..)
            .map(|(policy, number)| Block {
                policy: policy.to_string(),
                begins_ns: number * 4_000_000_000,
                settled_ns: (number * 4 + 1) * 1_000_000_000,
                ends_ns: (number + 1) * 4_000_000_000,
                began_ns: number * 4_000_000_000,
                ended_ns: number * 4_000_000_000 + 2_000_000,
                failed: None,
            })
            .collect();
        blocks.iter_mut().enumerate().for_each(|(number, block)| spoil(number, block));
        let event = |i: u64| {
            let at = Instant::from_millis(100 * i);
            let (settles, is_b) = (i % 40 < 10, [1, 2, 5].contains(&(i / 40)));
            let noise = 1 + i % 3;
            let ms = if settles { 3_600_000 } else { (if is_b { 5 } else { 10 }) * noise };
            let done = Some(at + Nanos::from_millis(ms));
            Event { sent: Some(at), done, outcome: Outcome::Ok, label: (i % 2) as u16, ..Event::at(at) }
        };
        let generator = Some(Evidence { blocks, ..Evidence::default() });
        let events: Vec<Event> = (0..240).map(event).collect();
        Recording { generator, ..Recording::of_run(events, vec!["find".to_owned(), "buy".to_owned()]) }
    }

    fn window(from_s: f64, to_s: f64) -> Window {
        Window { start_s: from_s, end_s: to_s, requests: 0, excluded: 0 }
    }

    #[test]
    fn policies_count_settled_parts_of_blocks() {
        let criteria = Criteria { classes: vec![("buy".to_owned(), "long".to_owned())], ..Criteria::default() };
        let found = policies(&run(|_, _| {}), &criteria, &window(0.0, 24.0)).unwrap();
        let [a, b] = &found[..] else { panic!("{found:?}") };
        assert_eq!((a.policy.as_str(), a.blocks, a.duration_s), ("a", 3, 9.0));
        let names: Vec<(RowKind, &str)> = a.rows.iter().map(|row| (row.kind, row.label.as_str())).collect();
        let labels = [(RowKind::Label, "find"), (RowKind::Label, "buy")];
        assert_eq!(names, [&[(RowKind::Class, "long")], &labels[..], &[(RowKind::Total, "Total")]].concat());
        assert_eq!(a.shown_rows().count(), 2, "classes are preferred over labels");
        let [a, b] = [a, b].map(|policy| policy.rows.last().unwrap());
        assert_eq!((a.requests, a.ok, a.rate_per_s, a.mean_ms, b.mean_ms), (90, 90, 10.0, Some(20.0), Some(10.0)));
        assert_eq!((b.p50_ms, b.max_ms, a.max_ms), (Some(10.0), Some(15.0), Some(30.0)));
        assert_eq!((a.ratio, b.ratio, b.ratio_low, b.ratio_high), (None, Some(0.5), Some(0.5), Some(0.5)));
    }

    #[test]
    fn blocks_without_their_policy_are_excluded_with_a_warning() {
        let failed = run(|number, block| block.failed = (number == 3).then(|| "hook `x`: no".to_owned()));
        let found = policies(&failed, &Criteria::default(), &window(0.0, 24.0)).unwrap();
        assert_eq!([found[0].blocks, found[1].blocks], [2, 3]);
        assert_eq!(found[0].rows.last().unwrap().mean_low_ms, None, "two blocks are too few for an interval");
        let told = warning(&failed).unwrap();
        let expected = WarningKind::PolicyNotApplied {
            policy: "a".to_owned(),
            reason: "hook `x`: no".to_owned(),
            blocks: 1,
            total_blocks: 6,
        };
        assert_eq!(told, expected);
        let slow = run(|number, block| block.ended_ns += if number == 5 { 1_500_000_000 } else { 0 });
        assert_eq!(policies(&slow, &Criteria::default(), &window(0.0, 24.0)).unwrap()[1].blocks, 2);
        let Some(WarningKind::PolicyNotApplied { reason: why, .. }) = warning(&slow) else { panic!() };
        assert_eq!(why, "the command took 1.5 s, longer than the settling time");
        assert_eq!(warning(&run(|_, _| {})), None);
    }

    #[test]
    fn only_the_judged_time_counts() {
        let found = policies(&run(|_, _| {}), &Criteria::default(), &window(6.0, 17.0)).unwrap();
        assert_eq!((found[0].duration_s, found[1].duration_s, found[0].blocks), (3.0, 5.0, 1));
        let plain = Recording { generator: None, ..run(|_, _| {}) };
        assert_eq!(policies(&plain, &Criteria::default(), &window(0.0, 24.0)).unwrap(), []);
    }
}
