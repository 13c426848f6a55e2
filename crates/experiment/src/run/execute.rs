//! Executing a run in four phases: start, execute, persist, judge.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};

use offered_base::{Instant, Nanos, Share};
use offered_events::recording::{CalibratedRate, Evidence, Scheduling};
use offered_events::{ClockOffset, Exchange, Recording, RunId, WorkerClock};
use offered_io::{Clock, GrantedPriority, WallClock, kernel_clock_status, unix_now};
use offered_observe::{Scraper, compare_clocks_after, this_machine};
use offered_rendezvous::ClockRole;
use offered_run::{Counts, Generator, Load, RunStats, ThreadStats};
use offered_store::{
    Closing, EndCondition, Heartbeat, ObservedHost, Recorder, RunKind, RunRecord, Spool, Writer, read_events,
};
use offered_verify::{Criteria, OwnSchedule, Verdict, verify};
use offered_watch::Tally;
use offered_workload::OnDiskFull;
use offered_workload::Workload;
use serde::Serialize;

use super::disk::{DiskOperation, PATIENCE, close_patiently};
use super::{FinishedRun, Membership, PendingDisk, PendingUpload, PreparedRun, RunPlan};
use crate::collector::{Collected, Collector, EventStorage, LiveView, Monitor};
use crate::location::{SharedDirectory, Upload};
use crate::redact::redact;
use crate::side_files::SideFiles;
use crate::summary::Summary;
use crate::{Error, SetLoad, calibrate, server_side};

impl PreparedRun<'_> {
    /// Sends all requests, records the events, and verifies the recording. `views` show the progress.
    ///
    /// # Errors
    /// The run directory cannot be created or written, or a thread cannot be started. [`Error::NotVerified`]: the requests were sent, but the
    /// recording cannot be verified.
    pub fn run(self, views: Vec<Box<dyn LiveView>>) -> Result<FinishedRun, Error> {
        self.start(views)?.execute()?.persist()?.judge()
    }
}

/// The values that all phases use.
struct RunContext<'a> {
    workload: &'a Workload,
    share: Share,
    /// Whether this is a dry run, without a target.
    is_mock: bool,
    name: String,
    run_id: RunId,
    generator: Generator,
    wall: WallClock,
    /// The run directory, if the run is recorded.
    directory: Option<RunDirectory>,
    /// The path or URL of the run directory, as all workers see it.
    displayed_directory: Option<String>,
    /// Whether the run has other workers.
    has_workers: bool,
    /// When this worker starts sending; later than zero if it replaces a lost worker.
    resume_after: Nanos,
    /// The clock of this machine; `None` in a dry run.
    clock: Option<WorkerClock>,
    hosts: Vec<ObservedHost>,
    set_load: Option<SetLoad>,
}

impl RunContext<'_> {
    fn counts(&self) -> Counts {
        self.generator.watch()()
    }

    /// Sends all requests while `scraper` scrapes. Returns the statistics and the collected events.
    fn send_all(
        &self,
        start: Option<Clock>,
        collector: Collector,
        scraper: Scraper,
    ) -> Result<(RunStats, Collected), Error> {
        let on_start = |clock: Clock| {
            if let Some(directory) = &self.directory {
                // An error of the recorder is returned when it is finished.
                drop(directory.recorder.set_start(clock.unix_origin()));
            }
            collector.begin(clock);
        };
        let outcome = self.generator.run(start, || collector.sink(), on_start);
        let scraped = scraper.finish();
        // Drops the senders of the generator, which the collector waits for.
        let stats = outcome.map(|(stats, _)| stats);
        // Before an error is returned, so that the progress display is removed.
        let collected = collector.finish();
        let stats = stats?;
        scraped?;
        Ok((stats, collected))
    }

    /// The error of a run with a recording that cannot be verified.
    fn not_verified(&self, reason: Error) -> Error {
        let directory = self.directory.as_ref().map(|directory| directory.path.clone());
        Error::NotVerified { reason: Box::new(reason), counts: self.counts(), directory }
    }
}

/// A run with its directory and helper threads.
struct StartedRun<'a> {
    context: RunContext<'a>,
    /// The clock of the run, if its start time is given.
    start: Option<Clock>,
    collector: Collector,
    scraper: Scraper,
    clock_role: ClockRole,
    shared: Option<SharedDirectory>,
    upload: Option<Upload>,
}

/// A run after its requests were sent.
struct ExecutedRun<'a> {
    context: RunContext<'a>,
    stats: RunStats,
    collected: Collected,
    pending_upload: Option<PendingUpload>,
    /// Responds to clock queries of other workers until they have ended.
    clock_server: Option<JoinHandle<()>>,
}

/// A run with a complete recording.
struct PersistedRun<'a> {
    context: RunContext<'a>,
    stats: RunStats,
    failures: Vec<Exchange>,
    record: RunRecord,
    recording: Recording,
    /// Why the events in the run directory are incomplete.
    event_loss: Option<offered_store::Error>,
    /// Why the captured failures are incomplete.
    failure_loss: Option<offered_store::Error>,
    /// The last events, if the disk is still writing them.
    closing: Option<Closing>,
    pending_upload: Option<PendingUpload>,
    clock_server: Option<JoinHandle<()>>,
}

impl<'a> PreparedRun<'a> {
    /// Creates the run directory, and starts heartbeat, upload, scraping and collector.
    fn start(self, mut views: Vec<Box<dyn LiveView>>) -> Result<StartedRun<'a>, Error> {
        let Self { plan, run_id, generator, failures, wall, membership, upload_error, hosts, set_load } = self;
        let RunPlan { text, workload, share, load, start_at, directory, name, .. } = plan;
        let is_mock = load != Load::Target;
        let started_at = (!is_mock).then(|| start_at.unwrap_or_else(|| wall.now()));
        let (shared, own_directory, resume_after, offset_before, clock_role) = match membership {
            Some(Membership { shared, directory, resume_at, offset_before, clock_role }) => {
                (Some(shared), Some(directory), Instant::ZERO.until(resume_at), offset_before, clock_role)
            }
            None => (None, None, Nanos::ZERO, None, ClockRole::None),
        };
        let path = own_directory.as_deref().or(directory);
        let displayed_directory = match (&shared, path) {
            (Some(shared), Some(path)) => Some(shared.display(path)),
            (_, path) => path.map(|path| path.display().to_string()),
        };
        let create = |path| RunDirectory::create(path, text, workload, is_mock, &generator.stop(), &mut views);
        let directory = path.map(create).transpose()?;
        let clock = (!is_mock).then(|| clock_before(offset_before));
        let heartbeat = |started: Nanos| Heartbeat {
            host: this_machine().name,
            share,
            started_unix_ns: started.0,
            at_unix_ns: unix_now().0,
            in_flight: 0,
            clock,
            copied_until_unix_ns: None,
        };
        let side_files = path.map(|path| SideFiles::start(path.to_owned(), started_at.map(heartbeat))).transpose()?;
        let upload = shared.as_ref().zip(path).map(|(shared, path)| shared.upload(path)).transpose()?.flatten();
        let mut tally = Tally::new(workload, share.fraction());
        if views.iter().any(|view| view.wants_totals()) {
            tally.enable_totals();
        }
        let monitor = Monitor {
            side_files,
            upload_error: upload.as_ref().map(Upload::error).or(upload_error),
            tally,
            counts: Box::new(generator.watch()),
            stop: generator.stop(),
            halt: Box::new(generator.halter()),
            stop_on_write_loss: workload.generator().on_disk_full() == OnDiskFull::Stop,
            views,
            failures,
        };
        let storage = match &directory {
            Some(directory) => EventStorage::Recorder(directory.recorder.clone()),
            None => EventStorage::Memory(workload.labels()),
        };
        let start = start_at.map(|at| Clock::starting_at(&wall, at));
        let scrape_into = path.filter(|_| !is_mock && share.index() == 0);
        let scraper = Scraper::start(workload.observe(), scrape_into, wall)?;
        let collector = Collector::start(storage, is_mock, monitor)?;
        let has_workers = own_directory.is_some();
        let context = RunContext {
            workload,
            share,
            is_mock,
            name,
            run_id,
            generator,
            wall,
            directory,
            displayed_directory,
            has_workers,
            resume_after,
            clock,
            hosts,
            set_load,
        };
        Ok(StartedRun { context, start, collector, scraper, clock_role, shared, upload })
    }
}

impl<'a> StartedRun<'a> {
    /// Sends all requests, and compares the clocks afterwards.
    fn execute(self) -> Result<ExecutedRun<'a>, Error> {
        let Self { mut context, start, collector, scraper, clock_role, shared, upload } = self;
        let sent = context.send_all(start, collector, scraper);
        if let (Err(Error::Run(offered_run::Error::SpeaksTls { .. })), Some(directory)) = (&sent, &context.directory) {
            directory.remove();
            upload.into_iter().for_each(Upload::remove);
            return Err(sent.err().expect("a target that speaks TLS"));
        }
        let (stats, collected) = sent?;
        let pending_upload = upload.zip(shared).map(|both| PendingUpload(Some(both)));
        let stop = context.generator.stop();
        let (after, clock_server) = match clock_role {
            ClockRole::None => (None, None),
            ClockRole::Client(client) => (client.query_after_run(&stop), None),
            ClockRole::Server(server) => {
                (None, thread::Builder::new().spawn(move || server.serve_until_done(&stop)).ok())
            }
        };
        compare_clocks_after(&mut context.hosts, context.wall, &AtomicBool::new(false));
        context.clock = context.clock.map(|clock| WorkerClock { after, ..clock });
        Ok(ExecutedRun { context, stats, collected, pending_upload, clock_server })
    }
}

impl<'a> ExecutedRun<'a> {
    /// Completes the recording, and reads it back: the verdict is computed from the written events. The run record is written before the verdict, so
    /// that the run can be verified even if this process fails.
    fn persist(self) -> Result<PersistedRun<'a>, Error> {
        let Self { mut context, stats, collected, pending_upload, clock_server } = self;
        let Collected { events, failures, failure_loss } = collected;
        let is_mock = context.is_mock;
        let calibrated = calibrate::compared(context.workload, context.share, context.generator.threads());
        let scheduling = stats.priority.as_ref().map(|granted| scheduling(context.workload, granted));
        let record = RunRecord {
            seed: Some(context.workload.seed().0),
            run_id: (!is_mock).then(|| context.run_id.clone()),
            share: context.share,
            started_unix_ns: (!is_mock).then_some(stats.started.0),
            clock: context.clock,
            generator: Some(Evidence {
                addresses: context.generator.addresses(),
                scheduling: scheduling.into_iter().collect(),
                ..evidence(&stats, calibrated)
            }),
            machine: Some(this_machine()),
            hosts: std::mem::take(&mut context.hosts),
            ..RunRecord::new(if is_mock { RunKind::DryRun } else { RunKind::Run }, EndCondition::Duration)
        };
        let abort = context.generator.abort();
        let read = read_back(context.workload, events, context.directory.as_ref(), &record, context.counts(), &abort);
        let (recording, event_loss, closing) = read.map_err(|reason| context.not_verified(reason))?;
        Ok(PersistedRun {
            context,
            stats,
            failures,
            record,
            recording,
            event_loss,
            failure_loss,
            closing,
            pending_upload,
            clock_server,
        })
    }
}

impl PersistedRun<'_> {
    /// Verifies the recording, and adds summary and verdict to the run record.
    fn judge(self) -> Result<FinishedRun, Error> {
        let Self { context, stats, record, recording, .. } = self;
        let RunContext { workload, share, .. } = context;
        let criteria = Criteria {
            path: context.name.clone(),
            schedule: Some(OwnSchedule::new(workload, share)),
            ..Criteria::from_workload_part(
                workload,
                share.fraction(),
                workload.skip_first().max(context.resume_after),
                workload.skip_last(),
            )
        };
        let observed = context.directory.as_ref().filter(|_| !context.is_mock).map(|directory| &*directory.path);
        let verdict = verdict(&recording, &criteria, observed, &record).map_err(|why| context.not_verified(why))?;
        let summary = Summary::new(workload, share, &recording, &stats, &verdict);
        let summary = summary.map_err(|error| context.not_verified(error.into()))?;
        let set_load = context.set_load.clone().map(|set| set.measured_in(verdict.server_side.as_ref()));
        let summary = Summary { directory: context.displayed_directory.clone(), set_load, ..summary };
        let (mut event_loss, mut pending_disk) = (self.event_loss, None);
        if let Some(RunDirectory { path, .. }) = &context.directory {
            let missing = self.closing.as_ref().map_or(0, Closing::missing);
            let record = event_loss.is_none().then(|| record.clone().with(&summary, &verdict).writer(path));
            let operation = complete(path.clone(), self.closing, record, context.has_workers)?;
            match operation.wait_patiently(&context.generator.abort()) {
                Some(completed) => event_loss = event_loss.or(completed.err()),
                None => pending_disk = Some(PendingDisk { operation, directory: path.clone(), missing }),
            }
        }
        if let Some(clock_server) = self.clock_server {
            clock_server.join().expect("a thread that does not panic");
        }
        Ok(FinishedRun {
            summary,
            verdict,
            criteria,
            recording,
            stats,
            record,
            failures: self.failures,
            write_loss: event_loss.or(self.failure_loss),
            pending_disk,
            pending_upload: self.pending_upload,
        })
    }
}

/// Completes the run directory at `path`: waits for the last events, writes the record with summary and verdict, unless it is `None`, and
/// removes the heartbeat, unless other workers need it.
fn complete(
    path: PathBuf,
    closing: Option<Closing>,
    record: Option<Box<dyn FnOnce() -> Result<(), offered_store::Error> + Send>>,
    has_workers: bool,
) -> Result<DiskOperation<Result<(), offered_store::Error>>, Error> {
    DiskOperation::start(move || {
        let loss = closing.map_or(Ok(None), Closing::finish);
        let completed = match (loss, record) {
            (Ok(Some(loss)), _) => Err(loss.error()),
            (Err(error), _) => Err(error),
            (Ok(None), Some(write)) => write(),
            (Ok(None), None) => Ok(()),
        };
        if !has_workers {
            Heartbeat::remove(&path);
        }
        completed
    })
}

/// The state of this machine's clock before the run, with its offset from the clock of worker 1.
fn clock_before(offset: Option<ClockOffset>) -> WorkerClock {
    let kernel = kernel_clock_status();
    WorkerClock {
        synchronised: kernel.map(|kernel| kernel.synchronised),
        error_ns: kernel.map(|kernel| kernel.error.0),
        before: offset,
        after: None,
    }
}

/// The verdict, with the server's side from the samples in the directory `observed`.
fn verdict(
    recording: &Recording,
    criteria: &Criteria,
    observed: Option<&Path>,
    record: &RunRecord,
) -> Result<Verdict, Error> {
    let verdict = verify(recording, criteria)?;
    let read = |run: &Path| server_side::read(&[], run, Some(record), recording, &verdict.window);
    let server_side = observed.map_or(Ok(None), read)?;
    Ok(Verdict { server_side, ..verdict })
}

/// How the operating system scheduled the threads of a run of `workload`.
fn scheduling(workload: &Workload, granted: &GrantedPriority) -> Scheduling {
    let offered_io::Scheduling { policy, nice, slice, .. } = granted.scheduling;
    Scheduling {
        requested: workload.generator().priority().to_string(),
        policy: policy.name().to_owned(),
        nice,
        slice_us: slice.map(Nanos::as_micros_f64),
        refused: granted.refused.clone(),
        lowered_s: granted.lowered.as_secs_f64(),
    }
}

/// Facts about the generator that the events do not contain.
fn evidence(stats: &RunStats, calibrated: Option<CalibratedRate>) -> Evidence {
    Evidence {
        busy: stats.threads.iter().map(ThreadStats::busy_share).collect(),
        cpu_s: stats.threads.iter().map(|thread| thread.cpu.as_secs_f64()).sum(),
        stopped: stats.stopped,
        halted: stats.halted.clone(),
        calibrated,
        blocks: stats.blocks.clone(),
        ..Evidence::default()
    }
}

/// The summary in the run record until the run is verified.
#[derive(Serialize)]
struct InterimSummary {
    total_requests: u64,
    unsent: u64,
    ok: u64,
    failed: u64,
}

/// Completes the run directory and reads the recording from it. Also returns the reason if the recording is incomplete.
/// If the disk does not respond, the last events come from memory while it is writing them. Without a directory the
/// recording is in memory.
fn read_back(
    workload: &Workload,
    events: Spool,
    directory: Option<&RunDirectory>,
    record: &RunRecord,
    counts: Counts,
    abort: &AtomicBool,
) -> Result<(Recording, Option<offered_store::Error>, Option<Closing>), Error> {
    let mut pending = None;
    let (recording, loss) = match directory {
        None => {
            let (events, labels) = events.events(workload.labels())?;
            (Recording { events, ..Recording::of_run(Vec::new(), labels) }, None)
        }
        Some(directory) => {
            let Counts { requests, unsent, ok, failed, .. } = counts;
            let summary = InterimSummary { total_requests: requests, unsent, ok, failed };
            let closing = directory.recorder.clone().close(&record.clone().with(summary, ()))?;
            match close_patiently(&closing, abort) {
                None => (pending.insert(closing).so_far(&directory.path)?, None),
                Some(finished) => match (read_events(&directory.path), finished) {
                    (read, Ok(None)) => (read?, None),
                    (read, Err(error)) => (read?, Some(error)),
                    (Ok(read), Ok(Some(mut loss))) => (loss.append_to(read), Some(loss.error())),
                    // The part of the recording that was written cannot be read either.
                    (Err(_), Ok(Some(loss))) => return Err(loss.error().into()),
                },
            }
        }
    };
    Ok((Recording { generator: record.generator.clone(), ..recording }, loss, pending))
}

/// A run directory that is being written.
struct RunDirectory {
    path: PathBuf,
    recorder: Recorder,
}

impl RunDirectory {
    /// Creates the directory. `views` show that the disk does not respond; `stop` gives up.
    fn create(
        path: &Path,
        text: &str,
        workload: &Workload,
        is_mock: bool,
        stop: &AtomicBool,
        views: &mut [Box<dyn LiveView>],
    ) -> Result<Self, Error> {
        let (own_path, text, labels) = (path.to_owned(), redact(text), workload.labels());
        let (scenarios, flow_steps) = (workload.scenario_names(), workload.place_names());
        let create = move || {
            let writer = Writer::create(&own_path, &text, labels)?;
            Ok(writer.with_scenarios(scenarios).with_flow_steps(flow_steps))
        };
        let creation = DiskOperation::start(create)?;
        let mut is_shown = false;
        let writer = creation.wait(|time| {
            if time >= PATIENCE && !is_shown {
                is_shown = true;
                let waits = format!("the disk has not created {} in 2 s; press Ctrl-C to give up", path.display());
                for view in views.iter_mut() {
                    view.show_wait(&waits);
                }
            }
            time >= PATIENCE && stop.load(Relaxed)
        });
        let stalled = || Error::DiskStalled { directory: path.to_owned(), missing: 0 };
        let writer = writer.ok_or_else(stalled)?.map_err(Error::CreateRun)?;
        let recorder = Recorder::start(writer).map_err(Error::CreateRun)?;
        let recorder = if is_mock { recorder.blocking() } else { recorder };
        Ok(Self { path: path.to_owned(), recorder })
    }

    /// Removes the directory of a run that failed before its first request.
    fn remove(&self) {
        // The recorder must end first. A directory that cannot be removed stays.
        let closing = self.recorder.clone().close(&RunRecord::new(RunKind::Run, EndCondition::Duration));
        let _ = closing.map(|closing| close_patiently(&closing, &AtomicBool::new(false)));
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
