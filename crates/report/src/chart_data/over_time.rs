//! A run over time, in bins.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use offered_base::Instant;
use offered_events::{Event, Outcome, Recording};
use serde::{Deserialize, Serialize};

use super::grid::{Grid, GridBuilder, Percentiles};
use super::round_up;
use crate::chart::Heat;
use crate::format::number;

/// Maximum number of time bins.
pub(super) const MAX_BINS: usize = 120;

/// Counts per time bin. Times are seconds since the start of a run, or since the first request of a file. Each list has
/// one number per bin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OverTime {
    /// Bin edges: one more than bins.
    pub edges_s: Vec<f64>,
    /// Start and end of the analysed time.
    pub window_s: [f64; 2],
    /// Number of scheduled requests per bin; `None` if unknown.
    pub scheduled: Option<Vec<u64>>,
    /// Number of sent requests per bin.
    pub sent: Vec<u64>,
    /// Number of completed requests per bin.
    pub completed: Vec<u64>,
    /// Failed requests by outcome, at the time of their end.
    pub failed: BTreeMap<Cow<'static, str>, Vec<u64>>,
    /// Bytes read, at the end of the request.
    pub bytes_in: Vec<u64>,
    /// Bytes written, at the end of the request.
    pub bytes_out: Vec<u64>,
    /// Mean number of requests in flight.
    pub in_flight: Vec<f64>,
    /// Response times by send time.
    pub responses: Option<Grid>,
    /// Bin edges of `percentiles`: neighbouring bins are merged until each has enough responses.
    pub percentile_edges_s: Vec<f64>,
    /// Response time percentiles of successful requests by send time.
    pub percentiles: Percentiles,
    /// Lateness by send time; `None` if unknown.
    pub lateness: Option<Grid>,
}

/// Time bins of equal length; the last may be up to half a bin longer or shorter.
struct TimeBins {
    origin: u64,
    span: u64,
    cell: u64,
    count: usize,
}

impl TimeBins {
    fn new(origin: u64, span: u64) -> Self {
        let cell = round_up(span.max(1) / MAX_BINS as u64 + 1);
        // A short last bin would look like a falling rate.
        let count = ((span as f64 / cell as f64).round() as usize).max(1);
        Self { origin, span, cell, count }
    }

    fn edge(&self, i: usize) -> u64 {
        if i == self.count { self.span.max(1) } else { i as u64 * self.cell }
    }

    /// The bin of an instant in the span.
    fn at(&self, instant: Instant) -> usize {
        ((instant.0.saturating_sub(self.origin) / self.cell) as usize).min(self.count - 1)
    }

    /// The bin of an instant; `None` after the span.
    fn within(&self, instant: Instant) -> Option<usize> {
        (instant.0 <= self.origin + self.span).then(|| self.at(instant))
    }
}

/// The number of requests in flight integrated over time, in constant work per request.
struct InFlightIntegral {
    /// Nanoseconds in bins of arrival and departure.
    partial: Vec<u64>,
    /// Change of the number in flight for the whole bin relative to the previous one.
    whole: Vec<i64>,
}

impl InFlightIntegral {
    /// Adds a request in flight from `from` to `to`; ignored if it ends before it starts.
    fn add(&mut self, cells: &TimeBins, from: Instant, to: Instant) {
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

    fn means(&self, cells: &TimeBins) -> Vec<f64> {
        let mut through = 0i64;
        let mean = |i: usize| {
            through += self.whole[i];
            through as f64 + self.partial[i] as f64 / (cells.edge(i + 1) - cells.edge(i)) as f64
        };
        (0..cells.count).map(mean).collect()
    }
}

impl OverTime {
    /// The whole of `recording`, with this analysed time; `None` if nothing was sent.
    pub(super) fn of(recording: &Recording, window_s: [f64; 2]) -> io::Result<Option<Self>> {
        let ends = super::origin(recording).zip(recording.events.extent().sent);
        let Some((origin, (_, last))) = ends else { return Ok(None) };
        let cells = TimeBins::new(origin.0, last.0 - origin.0);
        let zeros = || vec![0u64; cells.count];
        let mut under_way = InFlightIntegral { partial: zeros(), whole: vec![0; cells.count] };
        let [mut good, mut responses, mut lateness] = [(); 3].map(|()| GridBuilder::new(cells.count));
        let mut all = Self {
            edges_s: (0..=cells.count).map(|i| cells.edge(i) as f64 / 1e9).collect(),
            window_s,
            scheduled: recording.intent_known.then(zeros),
            sent: zeros(),
            completed: zeros(),
            failed: BTreeMap::new(),
            bytes_in: zeros(),
            bytes_out: zeros(),
            in_flight: Vec::new(),
            responses: None,
            percentile_edges_s: Vec::new(),
            percentiles: Percentiles::default(),
            lateness: None,
        };
        recording.events.each(|event| {
            if let (Some(meant), Some(cell)) = (&mut all.scheduled, cells.within(event.intended)) {
                meant[cell] += 1;
            }
            let ended = event.done.or(event.sent).unwrap_or(event.intended);
            if let Some(cell) = cells.within(ended) {
                all.count_end(event, cell, zeros);
            }
            let Some(sent) = event.sent else { return };
            let cell = cells.at(sent);
            all.sent[cell] += 1;
            if let Some(response) = event.response() {
                responses.add(cell, response);
                if event.outcome == Outcome::Ok {
                    good.add(cell, response);
                }
            }
            if let (true, Some(late)) = (recording.intent_known, event.lateness()) {
                lateness.add(cell, late);
            }
            if let Some(done) = event.done {
                under_way.add(&cells, sent, done);
            }
        })?;
        let (edges, percentiles) = good.merged();
        Ok(Some(Self {
            in_flight: under_way.means(&cells),
            responses: responses.finish(),
            percentile_edges_s: edges.into_iter().map(|i| cells.edge(i) as f64 / 1e9).collect(),
            percentiles,
            lateness: lateness.finish(),
            ..all
        }))
    }

    /// Counts the end of `event` in its bin.
    fn count_end(&mut self, event: &Event, cell: usize, zeros: impl Fn() -> Vec<u64>) {
        self.bytes_in[cell] = self.bytes_in[cell].saturating_add(event.bytes_in);
        self.bytes_out[cell] = self.bytes_out[cell].saturating_add(event.bytes_out);
        if event.outcome.is_response() {
            self.completed[cell] += 1;
        }
        if event.outcome != Outcome::Ok {
            self.failed.entry(event.outcome.name().into()).or_insert_with(zeros)[cell] += 1;
        }
    }

    /// The unit of [`OverTime::steps`] in seconds: one, or a bin if bins are shorter.
    fn unit_s(&self) -> f64 {
        self.edges_s.get(1).filter(|_| self.edges_s.len() > 2).map_or(1.0, |cell| cell.min(1.0))
    }

    /// The unit of [`OverTime::steps`] as text: `per second`, `in 0.1 s`.
    pub fn per(&self) -> String {
        let unit = self.unit_s();
        if unit < 1.0 { format!("in {} s", number(unit)) } else { "per second".to_owned() }
    }

    /// A list as step function in the unit of [`per`](Self::per): start of each bin and count. The last value is repeated at the end.
    pub fn steps(&self, counts: &[u64]) -> Vec<[f64; 2]> {
        let unit = self.unit_s();
        let cells = self.edges_s.windows(2).zip(counts);
        let mut steps: Vec<[f64; 2]> =
            cells.map(|(edge, count)| [edge[0], *count as f64 * unit / (edge[1] - edge[0])]).collect();
        steps.extend(self.edges_s.last().zip(steps.last().copied()).map(|(end, last)| [*end, last[1]]));
        steps
    }

    /// A list as a step function of rates per second. A bin is at least a second long; in a short run, at least a tenth
    /// of the run.
    pub fn rates(&self, counts: &[u64]) -> Vec<[f64; 2]> {
        let bins = counts.len();
        let per_second = self.edges_s.get(1).map_or(1, |bin| (1.0 / bin).round() as usize);
        let together = per_second.min(bins / 10).max(1);
        // As the last bin, the last group may be up to half longer or shorter.
        let groups = ((bins as f64 / together as f64).round() as usize).max(1);
        let edge = |group: usize| if group == groups { bins } else { group * together };
        let rate = |group: usize| {
            let (from, to) = (edge(group), edge(group + 1));
            let seconds = self.edges_s[to] - self.edges_s[from];
            [self.edges_s[from], counts[from..to].iter().sum::<u64>() as f64 / seconds]
        };
        let mut steps: Vec<[f64; 2]> = (0..groups).map(rate).collect();
        steps.extend(self.edges_s.last().zip(steps.last().copied()).map(|(end, last)| [*end, last[1]]));
        steps
    }

    /// A grid as heat map of shares of its columns in per cent; row edges are in units of `per_ms` per millisecond.
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
    fn bins_have_round_lengths() {
        assert_eq!(TimeBins::new(0, 60_000_000_000).cell, 1_000_000_000);
        assert_eq!(TimeBins::new(0, 0).count, 1);
        for span in [999, 1200, 1201, 86_400_000_000_000] {
            let cells = TimeBins::new(0, span);
            assert!(cells.count <= MAX_BINS && cells.count >= 48, "{span}: {}", cells.count);
        }
    }

    proptest! {
        /// Little's law: the total time in flight is the area under the curve.
        #[test]
        fn the_time_in_flight_is_conserved(stays in prop::collection::vec((0u64..100_000, 0u64..50_000), 1..60)) {
            let origin = 1000;
            let span = stays.iter().map(|stay| stay.0).max().unwrap();
            let cells = TimeBins::new(origin, span);
            let mut under_way = InFlightIntegral { partial: vec![0; cells.count], whole: vec![0; cells.count] };
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
