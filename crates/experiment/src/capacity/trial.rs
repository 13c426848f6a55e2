//! One trial: a run or a simulation of the workload at one value, with a seed of its own.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offered_model::threshold::Metric;
use offered_model::{Event, Objective, Recording};
use offered_simulate::load::overloaded;
use offered_simulate::{Stop, simulate};
use offered_verify::{Ask, Check, Judgement, Measured, Verdict, verify};

use crate::record::Memory;
use crate::run::{Made, Plan};
use crate::{Error, Observer, Point};

/// What never came back took longer than any bound, and still has a mean with what did.
const NEVER: f64 = 1e9;
/// With fewer values beyond it a percentile of a trial is mostly luck.
const BEYOND: f64 = 5.0;

/// What to doubt of trials that may be believed.
#[derive(Clone, Debug, PartialEq)]
pub enum Doubt {
    /// A percentile rests on too few answers.
    TooShort {
        /// What is asked.
        metric: Metric,
        /// All answers of a trial.
        answers: u64,
        /// Those on which it rests.
        beyond: f64,
    },
    /// A trial holds with a doubt.
    Held {
        /// Why, as its verdict says.
        because: String,
    },
}

impl Doubt {
    /// In words, with what to do about it.
    pub fn words(&self) -> String {
        match self {
            Self::TooShort { metric, answers, beyond } => format!(
                "a trial has only {answers} answers, so that {metric} rests on {beyond:.0} of them; make the trials longer (duration)"
            ),
            Self::Held { because } => format!("a trial holds with a doubt: {because}"),
        }
    }
}

/// Why a run must not be believed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unbelieved {
    /// What failed.
    pub(super) failed: Vec<Check>,
    /// The verdict's reason.
    pub(super) because: String,
}

impl Unbelieved {
    fn of(verdict: &Verdict) -> Self {
        let failed = verdict.tests.iter().filter(|finding| finding.fails()).map(|finding| finding.check);
        Self { failed: failed.collect(), because: verdict.because.clone() }
    }
}

/// What came of a trial.
pub(super) enum Trial {
    /// The figures of the objective, in its order.
    Figures { figures: Vec<f64>, doubt: Option<Doubt> },
    /// The run must not be believed.
    Doubtful(Unbelieved),
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
        simulate(workload, Stop::Duration, Some(&mut events)).map_err(wrong)?;
        let recording = Recording::of_run(events.0, workload.labels());
        let verdict = verify(&recording, &Ask { path: point.name(), ..Ask::of(workload, 1.0) })?;
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
            return Ok(Self::Doubtful(Unbelieved::of(&verdict)));
        }
        Self::of(point, objective, &recording, &verdict)
    }

    /// The figures of a trial that may be believed.
    fn of(point: &Point, objective: &Objective, recording: &Recording, verdict: &Verdict) -> Result<Self, Error> {
        let workload = &point.workload;
        let measured = Measured::new(recording, &verdict.launches, &verdict.window, workload.counted());
        let measured = measured.with_pages(workload.pages());
        let figures = objective.thresholds().iter().map(|threshold| {
            let figure = measured.estimate(&threshold.metric)?.map(|figure| figure.value.min(NEVER));
            figure.ok_or_else(|| Error::at(point.name())(Error::NothingToMeasure(threshold.metric.to_string())))
        });
        let doubt =
            (verdict.judgement == Judgement::HoldsWithDoubt).then(|| Doubt::Held { because: verdict.because.clone() });
        let doubt = too_short(objective, &measured)?.or(doubt);
        Ok(Self::Figures { figures: figures.collect::<Result<_, _>>()?, doubt })
    }
}

/// The doubt about a trial too short for the percentiles asked of it.
fn too_short(objective: &Objective, measured: &Measured) -> Result<Option<Doubt>, Error> {
    let n = measured.waits(Event::response, None)?.len();
    Ok(objective.thresholds().iter().find_map(|threshold| {
        let p = threshold.metric.quantity.percentile()?;
        let beyond = n as f64 * (1.0 - p / 100.0);
        let metric = &threshold.metric;
        (beyond < BEYOND).then(|| Doubt::TooShort { metric: metric.clone(), answers: n, beyond })
    }))
}
