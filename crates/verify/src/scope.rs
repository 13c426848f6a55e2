//! The scope: the requests of a run that are judged.

use std::io;
use std::ops::Range;

use offered_base::Instant;
use offered_events::{Event, EventKey, Outcome, Recording};
use offered_stats::order::{Key, Source, ascending};

use crate::criteria::{Criteria, Failures};
use crate::ends::Ends;
use crate::verdict::Window;

/// The requests of one run in the window.
///
/// Requests of a run of `offered` belong to the window by their scheduled times on the clock of the run. So a late
/// request counts at its scheduled time, and `run`, `verify` and all thresholds use the same requests. Files of other
/// tools have only sent times; their window extends from the first to the last of them.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    pub(crate) recording: &'a Recording,
    /// The first and the last row, and the first and the last sent time of the run.
    run: (u64, u64, u64, u64),
    /// The time from which the window is measured.
    origin: u64,
    from: u64,
    /// The end of the window (exclusive).
    to: u64,
    failures: Failures,
}

/// One run of a recording: the requests in these rows that were sent in this closed interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunRange {
    pub(crate) rows: Range<u64>,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl RunRange {
    /// The whole of `recording` as one run; `None` if no request was sent.
    pub(crate) fn whole(recording: &Recording) -> Option<Self> {
        let extent = recording.events.extent();
        let (first, last) = extent.sent?;
        Some(Self { rows: 0..extent.launches, from: first.0, to: last.0 })
    }
}

/// The fields of a sent request that are needed for sorting by sent time.
#[derive(Clone, Copy)]
pub struct SentRequest {
    /// The sent time, in nanoseconds.
    pub sent: u64,
    /// The number of the label.
    pub label: u16,
    /// The number of the worker that sent the request.
    pub worker: u16,
    /// Whether the request is the first one of its session.
    pub first: bool,
}

impl Key for SentRequest {
    type Rank = u64;

    fn rank(&self) -> u64 {
        self.sent
    }
}

/// A request, as far as it matters for sorting by scheduled time.
#[derive(Clone, Copy)]
pub(crate) struct ScheduledRequest {
    pub(crate) intended: u64,
    /// The sent time, in nanoseconds; `None` if it was not sent in the window.
    pub(crate) sent: Option<u64>,
    /// The number of the thread that sent it.
    pub(crate) worker: u16,
    /// Whether it was scheduled in the window.
    pub(crate) in_window: bool,
    /// Whether the request is the first one of its session.
    pub(crate) first: bool,
}

impl Key for ScheduledRequest {
    type Rank = u64;

    fn rank(&self) -> u64 {
        self.intended
    }
}

/// Sorting slows down if more requests than this are in flight at a time.
const SORT_WINDOW: usize = 500_000;

/// Creates a collector with `fresh` and passes it everything from `source`, in ascending order.
pub(crate) fn in_order<K: Key, C>(
    source: &Source<K, io::Error>,
    fresh: impl Fn() -> C,
    add: impl Fn(&mut C, K),
) -> io::Result<C> {
    ascending(source, SORT_WINDOW, fresh, add)
}

impl<'a> Scope<'a> {
    /// The part of `recording` that `criteria` select; `None` if no request was sent.
    pub fn of(recording: &'a Recording, criteria: &Criteria) -> Option<Self> {
        Some(Self::new(recording, &RunRange::whole(recording)?, criteria))
    }

    /// The window of `ask` in `run`.
    pub(crate) fn new(recording: &'a Recording, run: &RunRange, criteria: &Criteria) -> Self {
        let (origin, end, open) = if recording.on_run_clock {
            // A run of `offered` fills its recording.
            let last = || recording.events.extent().last_intended.map_or(0, |last| last.0.saturating_add(1));
            (0, criteria.duration.map_or_else(last, |lasts| lasts.0), 0)
        } else {
            // Both ends are inclusive.
            (run.from, run.to, 1)
        };
        let from = origin.saturating_add(criteria.skip_first.0);
        let to = end.saturating_sub(criteria.skip_last.0);
        let to = criteria.take.map_or(to, |take| to.min(from.saturating_add(take.0)));
        Self {
            recording,
            run: (run.rows.start, run.rows.end, run.from, run.to),
            origin,
            from,
            to: to.saturating_add(open),
            failures: criteria.failures,
        }
    }

    /// The window, on the clock of the recording.
    pub fn range(self) -> Range<Instant> {
        Instant(self.from)..Instant(self.to)
    }

    /// Passes every row of the run to `see`, in the order of the recording, with the columns of
    /// [`Events::each_response`](offered_events::Events::each_response).
    pub(crate) fn each(self, mut see: impl FnMut(&Event)) -> io::Result<()> {
        let mut is_of_rows = self.row_filter();
        self.recording.events.each_response(|event| {
            if is_of_rows() {
                see(event);
            }
        })
    }

    /// Passes the key of every row of the run to `see`.
    pub(crate) fn each_key(self, mut see: impl FnMut(EventKey)) -> io::Result<()> {
        let mut is_of_rows = self.row_filter();
        self.recording.events.each_key(|key| {
            if is_of_rows() {
                see(key);
            }
        })
    }

    /// A filter that is called once per row, in order, and returns whether the row belongs to the run.
    fn row_filter(self) -> impl FnMut() -> bool {
        let (first, behind, ..) = self.run;
        let mut row = 0;
        move || {
            row += 1;
            (first..behind).contains(&(row - 1))
        }
    }

    /// The sent time of this request, if it is in the window.
    #[inline]
    pub(crate) fn sent_time(self, key: EventKey) -> Option<u64> {
        let sent = key.sent?.0;
        let at = if self.recording.on_run_clock { key.intended.0 } else { sent };
        let counts = self.failures == Failures::Keep || key.outcome == Outcome::Ok;
        ((self.from..self.to).contains(&at) && counts).then_some(sent)
    }

    /// The same, with the fields for sorting.
    #[inline]
    pub(crate) fn sent_request(self, key: EventKey) -> Option<SentRequest> {
        let sent = self.sent_time(key)?;
        Some(SentRequest { sent, label: key.label, worker: key.worker, first: key.step == 0 })
    }

    /// Whether this request was scheduled in the window, sent or not. A request for which its session lacked a value, or that a circuit
    /// breaker held back, could not be sent and does not count.
    #[inline]
    pub(crate) fn is_scheduled_in_window(self, key: EventKey) -> bool {
        let is_held_back = matches!(key.outcome, Outcome::NoValue | Outcome::BreakerOpen);
        (self.from..self.to).contains(&key.intended.0) && !is_held_back
    }

    /// Whether `event` was sent during the run.
    pub(crate) fn was_sent_in_run(self, event: &Event) -> bool {
        let (.., first, last) = self.run;
        event.sent.is_some_and(|sent| (first..=last).contains(&sent.0))
    }

    /// Passes every sent request of the window to `see`, in the order of the recording, with its sent time and the
    /// columns of [`Events::each_response`](offered_events::Events::each_response).
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn each_sent(self, mut see: impl FnMut(u64, &Event)) -> io::Result<()> {
        self.each(|event| {
            if let Some(sent) = self.sent_time(event.key()) {
                see(sent, event);
            }
        })
    }

    /// Passes every request scheduled in the window to `see`, sent or not, in the order of the recording.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn each_scheduled(self, mut see: impl FnMut(&Event)) -> io::Result<()> {
        self.each(|event| {
            if self.is_scheduled_in_window(event.key()) {
                see(event);
            }
        })
    }

    /// The number of sent requests that satisfy `which`, and the first and the last of their sent times.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn ends(self, which: impl Fn(&Event) -> bool) -> io::Result<Ends> {
        let mut ends = Ends::default();
        self.each_sent(|sent, event| {
            if which(event) {
                ends.add(sent);
            }
        })?;
        Ok(ends)
    }

    /// Creates a collector with `fresh` and passes it the sent requests, in the order of their sent times.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn in_sent_order<C>(self, fresh: impl Fn() -> C, add: impl Fn(&mut C, SentRequest)) -> io::Result<C> {
        let source = |give: &mut dyn FnMut(SentRequest)| {
            self.each_key(|key| self.sent_request(key).into_iter().for_each(&mut *give))
        };
        in_order(&source, fresh, add)
    }

    /// Creates a collector with `fresh` and passes it the `key` of each sent request, in ascending order.
    pub(crate) fn in_order_by<K: Key, C>(
        self,
        key: impl Fn(u64, &Event) -> K,
        fresh: impl Fn() -> C,
        add: impl Fn(&mut C, K),
    ) -> io::Result<C> {
        let source = |give: &mut dyn FnMut(K)| self.each_sent(|sent, event| give(key(sent, event)));
        in_order(&source, fresh, add)
    }

    /// The window for the verdict: it contains `launches` of the `all` sent requests of the run.
    pub(crate) fn window(self, requests: u64, all: u64) -> Window {
        let since = |at: u64| Instant(self.origin).until(Instant(at)).as_secs_f64();
        let last = match self.stability_interval() {
            _ if !self.recording.on_run_clock => self.to - 1,
            // A run that was stopped ended with its last request.
            Some((_, to)) => to.0,
            None => self.to,
        };
        Window { start_s: since(self.from), end_s: since(last), requests, excluded: all - requests.min(all) }
    }

    /// The interval in which arrivals and completions are counted for stability; `None` if it is empty.
    pub(crate) fn stability_interval(self) -> Option<(Instant, Instant)> {
        // After a run was stopped, the rest of its time is empty.
        let stopped = self.recording.generator.as_ref().is_some_and(|evidence| evidence.stopped);
        let last = self.recording.events.extent().last_intended.map_or(0, |last| last.0.saturating_add(1));
        let to = if stopped { self.to.min(last) } else { self.to };
        (self.from < to).then_some((Instant(self.from), Instant(to)))
    }
}
