//! What is not there of a schedule: what a worker that is gone did not launch, and what of a killed run is not recorded.

use std::fs;
use std::path::Path;

use offered_model::events::Extent;
use offered_model::workload::Sessions;
use offered_model::{Agenda, Event, Instant, Note, Reason, Share, Workload};

use crate::labels::Labels;

/// Which sessions of a share have begun: a bit for each.
pub(super) struct Begun {
    share: Share,
    bits: Vec<u64>,
}

impl Begun {
    pub(super) fn new(share: Share) -> Self {
        Self { share, bits: Vec::new() }
    }

    fn place(&self, session: u64) -> (usize, u64) {
        let number = session / self.share.parts();
        ((number / 64) as usize, 1 << (number % 64))
    }

    /// Sees what was launched.
    pub(super) fn see(&mut self, event: &Event) {
        if event.step > 0 || event.object > 0 {
            return;
        }
        let (at, bit) = self.place(event.session);
        if at >= self.bits.len() {
            self.bits.resize(at + 1, 0);
        }
        self.bits[at] |= bit;
    }

    fn has(&self, session: u64) -> bool {
        let (at, bit) = self.place(session);
        self.bits.get(at).is_some_and(|bits| bits & bit != 0)
    }
}

/// The launches of a share that nobody made: of those that the schedule alone decides, the first of each session.
pub(super) struct Gone {
    workload: Workload,
    begun: Begun,
    /// What is meant later is nobody's business: the worker was stopped then.
    until: Instant,
    /// The thread that they are said to be of.
    thread: u16,
    /// The numbers of the workload's requests among the labels of the recording.
    labels: Vec<u16>,
}

impl Gone {
    /// Of a worker whose directory is `worker`. `None` where its workload cannot be read: then it is not known what it did not launch.
    pub(super) fn of(
        worker: &Path,
        begun: Begun,
        until: Option<Instant>,
        thread: u16,
        labels: &mut Labels,
    ) -> Option<Self> {
        let workload = workload(worker)?;
        let labels = workload.labels().iter().map(|name| labels.number(name.as_bytes())).collect();
        let until = until.map_or(Instant::MAX, |last| Instant(last.0 + 1));
        Some(Self { workload, begun, until, thread, labels })
    }

    /// Whether sessions that have begun would have asked for more.
    pub(super) fn further(&self) -> bool {
        !matches!(self.workload.sessions(), Sessions::Open(_))
    }

    /// What is known of them: how many there are, and when they were meant.
    pub(super) fn extent(&self) -> Extent {
        let mut extent = Extent::default();
        let mut agenda = self.agenda();
        self.each(&mut agenda, Instant::MAX, |event| extent.add(&event));
        extent
    }

    /// That they are not recorded, if there are any.
    pub(super) fn note(&self) -> Option<Note> {
        let (mut launches, mut meant) = (0, None);
        self.each(&mut self.agenda(), Instant::MAX, |event| {
            launches += 1;
            meant = Some((meant.map_or(event.intended, |(first, _)| first), event.intended));
        });
        let (first, last): (Instant, Instant) = meant?;
        Some(Note::NotRecorded { launches, from_s: first.as_secs_f64(), to_s: last.as_secs_f64() })
    }

    pub(super) fn agenda(&self) -> Agenda {
        Agenda::new(&self.workload, self.begun.share)
    }

    /// Takes those that are meant before `until` from `agenda`, in order, and gives them to `see`.
    pub(super) fn each(&self, agenda: &mut Agenda, until: Instant, mut see: impl FnMut(Event)) {
        let mix = self.workload.mix();
        while let Some(launch) = agenda.due_before(until.min(self.until)) {
            if self.begun.has(launch.session) {
                continue;
            }
            let label = self.labels.get(usize::from(mix.choose(launch))).copied().unwrap_or_default();
            let event = Event { session: launch.session, label, worker: self.thread, ..Event::at(launch.intended) };
            see(Event { error: Some(Reason::Gone), ..event });
        }
    }
}

/// The workload that a worker keeps in its directory.
pub(super) fn workload(worker: &Path) -> Option<Workload> {
    let file = worker.join("workload.toml");
    let text = fs::read_to_string(&file).ok()?;
    let beside = |name: &str| fs::read(worker.join(name)).map_err(|why| why.to_string());
    Workload::parse(&text, &file.display().to_string(), &beside).ok()
}
