//! A simulation of one point: brought to its load, and run on the virtual clock.

use std::path::Path;

use offered_model::{Workload, Wrong};
use offered_simulate::{Simulated, Stop, load::at_load, simulate};

use crate::record::record;
use crate::{Error, Point};

/// What the modelled server of `point` makes of its workload, at `load` unless the point has one of its own.
///
/// # Errors
/// What the simulator refuses.
pub fn answer(point: &Point, load: Option<f64>, stop: Stop) -> Result<Simulated, Error> {
    let answer = at(point, load, stop).and_then(|workload| simulate(&workload, stop, None));
    answer.map_err(|wrong| Error::at(point.name())(wrong.into()))
}

/// The same, every launch of it being kept as an event in the new directory `out`.
///
/// # Errors
/// `out` cannot be made or written to, and what the simulator refuses.
pub fn recorded(point: &Point, load: Option<f64>, stop: Stop, out: &Path) -> Result<Simulated, Error> {
    record(&point.text, &at(point, load, stop)?, load, stop, out)
}

/// The workload of a point, at the load it asks for.
fn at(point: &Point, load: Option<f64>, stop: Stop) -> Result<Workload, Wrong> {
    // The think time of a closed system must be known at least as well as what is asked of the run.
    let most = if let Stop::Jobs(jobs) = stop { jobs } else { u64::MAX };
    match point.load.or(load) {
        Some(load) => at_load(&point.workload, load, most),
        None => Ok(point.workload.clone()),
    }
}
