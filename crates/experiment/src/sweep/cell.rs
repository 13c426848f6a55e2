//! One cell of a sweep: its run directory and its result.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_base::{Nanos, Share};
use offered_io::{Clock, unix_now};
use offered_simulate::{Error as Unmeasurable, interval_requirements};
use offered_stats::steady_state::Estimate;
use offered_store::{HEARTBEAT_TIMEOUT, Heartbeat, ReadOptions, RunKind, RunRecord, read};
use offered_verify::{Criteria, Measurements as Run, verify};
use offered_workload::Objective;

use super::{CELLS, Sweep};
use crate::figures::Figures;
use crate::redact::{redact, without_location};
use crate::{Error, Point, SharedDirectory};
use offered_observe::this_machine;

/// Separates the name of a cell from the number of an attempt after the first. Names of cells do not contain it.
const ATTEMPT_SEPARATOR: char = '@';
/// Time between two checks of a cell that another worker executes.
const POLL_INTERVAL: Nanos = Nanos::from_millis(500);

/// A cell, finished or not.
pub(super) struct Cell {
    pub(super) point: Point,
    /// The directory: of the finished run, or of the next attempt.
    pub(super) path: PathBuf,
    /// The directory name of the first attempt.
    first: String,
    /// The position of the cell in the order of execution, from 0.
    pub(super) position: usize,
    /// Why its simulation has nothing to measure; `None` if it is recorded or not finished.
    pub(super) unmeasurable: Option<Unmeasurable>,
}

/// A finished cell.
pub struct MeasuredCell {
    /// The point of the grid.
    pub point: Point,
    /// The directory of the cell, relative to the directory of the sweep.
    pub directory: String,
    /// The position of the cell in the order of execution, from 0.
    pub position: usize,
    /// The figures of the cell.
    pub figures: Figures,
    /// The metrics of the objective, in its order; empty without an objective, and if no request completed.
    pub objective: Vec<Option<Estimate>>,
}

impl Cell {
    /// A cell for a point, in the directory of the sweep.
    pub(super) fn new(point: Point, out: &Path, unmeasurable: Option<Unmeasurable>) -> Self {
        let path = out.join(directory(&point));
        let first = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self { point, path, first, position: 0, unmeasurable }
    }

    /// The name of its directory.
    pub(super) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The existing attempts, finished or not, with their numbers from 1. In a directory there is at most one. In an object store an unfinished
    /// attempt stays, because its worker may come back and continue to write: the next attempt is `rate=50@2`.
    pub(super) fn attempts(&self) -> Vec<(u32, PathBuf)> {
        let listed = self.path.parent().and_then(|cells| fs::read_dir(cells).ok()).into_iter().flatten().flatten();
        let number = |name: &str| match name.strip_prefix(&self.first)? {
            "" => Some(1),
            rest => rest.strip_prefix(ATTEMPT_SEPARATOR)?.parse().ok(),
        };
        let mut attempts: Vec<(u32, PathBuf)> =
            listed.filter_map(|entry| Some((number(entry.file_name().to_str()?)?, entry.path()))).collect();
        attempts.sort_unstable();
        attempts
    }

    fn select(&mut self, attempt: u32) {
        let first = &self.first;
        self.path.set_file_name(if attempt == 1 {
            first.clone()
        } else {
            format!("{first}{ATTEMPT_SEPARATOR}{attempt}")
        });
    }

    /// Marks a simulation whose queue would grow without end.
    ///
    /// # Errors
    /// The workload cannot be simulated, or has no steady state at any load.
    pub(super) fn mark_unstable(&mut self) -> Result<(), Error> {
        if let Some(error) = self.point.instability()? {
            self.unmeasurable = Some(error);
        }
        Ok(())
    }

    /// The name of the file, in the directory of the sweep, that says that no request completes in this simulation.
    pub(super) fn empty_mark(&self) -> String {
        format!("{CELLS}/{}{ATTEMPT_SEPARATOR}empty", self.first)
    }

    /// Whether one of its attempts is finished, and selects it; or whether it has nothing to record.
    pub(super) fn is_there(&mut self) -> bool {
        if self.unmeasurable.is_some() {
            return true;
        }
        let ended = self.attempts().into_iter().find(|(_, path)| path.join("run.json").exists());
        ended.map(|(attempt, _)| self.select(attempt)).is_some()
    }

    /// Whether one of its attempts is complete. Interrupted attempts are removed from a directory. With several workers an attempt counts as
    /// interrupted if its heartbeat is older than ten seconds, for which this function waits.
    pub(super) fn is_finished(&mut self, sweep: &Sweep, stop: &AtomicBool) -> Result<bool, Error> {
        let mut next = 1;
        for (attempt, _) in self.attempts() {
            self.select(attempt);
            if self.is_complete(sweep, stop)? {
                return Ok(true);
            }
            if sweep.at.is_in_store() {
                next = attempt + 1;
            }
        }
        self.select(next);
        Ok(false)
    }

    /// Whether the selected attempt is complete; an incomplete directory is removed.
    fn is_complete(&self, sweep: &Sweep, stop: &AtomicBool) -> Result<bool, Error> {
        let refuse = |what| Error::Occupied { path: sweep.at.display(&self.path).into(), content: what };
        let in_store = sweep.at.is_in_store();
        match fs::read_to_string(self.path.join("workload.toml")) {
            Ok(text) if without_location(&text) == without_location(&redact(&self.point.text)) => {}
            // The worker that claimed it has not written its workload yet.
            Err(_) if in_store => {}
            _ if !in_store && self.was_killed_at_start() => return Ok(false),
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
            (true, false) => Err(refuse("a simulation, but this sweep executes runs")),
            (false, true) => Err(refuse("a run, but this sweep executes simulations")),
            _ => Ok(true),
        }
    }

    /// Returns once its run has ended, or its heartbeat has timed out. A new heartbeat means that another worker executes it: an error.
    fn wait_for_silence(&self, at: &SharedDirectory, stop: &AtomicBool) -> Result<(), Error> {
        let has_ended = || self.path.join("run.json").exists();
        let (clock, first) = (Clock::start(), Heartbeat::read(&self.path));
        let Some(first) = first.filter(|_| !has_ended()) else { return Ok(()) };
        while first.silence(unix_now()) < HEARTBEAT_TIMEOUT {
            if stop.load(Relaxed) {
                return Err(offered_rendezvous::Error::Stopped.into());
            }
            clock.sleep_until(clock.now() + POLL_INTERVAL);
            at.refresh_run(&self.path)?;
            match Heartbeat::read(&self.path) {
                _ if has_ended() => return Ok(()),
                Some(last) if last != first => return Err(self.taken(at, last.host)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Claims its directory for this process.
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

    /// Whether the run was killed before its workload was written; then the empty directory is removed.
    fn was_killed_at_start(&self) -> bool {
        // This does not remove a directory that contains anything else.
        let _ = fs::remove_file(self.path.join("workload.toml.tmp"));
        let _ = fs::remove_dir(self.path.join("events"));
        fs::remove_dir(&self.path).is_ok()
    }

    /// Reads and verifies its recording, whether executed now or earlier. Of a simulation, load and sizes are known.
    pub(super) fn measured(self, objective: Option<&Objective>, simulated: bool) -> Result<MeasuredCell, Error> {
        let asked = objective.map_or(&[][..], Objective::thresholds);
        let directory = format!("{CELLS}/{}", self.name());
        if let Some(reason) = self.unmeasurable {
            let figures = Figures::unmeasured(&self.point.workload, reason.to_string());
            // A queue that grows without end meets no objective; without a response, nothing is known.
            let objective = if reason.is_unstable() { vec![None; asked.len()] } else { Vec::new() };
            return Ok(MeasuredCell { directory, position: self.position, figures, objective, point: self.point });
        }
        let recording = read(&self.path, &ReadOptions::default())?;
        let workload = &self.point.workload;
        let verdict =
            verify(&recording, &Criteria { path: self.point.name(), ..Criteria::from_workload(workload, 1.0) })?;
        let requirements = simulated.then(|| interval_requirements(workload)).flatten().unwrap_or_default();
        let run = Run::new(&recording, &verdict.gaps, &verdict.window, workload.counted());
        let run = run.with_requirements(requirements);
        let figures = Figures::of(&run, &recording, workload, &verdict)?;
        let objective = asked.iter().map(|threshold| run.estimate(&threshold.metric)).collect::<Result<_, _>>()?;
        Ok(MeasuredCell { directory, position: self.position, figures, objective, point: self.point })
    }
}

/// `cells/users=25,think=5ms`, with special characters replaced.
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
    fn a_cell_killed_at_its_start_is_repeated_and_other_files_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let text = "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n".to_owned();
        let input = WorkloadSource::new("w.toml".to_owned(), text, |_| Err(String::new()));
        let point = points(&input, &["rate=1".parse().unwrap()]).unwrap().remove(0);
        let mut cell = Cell::new(point, folder.path(), None);
        let at = SharedDirectory::at(folder.path(), |_| ()).unwrap();
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
