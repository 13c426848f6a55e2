//! Pages: launches that brought objects with them, as a browser does.

use std::collections::HashMap;
use std::io;
use std::ops::Range;

use offered_model::{Instant, Outcome, Recording};
use offered_stats::values::Values;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The pages of a run. A page is there with its last object; counted are those meant within the time that is judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pages {
    /// Launches with at least one object that was asked for.
    pub pages: u64,
    /// Those of which the request or an object ended otherwise than `ok`.
    pub failed: u64,
    /// Pages per second of the time that is judged.
    pub pages_per_s: f64,
    /// Objects, whatever became of them; the pages themselves are not among them.
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

/// What is known of a page's objects.
#[derive(Default)]
struct Brought {
    last: Option<Instant>,
    objects: u64,
    failed: u64,
    bytes: (u64, u64),
}

impl Pages {
    /// Of the launches meant within `judged`, since the run's start; `None` where no launch brought any object.
    ///
    /// # Errors
    /// The recording can no longer be read.
    pub fn of(recording: &Recording, judged: Range<Instant>) -> io::Result<Option<Self>> {
        if recording.events.extent().objects == 0 {
            return Ok(None);
        }
        let mut brought: HashMap<(u64, u32), Brought> = HashMap::new();
        recording.events.each_object(|object| {
            let page = brought.entry((object.session, object.step)).or_default();
            page.last = page.last.max(object.done);
            page.objects += 1;
            page.failed += u64::from(object.outcome != Outcome::Ok);
            page.bytes = (page.bytes.0 + object.bytes_in, page.bytes.1 + object.bytes_out);
        })?;
        let (mut pages, mut failed, mut objects, mut objects_failed) = (0, 0, 0, 0);
        let (mut bytes_in, mut bytes_out, mut responses) = (0, 0, Values::<i64>::default());
        recording.events.each_answer(|event| {
            let Some(brought) = brought.get(&(event.session, event.step)) else { return };
            if !judged.contains(&event.intended) {
                return;
            }
            pages += 1;
            failed += u64::from(event.outcome != Outcome::Ok || brought.failed > 0);
            (objects, objects_failed) = (objects + brought.objects, objects_failed + brought.failed);
            (bytes_in, bytes_out) = (bytes_in + brought.bytes.0, bytes_out + brought.bytes.1);
            let there = event.done.max(brought.last);
            if let Some(there) = there {
                responses.add((there - event.intended).0);
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
            bytes_in,
            bytes_out,
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
        let events = vec![
            event(0, 1, 1010, 1030, Outcome::Ok),
            event(0, 2, 1010, 1050, Outcome::HttpError),
            event(0, 0, 1000, 1010, Outcome::Ok),
            event(1, 0, 1500, 1600, Outcome::Ok),
            event(2, 1, 2010, 2020, Outcome::Ok),
            event(2, 0, 2000, 2010, Outcome::Ok),
            event(3, 1, 9000, 9999, Outcome::Ok),
            event(3, 0, 8000, 9000, Outcome::Ok),
        ];
        let recording = Recording::of_run(events, vec!["page".to_owned()]);
        assert_eq!((recording.events.launches(), recording.events.extent().objects), (4, 4));
        let pages = Pages::of(&recording, Instant::ZERO..Instant::from_secs(4)).unwrap().unwrap();
        assert_eq!((pages.pages, pages.failed, pages.objects, pages.objects_failed), (2, 1, 3, 1));
        assert_eq!((pages.pages_per_s, pages.objects_per_s), (0.5, 0.75));
        assert_eq!((pages.response_max_ms, pages.response_mean_ms, pages.bytes_in), (50.0, 35.0, 30));
        let plain = Recording { events: recording.events.to_vec().unwrap().into(), ..recording };
        assert_eq!(Pages::of(&plain, Instant::ZERO..Instant::MAX).unwrap(), None);
    }
}
