//! Event sources made of parts: a scan holds one part in memory at a time.

use std::fs::File;
use std::io::{self, BufWriter, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use offered_events::Event;
use offered_events::{Columns, EventSource, Events, Extent};
use offered_io::read_regular;

use crate::labels::Labels;
use crate::part::{self, PartContext};

/// Where one part of a recording is stored.
pub(crate) enum Part {
    /// A file of a run directory.
    File(PathBuf),
    /// A byte range of an unnamed file: offset and length.
    Slice(Arc<File>, u64, usize),
    /// The bytes of a Parquet file, in memory.
    Bytes(Bytes),
    /// Decoded events; their labels have the numbers of the whole recording.
    Events(Vec<Event>),
}

impl Part {
    /// Passes the requested columns of its events to `visit`, with labels numbered by `labels`.
    pub(crate) fn scan(
        &self,
        labels: &mut Labels,
        columns: Columns,
        visit: &mut dyn FnMut(&[Event]),
    ) -> io::Result<()> {
        let bytes = match self {
            Self::File(path) => read_regular(path)?.into(),
            Self::Slice(file, from, length) => {
                let mut bytes = vec![0; *length];
                file.read_exact_at(&mut bytes, *from)?;
                bytes.into()
            }
            Self::Bytes(bytes) => bytes.clone(),
            Self::Events(events) => {
                visit(events);
                return Ok(());
            }
        };
        part::scan(bytes, labels, columns, visit).map_err(io::Error::other)
    }

    /// Adds the path of the part to an error of [`Part::scan`].
    pub(crate) fn with_path(&self, why: &io::Error) -> io::Error {
        match self {
            Self::File(path) => io::Error::new(why.kind(), format!("{}: {why}", path.display())),
            Self::Slice(..) | Self::Bytes(_) | Self::Events(_) => io::Error::new(why.kind(), why.to_string()),
        }
    }
}

/// A sequence of parts.
pub(crate) struct Parts {
    parts: Vec<Part>,
    /// The names of all parts.
    labels: Labels,
}

impl Parts {
    /// All parts must have been scanned with `labels` before.
    pub(crate) fn new(parts: Vec<Part>, labels: Labels) -> Self {
        Self { parts, labels }
    }
}

impl EventSource for Parts {
    fn scan(&self, columns: Columns, visit: &mut dyn FnMut(&[Event])) -> io::Result<()> {
        let mut labels = self.labels.clone();
        self.parts
            .iter()
            .try_for_each(|part| part.scan(&mut labels, columns, visit).map_err(|why| part.with_path(&why)))
    }
}

/// Collects any number of events: the first [`Spool::MAX_IN_MEMORY`] stay in memory, and further events go to an
/// unnamed temporary file.
#[derive(Default)]
pub struct Spool {
    in_memory: Vec<Event>,
    parts: Vec<Part>,
    file: Option<Arc<File>>,
    extent: Extent,
    /// The first write error; later events are dropped.
    write_error: Option<io::Error>,
    /// Called between stretches of work.
    pause: Option<Box<dyn FnMut() + Send>>,
}

impl Spool {
    /// Maximum number of events in memory (35 MB). The capacity of a vector grows in powers of two.
    const MAX_IN_MEMORY: usize = 1 << 17;

    /// Calls `pause` while writing: after every 15 us of work, or less often if many events are written.
    pub fn pause_with(&mut self, pause: impl FnMut() + Send + 'static) {
        self.pause = Some(Box::new(pause));
    }

    /// The extent of the collected events.
    pub(crate) fn extent(&self) -> Extent {
        self.extent
    }

    /// Adds an event; its label is an index into `names`. [`Spool::events`] reports write errors.
    #[inline]
    pub fn push(&mut self, event: Event, names: &[String]) {
        self.extent.add(&event);
        self.in_memory.push(event);
        if self.in_memory.len() >= Self::MAX_IN_MEMORY {
            self.spill(names);
        }
    }

    fn spill(&mut self, names: &[String]) {
        let in_memory = [std::mem::take(&mut self.in_memory)];
        if self.write_error.is_none() {
            self.write_error = self.write(&in_memory, names).err();
        }
        [self.in_memory] = in_memory;
        self.in_memory.clear();
    }

    fn write(&mut self, in_memory: &[Vec<Event>], names: &[String]) -> io::Result<()> {
        let file = match self.file.take() {
            Some(file) => file,
            None => Arc::new(tempfile::tempfile()?),
        };
        let from = (&*file).seek(SeekFrom::End(0))?;
        let pause = &mut || {
            if let Some(pause) = &mut self.pause {
                pause();
            }
        };
        let context = PartContext { labels: names, ..PartContext::default() };
        part::write(BufWriter::new(&*file), in_memory, context, &mut part::now_and_then(pause))
            .map_err(io::Error::other)?;
        let length = (&*file).seek(SeekFrom::End(0))? - from;
        self.parts.push(Part::Slice(file.clone(), from, length as usize));
        self.file = Some(file);
        Ok(())
    }

    /// Returns the events and the names of their labels.
    ///
    /// # Errors
    /// Some events could not be written.
    pub fn events(mut self, names: Vec<String>) -> io::Result<(Events, Vec<String>)> {
        if self.parts.is_empty() {
            return Ok((self.finish(Labels::default())?, names));
        }
        // Parts number labels by first use, so number the names in the same way.
        let mut labels = Labels::default();
        let known: Vec<u16> = names.iter().map(|name| labels.number(name.as_bytes())).collect();
        for event in &mut self.in_memory {
            event.label = known.get(usize::from(event.label)).copied().unwrap_or(event.label);
        }
        let names = labels.names().to_vec();
        Ok((self.finish(labels)?, names))
    }

    /// Returns the events with labels numbered by `labels`.
    ///
    /// # Errors
    /// Some events could not be written.
    pub(crate) fn finish(self, labels: Labels) -> io::Result<Events> {
        if let Some(why) = self.write_error {
            return Err(why);
        }
        let source: Arc<dyn EventSource> = match self.parts.is_empty() {
            true => Arc::new(self.in_memory),
            false => Arc::new(Spooled { parts: Parts::new(self.parts, labels), last: self.in_memory }),
        };
        Ok(Events::new(source, self.extent))
    }
}

/// Parts, followed by events in memory.
struct Spooled {
    parts: Parts,
    last: Vec<Event>,
}

impl EventSource for Spooled {
    fn scan(&self, columns: Columns, visit: &mut dyn FnMut(&[Event])) -> io::Result<()> {
        self.parts.scan(columns, visit)?;
        self.last.scan(columns, visit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_base::Instant;

    #[test]
    fn a_spool_that_overflows_to_disk_scans_repeatedly_in_order() {
        let mut labels = Labels::default();
        let mut spool = Spool::default();
        let n = Spool::MAX_IN_MEMORY as u64 * 2 + 5;
        for i in 0..n {
            let label = labels.number(if i % 3 == 0 { b"home" } else { b"cart" });
            let at = Instant(n - i);
            spool.push(Event { label, sent: Some(at), object: u16::from(i == 7), ..Event::at(at) }, labels.names());
        }
        let events = spool.finish(labels).unwrap();
        assert_eq!((events.extent().launches, events.extent().objects), (n - 1, 1));
        for _ in 0..2 {
            let mut i = 0;
            events
                .each_with_objects(|event| {
                    assert_eq!((event.intended, event.label), (Instant(n - i), u16::from(i % 3 > 0)));
                    i += 1;
                })
                .unwrap();
            assert_eq!(i, n);
        }
    }
}
