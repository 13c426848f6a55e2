//! One cell of a sweep: its place on disk, which is a run directory, and what it came to.

use std::fs;
use std::path::{Path, PathBuf};

use offered_clock::unix_now;
use offered_model::{Objective, Share};
use offered_stats::steady_state::Estimate;
use offered_store::{Alive, MadeBy, ReadOptions, RunRecord, SILENT, read};
use offered_verify::{Ask, Measured as Run, verify};

use crate::figures::Figures;
use crate::kept::kept;
use crate::{Error, Point};

/// A cell, finished or not.
pub(super) struct Cell {
    pub(super) point: Point,
    pub(super) path: PathBuf,
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
        Self { point, path, position: 0 }
    }

    /// Whether its run is there and whole; a run that was cut off is taken away. Where several workers make the sweep, a run that was cut off is
    /// one that has given no sign of life for ten seconds.
    pub(super) fn is_finished(&self, simulated: bool, share: Share) -> Result<bool, Error> {
        if !self.path.exists() {
            return Ok(false);
        }
        let refuse = |what| Error::Occupied { path: self.path.clone(), what };
        if fs::read_to_string(self.path.join("workload.toml")).ok() != Some(kept(&self.point.text)) {
            return if self.was_killed_at_birth() { Ok(false) } else { Err(refuse("another workload")) };
        }
        let Some(record) = RunRecord::read(&self.path)? else {
            let is_fresh = |alive: Alive| alive.silence(unix_now()) < SILENT;
            if share != Share::ALL && Alive::read(&self.path).is_some_and(is_fresh) {
                return Err(refuse("a run that another worker is making, or made until ten seconds ago"));
            }
            fs::remove_dir_all(&self.path).map_err(Error::file("remove", &self.path))?;
            return Ok(false);
        };
        match (record.made_by == MadeBy::Simulation, simulated) {
            (true, false) => Err(refuse("a simulation, and this sweep is one of runs")),
            (false, true) => Err(refuse("a run, and this sweep is one of simulations")),
            _ => Ok(true),
        }
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
        let verdict = verify(&recording, &Ask { path: self.point.name(), ..Ask::of(workload, 1.0) })?;
        let run = Run::new(&recording, &verdict.launches, &verdict.window, workload.counted());
        let figures = Figures::of(&run, &recording, workload, &verdict)?;
        let asked = objective.map_or(&[][..], Objective::thresholds);
        let objective = asked.iter().map(|threshold| run.estimate(&threshold.metric)).collect::<Result<_, _>>()?;
        let directory = directory(&self.point);
        Ok(Measured { directory, position: self.position, figures, objective, point: self.point })
    }
}

/// `cells/users=25,think=5ms`; what a file system might not like is replaced.
fn directory(point: &Point) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "=.-+%".contains(c) { c } else { '_' };
    let names = point.values.iter().map(|(field, value)| format!("{field}={value}").chars().map(plain).collect());
    format!("cells/{}", names.collect::<Vec<String>>().join(","))
}

#[cfg(test)]
mod tests {
    use offered_store::Writer;

    use super::*;
    use crate::{Input, points};

    #[test]
    fn a_cell_whose_run_was_killed_at_birth_is_made_again_and_nothing_else_is_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let text = "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n".to_owned();
        let input = Input::new("w.toml".to_owned(), text, |_| Err(String::new()));
        let point = points(&input, &["rate=1".parse().unwrap()]).unwrap().remove(0);
        let cell = Cell::new(point, folder.path());
        for begun in [&[][..], &["events"], &["events", "workload.toml.tmp"]] {
            fs::create_dir_all(&cell.path).unwrap();
            for name in begun {
                match *name {
                    "events" => fs::create_dir(cell.path.join(name)).unwrap(),
                    file => fs::write(cell.path.join(file), "dura").unwrap(),
                }
            }
            assert!(matches!(cell.is_finished(false, Share::ALL), Ok(false)) && !cell.path.exists(), "{begun:?}");
        }
        let begun = Writer::create(&cell.path, &kept(&cell.point.text), Vec::new()).unwrap();
        let at = unix_now().0;
        let alive = Alive {
            host: "a".to_owned(),
            share: Share::ALL,
            started_unix_ns: at,
            at_unix_ns: at,
            in_flight: 0,
            clock: None,
            copied_unix_ns: None,
        };
        alive.write(&cell.path).unwrap();
        let of_others = cell.is_finished(false, "1/2".parse().unwrap());
        assert!(matches!(of_others, Err(Error::Occupied { .. })) && cell.path.exists(), "another worker is at it");
        assert!(matches!(cell.is_finished(false, Share::ALL), Ok(false)) && !cell.path.exists(), "nobody else is");
        drop(begun);
        fs::create_dir_all(&cell.path).unwrap();
        fs::write(cell.path.join("diary.txt"), "mine").unwrap();
        assert!(
            matches!(cell.is_finished(false, Share::ALL), Err(Error::Occupied { .. }))
                && cell.path.join("diary.txt").exists()
        );
    }
}
