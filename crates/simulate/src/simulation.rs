//! One simulation: a workload in, figures with their intervals and their doubts out.

use offered_model::workload::Sessions;
use offered_model::{Agenda, Instant, Nanos, Share, Workload, Wrong};
use offered_stats::steady_state::Estimate;

use crate::Doubt;
use crate::discipline::Discipline;
use crate::drive::{Both, Demands, Served, Sink, drive};
use crate::modelled::Modelled;
use crate::policy::Use;
use crate::statistics::{Counted, Statistics, Summary, WarmUp};

/// When a simulation has seen enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stop {
    /// At the end of the workload's duration; what `skip_first` and `skip_last` name is left out.
    Duration,
    /// After so many completions (those after `skip_first`), whatever the duration.
    Jobs(u64),
    /// When the 95 % interval of the mean response is within this fraction of it, whatever the duration; what `skip_first` names
    /// is left out.
    Precision(f64),
}

/// A run for a precision starts with so many jobs, and gives up after so many.
const FIRST_JOBS: u64 = 100_000;
const MAX_JOBS: u64 = 2_000_000_000;

/// What a simulation found.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// `open`, `closed` or `partly-open`.
    pub model: &'static str,
    /// The policy, as it is written.
    pub discipline: String,
    /// The offered load, where the workload fixes it: not in a closed system.
    pub load: Option<f64>,
    /// The load reached: utilisation, or of a server for everybody the work in progress.
    pub load_reached: Estimate,
    /// N of a closed system.
    pub users: Option<u64>,
    /// Mean requests per session, of a partly-open one.
    pub session_length: Option<f64>,
    /// Mean think time in seconds.
    pub think: Option<f64>,
    /// C2 of the work of a request.
    pub scv: f64,
    /// The law of work, as it is written: mean and scv alone do not fix it.
    pub service: String,
    /// The names of the requests: of the classes of the figures.
    pub labels: Vec<String>,
    /// The figures.
    pub summary: Summary,
    /// The age of the oldest job left unfinished, and the mean age, in seconds.
    pub ages: Option<(f64, f64)>,
    /// What to doubt, and what to do about it.
    pub warnings: Vec<Doubt>,
}

/// Simulates `workload` until `stop`, while `also` looks on.
///
/// # Errors
/// A workload that cannot be simulated: no server, an open system with load 1 or more and room for everybody, or a run too
/// short for any statistics.
pub fn simulate(workload: &Workload, stop: Stop, also: Option<&mut dyn Sink>) -> Result<Simulated, Wrong> {
    let demands = Demands::new(workload)?;
    let modelled = Modelled::new(workload, &demands)?;
    let load = offered_load(workload, &modelled, &demands);
    if let Some(load) = load.filter(|load| *load >= 1.0 && modelled.room().is_none()) {
        return Err(Wrong::new(format!(
            "the load is {load:.3}, and at 1 or more an open system's queue grows without end; lower the rate, add servers, or give the server a room"
        )));
    }
    let endless = match stop {
        Stop::Duration => workload.clone(),
        _ => workload.clone().with_count(None)?.with_duration(Nanos::MAX)?,
    };
    let run = Run { workload: &endless, demands: &demands, modelled: &modelled, stop, also };
    let (summary, ages) = modelled.make(run)??;
    let load_reached = match modelled.counted_servers() {
        Some(_) => summary.utilisation,
        None => times(summary.throughput, modelled.bottleneck(&demands).unwrap_or(demands.mean())),
    };
    let (model, users, session_length, think) = match workload.sessions() {
        Sessions::Open(_) => ("open", None, None, None),
        Sessions::Replay(_) => ("replay", None, None, None),
        Sessions::Closed(closed) => ("closed", Some(closed.users()), None, workload.mean_think()),
        Sessions::PartlyOpen { length, .. } => ("partly-open", None, Some(length.mean()), workload.mean_think()),
    };
    let mut answer = Simulated {
        model,
        discipline: modelled.policy.to_string(),
        load,
        load_reached,
        users,
        session_length,
        think,
        scv: demands.scv(),
        service: demands.laws_as_text(),
        labels: workload.labels(),
        summary,
        ages,
        warnings: Vec::new(),
    };
    answer.warnings = crate::doubts::of(&answer, stop);
    Ok(answer)
}

/// Plays `workload` from its beginning until `sink` has seen enough, or nothing is left of it, at whatever load: for who keeps his
/// own accounts. Answers what the model is called: its system and policy.
///
/// # Errors
/// A workload without a server that can be simulated.
pub fn play<S: Sink>(workload: &Workload, sink: &mut S) -> Result<String, Wrong> {
    let demands = Demands::new(workload)?;
    let modelled = Modelled::new(workload, &demands)?;
    modelled.make(Play { workload, demands: &demands, room: modelled.room(), sink })?;
    Ok(format!("{}, {}", workload.sessions().system().name(), modelled.policy))
}

/// What [`play`] does with the discipline.
struct Play<'a, S> {
    workload: &'a Workload,
    demands: &'a Demands,
    room: Option<u32>,
    sink: &'a mut S,
}

impl<S: Sink> Use for Play<'_, S> {
    type Out = ();

    fn with<D: Discipline + Send + 'static>(self, discipline: D) {
        let mut agenda = Agenda::new(self.workload, Share::ALL);
        drive(&mut agenda, &mut Served::new(discipline, self.room), self.demands, self.sink);
    }
}

/// The load that an open or partly-open workload offers to its busiest station, per server.
pub(crate) fn offered_load(workload: &Workload, modelled: &Modelled, demands: &Demands) -> Option<f64> {
    Some(workload.asked_rate()? * modelled.bottleneck(demands)?)
}

pub(crate) fn times(estimate: Estimate, by: f64) -> Estimate {
    Estimate { value: estimate.value * by, low: estimate.low * by, high: estimate.high * by }
}

/// What [`Modelled::make`] does with the discipline: runs it.
struct Run<'a, 's> {
    workload: &'a Workload,
    demands: &'a Demands,
    modelled: &'a Modelled,
    stop: Stop,
    also: Option<&'s mut dyn Sink>,
}

type Ages = Option<(f64, f64)>;

impl Use for Run<'_, '_> {
    type Out = Result<(Summary, Ages), Wrong>;

    fn with<D: Discipline + Send + 'static>(self, discipline: D) -> Self::Out {
        let Self { workload, demands, modelled, stop, mut also } = self;
        let mut agenda = Agenda::new(workload, Share::ALL);
        let mut served = Served::new(discipline, modelled.room());
        let counted = workload.counted();
        let until = match stop {
            Stop::Duration => counted.end,
            Stop::Jobs(_) | Stop::Precision(_) => Instant::MAX,
        };
        let warm_up = if counted.start > Instant::ZERO { WarmUp::Fixed } else { WarmUp::Mser };
        let enough = match stop {
            Stop::Duration => u64::MAX,
            Stop::Jobs(jobs) => jobs,
            Stop::Precision(_) => FIRST_JOBS,
        };
        let counted = Counted {
            servers: modelled.counted_servers().unwrap_or(1),
            classes: workload.requests().len(),
            sessions: workload.sessions().end(),
            from: counted.start,
            until,
        };
        let mut statistics = Statistics::new(counted, enough);
        loop {
            let before = statistics.completed();
            let other = also.as_mut().map(|also| &mut **also as &mut dyn Sink);
            drive(&mut agenda, &mut served, demands, &mut Both { one: &mut statistics, other });
            if workload.count().is_some() {
                // Nothing comes after the last of a count.
                statistics.end_here();
            }
            let summary = statistics.summary(warm_up);
            let precise = match (stop, &summary) {
                (Stop::Precision(wanted), Some(summary)) => summary.response.mean.relative() <= wanted,
                (Stop::Precision(_), None) => false,
                (Stop::Duration | Stop::Jobs(_), _) => true,
            };
            let completed = statistics.completed();
            if precise || completed >= MAX_JOBS || completed == before {
                let summary = summary.ok_or_else(|| {
                    Wrong::new(format!(
                        "only {completed} requests were answered in the time that counts, too few for an interval; simulate longer"
                    ))
                })?;
                let now = statistics.now();
                if let Some(also) = also {
                    served.unfinished().for_each(|(launch, class)| also.cut(now, launch, class));
                }
                return Ok((summary, ages(&served, now)));
            }
            statistics.go_on_until(completed + completed / 2);
        }
    }
}

/// The largest and the mean time since arrival of the jobs inside, in seconds.
fn ages<D: Discipline>(served: &Served<D>, now: Instant) -> Ages {
    let ages: Vec<f64> = served.unfinished().map(|(launch, _)| (now - launch.intended).as_secs_f64()).collect();
    let oldest = ages.iter().copied().reduce(f64::max)?;
    Some((oldest, ages.iter().sum::<f64>() / ages.len() as f64))
}
