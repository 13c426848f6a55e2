//! Recording a simulation into a run directory.

use std::ops::ControlFlow;
use std::path::Path;

use offered_base::{Instant, Nanos};
use offered_events::{Event, Note, Outcome, Recording};
use offered_schedule::{After, Launch, Sessions};
use offered_simulate::drive::SimulationObserver;
use offered_simulate::{Job, SimulationResult, Stop, simulate};
use offered_store::{EndCondition, RunKind, RunRecord, Writer};
use offered_verify::{Criteria, Verdict, verify};
use offered_workload::Workload;

use crate::Error;
use crate::document::simulate::Outcome as Summary;
use crate::redact::redact;

/// Simulates `workload`, and writes every request as an event to the new run directory `out`. `text` is the text of the workload, without
/// changes for `load`.
///
/// # Errors
/// `out` cannot be created or written, or the workload cannot be simulated. `out` is removed after an error.
pub fn simulate_into(
    text: &str,
    workload: &Workload,
    load: Option<f64>,
    stop: Stop,
    out: &Path,
) -> Result<SimulationResult, Error> {
    let writer = Writer::create(out, &redact(text), workload.labels()).map_err(Error::CreateRun)?;
    let writer = writer.with_scenarios(workload.scenario_names()).with_flow_steps(workload.place_names());
    let mut events = EventWriter { writer, batch: Vec::new(), failed: None };
    let record = |event: Event| events.record(event);
    let answer = simulate(workload, stop, Some(&mut EventObserver { sessions: workload.sessions(), record }));
    let answer = match answer {
        Ok(answer) => answer,
        Err(wrong) => {
            events.writer.remove();
            return Err(wrong.into());
        }
    };
    let until = if stop == Stop::Duration { EndCondition::Duration } else { EndCondition::Responses };
    let record = RunRecord {
        seed: Some(workload.seed().0),
        load,
        notes: answer.warnings.iter().map(|doubt| Note::Simulation { warning: *doubt }).collect(),
        ..RunRecord::new(RunKind::Simulation, until)
    };
    events.finish(&record.with(Summary::new(&[], &answer), ()))?;
    Ok(answer)
}

/// Simulates `workload` for its duration, and verifies the recording.
///
/// # Errors
/// The workload cannot be simulated.
pub(crate) fn simulated(workload: &Workload, path: String) -> Result<(Recording, Verdict), Error> {
    let mut events = Vec::new();
    let record = |event: Event| {
        events.push(event);
        ControlFlow::Continue(())
    };
    simulate(workload, Stop::Duration, Some(&mut EventObserver { sessions: workload.sessions(), record }))?;
    let recording = Recording::of_run(events, workload.labels());
    let verdict = verify(&recording, &Criteria { path, ..Criteria::from_workload(workload, 1.0) })?;
    Ok((recording, verdict))
}

/// Writes events in batches.
struct EventWriter {
    writer: Writer,
    batch: Vec<Event>,
    failed: Option<offered_store::Error>,
}

const BATCH: usize = 10_000;

impl EventWriter {
    fn record(&mut self, event: Event) -> ControlFlow<()> {
        self.batch.push(event);
        if self.batch.len() < BATCH {
            return ControlFlow::Continue(());
        }
        self.failed = self.writer.write(std::mem::take(&mut self.batch)).err();
        if self.failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn finish(mut self, run: &RunRecord<Summary, ()>) -> Result<(), offered_store::Error> {
        match self.failed {
            Some(error) => {
                self.writer.remove();
                Err(error)
            }
            None => self.writer.write(self.batch).and_then(|()| self.writer.finish(run)),
        }
    }
}

/// The event of a request that was sent at its scheduled time.
fn event(sessions: &Sessions, launch: Launch, class: u16, (done, outcome): (Instant, Outcome), after: After) -> Event {
    let answered = outcome == Outcome::Ok;
    Event {
        sent: Some(launch.intended),
        first_byte: answered.then_some(done),
        done: Some(done),
        session: launch.session,
        step: launch.step,
        label: class,
        outcome,
        status: if answered { 200 } else { 0 },
        visit: sessions.position(launch, after.ends_visit()),
        ..Event::at(launch.intended)
    }
}

/// The event of a request that completed.
fn completed(sessions: &Sessions, now: Instant, launch: Launch, job: &Job, after: After) -> Event {
    let event = event(sessions, launch, job.class, (now, Outcome::Ok), after);
    match job.tokens.stream(launch.intended, now) {
        Some(stream) => Event { first_byte: Some(stream.head), stream: Some(stream), ..event },
        None => event,
    }
}

/// Passes the events of a simulation to `record`.
struct EventObserver<'a, R> {
    sessions: &'a Sessions,
    record: R,
}

impl<R: FnMut(Event) -> ControlFlow<()>> SimulationObserver for EventObserver<'_, R> {
    fn arrived(&mut self, _: Instant) {}

    fn rejected(&mut self, launch: Launch, class: u16, after: After) {
        // A write error is stored and stops the simulation at the next completion.
        let _ = (self.record)(event(self.sessions, launch, class, (launch.intended, Outcome::Refused), after));
    }

    fn completed(&mut self, now: Instant, launch: Launch, job: &Job, after: After) -> ControlFlow<()> {
        (self.record)(completed(self.sessions, now, launch, job, after))
    }

    fn attempt(&mut self, event: &Event) {
        let _ = (self.record)(event.clone());
    }

    fn ended(&mut self, launch: Launch, event: &Event, _: Nanos, after: After) -> ControlFlow<()> {
        let visit = self.sessions.position(launch, after.ends_visit());
        (self.record)(Event { visit, ..event.clone() })
    }

    fn unfinished(&mut self, now: Instant, launch: Launch, class: u16) {
        let _ = (self.record)(event(self.sessions, launch, class, (now, Outcome::Cut), After::TooLate));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_are_rejected_inside_a_network_have_their_visit() {
        let text = "seed = 3\nduration = \"20s\"\n\
                    arrivals.partly_open = { rate = \"40/s\", stay = 0.5, think.constant = \"20ms\" }\n\
                    [[station]]\nname = \"web\"\nservice.exponential = \"5ms\"\n\
                    [[station]]\nname = \"db\"\nservice.exponential = \"10ms\"\ncapacity = 1\n";
        let workload = Workload::parse(text, "w.toml", &|_| Err(String::new())).unwrap();
        let (recording, _) = simulated(&workload, "w.toml".to_owned()).unwrap();
        let (mut rejected, mut without_visit) = (0, 0);
        recording
            .events
            .each(|event| {
                rejected += u32::from(event.outcome == Outcome::Refused);
                without_visit += u32::from(event.visit.is_none());
            })
            .unwrap();
        assert!(rejected > 100, "{rejected}");
        assert_eq!(without_visit, 0);
    }
}
