//! A run as the report knows it: gathered from its recording and its verdict and, of a run of ours, from its workload and record.

use offered_experiment::{Broken, Error, Here, Judged, Made, Own, Terms, theory, twin};
use offered_model::workload::{Call, Request};
use offered_model::{Nanos, Recording, Share, Workload};
use offered_store::{Machine, MadeBy, ReadOptions, RunRecord, Until, read_failures};
use offered_verify::{Checked, Measured, Verdict};

use crate::checks::Tried;
use crate::portrait::Portrait;
use crate::report::Run;
use crate::tested::Tested;

impl Run {
    /// Of the run in a directory of ours, or in another tool's file, judged on these terms; one recording is in memory at a time.
    ///
    /// # Errors
    /// It cannot be read; a workload that no formula takes.
    pub fn judged(at: &Here, options: &ReadOptions, terms: &Terms, broken: Broken) -> Result<Self, Error> {
        let Judged { recording, ask, verdict, own } = terms.judge(at, options, broken)?;
        let portrait = Portrait::of(&recording, &ask, &verdict.window)?;
        let mut run = Self::new(ask.path, verdict, portrait);
        run.tested.began = first_launch(&recording);
        if let Some(Own { workload, record, .. }) = own {
            let workload = workload?;
            run.seen = read_failures(at.path()).map_err(Error::Read)?;
            let Verdict { launches, window, .. } = &run.verdict;
            let measured = Measured::new(&recording, launches, window, workload.counted());
            let measured = measured.with_pages(workload.pages());
            run.thresholds = Checked::all(workload.thresholds(), &measured, &run.verdict)?;
            run.checks = Tried::all(&workload, &recording)?;
            // It may be large, and a simulation follows.
            drop(recording);
            run.foresee(&workload, record.as_ref())?;
        }
        run.web_users = theory::web_users(&run.verdict.queue)?;
        Ok(run)
    }

    /// Of a run of `workload` that has just been made and judged.
    ///
    /// # Errors
    /// The recording can no longer be read; a workload that no formula takes.
    pub fn of_made(made: &Made, workload: &Workload) -> Result<Self, Error> {
        let Made { summary, verdict, ask, recording, record, failures, .. } = made;
        let portrait = Portrait::of(recording, ask, &verdict.window)?;
        let mut run = Self {
            thresholds: summary.thresholds.clone(),
            checks: Tried::all(workload, recording)?,
            seen: failures.clone(),
            ..Self::new(ask.path.clone(), verdict.clone(), portrait)
        };
        run.verdict.twin = twin::of_measured(workload, Some(record), recording, &verdict.window)?;
        run.foresee(workload, Some(record))?;
        run.web_users = theory::web_users(&run.verdict.queue)?;
        Ok(run)
    }

    /// Adds how it came to be, and what is known of the workload's server and predicted of the run.
    fn foresee(&mut self, workload: &Workload, record: Option<&RunRecord>) -> Result<(), Error> {
        let simulated = record.is_some_and(|record| record.made_by == MadeBy::Simulation);
        self.tested = tested(workload, record);
        self.server = theory::server(workload);
        self.predictions = theory::predictions(workload, simulated)?;
        Ok(())
    }
}

/// How a run of `workload` came to be, by its record; a run that was killed has none.
fn tested(workload: &Workload, record: Option<&RunRecord>) -> Tested {
    let target = match record.map(|record| record.made_by) {
        Some(MadeBy::Simulation) => {
            Some("nobody: answered by the workload's own modelled server, on a virtual clock".to_owned())
        }
        Some(MadeBy::DryRun) => Some("nobody: a dry run, on a virtual clock".to_owned()),
        Some(MadeBy::Run) | None => workload.target().map(|target| target.url().to_string()),
    };
    let request = |request: &Request| match request.call() {
        Call::WebSocket(_) => format!("{} (WebSocket {})", request.name(), request.path()),
        _ => format!("{} ({} {})", request.name(), request.method(), request.path()),
    };
    let machine =
        |Machine { name, system, arch, cores, .. }: &Machine| format!("{name}, {system}, {arch}, {cores} cores");
    Tested {
        target,
        requests: workload.requests().iter().map(request).collect(),
        began: record.and_then(|record| instant(record.started_unix_ns?)),
        duration_s: workload
            .time_limit()
            .filter(|_| record.is_none_or(|record| record.until == Until::Duration))
            .map(Nanos::as_secs_f64),
        count: workload.count(),
        seed: record.and_then(|record| record.seed).or(Some(workload.seed().0)),
        share: record.map(|record| record.share).filter(|share| *share != Share::ALL).map(|share| share.to_string()),
        machine: record.and_then(|record| record.machine.as_ref()).map(machine),
        version: record.map(|record| record.version.clone()),
    }
}

/// When the first launch of another tool's file was made, where its stamps are since the Unix epoch.
fn first_launch(recording: &Recording) -> Option<String> {
    /// The ninth of September 2001, since the epoch: stamps below count from something else.
    const DATED: u64 = 1_000_000_000_000_000_000;
    let (first, _) = recording.events.extent().sent?;
    if recording.on_run_clock || first.0 < DATED { None } else { instant(first.0) }
}

/// An instant since the Unix epoch, to the millisecond.
fn instant(unix_ns: u64) -> Option<String> {
    let at = jiff::Timestamp::from_nanosecond(i128::from(unix_ns)).ok()?;
    Some(format!("{at:.3}"))
}
