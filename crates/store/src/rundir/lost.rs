//! Requests of the schedule that are not recorded: those that a lost worker did not send, and those of a killed run.

use std::collections::HashSet;
use std::path::Path;

use offered_base::{Instant, Share};
use offered_events::Extent;
use offered_events::{Event, Note, Reason};
use offered_io::{read_regular, read_regular_text};
use offered_schedule::Agenda;
use offered_schedule::Sessions;
use offered_workload::Workload;

use crate::labels::Labels;

/// The sessions of a share that have started: one bit each.
pub(super) struct StartedSessions {
    share: Share,
    bits: Vec<u64>,
    /// Sessions of scenarios: their numbers in the share do not determine their numbers in the run.
    others: HashSet<u64>,
}

impl StartedSessions {
    pub(super) fn new(share: Share) -> Self {
        Self { share, bits: Vec::new(), others: HashSet::new() }
    }

    fn position(&self, session: u64) -> (usize, u64) {
        let number = session / self.share.parts();
        ((number / 64) as usize, 1 << (number % 64))
    }

    /// Marks the session of an event as started.
    pub(super) fn add(&mut self, event: &Event) {
        if event.step > 0 || event.object > 0 {
            return;
        }
        if !self.share.has(event.session) {
            self.others.insert(event.session);
            return;
        }
        let (at, bit) = self.position(event.session);
        if at >= self.bits.len() {
            self.bits.resize(at + 1, 0);
        }
        self.bits[at] |= bit;
    }

    fn contains(&self, session: u64) -> bool {
        let (at, bit) = self.position(session);
        self.others.contains(&session)
            || self.share.has(session) && self.bits.get(at).is_some_and(|bits| bits & bit != 0)
    }
}

/// The requests of a share that no worker sent. Only first requests of sessions, because the schedule alone decides these.
pub(super) struct LostRequests {
    workload: Workload,
    started: StartedSessions,
    /// Requests scheduled from this instant on are not lost, because the worker was stopped then.
    until: Instant,
    /// The thread number that their events get.
    thread: u16,
    /// The label of each request of the workload, in the recording.
    labels: Vec<u16>,
}

impl LostRequests {
    /// For a worker with this directory. `None` if its workload is unreadable, so that its schedule is unknown.
    pub(super) fn new(
        worker: &Path,
        started: StartedSessions,
        until: Option<Instant>,
        thread: u16,
        labels: &mut Labels,
    ) -> Option<Self> {
        let workload = workload(worker)?;
        let labels = workload.labels().iter().map(|name| labels.number(name.as_bytes())).collect();
        let until = until.map_or(Instant::MAX, |last| Instant(last.0 + 1));
        Some(Self { workload, started, until, thread, labels })
    }

    /// Whether sessions that have started would have sent further requests.
    pub(super) fn has_more(&self) -> bool {
        !matches!(self.workload.sessions(), Sessions::Open(_))
    }

    /// The extent of their events.
    pub(super) fn extent(&self) -> Extent {
        let mut extent = Extent::default();
        let mut agenda = self.agenda();
        self.each(&mut agenda, Instant::MAX, |event| extent.add(&event));
        extent
    }

    /// A note about the unrecorded requests; `None` without such requests.
    pub(super) fn note(&self) -> Option<Note> {
        let (mut launches, mut meant) = (0, None);
        self.each(&mut self.agenda(), Instant::MAX, |event| {
            launches += 1;
            meant = Some((meant.map_or(event.intended, |(first, _)| first), event.intended));
        });
        let (first, last): (Instant, Instant) = meant?;
        Some(Note::NotRecorded { requests: launches, start_s: first.as_secs_f64(), end_s: last.as_secs_f64() })
    }

    pub(super) fn agenda(&self) -> Agenda {
        self.workload.agenda(self.started.share)
    }

    /// Passes the requests of `agenda` that are scheduled before `until` to `visit`, in order, as events that were not sent.
    pub(super) fn each(&self, agenda: &mut Agenda, until: Instant, mut visit: impl FnMut(Event)) {
        let mix = self.workload.mix();
        while let Some(launch) = agenda.due_before(until.min(self.until)) {
            if self.started.contains(launch.session) {
                continue;
            }
            let label = self.labels.get(usize::from(mix.choose(launch))).copied().unwrap_or_default();
            let event = Event { session: launch.session, label, worker: self.thread, ..Event::at(launch.intended) };
            visit(Event { error: Some(Reason::WorkerLost), ..event });
        }
    }
}

/// Reads the workload from a worker's directory.
pub(super) fn workload(worker: &Path) -> Option<Workload> {
    let file = worker.join("workload.toml");
    let text = read_regular_text(&file).ok()?;
    let beside = |name: &str| read_regular(&worker.join(name)).map_err(|why| why.to_string());
    Workload::parse(&text, &file.display().to_string(), &beside).ok()
}
