//! A simulation of one point: brought to its load, and run on the virtual clock.

use std::path::Path;

use offered_schedule::Sessions;
use offered_base::Wrong;
use offered_workload::Workload;
use offered_plan::analytic::{self, System};
use offered_simulate::load::{DEFAULT_TOLERANCE, at_load};
use offered_simulate::{SimulationResult, Stop, simulate};

use crate::recorded_simulation::simulate_into;
use crate::{Error, Point};

/// What the modelled server of `point` makes of its workload, at `load` unless the point has one of its own.
///
/// # Errors
/// What the simulator refuses.
pub fn simulate_point(point: &Point, load: Option<f64>, stop: Stop) -> Result<SimulationResult, Error> {
    let answer = at(point, load).and_then(|workload| simulate(&workload, stop, None));
    answer.map_err(|wrong| Error::at(point.name())(wrong.into()))
}

/// The same, every launch of it being kept as an event in the new directory `out`.
///
/// # Errors
/// `out` cannot be made or written to, and what the simulator refuses.
pub fn simulate_point_into(point: &Point, load: Option<f64>, stop: Stop, out: &Path) -> Result<SimulationResult, Error> {
    simulate_into(&point.text, &at(point, load)?, load, stop, out)
}

/// The workload of a point, at the load it asks for: with the think time that a formula says of closed users, where there is one.
fn at(point: &Point, load: Option<f64>) -> Result<Workload, Wrong> {
    let workload = &point.workload;
    let Some(load) = point.load.or(load) else { return Ok(workload.clone()) };
    let by_flows = workload.flows().is_some_and(|flows| flows.thinks());
    match (workload.sessions(), answer_at(workload, load)) {
        (Sessions::Closed(closed), Some(System::Closed { think, .. })) if closed.mean_think() > 0.0 && !by_flows => {
            workload.clone().with_sessions(Sessions::Closed(closed.with_mean_think(think)?))
        }
        _ => at_load(workload, load, DEFAULT_TOLERANCE),
    }
}

/// The system that has this load, where a formula knows.
fn answer_at(workload: &Workload, load: f64) -> Option<System> {
    let answer = analytic::analyse(workload, Some(load)).ok()?;
    answer.steady_state.and(answer.system)
}
