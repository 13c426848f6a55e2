//! Sessions that think, in front of one FCFS server whose service is made of exponential phases: between no thinking and endless
//! thinking, exactly.
//!
//! A level is the number n at the server; the states of a level are (k who think, the phase of the one served), where more who think than
//! there ever are is cut off. From n = 1 on levels are alike, so all above a level is censored away by cyclic reduction: every second
//! level is eliminated, again and again, until none remains. Nothing is subtracted ([`crate::matrix`]).
//!
//! Think times and session lengths are exponential and geometric: a chain has no memory of either.
//!
//! Source: Bini and Meini 1996; Latouche and Ramaswami 1999, chapters 6 and 8.

use offered_model::Law;

use crate::matrix::{Eliminated, Matrix};
use crate::phase_type::{Phases, fcfs_response};
use crate::{Error, Response};

/// More states of a level than this are refused: it would take longer than half a minute.
const MOST_STATES: usize = 1000;
/// And so many products over all levels: near load 1 there is no end of them.
const MOST_WORK: f64 = 3e10;
/// From this level on it is known how fast levels fall off.
const BEFORE_LONG: usize = 100;
/// The share of a mean that what is cut off may have.
const TOLERANCE: f64 = 1e-10;

/// `sessions` a second, each of which goes on after an answer with probability `stay` (above 0), having thought for an exponential time of
/// mean `think` (above 0) seconds; the load is below 1.
pub(super) fn solve(sessions: f64, stay: f64, think: f64, service: &Law) -> Result<Response, Error> {
    let phases = Phases::of(service)?;
    let requests = sessions / (1.0 - stay);
    let thinkers = requests * stay * think;
    let mut most = (thinkers + 6.0 * libm::sqrt(thinkers) + 10.0) as usize;
    loop {
        let cut = Cut { phases: &phases, sessions, stay, think, most };
        let found = if cut.states() > MOST_STATES { None } else { Stay::of(&cut) };
        let Some(found) = found else {
            return Err(Error::Refused(format!(
                "FCFS between sessions of which some {thinkers:.0} think at a time has a chain of too many states"
            )));
        };
        if found.at_edge * (most as f64) < TOLERANCE * thinkers {
            let spread = fcfs_response(service, &phases, found.found.into_iter());
            return Ok(Response { mean: found.in_system / requests, sdev: spread.sdev });
        }
        most += most / 3;
    }
}

/// The chain with no more than `most` who think: who would begin to, leaves.
struct Cut<'a> {
    phases: &'a Phases,
    sessions: f64,
    stay: f64,
    think: f64,
    most: usize,
}

impl Cut<'_> {
    /// States of a level.
    fn states(&self) -> usize {
        (self.most + 1) * self.phases.end.len()
    }

    /// Rates of arrivals, by who comes first or has thought, where `n` are at the server.
    fn up(&self, n: usize) -> Matrix {
        let d = self.phases.end.len();
        let from = if n == 0 { 1 } else { d };
        let mut up = Matrix::zero((self.most + 1) * from, (self.most + 1) * d);
        for k in 0..=self.most {
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

    /// Rates of answers, with which a session ends or begins to think, from `n` at the server; and, where others wait, a service begins.
    fn down(&self, n: usize) -> Matrix {
        let d = self.phases.end.len();
        let to = if n == 1 { 1 } else { d };
        let mut down = Matrix::zero((self.most + 1) * d, (self.most + 1) * to);
        for k in 0..=self.most {
            let stay = if k == self.most { 0.0 } else { self.stay };
            for (i, j) in (0..d).flat_map(|i| (0..to).map(move |j| (i, j))) {
                let rate = self.phases.end[i] * if n == 1 { 1.0 } else { self.phases.start[j] };
                *down.of(k * d + i, k * to + j) += rate * (1.0 - stay);
                if k < self.most {
                    *down.of(k * d + i, (k + 1) * to + j) += rate * stay;
                }
            }
        }
        down
    }

    /// Rates between phases of a service that goes on.
    fn local(&self) -> Matrix {
        let d = self.phases.end.len();
        let mut local = Matrix::zero((self.most + 1) * d, (self.most + 1) * d);
        for k in 0..=self.most {
            for (i, j) in (0..d).flat_map(|i| (0..d).map(move |j| (i, j))) {
                *local.of(k * d + i, k * d + j) = self.phases.onward.get(i, j);
            }
        }
        local
    }

    /// Times in each state of level 1, from each, until the server is idle.
    fn until_idle(&self) -> Matrix {
        let (mut up, mut local, mut down) = (self.up(2), self.local(), self.down(2));
        let out = down.row_sums();
        let mut first = local.clone();
        // Every second level is eliminated: what goes up from one that remains comes to the next one, to itself, or from above to it.
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

/// How long things are as they are.
struct Stay {
    /// The mean number at the server.
    in_system: f64,
    /// Answers per second.
    answers: f64,
    /// The probability that as many think as are let.
    at_edge: f64,
    /// What a request finds, by its weight: how many, and the phase of the first.
    found: Vec<(f64, usize, usize)>,
}

impl Stay {
    /// `None` where the queue has more levels than can be gone through.
    fn of(cut: &Cut<'_>) -> Option<Self> {
        let times = cut.until_idle();
        let (begin, up) = (cut.up(0).times(&times), cut.up(1).times(&times));
        let between = begin.times(&cut.down(1));
        let none = vec![0.0; between.rows];
        let mut level = Eliminated::new(between, none).stationary();
        let (mut n, mut total, mut stay) = (0, 0.0, Self { in_system: 0.0, answers: 0.0, at_edge: 0.0, found: vec![] });
        loop {
            let d = level.len() / (cut.most + 1);
            let here: f64 = level.iter().sum();
            total += here;
            stay.in_system += n as f64 * here;
            stay.at_edge += level[level.len() - d..].iter().sum::<f64>();
            for phase in 0..d {
                let of_phase = |(k, p): (usize, &f64)| (cut.sessions + k as f64 / cut.think) * p;
                let rate = level.iter().skip(phase).step_by(d).enumerate().map(of_phase).sum();
                stay.found.push((rate, n, phase));
                if n > 0 {
                    stay.answers += cut.phases.end[phase] * level.iter().skip(phase).step_by(d).sum::<f64>();
                }
            }
            if n > 0 && here * ((n + 1) * (n + 1)) as f64 <= f64::EPSILON * stay.in_system {
                break;
            }
            level = if n == 0 { begin.under(&level) } else { up.under(&level) };
            n += 1;
            // At the rate at which levels fall off by now, so many are still to come.
            let fall = 1.0 - level.iter().sum::<f64>() / here;
            let to_come = if n > BEFORE_LONG && fall > 0.0 { -libm::log(f64::EPSILON) / fall } else { 0.0 };
            if (n as f64).max(to_come) * (cut.states() * cut.states()) as f64 > MOST_WORK {
                return None;
            }
        }
        Some(Self {
            in_system: stay.in_system / total,
            answers: stay.answers / total,
            at_edge: stay.at_edge / total,
            found: stay.found,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partly_open::Sessions;

    #[track_caller]
    fn near(found: f64, expected: f64, within: f64) {
        assert!((found / expected - 1.0).abs() < within, "{found} is not {expected}");
    }

    #[test]
    fn it_lies_between_its_two_limits_and_comes_near_to_both() {
        let service = Law::hyperexponential(10.0, 8.0).unwrap();
        let limits = Sessions::new(0.015, 0.75).unwrap().fcfs_limits(&service).unwrap();
        let at = |think| solve(0.015, 0.75, think, &service).unwrap();
        near(at(1e-3).mean, limits.no_think, 1e-4);
        let rising: Vec<f64> = [1.0, 30.0, 100.0, 300.0].map(|think| at(think).mean).to_vec();
        assert!(rising.is_sorted() && rising[0] > limits.no_think && rising[3] < limits.long_think, "{rising:?}");
    }

    /// With exponential service it has product form, whatever the think time: Baskett et al. 1975.
    #[test]
    fn with_exponential_service_thinking_does_not_count() {
        let service = Law::exponential(0.01).unwrap();
        for (sessions, stay, think) in [(9.0, 0.9, 0.5), (40.0, 0.5, 0.002), (16.0, 0.8, 2.0)] {
            let found = solve(sessions, stay, think, &service).unwrap();
            let requests = sessions / (1.0 - stay);
            near(found.mean, 0.01 / (1.0 - requests * 0.01), 1e-7);
            near(found.sdev, found.mean, 1e-6);
        }
    }

    /// What arrivals find makes the mean that Little's law makes of what is there.
    #[test]
    fn arrivals_and_outside_observers_agree() {
        for law in ["hyperexponential:10ms,4", "erlang:10ms,3"] {
            let (service, phases) = (law.parse().unwrap(), Phases::of(&law.parse().unwrap()).unwrap());
            let stay = Stay::of(&Cut { phases: &phases, sessions: 14.0, stay: 0.8, think: 0.05, most: 30 }).unwrap();
            near(fcfs_response(&service, &phases, stay.found.into_iter()).mean, stay.in_system / 70.0, 1e-9);
            near(stay.answers, 70.0, 1e-9);
        }
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let service = Law::hyperexponential(0.001, 100.0).unwrap();
        assert!(solve(50.0, 0.95, 60.0, &service).is_err());
        assert!(solve(1.0, 0.5, 1.0, &Law::constant(0.1).unwrap()).is_err());
        let hardly = Law::hyperexponential(0.01 * (1.0 - 1e-9), 8.0).unwrap();
        assert!(solve(50.0, 0.5, 2e-2, &hardly).is_err(), "a queue without end");
    }
}
