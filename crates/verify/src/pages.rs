//! Pages: launches that brought objects with them, as a browser does.

use std::collections::HashMap;
use std::ops::Range;

use offered_model::{Event, Instant, Outcome, Recording};
use offered_stats::Summary;
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
    pub fn of(recording: &Recording, judged: Range<Instant>) -> Option<Self> {
        let mut brought: HashMap<(u64, u32), Brought> = HashMap::new();
        for object in &recording.objects {
            let page = brought.entry((object.session, object.step)).or_default();
            page.last = page.last.max(object.done);
            page.objects += 1;
            page.failed += u64::from(object.outcome != Outcome::Ok);
            page.bytes = (page.bytes.0 + object.bytes_in, page.bytes.1 + object.bytes_out);
        }
        let pages = recording.events.iter().filter(|event| judged.contains(&event.intended));
        let pages: Vec<(&Event, &Brought)> =
            pages.filter_map(|event| Some((event, brought.get(&(event.session, event.step))?))).collect();
        let mut responses: Vec<i64> = pages
            .iter()
            .filter_map(|(event, brought)| Some((event.done.max(brought.last)? - event.intended).0))
            .collect();
        responses.sort_unstable();
        let ms = Summary::of_sorted(&responses, 1e6)?;
        let seconds = judged.start.until(judged.end).as_secs_f64();
        let sum = |of: fn(&Brought) -> u64| pages.iter().map(|(_, brought)| of(brought)).sum::<u64>();
        let failed = |(event, brought): &&(&Event, &Brought)| event.outcome != Outcome::Ok || brought.failed > 0;
        Some(Self {
            pages: pages.len() as u64,
            failed: pages.iter().filter(failed).count() as u64,
            pages_per_s: pages.len() as f64 / seconds,
            objects: sum(|brought| brought.objects),
            objects_failed: sum(|brought| brought.failed),
            objects_per_s: sum(|brought| brought.objects) as f64 / seconds,
            response_mean_ms: ms.mean,
            response_p50_ms: ms.median,
            response_p95_ms: ms.p95,
            response_p99_ms: ms.p99,
            response_max_ms: ms.max,
            bytes_in: sum(|brought| brought.bytes.0),
            bytes_out: sum(|brought| brought.bytes.1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!((recording.events.len(), recording.objects.len()), (4, 4));
        let pages = Pages::of(&recording, Instant::ZERO..Instant::from_secs(4)).unwrap();
        assert_eq!((pages.pages, pages.failed, pages.objects, pages.objects_failed), (2, 1, 3, 1));
        assert_eq!((pages.pages_per_s, pages.objects_per_s), (0.5, 0.75));
        assert_eq!((pages.response_max_ms, pages.response_mean_ms, pages.bytes_in), (50.0, 35.0, 30));
        assert_eq!(Pages::of(&Recording { objects: Vec::new(), ..recording }, Instant::ZERO..Instant::MAX), None);
    }
}
