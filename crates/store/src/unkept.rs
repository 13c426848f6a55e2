//! What a disk would not take of a run.

use std::sync::Arc;

use offered_model::events::{Events, Extent, Tape, Wanted};
use offered_model::{Event, Recording};

use crate::error::Error;
use crate::labels::Labels;

/// The last events of a run, which are in memory alone.
#[derive(Debug)]
pub struct Unkept {
    /// Those that are still known; taken by who puts them behind the others.
    pub(crate) events: Vec<Event>,
    /// The names that their labels point into.
    pub(crate) labels: Vec<String>,
    /// How many are not, because memory had no room for them either.
    pub(crate) lost: u64,
    /// How many they are all together.
    pub(crate) missing: u64,
    /// What the system said.
    pub(crate) why: Error,
}

impl Unkept {
    /// As an error.
    pub fn error(self) -> Error {
        Error::Unkept { missing: self.missing, lost: self.lost, why: Box::new(self.why) }
    }

    /// Puts what is still known behind what the disk has, and forgets it.
    pub fn behind(&mut self, kept: Recording) -> Recording {
        let mut labels = Labels::default();
        let mut numbers =
            |names: &[String]| -> Vec<u16> { names.iter().map(|name| labels.number(name.as_bytes())).collect() };
        numbers(&kept.labels);
        let numbers = numbers(&self.labels);
        let mut last = std::mem::take(&mut self.events);
        for event in &mut last {
            event.label = numbers.get(usize::from(event.label)).copied().unwrap_or(event.label);
        }
        let extent = kept.events.extent().and(Extent::of(&last));
        let events = Events::new(Arc::new(Behind { kept: kept.events, last }), extent);
        Recording { events, labels: labels.names().to_vec(), ..kept }
    }
}

/// Events, and others after them.
struct Behind {
    kept: Events,
    last: Vec<Event>,
}

impl Tape for Behind {
    fn play(&self, wanted: Wanted, see: &mut dyn FnMut(&[Event])) -> std::io::Result<()> {
        self.kept.batches(wanted, see)?;
        self.last.play(wanted, see)
    }
}
