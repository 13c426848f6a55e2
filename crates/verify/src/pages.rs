//! Pages: launches that brought objects with them, as a browser does.

use std::collections::HashMap;
use std::io;
use std::ops::Range;

use offered_model::events::Wanted;
use offered_model::{Difference, Event, Instant, Outcome, Recording};
use offered_stats::values::Values;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The pages of a run. A page is there with its last object; counted are those meant within the time that is judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pages {
    /// Launches of requests that bring objects.
    pub pages: u64,
    /// Those that ended otherwise than `ok`, be it for an object.
    pub failed: u64,
    /// Pages per second of the time that is judged.
    pub pages_per_s: f64,
    /// Objects that were asked for, whatever became of them; the pages themselves are not among them.
    pub objects: u64,
    /// Those that ended otherwise than `ok`.
    pub objects_failed: u64,
    /// Objects per second of the time that is judged.
    pub objects_per_s: f64,
    /// From the instant a page was meant until its last object was there (or given up): mean, ms.
    pub response_mean_ms: f64,
    /// The median, ms.
    pub response_p50_ms: f64,
    /// The 95 % point, ms.
    pub response_p95_ms: f64,
    /// The 99 % point, ms.
    pub response_p99_ms: f64,
    /// The longest, ms.
    pub response_max_ms: f64,
    /// Bytes read for objects.
    pub bytes_in: u64,
    /// Bytes written for objects.
    pub bytes_out: u64,
}

/// What came of one object.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    /// How it ended.
    pub outcome: Outcome,
    /// done - sent.
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

/// Events on their way to pages: an object waits until the launch comes that it belongs to.
#[derive(Clone, Debug, Default)]
pub struct Joined {
    waiting: HashMap<(u64, u32), Vec<Object>>,
}

impl Joined {
    /// Takes the next event; of a launch gives the objects that it brought.
    pub fn add(&mut self, event: &Event) -> Option<Vec<Object>> {
        let page = (event.session, event.step);
        if event.object > 0 {
            self.waiting.entry(page).or_default().push(event.into());
            return None;
        }
        // Most runs bring no objects at all.
        let brought = if self.waiting.is_empty() { None } else { self.waiting.remove(&page) };
        Some(brought.unwrap_or_default())
    }
}

/// When a page was there: with its last object.
pub fn response(page: &Event, objects: &[Object]) -> Option<Difference> {
    let last = objects.iter().filter_map(|object| object.done).max();
    page.done.max(last).map(|there| there - page.intended)
}

/// Which labels are pages': those of requests with these names, and those of which a launch brought an object.
///
/// # Errors
/// The recording can no longer be read.
pub(crate) fn labels(recording: &Recording, names: &[String]) -> io::Result<Vec<bool>> {
    let mut are: Vec<bool> = recording.labels.iter().map(|label| names.contains(label)).collect();
    if recording.events.extent().objects > 0 {
        recording.events.batches(Wanted::Place, &mut |events| {
            for event in events.iter().filter(|event| event.object > 0) {
                if let Some(is) = are.get_mut(usize::from(event.label)) {
                    *is = true;
                }
            }
        })?;
    }
    Ok(are)
}

/// Gives `see` every page of these labels, with its objects.
///
/// # Errors
/// The recording can no longer be read.
pub(crate) fn each(recording: &Recording, labels: &[bool], mut see: impl FnMut(&Event, &[Object])) -> io::Result<()> {
    let mut joined = Joined::default();
    recording.events.batches(Wanted::Whole, &mut |events| {
        for event in events.iter().filter(|event| labels.get(usize::from(event.label)) == Some(&true)) {
            if let Some(objects) = joined.add(event) {
                see(event, &objects);
            }
        }
    })
}

impl Pages {
    /// Of the launches meant within `judged`, since the run's start; `None` where no launch brought any object. `names` are the requests
    /// that bring objects, as far as they are known: of the others those count of which a launch did.
    ///
    /// # Errors
    /// The recording can no longer be read.
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
    use offered_model::Event;

    #[test]
    fn a_page_is_there_with_its_last_object() {
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
