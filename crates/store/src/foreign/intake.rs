//! What a reader fills while it goes through a file: events, names, and everything that did not fit.

use std::borrow::Cow;

use offered_model::{Event, Nanos, Recording};

use crate::error::Error;
use crate::foreign::rows::{Row, Rows};
use crate::labels::Labels;

/// Why a row cannot be read.
pub(super) type Bad = Cow<'static, str>;

/// How many unreadable rows are listed; the rest are counted.
const LISTED: usize = 10;

/// A recording in the making.
pub(super) struct Intake {
    name: String,
    pub(super) recording: Recording,
    labels: Labels,
    /// Rows that were understood, whether or not they were launches.
    understood: u64,
}

impl Intake {
    pub(super) fn new(name: &str, format: &str) -> Self {
        let recording = Recording { format: format.to_owned(), resolution: Nanos(1), ..Recording::default() };
        Self { name: name.to_owned(), recording, labels: Labels::default(), understood: 0 }
    }

    /// The name of the file, for errors.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    #[inline]
    pub(super) fn label(&mut self, name: &[u8]) -> u16 {
        self.labels.number(name)
    }

    /// The names so far, by number.
    pub(super) fn labels(&self) -> &[String] {
        self.labels.names()
    }

    /// Takes a launch of the request named `label`.
    #[inline]
    pub(super) fn launch(&mut self, label: &[u8], event: Event) {
        let label = self.label(label);
        self.recording.events.push(Event { label, ..event });
    }

    /// Counts a row that cannot be read; `place` is its line, or what else finds it in the file.
    pub(super) fn bad(&mut self, place: impl std::fmt::Display, why: &str) {
        self.recording.unreadable += 1;
        if self.recording.complaints.len() < LISTED {
            self.recording.complaints.push(format!("{}:{place}: {why}", self.name));
        }
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.recording.notes.push(note.into());
    }

    /// The file ends too early: in the middle of a row, or of the compressed stream around it.
    pub(super) fn cut(&mut self) {
        let note = "cut: the file ends in the middle of a row";
        if !self.recording.notes.iter().any(|known| known == note) {
            self.note(note);
        }
    }

    /// Counts a row that was understood.
    pub(super) fn understood(&mut self) {
        self.understood += 1;
    }

    /// Takes the first row for a header and finds the columns of these names in it, upper and lower case alike.
    pub(super) fn header<const N: usize>(
        &self,
        rows: &mut Rows,
        names: [&str; N],
    ) -> Result<[Option<usize>; N], Error> {
        let row = rows.next().map_err(|why| Error::content(&self.name, why.to_string()))?;
        let row = row.ok_or_else(|| Error::content(&self.name, "has no header"))?;
        Ok(names.map(|name| (0..row.len()).find(|&i| row.get(i).trim_ascii().eq_ignore_ascii_case(name.as_bytes()))))
    }

    /// Gives `read` every row that is not blank and takes account of what it cannot read.
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

    /// The recording, unless most of it could not be read.
    pub(super) fn finish(self) -> Result<Recording, Error> {
        let Self { name, mut recording, labels, understood } = self;
        let rows = understood + recording.unreadable;
        if recording.unreadable * 2 > rows {
            return Err(Error::AnotherKind {
                file: name,
                kind: recording.format,
                unreadable: recording.unreadable,
                rows,
                first: recording.complaints.swap_remove(0),
            });
        }
        if recording.events.is_empty() && recording.notes.iter().any(|note| note.starts_with("cut")) {
            return Err(Error::content(name, format!("holds no whole row of {}", recording.format)));
        }
        recording.labels = labels.into_names(&mut recording.notes);
        Ok(recording)
    }
}
