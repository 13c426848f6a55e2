//! The record: one CSV row per request, written by its own thread.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use offered_base::{Instant, Nanos};
use offered_events::csv::Table;

/// One request. Times are since the server's start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// When its last byte was read.
    pub(crate) arrival: Instant,
    /// Work of its job; `None` for endpoints without a job.
    pub(crate) work: Option<Nanos>,
    /// When the discipline completed it and the response was due.
    pub(crate) due: Option<Instant>,
    /// When the last byte of the response was passed to the system; `None` if it never was.
    pub(crate) done: Option<Instant>,
    /// The request's target.
    pub(crate) path: String,
    /// When the system received its last byte; `None` without a timestamp.
    pub(crate) received: Option<Instant>,
}

/// Header of the CSV file.
const HEADER: [&str; 6] = ["arrival_ns", "work_ns", "due_ns", "done_ns", "path", "received_ns"];
/// Number of rows that are passed to the writer at once.
const BATCH: usize = 4096;
/// Time after which waiting rows are passed to the writer.
const FLUSH_INTERVAL: Nanos = Nanos::from_millis(500);

/// Sends rows to the writer thread without waiting for it.
pub(crate) struct Recorder {
    rows: Vec<Row>,
    /// When `rows` were last passed to the writer.
    flushed_at: Instant,
    writer: Sender<Vec<Row>>,
    thread: JoinHandle<io::Result<()>>,
}

impl Recorder {
    /// Creates a record in a new file at `path`.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = File::create_new(path)?;
        let (writer, rows) = channel();
        let thread = std::thread::Builder::new().name("record".into()).spawn(move || write(file, &rows))?;
        Ok(Self { rows: Vec::with_capacity(BATCH), flushed_at: Instant::ZERO, writer, thread })
    }

    /// When waiting rows must be passed to the writer; `None` without rows.
    pub(crate) fn next(&self) -> Option<Instant> {
        (!self.rows.is_empty()).then(|| self.flushed_at + FLUSH_INTERVAL)
    }

    pub(crate) fn add(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Passes the rows to the writer if there are enough or the interval has passed.
    pub(crate) fn tick(&mut self, now: Instant) {
        if self.rows.len() >= BATCH || self.next().is_some_and(|next| next <= now) {
            // An error means that the writer has failed; `finish` returns its error.
            let _ = self.writer.send(std::mem::replace(&mut self.rows, Vec::with_capacity(BATCH)));
            self.flushed_at = now;
        }
    }

    /// Writes the remaining rows and closes the file.
    pub(crate) fn finish(self) -> io::Result<()> {
        let _ = self.writer.send(self.rows);
        drop(self.writer);
        self.thread.join().expect("the writer does not panic")
    }
}

fn write(file: File, batches: &Receiver<Vec<Row>>) -> io::Result<()> {
    let mut table = Table::new(file);
    table.row(HEADER)?;
    table.flush()?;
    for batch in batches {
        for row in &batch {
            write_row(&mut table, row)?;
        }
        table.flush()?;
    }
    Ok(())
}

fn write_row(table: &mut Table<File>, row: &Row) -> io::Result<()> {
    let ns = |at: Option<Instant>| at.map(|at| at.0);
    table
        .number(Some(row.arrival.0))?
        .number(row.work.map(|work| work.0))?
        .number(ns(row.due))?
        .number(ns(row.done))?;
    table.text(&row.path)?.number(ns(row.received))?.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_after_the_interval_and_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen.csv");
        let mut recorder = Recorder::create(&path).unwrap();
        let row = |arrival, path: &str| Row {
            arrival: Instant(arrival),
            work: None,
            due: Some(Instant(7)),
            done: None,
            path: path.into(),
            received: (arrival > 1).then_some(Instant(1)),
        };
        recorder.add(row(1, "/"));
        assert_eq!(recorder.next(), Some(Instant::ZERO + FLUSH_INTERVAL));
        recorder.tick(Instant::ZERO + FLUSH_INTERVAL);
        assert_eq!(recorder.next(), None);
        recorder.add(row(2, "/a,b?c=\"d\""));
        recorder.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, format!("{}\n1,,7,,/,\n2,,7,,\"/a,b?c=\"\"d\"\"\",1\n", HEADER.join(",")));
        assert!(Recorder::create(&path).is_err(), "a record is never overwritten");
    }
}
