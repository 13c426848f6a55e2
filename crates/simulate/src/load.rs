//! Adjusts a workload so that it produces a given load.
//!
//! Comparing system models or disciplines is fair only at equal load. In an open system the load determines the rate.
//! In a closed system it depends on the discipline, and the paper's advice is to "adjust the think time": this module
//! searches for the mean think time and keeps the shape of its distribution.

use offered_base::{InvalidValue, Rate};
use offered_schedule::Schedule;
use offered_schedule::arrivals::Profile;
use offered_schedule::{Closed, Sessions};
use offered_stats::steady_state::Estimate;
use offered_workload::Workload;

use crate::Error;
use crate::drive::ServiceDemands;
use crate::modelled_server::ModelledServer;
use crate::simulation::{simulate, times};
use crate::stop::Stop;

/// Requests in the first trials of the search. Later trials grow until the load is precise enough.
const MIN_TRIAL_JOBS: u64 = 4_000;
/// Maximum requests per trial of the search.
const MAX_TRIAL_JOBS: u64 = 25_000_000;
/// Maximum ratio of the lengths of two trials that follow each other.
const MAX_GROWTH: f64 = 8.0;
/// Excess of a trial, in half-widths of its load, that one Newton step corrects.
const CORRECTABLE: f64 = 2.0;

/// Default relative half-width of the load of a closed system.
pub const DEFAULT_TOLERANCE: f64 = 2e-3;

/// A trial of the search for a think time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadTrial {
    /// The number of the trial, from 1.
    pub number: u32,
    /// Number of its requests.
    pub requests: u64,
    /// The mean think time, seconds.
    pub think_s: f64,
    /// The measured load.
    pub load: f64,
    /// Half the 95 % interval of the load.
    pub half_width: f64,
}

/// Returns `workload` with its arrival rate, session rate or mean think time changed so that the load is `load`.
///
/// For an open or partly-open system the result is exact. For a closed one it is a root found by simulation with common
/// random numbers: the half-width of the load's 95 % interval is at most `tolerance` times the load, unless that takes
/// more than 25 million jobs per trial. Where a closed form exists, it is the better choice.
///
/// # Errors
/// The load is impossible: 1 or more (or 0 or less) in an open system, more than the users can produce in a closed one.
/// The rate is not constant. A closed system has no think time to adjust.
pub fn at_load(
    workload: &Workload,
    load: f64,
    tolerance: f64,
    progress: &mut dyn FnMut(LoadTrial),
) -> Result<Workload, Error> {
    let at = at_any_load(workload, load, tolerance, progress)?;
    let is_open = matches!(workload.sessions(), Sessions::Open(_) | Sessions::PartlyOpen { .. });
    if load >= 1.0 && is_open && ModelledServer::new(workload, &ServiceDemands::new(workload)?)?.admits_all() {
        return Err(Error::Unstable { load });
    }
    Ok(at)
}

/// Like [`at_load`], but accepts a load of 1 or more in an open system, in which the queue then grows without end.
///
/// # Errors
/// The load is 0 or less, or more than the users of a closed system can produce. The rate is not constant. A closed system has no think time to
/// adjust.
pub fn at_any_load(
    workload: &Workload,
    load: f64,
    tolerance: f64,
    progress: &mut dyn FnMut(LoadTrial),
) -> Result<Workload, Error> {
    let demands = ServiceDemands::new(workload)?;
    let modelled = ModelledServer::new(workload, &demands)?;
    if !(load > 0.0 && load.is_finite()) {
        return Err(InvalidValue::new(format!("a load must be above zero, not {load}")).into());
    }
    let Some(bottleneck) = modelled.bottleneck(&demands) else {
        return Err(
            InvalidValue::new("every request has its own server, so no rate produces a load; give a rate").into()
        );
    };
    if bottleneck.is_infinite() {
        return Err(Error::unstable(f64::INFINITY));
    }
    let sessions = match workload.sessions() {
        Sessions::Scenarios(_) => {
            return Err(InvalidValue::new("scenarios have fixed loads; change their rates or users").into());
        }
        Sessions::Replay(_) => {
            return Err(InvalidValue::new("a trace has a fixed load; change `speed` of the replay instead").into());
        }
        Sessions::Open(schedule) => Sessions::Open(constant(schedule, load / bottleneck)?),
        Sessions::PartlyOpen { schedule, length, think, opening } => Sessions::PartlyOpen {
            schedule: constant(schedule, load / bottleneck / length.mean())?,
            length: length.clone(),
            think: think.clone(),
            opening: *opening,
        },
        Sessions::Closed(closed) if closed.pace().is_some() => {
            let why = "users with a pace produce a fixed load; change `every` or the number of users instead";
            return Err(InvalidValue::new(why).into());
        }
        Sessions::Closed(closed) if closed.population().is_some() => {
            let why = "a load needs a constant number of users; write users = 200";
            return Err(InvalidValue::new(why).into());
        }
        Sessions::Closed(closed) => {
            let cycle = closed.users() as f64 * bottleneck / load;
            let (least, unlimited) = (demands.mean(), modelled.admits_all());
            let mut search =
                Search { workload, closed, cycle, bottleneck, least, tolerance, unlimited, progress, trials: 0 };
            Sessions::Closed(closed.with_mean_think(search.think(load)?)?)
        }
    };
    Ok(workload.clone().with_sessions(sessions)?)
}

/// Why the queue of `workload` grows without end in a simulation until `stop`; `None` if it does not. Only an open or partly-open system
/// without rejections can have such a queue: with a load of 1 or more, or before a saturated region. For the duration of a workload with time
/// limits no queue does.
///
/// # Errors
/// The workload cannot be simulated.
pub fn instability(workload: &Workload, stop: Stop) -> Result<Option<Error>, InvalidValue> {
    let demands = ServiceDemands::new(workload)?;
    let modelled = ModelledServer::new(workload, &demands)?;
    modelled.instability(workload, &demands, stop)
}

fn constant(schedule: &Schedule, per_sec: f64) -> Result<Schedule, InvalidValue> {
    if schedule.rate().as_constant().is_none() {
        return Err(InvalidValue::new("a load needs a constant arrival rate; write rate = \"100/s\""));
    }
    Ok(schedule.clone().with_rate(Profile::constant(Rate::from_per_sec(per_sec)?)))
}

/// Searches for the think time at which N users complete a cycle every `cycle` seconds, since then X = N / cycle.
struct Search<'a> {
    workload: &'a Workload,
    closed: &'a Closed,
    cycle: f64,
    /// Load per request per second.
    bottleneck: f64,
    /// Lower bound of the mean response, seconds.
    least: f64,
    /// Required relative half-width of the load.
    tolerance: f64,
    /// Whether the server admits every request.
    unlimited: bool,
    progress: &'a mut dyn FnMut(LoadTrial),
    /// Number of trials so far.
    trials: u32,
}

/// Result of a trial with one think time.
#[derive(Clone, Copy)]
struct Trial {
    think: f64,
    /// Measured cycle minus the required cycle, seconds.
    excess: f64,
    /// Relative half-width of the measured load.
    tolerance: f64,
}

/// A think time with the required cycle, as far as the trials show.
#[derive(Clone, Copy)]
struct Root {
    think: f64,
    /// The increase of the cycle per second of think time.
    slope: f64,
    /// Relative half-width of the load.
    tolerance: f64,
}

impl Search<'_> {
    fn think(&mut self, load: f64) -> Result<f64, InvalidValue> {
        if self.closed.mean_think() == 0.0 {
            return Err(InvalidValue::new(
                "the load of a closed system needs a think time to adjust; add for example think = { exponential = \"1s\" }",
            ));
        }
        let most = self.cycle - self.least;
        if load >= 1.0 || most <= 0.0 {
            return Err(InvalidValue::new(format!(
                "{} users cannot produce a load of {load}, even without think time; use a lower load or more users",
                self.closed.users()
            )));
        }
        // At think time 0 the cycle is shorter than required, at `most` it is longer: N users, think time Z, cycle N/X
        // = Z + E[T].
        let mut jobs = MIN_TRIAL_JOBS;
        let mut found = self.root(most, jobs)?;
        while found.tolerance > self.tolerance && jobs < MAX_TRIAL_JOBS {
            let more = (1.2 * (found.tolerance / self.tolerance).powi(2)).clamp(1.5, MAX_GROWTH);
            jobs = ((jobs as f64 * more) as u64).min(MAX_TRIAL_JOBS);
            found = self.refined(found, jobs)?;
        }
        Ok(found.think)
    }

    /// Newton's method, starting at the root of shorter trials. One trial is enough if that root is close, as it
    /// usually is.
    fn refined(&mut self, near: Root, jobs: u64) -> Result<Root, InvalidValue> {
        let Root { mut think, mut slope, .. } = near;
        let mut before: Option<Trial> = None;
        for _ in 0..4 {
            let trial = self.trial(think, jobs)?;
            if let Some(before) = before.filter(|before| (before.think - think).abs() > 1e-4 * self.cycle) {
                slope = ((trial.excess - before.excess) / (think - before.think)).clamp(0.05, 1.0);
            }
            think = (think - trial.excess / slope).clamp(0.0, self.cycle);
            // Longer trials follow while the load is not precise enough, and correct the rest.
            if trial.excess.abs() < CORRECTABLE * trial.tolerance.max(self.tolerance) * self.cycle {
                return Ok(Root { think, slope, tolerance: trial.tolerance });
            }
            before = Some(trial);
        }
        self.root(think, jobs)
    }

    fn trial(&mut self, think: f64, jobs: u64) -> Result<Trial, InvalidValue> {
        let closed = self.closed.with_mean_think(think)?;
        let users = closed.users();
        let trial = self.workload.clone().with_sessions(Sessions::Closed(closed))?;
        // Each user must complete several cycles before the rate is meaningful.
        let answer = simulate(&trial, Stop::Jobs(jobs.max(20 * users)), None)?;
        if answer.summary.jobs_needed.is_some() {
            let completed = answer.summary.jobs;
            return Err(InvalidValue::new(format!("only {completed} requests completed, too few to measure a load")));
        }
        // The load can be estimated by the busy time, by the rate times the mean demand, or by the response and Little's
        // law, N = X (Z + R). The busy time is the most precise with few users, because it cancels the randomness of the
        // demands. The response is the most precise with many users, because the mean think time is known and need not be
        // measured.
        let by_rate = times(answer.summary.throughput, self.bottleneck);
        let most = users as f64 * self.bottleneck;
        let response = answer.summary.littles_law_response;
        let is_known = self.workload.flows().is_none() && self.unlimited && response.low.is_finite();
        let by_response = is_known.then(|| Estimate {
            value: most / (think + response.value),
            low: most / (think + response.high),
            high: most / (think + response.low),
        });
        let tolerance = |load: &Estimate| load.half_width() / load.value;
        let loads = [Some(answer.load_reached), Some(by_rate), by_response];
        let load = loads.into_iter().flatten().min_by(|a, b| tolerance(a).total_cmp(&tolerance(b)));
        let load = load.expect("there are two estimates at least");
        self.trials += 1;
        (self.progress)(LoadTrial {
            number: self.trials,
            requests: answer.summary.jobs,
            think_s: think,
            load: load.value,
            half_width: load.half_width(),
        });
        Ok(Trial { think, excess: most / load.value - self.cycle, tolerance: tolerance(&load) })
    }

    /// The root of the excess near `guess`, by secant steps inside a bracket (the Illinois rule), with a precision of
    /// half the error of a trial. Common random numbers make the excess nearly deterministic.
    fn root(&mut self, guess: f64, jobs: u64) -> Result<Root, InvalidValue> {
        let mut low = Trial { think: 0.0, excess: self.least - self.cycle, tolerance: f64::INFINITY };
        let mut high = self.trial(guess, jobs)?;
        // The excess hardly changes where a few rare think times hold most of the mean and a trial may miss them;
        // therefore steps double.
        let mut step = 1e-3 * self.cycle;
        while high.excess < 0.0 && high.think < self.cycle {
            low = high;
            high = self.trial((high.think + step.max(-1.5 * high.excess)).min(self.cycle), jobs)?;
            step *= 2.0;
        }
        let cycle = self.cycle;
        let is_root = |trial: &Trial| trial.excess.abs() < (0.5 * trial.tolerance).clamp(3e-4, 0.05) * cycle;
        let mut slope = 1.0;
        // Weights of the two ends in the next step; an end that stays is halved.
        let (mut of_low, mut of_high) = (low.excess, high.excess);
        for _ in 0..30 {
            if high.think - low.think > 1e-3 * cycle {
                slope = ((high.excess - low.excess) / (high.think - low.think)).clamp(0.05, 1.0);
            }
            if is_root(&high) || high.think - low.think < 1e-5 * cycle {
                break;
            }
            let middle = self.trial((low.think * of_high - high.think * of_low) / (of_high - of_low), jobs)?;
            if is_root(&middle) {
                high = middle;
                break;
            }
            if middle.excess < 0.0 {
                (low, of_low) = (middle, middle.excess);
                of_high /= 2.0;
            } else {
                (high, of_high) = (middle, middle.excess);
                of_low /= 2.0;
            }
        }
        Ok(Root { think: (high.think - high.excess / slope).clamp(0.0, cycle), slope, tolerance: high.tolerance })
    }
}
