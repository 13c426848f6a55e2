//! Merges the recordings of all workers of a run into one recording.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use offered_base::{Instant, Share};
use offered_events::recording::NodeClock;
use offered_events::{ClockCorrection, Event, Note, Recording, WorkerClock};
use offered_events::{Columns, EventSource, Events, Extent};

use super::heartbeat::Heartbeat;
use super::in_flight::InFlightRequests;
use super::lost::{LostRequests, StartedSessions};
use super::workers::{State, Worker};
use super::{count_note, empty_recording, scan_parts};
use crate::error::Error;
use crate::event_source::Part;
use crate::labels::Labels;
use crate::record::RunRecord;

/// Reads all `workers` of the run in `run` as one recording.
///
/// Sessions keep their numbers, because shares are disjoint parts of one schedule. Generator threads are renumbered, worker by worker. Times are
/// corrected to the clock of worker 1 as far as offsets are known ([`ClockCorrection`]); an unknown offset between machines is noted. Requests that a
/// lost worker did not send are part of the recording, as not sent.
pub(super) fn read(run: &Path, workers: &[Worker]) -> Result<Recording, Error> {
    let mut merge = Merge {
        recording: empty_recording(),
        labels: Labels::default(),
        parts: Vec::new(),
        lost: Vec::new(),
        machines: HashSet::new(),
        next_thread: 0,
    };
    for attempts in workers.chunk_by(|one, other| one.share == other.share) {
        merge.add_share(attempts)?;
    }
    merge.finish(run, workers)
}

/// A merge in progress.
struct Merge {
    recording: Recording,
    labels: Labels,
    parts: Vec<(Part, Extent, Renumbering)>,
    lost: Vec<(LostRequests, Extent)>,
    /// The hosts of the workers; `None` for a worker without a known host.
    machines: HashSet<Option<String>>,
    /// The number of the first thread of the next worker.
    next_thread: u16,
}

/// The attempts at one share that were added so far.
struct ShareProgress {
    share: Share,
    /// Whether the share has a single attempt with a record.
    is_whole: bool,
    started: StartedSessions,
    /// The latest scheduled time of the last attempt.
    last: Option<Instant>,
}

impl Merge {
    /// Adds all attempts at one share, and the requests that they did not send.
    fn add_share(&mut self, attempts: &[Worker]) -> Result<(), Error> {
        let share = attempts[0].share;
        let notes_before = self.recording.notes.len();
        let records = attempts.iter().map(|worker| RunRecord::read(&worker.path)).collect::<Result<Vec<_>, _>>()?;
        let is_whole = matches!(records[..], [Some(_)]) && attempts[0].attempt == 1;
        let mut progress = ShareProgress { share, is_whole, started: StartedSessions::new(share), last: None };
        for (place, (worker, record)) in attempts.iter().zip(&records).enumerate() {
            self.add_attempt(worker, record.as_ref(), place + 1 == attempts.len(), &mut progress)?;
        }
        self.recording.notes.extend(records[..records.len() - 1].iter().map(|_| Note::Killed));
        self.add_end(&attempts[attempts.len() - 1].path, records[records.len() - 1].as_ref(), progress);
        let worker = share.to_string();
        let notes = self.recording.notes.split_off(notes_before);
        let of_worker = |note| Note::Worker { worker: worker.clone(), note: Box::new(note) };
        self.recording.notes.extend(notes.into_iter().map(of_worker));
        // A worker that sent nothing still needs a row for its lost requests.
        let last_row = self.recording.nodes.last().map_or(0, |(_, first)| first.saturating_add(1));
        self.next_thread = self.next_thread.max(last_row);
        Ok(())
    }

    /// Adds the events, the clock and the row of one attempt.
    fn add_attempt(
        &mut self,
        worker: &Worker,
        record: Option<&RunRecord>,
        is_last: bool,
        ShareProgress { share, is_whole, started, last }: &mut ShareProgress,
    ) -> Result<(), Error> {
        let Worker { path, attempt, .. } = worker;
        let heartbeat = Heartbeat::read(path);
        let (clock, correction) = clock_and_correction(record, heartbeat.as_ref());
        let (renumbering, mut threads) = (Renumbering { share: *share, first: self.next_thread, correction }, 0);
        let has_ended = record.is_none() && (!is_last || matches!(State::of(path, heartbeat.as_ref()), State::Lost));
        let mut in_flight =
            if has_ended { InFlightRequests::read(path, &mut self.labels) } else { InFlightRequests::default() };
        // Started sessions matter only where some may not have started.
        let columns = if *is_whole { Columns::Key } else { Columns::All };
        let paths = super::parts(&path.join("events"))?;
        let mut parts = scan_parts(paths, &mut self.labels, &mut self.recording, columns, &correction, |event| {
            threads = threads.max(renumbering.thread(event.worker) + 1);
            if !*is_whole {
                started.add(event);
                in_flight.remove(event);
            }
        })?;
        self.recording.notes.extend(count_note(path, &self.recording, &parts));
        let in_flight = in_flight.into_events();
        for event in &in_flight {
            threads = threads.max(renumbering.thread(event.worker) + 1);
            started.add(event);
        }
        let corrected = in_flight.iter().map(|event| correction.place(event)).collect::<Vec<_>>();
        parts.push((Part::Events(in_flight), Extent::of(&corrected)));
        *last = parts.iter().filter_map(|(_, extent)| extent.last_intended).max();
        self.parts.extend(parts.into_iter().map(|(part, extent)| (part, extent, renumbering)));
        let host = match record {
            Some(record) => record.machine.as_ref().map(|machine| machine.name.clone()),
            None => heartbeat.map(|heartbeat| heartbeat.host),
        };
        if record.is_none_or(|record| record.started_unix_ns.is_some()) {
            self.machines.insert(host.clone());
        }
        let suffix = if *attempt > 1 { " again" } else { "" };
        let host = host.map_or_else(String::new, |host| format!(" on {host}"));
        let name = format!("{share}{suffix}{host}");
        let is_first = share.index() == 0 && *attempt == 1;
        self.recording.clocks.extend(clock.map(|clock| NodeClock { name: name.clone(), is_first, clock }));
        self.recording.nodes.push((name, self.next_thread));
        self.next_thread = self.next_thread.saturating_add(threads);
        Ok(())
    }

    /// Adds notes about the end of the last attempt at a share, and the requests of the share that were not sent.
    fn add_end(&mut self, path: &Path, record: Option<&RunRecord>, progress: ShareProgress) {
        let ShareProgress { is_whole, started, last, .. } = progress;
        let is_over = match record {
            Some(record) => {
                self.recording.notes.extend(record.notes.clone());
                true
            }
            None => {
                let state = State::of(path, Heartbeat::read(path).as_ref());
                self.recording.notes.push(state.note());
                matches!(state, State::Lost)
            }
        };
        if is_over && !is_whole {
            let stopped = record.and_then(|record| record.generator.as_ref()).is_some_and(|evidence| evidence.stopped);
            // They get the row of the last attempt.
            let row = self.recording.nodes.last().map_or(0, |(_, first)| *first);
            if let Some(lost) = LostRequests::new(path, started, last.filter(|_| stopped), row, &mut self.labels) {
                let extent = lost.extent();
                self.recording
                    .notes
                    .push(Note::WorkerLost { requests: extent.launches, more_unknown: lost.has_more() });
                self.lost.push((lost, extent));
            }
        }
    }

    /// Adds notes about missing workers and unknown clocks, and returns the recording.
    fn finish(self, run: &Path, workers: &[Worker]) -> Result<Recording, Error> {
        let Self { mut recording, labels, mut parts, lost, machines, .. } = self;
        let count = workers.first().map_or(0, |worker| worker.share.parts());
        let is_here = |number: &u64| workers.iter().any(|worker| worker.share.index() == *number);
        let missing = (0..count).filter(|number| !is_here(number));
        recording.notes.extend(missing.map(|number| Note::WorkerMissing { worker: format!("{}/{count}", number + 1) }));
        let is_known = |of: &NodeClock| of.is_first || of.clock.within_ns().is_some();
        if machines.len() > 1 && recording.clocks.iter().filter(|of| is_known(of)).count() < recording.nodes.len() {
            recording.notes.push(Note::SeveralClocks { machines: machines.len() });
        }
        recording.generator = RunRecord::read(run)?.and_then(|record| record.generator);
        recording.labels = labels.clone().into_names(&mut recording.notes);
        // Neighbouring parts cover about the same time, so events are nearly in order.
        parts.sort_by_key(|(_, extent, _)| extent.last_intended);
        let extents = parts.iter().map(|(_, extent, _)| *extent).chain(lost.iter().map(|(_, extent)| *extent));
        let extent = extents.fold(Extent::default(), Extent::and);
        let parts =
            parts.into_iter().map(|(part, extent, renumbering)| (part, extent.last_intended, renumbering)).collect();
        let lost = lost.into_iter().map(|(requests, _)| requests).collect();
        recording.events = Events::new(Arc::new(MergedWorkers { parts, lost, labels }), extent);
        Ok(recording)
    }
}

/// The clock of a worker as recorded, and the resulting correction.
fn clock_and_correction(
    record: Option<&RunRecord>,
    heartbeat: Option<&Heartbeat>,
) -> (Option<WorkerClock>, ClockCorrection) {
    let (clock, started) = match record {
        Some(record) => (record.clock, record.started_unix_ns),
        None => (heartbeat.and_then(|heartbeat| heartbeat.clock), heartbeat.map(|heartbeat| heartbeat.started_unix_ns)),
    };
    let correction = clock.zip(started).map(|(clock, started)| ClockCorrection::of(&clock, started));
    (clock, correction.unwrap_or_default())
}

/// How the events of one worker are renumbered and corrected.
#[derive(Clone, Copy)]
struct Renumbering {
    share: Share,
    /// The number of its first thread in the merged recording.
    first: u16,
    correction: ClockCorrection,
}

impl Renumbering {
    /// The index of a thread within its worker. Threads of all workers are numbered round-robin.
    fn thread(self, worker: u16) -> u16 {
        let parts = u16::try_from(self.share.parts()).unwrap_or(u16::MAX);
        worker.wrapping_sub(self.share.index() as u16) / parts
    }

    /// The event with its number and time in the merged recording.
    fn apply(self, event: &Event) -> Event {
        let placed = if self.correction.is_none() { event.clone() } else { self.correction.place(event) };
        Event { worker: self.first.saturating_add(self.thread(event.worker)), ..placed }
    }
}

/// The parts of all workers, and the lost requests.
struct MergedWorkers {
    /// Each part with the last scheduled time of its requests.
    parts: Vec<(Part, Option<Instant>, Renumbering)>,
    lost: Vec<LostRequests>,
    labels: Labels,
}

impl EventSource for MergedWorkers {
    fn scan(&self, columns: Columns, visit: &mut dyn FnMut(&[Event])) -> io::Result<()> {
        /// Number of events passed at a time.
        const BATCH: usize = 1024;
        let (mut labels, mut renumbered) = (self.labels.clone(), Vec::new());
        let mut lost: Vec<_> = self.lost.iter().map(|requests| (requests, requests.agenda())).collect();
        // Lost requests come next to requests sent at the same time.
        let mut until = |until: Instant, visit: &mut dyn FnMut(&[Event])| {
            for (requests, agenda) in &mut lost {
                let mut batch = Vec::new();
                requests.each(agenda, until, |event| {
                    batch.push(event);
                    if batch.len() == BATCH {
                        visit(&batch);
                        batch.clear();
                    }
                });
                visit(&batch);
            }
        };
        for (part, last, renumbering) in &self.parts {
            until(last.unwrap_or_default(), visit);
            let scanned = part.scan(&mut labels, columns, &mut |events| {
                renumbered.clear();
                renumbered.extend(events.iter().map(|event| renumbering.apply(event)));
                visit(&renumbered);
            });
            scanned.map_err(|why| part.with_path(&why))?;
        }
        until(Instant::MAX, visit);
        Ok(())
    }
}
