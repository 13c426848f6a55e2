//! Progress of sweeps and searches.

use offered_base::Nanos;
use offered_simulate::load::LoadTrial;

use crate::document::capacity::ObjectiveResult;
use crate::{CopyProgress, Field, LiveView, ResourceShortfall};

/// Receives the progress of a sweep or a search. `()` ignores it.
pub trait ProgressObserver {
    /// The live displays of the next run.
    fn views(&mut self) -> Vec<Box<dyn LiveView>> {
        Vec::new()
    }

    /// Receives a progress event.
    fn on_progress(&mut self, progress: Progress) {
        let _ = progress;
    }
}

impl ProgressObserver for () {}

/// A progress event.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// A sweep starts.
    Sweep {
        /// The number of its cells.
        cells: usize,
        /// The number of cells that are not finished yet.
        remaining: usize,
        /// Total duration of the cells to run; `None` if simulated, or if cells end after a number of requests.
        duration: Option<Nanos>,
    },
    /// The workload has no warm-up (`skip_first`), so the statistics include the start of every cell.
    NoWarmUp,
    /// This machine lacks a resource for a later run.
    ResourceShortfall {
        /// The name of the run.
        name: &'a str,
        /// The shortfall.
        shortfall: &'a ResourceShortfall,
        /// The number of other runs with a shortfall of the same kind.
        others: usize,
    },
    /// A trial of the search for the think time of a cell with a load has finished.
    LoadTrial {
        /// The name of the cell.
        name: &'a str,
        /// The trial.
        trial: LoadTrial,
    },
    /// A cell starts.
    Cell {
        /// The number in the remaining cells, from 1.
        number: usize,
        /// The number of remaining cells.
        total: usize,
        /// The name.
        name: &'a str,
        /// The duration of this and all later cells; `None` if simulated, or if cells end after a number of requests.
        duration: Option<Nanos>,
    },
    /// A round of a comparison starts.
    Round {
        /// The number of its pair; the first one, 0, warms up.
        pair: usize,
        /// The maximum number of pairs.
        pairs: usize,
        /// The name of its side.
        name: &'a str,
    },
    /// Recordings of other workers are copied from an object store.
    CopyProgress(CopyProgress<'a>),
    /// An upload to an object store fails and is retried.
    UploadFailed {
        /// The reason.
        reason: &'a str,
    },
    /// A search starts.
    Search {
        /// The maximum number of trials.
        trials: usize,
        /// The maximum duration of a trial; `None` if a number of requests ends it.
        trial_duration: Option<Nanos>,
        /// Whether trials are simulated.
        simulated: bool,
    },
    /// A search has finished its trials at one value.
    Tried {
        /// The field.
        field: &'a Field,
        /// The value.
        value: f64,
        /// The number of trials.
        trials: usize,
        /// The result of the objective.
        result: ObjectiveResult,
    },
}
