//! Simulating one point of a grid, at its load.

use std::path::Path;

use offered_base::InvalidValue;
use offered_plan::analytic::{self, System};
use offered_schedule::Sessions;
use offered_simulate::load::{DEFAULT_TOLERANCE, LoadTrial, at_any_load, at_load};
use offered_simulate::{SimulationResult, Stop, simulate};
use offered_workload::Workload;

use crate::document::simulate::Simulated;
use crate::recorded_simulation::simulate_into;
use crate::vary::with_load_of;
use crate::{Error, Point, WorkloadSource};

/// Simulates `point` as a cell of a grid, at `load` unless the point has its own load. A cell with nothing to measure is a result.
///
/// # Errors
/// The workload cannot be simulated.
pub fn simulate_cell(point: &Point, load: Option<f64>, stop: Stop) -> Result<Simulated, Error> {
    match simulate_point(point, load, stop, &mut |_| ()) {
        Ok(result) => Ok(Ok(result)),
        Err(error) => error.unmeasurable().cloned().map(Err).ok_or(error),
    }
}

/// Simulates `point`, at `load` unless the point has its own load. `progress` receives the trials of a search for the load.
///
/// # Errors
/// The workload cannot be simulated.
pub fn simulate_point(
    point: &Point,
    load: Option<f64>,
    stop: Stop,
    progress: &mut dyn FnMut(LoadTrial),
) -> Result<SimulationResult, Error> {
    let answer = workload_at_load(point, load, progress).and_then(|workload| Ok(simulate(&workload, stop, None)?));
    answer.map_err(Error::at(point.name()))
}

/// Simulates `point`, and records every request as an event in the new run directory `out`. `progress` receives the trials of a search for the
/// load.
///
/// # Errors
/// `out` cannot be created or written, or the workload cannot be simulated.
pub fn simulate_point_into(
    point: &Point,
    load: Option<f64>,
    stop: Stop,
    out: &Path,
    progress: &mut dyn FnMut(LoadTrial),
) -> Result<SimulationResult, Error> {
    simulate_into(&point.text, &workload_at_load(point, load, progress)?, load, stop, out)
}

/// The point with the rate or think time of its load in its text, so that it can be run, and why a simulation of it has nothing to measure. The
/// load is that of the modelled server.
///
/// # Errors
/// The workload has no server, or cannot have the load.
pub(crate) fn with_load(
    input: &WorkloadSource,
    point: Point,
    progress: &mut dyn FnMut(LoadTrial),
) -> Result<(Point, Option<offered_simulate::Error>), Error> {
    let Some(load) = point.load else { return Ok((point, None)) };
    let name = point.name();
    let found = match workload_at_load(&point, None, progress) {
        Err(error) if error.unmeasurable().is_some() => {
            let reason = error.unmeasurable().cloned();
            at_any_load(&point.workload, load, DEFAULT_TOLERANCE, progress).map(|at| (at, reason)).map_err(Error::from)
        }
        at => at.map(|at| (at, None)),
    };
    let found = found.and_then(|(at, reason)| {
        let text = with_load_of(&point.text, &at).map_err(InvalidValue::new)?;
        Ok((input.parse_with_files(&text)?, reason))
    });
    let ((text, workload), reason) = found.map_err(Error::at(name))?;
    Ok((Point { text, workload, load: None, ..point }, reason))
}

/// The workload of a point at its load.
fn workload_at_load(point: &Point, load: Option<f64>, progress: &mut dyn FnMut(LoadTrial)) -> Result<Workload, Error> {
    match point.load.or(load) {
        Some(load) => at_equal_load(&point.workload, load, DEFAULT_TOLERANCE, progress),
        None => Ok(point.workload.clone()),
    }
}

/// `workload` at this load. The think time of closed users comes from a formula, if there is one; else from a search with this relative
/// tolerance of the load.
///
/// # Errors
/// The workload cannot have this load.
pub(crate) fn at_equal_load(
    workload: &Workload,
    load: f64,
    tolerance: f64,
    progress: &mut dyn FnMut(LoadTrial),
) -> Result<Workload, Error> {
    let by_flows = workload.flows().is_some_and(|flows| flows.thinks());
    if let Sessions::Closed(closed) = workload.sessions()
        && closed.mean_think() > 0.0
        && !by_flows
        && let Some(System::Closed { think, .. }) = system_at_load(workload, load)
    {
        return Ok(workload.clone().with_sessions(Sessions::Closed(closed.with_mean_think(think)?))?);
    }
    Ok(at_load(workload, load, tolerance, progress)?)
}

/// The system with this load, if there is a formula.
fn system_at_load(workload: &Workload, load: f64) -> Option<System> {
    let answer = analytic::analyse(workload, Some(load)).ok()?;
    answer.steady_state.filter(|known| !known.is_approximation).and(answer.system)
}
