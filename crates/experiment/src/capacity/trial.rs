//! One trial: a run or a simulation of the workload at one value, with a seed of its own.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offered_model::{Event, Objective, Recording};
use offered_simulate::load::overloaded;
use offered_simulate::{Stop, simulate};
use offered_verify::{Ask, Judgement, Measured, Verdict, verify};

use crate::record::Memory;
use crate::run::{Made, Plan};
use crate::{Error, Observer, Point};

/// What never came back took longer than any bound, and still has a mean with what did.
const NEVER: f64 = 1e9;
/// With fewer values beyond it a percentile of a trial is mostly luck.
const BEYOND: f64 = 5.0;

/// What came of a trial.
pub(super) enum Trial {
    /// The figures of the objective, in its order.
    Figures { figures: Vec<f64>, warning: Option<String> },
    /// The run must not be believed, and why.
    Doubtful(String),
    /// A simulation whose queue would grow without end.
    Overloaded,
}

impl Trial {
    /// Simulates one.
    pub(super) fn simulated(point: &Point, objective: &Objective) -> Result<Self, Error> {
        let workload = &point.workload;
        let wrong = |wrong: offered_model::Wrong| Error::at(point.name())(wrong.into());
        if overloaded(workload).map_err(wrong)? {
            return Ok(Self::Overloaded);
        }
        let mut events = Memory::default();
        simulate(workload, Stop::Duration, &mut events).map_err(wrong)?;
        let recording = Recording::of_run(events.0, workload.labels());
        let verdict = verify(&recording, &Ask { path: point.name(), ..Ask::of(workload, 1.0) });
        Self::of(point, objective, &recording, &verdict)
    }

    /// Runs one.
    pub(super) fn run(
        point: &Point,
        objective: &Objective,
        stop: &Arc<AtomicBool>,
        observer: &mut dyn Observer,
    ) -> Result<Self, Error> {
        let made = Plan::of(point, None).prepare(stop.clone())?.run(observer.views())?;
        let Made { summary, verdict, recording, done, .. } = made;
        if let Some(halted) = done.halted {
            return Err(Error::Halted(halted.why));
        }
        if done.stopped {
            return Err(Error::Stopped);
        }
        if !summary.believable() {
            return Ok(Self::Doubtful(verdict.because));
        }
        Self::of(point, objective, &recording, &verdict)
    }

    /// The figures of a trial that may be believed.
    fn of(point: &Point, objective: &Objective, recording: &Recording, verdict: &Verdict) -> Result<Self, Error> {
        let workload = &point.workload;
        let measured = Measured::new(recording, verdict, workload.counted());
        let figures = objective.thresholds().iter().map(|threshold| {
            let figure = measured.estimate(&threshold.metric).map(|figure| figure.value.min(NEVER));
            figure.ok_or_else(|| Error::at(point.name())(Error::NothingToMeasure(threshold.metric.to_string())))
        });
        let doubt = (verdict.judgement == Judgement::HoldsWithDoubt)
            .then(|| format!("a trial holds with a doubt: {}", verdict.because));
        let warning = too_short(objective, &measured).or(doubt);
        Ok(Self::Figures { figures: figures.collect::<Result<_, _>>()?, warning })
    }
}

/// The warning of a trial too short for the percentiles asked of it.
fn too_short(objective: &Objective, measured: &Measured) -> Option<String> {
    objective.thresholds().iter().find_map(|threshold| {
        let p = threshold.metric.quantity.percentile()?;
        let n = measured.waits(Event::response, None).all.len();
        let beyond = n as f64 * (1.0 - p / 100.0);
        (beyond < BEYOND).then(|| {
            format!(
                "a trial has only {n} answers, so that {} rests on {beyond:.0} of them; make the trials longer (duration)",
                threshold.metric
            )
        })
    })
}
