//! The twin of a run: a simulation of the same requests (same workload and seed) at the server that the workload
//! models.

use std::ops::ControlFlow;

use offered_base::{Instant, Nanos, Seed};
use offered_events::Recording;
use offered_schedule::{After, Launch};
use offered_simulate::drive::SimulationObserver;
use offered_simulate::{Job, interval_requirements, simulate_with};
use offered_store::{EndCondition, RunKind, RunRecord};
use offered_verify::{PairSampler, SimulatedRequest, Twin, Window};
use offered_workload::Workload;

use crate::Error;

/// Compares the requests of a run of `workload` with a simulation of the same requests. The simulation includes the requests of all
/// workers, even those that are missing in `recording`.
///
/// # Errors
/// The workload models no server that can be simulated, the run is a simulation that was scaled to a load, or the recording can no longer be
/// read.
pub fn compare(
    workload: &Workload,
    record: Option<&RunRecord>,
    recording: &Recording,
    window: &Window,
) -> Result<Twin, Error> {
    if record.is_some_and(|record| record.load.is_some()) {
        return Err(Error::TwinAtLoad);
    }
    // The requests follow from the seed of the run, even if another workload models the server.
    let seed = record.and_then(|record| record.seed).map_or(workload.seed(), Seed);
    let mut workload = workload.clone().with_seed(seed);
    let launches = recording.events.launches();
    let mut left = u64::MAX;
    if record.is_some_and(|record| record.end_condition == EndCondition::Responses) {
        // A simulation that ended after a number of responses, whatever the duration.
        workload = workload.with_count(None)?.with_duration(Nanos::MAX)?;
        left = launches;
    }
    let sampler = PairSampler::of(launches);
    // Labels of a recording are numbered in order of appearance.
    let number = |name: &String| recording.labels.iter().position(|label| label == name);
    let labels = workload.labels().iter().map(|name| number(name).map_or(u16::MAX, |at| at as u16)).collect();
    let mut observer = Counterparts { sampler, left, labels, requests: Vec::new() };
    let model = simulate_with(&workload, &mut observer)?;
    let twin = Twin::of(recording, window, sampler, model, observer.requests)?;
    Ok(twin.with_requirements(&interval_requirements(&workload).unwrap_or_default()))
}

/// [`compare`] for a measured run, if its workload models a server that can be simulated; otherwise `None`.
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

/// Collects the simulated requests that are compared.
struct Counterparts {
    sampler: PairSampler,
    /// The number of responses after which the simulation ends.
    left: u64,
    /// The index of each request of the workload in the labels of the recording.
    labels: Vec<u16>,
    requests: Vec<SimulatedRequest>,
}

impl Counterparts {
    fn collect(&mut self, launch: Launch, label: u16, response: Option<Nanos>) {
        let Launch { session, step, intended, .. } = launch;
        if self.sampler.includes(session, step) {
            let label = self.labels[usize::from(label)];
            self.requests.push(SimulatedRequest { session, step, label, intended, response });
        }
    }
}

impl SimulationObserver for Counterparts {
    fn arrived(&mut self, _: Instant) {}

    fn rejected(&mut self, launch: Launch, class: u16, _: After) {
        self.collect(launch, class, None);
    }

    fn completed(&mut self, now: Instant, launch: Launch, job: &Job, _: After) -> ControlFlow<()> {
        self.collect(launch, job.class, Some(launch.intended.until(now)));
        self.left -= 1;
        if self.left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
