//! One cell of a sweep: its place on disk, which is a run directory, and what it came to.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_io::{Clock, unix_now};
use offered_base::{Nanos, Share};
use offered_workload::Objective;
use offered_stats::steady_state::Estimate;
use offered_store::{Heartbeat, RunKind, ReadOptions, RunRecord, HEARTBEAT_TIMEOUT, read};
use offered_verify::{Criteria, Measurements as Run, verify};

use super::{CELLS, Sweep};
use crate::figures::Figures;
use crate::redact::{redact, without_location};
use offered_observe::this_machine;
use crate::{Error, SharedDirectory, Point};

/// Between the name of a cell and the number of its run, which is not the first; no name of a cell has it.
const AGAIN: char = '@';
/// From one look at a cell that another is making to the next.
const LOOK: Nanos = Nanos::from_millis(500);

/// A cell, finished or not.
pub(super) struct Cell {
    pub(super) point: Point,
    /// Its directory: that of the run which is finished, or else of the one to be made.
    pub(super) path: PathBuf,
    /// What the directory of its first run is called.
    first: String,
    /// When it is visited, from 0.
    pub(super) position: usize,
}

/// A finished cell.
pub struct Measured {
    /// Its values.
    pub point: Point,
    /// Its directory within that of the sweep.
    pub directory: String,
    /// When it was visited, from 0.
    pub position: usize,
    /// What it came to.
    pub figures: Figures,
    /// The figures of the objective, in its order.
    pub objective: Vec<Option<Estimate>>,
}

impl Cell {
    /// Of a point, in the sweep's directory.
    pub(super) fn new(point: Point, out: &Path) -> Self {
        let path = out.join(directory(&point));
        let first = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self { point, path, first, position: 0 }
    }

    /// What its directory is called among those of the cells.
    pub(super) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Its runs that are there, finished or not, with their numbers from 1. In a folder there is one at most. In an object store what was
    /// cut off stays where it is, for nobody knows whether who made it will come back and write there: the next is called `rate=50@2`.
    pub(super) fn attempts(&self) -> Vec<(u32, PathBuf)> {
        let listed = self.path.parent().and_then(|cells| fs::read_dir(cells).ok()).into_iter().flatten().flatten();
        let number = |name: &str| match name.strip_prefix(&self.first)? {
            "" => Some(1),
            rest => rest.strip_prefix(AGAIN)?.parse().ok(),
        };
        let mut attempts: Vec<(u32, PathBuf)> =
            listed.filter_map(|entry| Some((number(entry.file_name().to_str()?)?, entry.path()))).collect();
        attempts.sort_unstable();
        attempts
    }

    fn take(&mut self, attempt: u32) {
        let first = &self.first;
        self.path.set_file_name(if attempt == 1 { first.clone() } else { format!("{first}{AGAIN}{attempt}") });
    }

    /// Whether a run of it has come to its end, whoever has made it: it is the one whose directory it has then.
    pub(super) fn is_there(&mut self) -> bool {
        let ended = self.attempts().into_iter().find(|(_, path)| path.join("run.json").exists());
        ended.map(|(attempt, _)| self.take(attempt)).is_some()
    }

    /// Whether its run is there and whole; of a run that was cut off nothing is kept. Where several workers make the sweep, a run that was cut
    /// off is one that has given no sign of life for ten seconds, which are waited for.
    pub(super) fn is_finished(&mut self, sweep: &Sweep, stop: &AtomicBool) -> Result<bool, Error> {
        let mut next = 1;
        for (attempt, _) in self.attempts() {
            self.take(attempt);
            if self.is_whole(sweep, stop)? {
                return Ok(true);
            }
            if sweep.at.is_in_store() {
                next = attempt + 1;
            }
        }
        self.take(next);
        Ok(false)
    }

    /// Whether its present directory holds a whole run; a folder that does not is taken away.
    fn is_whole(&self, sweep: &Sweep, stop: &AtomicBool) -> Result<bool, Error> {
        let refuse = |what| Error::Occupied { path: sweep.at.display(&self.path).into(), content: what };
        let in_store = sweep.at.is_in_store();
        match fs::read_to_string(self.path.join("workload.toml")) {
            Ok(text) if without_location(&text) == without_location(&redact(&self.point.text)) => {}
            // Who has claimed it has not come to write its workload yet.
            Err(_) if in_store => {}
            _ if !in_store && self.was_killed_at_birth() => return Ok(false),
            _ => return Err(refuse("another workload")),
        }
        if in_store || sweep.share != Share::ALL {
            self.wait_for_silence(sweep.at, stop)?;
        }
        let Some(record) = RunRecord::read(&self.path)? else {
            if !in_store {
                fs::remove_dir_all(&self.path).map_err(Error::file("remove", &self.path))?;
            }
            return Ok(false);
        };
        match (record.kind == RunKind::Simulation, sweep.simulated) {
            (true, false) => Err(refuse("a simulation, and this sweep is one of runs")),
            (false, true) => Err(refuse("a run, and this sweep is one of simulations")),
            _ => Ok(true),
        }
    }

    /// Returns once its run has ended, or has given no sign of life for so long that whoever made it is gone; with the next sign somebody
    /// is making it.
    fn wait_for_silence(&self, at: &SharedDirectory, stop: &AtomicBool) -> Result<(), Error> {
        let has_ended = || self.path.join("run.json").exists();
        let (clock, first) = (Clock::start(), Heartbeat::read(&self.path));
        let Some(first) = first.filter(|_| !has_ended()) else { return Ok(()) };
        while first.silence(unix_now()) < HEARTBEAT_TIMEOUT {
            if stop.load(Relaxed) {
                return Err(offered_rendezvous::Error::Stopped.into());
            }
            clock.sleep_until(clock.now() + LOOK);
            at.refresh_run(&self.path)?;
            match Heartbeat::read(&self.path) {
                _ if has_ended() => return Ok(()),
                Some(last) if last != first => return Err(self.taken(at, last.host)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes its directory for a run of this process, where others might take it too.
    pub(super) fn claim(&self, at: &SharedDirectory) -> Result<(), Error> {
        let now = unix_now().0;
        let by = Heartbeat {
            host: this_machine().name,
            share: Share::ALL,
            started_unix_ns: now,
            at_unix_ns: now,
            in_flight: 0,
            clock: None,
            copied_until_unix_ns: None,
        };
        let by = serde_json::to_string(&by).expect("numbers and texts are JSON");
        if at.claim(&self.path, &by)? { Ok(()) } else { Err(self.taken(at, "another machine".to_owned())) }
    }

    fn taken(&self, at: &SharedDirectory, host: String) -> Error {
        Error::CellTaken { cell: at.display(&self.path), host }
    }

    /// Whether it holds nothing yet, being of a run that was killed before its workload was written; then it is taken away.
    fn was_killed_at_birth(&self) -> bool {
        // A directory with anything else in it is not removed by this.
        let _ = fs::remove_file(self.path.join("workload.toml.tmp"));
        let _ = fs::remove_dir(self.path.join("events"));
        fs::remove_dir(&self.path).is_ok()
    }

    /// Reads what it left, so that a kept cell and a fresh one are judged alike.
    pub(super) fn measured(self, objective: Option<&Objective>) -> Result<Measured, Error> {
        let recording = read(&self.path, &ReadOptions::default())?;
        let workload = &self.point.workload;
        let verdict = verify(&recording, &Criteria { path: self.point.name(), ..Criteria::from_workload(workload, 1.0) })?;
        let run = Run::new(&recording, &verdict.gaps, &verdict.window, workload.counted());
        let figures = Figures::of(&run, &recording, workload, &verdict)?;
        let asked = objective.map_or(&[][..], Objective::thresholds);
        let objective = asked.iter().map(|threshold| run.estimate(&threshold.metric)).collect::<Result<_, _>>()?;
        let directory = format!("{CELLS}/{}", self.name());
        Ok(Measured { directory, position: self.position, figures, objective, point: self.point })
    }
}

/// `cells/users=25,think=5ms`; what a file system might not like is replaced.
fn directory(point: &Point) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "=.-+%".contains(c) { c } else { '_' };
    let names = point.values.iter().map(|(field, value)| format!("{field}={value}").chars().map(plain).collect());
    format!("{CELLS}/{}", names.collect::<Vec<String>>().join(","))
}

#[cfg(test)]
mod tests {
    use offered_store::Writer;

    use super::*;
    use crate::{WorkloadSource, points};

    #[test]
    fn a_cell_whose_run_was_killed_at_birth_is_made_again_and_nothing_else_is_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let text = "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n".to_owned();
        let input = WorkloadSource::new("w.toml".to_owned(), text, |_| Err(String::new()));
        let point = points(&input, &["rate=1".parse().unwrap()]).unwrap().remove(0);
        let mut cell = Cell::new(point, folder.path());
        let at = SharedDirectory::at(folder.path()).unwrap();
        let sweep = |share: &str| Sweep {
            input: &input,
            varied: &[],
            at: &at,
            simulated: false,
            objective: None,
            shuffled: false,
            share: share.parse().unwrap(),
        };
        let go_on = AtomicBool::new(false);
        let (path, own) = (cell.path.clone(), redact(&cell.point.text));
        let mut is_finished = |share: &str| cell.is_finished(&sweep(share), &go_on);
        for begun in [&[][..], &["events"], &["events", "workload.toml.tmp"]] {
            fs::create_dir_all(&path).unwrap();
            for name in begun {
                match *name {
                    "events" => fs::create_dir(path.join(name)).unwrap(),
                    file => fs::write(path.join(file), "dura").unwrap(),
                }
            }
            assert!(matches!(is_finished("1/1"), Ok(false)) && !path.exists(), "{begun:?}");
        }
        let begun = Writer::create(&path, &own, Vec::new()).unwrap();
        let at = unix_now().0;
        let alive = Heartbeat {
            host: "a".to_owned(),
            share: Share::ALL,
            started_unix_ns: at,
            at_unix_ns: at,
            in_flight: 0,
            clock: None,
            copied_until_unix_ns: None,
        };
        alive.write(&path).unwrap();
        let is_over = AtomicBool::new(false);
        let lives = std::thread::scope(|scope| {
            let mut signs = (at..).map(|at_unix_ns| Heartbeat { at_unix_ns, ..alive.clone() });
            scope.spawn({
                let (path, is_over) = (&path, &is_over);
                move || while !is_over.load(Relaxed) && signs.any(|sign| sign.write(path).is_ok()) {}
            });
            let of_others = is_finished("1/2");
            is_over.store(true, Relaxed);
            of_others
        });
        assert!(matches!(lives, Err(Error::CellTaken { .. })) && path.exists(), "another worker is at it");
        assert!(matches!(is_finished("1/1"), Ok(false)) && !path.exists(), "nobody else is");
        drop(begun);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("diary.txt"), "mine").unwrap();
        assert!(matches!(is_finished("1/1"), Err(Error::Occupied { .. })) && path.join("diary.txt").exists());
    }
}
