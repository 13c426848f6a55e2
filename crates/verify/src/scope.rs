//! The scope: which launches of a run are looked at.

use offered_model::{Event, Nanos, Outcome, Recording};

use crate::ask::{Ask, Failures};
use crate::runs::Run;
use crate::verdict::Window;

/// The launches of one run inside the window asked for.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    pub(crate) recording: &'a Recording,
    events: &'a [Event],
    run: (u64, u64),
    from: u64,
    to: u64,
    failures: Failures,
}

impl<'a> Scope<'a> {
    /// What `ask` looks at of all of `recording`; `None` when nothing was sent.
    pub fn of(recording: &'a Recording, ask: &Ask) -> Option<Self> {
        Some(Self::new(recording, &Run::whole(recording)?, ask))
    }

    /// The window of `ask` laid on `run`, measured from its first launch, both ends inclusive.
    pub(crate) fn new(recording: &'a Recording, run: &Run, ask: &Ask) -> Self {
        let from = run.from.saturating_add(ask.skip_first.0);
        let to = run.to.saturating_sub(ask.skip_last.0);
        let to = ask.take.map_or(to, |take| to.min(from.saturating_add(take.0)));
        let events = &recording.events[run.rows.clone()];
        Self { recording, events, run: (run.from, run.to), from, to, failures: ask.failures }
    }

    /// Everything launched in the window, with the instant it was sent.
    pub fn launches(self) -> impl Iterator<Item = (u64, &'a Event)> {
        self.events.iter().filter_map(move |event| {
            let sent = event.sent?.0;
            let counts = self.failures == Failures::Keep || event.outcome == Outcome::Ok;
            (sent >= self.from && sent <= self.to && counts).then_some((sent, event))
        })
    }

    /// Everything meant for the window, sent or not.
    pub fn meant(self) -> impl Iterator<Item = &'a Event> {
        self.events.iter().filter(move |event| event.intended.0 >= self.from && event.intended.0 <= self.to)
    }

    /// The instants of the launches for which `which` holds, ascending.
    pub fn sent(self, which: impl Fn(&Event) -> bool) -> Vec<u64> {
        let mut sent: Vec<u64> = self.launches().filter(|(_, event)| which(event)).map(|(at, _)| at).collect();
        sent.sort_unstable();
        sent
    }

    /// The window as the verdict tells it, `launches` of it being looked at.
    pub(crate) fn window(self, launches: u64) -> Window {
        let since = |at: u64| Nanos(at).since(Nanos(self.run.0)).as_secs_f64();
        let inside = |sent: u64| sent >= self.run.0 && sent <= self.run.1;
        let all = self.events.iter().filter(|event| event.sent.is_some_and(|sent| inside(sent.0))).count() as u64;
        Window { from_s: since(self.from), to_s: since(self.to), launches, left_out: all - launches.min(all) }
    }
}
