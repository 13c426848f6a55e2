//! The scope: which launches of a run are looked at.

use std::ops::Range;

use offered_model::{Event, Instant, Outcome, Recording};

use crate::ask::{Ask, Failures};
use crate::keeps_up::{Flows, KeepsUp};
use crate::runs::Run;
use crate::verdict::Window;

/// The launches of one run inside the window asked for.
///
/// Launches of a run of ours count by the instant they were meant for, on the run's own clock, so that a launch that left late counts
/// where it belongs and `run`, `verify` and every threshold look at the same ones. Of a file only the sendings are known to be
/// there, and its window is laid from the first of them to the last.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    pub(crate) recording: &'a Recording,
    events: &'a [Event],
    run: (u64, u64),
    /// What the window is laid from.
    origin: u64,
    from: u64,
    /// The first instant behind it.
    to: u64,
    failures: Failures,
}

impl<'a> Scope<'a> {
    /// What `ask` looks at of all of `recording`; `None` when nothing was sent.
    pub fn of(recording: &'a Recording, ask: &Ask) -> Option<Self> {
        Some(Self::new(recording, &Run::whole(recording)?, ask))
    }

    /// The window of `ask` laid on `run`.
    pub(crate) fn new(recording: &'a Recording, run: &Run, ask: &Ask) -> Self {
        let events = &recording.events[run.rows.clone()];
        let (origin, end, open) = if recording.on_run_clock {
            let last = || events.iter().map(|event| event.intended.0.saturating_add(1)).max().unwrap_or(0);
            (0, ask.lasts.map_or_else(last, |lasts| lasts.0), 0)
        } else {
            // Both ends are inclusive.
            (run.from, run.to, 1)
        };
        let from = origin.saturating_add(ask.skip_first.0);
        let to = end.saturating_sub(ask.skip_last.0);
        let to = ask.take.map_or(to, |take| to.min(from.saturating_add(take.0)));
        Self {
            recording,
            events,
            run: (run.from, run.to),
            origin,
            from,
            to: to.saturating_add(open),
            failures: ask.failures,
        }
    }

    /// The instants that are looked at, on the recording's clock.
    pub fn range(self) -> Range<Instant> {
        Instant(self.from)..Instant(self.to)
    }

    /// Everything launched in the window, with the instant it was sent.
    pub fn launches(self) -> impl Iterator<Item = (u64, &'a Event)> {
        let meant = self.recording.on_run_clock;
        self.events.iter().filter_map(move |event| {
            let sent = event.sent?.0;
            let at = if meant { event.intended.0 } else { sent };
            let counts = self.failures == Failures::Keep || event.outcome == Outcome::Ok;
            ((self.from..self.to).contains(&at) && counts).then_some((sent, event))
        })
    }

    /// Everything meant for the window, sent or not. What a session had nothing to send with was not the generator's to send.
    pub fn meant(self) -> impl Iterator<Item = &'a Event> {
        self.events
            .iter()
            .filter(move |event| (self.from..self.to).contains(&event.intended.0) && event.outcome != Outcome::NoValue)
    }

    /// The instants of the launches for which `which` holds, ascending.
    pub fn sent(self, which: impl Fn(&Event) -> bool) -> Vec<u64> {
        let mut sent: Vec<u64> = self.launches().filter(|(_, event)| which(event)).map(|(at, _)| at).collect();
        sent.sort_unstable();
        sent
    }

    /// The window as the verdict tells it, `launches` of it being looked at.
    pub(crate) fn window(self, launches: u64) -> Window {
        let since = |at: u64| Instant(self.origin).until(Instant(at)).as_secs_f64();
        let last = if self.recording.on_run_clock { self.to } else { self.to - 1 };
        let inside = |sent: u64| sent >= self.run.0 && sent <= self.run.1;
        let all = self.events.iter().filter(|event| event.sent.is_some_and(|sent| inside(sent.0))).count() as u64;
        Window { from_s: since(self.from), to_s: since(last), launches, left_out: all - launches.min(all) }
    }

    /// Whether the system kept up with what was launched in the window; `None` where that is a single instant, or the recording
    /// does not say when answers came.
    pub(crate) fn keeps_up(self, ask: &Ask) -> Option<KeepsUp> {
        // Of a run that was stopped the rest of its time holds nothing.
        let stopped = self.recording.generator.as_ref().is_some_and(|evidence| evidence.stopped);
        let last = self.events.iter().map(|event| event.intended.0.saturating_add(1)).max().unwrap_or(0);
        let to = if stopped { self.to.min(last) } else { self.to };
        let known = self.events.iter().any(|event| event.done.is_some());
        (self.from < to && known).then(|| {
            let mut flows = Flows::new(Instant(self.from), Instant(to));
            self.events.iter().for_each(|event| flows.add(event));
            flows.keeps_up(ask.is_closed())
        })
    }
}
