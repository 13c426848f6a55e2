//! What the generator's own unpunctuality did to the result, in the result's own units.
//!
//! Intended and sent are known for every launch of our own runs, so it need not be guessed whether a stall of the machine
//! mattered. It acts in two ways, and of each figure that is read (p50, p95, p99) the *share* that it has is at most their sum:
//!
//! * **Waiting.** Lateness is a part of the response. It is (Q(response) - Q(service)) / Q(response), Q the percentile.
//! * **Company.** Launches that leave together meet each other at the server. A launch's company is the number of launches in
//!   the window before it, as long as the median service. It is (Q(sent) - Q(meant)) / (1 + Q(meant)), Q a percentile of the company
//!   as launched and as meant, smoothed over half the way to the end on both sides, since company is a whole number. Where
//!   one server shares its time, a response grows in the proportion in which its company does.
//!
//! Users of a closed system launch when they were answered, so nobody can say what company they were meant to have; of them only
//! waiting is known. Of sessions only the first launches are looked at for company, for the same reason.
//!
//! How often a judgement by shares is wrong is measured in book/src/background/calibration.md.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use offered_stats::values::{Sorted, Values};

/// The figures that are judged.
const FIGURES: [f64; 3] = [0.50, 0.95, 0.99];
/// Launches that left as meant raise no doubt by less: a server on the same machine answers in a few times their usual lateness.
const LATE_MS: f64 = 1.0;
/// Of fewer good answers nothing is said.
const FEWEST: u64 = 100;

/// What the generator did to one figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PercentileError {
    /// Which: 50, 95 or 99.
    pub percentile: f64,
    /// done - intended, of good answers.
    pub response_ms: f64,
    /// done - sent: the response without lateness.
    pub service_ms: f64,
    /// How much of the response is lateness, as a fraction of it; below 0 where launches left before they were meant.
    pub lateness_share: f64,
    /// How much more company launches had at the server than was meant, as a fraction of what was meant, themselves included; below
    /// 0 where it was less. `None` in a closed system.
    pub bunching_share: Option<f64>,
}

impl PercentileError {
    /// At most so much of the figure is the generator's, as a fraction of it.
    pub fn upper_bound(&self) -> f64 {
        self.lateness_share.abs() + self.bunching_share.unwrap_or(0.0).abs()
    }

    /// Whether that is more than is tolerated, where anything is, and no matter of microseconds.
    pub(crate) fn exceeds_tolerance_noticeably(&self, tolerance: f64) -> bool {
        let matters = self.upper_bound() * self.response_ms.abs() >= LATE_MS;
        matters && tolerance > 0.0 && self.upper_bound() > tolerance
    }
}

/// What the generator did to p50, p95 and p99 of the responses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorError {
    /// The window in which launches keep each other company: the median service.
    pub window_ms: f64,
    /// The largest share that is tolerated, as a fraction of the figure; 0: none, whatever its effect.
    pub tolerance: f64,
    /// One for each figure.
    pub percentiles: Vec<PercentileError>,
}

impl GeneratorError {
    /// The figure of which most is the generator's.
    ///
    /// # Panics
    /// Never: there is one for each of three figures.
    pub fn worst(&self) -> &PercentileError {
        self.percentiles.iter().max_by(|a, b| a.upper_bound().total_cmp(&b.upper_bound())).expect("shares of three figures")
    }

    /// The largest shares by which launches had less company than was meant, and more, as fractions of what was meant.
    pub(crate) fn company(&self) -> [f64; 2] {
        let largest =
            |sign: f64| self.percentiles.iter().filter_map(|share| Some(sign * share.bunching_share?)).fold(0.0, f64::max);
        [largest(-1.0), largest(1.0)]
    }

    /// Whether no figure owes the generator more than is tolerated.
    pub fn is_tolerated(&self) -> bool {
        self.tolerance > 0.0 && self.worst().upper_bound() <= self.tolerance
    }

    /// Whether a figure owes the generator more than is tolerated, where anything is.
    pub(crate) fn is_beyond_tolerance(&self) -> bool {
        self.tolerance > 0.0 && !self.is_tolerated()
    }

    /// Whether a figure owes the generator more than is tolerated, and that is no matter of microseconds.
    pub fn is_doubtful(&self) -> bool {
        self.percentiles.iter().any(|share| share.exceeds_tolerance_noticeably(self.tolerance))
    }

    /// Of good answers whose responses and services these are, and of launches that had this company; `None` of fewer than a
    /// hundred good answers.
    pub(crate) fn of(
        response: &Sorted<i64>,
        service: &Sorted<i64>,
        company: &Companies,
        tolerance: f64,
    ) -> Option<Self> {
        if response.len() < FEWEST {
            return None;
        }
        let share = |p: f64| {
            let (with, without) = (response.quantile(p)? as f64, service.quantile(p)? as f64);
            let company = (!company.sent.is_empty()).then(|| {
                let (met, expected) = (smoothed(&company.sent, p), smoothed(&company.meant, p));
                (met - expected) / (1.0 + expected)
            });
            Some(PercentileError {
                percentile: p * 100.0,
                response_ms: with / 1e6,
                service_ms: without / 1e6,
                lateness_share: if with == 0.0 { 0.0 } else { (with - without) / with.abs() },
                bunching_share: company,
            })
        };
        let shares = FIGURES.iter().map(|p| share(*p)).collect::<Option<_>>()?;
        Some(Self { window_ms: window(service) as f64 / 1e6, tolerance, percentiles: shares })
    }
}

/// The window in which launches keep each other company: the median service.
pub(crate) fn window(service: &Sorted<i64>) -> u64 {
    service.quantile(0.5).unwrap_or(0).max(1) as u64
}

/// How many launches each had in the window before it: as they were sent, and as they were meant.
pub(crate) struct Companies {
    pub(crate) sent: Sorted,
    pub(crate) meant: Sorted,
}

/// The company of launches that come in order.
pub(crate) struct Company {
    window: u64,
    before: VecDeque<u64>,
    met: Values<u64>,
}

impl Company {
    pub(crate) fn new(window: u64) -> Self {
        Self { window, before: VecDeque::new(), met: Values::default() }
    }

    /// Takes a launch.
    #[inline]
    pub(crate) fn add(&mut self, at: u64) {
        while self.before.front().is_some_and(|first| first.saturating_add(self.window) <= at) {
            self.before.pop_front();
        }
        self.met.add(self.before.len() as u64);
        self.before.push_back(at);
    }

    /// That of all, ascending.
    pub(crate) fn finish(self) -> Sorted {
        self.met.sorted()
    }
}

/// The mean of the values between the quantiles p - h and p + h, h being half the way from p to the nearer end.
fn smoothed(sorted: &Sorted, p: f64) -> f64 {
    let half = p.min(1.0 - p) / 2.0;
    let at = |p: f64| (p * sorted.len() as f64) as u64;
    sorted.mean_of(at(p - half)..at(p + half).max(at(p - half) + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_model::{Instant, Purpose, Seed};

    const MS: u64 = 1_000_000;

    /// Poisson launches at 300/s whose service takes so long; those meant for the first `stall` of every `every`-th second leave
    /// at its end.
    fn stalled(service: u64, stall: u64, every: u64) -> Vec<[u64; 3]> {
        let mut stream = Seed(7).stream(Purpose::Arrivals);
        let (mut at, second) = (0.0, 1_000_000_000);
        let mut launches = Vec::new();
        for _ in 0..30_000 {
            at += stream.exponential() / 300.0;
            let intended = (at * 1e9) as u64;
            let since = intended % (every * second);
            let sent = if since < stall { intended - since + stall } else { intended };
            launches.push([intended, sent, sent + service]);
        }
        launches
    }

    fn effect(times: &[[u64; 3]]) -> GeneratorError {
        of(times, times).unwrap()
    }

    /// The effect on good answers, by the company of `launches`.
    fn of(answers: &[[u64; 3]], launches: &[[u64; 3]]) -> Option<GeneratorError> {
        let passed = |from: u64, to: u64| (Instant(to) - Instant(from)).0;
        let response =
            answers.iter().map(|[intended, _, done]| passed(*intended, *done)).collect::<Values<i64>>().sorted();
        let service = answers.iter().map(|[_, sent, done]| passed(*sent, *done)).collect::<Values<i64>>().sorted();
        let [meant, sent] = [0, 1].map(|which| {
            let mut at: Vec<u64> = launches.iter().map(|times| times[which]).collect();
            at.sort_unstable();
            let mut company = Company::new(window(&service));
            for at in at {
                company.add(at);
            }
            company.finish()
        });
        GeneratorError::of(&response, &service, &Companies { sent, meant }, 0.05)
    }

    #[test]
    fn a_punctual_run_owes_nothing_to_its_generator() {
        let effect = effect(&stalled(20 * MS, 0, 1));
        assert_eq!((effect.window_ms, effect.worst().upper_bound(), effect.is_tolerated()), (20.0, 0.0, true));
        assert!(!GeneratorError { tolerance: 0.0, ..effect }.is_tolerated(), "of nothing nothing is tolerated");
        assert_eq!(of(&[[0, 0, 1]; 99], &[]), None);
    }

    #[test]
    fn a_stall_weighs_as_much_as_the_responses_are_short() {
        // 8.5 ms once a second is nothing beside 3.4 s, and much beside a fifth of a millisecond.
        let of = |service, stall, every| effect(&stalled(service, stall, every)).worst().upper_bound();
        assert!(of(3400 * MS, 17 * MS / 2, 1) < 0.01);
        assert!(of(MS / 5, 17 * MS / 2, 3) < 0.05, "one launch in 350");
        assert!(of(MS / 5, 40 * MS, 1) > 0.5, "one launch in twenty-five");
        assert!(of(20 * MS, 40 * MS, 1) > 0.1);
    }

    #[test]
    fn where_answers_decide_when_users_launch_only_waiting_is_known() {
        let times = stalled(20 * MS, 40 * MS, 1);
        let closed = of(&times, &[]).unwrap();
        assert!(closed.is_doubtful() && !GeneratorError { tolerance: 0.0, ..closed.clone() }.is_doubtful());
        assert!(closed.percentiles.iter().all(|share| share.bunching_share.is_none() && share.upper_bound() == share.lateness_share));
        assert!(closed.worst().upper_bound() < effect(&times).worst().upper_bound());
    }

    #[test]
    fn company_is_counted_in_the_window_before() {
        let mut company = Company::new(10);
        for at in [0, 5, 9, 10, 30] {
            company.add(at);
        }
        let met = company.finish();
        assert_eq!(met.ascending().map(|(met, _)| met).collect::<Vec<_>>(), [0, 0, 1, 2, 2]);
        let sorted = [0, 0, 1, 2, 2, 2, 3, 9].into_iter().collect::<Values<u64>>().sorted();
        assert_eq!(smoothed(&sorted, 0.5), 7.0 / 4.0);
    }
}
