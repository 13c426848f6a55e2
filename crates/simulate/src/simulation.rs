//! Runs one simulation: from a workload to metrics with intervals and warnings.

use offered_base::{Instant, InvalidValue, Nanos, Share};
use offered_schedule::{Launch, Sessions, System};
use offered_stats::queue::QueueCorrelation;
use offered_stats::requirements::IntervalRequirements;
use offered_stats::steady_state::Estimate;
use offered_workload::Workload;

use crate::Error;
use crate::attempts::{AttemptFigures, Attempts};
use crate::discipline::Discipline;
use crate::drive::{ServiceDemands, SimulatedServer, SimulationObserver, drive};
use crate::modelled_server::ModelledServer;
use crate::observers::Observers;
use crate::policy::DisciplineVisitor;
use crate::requirements::{self, MeanInterval};
use crate::result::SimulationResult;
use crate::statistics::{Statistics, StatisticsConfig, Summary, WarmUp};
use crate::stop::Stop;

/// Number of jobs after which a run with [`Stop::Precision`] first checks its precision.
const FIRST_JOBS: u64 = 100_000;
/// Number of jobs after which a run with [`Stop::Precision`] gives up.
const MAX_JOBS: u64 = 2_000_000_000;

/// Simulates `workload` until `stop`. `also` observes every event.
///
/// # Errors
/// The workload cannot be simulated: it has no server, it is an open system with load 1 or more and unlimited capacity, or
/// no request completed. With too few completions for intervals, the result has no intervals.
pub fn simulate(
    workload: &Workload,
    stop: Stop,
    also: Option<&mut dyn SimulationObserver>,
) -> Result<SimulationResult, Error> {
    let demands = ServiceDemands::new(workload)?;
    let modelled = ModelledServer::new(workload, &demands)?;
    if let Some(error) = modelled.instability(workload, &demands, stop)? {
        return Err(error);
    }
    let endless = match stop {
        Stop::Duration => workload.clone(),
        _ => workload.clone().with_count(None)?.with_duration(Nanos::MAX)?,
    };
    let requirements = requirements::of(workload, &modelled, &demands);
    let run =
        Run { workload: &endless, demands: &demands, modelled: &modelled, requirements: &requirements, stop, also };
    let (mut summary, ages, attempts) = modelled.build(run)??;
    let mean_interval = MeanInterval::of(&requirements, summary.jobs);
    // A sample's warnings are judged by its own figures.
    let little = if modelled.rejects_inside() {
        // These requests are in the system, and have no response.
        1.0
    } else {
        summary.littles_law_response.value / summary.response.mean.value
    };
    if mean_interval != MeanInterval::Exists {
        summary.remove_mean_intervals(mean_interval == MeanInterval::InfiniteMean);
    }
    let for_mean = requirements.queue.map_or(0, QueueCorrelation::needed_for_mean);
    summary.jobs_needed = summary.jobs_needed.map(|needed| needed.max(for_mean));
    let load_reached = match modelled.counted_servers() {
        Some(_) if attempts.is_some() => {
            let value = attempts.and_then(|attempts| attempts.utilisation).unwrap_or_default();
            Estimate { value, low: f64::NEG_INFINITY, high: f64::INFINITY }
        }
        Some(_) => summary.utilisation,
        None => times(summary.throughput, modelled.bottleneck(&demands).unwrap_or(demands.mean())),
    };
    let (model, users, session_length, think) = match workload.sessions() {
        Sessions::Open(_) => ("open", None, None, None),
        Sessions::Replay(_) => ("replay", None, None, None),
        Sessions::Scenarios(_) => ("scenarios", None, None, None),
        Sessions::Closed(closed) => ("closed", Some(closed.users()), None, workload.mean_think()),
        Sessions::PartlyOpen { length, .. } => ("partly-open", None, Some(length.mean()), workload.mean_think()),
    };
    let mut answer = SimulationResult {
        model,
        discipline: modelled.disciplines_as_text(),
        load: modelled.offered_load(workload, &demands),
        load_reached,
        users,
        session_length,
        think,
        scv: demands.scv(),
        service: modelled.distributions_as_text(&demands),
        labels: workload.labels(),
        summary,
        ages,
        attempts,
        mean_interval,
        warnings: Vec::new(),
    };
    answer.warnings = crate::warnings::of(&answer, stop, little);
    Ok(answer)
}

/// Simulates `workload` from its beginning until `sink` stops it or no event is left, at any load. For callers that
/// compute their own statistics. Returns the system model and the policy, as text.
///
/// # Errors
/// The workload has no server that can be simulated.
pub fn simulate_with(workload: &Workload, sink: &mut dyn SimulationObserver) -> Result<String, InvalidValue> {
    let demands = ServiceDemands::new(workload)?;
    let modelled = ModelledServer::new(workload, &demands)?;
    modelled.build(Play { workload, demands: &demands, capacity: modelled.capacity(), sink })?;
    let model = workload.sessions().system().map_or("scenarios", System::name);
    Ok(format!("{model}, {}", modelled.disciplines_as_text()))
}

/// Drives the discipline of [`simulate_with`].
struct Play<'a> {
    workload: &'a Workload,
    demands: &'a ServiceDemands,
    capacity: Option<u32>,
    sink: &'a mut dyn SimulationObserver,
}

impl DisciplineVisitor for Play<'_> {
    type Output = ();

    fn visit<D: Discipline + Send + 'static>(self, discipline: D) {
        let mut agenda = self.workload.agenda(Share::ALL);
        let mut served = SimulatedServer::new(discipline, self.capacity);
        let mut sink = Observers { other: Some(self.sink), ..Observers::default() };
        match Attempts::new(self.workload, None) {
            None => drive(&mut agenda, &mut served, self.demands, &mut sink),
            Some(mut attempts) => attempts.drive(&mut agenda, &mut served, self.demands, &mut sink),
        }
    }
}

pub(crate) fn times(estimate: Estimate, by: f64) -> Estimate {
    Estimate { value: estimate.value * by, low: estimate.low * by, high: estimate.high * by }
}

/// Drives the discipline of [`simulate`].
struct Run<'a, 's> {
    workload: &'a Workload,
    demands: &'a ServiceDemands,
    modelled: &'a ModelledServer,
    requirements: &'a IntervalRequirements,
    stop: Stop,
    also: Option<&'s mut dyn SimulationObserver>,
}

type Ages = Option<(f64, f64)>;

impl DisciplineVisitor for Run<'_, '_> {
    type Output = Result<(Summary, Ages, Option<AttemptFigures>), Error>;

    fn visit<D: Discipline + Send + 'static>(self, discipline: D) -> Self::Output {
        let Self { workload, demands, modelled, requirements, stop, mut also } = self;
        let mut agenda = workload.agenda(Share::ALL);
        let mut served = SimulatedServer::new(discipline, modelled.capacity());
        let counted = workload.counted();
        let until = match stop {
            Stop::Duration => counted.end,
            Stop::Jobs(_) | Stop::Precision(_) => Instant::MAX,
        };
        let warm_up = if counted.start > Instant::ZERO { WarmUp::Fixed } else { WarmUp::Mser };
        let limit = match stop {
            Stop::Duration => u64::MAX,
            Stop::Jobs(jobs) => jobs,
            Stop::Precision(_) => FIRST_JOBS,
        };
        let counted = StatisticsConfig {
            servers: modelled.counted_servers().unwrap_or(1),
            classes: workload.requests().len(),
            sessions: workload.sessions().have_visits(),
            tokens: modelled.policy.engine().is_some(),
            goodput: workload.goodput(),
            from: counted.start,
            until,
            requirements: requirements.clone(),
        };
        let mut statistics = Statistics::new(counted, limit);
        let mut attempts = Attempts::new(workload, modelled.counted_servers());
        loop {
            let before = statistics.completed();
            let other = also.as_mut().map(|also| &mut **also as &mut dyn SimulationObserver);
            let mut sink = Observers { statistics: Some(&mut statistics), other };
            match &mut attempts {
                None => drive(&mut agenda, &mut served, demands, &mut sink),
                Some(attempts) => attempts.drive(&mut agenda, &mut served, demands, &mut sink),
            }
            if workload.count().is_some() {
                // A workload with a count has no arrivals after the last.
                statistics.end_now();
            }
            let summary = statistics.summary(warm_up);
            let precise = match (stop, &summary) {
                (Stop::Precision(wanted), Some(summary)) => summary.response.mean.relative() <= wanted,
                (Stop::Precision(_), None) => false,
                (Stop::Duration | Stop::Jobs(_), _) => true,
            };
            let completed = statistics.completed();
            if precise || completed >= MAX_JOBS || completed == before {
                let summary = summary.ok_or(Error::NothingCompleted)?;
                let now = statistics.now();
                let figures = attempts.as_ref().map(Attempts::figures);
                // Abandoned jobs are not requests.
                let unfinished: Vec<(Launch, u16)> = match &attempts {
                    None => served.unfinished().collect(),
                    Some(attempts) => {
                        attempts.unfinished().into_iter().map(|launch| demands.with_class(launch)).collect()
                    }
                };
                if let Some(also) = also {
                    for (launch, class) in &unfinished {
                        also.unfinished(now, *launch, *class);
                    }
                }
                return Ok((summary, ages(&unfinished, now), figures));
            }
            statistics.set_limit(completed + completed / 2);
        }
    }
}

/// Largest and mean time since arrival of the jobs in the system, seconds.
fn ages(unfinished: &[(Launch, u16)], now: Instant) -> Ages {
    let ages: Vec<f64> = unfinished.iter().map(|(launch, _)| (now - launch.intended).as_secs_f64()).collect();
    let oldest = ages.iter().copied().reduce(f64::max)?;
    Some((oldest, ages.iter().sum::<f64>() / ages.len() as f64))
}
