//! A run that goes on: how its workers are, and what they have kept since somebody looked last.

use std::path::{Path, PathBuf};

use offered_model::events::Wanted;
use offered_model::{Event, Instant, Nanos, Share};

use super::alive::Alive;
use super::parts;
use super::workers::{State, named, of};
use crate::error::Error;
use crate::labels::Labels;
use crate::record::RunRecord;
use crate::tape::Part;

/// What a worker says of itself comes so much later into its directory at most: a part is open for up to two seconds.
const KEPT_WITHIN: Nanos = Nanos::from_secs(3);

/// A run that goes on, of one worker or of many.
pub struct Following {
    run: PathBuf,
    labels: Labels,
    workers: Vec<Followed>,
}

/// A worker of it.
#[derive(Clone, Debug)]
pub struct Followed {
    /// What of the run it launches.
    pub share: Share,
    /// From 1: how many have taken that up.
    pub attempt: u32,
    /// The machine that it is on, where it has said so.
    pub host: Option<String>,
    /// How it is.
    pub standing: Standing,
    /// Launches under way, when it said so last.
    pub in_flight: u64,
    /// Everything that ended by then is in its directory.
    pub until: Instant,
    path: PathBuf,
    /// So many of its parts were seen.
    seen: usize,
}

/// How a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is at work.
    Running,
    /// It should be, and has given no sign of life for so long.
    Silent(Nanos),
    /// It has come to its end.
    Ended,
    /// It was killed.
    Gone,
}

impl Followed {
    fn new(share: Share, attempt: u32, path: PathBuf) -> Self {
        let (standing, in_flight, until) = (Standing::Running, 0, Instant::ZERO);
        Self { share, attempt, host: None, standing, in_flight, until, path, seen: 0 }
    }

    /// Whether it is over for it.
    pub fn is_over(&self) -> bool {
        matches!(self.standing, Standing::Ended | Standing::Gone)
    }

    /// Looks how it is.
    fn look(&mut self) -> Result<(), Error> {
        let (alive, record) = (Alive::read(&self.path), RunRecord::read(&self.path)?);
        if let Some(alive) = &alive {
            (self.share, self.in_flight) = (alive.share, alive.in_flight);
            let at = Nanos(alive.kept_unix_ns().saturating_sub(alive.started_unix_ns)).saturating_sub(KEPT_WITHIN);
            self.until = self.until.max(Instant::ZERO + at);
            self.host = Some(alive.host.clone());
        }
        self.standing = match record {
            Some(record) => {
                (self.share, self.host) = (record.share, record.machine.map(|machine| machine.name));
                Standing::Ended
            }
            None => match State::of(&self.path, alive.as_ref()) {
                State::Running => Standing::Running,
                State::Silent(silence) => Standing::Silent(silence),
                State::Gone => Standing::Gone,
            },
        };
        if self.is_over() {
            (self.in_flight, self.until) = (0, Instant::MAX);
        }
        Ok(())
    }
}

impl Following {
    /// The run in the directory `run`, whose requests are named `labels`: events point into these.
    pub fn new(run: &Path, labels: &[String]) -> Self {
        let mut known = Labels::default();
        for name in labels {
            known.number(name.as_bytes());
        }
        Self { run: run.to_owned(), labels: known, workers: Vec::new() }
    }

    /// Its workers as they were when somebody looked last, by their numbers; those that have not begun are not among them.
    pub fn workers(&self) -> &[Followed] {
        &self.workers
    }

    /// Looks at every worker, and gives `see` what it has kept since the last time, with its share.
    ///
    /// # Errors
    /// A directory or a part cannot be read.
    pub fn look(&mut self, see: &mut dyn FnMut(Share, &[Event])) -> Result<(), Error> {
        if self.run.join("events").is_dir() {
            if self.workers.is_empty() {
                self.workers.push(Followed::new(Share::ALL, 1, self.run.clone()));
            }
        } else {
            for worker in of(&self.run)? {
                if !self.workers.iter().any(|known| known.path == worker.path) {
                    let (share, attempt) = named(&worker.path).expect("the name of a worker");
                    self.workers.push(Followed::new(share, attempt, worker.path));
                }
            }
            self.workers.sort_by_key(|worker| (worker.share.index(), worker.attempt));
        }
        for worker in &mut self.workers {
            // In this order: what it had kept when it said so is there.
            worker.look()?;
            let kept = parts(&worker.path.join("events"))?;
            for path in kept.iter().skip(worker.seen) {
                let part = Part::Named(path.clone());
                let played = part.play(&mut self.labels, Wanted::Whole, &mut |events| see(worker.share, events));
                played.map_err(|why| Error::content(path.display().to_string(), why.to_string()))?;
            }
            worker.seen = kept.len();
        }
        Ok(())
    }
}
