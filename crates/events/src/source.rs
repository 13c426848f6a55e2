//! The events of a recording: scanned any number of times, and never loaded into memory as a whole.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::event::{Event, EventKey};
use offered_base::time::Instant;

/// Columns that a scan fills; the other fields of an event hold unspecified values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// All fields.
    All,
    /// The [`EventKey`], [`Event::object`], the session, its visit, and the response: its times, status, number of bytes, metrics, retries and attempt.
    Response,
    /// The [`EventKey`], [`Event::object`] and [`Event::attempt`].
    Key,
    /// The [`EventKey`], and what decides how many requests on the wire the event was.
    Wire,
}

/// A store of events that can be scanned repeatedly.
pub trait EventSource: Send + Sync {
    /// Calls `see` with batches of all events, including embedded objects, in the order in which they were recorded. Every scan gives the
    /// same events.
    ///
    /// # Errors
    /// The store cannot be read.
    fn scan(&self, columns: Columns, see: &mut dyn FnMut(&[Event])) -> io::Result<()>;
}

impl EventSource for Vec<Event> {
    fn scan(&self, _: Columns, see: &mut dyn FnMut(&[Event])) -> io::Result<()> {
        see(self);
        Ok(())
    }
}

/// Numbers of events and their time range, known before a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Number of requests, sent or not.
    pub launches: u64,
    /// Number of embedded objects.
    pub objects: u64,
    /// Number of attempts of requests that were sent several times.
    pub attempts: u64,
    /// The first and the last instant at which a request was sent; `None`: no request was sent.
    pub sent: Option<(Instant, Instant)>,
    /// The latest scheduled time; `None`: no requests.
    pub last_intended: Option<Instant>,
}

impl Extent {
    /// The extent of `events`.
    pub fn of(events: &[Event]) -> Self {
        let mut extent = Self::default();
        for event in events {
            extent.add(event);
        }
        extent
    }

    /// The extent of both sets of events together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let sent = match (self.sent, other.sent) {
            (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
            (one, other) => one.or(other),
        };
        Self {
            launches: self.launches + other.launches,
            objects: self.objects + other.objects,
            attempts: self.attempts + other.attempts,
            sent,
            last_intended: self.last_intended.max(other.last_intended),
        }
    }

    /// Adds one event to the counts.
    pub fn add(&mut self, event: &Event) {
        if event.object > 0 {
            self.objects += 1;
            return;
        }
        if event.attempt > 0 {
            self.attempts += 1;
            return;
        }
        self.launches += 1;
        self.last_intended = self.last_intended.max(Some(event.intended));
        if let Some(sent) = event.sent {
            let (first, last) = self.sent.unwrap_or((sent, sent));
            self.sent = Some((first.min(sent), last.max(sent)));
        }
    }
}

/// The events of a recording: its requests; their embedded objects ([`Event::object`] above 0) and the attempts of those that were sent several
/// times ([`Event::attempt`] above 0), which are not counted as requests.
#[derive(Clone)]
pub struct Events {
    source: Arc<dyn EventSource>,
    extent: Extent,
}

impl Events {
    /// The events of `source`, which have this extent.
    pub fn new(source: Arc<dyn EventSource>, extent: Extent) -> Self {
        Self { source, extent }
    }

    /// Numbers of events and their time range.
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// Number of requests, sent or not.
    pub fn launches(&self) -> u64 {
        self.extent.launches
    }

    /// Calls `see` with every request, in the order in which they were recorded.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn each(&self, mut see: impl FnMut(&Event)) -> io::Result<()> {
        self.source
            .scan(Columns::All, &mut |events| events.iter().filter(|event| event.is_request()).for_each(&mut see))
    }

    /// Calls `see` with every request, with the fields of [`Columns::Response`] filled, in the order in which they were recorded. A columnar
    /// store reads only these columns.
    ///
    /// # Errors
    /// The errors of [`Events::each`].
    pub fn each_response(&self, mut see: impl FnMut(&Event)) -> io::Result<()> {
        self.source
            .scan(Columns::Response, &mut |events| events.iter().filter(|event| event.is_request()).for_each(&mut see))
    }

    /// Calls `see` with the key of every request, in the order in which they were recorded. A columnar store reads only these columns.
    ///
    /// # Errors
    /// The errors of [`Events::each`].
    pub fn each_key(&self, mut see: impl FnMut(EventKey)) -> io::Result<()> {
        self.source.scan(Columns::Key, &mut |events| {
            events.iter().filter(|event| event.is_request()).for_each(|event| see(event.key()));
        })
    }

    /// Calls `see` with every embedded object, in the order in which they were recorded.
    ///
    /// # Errors
    /// The errors of [`Events::each`].
    pub fn each_object(&self, mut see: impl FnMut(&Event)) -> io::Result<()> {
        if self.extent.objects == 0 {
            return Ok(());
        }
        self.source.scan(Columns::All, &mut |events| events.iter().filter(|event| event.object > 0).for_each(&mut see))
    }

    /// Calls `see` with every request and every embedded object, in the order in which they were recorded.
    ///
    /// # Errors
    /// The errors of [`Events::each`].
    pub fn each_with_objects(&self, mut see: impl FnMut(&Event)) -> io::Result<()> {
        self.source
            .scan(Columns::All, &mut |events| events.iter().filter(|event| event.attempt == 0).for_each(&mut see))
    }

    /// Calls `see` with every attempt of the requests that were sent several times, in the order in which they were recorded.
    ///
    /// # Errors
    /// The errors of [`Events::each`].
    pub fn each_attempt(&self, mut see: impl FnMut(&Event)) -> io::Result<()> {
        if self.extent.attempts == 0 {
            return Ok(());
        }
        self.source.scan(Columns::All, &mut |events| events.iter().filter(|event| event.attempt > 0).for_each(&mut see))
    }

    /// Calls `see` with every request, object and attempt, with the fields of [`Columns::Wire`] filled, in the order in which they were
    /// recorded. A columnar store reads only these columns.
    ///
    /// # Errors
    /// The errors of [`Events::each`].
    pub fn each_on_the_wire(&self, mut see: impl FnMut(&Event)) -> io::Result<()> {
        self.source.scan(Columns::Wire, &mut |events| events.iter().for_each(&mut see))
    }

    /// Calls `see` with every request, object and attempt, in the order in which they were recorded.
    ///
    /// # Errors
    /// The errors of [`Events::each`].
    pub fn each_row(&self, mut see: impl FnMut(&Event)) -> io::Result<()> {
        self.source.scan(Columns::All, &mut |events| events.iter().for_each(&mut see))
    }

    /// Calls `see` with batches of all requests and embedded objects, with the fields of `columns` filled, in the order in which they were
    /// recorded.
    ///
    /// # Errors
    /// The errors of [`Events::each`].
    pub fn batches(&self, columns: Columns, see: &mut dyn FnMut(&[Event])) -> io::Result<()> {
        self.source.scan(columns, see)
    }

    /// All requests in memory, for a recording that is known to be small.
    ///
    /// # Errors
    /// The errors of [`Events::each`].
    pub fn to_vec(&self) -> io::Result<Vec<Event>> {
        let mut launches = Vec::new();
        self.each(|event| launches.push(event.clone()))?;
        Ok(launches)
    }
}

impl From<Vec<Event>> for Events {
    fn from(events: Vec<Event>) -> Self {
        let extent = Extent::of(&events);
        Self::new(Arc::new(events), extent)
    }
}

impl Default for Events {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.extent.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_objects_and_attempts_are_counted_separately() {
        let event = |ms, object, sent| Event {
            object,
            sent: Some(Instant::from_millis(ms)).filter(|_| sent),
            ..Event::at(Instant::from_millis(ms))
        };
        let events = Events::from(vec![
            event(5, 1, true),
            event(3, 0, true),
            event(7, 0, false),
            Event { attempt: 1, ..event(9, 0, true) },
            event(4, 0, true),
        ]);
        let ms = Instant::from_millis;
        assert_eq!(
            events.extent(),
            Extent { launches: 3, objects: 1, attempts: 1, sent: Some((ms(3), ms(4))), last_intended: Some(ms(7)) }
        );
        let (mut launches, mut objects, mut attempts, mut all) = (Vec::new(), Vec::new(), Vec::new(), (0, 0));
        events.each(|event| launches.push(event.intended)).unwrap();
        events.each_object(|event| objects.push(event.intended)).unwrap();
        events.each_attempt(|event| attempts.push(event.intended)).unwrap();
        events.each_with_objects(|_| all.0 += 1).unwrap();
        events.each_row(|_| all.1 += 1).unwrap();
        assert_eq!((launches, objects, attempts, all), (vec![ms(3), ms(7), ms(4)], vec![ms(5)], vec![ms(9)], (4, 5)));
    }
}
