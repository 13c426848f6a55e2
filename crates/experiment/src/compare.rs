//! A comparison of two targets or workloads: short rounds in balanced order, and repeated confidence intervals of their differences.
//!
//! # Method
//! A pair is one round of A and one of B with the same seed, so both get the same requests at the same times; two workload files with different
//! seeds keep them. The order alternates (A B, B A, A B, ...), so a linear drift of the machine cancels over two pairs.
//! The first round of each side is a warm-up and does not count.
//!
//! The change of a statistic (mean, percentile) is estimated from the logarithm of the ratio B / A in each pair. The pairs are independent. After
//! [`FEWEST`] pairs, and after each two further ones, the mean of the logarithms gets a repeated confidence interval
//! ([`RepeatedIntervals`]): over all looks together, the intervals miss the true value in one comparison of twenty. So
//! the comparison may stop as soon as an interval gives the answer.
//!
//! With a baseline, A is a recording of an earlier run, in rounds or in parts of the length of a round. Its values and those of B are two independent
//! samples, compared by Welch's t; nothing cancels, and differences between the machines are not part of the interval.

mod baseline;
mod result;
mod round;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_base::Nanos;
use offered_schedule::Sessions;
use offered_stats::sequential::RepeatedIntervals;
use offered_verify::CheckResult;
use offered_workload::threshold::Statistic;

pub use self::baseline::Baseline;
use self::round::{FEWEST, Round, statistics};
use crate::document::compare::{Document, End};
use crate::recorded_simulation::simulated;
use crate::vary::{Point, point};
use crate::{Error, Field, Progress, ProgressObserver, RunPlan, WorkloadSource};

/// Number of further pairs of each later look, which keeps the order balanced.
const STEP: usize = 2;

/// One side of a comparison.
pub struct Side<'a> {
    /// The name of the workload or of the target.
    pub name: String,
    /// The workload.
    pub source: &'a WorkloadSource,
    /// The URL that replaces the target of the workload; `None`: the target is not replaced.
    pub target: Option<String>,
}

/// A comparison.
pub struct Comparison<'a> {
    /// A and B, or B alone with a baseline.
    pub sides: Vec<Side<'a>>,
    /// The earlier recording that is A; only with one side.
    pub baseline: Option<Baseline>,
    /// Whether the rounds are simulated on the modelled servers of the workloads instead of run.
    pub simulated: bool,
    /// Duration of a round.
    pub round: Nanos,
    /// Time excluded at the start of each round.
    pub settle: Nanos,
    /// Maximum number of pairs.
    pub max_pairs: usize,
    /// The statistic that decides.
    pub statistic: Statistic,
    /// The largest accepted increase of the statistic, as a fraction.
    pub no_worse_than: Option<f64>,
    /// The half-width of the interval at which the comparison ends, as a fraction.
    pub precision: f64,
    /// The directory of the comparison, with a run directory for each round; `None`: nothing is recorded.
    pub directory: Option<&'a Path>,
}

/// The rounds of both sides. Those of A and B with the same number are a pair.
#[derive(Default)]
struct Rounds {
    a: Vec<Round>,
    b: Vec<Round>,
    /// Whether each round of B is paired with a round of A with the same requests.
    is_paired: bool,
    /// Why pairs do not count.
    invalid: Vec<String>,
}

impl Comparison<'_> {
    /// Makes rounds until the comparison has an answer.
    ///
    /// # Errors
    /// A workload is invalid with these rounds, the load of a workload changes within a round, or a round fails.
    /// [`Error::ComparisonStopped`]: `stop` was set before the first interval was computed.
    pub fn run(&self, stop: &Arc<AtomicBool>, observer: &mut dyn ProgressObserver) -> Result<Document, Error> {
        let seeds: Vec<u64> = self.sides.iter().map(|side| self.first_seed(side)).collect::<Result<_, Error>>()?;
        if let Some(directory) = self.directory {
            std::fs::create_dir_all(directory).map_err(Error::file("create", directory))?;
        }
        let earlier = self.baseline.as_ref().map_or_else(Vec::new, |baseline| baseline.rounds.clone());
        let mut rounds = Rounds { is_paired: self.sides.len() == 2, a: earlier, ..Rounds::default() };
        let intervals = RepeatedIntervals::new(&self.looks(rounds.a.len()));
        // The first pair warms up.
        for pair in 0..=self.max_pairs {
            let mut order: Vec<usize> = (0..self.sides.len()).collect();
            if pair % 2 == 1 {
                order.reverse();
            }
            let mut made = Vec::new();
            for number in order {
                let point = self.point(number, seeds[number], pair)?;
                observer.on_progress(Progress::Round { pair, pairs: self.max_pairs, name: &self.sides[number].name });
                match self.make(number, pair, &point, stop, observer) {
                    Err(Error::Stopped) => return self.stopped(&rounds, intervals),
                    round => made.push((number, round?)),
                }
            }
            made.sort_by_key(|(number, _)| *number);
            if pair > 0 {
                rounds.add(made.into_iter().map(|(_, round)| round).collect());
            }
            let is_look = pair > 0 && (pair == self.max_pairs || (rounds.b.len() >= FEWEST && pair % STEP == 0));
            if let Some(end) = is_look.then(|| self.end(&rounds, intervals)).flatten() {
                return Ok(self.document(&rounds, intervals, end));
            }
            if stop.load(Relaxed) {
                return self.stopped(&rounds, intervals);
            }
        }
        Ok(self.document(&rounds, intervals, End::Rounds))
    }

    /// The result of the rounds so far, if there are enough.
    fn stopped(&self, rounds: &Rounds, intervals: RepeatedIntervals) -> Result<Document, Error> {
        match rounds.b.len() {
            made if made < FEWEST => Err(Error::ComparisonStopped { fewest: FEWEST }),
            _ => Ok(self.document(rounds, intervals, End::Stopped)),
        }
    }

    /// The amounts of information at the planned looks, in pairs; `baseline` is the number of its rounds.
    fn looks(&self, baseline: usize) -> Vec<f64> {
        let pairs = (FEWEST..self.max_pairs).step_by(STEP).chain([self.max_pairs]);
        let information = |pairs: usize| match baseline {
            0 => pairs as f64,
            baseline => 1.0 / (1.0 / pairs as f64 + 1.0 / baseline as f64),
        };
        pairs.map(information).collect()
    }

    /// The reason why the comparison ends with these rounds; `None` if it continues.
    fn end(&self, rounds: &Rounds, intervals: RepeatedIntervals) -> Option<End> {
        if self.no_worse_than.is_some() {
            return (self.result(rounds, intervals) != CheckResult::NotChecked).then_some(End::Decided);
        }
        let change = rounds.change(0, intervals)?;
        if change.low > 0.0 || change.high < 0.0 {
            Some(End::Decided)
        } else {
            (change.half_width() <= self.precision).then_some(End::Precise)
        }
    }

    /// The seed of the first pair.
    fn first_seed(&self, side: &Side) -> Result<u64, Error> {
        let workload = point(side.source, Vec::new())?.workload;
        if changes(workload.sessions()) && workload.duration() > self.round {
            let (duration, round) = (workload.duration(), self.round);
            let name = side.source.name.clone();
            return Err(Error::ChangingLoadInRound { name, duration, round });
        }
        Ok(workload.seed().0)
    }

    /// The workload of a round.
    fn point(&self, number: usize, seed: u64, pair: usize) -> Result<Point, Error> {
        let side = &self.sides[number];
        let at = |path: &str| Field::from(path);
        // Seeds are non-negative TOML integers.
        let seed = seed.wrapping_add(pair as u64) & (u64::MAX >> 1);
        let mut values = vec![
            (at("duration"), self.round.to_string()),
            (at("skip_first"), self.settle.to_string()),
            (at("skip_last"), Nanos::ZERO.to_string()),
            (at("seed"), seed.to_string()),
        ];
        values.extend(side.target.clone().map(|target| (at("target.url"), target)));
        point(side.source, values)
    }

    /// Makes a round.
    fn make(
        &self,
        number: usize,
        pair: usize,
        point: &Point,
        stop: &Arc<AtomicBool>,
        observer: &mut dyn ProgressObserver,
    ) -> Result<Round, Error> {
        if self.simulated {
            return self.simulate(point);
        }
        let side = &self.sides[number];
        // With a baseline, the only side is B.
        let letter = if self.sides.len() == 2 && number == 0 { "a" } else { "b" };
        let directory = self.directory.map(|directory| directory.join(format!("{pair:03}-{letter}")));
        let plan = RunPlan {
            name: format!("{}, pair {pair}", side.name),
            ..RunPlan::for_point(point, directory.as_deref().filter(|_| pair > 0))
        };
        let finished = plan.prepare(stop.clone())?.run(observer.views())?.require_complete()?;
        if let Some(halted) = &finished.stats.halted {
            return Err(Error::Halted(halted.reason.clone()));
        }
        if finished.stats.stopped {
            return Err(Error::Stopped);
        }
        Ok(Round::of(&finished.recording, &finished.verdict, point.workload.counted(), &statistics(self.statistic))?)
    }

    /// Simulates a round.
    fn simulate(&self, point: &Point) -> Result<Round, Error> {
        let workload = &point.workload;
        let (recording, verdict) = simulated(workload, point.name())?;
        Ok(Round::of(&recording, &verdict, workload.counted(), &statistics(self.statistic))?)
    }
}

/// Whether a part of the run has another load than the whole run.
fn changes(sessions: &Sessions) -> bool {
    match sessions {
        Sessions::Open(schedule) | Sessions::PartlyOpen { schedule, .. } => schedule.rate().as_constant().is_none(),
        Sessions::Closed(closed) => closed.population().is_some() || closed.ramp() > Nanos::ZERO,
        Sessions::Replay(_) | Sessions::Scenarios(_) => true,
    }
}

impl Rounds {
    /// Adds the rounds of a pair, in the order of the sides, if all are valid.
    fn add(&mut self, pair: Vec<Round>) {
        if let Some(reason) = pair.iter().find_map(|round| round.invalid.clone()) {
            self.invalid.push(reason);
            return;
        }
        let mut pair = pair.into_iter().rev();
        self.b.extend(pair.next());
        self.a.extend(pair.next());
    }
}
