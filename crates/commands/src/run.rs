//! `offered run`: runs a workload and reports whether its results are valid.

pub(crate) mod exchange;
pub(crate) mod live_page;
pub(crate) mod metrics;
mod once;
mod replacement;
mod terminal;
mod text;
mod workload_flags;

use std::net::{Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_base::time::span;
use offered_base::{Nanos, Share, visible};
use offered_distributions::Distribution;
use offered_events::recording::AddressUse;
use offered_events::{ClockOffset, RunId};
use offered_experiment::prediction::dry_run_response;
use offered_experiment::{FinishedRun, LiveView, PilotRuns, PreparedRun, RunPlan, SharedDirectory};
use offered_report::junit::junit;
use offered_report::markdown::markdown;
use offered_report::{Report, Run};
use offered_run::{End, Halted, Load, preview};
use offered_workload::Workload;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{json, out, status};
use crate::result_files::ResultFiles;
use crate::trust::CommandsFlag;
use crate::{messages, signals};
use exchange::ExchangeText;

const EXAMPLES: &str = "\
Examples:
  Open: 1000 requests/s for 10 s, whatever the server does
    offered run http://127.0.0.1:8080/ --open 1000/s --duration 10s
  Open, with more bursts than Poisson, recorded in a directory
    offered run http://127.0.0.1:8080/ --open 50/s --arrivals gamma:1.5 -o runs/1
  Closed: 200 users who wait for the response and think
    offered run http://127.0.0.1:8080/ --closed 200 --think exponential:5s
  Closed: each user starts every 10 s if its previous response has arrived
    offered run http://127.0.0.1:8080/ --closed 50 --every 10s
  10,000 requests, however long they take
    offered run http://127.0.0.1:8080/ --closed 50 -n 10000
  Partly-open: sessions arrive, send some requests and leave
    offered run http://127.0.0.1:8080/ --partly-open 50/s --stay 0.8 --think 2s
  A workload file, recorded
    offered run workload.toml -o runs/1
  At the rate that keeps the server's CPUs 90 % busy
    offered run workload.toml --load 0.9 -o runs/1
  One session, every exchange shown
    offered run workload.toml --once
  Send nothing; assume responses of 10 ms
    offered run workload.toml --dry-run constant:10ms
  Live page in the browser, metrics for Prometheus on port 9464
    offered run workload.toml --ui --metrics
  Text on the terminal; for CI: JSON (schema offered.run/1), JUnit XML, Markdown
    offered run workload.toml --json=run.json --junit run.xml --markdown run.md
  A workload from another program
    offered import visit.har | offered run -
  Worker 2 of 8; all start together when the last one is ready
    offered run workload.toml --share 2/8 --rendezvous s3://bucket/run7
    offered verify s3://bucket/run7

Exit codes:
  0   done
  1   could not continue
  2   wrong input
  3   done, but the run is invalid or a threshold could not be checked
  4   done, but some data could not be written to the disk or object store
  99  a threshold failed, every request failed, or a failure stopped the run";

/// Number of requests that `--dry-run` shows.
const PREVIEWED: usize = 3;

/// Output format. The variants have no help texts: one would switch clap to its long layout for all flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Md,
    Junit,
}

/// Run a workload and report whether its results are valid
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    workload: workload_flags::WorkloadFlags,
    /// Record the run in this new directory: workload.toml, run.json, events/*.parquet
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Replace the run that is recorded in the directory of --output
    #[arg(long, requires = "output")]
    force: bool,
    /// Format of stdout: tables, Markdown for a pull request, or JUnit XML [default: text]
    #[arg(long, value_enum)]
    format: Option<Format>,
    #[command(flatten)]
    result_files: ResultFiles,
    /// Show all requests and warnings, outcomes, times, arrivals and every statistical test
    #[arg(long)]
    details: bool,
    /// Set the rate so that the server's CPUs reach this utilisation, measured by pilot runs
    #[arg(long, value_name = "LOAD", requires = "output", conflicts_with_all = ["share", "rendezvous", "dry_run", "once", "start_at"])]
    load: Option<f64>,
    /// Duration of each pilot run of --load
    #[arg(long, value_name = "TIME", requires = "load", default_value = "30s")]
    pilot: Nanos,
    /// Send only part K of N of the requests, for example 2/8; the N parts together are the whole run
    #[arg(long, value_name = "K/N")]
    share: Option<Share>,
    /// Start at this time (RFC 3339), the same for all workers of a run
    #[arg(long, value_name = "TIME")]
    start_at: Option<String>,
    /// Run ID, the value of {{run}} and part of every uuid [default: a new one]
    #[arg(long, value_name = "ID")]
    run_id: Option<RunId>,
    /// Directory or URL (s3://, gs://, az://) that all workers share, for their common start and recordings
    #[arg(long, value_name = "DIR|URL", conflicts_with_all = ["output", "start_at", "once"])]
    rendezvous: Option<PathBuf>,
    /// Number of workers [default: from --share, or from the variables of Slurm or Open MPI]
    #[arg(long, value_name = "N", requires = "rendezvous", conflicts_with = "share", value_parser = clap::value_parser!(u64).range(1..))]
    workers: Option<u64>,
    /// Maximum time to wait for the other workers
    #[arg(long, value_name = "TIME", requires = "rendezvous", default_value = "5m")]
    wait: Nanos,
    /// Give up an upload to a bucket after this time without progress, counted from the end of the run
    #[arg(long, value_name = "TIME", requires = "rendezvous", default_value = "1m")]
    upload_timeout: Nanos,
    /// UDP address where worker 1 answers clock queries of other workers [default: any address, a free port]
    #[arg(long, value_name = "ADDRESS", requires = "rendezvous")]
    clock_at: Option<SocketAddr>,
    #[command(flatten)]
    commands: CommandsFlag,
    #[command(flatten)]
    once: once::OnceFlags,
    /// Send nothing; assume response times with this distribution [default: 10ms, or those of [server]]
    #[arg(long, value_name = "DISTRIBUTION", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "the flag without a value has a default of its own")]
    dry_run: Option<Option<Distribution>>,
    /// Serve a live page; its link is printed on stderr [default address: 127.0.0.1, a free port]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:0", conflicts_with = "dry_run", value_parser = live_page::address)]
    ui: Option<SocketAddr>,
    /// Serve Prometheus metrics at /metrics [default address: 127.0.0.1:9464]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:9464", conflicts_with = "dry_run", value_parser = metrics::address)]
    metrics: Option<SocketAddr>,
    /// Show no progress on stderr
    #[arg(short, long)]
    quiet: bool,
}

impl Args {
    /// The same for a workload that is this text.
    pub(crate) fn of_text(mut self, text: String) -> Self {
        self.workload.text = Some(text);
        self
    }
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let sessions = args.once.sessions();
    check_output(args)?;
    let (source, mut text, mut workload) =
        args.workload.workload(args.share.is_some() || args.rendezvous.is_some(), sessions.is_some())?;
    let access = args.workload.files.check(&source, &workload)?;
    if args.dry_run.is_none() {
        args.commands.check(&source, &access)?;
    }
    crate::placeholders::warn(&workload);
    if let Some(sessions) = sessions {
        // As many of each scenario.
        let sessions = sessions.saturating_mul(workload.scenario_names().len().max(1) as u64);
        return once::run(&workload, &run_id(args), sessions, args.once.verbose);
    }
    crate::replay_notes::note(&workload);
    let start_at = args.start_at.as_deref().map(instant).transpose()?;
    let share = share(args.share, args.workers, args.rendezvous.is_some())?;
    let out = args
        .rendezvous
        .as_ref()
        .map(|rendezvous| offered_store::worker_directory(rendezvous, share))
        .or_else(|| args.output.clone());
    // With --rendezvous the directory may exist: the worker was restarted.
    let replaced = replacement::check(args.output.as_deref(), args.force)?;
    let stop = Arc::new(AtomicBool::new(false));
    let abort = Arc::new(AtomicBool::new(false));
    let mut set_load = None;
    if let (Some(load), Some(out)) = (args.load, &args.output) {
        signals::stop_then_abort(&stop, &abort)?;
        let pilots = PilotRuns { input: &args.workload.input(text), load, each: args.pilot, out };
        let (point, set) = pilots.run(&stop, &abort, &mut |rate, path| pilot_started(args, rate, path))?;
        (text, workload, set_load) = (point.text, point.workload, Some(set));
    }
    let plan = RunPlan {
        text: &text,
        workload: &workload,
        share,
        load: load(args, &workload),
        start_at,
        run_id: args.run_id.clone(),
        directory: out.as_deref(),
        name: out.as_ref().map_or_else(|| args.workload.name(), |out| out.display().to_string()),
        capture_failures: args.once.verbose,
    };
    plan.resource_shortfalls()
        .iter()
        .for_each(|shortfall| status!("warning: {}", messages::resource_shortfall(shortfall)));
    let handles_signals = set_load.is_some();
    let ready = plan.prepare(stop.clone())?.aborted_by(abort.clone()).with_set_load(set_load);
    if !handles_signals {
        signals::stop_then_abort(&stop, &abort)?;
    }
    note_unobserved(&ready, &workload, args.dry_run.is_some() || out.is_some());
    let ready = join_rendezvous(args, ready, share)?;
    let page = args.ui.map(|address| live_page::serve(address, &workload, share, Some(stop.clone()))).transpose()?;
    let metrics = args.metrics.map(metrics::serve).transpose()?;
    let mut views = views(args.quiet || args.dry_run.is_some());
    views.extend(page.as_ref().map(|page| Box::new(page.feed()) as Box<dyn LiveView>));
    views.extend(metrics.as_ref().map(|metrics| Box::new(metrics.feed()) as Box<dyn LiveView>));
    replaced.map_or(Ok(()), replacement::remove)?;
    let mut made = ready.run(views)?;
    show(args, &made, &workload)?;
    let written = args.result_files.write(&made.summary, || report_of(&made, &workload));
    let written =
        written.inspect_err(|failure| status!("error: {}; the results are complete", visible(failure.message())));
    if let Some(page) = page {
        live_page::end(page, &made, &workload);
    }
    if let Some(metrics) = metrics {
        let was_stopped = stop.load(Relaxed);
        metrics::end(metrics, args.quiet, || !abort.load(Relaxed) && stop.load(Relaxed) == was_stopped);
    }
    // The run has ended, so that the next signal gives up waiting.
    stop.store(true, Relaxed);
    let exit = finish(args, &mut made, &abort)?;
    Ok(written.map_or(Exit::WriteLoss, |()| exit))
}

/// Where requests are sent: to the target, or nowhere.
fn load(args: &Args, workload: &Workload) -> Load {
    let response = |given: &Option<Distribution>| given.clone().unwrap_or_else(|| dry_run_response(workload));
    args.dry_run.as_ref().map_or(Load::Target, |given| Load::Mock(response(given)))
}

/// Returns an error if stdout cannot show the requested output, or a result file cannot be written.
fn check_output(args: &Args) -> Result<(), Failure> {
    if args.format.is_some() && args.result_files.prints_json() {
        let why = "--json and --format both choose the output on stdout; write --json=FILE for a file";
        return Err(Failure::input(why));
    }
    args.result_files.check()
}

/// Waits for the other workers and compares the clocks, if the run has a rendezvous.
fn join_rendezvous<'a>(args: &Args, ready: PreparedRun<'a>, share: Share) -> Result<PreparedRun<'a>, Failure> {
    let Some(rendezvous) = &args.rendezvous else { return Ok(ready) };
    let clock_at = args.clock_at.unwrap_or((Ipv6Addr::UNSPECIFIED, 0).into());
    let numbered = args.share.is_none();
    let shared = SharedDirectory::at(rendezvous, crate::object_store::store_fails)?;
    let ready = ready.join(shared, args.wait, clock_at, numbered, &mut |missing| {
        waiting(args.quiet, share, missing);
    })?;
    if let Some(note) = clock_note(share, ready.clock_offset()).filter(|_| !args.quiet && args.dry_run.is_none()) {
        status!("note: {note}");
    }
    Ok(ready)
}

/// Prints the result in the output format of the command line, after notes about failures.
fn show(args: &Args, made: &FinishedRun, workload: &Workload) -> Result<(), Failure> {
    if args.once.verbose {
        made.failures.iter().for_each(|exchange| status!("{}", ExchangeText { exchange, whole: false }));
    }
    note_failed_addresses(made);
    match args.format.unwrap_or(Format::Text) {
        _ if args.result_files.prints_json() => json(&made.summary),
        Format::Md => out!(no newline: "{}", markdown(&report_of(made, workload)?)),
        Format::Junit => out!(no newline: "{}", junit(&report_of(made, workload)?).map_err(Failure::stopped)?),
        Format::Text => {
            let run = made.record.run_id.as_ref().filter(|_| workload.uses_run_id());
            let (summary, verdict) = (&made.summary, &made.verdict);
            out!(no newline: "{}", text::Text { summary, run, verdict, workload, details: args.details });
            if args.dry_run.is_some() && workload.target().is_some() {
                show_requests(workload, &run_id(args));
            }
        }
    }
    Ok(())
}

/// Waits for the disk and for pending uploads, and returns how the run ended.
fn finish(args: &Args, made: &mut FinishedRun, abort: &Arc<AtomicBool>) -> Result<Exit, Failure> {
    let wait = &mut |reason: &str| status!("note: {}; waiting for the disk, press Ctrl-C to give up", visible(reason));
    if let Some(Err(error)) = made.pending_disk.take().map(|disk| disk.finish(abort, wait)) {
        status!("error: {}; the results are complete", visible(&error.to_string()));
        return Ok(Exit::WriteLoss);
    }
    let on_error = &mut |error: &str| upload_failed(args, error);
    let upload = made.pending_upload.take();
    let uploaded = upload.map_or(Ok(()), |upload| upload.finish(args.upload_timeout, abort, on_error));
    if let Some(loss) = &made.write_loss {
        status!("error: {}; the results cover only the events that were still in memory", visible(&loss.to_string()));
        return Ok(Exit::WriteLoss);
    }
    if let Err(error) = uploaded {
        status!("error: {}; the results are complete", visible(&error.to_string()));
        return Ok(Exit::WriteLoss);
    }
    match &made.stats.halted {
        Some(Halted { reason: why, end: End::Error }) => Err(Failure::stopped(why)),
        Some(Halted { reason: why, end: End::WriteLoss }) => {
            status!("error: stopped (on_disk_full): {}", visible(why));
            Ok(Exit::WriteLoss)
        }
        _ => Ok(made.result().into()),
    }
}

/// Prints the start of a pilot run.
fn pilot_started(args: &Args, rate: f64, path: &Path) {
    if !args.quiet {
        status!(
            "pilot run for CPU time per response: up to {rate:.4}/s for {}, recorded in {}",
            args.pilot,
            path.display()
        );
    }
}

/// Prints notes about hosts that do not answer and scrapes that are not recorded.
fn note_unobserved(ready: &PreparedRun<'_>, workload: &Workload, recorded: bool) {
    for (name, address) in ready.unresponsive_hosts() {
        status!(
            "note: {name} at {address} does not answer clock queries; start `offered observe --listen` there. The run continues"
        );
    }
    if !recorded && !workload.observe().scrapes.is_empty() {
        status!("note: [[observe.scrape]] needs a run directory; add -o runs/1");
    }
}

/// If the target has several addresses, prints a note for each one that did not accept connections.
fn note_failed_addresses(made: &FinishedRun) {
    let addresses = made.record.generator.iter().flat_map(|generator| &generator.addresses);
    for AddressUse { address, opened, failed, error } in addresses.filter(|address| address.failed > 0) {
        let (attempts, why) = (opened + failed, visible(error.as_deref().unwrap_or_default()));
        status!(
            "note: {failed} of {attempts} attempts to connect to {address} failed ({why}); another address was tried"
        );
    }
}

/// The report of the run.
fn report_of(made: &FinishedRun, workload: &Workload) -> Result<Report, Failure> {
    Ok(Report::new(vec![Run::of_made(made, workload)?]))
}

/// The given run ID, or a new one.
fn run_id(args: &Args) -> RunId {
    args.run_id.clone().unwrap_or_else(|| RunId::of(offered_io::unix_now()))
}

/// Prints the first requests of the run. An error is printed as a note, because the schedule is already printed.
fn show_requests(workload: &Workload, run: &RunId) {
    if workload.uses_run_id() {
        out!("\nrequests of run {run} (--run-id {run} repeats exactly these):");
    }
    match preview(workload, run, PREVIEWED) {
        Ok(requests) => {
            let requests = requests.iter().map(|exchange| ExchangeText { exchange, whole: false }.to_string());
            out!("\n{}", requests.collect::<Vec<_>>().join("\n").trim_end());
        }
        Err(why) => status!("note: cannot show the requests: {why}"),
    }
}

/// The slice of this worker: from `--share`, else from the environment of the cluster if it `shares` the run.
pub(crate) fn share(given: Option<Share>, workers: Option<u64>, meets: bool) -> Result<Share, Failure> {
    match given {
        Some(share) => Ok(share),
        None if !meets => Ok(Share::ALL),
        None => {
            let share = offered_rendezvous::share_from_environment(workers, |name| std::env::var(name).ok());
            share.map_err(|error| Failure::input(messages::unknown_share(&error)))
        }
    }
}

/// Prints that an upload fails.
fn upload_failed(args: &Args, error: &str) {
    if !args.quiet {
        status!("note: {}; retrying for another {}, or until Ctrl-C", visible(error), args.upload_timeout);
    }
}

/// Prints the number of missing workers.
fn waiting(quiet: bool, share: Share, missing: &[u64]) {
    if !quiet && !missing.is_empty() {
        status!("waiting for {} of {} workers", missing.len(), share.parts());
    }
}

/// A note about a clock that differs from the clock of worker 1, or could not be compared with it.
fn clock_note(share: Share, ahead: Option<ClockOffset>) -> Option<String> {
    match ahead {
        None if share.index() == 0 => None,
        None => Some(
            "worker 1 does not answer clock queries (UDP); this machine's clock is assumed to be correct".to_owned(),
        ),
        Some(ClockOffset { offset_ns, bound_ns, .. }) if offset_ns.unsigned_abs() > bound_ns => {
            let (apart, side) =
                (span(offset_ns.unsigned_abs() as f64), if offset_ns > 0 { "ahead of" } else { "behind" });
            let bound = span(bound_ns as f64);
            Some(format!(
                "this machine's clock is {apart} {side} worker 1's (± {bound}); the run starts by worker 1's clock"
            ))
        }
        Some(_) => None,
    }
}

/// The displays of a run under way.
pub(crate) fn views(quiet: bool) -> Vec<Box<dyn LiveView>> {
    if quiet {
        return Vec::new();
    }
    vec![
        terminal::Block::on_stderr()
            .map_or_else(|| Box::<terminal::Lines>::default() as Box<dyn LiveView>, |b| Box::new(b)),
    ]
}

/// Parses an RFC 3339 time in the future.
fn instant(text: &str) -> Result<Nanos, Failure> {
    let wrong = || Failure::input(format!("`{text}` is not a time; write for example 2026-12-01T10:00:00Z"));
    let timestamp: jiff::Timestamp = text.parse().map_err(|_| wrong())?;
    let instant = u64::try_from(timestamp.as_nanosecond()).map(Nanos).map_err(|_| wrong())?;
    if instant < offered_io::unix_now() {
        // A late start would send all overdue requests in one burst.
        return Err(Failure::input(format!("--start-at {text} is in the past; use a future time for all workers")));
    }
    Ok(instant)
}
