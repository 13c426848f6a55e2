//! The stream of sent requests that is tested: sent times, spread within ticks, and the statistics that the tests need.
//!
//! Moments and counts use all requests. Tests that need single gaps use a sample: all gaps up to [`Stream::SAMPLE`]; of
//! more gaps, this number is drawn at random. The search for bunches uses as many consecutive requests.

use std::cell::OnceCell;

use offered_base::Seed;
use offered_base::random::Purpose;
use offered_stats::Interval;
use offered_stats::dispersion::Dispersion;
use offered_stats::ticks::{CorrectedCov, Spread};
use offered_stats::values::Moments;
use offered_stats::windows::{CountDistribution, CountSeries};

use crate::ends::Ends;
use crate::verdict::Pattern;
use crate::windows::Ladder;

/// Number of consecutive gaps, from the middle of the stream, for tests that take more than linear time.
const MAX_STRETCH: u64 = 50_000;
/// The length of the windows for counts, in mean gaps.
const GAPS_PER_WINDOW: f64 = 3.0;
/// Number of windows for the spectrum of counts.
const SPECTRUM_WINDOWS: u64 = 1024;
/// Maximum number of blocks in which a trend is tested.
const MAX_BLOCKS: u64 = 50;

/// A stream of sent requests.
pub(crate) struct Stream {
    ends: Ends,
    moments: Moments,
    /// The CoV of the gaps, corrected for rounding of timestamps; `None` with fewer than two gaps.
    pub(crate) corrected_cov: Option<f64>,
    /// Gaps in order, in nanoseconds: all, or a sample.
    pub(crate) sample: Vec<f64>,
    /// The same, sorted.
    pub(crate) sorted_sample: Vec<f64>,
    /// Consecutive gaps from the middle of the stream, for slow tests.
    pub(crate) stretch: Vec<f64>,
    /// Consecutive sent times in nanoseconds, each spread within its tick: all, or those from the middle.
    pub(crate) neighbours: Vec<u64>,
    /// The dispersion of counts for each window length that the stream is long enough for.
    pub(crate) ladder: Vec<Dispersion>,
    /// Number of windows of three mean gaps with 0, 1, 2, ... requests, and the number of requests in all of them.
    pub(crate) window_counts: (Vec<u64>, u64),
    /// The counts in blocks of equal length.
    pub(crate) blocks: Vec<f64>,
    /// The counts in many windows of equal length, for their spectrum.
    pub(crate) spectrum_counts: Vec<f64>,
    /// The timestamp resolution, in nanoseconds.
    pub(crate) tick: f64,
    /// The bootstrap interval of the CoV, once it is computed.
    pub(crate) bootstrap: OnceCell<Option<Interval>>,
}

impl Stream {
    /// Maximum number of gaps, and of consecutive requests, that are examined individually.
    pub(crate) const SAMPLE: u64 = 1_000_000;

    /// Whether the stream is long enough for a pattern: enough gaps, over enough ticks of the clock.
    pub(crate) fn is_long_enough(&self) -> bool {
        is_long_enough(self.ends, self.tick)
    }

    /// Number of requests.
    pub(crate) fn requests(&self) -> u64 {
        self.ends.n
    }

    /// Number of gaps.
    pub(crate) fn gaps(&self) -> usize {
        self.ends.gaps() as usize
    }

    /// The CoV of the gaps; `None` with fewer than two gaps, or if all are zero.
    pub(crate) fn cov(&self) -> Option<f64> {
        (self.moments.n > 1 && self.moments.sum > 0).then(|| self.moments.sdev() / self.moments.mean())
    }

    /// The mean gap, in nanoseconds.
    pub(crate) fn mean_gap(&self) -> f64 {
        self.ends.mean_gap()
    }

    /// Requests per second: one over the mean gap.
    pub(crate) fn rate_per_s(&self) -> Option<f64> {
        (self.length() > 0).then(|| 1e9 / self.mean_gap())
    }

    /// The time from the first request to the last, in nanoseconds.
    pub(crate) fn length(&self) -> u64 {
        self.ends.length()
    }
}

fn is_long_enough(ends: Ends, tick: f64) -> bool {
    ends.gaps() >= Pattern::FEWEST_GAPS as u64 && ends.length() as f64 >= Pattern::FEWEST_GAPS as f64 * tick.max(1.0)
}

/// The random numbers that spread timestamps within their ticks.
fn random(seed: Seed) -> impl FnMut() -> f64 {
    let mut chance = seed.stream(Purpose::Judge);
    move || chance.uniform()
}

/// The first and the last of ascending timestamps after spreading each within its tick.
pub(crate) struct SpreadEnds<U> {
    spread: Spread<U>,
    ends: Ends,
}

/// For a clock with this resolution, in nanoseconds.
pub(crate) fn spread_ends(tick: u64, seed: Seed) -> SpreadEnds<impl FnMut() -> f64> {
    SpreadEnds { spread: Spread::new(tick, random(seed)), ends: Ends::default() }
}

impl<U: FnMut() -> f64> SpreadEnds<U> {
    pub(crate) fn add(&mut self, stamp: u64) {
        self.spread.add(stamp, |at| self.ends.add(at));
    }

    pub(crate) fn finish(mut self) -> Ends {
        self.spread.finish(|at| self.ends.add(at));
        self.ends
    }
}

/// Builds a [`Stream`] from ascending timestamps.
pub(crate) struct StreamBuilder<U> {
    corrected_cov: Option<CorrectedCov>,
    spread: Spread<U>,
    collected: Collected,
}

/// For timestamps with these ends and this resolution; `spread` are their ends after spreading.
pub(crate) fn builder(stamps: Ends, spread: Ends, tick: u64, seed: Seed) -> StreamBuilder<impl FnMut() -> f64> {
    StreamBuilder {
        corrected_cov: CorrectedCov::new(stamps.n, stamps.first, stamps.last, tick),
        spread: Spread::new(tick, random(seed)),
        collected: Collected::new(spread, tick, seed),
    }
}

impl<U: FnMut() -> f64> StreamBuilder<U> {
    #[inline]
    pub(crate) fn add(&mut self, stamp: u64) {
        if let Some(cov) = &mut self.corrected_cov {
            cov.add(stamp);
        }
        self.spread.add(stamp, |at| self.collected.add(at));
    }

    pub(crate) fn finish(mut self) -> Stream {
        self.spread.finish(|at| self.collected.add(at));
        self.collected.finish(self.corrected_cov.map(|cov| cov.finish()))
    }
}

/// Everything collected from spread timestamps.
struct Collected {
    ends: Ends,
    tick: u64,
    /// The number of the next request, and the time of the one before it.
    next: u64,
    before: u64,
    moments: Moments,
    /// Number of gaps still to be drawn into the sample.
    to_draw: u64,
    chance: offered_base::Stream,
    sample: Vec<f64>,
    stretch: Vec<f64>,
    neighbours: Vec<u64>,
    ladder: Ladder,
    seen: CountDistribution,
    blocks: CountSeries,
    spectrum: CountSeries,
}

impl Collected {
    fn new(ends: Ends, tick: u64, seed: Seed) -> Self {
        let (first, to) = (ends.first, ends.last);
        let window = (GAPS_PER_WINDOW * ends.mean_gap()).max(1.0) as u64;
        let blocks = MAX_BLOCKS.min(ends.gaps() / 10);
        let block = (ends.length() / blocks.max(1)).max(1);
        let long = is_long_enough(ends, tick as f64);
        Self {
            ends,
            tick,
            next: 0,
            before: 0,
            moments: Moments::default(),
            to_draw: ends.gaps().min(Stream::SAMPLE),
            chance: seed.at(Purpose::Judge, 0, 2),
            sample: Vec::new(),
            stretch: Vec::new(),
            neighbours: Vec::new(),
            ladder: if long { Ladder::new(ends, tick.max(1)) } else { Ladder::default() },
            seen: CountDistribution::new(first, to, window),
            blocks: CountSeries::new(first, to, block),
            spectrum: CountSeries::new(first, to, (ends.length() / SPECTRUM_WINDOWS).max(1)),
        }
    }

    #[inline]
    fn add(&mut self, at: u64) {
        if self.next > 0 {
            self.gap(at - self.before);
        }
        if middle_range(self.ends.n, Stream::SAMPLE).contains(&self.next) {
            self.neighbours.push(at);
        }
        self.ladder.add(at);
        self.seen.add(at);
        self.blocks.add(at);
        self.spectrum.add(at);
        self.before = at;
        self.next += 1;
    }

    #[inline]
    fn gap(&mut self, gap: u64) {
        self.moments.add(gap, 1);
        let (number, left) = (self.next - 1, self.ends.n - self.next);
        // Each subset of this size is equally likely (Knuth 1997, algorithm 3.4.2 S).
        if self.to_draw == left || self.to_draw > 0 && self.chance.uniform() * (left as f64) < self.to_draw as f64 {
            self.sample.push(gap as f64);
            self.to_draw -= 1;
        }
        if middle_range(self.ends.gaps(), MAX_STRETCH).contains(&number) {
            self.stretch.push(gap as f64);
        }
    }

    fn finish(self, corrected_cov: Option<f64>) -> Stream {
        let Self { ends, tick, moments, sample, stretch, neighbours, ladder, seen, blocks, spectrum, .. } = self;
        let mut sorted_sample = sample.clone();
        sorted_sample.sort_unstable_by(f64::total_cmp);
        Stream {
            ends,
            moments,
            corrected_cov,
            sample,
            sorted_sample,
            stretch,
            neighbours,
            ladder: ladder.finish(),
            window_counts: seen.finish(),
            blocks: blocks.finish(),
            spectrum_counts: spectrum.finish(),
            tick: tick as f64,
            bootstrap: OnceCell::new(),
        }
    }
}

/// The middle `most` of `n` indices.
fn middle_range(n: u64, most: u64) -> std::ops::Range<u64> {
    let spare = n.saturating_sub(most);
    spare / 2..n - spare.div_ceil(2)
}
