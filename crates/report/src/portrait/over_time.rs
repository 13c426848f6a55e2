//! The course of a run, in cells of time.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use offered_model::{Event, Instant, Outcome, Recording};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::grid::{Filling, Grid, Percentiles};
use super::round_up;
use crate::chart::Heat;
use crate::document::short;

/// No run has more cells than this.
pub(super) const MAX_CELLS: usize = 120;
/// So many answers tell the 99 % point of a cell.
const ANSWERS_OF_P99: usize = 200;
/// A course is seen in so many cells, however few answers they have.
const MIN_CELLS: usize = 12;

/// What happened in each cell of time. Times are seconds since the start of a run of ours, or the first launch of a file; a list has a number per cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverTime {
    /// The edges of the cells, one more than there are cells.
    pub edges_s: Vec<f64>,
    /// Where the part that is judged begins and ends.
    pub judged_s: [f64; 2],
    /// Launches meant; `None` where the recording does not know.
    pub meant: Option<Vec<u64>>,
    /// Launches sent.
    pub sent: Vec<u64>,
    /// Complete answers.
    pub answered: Vec<u64>,
    /// Launches that failed, by outcome, counted when they ended.
    pub failed: BTreeMap<Cow<'static, str>, Vec<u64>>,
    /// Bytes read of answers that ended.
    pub bytes_in: Vec<u64>,
    /// Bytes written for them.
    pub bytes_out: Vec<u64>,
    /// How many were under way, averaged over the cell.
    pub in_flight: Vec<f64>,
    /// Responses, by when they were sent.
    pub responses: Option<Grid>,
    /// The edges of the cells that percentiles are of: wider ones, where few launches fall into a cell.
    pub percentile_edges_s: Vec<f64>,
    /// Percentiles of the responses that were good answers, by when they were sent.
    pub percentiles: Percentiles,
    /// Lateness, by when they were sent; `None` where not known.
    pub lateness: Option<Grid>,
}

/// Cells of equal length from an origin; the last may be up to half a cell longer or shorter.
struct Cells {
    origin: u64,
    span: u64,
    cell: u64,
    count: usize,
}

impl Cells {
    fn new(origin: u64, span: u64) -> Self {
        let cell = round_up(span.max(1) / MAX_CELLS as u64 + 1);
        // A last cell of a few launches would look like a rate that falls.
        let count = ((span as f64 / cell as f64).round() as usize).max(1);
        Self { origin, span, cell, count }
    }

    fn edge(&self, i: usize) -> u64 {
        if i == self.count { self.span.max(1) } else { i as u64 * self.cell }
    }

    /// The cell of an instant of the span.
    fn at(&self, instant: Instant) -> usize {
        ((instant.0.saturating_sub(self.origin) / self.cell) as usize).min(self.count - 1)
    }

    /// The cell of an instant, unless it lies behind the span.
    fn within(&self, instant: Instant) -> Option<usize> {
        (instant.0 <= self.origin + self.span).then(|| self.at(instant))
    }
}

/// Neighbouring cells taken together; the last are up to half as many more or fewer, so that the end has its answers too.
struct Wider {
    cells: usize,
    together: usize,
    count: usize,
}

impl Wider {
    /// At most about so many of them.
    fn of(cells: usize, most: usize) -> Self {
        let together = cells.div_ceil(most);
        Self { cells, together, count: (cells as f64 / together as f64).round().max(1.0) as usize }
    }

    fn at(&self, cell: usize) -> usize {
        (cell / self.together).min(self.count - 1)
    }

    /// Between which cells they lie, one more than there are.
    fn edges(&self) -> impl Iterator<Item = usize> {
        (0..self.count).map(|i| i * self.together).chain([self.cells])
    }
}

/// The integral over time of how many are under way, in constant work for each.
struct UnderWay {
    /// Nanoseconds spent in cells that were entered or left.
    partial: Vec<u64>,
    /// How many more are under way for the whole of this cell than of the one before.
    whole: Vec<i64>,
}

impl UnderWay {
    /// One more is under way from `from` until `to`; a damaged row that ends before it begins was never under way.
    fn add(&mut self, cells: &Cells, from: Instant, to: Instant) {
        let end = to.0.min(cells.origin + cells.span);
        if end < from.0 {
            return;
        }
        let (first, last) = (cells.at(from), cells.at(Instant(end)));
        let (from, end) = (from.0.saturating_sub(cells.origin), end.saturating_sub(cells.origin));
        if first == last {
            self.partial[first] += end.saturating_sub(from);
            return;
        }
        self.partial[first] += cells.edge(first + 1) - from;
        self.partial[last] += end - cells.edge(last);
        self.whole[first + 1] += 1;
        self.whole[last] -= 1;
    }

    fn means(&self, cells: &Cells) -> Vec<f64> {
        let mut through = 0i64;
        let mean = |i: usize| {
            through += self.whole[i];
            through as f64 + self.partial[i] as f64 / (cells.edge(i + 1) - cells.edge(i)) as f64
        };
        (0..cells.count).map(mean).collect()
    }
}

impl OverTime {
    /// Of all of `recording`, of which this part is judged; `None` when nothing was sent.
    pub(super) fn of(recording: &Recording, judged_s: [f64; 2]) -> io::Result<Option<Self>> {
        let ends = super::origin(recording).zip(recording.events.extent().sent);
        let Some((origin, (_, last))) = ends else { return Ok(None) };
        let cells = Cells::new(origin.0, last.0 - origin.0);
        let zeros = || vec![0u64; cells.count];
        let mut under_way = UnderWay { partial: zeros(), whole: vec![0; cells.count] };
        let mut good = 0;
        recording.events.each(|event| good += usize::from(event.sent.is_some() && event.outcome == Outcome::Ok))?;
        let wider = Wider::of(cells.count, (good / ANSWERS_OF_P99).max(MIN_CELLS));
        let mut good = Filling::new(wider.count);
        let [mut responses, mut lateness] = [(); 2].map(|()| Filling::new(cells.count));
        let mut all = Self {
            edges_s: (0..=cells.count).map(|i| cells.edge(i) as f64 / 1e9).collect(),
            judged_s,
            meant: recording.intent_known.then(zeros),
            sent: zeros(),
            answered: zeros(),
            failed: BTreeMap::new(),
            bytes_in: zeros(),
            bytes_out: zeros(),
            in_flight: Vec::new(),
            responses: None,
            percentile_edges_s: wider.edges().map(|i| cells.edge(i) as f64 / 1e9).collect(),
            percentiles: good.percentiles(),
            lateness: None,
        };
        recording.events.each(|event| {
            if let (Some(meant), Some(cell)) = (&mut all.meant, cells.within(event.intended)) {
                meant[cell] += 1;
            }
            let ended = event.done.or(event.sent).unwrap_or(event.intended);
            if let Some(cell) = cells.within(ended) {
                all.ended(event, cell, zeros);
            }
            let Some(sent) = event.sent else { return };
            let cell = cells.at(sent);
            all.sent[cell] += 1;
            if let Some(response) = event.response() {
                responses.add(cell, response);
                if event.outcome == Outcome::Ok {
                    good.add(wider.at(cell), response);
                }
            }
            if let (true, Some(late)) = (recording.intent_known, event.lateness()) {
                lateness.add(cell, late);
            }
            if let Some(done) = event.done {
                under_way.add(&cells, sent, done);
            }
        })?;
        Ok(Some(Self {
            in_flight: under_way.means(&cells),
            responses: responses.finish(),
            percentiles: good.percentiles(),
            lateness: lateness.finish(),
            ..all
        }))
    }

    /// Counts the end of `event` in its cell.
    fn ended(&mut self, event: &Event, cell: usize, zeros: impl Fn() -> Vec<u64>) {
        self.bytes_in[cell] = self.bytes_in[cell].saturating_add(event.bytes_in);
        self.bytes_out[cell] = self.bytes_out[cell].saturating_add(event.bytes_out);
        if event.outcome.is_answer() {
            self.answered[cell] += 1;
        }
        if event.outcome != Outcome::Ok {
            self.failed.entry(event.outcome.name().into()).or_insert_with(zeros)[cell] += 1;
        }
    }

    /// The time that [`OverTime::steps`] counts in, in seconds: one, or a cell where cells are shorter. A rate per second that
    /// was seen for a tenth of one is no rate of a second.
    fn unit_s(&self) -> f64 {
        self.edges_s.get(1).filter(|_| self.edges_s.len() > 2).map_or(1.0, |cell| cell.min(1.0))
    }

    /// What [`OverTime::steps`] counts in, in words: `per second`, `in 0.1 s`.
    pub fn per(&self) -> String {
        let unit = self.unit_s();
        if unit < 1.0 { format!("in {} s", short(unit)) } else { "per second".to_owned() }
    }

    /// A list as counts [`per`](Self::per) second, or per cell where that is shorter: the beginning of each cell and how many
    /// there were; the last stands at the end again, so that its step has a width.
    pub fn steps(&self, counts: &[u64]) -> Vec<[f64; 2]> {
        let unit = self.unit_s();
        let cells = self.edges_s.windows(2).zip(counts);
        let mut steps: Vec<[f64; 2]> =
            cells.map(|(edge, count)| [edge[0], *count as f64 * unit / (edge[1] - edge[0])]).collect();
        steps.extend(self.edges_s.last().zip(steps.last().copied()).map(|(end, last)| [*end, last[1]]));
        steps
    }

    /// A grid as shares of its columns in per cent, its rows in units of `per_ms` to the millisecond.
    pub fn heat(&self, grid: &Grid, per_ms: f64, title: &str) -> Heat {
        let of_column: Vec<u64> =
            (0..self.sent.len()).map(|column| grid.counts.iter().map(|row| row[column]).sum()).collect();
        let share = |(count, all): (&u64, &u64)| if *all == 0 { 0.0 } else { *count as f64 * 100.0 / *all as f64 };
        Heat {
            title: title.to_owned(),
            x: self.edges_s.clone(),
            y: grid.edges_ms.iter().map(|edge| edge * per_ms).collect(),
            cells: grid.counts.iter().map(|row| row.iter().zip(&of_column).map(share).collect()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cells_are_round_and_few() {
        assert_eq!(Cells::new(0, 60_000_000_000).cell, 1_000_000_000);
        assert_eq!(Cells::new(0, 0).count, 1);
        for span in [999, 1200, 1201, 86_400_000_000_000] {
            let cells = Cells::new(0, span);
            assert!(cells.count <= MAX_CELLS && cells.count >= 48, "{span}: {}", cells.count);
        }
    }

    #[test]
    fn wider_cells_reach_to_the_end_of_the_run() {
        for (cells, most, edges) in [
            (10, 4, vec![0, 3, 6, 10]),
            (11, 4, vec![0, 3, 6, 9, 11]),
            (12, 12, (0..=12).collect()),
            (1, 12, vec![0, 1]),
        ] {
            let wider = Wider::of(cells, most);
            assert_eq!(wider.edges().collect::<Vec<_>>(), edges, "{cells} cells");
            assert_eq!(wider.at(cells - 1), wider.count - 1);
        }
    }

    proptest! {
        /// Little's law in the small: the time that all spent under way is the area under the curve.
        #[test]
        fn nothing_is_lost_of_the_time_under_way(stays in prop::collection::vec((0u64..100_000, 0u64..50_000), 1..60)) {
            let origin = 1000;
            let span = stays.iter().map(|stay| stay.0).max().unwrap();
            let cells = Cells::new(origin, span);
            let mut under_way = UnderWay { partial: vec![0; cells.count], whole: vec![0; cells.count] };
            let mut total = 0;
            for (from, stay) in stays {
                under_way.add(&cells, Instant(origin + from), Instant(origin + from + stay));
                total += (from + stay).min(span) - from;
            }
            let means = under_way.means(&cells);
            let area: f64 =
                means.iter().enumerate().map(|(i, mean)| mean * (cells.edge(i + 1) - cells.edge(i)) as f64).sum();
            prop_assert!((area - total as f64).abs() < 1e-3, "{area} {total}");
        }
    }
}
