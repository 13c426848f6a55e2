//! Runs without their end, and runs with missing requests: they are invalid, whatever the rest shows.

use offered_base::count;
use offered_events::{Note, Recording};
use serde::{Deserialize, Serialize};

offered_base::named! {
    /// Why a run is incomplete.
    pub enum IncompleteCause {
        /// It was killed: a worker left no run record.
        Killed = "killed",
        /// A worker is still running, or frozen.
        Running = "running",
        /// The run ended, but some of its requests are not recorded.
        RequestsMissing = "requests_missing",
        /// The recording is a copy in an object store that lacks the end of a worker: it was killed, or it could not upload.
        EndMissing = "end_missing",
    }
}

/// A run without its end, or with missing requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Incomplete {
    /// Why it is incomplete.
    pub cause: IncompleteCause,
    /// The workers that this applies to, such as `2/3`; empty for a run of one worker.
    pub workers: Vec<String>,
    /// The last sign of life of the run, in seconds from its start; `None` if the run ended.
    pub last_sign_of_life_s: Option<f64>,
    /// The age of the last heartbeat, if it is so recent that the run may still be going on.
    pub heartbeat_age_s: Option<f64>,
    /// The test duration of the workload; `None` if it is unknown or if a number of requests ends the run.
    pub duration_s: Option<f64>,
    /// The end of the time that was judged, in seconds from the start: that of the last recorded request. `None` if requests are recorded
    /// up to the end of the run.
    pub covered_until_s: Option<f64>,
    /// Number of requests of the schedule that are missing; `None` if it is unknown because responses determine the requests.
    pub missing_requests: Option<u64>,
    /// Number of requests in the schedule; `None` if it is unknown.
    pub scheduled_requests: Option<u64>,
}

impl Incomplete {
    /// Whether requests are missing between those that were judged, so that rate and pattern of the others show nothing. A run of one worker is
    /// judged up to its last request, and complete up to there.
    pub(crate) fn has_gaps(&self) -> bool {
        !self.workers.is_empty() || self.cause == IncompleteCause::RequestsMissing
    }

    /// What the notes of a recording show. Callers that know the workload know more.
    pub(crate) fn from_notes(recording: &Recording) -> Option<Self> {
        recording.notes.contains(&Note::Killed).then(|| {
            let last = recording.events.extent().last_intended.map(offered_base::Instant::as_secs_f64);
            Self {
                cause: IncompleteCause::Killed,
                workers: Vec::new(),
                last_sign_of_life_s: last,
                heartbeat_age_s: None,
                duration_s: None,
                covered_until_s: last,
                missing_requests: None,
                scheduled_requests: None,
            }
        })
    }

    /// The reason for the verdict: `killed after 7.0 s of 20 s: 4,213 of 6,000 requests are missing`.
    pub fn reason(&self) -> String {
        let after = match (self.last_sign_of_life_s, self.duration_s) {
            (Some(last), Some(duration)) => format!(" after {last:.1} s of {duration} s"),
            (Some(last), None) => format!(" after {last:.1} s"),
            (None, _) => String::new(),
        };
        let workers = match &self.workers[..] {
            [] => String::new(),
            [one] => format!("worker {one} "),
            several => format!("workers {} ", several.join(", ")),
        };
        let were = match self.workers.len() {
            0 => "",
            1 => "was ",
            _ => "were ",
        };
        let what = match self.cause {
            IncompleteCause::Killed => format!("{workers}{were}killed{after}"),
            IncompleteCause::Running if self.workers.len() > 1 => format!("{workers}have not ended{after}"),
            IncompleteCause::Running if self.workers.len() == 1 => format!("{workers}has not ended{after}"),
            IncompleteCause::Running => format!("not ended{after}"),
            IncompleteCause::EndMissing if self.workers.len() > 1 => {
                format!("the object store lacks the end of {workers}(they were killed or could not upload){after}")
            }
            IncompleteCause::EndMissing => {
                let whose = if workers.is_empty() { "the run " } else { &workers };
                format!("the object store lacks the end of {whose}(it was killed or could not upload){after}")
            }
            IncompleteCause::RequestsMissing if self.workers.is_empty() => "incomplete".to_owned(),
            IncompleteCause::RequestsMissing => format!("{}missing", workers + were.trim_end() + " "),
        };
        let missing = match (self.missing_requests, self.scheduled_requests) {
            (Some(0), _) => "all requests are recorded, but not the end of the run".to_owned(),
            (Some(missing), Some(all)) => format!("{} of {} requests are missing", count(missing), count(all)),
            (Some(missing), None) => format!("{} requests are missing", count(missing)),
            (None, _) => "requests are missing".to_owned(),
        };
        let age = self.heartbeat_age_s.map_or_else(String::new, |age| {
            let who = if self.workers.len() > 1 { "they" } else { "it" };
            format!(" ({who} may still be running: the last heartbeat is {age:.1} s old)")
        });
        format!("{what}: {missing}{age}")
    }

    /// What to do about it.
    pub const fn fix(&self) -> &'static str {
        match self.cause {
            IncompleteCause::Killed => "find out what ended the process (a signal, or lack of memory), and run again",
            IncompleteCause::Running => "wait for the end of the run, and verify it again",
            IncompleteCause::EndMissing => "upload the rest from where it was recorded, or run again",
            IncompleteCause::RequestsMissing if self.workers.is_empty() => "run again",
            IncompleteCause::RequestsMissing => "find out why the worker did not start, and run again",
        }
    }

    /// The time that was judged: `everything below covers 0 to 6.9 s only`; `None` if that is the whole run.
    pub fn coverage(&self) -> Option<String> {
        self.covered_until_s.map(|until| format!("everything below covers 0 to {until:.1} s only"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KILLED: Incomplete = Incomplete {
        cause: IncompleteCause::Killed,
        workers: Vec::new(),
        last_sign_of_life_s: Some(7.0),
        heartbeat_age_s: None,
        duration_s: Some(20.0),
        covered_until_s: Some(6.93),
        missing_requests: Some(4213),
        scheduled_requests: Some(6000),
    };

    #[test]
    fn the_reason_says_how_much_is_missing() {
        assert_eq!(KILLED.reason(), "killed after 7.0 s of 20 s: 4,213 of 6,000 requests are missing");
        assert_eq!(KILLED.coverage().unwrap(), "everything below covers 0 to 6.9 s only");
        let closed = Incomplete { missing_requests: None, scheduled_requests: None, duration_s: None, ..KILLED };
        assert_eq!(closed.reason(), "killed after 7.0 s: requests are missing");
        let worker = Incomplete { workers: vec!["2/3".to_owned()], ..KILLED };
        assert_eq!(worker.reason(), "worker 2/3 was killed after 7.0 s of 20 s: 4,213 of 6,000 requests are missing");
        let ended = Incomplete { cause: IncompleteCause::RequestsMissing, last_sign_of_life_s: None, ..KILLED };
        assert_eq!(ended.reason(), "incomplete: 4,213 of 6,000 requests are missing");
        let absent = Incomplete { workers: vec!["3/8".to_owned(), "4/8".to_owned()], ..ended };
        assert_eq!(absent.reason(), "workers 3/8, 4/8 were missing: 4,213 of 6,000 requests are missing");
    }

    #[test]
    fn a_copy_without_its_end_blames_neither_worker_nor_store() {
        let copy = Incomplete { cause: IncompleteCause::EndMissing, workers: vec!["2/3".to_owned()], ..KILLED };
        let reason =
            "the object store lacks the end of worker 2/3 (it was killed or could not upload) after 7.0 s of 20 s: ";
        assert!(copy.reason().starts_with(reason), "{}", copy.reason());
        let alone = Incomplete { workers: Vec::new(), ..copy };
        assert!(alone.reason().starts_with("the object store lacks the end of the run (it was"), "{}", alone.reason());
    }
}
