//! Policies that took turns within one run: what came of each, in the parts of its blocks that count.
//!
//! # Method
//! A launch belongs to the block in which it was meant, and counts from the end of the block's settling time on. Blocks of a policy lie
//! apart from one another and are taken for independent: the mean response is the sum of all over their number, with the interval of the
//! ratio estimator over blocks and Student's t ([`offered_stats::steady_state::ratio_of_trials`]). Beside the policy that
//! is named first stands the ratio of the two means, from the blocks of both that are neighbours, so that what the machine or
//! the arrivals did to both is taken out.
//!
//! # Limitations
//! A launch near the end of a block may be served under the next policy, and one near the beginning finds the queue of the
//! one before, as far as the settling time did not empty it. Blocks should be long beside responses.

use std::collections::HashMap;
use std::io;

use offered_model::{Event, Outcome, Recording};
use offered_stats::groups::{Groups, SortedGroups};
use offered_stats::steady_state::{Estimate, ratio_of_ratios, ratio_of_trials};
use offered_stats::values::Sorted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::criteria::Criteria;
use crate::verdict::{WarningKind, Window};

/// A policy that had its turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Policy {
    /// What it is called.
    pub policy: String,
    /// How many of its blocks count: those that it was in place for, and that reach into the time that is judged.
    pub blocks: u64,
    /// How long they are together, without their settling times.
    pub seconds: f64,
    /// One row per class of requests, one per label, then `Total`.
    pub requests: Vec<UnderPolicy>,
}

offered_model::named! {
    /// Which requests a row is about.
    pub enum Rows {
        /// Those of a class.
        Class = "class",
        /// Those of a label.
        Label = "label",
        /// All.
        Total = "total",
    }
}

/// Requests while a policy was in place. Responses are done - intended of good answers; intervals are of 95 %, and `None` of fewer than
/// three blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnderPolicy {
    /// Which these are.
    pub of: Rows,
    /// The class or the label; `Total`.
    pub label: String,
    /// Launches meant while the policy counted.
    pub launches: u64,
    /// Those of them that were answered well.
    pub ok: u64,
    /// Launches per second.
    pub rate_per_s: f64,
    /// The mean response; `None` without any.
    pub mean_ms: Option<f64>,
    /// The lower end of its interval.
    pub mean_low_ms: Option<f64>,
    /// The upper end.
    pub mean_high_ms: Option<f64>,
    /// Half of the responses took no longer.
    pub p50_ms: Option<f64>,
    /// Nine in ten.
    pub p90_ms: Option<f64>,
    /// Ninety-five in a hundred.
    pub p95_ms: Option<f64>,
    /// Ninety-nine in a hundred.
    pub p99_ms: Option<f64>,
    /// The longest response.
    pub max_ms: Option<f64>,
    /// The mean response over that under the first policy; `None` of the first itself.
    pub ratio: Option<f64>,
    /// The lower end of its interval.
    pub ratio_low: Option<f64>,
    /// The upper end.
    pub ratio_high: Option<f64>,
}

/// A part of a run, in ns since its start, in which one policy counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Which of the policies, in the order in which they are named.
    pub policy: usize,
    /// From here.
    pub from_ns: u64,
    /// Up to here.
    pub to_ns: u64,
}

/// The names of the policies of a run in the order of their first turns, and the parts in which they count, in the order of time.
pub fn spans(recording: &Recording, window: &Window) -> (Vec<String>, Vec<Span>) {
    let blocks = recording.generator.as_ref().map_or(&[][..], |generator| &generator.blocks);
    let (mut names, mut spans) = (Vec::<String>::new(), Vec::new());
    let ns = |s: f64| (s.max(0.0) * 1e9).round() as u64;
    for block in blocks {
        let policy = names.iter().position(|name| *name == block.policy).unwrap_or_else(|| {
            names.push(block.policy.clone());
            names.len() - 1
        });
        let (from_ns, to_ns) = (block.settled_ns.max(ns(window.start_s)), block.ends_ns.min(ns(window.end_s)));
        if block.is_in_place() && from_ns < to_ns {
            spans.push(Span { policy, from_ns, to_ns });
        }
    }
    (names, spans)
}

/// Doubts about turns that were none.
pub(crate) fn doubts(recording: &Recording) -> Option<WarningKind> {
    let blocks = &recording.generator.as_ref()?.blocks;
    let mut missing = blocks.iter().filter(|block| !block.is_in_place()).peekable();
    let first = missing.peek()?;
    let why = first.failed.clone().unwrap_or_else(|| {
        let took = (first.ended_ns - first.began_ns) as f64 / 1e9;
        format!("the command took {took:.1} s, which is longer than the settling time")
    });
    let policy = first.policy.clone();
    Some(WarningKind::PolicyNotApplied { policy, reason: why, blocks: missing.count() as u64, total_blocks: blocks.len() as u64 })
}

/// The groups that a launch is one of: its class, its label, all.
struct Grouping {
    groups: Vec<(Rows, String)>,
    class_of: Vec<Option<usize>>,
    label_at: usize,
}

impl Grouping {
    fn new(labels: &[String], classes: &[(String, String)]) -> Self {
        let class_of: HashMap<&str, &str> = classes.iter().map(|(label, class)| (&**label, &**class)).collect();
        let mut groups: Vec<(Rows, String)> = Vec::new();
        let mut place = |label: &String| {
            let class = *class_of.get(label.as_str())?;
            let known = groups.iter().position(|(_, name)| name == class);
            Some(known.unwrap_or_else(|| {
                groups.push((Rows::Class, class.to_owned()));
                groups.len() - 1
            }))
        };
        let class_of = labels.iter().map(&mut place).collect();
        let label_at = groups.len();
        groups.extend(labels.iter().map(|label| (Rows::Label, label.clone())));
        groups.push((Rows::Total, "Total".to_owned()));
        Self { groups, class_of, label_at }
    }

    fn of(&self, event: &Event) -> impl Iterator<Item = usize> + use<> {
        let label = usize::from(event.label);
        let known = self.class_of.get(label);
        let label = known.map(|_| self.label_at + label);
        known.copied().flatten().into_iter().chain(label).chain([self.groups.len() - 1])
    }
}

/// What was counted of a group in a span.
#[derive(Clone, Copy, Default)]
struct Cell {
    launches: u64,
    ok: u64,
    sum_ns: f64,
}

/// What came of each policy of a run, in the order of their first turns; empty where none took turns.
///
/// # Errors
/// The recording can no longer be read.
pub(crate) fn policies(recording: &Recording, ask: &Criteria, window: &Window) -> io::Result<Vec<Policy>> {
    let (names, spans) = spans(recording, window);
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let grouping = Grouping::new(&recording.labels, &ask.classes);
    let width = grouping.groups.len();
    let mut cells = vec![Cell::default(); spans.len() * width];
    let mut responses = Groups::<i64>::default();
    recording.events.each(|event| {
        let at = event.intended.0;
        let place = spans.partition_point(|span| span.from_ns <= at).wrapping_sub(1);
        let Some(span) = spans.get(place).filter(|span| at < span.to_ns) else { return };
        let response = event.response().filter(|_| event.outcome == Outcome::Ok);
        for group in grouping.of(event) {
            let cell = &mut cells[place * width + group];
            cell.launches += 1;
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
        let seconds = own().map(|span| (span.to_ns - span.from_ns) as f64 / 1e9).sum();
        let rows = grouping.groups.iter().enumerate().filter_map(|(group, (rows, label))| {
            let (cells, first) = (of(policy, group), (policy > 0).then(|| of(0, group)));
            row((*rows, label), &cells, first.as_deref(), seconds, (responses.as_ref(), policy * width + group))
        });
        Policy { policy: name.clone(), blocks: own().count() as u64, seconds, requests: rows.collect() }
    };
    Ok(names.iter().enumerate().map(policy).collect())
}

/// A row; `None` of a label that nothing was launched of.
fn row(
    (of, label): (Rows, &str),
    cells: &[Cell],
    first: Option<&[Cell]>,
    seconds: f64,
    (responses, group): (Option<&SortedGroups<i64>>, usize),
) -> Option<UnderPolicy> {
    let pairs = |cells: &[Cell]| cells.iter().map(|cell| (cell.sum_ns / 1e6, cell.ok as f64)).collect::<Vec<_>>();
    let [launches, ok] = [|cell: &Cell| cell.launches, |cell: &Cell| cell.ok].map(|n| cells.iter().map(n).sum::<u64>());
    if launches == 0 && of != Rows::Total {
        return None;
    }
    let mean = ratio_of_trials(&pairs(cells));
    let known = |x: f64| Some(x).filter(|x| x.is_finite());
    let ratio = first.map(|first| ratio_of_ratios(&pairs(cells), &pairs(first)));
    let ratio_at = |get: fn(&Estimate) -> f64| ratio.as_ref().map(get).and_then(known);
    let times = responses.and_then(|responses| responses.of(group)).filter(|times| !times.is_empty());
    let at = |p: f64| Some(times?.quantile(p)? as f64 / 1e6);
    Some(UnderPolicy {
        of,
        label: label.to_owned(),
        launches,
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

impl Policy {
    /// The rows that are shown: those of classes where there are any, else those of labels, and `Total`.
    pub fn shown(&self) -> impl Iterator<Item = &UnderPolicy> {
        let other = if self.requests.iter().any(|row| row.of == Rows::Class) { Rows::Label } else { Rows::Class };
        // One label is the total.
        let labels = self.requests.iter().filter(|row| row.of == Rows::Label).count();
        self.requests.iter().filter(move |row| row.of != other && (row.of != Rows::Label || labels > 1))
    }
}

#[cfg(test)]
mod tests {
    use offered_model::recording::{Block, Evidence};
    use offered_model::{Instant, Nanos};

    use super::*;

    /// Ten launches a second for 24 s; policies take turns every 4 s, of which the first counts for nothing, and under `b` a response takes
    /// half as long. In the settling times it takes an hour.
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
    fn each_policy_counts_for_what_came_while_it_was_settled() {
        let ask = Criteria { classes: vec![("buy".to_owned(), "long".to_owned())], ..Criteria::default() };
        let found = policies(&run(|_, _| {}), &ask, &window(0.0, 24.0)).unwrap();
        let [a, b] = &found[..] else { panic!("{found:?}") };
        assert_eq!((a.policy.as_str(), a.blocks, a.seconds), ("a", 3, 9.0));
        let names: Vec<(Rows, &str)> = a.requests.iter().map(|row| (row.of, row.label.as_str())).collect();
        let labels = [(Rows::Label, "find"), (Rows::Label, "buy")];
        assert_eq!(names, [&[(Rows::Class, "long")], &labels[..], &[(Rows::Total, "Total")]].concat());
        assert_eq!(a.shown().count(), 2, "of classes where there are any");
        let [a, b] = [a, b].map(|policy| policy.requests.last().unwrap());
        assert_eq!((a.launches, a.ok, a.rate_per_s, a.mean_ms, b.mean_ms), (90, 90, 10.0, Some(20.0), Some(10.0)));
        assert_eq!((b.p50_ms, b.max_ms, a.max_ms), (Some(10.0), Some(15.0), Some(30.0)));
        assert_eq!((a.ratio, b.ratio, b.ratio_low, b.ratio_high), (None, Some(0.5), Some(0.5), Some(0.5)));
    }

    #[test]
    fn a_turn_that_was_none_counts_for_nobody_and_is_told() {
        let failed = run(|number, block| block.failed = (number == 3).then(|| "hook `x`: no".to_owned()));
        let found = policies(&failed, &Criteria::default(), &window(0.0, 24.0)).unwrap();
        assert_eq!([found[0].blocks, found[1].blocks], [2, 3]);
        assert_eq!(found[0].requests.last().unwrap().mean_low_ms, None, "two blocks tell no interval");
        let told = doubts(&failed).unwrap();
        let expected = WarningKind::PolicyNotApplied { policy: "a".to_owned(), reason: "hook `x`: no".to_owned(), blocks: 1, total_blocks: 6 };
        assert_eq!(told, expected);
        let slow = run(|number, block| block.ended_ns += if number == 5 { 1_500_000_000 } else { 0 });
        assert_eq!(policies(&slow, &Criteria::default(), &window(0.0, 24.0)).unwrap()[1].blocks, 2);
        let Some(WarningKind::PolicyNotApplied { reason: why, .. }) = doubts(&slow) else { panic!() };
        assert_eq!(why, "the command took 1.5 s, which is longer than the settling time");
        assert_eq!(doubts(&run(|_, _| {})), None);
    }

    #[test]
    fn only_the_time_that_is_judged_counts() {
        let found = policies(&run(|_, _| {}), &Criteria::default(), &window(6.0, 17.0)).unwrap();
        assert_eq!((found[0].seconds, found[1].seconds, found[0].blocks), (3.0, 5.0, 1));
        let plain = Recording { generator: None, ..run(|_, _| {}) };
        assert_eq!(policies(&plain, &Criteria::default(), &window(0.0, 24.0)).unwrap(), []);
    }
}
