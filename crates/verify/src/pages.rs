//! Pages: requests that load objects, as a browser does.

use std::collections::HashMap;
use std::io;
use std::ops::Range;

use offered_base::{Difference, Instant};
use offered_events::Columns;
use offered_events::{Event, Outcome, Recording};
use offered_stats::values::Values;
use serde::{Deserialize, Serialize};

/// The pages of a run that were scheduled in the analysed time. A page is complete when its last object is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pages {
    /// Number of requests that load objects.
    pub pages: u64,
    /// Number of pages that failed, for example because of an object.
    pub failed: u64,
    /// Pages per second of the analysed time.
    pub pages_per_s: f64,
    /// Number of requests for objects, successful or not; the requests for the pages do not count.
    pub objects: u64,
    /// Number of objects that failed.
    pub objects_failed: u64,
    /// Objects per second of the analysed time.
    pub objects_per_s: f64,
    /// The mean response time of a page: from its scheduled time until its last object completed or failed, in
    /// milliseconds.
    pub response_mean_ms: f64,
    /// The median response time of the pages, in milliseconds.
    pub response_p50_ms: f64,
    /// The 95th percentile of the response time of the pages, in milliseconds.
    pub response_p95_ms: f64,
    /// The 99th percentile of the response time of the pages, in milliseconds.
    pub response_p99_ms: f64,
    /// The maximum response time of the pages, in milliseconds.
    pub response_max_ms: f64,
    /// Bytes received for objects.
    pub bytes_in: u64,
    /// Bytes sent for objects.
    pub bytes_out: u64,
}

/// An object of a page.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    /// The outcome of the request for the object.
    pub outcome: Outcome,
    /// The service time of the object (done - sent).
    pub service: Option<Difference>,
    done: Option<Instant>,
    bytes: [u64; 2],
}

impl From<&Event> for Object {
    fn from(event: &Event) -> Self {
        let Event { outcome, done, bytes_in, bytes_out, .. } = *event;
        Self { outcome, service: event.service(), done, bytes: [bytes_in, bytes_out] }
    }
}

/// Joins objects to their pages. It stores the objects until the event of their request arrives.
#[derive(Clone, Debug, Default)]
pub struct ObjectJoiner {
    waiting: HashMap<(u64, u32), Vec<Object>>,
}

impl ObjectJoiner {
    /// Adds the next event. For a request it returns its objects; `None` if the event is an object or an attempt.
    pub fn add(&mut self, event: &Event) -> Option<Vec<Object>> {
        let page = (event.session, event.step);
        if event.object > 0 {
            self.waiting.entry(page).or_default().push(event.into());
            return None;
        }
        if event.attempt > 0 {
            return None;
        }
        // Most runs have no objects.
        let brought = if self.waiting.is_empty() { None } else { self.waiting.remove(&page) };
        Some(brought.unwrap_or_default())
    }
}

/// The response time of a page: until its last object completed.
pub fn response(page: &Event, objects: &[Object]) -> Option<Difference> {
    let last = objects.iter().filter_map(|object| object.done).max();
    page.done.max(last).map(|there| there - page.intended)
}

/// For each label, whether it is a page: its request has one of these names, or one of its requests loaded an object.
///
/// # Errors
/// The recording cannot be read.
pub(crate) fn labels(recording: &Recording, names: &[String]) -> io::Result<Vec<bool>> {
    let mut are: Vec<bool> = recording.labels.iter().map(|label| names.contains(label)).collect();
    if recording.events.extent().objects > 0 {
        recording.events.batches(Columns::Key, &mut |events| {
            for event in events.iter().filter(|event| event.object > 0) {
                if let Some(is) = are.get_mut(usize::from(event.label)) {
                    *is = true;
                }
            }
        })?;
    }
    Ok(are)
}

/// Passes every page of these labels, with its objects, to `see`.
///
/// # Errors
/// The recording cannot be read.
pub(crate) fn each(recording: &Recording, labels: &[bool], mut see: impl FnMut(&Event, &[Object])) -> io::Result<()> {
    let mut joined = ObjectJoiner::default();
    recording.events.batches(Columns::All, &mut |events| {
        for event in events.iter().filter(|event| labels.get(usize::from(event.label)) == Some(&true)) {
            if let Some(objects) = joined.add(event) {
                see(event, &objects);
            }
        }
    })
}

impl Pages {
    /// The pages among the requests scheduled in `judged`, relative to the start of the run; `None` if no request
    /// loaded an object. `names` are the requests known to load objects; other requests count if they loaded an object
    /// at least once.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn of(recording: &Recording, judged: Range<Instant>, names: &[String]) -> io::Result<Option<Self>> {
        if recording.events.extent().objects == 0 && names.is_empty() {
            return Ok(None);
        }
        let (mut pages, mut failed, mut objects, mut objects_failed) = (0, 0, 0, 0);
        let (mut bytes, mut responses) = ([0, 0], Values::<i64>::default());
        each(recording, &labels(recording, names)?, |page, brought| {
            if !judged.contains(&page.intended) {
                return;
            }
            pages += 1;
            failed += u64::from(page.outcome != Outcome::Ok);
            objects += brought.len() as u64;
            for object in brought {
                objects_failed += u64::from(object.outcome != Outcome::Ok);
                bytes = [bytes[0] + object.bytes[0], bytes[1] + object.bytes[1]];
            }
            if let Some(response) = response(page, brought) {
                responses.add(response.0);
            }
        })?;
        let Some(ms) = responses.sorted().summary(1e6) else { return Ok(None) };
        let seconds = judged.start.until(judged.end).as_secs_f64();
        Ok(Some(Self {
            pages,
            failed,
            pages_per_s: pages as f64 / seconds,
            objects,
            objects_failed,
            objects_per_s: objects as f64 / seconds,
            response_mean_ms: ms.mean,
            response_p50_ms: ms.median,
            response_p95_ms: ms.p95,
            response_p99_ms: ms.p99,
            response_max_ms: ms.max,
            bytes_in: bytes[0],
            bytes_out: bytes[1],
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_events::Event;

    #[test]
    fn a_page_completes_with_its_last_object() {
        let ms = Instant::from_millis;
        let event = |session, object, intended: u64, done: u64, outcome| Event {
            session,
            object,
            sent: Some(ms(intended)),
            done: Some(ms(done)),
            outcome,
            bytes_in: 10,
            ..Event::at(ms(intended))
        };
        let page = Event { label: 1, ..event(4, 0, 2500, 2600, Outcome::HttpError) };
        let events = vec![
            event(0, 1, 1010, 1030, Outcome::Ok),
            event(0, 2, 1010, 1050, Outcome::HttpError),
            event(0, 0, 1000, 1010, Outcome::ObjectFailed),
            event(1, 0, 1500, 1600, Outcome::HttpError),
            event(2, 1, 2010, 2020, Outcome::Ok),
            event(2, 0, 2000, 2010, Outcome::Ok),
            page,
            event(3, 1, 9000, 9999, Outcome::Ok),
            event(3, 0, 8000, 9000, Outcome::Ok),
        ];
        let recording = Recording::of_run(events, vec!["page".to_owned(), "plain".to_owned()]);
        assert_eq!((recording.events.launches(), recording.events.extent().objects), (5, 4));
        let of =
            |names: &[String]| Pages::of(&recording, Instant::ZERO..Instant::from_secs(4), names).unwrap().unwrap();
        let pages = of(&[]);
        assert_eq!((pages.pages, pages.failed, pages.objects, pages.objects_failed), (3, 2, 3, 1), "one never came");
        assert_eq!((pages.pages_per_s, pages.objects_per_s), (0.75, 0.75));
        assert_eq!((pages.response_max_ms, pages.response_mean_ms, pages.bytes_in), (100.0, 170.0 / 3.0, 30));
        assert_eq!(
            (of(&["plain".to_owned()]).pages, of(&["plain".to_owned()]).failed),
            (4, 3),
            "that none of them came is known"
        );
        let plain = Recording { events: recording.events.to_vec().unwrap().into(), ..recording };
        assert_eq!(Pages::of(&plain, Instant::ZERO..Instant::MAX, &[]).unwrap(), None);
    }
}
