//! Runs without their end, and runs with missing requests: they are always invalid.

use offered_base::count;
use offered_events::{Note, Recording};
use serde::{Deserialize, Serialize};

offered_base::named! {
    /// Why a run is incomplete.
    pub enum IncompleteCause {
        /// The run was killed: a worker left no run record.
        Killed = "killed",
        /// A worker is still running, or frozen.
        Running = "running",
        /// The run ended, but some of its requests are not recorded.
        RequestsMissing = "requests_missing",
        /// The recording is a copy in an object store, and the end of a worker is missing there. The worker was killed,
        /// or could not upload.
        EndMissing = "end_missing",
    }
}

/// A run without its end, or with missing requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Incomplete {
    /// Why the run is incomplete.
    pub cause: IncompleteCause,
    /// The incomplete workers, such as `2/3`; empty for a run of one worker.
    pub workers: Vec<String>,
    /// The workers in `workers` that are frozen or dead: they should be running, but their heartbeats have stopped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frozen_workers: Vec<String>,
    /// The time since the last heartbeat of the frozen workers, the shortest one; `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen_heartbeat_age_s: Option<f64>,
    /// The time of the last heartbeat or event of the run, in seconds from its start; `None` if the run ended.
    pub last_sign_of_life_s: Option<f64>,
    /// The age of the last heartbeat of the other workers, if it is so recent that the run may still be in progress.
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
        self.missing_requests != Some(0) && (!self.workers.is_empty() || self.cause == IncompleteCause::RequestsMissing)
    }

    /// What the notes of a recording show. Callers that know the workload know more.
    pub(crate) fn from_notes(recording: &Recording) -> Option<Self> {
        recording.notes.contains(&Note::Killed).then(|| {
            let last = recording.events.extent().last_intended.map(offered_base::Instant::as_secs_f64);
            Self {
                cause: IncompleteCause::Killed,
                workers: Vec::new(),
                frozen_workers: Vec::new(),
                frozen_heartbeat_age_s: None,
                last_sign_of_life_s: last,
                heartbeat_age_s: None,
                duration_s: None,
                covered_until_s: last,
                missing_requests: None,
                scheduled_requests: None,
            }
        })
    }

    /// Whether the workers may still be running; then no problem is known.
    pub fn is_running(&self) -> bool {
        self.cause == IncompleteCause::Running
    }

    /// The reason for the verdict: `the run was killed after 7.0 s of 20 s: 4,213 of 6,000 requests are missing`.
    pub fn reason(&self) -> String {
        let after = match (self.last_sign_of_life_s, self.duration_s) {
            (Some(last), Some(duration)) => format!(" after {last:.1} s of {duration} s"),
            (Some(last), None) => format!(" after {last:.1} s"),
            (None, _) => String::new(),
        };
        let workers = subject(&self.workers);
        let was = if self.workers.len() > 1 { "were" } else { "was" };
        let what = match self.cause {
            IncompleteCause::Killed => format!("{workers} {was} killed{after}"),
            IncompleteCause::Running => format!("{}{after}", self.running_text()),
            IncompleteCause::EndMissing => format!(
                "the events of {workers}{after} are not in the object store (the generator was killed, or its upload failed)"
            ),
            IncompleteCause::RequestsMissing if self.workers.is_empty() => "incomplete".to_owned(),
            IncompleteCause::RequestsMissing => format!("{workers} recorded nothing"),
        };
        let are_missing = self.are_missing();
        let missing = match (self.missing_requests, self.scheduled_requests) {
            (Some(0), _) => "all requests are recorded, but not the end of the run".to_owned(),
            (Some(missing), Some(all)) => format!("{} of {} requests {are_missing}", count(missing), count(all)),
            (Some(missing), None) => format!("{} requests {are_missing}", count(missing)),
            (None, _) => format!("all later requests {are_missing}"),
        };
        let or = if self.is_running() { "" } else { "or still running: " };
        let age = self.heartbeat_age_s.map_or_else(String::new, |age| format!(" ({or}last heartbeat {age:.1} s ago)"));
        format!("{what}{age}: {missing}")
    }

    /// The predicate of a sentence about the missing requests: `are missing`, or `are not recorded so far` during the run.
    pub fn are_missing(&self) -> &'static str {
        if self.is_running() { "are not recorded so far" } else { "are missing" }
    }

    /// The frozen and the running workers as text: `worker 3/4 is frozen or dead (no heartbeat for 12.0 s); workers 1/4, 2/4,
    /// 4/4 are still running`.
    fn running_text(&self) -> String {
        let is_frozen = |worker: &String| self.frozen_workers.contains(worker);
        let (frozen, running): (Vec<String>, Vec<String>) = self.workers.iter().cloned().partition(is_frozen);
        let text = |workers: &[String], state: &str| {
            let is = if workers.len() > 1 { "are" } else { "is" };
            format!("{} {is} {state}", subject(workers))
        };
        let or_more = if frozen.len() > 1 { " or more" } else { "" };
        let silence = self.frozen_heartbeat_age_s.map(|age| format!(" (no heartbeat for {age:.1} s{or_more})"));
        let frozen_text = text(&frozen, "frozen or dead") + &silence.unwrap_or_default();
        match (frozen.is_empty(), running.is_empty()) {
            (true, _) => text(&running, "still running"),
            (false, true) => frozen_text,
            (false, false) => format!("{frozen_text}; {}", text(&running, "still running")),
        }
    }

    /// The fix: how to get a complete run, in the imperative.
    pub fn fix(&self) -> String {
        match self.cause {
            IncompleteCause::Running if !self.frozen_workers.is_empty() => {
                let others = if self.frozen_workers.len() < self.workers.len() {
                    "; wait for the end of the other workers, and verify the run again"
                } else {
                    ""
                };
                let machines = if self.frozen_workers.len() > 1 { "their machines" } else { "its machine" };
                let frozen = subject(&self.frozen_workers);
                return format!("check now whether {frozen} and {machines} still run{others}");
            }
            IncompleteCause::Killed => "find out what ended the process (a signal, or lack of memory), and run again",
            IncompleteCause::Running => "wait for the end of the run, and verify the run again",
            IncompleteCause::EndMissing => {
                "upload the rest from the host that recorded it; if the generator was killed, find out why, and run again"
            }
            IncompleteCause::RequestsMissing if self.workers.is_empty() => "run again",
            IncompleteCause::RequestsMissing => {
                "find out whether the worker started and where it recorded; add its directory, or run again"
            }
        }
        .to_owned()
    }

    /// The analysed time as text: `the results cover 0 to 6.9 s, possibly without some events of the last 2 s`; `None` if that is
    /// the whole run.
    pub fn coverage(&self) -> Option<String> {
        /// Events are on disk two seconds after their end at the latest.
        const UNWRITTEN_S: f64 = 2.0;
        let until = self.covered_until_s?;
        let in_part = match self.cause {
            IncompleteCause::Killed | IncompleteCause::EndMissing => {
                format!(", possibly without some events of the last {UNWRITTEN_S} s")
            }
            IncompleteCause::Running | IncompleteCause::RequestsMissing => String::new(),
        };
        Some(format!("the results cover 0 to {until:.1} s{in_part}"))
    }
}

/// These workers as the subject of a sentence; without workers, the run.
fn subject(workers: &[String]) -> String {
    match workers {
        [] => "the run".to_owned(),
        [one] => format!("worker {one}"),
        several => format!("workers {}", several.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KILLED: Incomplete = Incomplete {
        cause: IncompleteCause::Killed,
        workers: Vec::new(),
        frozen_workers: Vec::new(),
        frozen_heartbeat_age_s: None,
        last_sign_of_life_s: Some(7.0),
        heartbeat_age_s: None,
        duration_s: Some(20.0),
        covered_until_s: Some(6.93),
        missing_requests: Some(4213),
        scheduled_requests: Some(6000),
    };

    #[test]
    fn the_reason_says_how_much_is_missing() {
        assert_eq!(KILLED.reason(), "the run was killed after 7.0 s of 20 s: 4,213 of 6,000 requests are missing");
        assert_eq!(
            KILLED.coverage().unwrap(),
            "the results cover 0 to 6.9 s, possibly without some events of the last 2 s"
        );
        let closed = Incomplete { missing_requests: None, scheduled_requests: None, duration_s: None, ..KILLED };
        assert_eq!(closed.reason(), "the run was killed after 7.0 s: all later requests are missing");
        let worker = Incomplete { workers: vec!["2/3".to_owned()], ..KILLED };
        assert_eq!(worker.reason(), "worker 2/3 was killed after 7.0 s of 20 s: 4,213 of 6,000 requests are missing");
        let ended = Incomplete { cause: IncompleteCause::RequestsMissing, last_sign_of_life_s: None, ..KILLED };
        assert_eq!(ended.reason(), "incomplete: 4,213 of 6,000 requests are missing");
        let absent = Incomplete { workers: vec!["3/8".to_owned(), "4/8".to_owned()], ..ended };
        assert_eq!(absent.reason(), "workers 3/8, 4/8 recorded nothing: 4,213 of 6,000 requests are missing");
        let all = Incomplete { missing_requests: Some(0), ..absent.clone() };
        assert_eq!((absent.has_gaps(), all.has_gaps(), KILLED.has_gaps()), (true, false, false));
        let running = Incomplete { cause: IncompleteCause::Running, heartbeat_age_s: Some(1.0), ..KILLED };
        let reason = "the run is still running after 7.0 s of 20 s (last heartbeat 1.0 s ago): 4,213 of 6,000 requests are not \
                      recorded so far";
        assert_eq!(running.reason(), reason);
    }

    #[test]
    fn a_frozen_worker_is_not_said_to_run() {
        let names = |numbers: &[u8]| numbers.iter().map(|number| format!("{number}/3")).collect::<Vec<_>>();
        let of = |workers: &[u8], frozen: &[u8]| {
            let (workers, frozen_workers) = (names(workers), names(frozen));
            let frozen_heartbeat_age_s = (!frozen.is_empty()).then_some(12.0);
            let cause = IncompleteCause::Running;
            Incomplete { cause, workers, frozen_workers, frozen_heartbeat_age_s, ..KILLED }
        };
        let reason = |workers: &[u8], frozen: &[u8]| of(workers, frozen).reason();
        let starts = |reason: String, start: &str| assert!(reason.starts_with(start), "{reason}");
        starts(reason(&[1, 2, 3], &[]), "workers 1/3, 2/3, 3/3 are still running after 7.0 s of 20 s: ");
        starts(
            reason(&[1, 2, 3], &[2]),
            "worker 2/3 is frozen or dead (no heartbeat for 12.0 s); workers 1/3, 3/3 are still running after 7.0 s",
        );
        let all = "workers 2/3, 3/3 are frozen or dead (no heartbeat for 12.0 s or more) after 7.0 s of 20 s: ";
        starts(reason(&[2, 3], &[2, 3]), all);
        assert_eq!(of(&[1, 2], &[]).fix(), "wait for the end of the run, and verify the run again");
        let first = "check now whether worker 2/3 and its machine still run";
        starts(of(&[1, 2], &[2]).fix(), &format!("{first}; wait for the end of the other workers"));
        assert_eq!(of(&[2], &[2]).fix(), first);
    }

    #[test]
    fn a_copy_without_its_end_blames_neither_worker_nor_store() {
        let copy = Incomplete { cause: IncompleteCause::EndMissing, workers: vec!["2/3".to_owned()], ..KILLED };
        let reason = "the events of worker 2/3 after 7.0 s of 20 s are not in the object store (the generator was killed, or \
                      its upload failed): ";
        assert!(copy.reason().starts_with(reason), "{}", copy.reason());
        let alone = Incomplete { workers: Vec::new(), ..copy };
        assert!(alone.reason().starts_with("the events of the run after 7.0 s of 20 s are not"), "{}", alone.reason());
    }
}
