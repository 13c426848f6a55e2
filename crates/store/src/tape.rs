//! Tapes of parts: events gone through part by part, so that one part is in memory at a time.

use std::fs::File;
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use offered_model::Event;
use offered_model::events::{Events, Extent, Tape, Wanted};

use crate::labels::Labels;
use crate::part;

/// Where one part is.
pub(crate) enum Part {
    /// A file of a run directory.
    Named(PathBuf),
    /// So many bytes from this one on of a file without a name.
    Slice(Arc<File>, u64, usize),
    /// In memory as it was read.
    Whole(Bytes),
    /// In memory, with labels that are known to all parts.
    Held(Vec<Event>),
}

impl Part {
    /// Gives `see` what is wanted of its events, naming their labels in `labels`.
    pub(crate) fn play(&self, labels: &mut Labels, wanted: Wanted, see: &mut dyn FnMut(&[Event])) -> io::Result<()> {
        let bytes = match self {
            Self::Named(path) => {
                let mut bytes = Vec::new();
                File::open(path)?.read_to_end(&mut bytes)?;
                bytes.into()
            }
            Self::Slice(file, from, length) => {
                let mut bytes = vec![0; *length];
                file.read_exact_at(&mut bytes, *from)?;
                bytes.into()
            }
            Self::Whole(bytes) => bytes.clone(),
            Self::Held(events) => {
                see(events);
                return Ok(());
            }
        };
        part::play(bytes, labels, wanted, see).map_err(io::Error::other)
    }

    /// The error of playing it, with its name.
    pub(crate) fn named(&self, why: &io::Error) -> io::Error {
        match self {
            Self::Named(path) => io::Error::new(why.kind(), format!("{}: {why}", path.display())),
            Self::Slice(..) | Self::Whole(_) | Self::Held(_) => io::Error::new(why.kind(), why.to_string()),
        }
    }
}

/// Parts, one after another.
pub(crate) struct Parts {
    parts: Vec<Part>,
    /// The names that the labels of all parts point into.
    labels: Labels,
}

impl Parts {
    /// These, all of which have been played before with `labels`.
    pub(crate) fn new(parts: Vec<Part>, labels: Labels) -> Self {
        Self { parts, labels }
    }
}

impl Tape for Parts {
    fn play(&self, wanted: Wanted, see: &mut dyn FnMut(&[Event])) -> io::Result<()> {
        let mut labels = self.labels.clone();
        self.parts.iter().try_for_each(|part| part.play(&mut labels, wanted, see).map_err(|why| part.named(&why)))
    }
}

/// Events on their way into a recording: a few stay in memory, more go into a file without a name, among the system's temporary ones.
#[derive(Default)]
pub struct Spool {
    few: Vec<Event>,
    parts: Vec<Part>,
    file: Option<Arc<File>>,
    extent: Extent,
    /// The first failure; nothing is kept after it.
    failed: Option<io::Error>,
    /// Called between stretches of work.
    pause: Option<Box<dyn FnMut() + Send>>,
}

impl Spool {
    /// So many events are in memory, 35 MB of them.
    const FEW: usize = 200_000;

    /// From now on calls `pause` while it writes: after some 15 us of work, or more where much is written.
    pub fn pause_with(&mut self, pause: impl FnMut() + Send + 'static) {
        self.pause = Some(Box::new(pause));
    }

    /// What is known of those that it has.
    pub(crate) fn extent(&self) -> Extent {
        self.extent
    }

    /// Takes an event, whose label is one of `names`. What cannot be kept is told at the end.
    #[inline]
    pub fn push(&mut self, event: Event, names: &[String]) {
        self.extent.add(&event);
        self.few.push(event);
        if self.few.len() >= Self::FEW {
            self.spill(names);
        }
    }

    fn spill(&mut self, names: &[String]) {
        let few = [std::mem::take(&mut self.few)];
        if self.failed.is_none() {
            self.failed = self.write(&few, names).err();
        }
        [self.few] = few;
        self.few.clear();
    }

    fn write(&mut self, few: &[Vec<Event>], names: &[String]) -> io::Result<()> {
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
        part::write(BufWriter::new(&*file), few, names, &mut part::now_and_then(pause)).map_err(io::Error::other)?;
        let length = (&*file).seek(SeekFrom::End(0))? - from;
        self.parts.push(Part::Slice(file.clone(), from, length as usize));
        self.file = Some(file);
        Ok(())
    }

    /// The events, whose labels are one of `names`, and those names.
    ///
    /// # Errors
    /// They could not all be kept.
    pub fn events(mut self, names: Vec<String>) -> io::Result<(Events, Vec<String>)> {
        if self.parts.is_empty() {
            return Ok((self.finish(Labels::default())?, names));
        }
        // Parts know no names but those of their events.
        let mut labels = Labels::default();
        let known: Vec<u16> = names.iter().map(|name| labels.number(name.as_bytes())).collect();
        for event in &mut self.few {
            event.label = known.get(usize::from(event.label)).copied().unwrap_or(event.label);
        }
        let names = labels.names().to_vec();
        Ok((self.finish(labels)?, names))
    }

    /// The events, whose labels are those of `labels`.
    ///
    /// # Errors
    /// They could not all be kept.
    pub(crate) fn finish(self, labels: Labels) -> io::Result<Events> {
        if let Some(why) = self.failed {
            return Err(why);
        }
        let tape: Arc<dyn Tape> = match self.parts.is_empty() {
            true => Arc::new(self.few),
            false => Arc::new(Spooled { parts: Parts::new(self.parts, labels), last: self.few }),
        };
        Ok(Events::new(tape, self.extent))
    }
}

/// Parts, and what came after the last of them.
struct Spooled {
    parts: Parts,
    last: Vec<Event>,
}

impl Tape for Spooled {
    fn play(&self, wanted: Wanted, see: &mut dyn FnMut(&[Event])) -> io::Result<()> {
        self.parts.play(wanted, see)?;
        self.last.play(wanted, see)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_model::Instant;

    #[test]
    fn what_does_not_fit_into_memory_is_played_again_and_again_in_the_order_it_came() {
        let mut labels = Labels::default();
        let mut spool = Spool::default();
        let n = Spool::FEW as u64 * 2 + 5;
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
                .each_of_all(|event| {
                    assert_eq!((event.intended, event.label), (Instant(n - i), u16::from(i % 3 > 0)));
                    i += 1;
                })
                .unwrap();
            assert_eq!(i, n);
        }
    }
}
