//! A sweep: a workload at every point of a grid, each in its own run directory, and the limits of an objective.

mod cell;
mod limits;
mod order;

pub use crate::figures::{Figures, Histogram, Interval, Lateness, Times};
pub use cell::MeasuredCell;
pub use limits::ObjectiveLimit;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offered_base::{Nanos, Seed, Share};
use offered_events::document::Schema;
use offered_run::{End, RunStats};
use offered_simulate::{Error as Unmeasurable, Stop};
use offered_workload::Objective;

use crate::document::sweep::{Cell as Told, Document, Limit};
use crate::location::Upload;
use crate::redact::redact;
use crate::resource_shortfall::largest_per_kind;
use crate::run::{self, RunPlan};
use crate::simulation::with_load;
use crate::{
    CopyProgress, Error, Progress, ProgressObserver, SharedDirectory, VariedField, WorkloadSource, points,
    simulate_into,
};
use cell::Cell;

/// A sweep to start or to continue.
pub struct Sweep<'a> {
    /// The workload.
    pub input: &'a WorkloadSource,
    /// Fields and their values; the limit of an objective is a value of the first field.
    pub varied: &'a [VariedField],
    /// The directory of the sweep: a run directory per cell, and `sweep.json`. Finished cells in it are not repeated.
    pub at: &'a SharedDirectory,
    /// Whether cells are simulated rather than run.
    pub simulated: bool,
    /// The objective; its limit along the first field is computed.
    pub objective: Option<&'a Objective>,
    /// Whether cells are executed in a random order, drawn from the seed of the workload.
    pub shuffled: bool,
    /// The share of the cells that this process executes; other workers execute the others in the same directory.
    pub share: Share,
}

/// The outcome of a sweep.
pub enum SweepOutcome {
    /// All cells are finished.
    Complete(Box<CompleteSweep>),
    /// The cells of this share are finished; some cells of other workers are not.
    Incomplete {
        /// The number of missing cells.
        missing: usize,
    },
}

/// A complete sweep.
pub struct CompleteSweep {
    /// The cells, in the order of the grid.
    pub cells: Vec<MeasuredCell>,
    /// The limits of the objective, one per combination of the other fields.
    pub limits: Vec<ObjectiveLimit>,
    /// The document in `sweep.json`.
    pub document: Document,
}

impl CompleteSweep {
    /// Whether no cell is invalid.
    pub fn is_valid(&self) -> bool {
        self.cells.iter().all(|cell| cell.figures.is_valid())
    }
}

impl Sweep<'_> {
    /// Executes the unfinished cells of this share, and reads all cells if they are complete. Setting `stop` ends it
    /// early.
    ///
    /// # Errors
    /// A field cannot have a value, the directory holds something else, or a run or simulation fails.
    pub fn run(&self, stop: &Arc<AtomicBool>, observer: &mut dyn ProgressObserver) -> Result<SweepOutcome, Error> {
        let points = points(self.input, self.varied)?.into_iter().map(|point| {
            let name = point.name();
            with_load(self.input, point, &mut |trial| observer.on_progress(Progress::LoadTrial { name: &name, trial }))
        });
        let (points, out) = (points.collect::<Result<Vec<_>, _>>()?, self.at.path());
        let cells = points.into_iter().map(|(point, unmeasurable)| {
            // A run has something to measure at any load.
            Cell::new(point, out, unmeasurable.filter(|_| self.simulated))
        });
        let mut cells: Vec<Cell> = cells.collect();
        check_directories_differ(&cells)?;
        if self.simulated {
            // The load of a modelled server is known without a simulation.
            cells.iter_mut().try_for_each(Cell::mark_unstable)?;
        }
        let steps = self.objective.map(|_| limits::steps(&self.varied[0])).transpose()?;
        let seed = self.input.parse(&self.input.text)?.seed();
        begin(self.at, self.input, self.share)?;
        self.at.refresh_runs_under(CELLS)?;
        check_no_other_cells(self.at, &cells)?;
        self.mark_empty(&mut cells)?;
        self.visit(&mut cells, seed, stop, observer)?;
        self.at.refresh_runs_under(CELLS)?;
        self.mark_empty(&mut cells)?;
        if let missing @ 1.. = cells.iter_mut().map(Cell::is_there).filter(|is_there| !is_there).count() {
            return Ok(SweepOutcome::Incomplete { missing });
        }
        let recorded = cells.iter().filter(|cell| cell.unmeasurable.is_none());
        let wanted: HashSet<String> = recorded.map(Cell::name).collect();
        let told = &mut |copied: CopyProgress| observer.on_progress(Progress::CopyProgress(copied));
        self.at.fetch_recordings(CELLS, &|name| wanted.contains(name), told)?;
        let cells = cells
            .into_iter()
            .map(|cell| cell.measured(self.objective, self.simulated))
            .collect::<Result<Vec<_>, _>>()?;
        let limits = match (self.objective, steps) {
            (Some(objective), Some(steps)) => {
                limits::objective_limits(objective, &self.varied[0].field, &steps, &cells)
            }
            _ => Vec::new(),
        };
        let document = self.document(&cells, &limits);
        let json = serde_json::to_string_pretty(&document).expect("numbers and texts are JSON");
        replace(&out.join("sweep.json"), |path| fs::write(path, json + "\n").map_err(Error::file("write", path)))?;
        self.at.publish("sweep.json")?;
        Ok(SweepOutcome::Complete(Box::new(CompleteSweep { cells, limits, document })))
    }

    /// Marks simulations in which no request completes, as a worker found before.
    fn mark_empty(&self, cells: &mut [Cell]) -> Result<(), Error> {
        if !self.simulated {
            return Ok(());
        }
        // A cell that is recorded has no mark.
        let open: Vec<&mut Cell> = cells.iter_mut().filter_map(|cell| (!cell.is_there()).then_some(cell)).collect();
        let marks = self.at.place().read(&open.iter().map(|cell| cell.empty_mark()).collect::<Vec<_>>())?;
        for (cell, _) in open.into_iter().zip(marks).filter(|(_, mark)| mark.is_some()) {
            cell.unmeasurable = Some(Unmeasurable::NothingCompleted);
        }
        Ok(())
    }

    fn document(&self, cells: &[MeasuredCell], limits: &[ObjectiveLimit]) -> Document {
        Document {
            schema: Schema::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            workload: self.input.name.clone(),
            simulated: self.simulated,
            order: if self.shuffled { "shuffled" } else { "strided" }.to_owned(),
            fields: self.varied.to_vec(),
            cells: cells.iter().map(Into::into).collect(),
            objective: self.objective.map(ToString::to_string),
            limits: limits.iter().map(Into::into).collect(),
        }
    }

    /// Executes the cells that are not finished.
    fn visit(
        &self,
        cells: &mut [Cell],
        seed: Seed,
        stop: &Arc<AtomicBool>,
        observer: &mut dyn ProgressObserver,
    ) -> Result<(), Error> {
        let order = if self.shuffled { order::shuffled(cells.len(), seed) } else { order::strided(cells.len()) };
        let mut todo = Vec::new();
        for (position, place) in order.into_iter().enumerate() {
            cells[place].position = position;
            let is_ours = self.share.has(position as u64) && cells[place].unmeasurable.is_none();
            if is_ours && !cells[place].is_finished(self, stop)? {
                todo.push(place);
            }
        }
        let duration = |todo: &[usize]| {
            // The duration is unknown if a number of requests ends a cell.
            let mut lasting = todo.iter().map(|place| cells[*place].point.workload.time_limit());
            lasting.try_fold(Nanos::ZERO, |sum, one| Some(sum + one?)).filter(|_| !self.simulated)
        };
        let ours = self.share.number_of(cells.len() as u64) as usize;
        observer.on_progress(Progress::Sweep { cells: ours, remaining: todo.len(), duration: duration(&todo) });
        if cells.iter().any(|cell| cell.point.workload.skip_first() == Nanos::ZERO) {
            observer.on_progress(Progress::NoWarmUp);
        }
        if !self.simulated {
            let asked = todo.iter().map(|place| &cells[*place].point);
            let shortfalls = asked.flat_map(|point| {
                RunPlan::for_point(point, None).resource_shortfalls().into_iter().map(|one| (point.name(), one))
            });
            for (name, shortfall, others) in largest_per_kind(shortfalls) {
                observer.on_progress(Progress::ResourceShortfall { name: &name, shortfall: &shortfall, others });
            }
        }
        for (done, place) in todo.iter().enumerate() {
            let (cell, rest) = (&cells[*place], &todo[done..]);
            let name = cell.point.name();
            observer.on_progress(Progress::Cell {
                number: done + 1,
                total: todo.len(),
                name: &name,
                duration: duration(rest),
            });
            if let Err(error) = self.make(cell, rest.len(), stop, observer) {
                let Some(reason) = error.unmeasurable() else { return Err(error) };
                // There is no recording that other workers could find.
                self.at.place().put_if_absent(&cell.empty_mark(), reason.to_string().as_bytes())?;
            }
        }
        Ok(())
    }

    /// Executes one cell into its directory.
    fn make(
        &self,
        cell: &Cell,
        left: usize,
        stop: &Arc<AtomicBool>,
        observer: &mut dyn ProgressObserver,
    ) -> Result<(), Error> {
        let point = &cell.point;
        let of_cell = |error| Error::at(point.name())(error);
        let upload = if self.simulated {
            simulate_into(&point.text, &point.workload, None, Stop::Duration, &cell.path).map_err(of_cell)?;
            cell.claim(self.at)?;
            self.at.upload(&cell.path)?
        } else {
            let ready = RunPlan::for_point(point, Some(&cell.path)).prepare(stop.clone()).map_err(of_cell)?;
            cell.claim(self.at)?;
            let upload = self.at.upload(&cell.path)?;
            let ready = ready.with_upload_error(upload.as_ref().map(Upload::error));
            let made = ready.run(observer.views()).and_then(run::FinishedRun::require_complete).map_err(of_cell);
            let is_whole =
                made.as_ref().is_ok_and(|run::FinishedRun { stats: RunStats { stopped, halted, .. }, .. }| {
                    !stopped || halted.as_ref().is_some_and(|halted| halted.end == End::Threshold)
                });
            if !is_whole {
                // A cell that was stopped is discarded.
                upload.into_iter().for_each(Upload::remove);
                made?;
                fs::remove_dir_all(&cell.path).map_err(Error::file("remove", &cell.path))?;
                return Err(Error::SweepStopped { left });
            }
            upload
        };
        let refused = &mut |why: &str| observer.on_progress(Progress::UploadFailed { reason: why });
        upload.map_or(Ok(()), |upload| upload.finish(UPLOAD_TIMEOUT, stop, refused)).map_err(of_cell)
    }
}

/// How long the upload of a cell may make no progress.
const UPLOAD_TIMEOUT: Nanos = Nanos::from_secs(60);
/// The directory of the cells, inside that of the sweep.
const CELLS: &str = "cells";

/// Creates the directory of the sweep, or checks that it holds the same sweep. With several workers any worker may be the first.
fn begin(at: &SharedDirectory, input: &WorkloadSource, share: Share) -> Result<(), Error> {
    let another = || Error::AnotherSweep { path: at.name().into(), given: input.name.clone() };
    if at.is_in_store() {
        let is_ours = at.place().put_if_absent("workload.toml", redact(&input.text).as_bytes())?;
        return if is_ours { Ok(()) } else { Err(another()) };
    }
    let out = at.path();
    let own = out.join("workload.toml");
    let write = || replace(&own, |path| fs::write(path, redact(&input.text)).map_err(Error::file("write", path)));
    let alone = share == Share::ALL;
    if !out.exists() || !alone && !own.exists() && holds_nothing(out) {
        fs::create_dir_all(out.join(CELLS)).map_err(Error::file("create", out))?;
        return write();
    }
    match fs::read_to_string(&own) {
        Ok(text) if text == redact(&input.text) => Ok(()),
        // Without finished cells a corrected workload replaces the old one. With several workers that would change the sweep of the others.
        Ok(_) if alone && finished_cells(out).next().is_none() => {
            let cells = out.join(CELLS);
            if cells.exists() {
                fs::remove_dir_all(&cells).map_err(Error::file("remove", &cells))?;
            }
            write()
        }
        Ok(_) => Err(another()),
        Err(_) => Err(Error::Occupied { path: out.to_owned(), content: "no sweep (no workload.toml)" }),
    }
}

/// Whether the directory holds nothing except what a worker creates first.
fn holds_nothing(out: &Path) -> bool {
    let own = |name: &str| name == CELLS || name.starts_with(".workload.toml");
    fs::read_dir(out)
        .is_ok_and(|mut listed| listed.all(|entry| entry.is_ok_and(|entry| own(&entry.file_name().to_string_lossy()))))
}

/// Replaces a file atomically: other processes may read or write it at the same time.
///
/// # Errors
/// The errors of `write`, or the file cannot be renamed.
pub fn replace<E: From<Error>>(path: &Path, write: impl FnOnce(&Path) -> Result<(), E>) -> Result<(), E> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{name}.{}", std::process::id()));
    write(&new)?;
    fs::rename(&new, path).map_err(|why| Error::file("replace", path)(why).into())
}

/// The directories of finished cells in the directory of a sweep; none in another directory.
pub fn finished_cells(out: &Path) -> impl Iterator<Item = PathBuf> {
    let cells = fs::read_dir(out.join(CELLS)).into_iter().flatten();
    cells.flatten().map(|cell| cell.path()).filter(|cell| cell.join("run.json").exists())
}

/// Refuses finished cells in `at` that are not in `cells`, because new tables would omit them.
fn check_no_other_cells(at: &SharedDirectory, cells: &[Cell]) -> Result<(), Error> {
    let ours: HashSet<PathBuf> = cells.iter().flat_map(Cell::attempts).map(|(_, path)| path).collect();
    let mut others: Vec<PathBuf> = finished_cells(at.path()).filter(|cell| !ours.contains(cell)).collect();
    others.sort();
    let Some(first) = others.first().and_then(|cell| cell.file_name()) else { return Ok(()) };
    Err(Error::OtherValues { path: at.name().into(), first: first.to_string_lossy().into_owned(), n: others.len() })
}

/// Refuses cells with values that differ only in characters that are replaced in file names.
fn check_directories_differ(cells: &[Cell]) -> Result<(), Error> {
    let mut seen = HashMap::new();
    for cell in cells {
        if let Some(other) = seen.insert(&cell.path, cell) {
            let other: &Cell = other;
            return Err(Error::OneDirectory {
                one: other.point.name(),
                other: cell.point.name(),
                path: cell.path.clone(),
            });
        }
    }
    Ok(())
}

impl From<&MeasuredCell> for Told {
    fn from(cell: &MeasuredCell) -> Self {
        Self {
            values: cell.point.values.iter().cloned().collect(),
            directory: cell.directory.clone(),
            position: cell.position,
            figures: cell.figures.clone(),
            objective: cell.objective.iter().map(|figure| figure.map(|figure| Interval::of(figure, 1.0))).collect(),
        }
    }
}

impl From<&ObjectiveLimit> for Limit {
    fn from(limit: &ObjectiveLimit) -> Self {
        let ObjectiveLimit { fixed, field, value, low, high, note } = limit.clone();
        Self { fixed: fixed.into_iter().collect(), field, value, low, high, note }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(text: &str) -> WorkloadSource {
        WorkloadSource::new("w.toml".to_owned(), text.to_owned(), |_| Err(String::new()))
    }

    #[test]
    fn a_sweep_without_finished_cells_may_change_its_workload() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("sweep");
        let begin = |input: &WorkloadSource, share| begin(&SharedDirectory::at(&out, |_| ()).unwrap(), input, share);
        begin(&input("first"), Share::ALL).unwrap();
        let cell = out.join("cells/rate=1");
        fs::create_dir(&cell).unwrap();
        begin(&input("mended"), Share::ALL).unwrap();
        assert!(!cell.exists() && fs::read_to_string(out.join("workload.toml")).unwrap() == "mended");
        fs::create_dir_all(&cell).unwrap();
        fs::write(cell.join("run.json"), "{}").unwrap();
        begin(&input("mended"), Share::ALL).unwrap();
        let why = begin(&input("third"), Share::ALL).unwrap_err().to_string();
        assert!(why.contains("was started with another workload") && cell.exists(), "{why}");
    }

    #[test]
    fn any_worker_may_start_a_sweep_but_not_change_its_workload() {
        let folder = tempfile::tempdir().unwrap();
        let (out, share) = (folder.path().join("sweep"), "2/3".parse().unwrap());
        let begin = |input: &WorkloadSource, share| begin(&SharedDirectory::at(&out, |_| ()).unwrap(), input, share);
        // Another has just made the directory.
        fs::create_dir_all(out.join("cells")).unwrap();
        begin(&input("first"), share).unwrap();
        begin(&input("first"), "1/3".parse().unwrap()).unwrap();
        assert!(matches!(begin(&input("mended"), share), Err(Error::AnotherSweep { .. })));
        fs::remove_file(out.join("workload.toml")).unwrap();
        fs::write(out.join("diary.txt"), "mine").unwrap();
        assert!(matches!(begin(&input("first"), share), Err(Error::Occupied { .. })));
    }

    #[test]
    fn workers_share_the_cells_of_a_sweep() {
        let folder = tempfile::tempdir().unwrap();
        let (together, alone) = (folder.path().join("together"), folder.path().join("alone"));
        let text = "seed = 7\nduration = \"60s\"\nskip_first = \"1s\"\narrivals.open.rate = \"1/s\"\n\
            server = { discipline = \"ps\", service = { exponential = \"2ms\" } }\n";
        let (input, varied) = (input(text), ["rate=50..250:50".parse().unwrap()]);
        let make = |out: &Path, share: &str| {
            let share = share.parse().unwrap();
            let at = &SharedDirectory::at(out, |_| ()).unwrap();
            let sweep =
                Sweep { input: &input, varied: &varied, at, simulated: true, objective: None, shuffled: false, share };
            sweep.run(&Arc::default(), &mut ()).unwrap()
        };
        let missing = |made| match made {
            SweepOutcome::Incomplete { missing } => missing,
            SweepOutcome::Complete(_) => 0,
        };
        assert_eq!(missing(make(&together, "2/3")), 3);
        assert_eq!(missing(make(&together, "1/3")), 1);
        assert!(!together.join("sweep.json").exists());
        let SweepOutcome::Complete(whole) = make(&together, "3/3") else { panic!("all are there") };
        let SweepOutcome::Complete(by_one) = make(&alone, "1/1") else { panic!("all are there") };
        assert_eq!(serde_json::to_value(&whole.document).unwrap(), serde_json::to_value(&by_one.document).unwrap());
        assert_eq!(missing(make(&together, "1/3")), 0, "anybody reads it");
    }

    #[test]
    fn a_simulation_in_which_nothing_completes_is_finished_for_all_workers() {
        let folder = tempfile::tempdir().unwrap();
        let text = "seed = 7\nduration = \"60s\"\narrivals.closed = { users = 1, think.constant = \"1s\" }\n\
            server = { discipline = \"fcfs\", service = { constant = \"1h\" } }\n";
        let (input, varied) = (input(text), ["users=1,2".parse().unwrap()]);
        let make = |share: &str| {
            let (at, share) = (&SharedDirectory::at(folder.path(), |_| ()).unwrap(), share.parse().unwrap());
            let sweep =
                Sweep { input: &input, varied: &varied, at, simulated: true, objective: None, shuffled: false, share };
            sweep.run(&Arc::default(), &mut ()).unwrap()
        };
        assert!(matches!(make("1/2"), SweepOutcome::Incomplete { missing: 1 }));
        for share in ["2/2", "1/2"] {
            let SweepOutcome::Complete(sweep) = make(share) else { panic!("both are finished") };
            assert!(sweep.cells.iter().all(|cell| cell.figures.reason.starts_with("no request completed")));
        }
    }

    #[test]
    fn a_workload_that_cannot_be_simulated_leaves_no_directory() {
        let folder = tempfile::tempdir().unwrap();
        let (out, input) = (folder.path().join("sweep"), input("duration = \"1s\"\narrivals.open.rate = \"1/s\"\n"));
        let (at, varied) = (&SharedDirectory::at(&out, |_| ()).unwrap(), ["rate=1,2".parse().unwrap()]);
        let share = Share::ALL;
        let sweep =
            Sweep { input: &input, varied: &varied, at, simulated: true, objective: None, shuffled: false, share };
        assert!(sweep.run(&Arc::default(), &mut ()).is_err() && !out.exists());
    }

    #[test]
    fn a_sweep_may_gain_but_not_lose_cells() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("sweep");
        let input = input("duration = \"1s\"\narrivals.open.rate = \"1/s\"\n");
        let cells = |values: &str| -> Vec<Cell> {
            let points = points(&input, &[values.parse().unwrap()]).unwrap();
            points.into_iter().map(|point| Cell::new(point, &out, None)).collect()
        };
        let at = SharedDirectory::at(&out, |_| ()).unwrap();
        begin(&at, &input, Share::ALL).unwrap();
        for cell in cells("rate=1,2") {
            fs::create_dir_all(&cell.path).unwrap();
            fs::write(cell.path.join("run.json"), "{}").unwrap();
        }
        assert!(check_no_other_cells(&at, &cells("rate=1,2,3")).is_ok());
        let why = check_no_other_cells(&at, &cells("rate=2,3")).unwrap_err().to_string();
        assert!(why.contains("1 finished cells of other values (for example rate=1)"), "{why}");
    }

    #[test]
    fn cells_with_the_same_directory_are_refused() {
        let input = input("duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[[request]]\nget = \"/\"\n");
        let cells = |values: &str| -> Vec<Cell> {
            let points = points(&input, &[values.parse().unwrap()]).unwrap();
            points.into_iter().map(|point| Cell::new(point, Path::new("out"), None)).collect()
        };
        assert!(check_directories_differ(&cells("request.0.get=/a,/b")).is_ok());
        let why = check_directories_differ(&cells("request.0.get=/a/b,/a_b")).unwrap_err().to_string();
        assert!(why.contains("would share the directory out/cells/request.0.get=_a_b"), "{why}");
    }
}
