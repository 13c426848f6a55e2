//! Equal load: the workload changed so that its server is as busy as asked.
//!
//! Comparing system models or disciplines is fair only at equal load. In an open system the load fixes the rate. In a closed
//! one it depends on the discipline, and the paper's advice is to "adjust the think time": its mean is searched for, its form
//! is kept.

use offered_model::arrivals::Profile;
use offered_model::workload::{Closed, Sessions};
use offered_model::{Rate, Schedule, Workload, Wrong};
use offered_stats::steady_state::Estimate;

use crate::drive::Demands;
use crate::modelled::Modelled;
use crate::simulation::{Stop, offered_load, simulate, times};

/// Jobs of a trial while the think time is far off; near it up to five times as many, and again, until the load is known well enough.
const FEW: u64 = 40_000;
const MANY: u64 = 25_000_000;

/// How well the load of a closed system is usually known, as a fraction of it.
pub const WITHIN: f64 = 1e-3;

/// `workload` with its rate of arrivals, of sessions, or its mean think time changed so that the load is `load`.
///
/// For an open or partly-open system the answer is exact. For a closed one it is a root found by simulation with common
/// random numbers: half its 95 % interval is at most `within` of it (1e-3), unless that takes more than 25 million jobs. Where there is a
/// closed form, it is better asked.
///
/// # Errors
/// A load that cannot be: 1 or more (0 or less) in an open system, more than the users can make in a closed one; a rate that
/// is not constant; a closed system without a think time to adjust.
pub fn at_load(workload: &Workload, load: f64, within: f64) -> Result<Workload, Wrong> {
    let demands = Demands::new(workload)?;
    let modelled = Modelled::new(workload, &demands)?;
    if !(load > 0.0 && load.is_finite()) {
        return Err(Wrong::new(format!("a load must be above zero, not {load}")));
    }
    let Some(bottleneck) = modelled.bottleneck(&demands) else {
        return Err(Wrong::new("where there is a server for everybody there is no load to ask for; give a rate"));
    };
    let sessions = match workload.sessions() {
        Sessions::Open(_) | Sessions::PartlyOpen { .. } if load >= 1.0 && modelled.room().is_none() => {
            return Err(Wrong::new(format!(
                "a load of {load} cannot be: at 1 or more an open system's queue grows without end; ask for less, or give the server a room"
            )));
        }
        Sessions::Replay(_) => {
            return Err(Wrong::new("a trace has the load it was recorded with; change replay's speed instead"));
        }
        Sessions::Open(schedule) => Sessions::Open(constant(schedule, load / bottleneck)?),
        Sessions::PartlyOpen { schedule, length, think, opening } => Sessions::PartlyOpen {
            schedule: constant(schedule, load / bottleneck / length.mean())?,
            length: length.clone(),
            think: think.clone(),
            opening: *opening,
        },
        Sessions::Closed(closed) if closed.pace().is_some() => {
            return Err(Wrong::new(
                "users who keep a pace make the load that it says; change `every`, or how many they are, instead",
            ));
        }
        Sessions::Closed(closed) => {
            let cycle = closed.users() as f64 * bottleneck / load;
            let think = Search { workload, closed, cycle, bottleneck, least: demands.mean(), within }.think(load)?;
            Sessions::Closed(closed.with_mean_think(think)?)
        }
    };
    workload.clone().with_sessions(sessions)
}

/// Whether the queue of `workload` would grow without end: an open or partly-open system with load 1 or more and room for all.
///
/// # Errors
/// A workload that cannot be simulated.
pub fn overloaded(workload: &Workload) -> Result<bool, Wrong> {
    let demands = Demands::new(workload)?;
    let modelled = Modelled::new(workload, &demands)?;
    let load = offered_load(workload, &modelled, &demands);
    Ok(load.is_some_and(|load| load >= 1.0) && modelled.room().is_none())
}

fn constant(schedule: &Schedule, per_sec: f64) -> Result<Schedule, Wrong> {
    if schedule.rate().as_constant().is_none() {
        return Err(Wrong::new("a load can be asked for where the rate is constant; write rate = \"100/s\""));
    }
    Ok(schedule.clone().with_rate(Profile::constant(Rate::from_per_sec(per_sec)?)))
}

/// A search for the think time at which N users come round once every `cycle` seconds, since then X = N / cycle.
struct Search<'a> {
    workload: &'a Workload,
    closed: &'a Closed,
    cycle: f64,
    /// Load per request a second.
    bottleneck: f64,
    /// The shortest mean response there is.
    least: f64,
    /// How well the load is to be known, as a fraction of it.
    within: f64,
}

/// What a trial says of a think time.
#[derive(Clone, Copy)]
struct Trial {
    think: f64,
    /// By how much the cycle is too long.
    excess: f64,
    /// Half the interval of its load, as a fraction.
    within: f64,
}

impl Search<'_> {
    fn think(&self, load: f64) -> Result<f64, Wrong> {
        if self.closed.mean_think() == 0.0 {
            return Err(Wrong::new(
                "a closed system's load is set by its think time, and it has none; write for example think = { exponential = \"1s\" }",
            ));
        }
        let most = self.cycle - self.least;
        if load >= 1.0 || most <= 0.0 {
            return Err(Wrong::new(format!(
                "{} users cannot make a load of {load}, even without thinking; ask for less or take more users",
                self.closed.users()
            )));
        }
        // Without thinking the cycle is shorter than asked, with `most` longer: N users, think Z, cycle N/X = Z + E[T].
        let (mut think, mut jobs) = (most, FEW);
        loop {
            let found = self.root(think, jobs)?;
            if found.within <= self.within || jobs >= MANY {
                return Ok(found.think);
            }
            let more = (1.2 * (found.within / self.within).powi(2)).clamp(1.5, 5.0);
            (think, jobs) = (found.think, (jobs as f64 * more) as u64);
        }
    }

    fn trial(&self, think: f64, jobs: u64) -> Result<Trial, Wrong> {
        let closed = self.closed.with_mean_think(think)?;
        let users = closed.users();
        let trial = self.workload.clone().with_sessions(Sessions::Closed(closed))?;
        // Each user must have come round several times before the rate means anything.
        let answer = simulate(&trial, Stop::Jobs(jobs.max(20 * users)), None)?;
        // The load is the time that servers are busy, and the rate times the mean work. Few users know the first better, for what the work
        // of a trial was by chance is in both; many know the second, for they come round at a steady rate.
        let by_rate = times(answer.summary.throughput, self.bottleneck);
        let within = |load: &Estimate| load.half_width() / load.value;
        let load = if within(&answer.load_reached) < within(&by_rate) { answer.load_reached } else { by_rate };
        Ok(Trial { think, excess: users as f64 * self.bottleneck / load.value - self.cycle, within: within(&load) })
    }

    /// The root of the excess near `guess`: secant steps kept inside a bracket (the Illinois rule). Common random numbers make the excess
    /// nearly a function.
    fn root(&self, guess: f64, jobs: u64) -> Result<Trial, Wrong> {
        let mut low = Trial { think: 0.0, excess: self.least - self.cycle, within: f64::INFINITY };
        let mut high = self.trial(guess, jobs)?;
        // Where nearly all of the thinking is in a few times that a trial may not meet, the excess hardly moves: steps double.
        let mut step = 1e-3 * self.cycle;
        while high.excess < 0.0 && high.think < self.cycle {
            low = high;
            high = self.trial((high.think + step.max(-1.5 * high.excess)).min(self.cycle), jobs)?;
            step *= 2.0;
        }
        // What the two ends count for in the next step: an end that stays counts half.
        let (mut of_low, mut of_high) = (low.excess, high.excess);
        for _ in 0..30 {
            if high.excess.abs() < 3e-4 * self.cycle || high.think - low.think < 1e-5 * self.cycle {
                break;
            }
            let middle = self.trial((low.think * of_high - high.think * of_low) / (of_high - of_low), jobs)?;
            if middle.excess.abs() < 3e-4 * self.cycle {
                return Ok(middle);
            }
            if middle.excess < 0.0 {
                (low, of_low) = (middle, middle.excess);
                of_high /= 2.0;
            } else {
                (high, of_high) = (middle, middle.excess);
                of_low /= 2.0;
            }
        }
        Ok(high)
    }
}
