//! The scope: which launches of a run are looked at.

use std::io;
use std::ops::Range;

use offered_model::{Event, Instant, Outcome, Place, Recording};
use offered_stats::order::{Key, Source, ascending};

use crate::criteria::{Criteria, Failures};
use crate::ends::Ends;
use crate::event_keys::Places;
use crate::verdict::Window;

/// The launches of one run inside the window asked for.
///
/// Launches of a run of ours count by the instant they were meant for, on the run's own clock, so that a launch that left late counts
/// where it belongs and `run`, `verify` and every threshold look at the same ones. Of a file only the sendings are known to be
/// there, and its window is laid from the first of them to the last.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    pub(crate) recording: &'a Recording,
    /// The first and the last of its rows, and the first instant of them that counts and the last.
    run: (u64, u64, u64, u64),
    /// What the window is laid from.
    origin: u64,
    from: u64,
    /// The first instant behind it.
    to: u64,
    failures: Failures,
}

/// One run of a recording: these rows, as far as they were sent in this closed range of instants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) rows: Range<u64>,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Run {
    /// All of `recording` as one run; `None` when nothing was sent.
    pub(crate) fn whole(recording: &Recording) -> Option<Self> {
        let extent = recording.events.extent();
        let (first, last) = extent.sent?;
        Some(Self { rows: 0..extent.launches, from: first.0, to: last.0 })
    }
}

/// What of a launch matters when launches are put in order.
#[derive(Clone, Copy)]
pub struct Launch {
    /// When it was sent.
    pub sent: u64,
    /// What it asked for.
    pub label: u16,
    /// Who sent it.
    pub worker: u16,
    /// Whether it is the first of its session.
    pub first: bool,
}

impl Key for Launch {
    type Rank = u64;

    fn rank(&self) -> u64 {
        self.sent
    }
}

/// What of a launch matters when they are put in the order in which they were meant.
#[derive(Clone, Copy)]
pub(crate) struct Meant {
    pub(crate) intended: u64,
    /// When it was sent, if it is one of the launches.
    pub(crate) sent: Option<u64>,
    /// Whether it was meant for the window.
    pub(crate) inside: bool,
    /// Whether it is the first of its session.
    pub(crate) first: bool,
}

impl Key for Meant {
    type Rank = u64;

    fn rank(&self) -> u64 {
        self.intended
    }
}

/// So many launches may be under way at a time before the order of a recording takes longer to find.
const WINDOW: usize = 1_000_000;

/// What `fresh` makes, after `add` has given it all of `source` in order.
pub(crate) fn in_order<K: Key, C>(
    source: &Source<K, io::Error>,
    fresh: impl Fn() -> C,
    add: impl Fn(&mut C, K),
) -> io::Result<C> {
    ascending(source, WINDOW, fresh, add)
}

impl<'a> Scope<'a> {
    /// What `ask` looks at of all of `recording`; `None` when nothing was sent.
    pub fn of(recording: &'a Recording, ask: &Criteria) -> Option<Self> {
        Some(Self::new(recording, &Run::whole(recording)?, ask))
    }

    /// The window of `ask` laid on `run`.
    pub(crate) fn new(recording: &'a Recording, run: &Run, ask: &Criteria) -> Self {
        let (origin, end, open) = if recording.on_run_clock {
            // A run of ours is all of its recording.
            let last = || recording.events.extent().last_meant.map_or(0, |last| last.0.saturating_add(1));
            (0, ask.duration.map_or_else(last, |lasts| lasts.0), 0)
        } else {
            // Both ends are inclusive.
            (run.from, run.to, 1)
        };
        let from = origin.saturating_add(ask.skip_first.0);
        let to = end.saturating_sub(ask.skip_last.0);
        let to = ask.take.map_or(to, |take| to.min(from.saturating_add(take.0)));
        Self {
            recording,
            run: (run.rows.start, run.rows.end, run.from, run.to),
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

    /// Gives `see` every row of the run with as much of it as [`Events::each_answer`](offered_model::events::Events::each_answer) does,
    /// in the order of the recording.
    pub(crate) fn each(self, mut see: impl FnMut(&Event)) -> io::Result<()> {
        let mut is_of_rows = self.rows();
        self.recording.events.each_answer(|event| {
            if is_of_rows() {
                see(event);
            }
        })
    }

    /// The same, of each its place.
    pub(crate) fn each_place(self, mut see: impl FnMut(Place)) -> io::Result<()> {
        let mut is_of_rows = self.rows();
        self.recording.events.each_place(|place| {
            if is_of_rows() {
                see(place);
            }
        })
    }

    /// Asked at every row in turn, says whether it is one of the run.
    fn rows(self) -> impl FnMut() -> bool {
        let (first, behind, ..) = self.run;
        let mut row = 0;
        move || {
            row += 1;
            (first..behind).contains(&(row - 1))
        }
    }

    /// When this was sent, if it is one of the launches in the window.
    #[inline]
    pub(crate) fn launched(self, place: Place) -> Option<u64> {
        let sent = place.sent?.0;
        let at = if self.recording.on_run_clock { place.intended.0 } else { sent };
        let counts = self.failures == Failures::Keep || place.outcome == Outcome::Ok;
        ((self.from..self.to).contains(&at) && counts).then_some(sent)
    }

    /// The same, with what matters when launches are put in order.
    #[inline]
    pub(crate) fn launch(self, place: Place) -> Option<Launch> {
        let sent = self.launched(place)?;
        Some(Launch { sent, label: place.label, worker: place.worker, first: place.step == 0 })
    }

    /// Whether this was meant for the window, sent or not. What a session had nothing to send with was not the generator's to send.
    #[inline]
    pub(crate) fn is_meant(self, place: Place) -> bool {
        (self.from..self.to).contains(&place.intended.0) && place.outcome != Outcome::NoValue
    }

    /// Whether `event` was sent while the run lasted.
    pub(crate) fn is_of_run(self, event: &Event) -> bool {
        let (.., first, last) = self.run;
        event.sent.is_some_and(|sent| (first..=last).contains(&sent.0))
    }

    /// Gives `see` everything launched in the window, with the instant it was sent and as much of it as
    /// [`Events::each_answer`](offered_model::events::Events::each_answer) gives, in the order of the recording.
    ///
    /// # Errors
    /// The recording can no longer be read.
    pub fn launches(self, mut see: impl FnMut(u64, &Event)) -> io::Result<()> {
        self.each(|event| {
            if let Some(sent) = self.launched(event.place()) {
                see(sent, event);
            }
        })
    }

    /// Gives `see` everything meant for the window, sent or not, in the order of the recording.
    ///
    /// # Errors
    /// The recording can no longer be read.
    pub fn meant(self, mut see: impl FnMut(&Event)) -> io::Result<()> {
        self.each(|event| {
            if self.is_meant(event.place()) {
                see(event);
            }
        })
    }

    /// Of the launches for which `which` holds: how many there are, and when the first and the last were sent.
    ///
    /// # Errors
    /// The recording can no longer be read.
    pub fn ends(self, which: impl Fn(&Event) -> bool) -> io::Result<Ends> {
        let mut ends = Ends::default();
        self.launches(|sent, event| {
            if which(event) {
                ends.add(sent);
            }
        })?;
        Ok(ends)
    }

    /// What `fresh` makes, after `add` has given it the launches in the order in which they were sent.
    ///
    /// # Errors
    /// The recording can no longer be read.
    pub fn in_order<C>(self, fresh: impl Fn() -> C, add: impl Fn(&mut C, Launch)) -> io::Result<C> {
        Places::unheld(self).as_sent(fresh, add)
    }

    /// The same, of what `key` makes of each launch.
    pub(crate) fn in_order_as<K: Key, C>(
        self,
        key: impl Fn(u64, &Event) -> K,
        fresh: impl Fn() -> C,
        add: impl Fn(&mut C, K),
    ) -> io::Result<C> {
        let source = |give: &mut dyn FnMut(K)| self.launches(|sent, event| give(key(sent, event)));
        in_order(&source, fresh, add)
    }

    /// The window as the verdict tells it: `launches` of the `all` of the run are looked at.
    pub(crate) fn window(self, launches: u64, all: u64) -> Window {
        let since = |at: u64| Instant(self.origin).until(Instant(at)).as_secs_f64();
        let last = if self.recording.on_run_clock { self.to } else { self.to - 1 };
        Window { start_s: since(self.from), end_s: since(last), requests: launches, excluded: all - launches.min(all) }
    }

    /// The time in which it is counted what arrives and what leaves; `None` where that is a single instant.
    pub(crate) fn flows_between(self) -> Option<(Instant, Instant)> {
        // Of a run that was stopped the rest of its time holds nothing.
        let stopped = self.recording.generator.as_ref().is_some_and(|evidence| evidence.stopped);
        let last = self.recording.events.extent().last_meant.map_or(0, |last| last.0.saturating_add(1));
        let to = if stopped { self.to.min(last) } else { self.to };
        (self.from < to).then_some((Instant(self.from), Instant(to)))
    }
}
