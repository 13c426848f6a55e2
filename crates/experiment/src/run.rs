//! A run: its plan, its preparation, and its result.
//!
//! [`RunPlan::prepare`] gives a [`PreparedRun`], which may [join](PreparedRun::join) other workers. [`PreparedRun::run`] sends the requests,
//! records the events, and verifies the recording.

mod disk;
mod execute;
mod join;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;

use offered_base::{Instant, Nanos, Share};
use offered_events::{ClockOffset, Exchange, Recording, RunId};
use offered_io::{WallClock, raise_file_limit};
use offered_observe::compare_clocks_before;
use offered_rendezvous::ClockRole;
use offered_run::{ExchangeObserver, Generator, Load, RunStats, threads};
use offered_store::{ObservedHost, RunRecord};
use offered_verify::{Criteria, Verdict};
use offered_workload::Workload;

pub use disk::PendingDisk;

use crate::collector::UploadError;
use crate::location::{SharedDirectory, Upload};
use crate::redact::{REDACTED, redact};
use crate::resource_shortfall::{ResourceShortfall, resource_shortfalls};
use crate::summary::Summary;
use crate::{Error, Point, RunResult, SetLoad};

/// The inputs of a run: workload, load, and options.
pub struct RunPlan<'a> {
    /// The text of the workload; the run directory contains a redacted copy.
    pub text: &'a str,
    /// The parsed workload.
    pub workload: &'a Workload,
    /// The share of the requests that this process sends.
    pub share: Share,
    /// Where requests go: to the target, or nowhere (a dry run).
    pub load: Load,
    /// The start time since the Unix epoch; `None`: as soon as possible.
    pub start_at: Option<Nanos>,
    /// The run ID; `None`: [`RunId::unless_given`].
    pub run_id: Option<RunId>,
    /// The new run directory. `None`: events stay in this process, in bounded memory.
    pub directory: Option<&'a Path>,
    /// The name of the run in the verdict.
    pub name: String,
    /// Whether a few failed exchanges of each kind are captured completely. Recorded runs of scripted workloads always capture them.
    pub capture_failures: bool,
}

/// A run that is ready to start.
pub struct PreparedRun<'a> {
    plan: RunPlan<'a>,
    run_id: RunId,
    generator: Generator,
    failures: Option<Receiver<Exchange>>,
    /// The clock of the start time.
    wall: WallClock,
    /// The membership in a run of many workers.
    membership: Option<Membership>,
    /// Returns the current error of an upload that the caller started.
    upload_error: Option<UploadError>,
    /// The observed hosts, which take part in the clock comparison.
    hosts: Vec<ObservedHost>,
    /// The load for which the rate was set.
    set_load: Option<SetLoad>,
}

/// A recording that is still being uploaded to an object store.
///
/// Dropping the value leaves the local copy where it is.
pub struct PendingUpload(Option<(Upload, SharedDirectory)>);

impl PendingUpload {
    /// Waits until the upload is complete. Gives up `timeout` after the last progress, or once `abort` is set. `on_retry` gets the reason of
    /// each failed attempt. The local copy, from which the recording is read, is deleted after a complete upload.
    ///
    /// # Errors
    /// The upload is incomplete; the error names the local copy.
    pub fn finish(
        mut self,
        timeout: Nanos,
        abort: &Arc<AtomicBool>,
        on_retry: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        let Some((upload, shared)) = self.0.take() else { return Ok(()) };
        let result = upload.finish(timeout, abort, on_retry);
        if result.is_err() {
            shared.keep();
        }
        result
    }
}

impl Drop for PendingUpload {
    fn drop(&mut self) {
        if let Some((_, shared)) = self.0.take() {
            shared.keep();
        }
    }
}

/// The membership of a worker in a run of many workers.
struct Membership {
    /// The rendezvous.
    shared: SharedDirectory,
    /// The run directory of this worker, on this machine.
    directory: PathBuf,
    /// When this worker starts sending; later than zero if it replaces a lost worker.
    resume_at: Instant,
    /// The offset of the worker's clock from the clock of worker 1 before the run.
    offset_before: Option<ClockOffset>,
    /// Compares the clocks after the run.
    clock_role: ClockRole,
}

/// A finished run.
pub struct FinishedRun {
    /// The summary.
    pub summary: Summary,
    /// The verdict.
    pub verdict: Verdict,
    /// The criteria of the verdict.
    pub criteria: Criteria,
    /// The recording.
    pub recording: Recording,
    /// Statistics of the generator, and how the run ended.
    pub stats: RunStats,
    /// The run record, as in the run directory.
    pub record: RunRecord,
    /// A few failed exchanges, if they were captured.
    pub failures: Vec<Exchange>,
    /// Why the run directory is incomplete; `None` if it is complete. Events that are missing there are still in the
    /// results if they fitted into memory.
    pub write_loss: Option<offered_store::Error>,
    /// The run directory, if the disk has not completed it yet; the caller finishes it after the result is shown.
    pub pending_disk: Option<PendingDisk>,
    /// The upload to an object store; the caller finishes it when the recording is no longer needed.
    pub pending_upload: Option<PendingUpload>,
}

impl FinishedRun {
    /// The result of the run: passed, failed or invalid.
    pub fn result(&self) -> RunResult {
        RunResult::of(&self.verdict, &self.summary.thresholds, self.record.generator.as_ref())
    }

    /// Waits until the directory is complete, and returns the run.
    ///
    /// # Errors
    /// The directory is incomplete.
    pub fn require_complete(mut self) -> Result<Self, Error> {
        if let Some(disk) = self.pending_disk.take() {
            disk.finish(&AtomicBool::new(false), &mut |_| ())?;
        }
        match self.write_loss {
            Some(loss) => Err(loss.into()),
            None => Ok(self),
        }
    }
}

impl<'a> RunPlan<'a> {
    /// A complete run of one point of a grid against its target.
    pub fn for_point(point: &'a Point, directory: Option<&'a Path>) -> Self {
        Self {
            text: &point.text,
            workload: &point.workload,
            share: Share::ALL,
            load: Load::Target,
            start_at: None,
            run_id: None,
            directory,
            name: point.name(),
            capture_failures: false,
        }
    }

    /// The resources that this machine lacks for the run. Raises the limit of open files first, as the run itself does.
    pub fn resource_shortfalls(&self) -> Vec<ResourceShortfall> {
        let is_mock = matches!(self.load, Load::Mock(_));
        if !is_mock {
            raise_file_limit();
        }
        resource_shortfalls(self.workload, self.share, threads(self.workload, self.share), is_mock)
    }

    /// Prepares everything up to the first request. Setting `stop` ends the run gracefully. A run without a start time checks its target
    /// first.
    ///
    /// # Errors
    /// The workload cannot be sent, or the target does not respond.
    pub fn prepare(self, stop: Arc<AtomicBool>) -> Result<PreparedRun<'a>, Error> {
        if self.load == Load::Target && self.text.contains(REDACTED) && redact(self.text) == self.text {
            return Err(Error::RedactedWorkload);
        }
        let load = self.load.clone();
        let wall = WallClock::read();
        let default_id = || RunId::unless_given(self.share, self.start_at, wall.now());
        let run_id = self.run_id.clone().unwrap_or_else(default_id);
        let generator = Generator::new(self.workload.clone(), self.share, load)?.in_run(&run_id).stopped_by(stop);
        let has_target = self.load == Load::Target;
        let capture = self.capture_failures || self.directory.is_some() && self.workload.is_scripted();
        let (generator, failures) = if capture && has_target {
            let (observer, failures) = ExchangeObserver::failures_only();
            (generator.observed_by(observer)?, Some(failures))
        } else {
            (generator, None)
        };
        if self.start_at.is_none() {
            generator.preflight()?;
        }
        let hosts = if has_target && self.share.index() == 0 {
            compare_clocks_before(self.workload.observe(), wall, &generator.stop())
        } else {
            Vec::new()
        };
        Ok(PreparedRun {
            plan: self,
            run_id,
            generator,
            failures,
            wall,
            membership: None,
            upload_error: None,
            hosts,
            set_load: None,
        })
    }
}

impl PreparedRun<'_> {
    /// Setting `abort` ends the run without waiting for requests in flight.
    #[must_use]
    pub fn aborted_by(self, abort: Arc<AtomicBool>) -> Self {
        Self { generator: self.generator.aborted_by(abort), ..self }
    }

    /// Uses another clock than that of this machine, for tests with a wrong clock.
    #[must_use]
    pub fn with_clock(self, wall: WallClock) -> Self {
        Self { wall, ..self }
    }

    /// Records the load for which the rate was set.
    #[must_use]
    pub fn with_set_load(self, set_load: Option<SetLoad>) -> Self {
        Self { set_load, ..self }
    }

    /// Shows the error that `upload_error` returns during the run.
    pub(crate) fn with_upload_error(self, upload_error: Option<UploadError>) -> Self {
        Self { upload_error, ..self }
    }

    /// The observers that did not respond to a clock query, by name and address.
    pub fn unresponsive_hosts(&self) -> impl Iterator<Item = (&str, &str)> {
        let unresponsive = self.hosts.iter().filter(|host| host.token.is_none());
        unresponsive.map(|host| (host.name.as_str(), host.address.as_str()))
    }

    /// The offset of this machine's clock from the clock of worker 1; the run starts by the clock of worker 1. `None`
    /// for worker 1, for a run of one worker, and if worker 1 did not respond; then the clocks are assumed to be equal.
    pub fn clock_offset(&self) -> Option<ClockOffset> {
        self.membership.as_ref().and_then(|membership| membership.offset_before)
    }
}
