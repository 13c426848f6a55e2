//! The verdict on each scenario of a run: its events on its own clock, compared with its own load.

use std::io;
use std::sync::{Arc, OnceLock};

use offered_base::{Nanos, Share};
use offered_events::{Columns, Event, EventSource, Events, Extent, Recording};
use offered_schedule::Scenarios;

use crate::criteria::{Criteria, ScenarioCriteria};
use crate::own_schedule::OwnSchedule;
use crate::verdict::{Validity, Verdict};

/// The events of one scenario, with the session numbers and the clock of the scenario.
struct ScenarioEvents {
    events: Events,
    scenarios: Scenarios,
    number: usize,
}

impl EventSource for ScenarioEvents {
    fn scan(&self, columns: Columns, see: &mut dyn FnMut(&[Event])) -> io::Result<()> {
        // The session decides about the scenario.
        let columns = match columns {
            Columns::Key | Columns::Response => Columns::Response,
            Columns::Wire | Columns::All => Columns::All,
        };
        let start = self.scenarios.all()[self.number].start;
        let mut own: Vec<Event> = Vec::new();
        self.events.batches(columns, &mut |batch| {
            own.clear();
            for event in batch {
                let (number, session) = self.scenarios.split(event.session);
                if number == self.number {
                    let mut event = Event {
                        session,
                        intended: event.intended.earlier(start),
                        sent: event.sent.map(|at| at.earlier(start)),
                        first_byte: event.first_byte.map(|at| at.earlier(start)),
                        done: event.done.map(|at| at.earlier(start)),
                        ..event.clone()
                    };
                    if let Some(stream) = &mut event.stream {
                        stream.place(|at| at.earlier(start));
                    }
                    own.push(event);
                }
            }
            see(&own);
        })
    }
}

/// The recording of scenario `number`.
pub(crate) fn recording_of(recording: &Recording, scenarios: &Scenarios, number: usize) -> io::Result<Recording> {
    let source = ScenarioEvents { events: recording.events.clone(), scenarios: scenarios.clone(), number };
    let mut extent = Extent::default();
    source.scan(Columns::Response, &mut |batch| batch.iter().for_each(|event| extent.add(event)))?;
    let mut generator = recording.generator.clone();
    if let Some(evidence) = &mut generator {
        evidence.blocks.clear();
    }
    Ok(Recording { events: Events::new(Arc::new(source), extent), generator, ..recording.clone() })
}

impl ScenarioCriteria {
    /// The verdict on each scenario of `recording`, which `criteria` judge as a whole.
    pub(crate) fn verdicts(&self, recording: &Recording, criteria: &Criteria) -> io::Result<Vec<Verdict>> {
        let Some(scenarios) = self.workload.scenarios() else { return Ok(Vec::new()) };
        let mut verdicts = Vec::new();
        for (number, scenario) in scenarios.all().iter().enumerate() {
            let Some(workload) = self.workload.scenario(number) else { break };
            // What the run excludes at its start and end, on the clock of the scenario.
            let skip_first = criteria.skip_first.saturating_sub(scenario.start);
            let after =
                criteria.duration.map_or(Nanos::ZERO, |run| run.saturating_sub(scenario.start + scenario.duration));
            let skip_last = criteria.skip_last.saturating_sub(after);
            let take = criteria
                .take
                .map(|take| (criteria.skip_first + take).saturating_sub(scenario.start).saturating_sub(skip_first));
            let share = criteria.schedule.as_ref().map(OwnSchedule::share);
            let own = Criteria {
                path: scenario.name.clone(),
                schedule: share.map(|share: Share| OwnSchedule::new(&workload, share)),
                take,
                incomplete: criteria.incomplete.clone(),
                failures: criteria.failures,
                cov_tolerance: criteria.cov_tolerance,
                generator_error_tolerance: criteria.generator_error_tolerance,
                late_after: criteria.late_after,
                ..Criteria::from_workload_part(&workload, self.fraction, skip_first, skip_last)
            };
            verdicts.push(crate::verify(&recording_of(recording, scenarios, number)?, &own)?);
        }
        Ok(verdicts)
    }
}

/// The verdict on the whole run with those on its scenarios: it is invalid if one of them is.
pub(crate) fn with_scenarios(whole: Verdict, scenarios: Vec<Verdict>) -> Verdict {
    let worst = [Validity::Invalid, Validity::ValidWithWarnings];
    let rank = |validity: Validity| worst.iter().position(|one| *one == validity).unwrap_or(worst.len());
    let first =
        scenarios.iter().min_by_key(|one| rank(one.validity)).filter(|one| rank(one.validity) < rank(whole.validity));
    let (validity, reason) = match first {
        Some(one) => (one.validity, format!("scenario `{}`: {}", one.source.path, one.reason)),
        None => (whole.validity, whole.reason.clone()),
    };
    Verdict { validity, reason, scenarios, ..whole }
}

/// The scenarios of a run with the verdict on each, as far as they are known, and their recordings once a metric has needed them.
#[derive(Clone)]
pub(crate) struct MeasuredScenarios<'a> {
    pub(crate) scenarios: &'a Scenarios,
    pub(crate) verdicts: &'a [Verdict],
    pub(crate) recordings: Arc<[OnceLock<Recording>]>,
}

impl MeasuredScenarios<'_> {
    /// The recording of the scenario with this number.
    pub(crate) fn recording(&self, whole: &Recording, number: usize) -> io::Result<&Recording> {
        let recording = &self.recordings[number];
        if recording.get().is_none() {
            // Another thread may have set the same value first.
            let _ = recording.set(recording_of(whole, self.scenarios, number)?);
        }
        Ok(recording.get().expect("it was set"))
    }
}
