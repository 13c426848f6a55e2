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

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use offered_model::{Instant, Outcome};
use offered_stats::summary::quantile;

use crate::ask::Ask;
use crate::scope::Scope;

/// The figures that are judged.
const FIGURES: [f64; 3] = [0.50, 0.95, 0.99];
/// Launches that left as meant raise no doubt by less: a server on the same machine answers in a few times their usual lateness.
const LATE_MS: f64 = 1.0;
/// Of fewer good answers nothing is said.
const FEWEST: usize = 100;

/// What the generator did to one figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// Which: 50, 95 or 99.
    pub percentile: f64,
    /// done - intended, of good answers.
    pub response_ms: f64,
    /// done - sent: the response without lateness.
    pub without_lateness_ms: f64,
    /// How much of the response is lateness, as a fraction of it; below 0 where launches left before they were meant.
    pub waiting: f64,
    /// How much more company launches had at the server than was meant, as a fraction of what was meant, themselves included; below
    /// 0 where it was less. `None` in a closed system.
    pub company: Option<f64>,
}

impl Share {
    /// At most so much of the figure is the generator's, as a fraction of it.
    pub fn at_most(&self) -> f64 {
        self.waiting.abs() + self.company.unwrap_or(0.0).abs()
    }

    /// Whether that is more than is tolerated, where anything is, and no matter of microseconds.
    pub(crate) fn is_doubtful(&self, tolerance: f64) -> bool {
        let late = (self.response_ms - self.without_lateness_ms).abs() >= LATE_MS;
        late && tolerance > 0.0 && self.at_most() > tolerance
    }
}

/// What the generator did to p50, p95 and p99 of the responses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// The window in which launches keep each other company: the median service.
    pub window_ms: f64,
    /// The largest share that is tolerated, as a fraction of the figure; 0: none, whatever its effect.
    pub tolerance: f64,
    /// One for each figure.
    pub shares: Vec<Share>,
}

impl Effect {
    /// The figure of which most is the generator's.
    ///
    /// # Panics
    /// Never: there is one for each of three figures.
    pub fn worst(&self) -> &Share {
        self.shares.iter().max_by(|a, b| a.at_most().total_cmp(&b.at_most())).expect("shares of three figures")
    }

    /// Whether no figure owes the generator more than is tolerated.
    pub fn is_tolerated(&self) -> bool {
        self.tolerance > 0.0 && self.worst().at_most() <= self.tolerance
    }

    /// Whether a figure owes the generator more than is tolerated, and that is no matter of microseconds.
    pub fn is_doubtful(&self) -> bool {
        self.shares.iter().any(|share| share.is_doubtful(self.tolerance))
    }

    /// On the launches of `scope`; `None` where intended instants are not known, or there are fewer than a hundred good answers.
    pub(crate) fn on(scope: Scope, ask: &Ask) -> Option<Self> {
        if !scope.recording.intent_known {
            return None;
        }
        let answered = scope.launches().filter(|(_, event)| event.outcome == Outcome::Ok);
        let times: Vec<[u64; 3]> =
            answered.filter_map(|(sent, event)| Some([event.intended.0, sent, event.done?.0])).collect();
        let first = scope.launches().filter(|(_, event)| event.step == 0 && !ask.is_closed());
        let arrivals: Vec<[u64; 2]> = first.map(|(sent, event)| [event.intended.0, sent]).collect();
        Self::of(&times, &arrivals, ask.effect_tolerance)
    }

    /// Of good answers as (intended, sent, done) and of launches as (intended, sent), in nanoseconds and any order.
    fn of(times: &[[u64; 3]], arrivals: &[[u64; 2]], tolerance: f64) -> Option<Self> {
        if times.len() < FEWEST {
            return None;
        }
        let passed = |from: u64, to: u64| Instant(to) - Instant(from);
        let response = sorted(times.iter().map(|[intended, _, done]| passed(*intended, *done)));
        let service = sorted(times.iter().map(|[_, sent, done]| passed(*sent, *done)));
        let window = quantile(&service, 0.5).positive().0.max(1);
        let meant = company(&sorted(arrivals.iter().map(|[intended, _]| *intended)), window);
        let sent = company(&sorted(arrivals.iter().map(|[_, sent]| *sent)), window);
        let share = |p: f64| {
            let (with, without) = (quantile(&response, p).0 as f64, quantile(&service, p).0 as f64);
            let company = (!arrivals.is_empty()).then(|| {
                let (met, expected) = (smoothed(&sent, p), smoothed(&meant, p));
                (met - expected) / (1.0 + expected)
            });
            Share {
                percentile: p * 100.0,
                response_ms: with / 1e6,
                without_lateness_ms: without / 1e6,
                waiting: if with == 0.0 { 0.0 } else { (with - without) / with.abs() },
                company,
            }
        };
        Some(Self { window_ms: window as f64 / 1e6, tolerance, shares: FIGURES.map(share).to_vec() })
    }
}

fn sorted<T: Ord>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = all.collect();
    all.sort_unstable();
    all
}

/// How many launches each of these (ascending) has in the window before it, ascending.
fn company(launches: &[u64], window: u64) -> Vec<u64> {
    let mut first = 0;
    let before = |(i, at): (usize, &u64)| {
        while launches[first].saturating_add(window) <= *at {
            first += 1;
        }
        (i - first) as u64
    };
    sorted(launches.iter().enumerate().map(before).collect::<Vec<_>>().into_iter())
}

/// The mean of the values between the quantiles p - h and p + h, h being half the way from p to the nearer end.
fn smoothed(sorted: &[u64], p: f64) -> f64 {
    let half = p.min(1.0 - p) / 2.0;
    let at = |p: f64| (p * sorted.len() as f64) as usize;
    let middle = &sorted[at(p - half)..at(p + half).max(at(p - half) + 1)];
    middle.iter().sum::<u64>() as f64 / middle.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_model::{Purpose, Seed};

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

    fn effect(times: &[[u64; 3]]) -> Effect {
        let arrivals: Vec<[u64; 2]> = times.iter().map(|[intended, sent, _]| [*intended, *sent]).collect();
        Effect::of(times, &arrivals, 0.05).unwrap()
    }

    #[test]
    fn a_punctual_run_owes_nothing_to_its_generator() {
        let effect = effect(&stalled(20 * MS, 0, 1));
        assert_eq!((effect.window_ms, effect.worst().at_most(), effect.is_tolerated()), (20.0, 0.0, true));
        assert!(!Effect { tolerance: 0.0, ..effect }.is_tolerated(), "of nothing nothing is tolerated");
        assert_eq!(Effect::of(&[[0, 0, 1]; 99], &[], 0.05), None);
    }

    #[test]
    fn a_stall_weighs_as_much_as_the_responses_are_short() {
        // 8.5 ms once a second is nothing beside 3.4 s, and much beside a fifth of a millisecond.
        let of = |service, stall, every| effect(&stalled(service, stall, every)).worst().at_most();
        assert!(of(3400 * MS, 17 * MS / 2, 1) < 0.01);
        assert!(of(MS / 5, 17 * MS / 2, 3) < 0.05, "one launch in 350");
        assert!(of(MS / 5, 40 * MS, 1) > 0.5, "one launch in twenty-five");
        assert!(of(20 * MS, 40 * MS, 1) > 0.1);
    }

    #[test]
    fn where_answers_decide_when_users_launch_only_waiting_is_known() {
        let times = stalled(20 * MS, 40 * MS, 1);
        let closed = Effect::of(&times, &[], 0.05).unwrap();
        assert!(closed.is_doubtful() && !Effect { tolerance: 0.0, ..closed.clone() }.is_doubtful());
        assert!(closed.shares.iter().all(|share| share.company.is_none() && share.at_most() == share.waiting));
        assert!(closed.worst().at_most() < effect(&times).worst().at_most());
    }

    #[test]
    fn company_is_counted_in_the_window_before() {
        assert_eq!(company(&[0, 5, 9, 10, 30], 10), [0, 0, 1, 2, 2]);
        assert_eq!(smoothed(&[0, 0, 1, 2, 2, 2, 3, 9], 0.5), 7.0 / 4.0);
    }
}
