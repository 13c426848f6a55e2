//! Builds a `Run` from its recording and verdict and, for a run directory, its workload and record.

use offered_base::{Nanos, Share};
use offered_events::Recording;
use offered_experiment::{
    BadLineHandler, Error, FinishedRun, LocalRun, RecordedRun, VerifiedRun, VerifyOptions, prediction, twin,
};
use offered_store::{EndCondition, Machine, ReadOptions, RunKind, RunRecord, read_failures};
use offered_workload::Workload;
use offered_workload::{Call, Request};

use crate::chart_data::ChartData;
use crate::check_counts::CheckCounts;
use crate::run::Run;
use crate::test_setup::TestSetup;

impl Run {
    /// The run in a run directory or in another tool's file, verified with these options.
    ///
    /// # Errors
    /// The run cannot be read, or its workload is invalid.
    pub fn judged(
        at: &LocalRun,
        options: &ReadOptions,
        terms: &VerifyOptions,
        broken: BadLineHandler,
    ) -> Result<Self, Error> {
        Self::of_verified(terms.verify(at, options, broken)?, Some(at))
    }

    /// The run of a recording that is already verified. `at` is its path; `None` for several files that were merged.
    ///
    /// # Errors
    /// Its failures cannot be read, or its workload is invalid.
    pub fn of_verified(verified: VerifiedRun, at: Option<&LocalRun>) -> Result<Self, Error> {
        let result = verified.result();
        let VerifiedRun { recording, criteria, verdict, run: own } = verified;
        let chart_data = ChartData::of(&recording, &criteria, &verdict.window)?;
        let mut run = Self::new(criteria.path, verdict, chart_data);
        run.result = result;
        run.test_setup.started_at = first_request(&recording);
        if let (Some(RecordedRun { workload, record, .. }), Some(at)) = (own, at) {
            let workload = workload?;
            run.failed_exchanges = read_failures(at.path()).map_err(Error::Read)?;
            run.thresholds = run.verdict.thresholds.clone();
            run.checks = CheckCounts::all(&workload, &recording)?;
            // Free the memory before the simulation.
            drop(recording);
            run.add_setup_and_predictions(&workload, record.as_ref());
        }
        run.web_users = prediction::web_users(&run.verdict.queue)?;
        Ok(run)
    }

    /// The run of `workload` that has just ended.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn of_made(made: &FinishedRun, workload: &Workload) -> Result<Self, Error> {
        let FinishedRun { summary, verdict, criteria, recording, record, failures, .. } = made;
        let chart_data = ChartData::of(recording, criteria, &verdict.window)?;
        let mut run = Self {
            result: Some(made.result()),
            thresholds: summary.thresholds.clone(),
            checks: CheckCounts::all(workload, recording)?,
            failed_exchanges: failures.clone(),
            ..Self::new(criteria.path.clone(), verdict.clone(), chart_data)
        };
        run.verdict.twin = twin::compare_measured(workload, Some(record), recording, &verdict.window)?;
        run.add_setup_and_predictions(workload, Some(record));
        run.web_users = prediction::web_users(&run.verdict.queue)?;
        Ok(run)
    }

    /// Adds the test setup, the modelled server and the predictions.
    fn add_setup_and_predictions(&mut self, workload: &Workload, record: Option<&RunRecord>) {
        let simulated = record.is_some_and(|record| record.kind == RunKind::Simulation);
        self.test_setup = test_setup(workload, record);
        self.server = prediction::server_limits(workload);
        self.predictions = prediction::predictions(workload, simulated);
    }
}

/// The test setup of a run of `workload`. A killed run has no record.
fn test_setup(workload: &Workload, record: Option<&RunRecord>) -> TestSetup {
    let target = match record.map(|record| record.kind) {
        Some(RunKind::Simulation) => Some("none: simulated on the [server] of the workload".to_owned()),
        Some(RunKind::DryRun) => Some("none: dry run on a virtual clock".to_owned()),
        Some(RunKind::Run) | None => workload.target().map(|target| target.url().to_string()),
    };
    let request = |request: &Request| match request.call() {
        Call::WebSocket(_) => format!("{} (WebSocket {})", request.name(), request.path()),
        _ => format!("{} ({} {})", request.name(), request.method(), request.path()),
    };
    let machine =
        |Machine { name, system, arch, cores, .. }: &Machine| format!("{name}, {system}, {arch}, {cores} cores");
    TestSetup {
        target,
        requests: workload.requests().iter().map(request).collect(),
        started_at: record.and_then(|record| instant(record.started_unix_ns?)),
        duration_s: workload
            .time_limit()
            .filter(|_| record.is_none_or(|record| record.end_condition == EndCondition::Duration))
            .map(Nanos::as_secs_f64),
        think_ms: workload.mean_think().map(|seconds| seconds * 1e3),
        count: workload.count(),
        seed: record.and_then(|record| record.seed).or(Some(workload.seed().0)),
        share: record.map(|record| record.share).filter(|share| *share != Share::ALL).map(|share| share.to_string()),
        machine: record.and_then(|record| record.machine.as_ref()).map(machine),
        version: record.map(|record| record.version.clone()),
    }
}

/// Time of the first request of another tool's file, if its timestamps are since the Unix epoch.
fn first_request(recording: &Recording) -> Option<String> {
    /// 9 September 2001; smaller timestamps are not since the epoch.
    const DATED: u64 = 1_000_000_000_000_000_000;
    let (first, _) = recording.events.extent().sent?;
    if recording.on_run_clock || first.0 < DATED { None } else { instant(first.0) }
}

/// An instant since the Unix epoch, to the millisecond.
fn instant(unix_ns: u64) -> Option<String> {
    let at = jiff::Timestamp::from_nanosecond(i128::from(unix_ns)).ok()?;
    Some(format!("{at:.3}"))
}
