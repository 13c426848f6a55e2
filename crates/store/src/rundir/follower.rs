//! Follows a run in progress: the state of its workers and their new events.

use std::path::{Path, PathBuf};

use offered_base::{Instant, Nanos, Share};
use offered_events::Columns;
use offered_events::Event;

use super::heartbeat::Heartbeat;
use super::parts;
use super::workers::{State, of, parse_name};
use crate::error::Error;
use crate::event_source::Part;
use crate::labels::Labels;
use crate::record::RunRecord;

/// Events reach the directory time most this long after they happen: a part is open for up to two seconds.
const WRITE_DELAY: Nanos = Nanos::from_secs(3);

/// Follows a run of one or several workers.
pub struct RunFollower {
    run: PathBuf,
    labels: Labels,
    workers: Vec<WorkerStatus>,
}

/// The status of one worker.
#[derive(Clone, Debug)]
pub struct WorkerStatus {
    /// The share of the run that the worker sends.
    pub share: Share,
    /// Number of the attempt to run this share, from 1.
    pub attempt: u32,
    /// The host name of its machine; `None` if unknown.
    pub host: Option<String>,
    /// The state of the worker.
    pub state: WorkerState,
    /// Number of requests in flight at the time of its last heartbeat.
    pub in_flight: u64,
    /// All events that ended before this time are in its directory.
    pub until: Instant,
    path: PathBuf,
    /// Number of parts already read.
    parts_read: usize,
}

/// The state of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerState {
    /// The worker runs.
    Running,
    /// The last heartbeat is too old, but the run is not over. Contains the time since that heartbeat.
    Silent(Nanos),
    /// The worker has finished.
    Ended,
    /// The worker was killed.
    Lost,
}

impl WorkerStatus {
    fn new(share: Share, attempt: u32, path: PathBuf) -> Self {
        let (state, in_flight, until) = (WorkerState::Running, 0, Instant::ZERO);
        Self { share, attempt, host: None, state, in_flight, until, path, parts_read: 0 }
    }

    /// Whether the worker has finished or is lost.
    pub fn is_over(&self) -> bool {
        matches!(self.state, WorkerState::Ended | WorkerState::Lost)
    }

    /// Reads its heartbeat and its record.
    fn refresh(&mut self) -> Result<(), Error> {
        let (heartbeat, record) = (Heartbeat::read(&self.path), RunRecord::read(&self.path)?);
        if let Some(heartbeat) = &heartbeat {
            (self.share, self.in_flight) = (heartbeat.share, heartbeat.in_flight);
            let time = Nanos(heartbeat.complete_until_unix_ns().saturating_sub(heartbeat.started_unix_ns))
                .saturating_sub(WRITE_DELAY);
            self.until = self.until.max(Instant::ZERO + time);
            self.host = Some(heartbeat.host.clone());
        }
        self.state = match record {
            Some(record) => {
                (self.share, self.host) = (record.share, record.machine.map(|machine| machine.name));
                WorkerState::Ended
            }
            None => match State::of(&self.path, heartbeat.as_ref()) {
                State::Running => WorkerState::Running,
                State::Silent(silence) => WorkerState::Silent(silence),
                State::Lost => WorkerState::Lost,
            },
        };
        if self.is_over() {
            (self.in_flight, self.until) = (0, Instant::MAX);
        }
        Ok(())
    }
}

impl RunFollower {
    /// Follows the run in the directory `run`. Labels of events are indices into `labels`.
    pub fn new(run: &Path, labels: &[String]) -> Self {
        let mut known = Labels::default();
        for name in labels {
            known.number(name.as_bytes());
        }
        Self { run: run.to_owned(), labels: known, workers: Vec::new() }
    }

    /// The workers as of the last [`RunFollower::refresh`], in order of their numbers. Workers that have not started are missing.
    pub fn workers(&self) -> &[WorkerStatus] {
        &self.workers
    }

    /// Reads the state of every worker, and passes its new events to `visit`, with its share.
    ///
    /// # Errors
    /// A directory or a part is unreadable.
    pub fn refresh(&mut self, visit: &mut dyn FnMut(Share, &[Event])) -> Result<(), Error> {
        if self.run.join("events").is_dir() {
            if self.workers.is_empty() {
                self.workers.push(WorkerStatus::new(Share::ALL, 1, self.run.clone()));
            }
        } else {
            for worker in of(&self.run)? {
                if !self.workers.iter().any(|known| known.path == worker.path) {
                    let (share, attempt) = parse_name(&worker.path).expect("the name of a worker");
                    self.workers.push(WorkerStatus::new(share, attempt, worker.path));
                }
            }
            self.workers.sort_by_key(|worker| (worker.share.index(), worker.attempt));
        }
        for worker in &mut self.workers {
            // Heartbeat first: the parts that it vouches for then exist.
            worker.refresh()?;
            let paths = parts(&worker.path.join("events"))?;
            for path in paths.iter().skip(worker.parts_read) {
                let part = Part::File(path.clone());
                let scanned = part.scan(&mut self.labels, Columns::All, &mut |events| visit(worker.share, events));
                scanned.map_err(|why| Error::content(path.display().to_string(), why.to_string()))?;
            }
            worker.parts_read = paths.len();
        }
        Ok(())
    }
}
