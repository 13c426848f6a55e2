//! The stream that is judged: launch instants, ticks spread, and what the tests need of them.
//!
//! Its moments and its counts in windows are those of all launches. What needs single gaps looks at a sample: all of them up to
//! [`Stream::SAMPLE`], and as many drawn by chance from more; bunches are looked for among as many neighbours.

use offered_model::Seed;
use offered_model::random::Purpose;
use offered_stats::dispersion::Dispersion;
use offered_stats::ticks::{CorrectedCov, Spread};
use offered_stats::values::Moments;
use offered_stats::windows::{Seen, Windows};

use crate::ends::Ends;
use crate::verdict::Pattern;
use crate::windows::Ladder;

/// Tests whose work grows faster than their sample look at so many neighbouring gaps from the middle of the stream.
const STRETCH: u64 = 50_000;
/// Counts are looked at in windows of so many mean gaps.
const GAPS_A_WINDOW: f64 = 3.0;
/// Blocks over which a trend is looked for, at most.
const BLOCKS: u64 = 50;

/// A stream of launches.
pub(crate) struct Stream {
    ends: Ends,
    moments: Moments,
    /// The CoV of the gaps without what rounding added to it; `None` for fewer than two gaps.
    pub(crate) corrected_cov: Option<f64>,
    /// Gaps in order: all, or a sample.
    pub(crate) sample: Vec<f64>,
    /// And by size.
    pub(crate) sorted_sample: Vec<f64>,
    /// Neighbouring gaps from the middle, no more than the slow tests can bear.
    pub(crate) stretch: Vec<f64>,
    /// Neighbouring instants in ns, each put somewhere in its tick: all, or those of the middle.
    pub(crate) neighbours: Vec<u64>,
    /// The dispersion of counts at every rung that the stream fills.
    pub(crate) ladder: Vec<Dispersion>,
    /// How many windows of three mean gaps had none, one, two, ... launches, and how many all of them had.
    pub(crate) seen: (Vec<u64>, u64),
    /// The counts in blocks of equal length.
    pub(crate) blocks: Vec<f64>,
    /// The tick in ns.
    pub(crate) tick: f64,
}

impl Stream {
    /// So many gaps, and neighbouring instants, are looked at one by one.
    pub(crate) const SAMPLE: u64 = 1_000_000;

    /// Whether a pattern can be named at all: enough gaps, over enough ticks of the clock.
    pub(crate) fn is_long_enough(&self) -> bool {
        is_long_enough(self.ends, self.tick)
    }

    /// How many launches there are.
    pub(crate) fn launches(&self) -> u64 {
        self.ends.n
    }

    /// How many gaps there are.
    pub(crate) fn gaps(&self) -> usize {
        self.ends.gaps() as usize
    }

    /// The CoV of the gaps; `None` with fewer than two, or when all are zero.
    pub(crate) fn cov(&self) -> Option<f64> {
        (self.moments.n > 1 && self.moments.sum > 0).then(|| self.moments.sdev() / self.moments.mean())
    }

    /// In ns.
    pub(crate) fn mean_gap(&self) -> f64 {
        self.ends.mean_gap()
    }

    /// Launches per second, from the gaps.
    pub(crate) fn rate_per_s(&self) -> Option<f64> {
        (self.length() > 0).then(|| 1e9 / self.mean_gap())
    }

    /// From the first launch to the last, in ns.
    pub(crate) fn length(&self) -> u64 {
        self.ends.length()
    }
}

fn is_long_enough(ends: Ends, tick: f64) -> bool {
    ends.gaps() >= Pattern::FEWEST_GAPS as u64 && ends.length() as f64 >= Pattern::FEWEST_GAPS as f64 * tick.max(1.0)
}

/// The chance by which stamps are put into their ticks.
fn chance(seed: Seed) -> impl FnMut() -> f64 {
    let mut chance = seed.stream(Purpose::Judge);
    move || chance.uniform()
}

/// The ends of stamps that come in order once each is put somewhere in its tick.
pub(crate) struct Spreading<U> {
    spread: Spread<U>,
    ends: Ends,
}

/// Of a clock with this tick.
pub(crate) fn spreading(tick: u64, seed: Seed) -> Spreading<impl FnMut() -> f64> {
    Spreading { spread: Spread::new(tick, chance(seed)), ends: Ends::default() }
}

impl<U: FnMut() -> f64> Spreading<U> {
    pub(crate) fn add(&mut self, stamp: u64) {
        self.spread.add(stamp, |at| self.ends.add(at));
    }

    pub(crate) fn finish(mut self) -> Ends {
        self.spread.finish(|at| self.ends.add(at));
        self.ends
    }
}

/// A stream in the making, from stamps that come in order.
pub(crate) struct Making<U> {
    corrected_cov: Option<CorrectedCov>,
    spread: Spread<U>,
    seen: Gathered,
}

/// Of the stamps of a clock with this tick that have these ends, and those when they are spread.
pub(crate) fn making(stamps: Ends, spread: Ends, tick: u64, seed: Seed) -> Making<impl FnMut() -> f64> {
    Making {
        corrected_cov: CorrectedCov::new(stamps.n, stamps.first, stamps.last, tick),
        spread: Spread::new(tick, chance(seed)),
        seen: Gathered::new(spread, tick, seed),
    }
}

impl<U: FnMut() -> f64> Making<U> {
    #[inline]
    pub(crate) fn add(&mut self, stamp: u64) {
        if let Some(cov) = &mut self.corrected_cov {
            cov.add(stamp);
        }
        self.spread.add(stamp, |at| self.seen.add(at));
    }

    pub(crate) fn finish(mut self) -> Stream {
        self.spread.finish(|at| self.seen.add(at));
        self.seen.finish(self.corrected_cov.map(|cov| cov.finish()))
    }
}

/// What is gathered of spread instants.
struct Gathered {
    ends: Ends,
    tick: u64,
    /// The number of the next instant, and the instant before it.
    next: u64,
    before: u64,
    moments: Moments,
    /// Of the gaps to come so many are still to be drawn into the sample.
    to_draw: u64,
    chance: offered_model::Stream,
    sample: Vec<f64>,
    stretch: Vec<f64>,
    neighbours: Vec<u64>,
    ladder: Ladder,
    seen: Seen,
    blocks: Windows,
    counts: Vec<f64>,
}

impl Gathered {
    fn new(ends: Ends, tick: u64, seed: Seed) -> Self {
        let (first, to) = (ends.first, ends.last);
        let window = (GAPS_A_WINDOW * ends.mean_gap()).max(1.0) as u64;
        let blocks = BLOCKS.min(ends.gaps() / 10);
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
            seen: Seen::new(first, to, window),
            blocks: Windows::new(first, to, block),
            counts: Vec::new(),
        }
    }

    #[inline]
    fn add(&mut self, at: u64) {
        if self.next > 0 {
            self.gap(at - self.before);
        }
        if middle(self.ends.n, Stream::SAMPLE).contains(&self.next) {
            self.neighbours.push(at);
        }
        self.ladder.add(at);
        self.seen.add(at);
        self.blocks.add(at, |count, blocks| self.counts.extend((0..blocks).map(|_| count as f64)));
        self.before = at;
        self.next += 1;
    }

    #[inline]
    fn gap(&mut self, gap: u64) {
        self.moments.add(gap, 1);
        let (number, left) = (self.next - 1, self.ends.n - self.next);
        // Each set of so many gaps is as likely as any other (Knuth 1997, algorithm 3.4.2 S).
        if self.to_draw == left || self.to_draw > 0 && self.chance.uniform() * (left as f64) < self.to_draw as f64 {
            self.sample.push(gap as f64);
            self.to_draw -= 1;
        }
        if middle(self.ends.gaps(), STRETCH).contains(&number) {
            self.stretch.push(gap as f64);
        }
    }

    fn finish(self, corrected_cov: Option<f64>) -> Stream {
        let Self { ends, tick, moments, sample, stretch, neighbours, ladder, seen, blocks, mut counts, .. } = self;
        blocks.finish(|count, blocks| counts.extend((0..blocks).map(|_| count as f64)));
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
            seen: seen.finish(),
            blocks: counts,
            tick: tick as f64,
        }
    }
}

/// The middle `most` of `n`, by their numbers.
fn middle(n: u64, most: u64) -> std::ops::Range<u64> {
    let spare = n.saturating_sub(most);
    spare / 2..n - spare.div_ceil(2)
}
