//! Events that could not be written.

use std::sync::Arc;

use offered_events::{Columns, EventSource, Events, Extent};
use offered_events::{Event, Recording};

use crate::error::Error;
use crate::labels::Labels;

/// The last events of a run, which could not be written.
#[derive(Debug)]
pub struct WriteLoss {
    /// The events in memory; [`WriteLoss::append_to`] takes them.
    pub(crate) events: Vec<Event>,
    /// The names of their labels.
    pub(crate) labels: Vec<String>,
    /// Number of further events that are lost, because memory was full.
    pub(crate) lost: u64,
    /// Number of all events that are not on disk.
    pub(crate) missing: u64,
    /// The system's error.
    pub(crate) reason: Error,
}

impl WriteLoss {
    /// Converts the loss into an error.
    pub fn error(self) -> Error {
        Error::WriteLoss { missing: self.missing, lost: self.lost, reason: Box::new(self.reason) }
    }

    /// Appends the events in memory to those on disk, and releases them.
    pub fn append_to(&mut self, written: Recording) -> Recording {
        append(std::mem::take(&mut self.events), &self.labels, written)
    }
}

/// Appends events with these labels to those on disk.
pub(crate) fn append(mut last: Vec<Event>, own_labels: &[String], written: Recording) -> Recording {
    let mut labels = Labels::default();
    let mut numbers =
        |names: &[String]| -> Vec<u16> { names.iter().map(|name| labels.number(name.as_bytes())).collect() };
    numbers(&written.labels);
    let numbers = numbers(own_labels);
    for event in &mut last {
        event.label = numbers.get(usize::from(event.label)).copied().unwrap_or(event.label);
    }
    let extent = written.events.extent().and(Extent::of(&last));
    let events = Events::new(Arc::new(Appended { written: written.events, last }), extent);
    Recording { events, labels: labels.names().to_vec(), ..written }
}

/// Events followed by more events in memory.
struct Appended {
    written: Events,
    last: Vec<Event>,
}

impl EventSource for Appended {
    fn scan(&self, columns: Columns, visit: &mut dyn FnMut(&[Event])) -> std::io::Result<()> {
        self.written.batches(columns, visit)?;
        self.last.scan(columns, visit)
    }
}
