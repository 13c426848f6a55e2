//! The result of a reader: events, names, and unreadable rows.

use std::borrow::Cow;
use std::io;

use offered_base::Nanos;
use offered_events::Events;
use offered_events::{Event, Note, Recording};
use offered_stats::ticks;

use crate::error::Error;
use crate::event_source::Spool;
use crate::foreign::rows::{Row, Rows};
use crate::labels::Labels;

/// Why a row is unreadable.
pub(super) type Bad = Cow<'static, str>;

/// Maximum number of listed unreadable rows; further ones are only counted.
const LISTED: usize = 10;
/// Number of timestamps that suffice to detect the resolution of their clock.
const STAMPS: usize = 100_000;

/// A recording while its file is read.
pub(super) struct Intake {
    name: String,
    /// Without events and labels, which are added at the end.
    pub(super) recording: Recording,
    events: Spool,
    /// All events, once all rows are read.
    all: Option<Events>,
    labels: Labels,
    /// The largest of 1 ms, 0.1 ms, ... 1 ns that divides all send times.
    pub(super) step: Nanos,
    /// The first send times.
    stamps: Vec<u64>,
    /// Number of readable rows, including those that are not requests.
    understood: u64,
    /// Number of headers among them.
    headers: u64,
}

impl Intake {
    pub(super) fn new(name: &str, format: &str) -> Self {
        let recording = Recording { format: format.to_owned(), resolution: Nanos(1), ..Recording::default() };
        Self {
            name: name.to_owned(),
            recording,
            events: Spool::default(),
            all: None,
            labels: Labels::default(),
            step: Nanos::from_millis(1),
            stamps: Vec::new(),
            understood: 0,
            headers: 0,
        }
    }

    /// The name of the file, for errors.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    #[inline]
    pub(super) fn label(&mut self, name: &[u8]) -> u16 {
        self.labels.number(name)
    }

    /// The names, by number.
    pub(super) fn labels(&self) -> &[String] {
        self.labels.names()
    }

    /// Adds a request named `label`, or one of its page objects.
    #[inline]
    pub(super) fn add(&mut self, label: &[u8], event: Event) {
        let label = self.label(label);
        self.take(Event { label, ..event });
    }

    /// Adds a request or page object that has its label number.
    #[inline]
    pub(super) fn take(&mut self, event: Event) {
        while event.sent.is_some_and(|sent| sent.0 % self.step.0 != 0) {
            self.step = Nanos(self.step.0 / 10);
        }
        if event.is_request() && self.stamps.len() < STAMPS {
            self.stamps.extend(event.sent.map(|sent| sent.0));
        }
        self.events.push(event, self.labels.names());
    }

    /// Whether there is no request.
    pub(super) fn has_launches(&self) -> bool {
        self.events.extent().launches > 0
    }

    /// All events, when all rows are read.
    pub(super) fn all(&mut self) -> Result<Events, Error> {
        let all = match self.all.take() {
            Some(all) => all,
            None => std::mem::take(&mut self.events).finish(self.labels.clone()).map_err(|why| self.unkept(&why))?,
        };
        self.all = Some(all.clone());
        Ok(all)
    }

    /// Applies `change` to every event, in the order of the file, when all rows are read. `change` may exclude the event.
    pub(super) fn revise(&mut self, mut change: impl FnMut(&mut Event) -> bool) -> Result<(), Error> {
        let all = self.all()?;
        self.all = None;
        self.stamps.clear();
        let revised = all.each_row(|event| {
            let mut event = event.clone();
            if change(&mut event) {
                self.take(event);
            }
        });
        revised.map_err(|why| self.unkept(&why))
    }

    /// The error for events that could not be stored in a temporary file.
    pub(super) fn unkept(&self, why: &io::Error) -> Error {
        Error::content(&self.name, format!("the events of the file cannot be stored temporarily: {why}"))
    }

    /// Counts an unreadable row; `place` is its line or another position in the file.
    pub(super) fn bad(&mut self, place: impl std::fmt::Display, why: &str) {
        self.recording.unreadable += 1;
        if self.recording.complaints.len() < LISTED {
            self.recording.complaints.push(format!("{}:{place}: {why}", self.name));
        }
    }

    pub(super) fn note(&mut self, note: Note) {
        self.recording.notes.push(note);
    }

    /// Notes that the file is truncated: in the middle of a row or of a compressed stream.
    pub(super) fn cut(&mut self) {
        if !self.recording.notes.contains(&Note::Truncated) {
            self.note(Note::Truncated);
        }
    }

    /// Counts a readable row.
    pub(super) fn understood(&mut self) {
        self.understood += 1;
    }

    /// Counts the current row of [`Self::each_row`] as a header, which says nothing about the other rows.
    pub(super) fn header_row(&mut self) {
        self.headers += 1;
    }

    /// Reads the first row as a header and returns the columns with these names, ignoring case.
    pub(super) fn header<const N: usize>(
        &self,
        rows: &mut Rows,
        names: [&str; N],
    ) -> Result<[Option<usize>; N], Error> {
        let row = rows.next().map_err(|why| Error::content(&self.name, why.to_string()))?;
        let row = row.ok_or_else(|| Error::content(&self.name, "has no header"))?;
        Ok(names.map(|name| row.column(name)))
    }

    /// Calls `read` for every row that is not blank, and counts the rows that it cannot read.
    pub(super) fn each_row(
        &mut self,
        rows: &mut Rows,
        mut read: impl FnMut(&mut Self, &Row) -> Result<(), Bad>,
    ) -> Result<(), Error> {
        while let Some(row) = rows.next().map_err(|why| Error::content(&self.name, why.to_string()))? {
            if row.is_blank() {
                continue;
            }
            match read(self, &row) {
                Ok(()) => self.understood += 1,
                Err(_) if !row.ended => self.cut(),
                Err(why) => self.bad(row.line, &why),
            }
        }
        if rows.cut {
            self.cut();
        }
        Ok(())
    }

    /// Sets the resolution to the given one, or to the one that is detected from the timestamps of another tool's file.
    fn clock(&mut self, said: Option<Nanos>) {
        let written = self.recording.resolution;
        if let Some(said) = said {
            self.recording.resolution = said;
        } else if !self.recording.intent_known {
            self.stamps.sort_unstable();
            if let Some(tick) = ticks::detect_resolution(&self.stamps, written.0).map(Nanos) {
                self.recording.resolution = tick;
                let [tick_ms, written_ms] = [tick, written].map(Nanos::as_millis_f64);
                self.note(Note::CoarseClock { tick_ms, unit_ms: written_ms });
            }
        }
    }

    /// The recording; an error if most rows are unreadable. `tick` is the resolution of its clock, if given.
    pub(super) fn finish(mut self, tick: Option<Nanos>) -> Result<Recording, Error> {
        self.clock(tick);
        let events = self.all()?;
        let Self { name, mut recording, labels, understood, headers, .. } = self;
        let rows = understood - headers + recording.unreadable;
        if recording.unreadable * 2 > rows {
            return Err(Error::WrongFormat {
                file: name,
                format: recording.format,
                unreadable: recording.unreadable,
                rows,
                first: recording.complaints.swap_remove(0),
            });
        }
        if events.launches() == 0 && recording.notes.contains(&Note::Truncated) {
            return Err(Error::content(name, format!("has no complete row of {}", recording.format)));
        }
        recording.events = events;
        recording.labels = labels.into_names(&mut recording.notes);
        Ok(recording)
    }
}
