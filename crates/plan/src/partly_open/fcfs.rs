//! Partly-open system with one FCFS server, phase-type service and finite think times above zero, solved exactly.
//!
//! A level is the number n of requests at the server. The states of a level are (k thinking sessions, phase of the
//! request in service); k is truncated at a number that is practically never reached. All levels from n = 1 are alike,
//! so cyclic reduction censors all levels above: it eliminates every second level, again and again, until none remains.
//! Nothing is subtracted ([`crate::matrix`]).
//!
//! Think times are exponential and session lengths geometric, so the chain needs no memory of either.
//!
//! Source: Bini and Meini 1996; Latouche and Ramaswami 1999, chapters 6 and 8.

use offered_distributions::Distribution;

use crate::matrix::{Eliminated, Matrix};
use crate::phase_type::{Phases, fcfs_response};
use crate::{Error, Response};

/// Maximum number of states per level; more would take longer than half a minute.
const MAX_STATES: usize = 1000;
/// Maximum number of products over all levels. Near load 1 the number of levels has no bound.
const MAX_WORK: f64 = 3e10;
/// The rate at which the levels decay is estimated from this level on.
const DECAY_ESTIMATE_FROM: usize = 100;
/// Maximum relative error of a mean by the truncation.
const TOLERANCE: f64 = 1e-10;

/// Solves `sessions` sessions per second at a load below 1. After a response a session continues with probability
/// `stay` (above 0), after an exponential think time of mean `think` seconds (above 0).
pub(super) fn solve(sessions: f64, stay: f64, think: f64, service: &Distribution) -> Result<Response, Error> {
    let phases = Phases::of(service)?;
    let requests = sessions / (1.0 - stay);
    let thinkers = requests * stay * think;
    let mut max_thinking = (thinkers + 6.0 * libm::sqrt(thinkers) + 10.0) as usize;
    loop {
        let chain = TruncatedChain { phases: &phases, sessions, stay, think, max_thinking };
        let found = if chain.states() > MAX_STATES { None } else { Stationary::of(&chain) };
        let Some(found) = found else {
            return Err(Error::Unsupported(format!(
                "FCFS with about {thinkers:.0} thinking sessions at a time needs a chain of too many states"
            )));
        };
        if found.truncated_share * (max_thinking as f64) < TOLERANCE * thinkers {
            let spread = fcfs_response(service, &phases, found.found.into_iter());
            return Ok(Response { mean: found.in_system / requests, sdev: spread.sdev });
        }
        max_thinking += max_thinking / 3;
    }
}

/// The chain truncated at `max_thinking` thinking sessions; a session that would be one more leaves instead.
struct TruncatedChain<'a> {
    phases: &'a Phases,
    sessions: f64,
    stay: f64,
    think: f64,
    max_thinking: usize,
}

impl TruncatedChain<'_> {
    /// Number of states of a level.
    fn states(&self) -> usize {
        (self.max_thinking + 1) * self.phases.end.len()
    }

    /// Rates of arrivals, of new sessions and of sessions that finish thinking, with `n` requests at the server.
    fn up(&self, n: usize) -> Matrix {
        let d = self.phases.end.len();
        let from = if n == 0 { 1 } else { d };
        let mut up = Matrix::zero((self.max_thinking + 1) * from, (self.max_thinking + 1) * d);
        for k in 0..=self.max_thinking {
            for (i, j) in (0..from).flat_map(|i| (0..d).map(move |j| (i, j))) {
                let share = if n == 0 { self.phases.start[j] } else { f64::from(i == j) };
                *up.of(k * from + i, k * d + j) += self.sessions * share;
                if k > 0 {
                    *up.of(k * from + i, (k - 1) * d + j) += k as f64 / self.think * share;
                }
            }
        }
        up
    }

    /// Rates of completions from `n` requests at the server. The session ends or starts to think, and if other requests
    /// wait, a service starts.
    fn down(&self, n: usize) -> Matrix {
        let d = self.phases.end.len();
        let to = if n == 1 { 1 } else { d };
        let mut down = Matrix::zero((self.max_thinking + 1) * d, (self.max_thinking + 1) * to);
        for k in 0..=self.max_thinking {
            let stay = if k == self.max_thinking { 0.0 } else { self.stay };
            for (i, j) in (0..d).flat_map(|i| (0..to).map(move |j| (i, j))) {
                let rate = self.phases.end[i] * if n == 1 { 1.0 } else { self.phases.start[j] };
                *down.of(k * d + i, k * to + j) += rate * (1.0 - stay);
                if k < self.max_thinking {
                    *down.of(k * d + i, (k + 1) * to + j) += rate * stay;
                }
            }
        }
        down
    }

    /// Rates between phases of a service in progress.
    fn local(&self) -> Matrix {
        let d = self.phases.end.len();
        let mut local = Matrix::zero((self.max_thinking + 1) * d, (self.max_thinking + 1) * d);
        for k in 0..=self.max_thinking {
            for (i, j) in (0..d).flat_map(|i| (0..d).map(move |j| (i, j))) {
                *local.of(k * d + i, k * d + j) = self.phases.onward.get(i, j);
            }
        }
        local
    }

    /// Expected times in each state of level 1 until the server is idle, by starting state.
    fn until_idle(&self) -> Matrix {
        let (mut up, mut local, mut down) = (self.up(2), self.local(), self.down(2));
        let out = down.row_sums();
        let mut first = local.clone();
        // Every second level is eliminated. From a remaining level, a path through an eliminated one leads to the next
        // remaining one, back to itself, or to it from above.
        while up.row_sums().iter().zip(&out).any(|(up, out)| *up > f64::EPSILON * f64::EPSILON * out) {
            let away = up.row_sums().iter().zip(down.row_sums()).map(|(up, down)| up + down).collect();
            let times = Eliminated::new(local.clone(), away).sojourns();
            let (above, below) = (up.times(&times), down.times(&times));
            let returns = above.times(&down);
            first = first.plus(&returns);
            local = local.plus(&returns).plus(&below.times(&up));
            (up, down) = (above.times(&up), below.times(&down));
        }
        Eliminated::new(first, out).sojourns()
    }
}

/// Stationary metrics of the truncated chain.
struct Stationary {
    /// Mean number of requests at the server.
    in_system: f64,
    /// Completions per second.
    completion_rate: f64,
    /// Probability that the number of thinking sessions is at the truncation.
    truncated_share: f64,
    /// What arrivals find: weight, number of requests and the phase of the request in service.
    found: Vec<(f64, usize, usize)>,
}

impl Stationary {
    /// Solves the chain; `None` if the queue has too many levels.
    fn of(chain: &TruncatedChain<'_>) -> Option<Self> {
        let times = chain.until_idle();
        let (begin, up) = (chain.up(0).times(&times), chain.up(1).times(&times));
        let between = begin.times(&chain.down(1));
        let none = vec![0.0; between.rows];
        let mut level = Eliminated::new(between, none).stationary();
        let (mut n, mut total, mut sums) =
            (0, 0.0, Self { in_system: 0.0, completion_rate: 0.0, truncated_share: 0.0, found: vec![] });
        loop {
            let d = level.len() / (chain.max_thinking + 1);
            let here: f64 = level.iter().sum();
            total += here;
            sums.in_system += n as f64 * here;
            sums.truncated_share += level[level.len() - d..].iter().sum::<f64>();
            for phase in 0..d {
                let of_phase = |(k, p): (usize, &f64)| (chain.sessions + k as f64 / chain.think) * p;
                let rate = level.iter().skip(phase).step_by(d).enumerate().map(of_phase).sum();
                sums.found.push((rate, n, phase));
                if n > 0 {
                    sums.completion_rate += chain.phases.end[phase] * level.iter().skip(phase).step_by(d).sum::<f64>();
                }
            }
            if n > 0 && here * ((n + 1) * (n + 1)) as f64 <= f64::EPSILON * sums.in_system {
                break;
            }
            level = if n == 0 { begin.under(&level) } else { up.under(&level) };
            n += 1;
            // Number of further levels at the current rate of decay.
            let fall = 1.0 - level.iter().sum::<f64>() / here;
            let to_come = if n > DECAY_ESTIMATE_FROM && fall > 0.0 { -libm::log(f64::EPSILON) / fall } else { 0.0 };
            if (n as f64).max(to_come) * (chain.states() * chain.states()) as f64 > MAX_WORK {
                return None;
            }
        }
        Some(Self {
            in_system: sums.in_system / total,
            completion_rate: sums.completion_rate / total,
            truncated_share: sums.truncated_share / total,
            found: sums.found,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partly_open::SessionStream;

    #[track_caller]
    fn near(found: f64, expected: f64, within: f64) {
        assert!((found / expected - 1.0).abs() < within, "{found} is not {expected}");
    }

    #[test]
    fn response_lies_between_its_limits_and_approaches_both() {
        let service = Distribution::hyperexponential(10.0, 8.0).unwrap();
        let limits = SessionStream::new(0.015, 0.75).unwrap().fcfs_limits(&service).unwrap();
        let at = |think| solve(0.015, 0.75, think, &service).unwrap();
        near(at(1e-3).mean, limits.no_think, 1e-4);
        let rising: Vec<f64> = [1.0, 30.0, 100.0, 300.0].map(|think| at(think).mean).to_vec();
        assert!(rising.is_sorted() && rising[0] > limits.no_think && rising[3] < limits.long_think, "{rising:?}");
    }

    /// Exponential service has product form, whatever the think time (Baskett et al. 1975).
    #[test]
    fn think_time_does_not_matter_with_exponential_service() {
        let service = Distribution::exponential(0.01).unwrap();
        for (sessions, stay, think) in [(9.0, 0.9, 0.5), (40.0, 0.5, 0.002), (16.0, 0.8, 2.0)] {
            let found = solve(sessions, stay, think, &service).unwrap();
            let requests = sessions / (1.0 - stay);
            near(found.mean, 0.01 / (1.0 - requests * 0.01), 1e-7);
            near(found.sdev, found.mean, 1e-6);
        }
    }

    /// The mean response from what arrivals find equals the mean by Little's law.
    #[test]
    fn arrival_view_agrees_with_time_averages() {
        for distribution in ["hyperexponential:10ms,4", "erlang:10ms,3"] {
            let (service, phases) =
                (distribution.parse().unwrap(), Phases::of(&distribution.parse().unwrap()).unwrap());
            let sums = Stationary::of(&TruncatedChain {
                phases: &phases,
                sessions: 14.0,
                stay: 0.8,
                think: 0.05,
                max_thinking: 30,
            })
            .unwrap();
            near(fcfs_response(&service, &phases, sums.found.into_iter()).mean, sums.in_system / 70.0, 1e-9);
            near(sums.completion_rate, 70.0, 1e-9);
        }
    }

    #[test]
    fn too_large_chains_are_refused() {
        let service = Distribution::hyperexponential(0.001, 100.0).unwrap();
        assert!(solve(50.0, 0.95, 60.0, &service).is_err());
        assert!(solve(1.0, 0.5, 1.0, &Distribution::constant(0.1).unwrap()).is_err());
        let hardly = Distribution::hyperexponential(0.01 * (1.0 - 1e-9), 8.0).unwrap();
        assert!(solve(50.0, 0.5, 2e-2, &hardly).is_err(), "load 1 - 1e-9 has too many levels");
    }
}
