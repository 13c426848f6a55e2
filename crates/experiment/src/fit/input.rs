//! The input of a fit: runs, and assumptions about the server.

use std::path::PathBuf;

use offered_base::Seed;
use offered_verify::StabilityState;
use offered_workload::{Policy, Workload};

use super::features::{Feature, features};
use super::load_dependence::FittedRates;
use super::observations::Observations;
use crate::{Error, VerifiedRun};

/// Assumptions about the server that replace fitting.
#[derive(Clone, Debug, Default)]
pub struct FitOptions {
    /// Number of servers; `None`: fitted.
    pub servers: Option<u32>,
    /// Disciplines to choose from; empty: the usual ones.
    pub disciplines: Vec<Policy>,
}

/// A discipline and a number of servers, or the rate of processor sharing by the Universal Scalability Law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) discipline: Policy,
    pub(super) servers: u32,
    pub(super) rates: Option<FittedRates>,
}

/// A verified run with its requests in memory.
pub(super) struct RunData {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) workload: Workload,
    /// Whether its backlog grew.
    pub(super) is_overloaded: bool,
    pub(super) observed: Observations,
    /// The features of its responses, with which those of each candidate are compared.
    pub(super) features: Vec<Feature>,
    pub(super) directory: PathBuf,
}

impl RunData {
    /// Reads the requests of a verified run.
    ///
    /// # Errors
    /// It is not a run directory of `offered`, cannot be read, or has no successful request.
    pub(super) fn of(directory: PathBuf, run: VerifiedRun) -> Result<Self, Error> {
        let VerifiedRun { recording, verdict, run: recorded, .. } = run;
        let name = verdict.source.path.clone();
        let Some(recorded) = recorded else { return Err(Error::fit_needs_run(&directory)) };
        let is_overloaded = verdict.stability.as_ref().is_some_and(|of| of.state == StabilityState::Overloaded);
        let record = recorded.record.as_ref();
        if record.is_some_and(|record| record.load.is_some()) {
            return Err(Error::FitAtLoad { path: directory });
        }
        let mut workload = recorded.workload?;
        if let Some(seed) = record.and_then(|record| record.seed) {
            workload = workload.with_seed(Seed(seed));
        }
        let labels = workload.labels();
        let observed = Observations::of(&recording, &verdict.window, &labels)?;
        if observed.requests.is_empty() {
            return Err(Error::NothingToFit { path: directory });
        }
        let features = features(&observed, &labels);
        Ok(Self { name, text: recorded.text, workload, is_overloaded, observed, features, directory })
    }

    /// The last part of its path.
    pub(super) fn short_name(&self) -> &str {
        self.name.trim_end_matches('/').rsplit('/').next().unwrap_or(&self.name)
    }
}
