//! The twin of a run: its own workload and seed on the virtual clock, answered by the server that the workload models.

use std::ops::ControlFlow;

use offered_base::{Instant, Nanos, Seed};
use offered_events::Recording;
use offered_schedule::{After, Launch};
use offered_workload::Workload;
use offered_simulate::drive::SimulationObserver;
use offered_simulate::{Job, simulate_with};
use offered_store::{RunKind, RunRecord, EndCondition};
use offered_verify::{SimulatedRequest, PairSampler, Twin, Window};

use crate::Error;

/// The launches of a run of `workload`, made as `record` says, beside what the workload's modelled server makes of the same. All
/// workers of a run are taken to have been there, also those whose launches `recording` does not hold.
///
/// # Errors
/// The workload models no server, or none that can be simulated; the run is a simulation that was brought to a load; the recording
/// can no longer be read.
pub fn compare(
    workload: &Workload,
    record: Option<&RunRecord>,
    recording: &Recording,
    window: &Window,
) -> Result<Twin, Error> {
    if record.is_some_and(|record| record.load.is_some()) {
        return Err(Error::TwinAtLoad);
    }
    // What was launched followed from the seed of the run, whoever models the server now.
    let seed = record.and_then(|record| record.seed).map_or(workload.seed(), Seed);
    let mut workload = workload.clone().with_seed(seed);
    let launches = recording.events.launches();
    let mut left = u64::MAX;
    if record.is_some_and(|record| record.end_condition == EndCondition::Responses) {
        // A simulation that ended when it had seen enough, whatever the duration.
        workload = workload.with_count(None)?.with_duration(Nanos::MAX)?;
        left = launches;
    }
    let sieve = PairSampler::of(launches);
    // Those of a recording are numbered as they came.
    let number = |name: &String| recording.labels.iter().position(|label| label == name);
    let labels = workload.labels().iter().map(|name| number(name).map_or(u16::MAX, |at| at as u16)).collect();
    let mut kept = Kept { sieve, left, labels, counterparts: Vec::new() };
    let model = simulate_with(&workload, &mut kept)?;
    Ok(Twin::of(recording, window, sieve, model, kept.counterparts)?)
}

/// The same of a run on the real clock whose workload models a server that can be simulated; `None` of any other.
///
/// # Errors
/// The recording can no longer be read.
pub fn compare_measured(
    workload: &Workload,
    record: Option<&RunRecord>,
    recording: &Recording,
    window: &Window,
) -> Result<Option<Twin>, Error> {
    let measured = record.is_none_or(|record| record.kind == RunKind::Run);
    if !measured || workload.server().is_none() && workload.stations().is_empty() {
        return Ok(None);
    }
    match compare(workload, record, recording, window) {
        Ok(twin) => Ok(Some(twin)),
        Err(Error::Refused(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Keeps what the model makes of the launches that are compared.
struct Kept {
    sieve: PairSampler,
    /// After so many answers it has seen enough.
    left: u64,
    /// The numbers of the workload's requests among the labels of the recording.
    labels: Vec<u16>,
    counterparts: Vec<SimulatedRequest>,
}

impl Kept {
    fn keep(&mut self, launch: Launch, label: u16, response: Option<Nanos>) {
        let Launch { session, step, intended, .. } = launch;
        if self.sieve.includes(session, step) {
            let label = self.labels[usize::from(label)];
            self.counterparts.push(SimulatedRequest { session, step, label, intended, response });
        }
    }
}

impl SimulationObserver for Kept {
    fn arrived(&mut self, _: Instant) {}

    fn rejected(&mut self, launch: Launch, class: u16, _: After) {
        self.keep(launch, class, None);
    }

    fn completed(&mut self, now: Instant, launch: Launch, job: &Job, _: After) -> ControlFlow<()> {
        self.keep(launch, job.class, Some(launch.intended.until(now)));
        self.left -= 1;
        if self.left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
