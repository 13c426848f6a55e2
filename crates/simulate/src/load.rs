//! Equal load: the workload changed so that its server is as busy as asked.
//!
//! Comparing system models or disciplines is fair only at equal load. In an open system the load fixes the rate. In a closed
//! one it depends on the discipline, and the paper's advice is to "adjust the think time": its mean is searched for, its form
//! is kept.

use offered_model::arrivals::Profile;
use offered_model::workload::{Closed, Sessions};
use offered_model::{Rate, Schedule, Workload, Wrong};

use crate::drive::Demands;
use crate::modelled::Modelled;
use crate::simulation::{Stop, offered_load, simulate};

/// Jobs of a trial while the think time is still far off, and when it is near.
const COARSE: u64 = 40_000;
const FINE: u64 = 1_000_000;

/// `workload` with its rate of arrivals, of sessions, or its mean think time changed so that the load is `load`.
///
/// For an open or partly-open system the answer is exact. For a closed one it is a root found by simulation with common
/// random numbers (trials of up to `most` jobs), so the load reached has an error, which the simulation that follows reports.
///
/// # Errors
/// A load that cannot be: 1 or more (0 or less) in an open system, more than the users can make in a closed one; a rate that
/// is not constant; a closed system without a think time to adjust.
pub fn at_load(workload: &Workload, load: f64, most: u64) -> Result<Workload, Wrong> {
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
            let think = Search { workload, closed, cycle, least: demands.mean(), most }.think(load)?;
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
    /// The shortest mean response there is.
    least: f64,
    most: u64,
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
        let near = self.root((0.0, self.least - self.cycle), most, COARSE.min(self.most))?;
        if self.most <= COARSE {
            return Ok(near);
        }
        self.root((0.0, self.least - self.cycle), near, FINE.min(self.most))
    }

    /// By how much the cycle is too long with this mean think time.
    fn excess(&self, think: f64, jobs: u64) -> Result<f64, Wrong> {
        let closed = self.closed.with_mean_think(think)?;
        let users = closed.users() as f64;
        let trial = self.workload.clone().with_sessions(Sessions::Closed(closed))?;
        // Each user must have come round several times before the rate means anything.
        let answer = simulate(&trial, Stop::Jobs(jobs.max(20 * self.closed.users())), None)?;
        Ok(users / answer.summary.throughput.value - self.cycle)
    }

    /// The root of the excess near `guess`: secant steps kept inside a bracket (the Illinois rule). `low` is a point where the
    /// cycle is too short. Common random numbers make the excess nearly a function.
    fn root(&self, mut low: (f64, f64), guess: f64, jobs: u64) -> Result<f64, Wrong> {
        let mut high = (guess, self.excess(guess, jobs)?);
        // Where nearly all of the thinking is in a few times that a trial may not meet, the excess hardly moves: steps double.
        let mut step = 1e-3 * self.cycle;
        while high.1 < 0.0 && high.0 < self.cycle {
            low = high;
            high.0 = (high.0 + step.max(-1.5 * high.1)).min(self.cycle);
            high.1 = self.excess(high.0, jobs)?;
            step *= 2.0;
        }
        for _ in 0..30 {
            if high.1.abs() < 3e-4 * self.cycle || high.0 - low.0 < 1e-5 * self.cycle {
                break;
            }
            let middle = (low.0 * high.1 - high.0 * low.1) / (high.1 - low.1);
            let trial = (middle, self.excess(middle, jobs)?);
            if trial.1.abs() < 3e-4 * self.cycle {
                return Ok(middle);
            }
            if trial.1 < 0.0 {
                low = trial;
                high.1 /= 2.0;
            } else {
                high = trial;
                low.1 /= 2.0;
            }
        }
        Ok(high.0)
    }
}
