//! `offered run`: launches a workload and says whether to believe what came of it.

mod block;
mod exchange;
pub(crate) mod metrics;
mod once;
pub(crate) mod page;
mod quick;
mod result;

use std::net::{Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_experiment::{Made, MeetingPlace, Pilots, Plan, Ready, View};
use offered_model::time::span;
use offered_model::{Law, Nanos, Offset, RunId, Share, Workload};
use offered_report::junit::junit;
use offered_report::markdown::markdown;
use offered_report::{Report, Run, summary};
use offered_run::{End, Halted, Load, preview};

use crate::exit::{Exit, Failure};
use crate::say::{json, say, tell};
use crate::table::shown;
use crate::{signals, words};
use exchange::Shown;
pub(crate) use result::short;

const EXAMPLES: &str = "\
Examples:
  offered run http://127.0.0.1:8080/ --open 1000/s --duration 10s
  offered run http://127.0.0.1:8080/ --open 200/s --arrivals gamma:1.5 --out runs/bursty
  offered run http://127.0.0.1:8080/ --closed 200 --think exponential:5s --ramp 10s
  offered run http://127.0.0.1:8080/ --closed 50 --every 10s       each begins every 10 s, if its answer is there
  offered run http://127.0.0.1:8080/ --closed 50 -n 10000          until 10000 requests are made
  offered run http://127.0.0.1:8080/ --partly-open 50/s --stay 0.8 --think exponential:2s
  offered run workload.toml --out runs/1 --json
  offered run workload.toml --load 0.9 --out runs/1     at the rate that keeps nine tenths of the server's processors at work
  offered run workload.toml --format md                 the result as Markdown, for a pull request
  offered run workload.toml --once                      one session, each exchange shown: what is sent and what comes back
  offered run workload.toml --dry-run constant:10ms     what would be launched, in no time
  offered run workload.toml --ui                        with a live page and a button to stop it
  offered run workload.toml --metrics                   figures for a Prometheus at http://127.0.0.1:9464/metrics
  offered run workload.toml --share 2/8 --start-at 2026-12-01T10:00:00Z
  offered run workload.toml --share 2/8 --meet /shared/run7     begins when all eight are there; offered verify /shared/run7 reads them as one
  offered run workload.toml --share 2/8 --meet s3://bucket/run7     the same in a bucket

Exit codes: 0 done; 1 could not go on; 2 wrong input; 3 done, but do not believe the result,\n            or a threshold that only the generator's lateness decides; 4 done, but the disk or the\n            object store did not take all of it; 99 nothing succeeded,\n            a threshold was not kept, or a threshold or a failure stopped the run (stop = true, on_failure).";

/// So many requests are shown of those that would be sent.
const PREVIEWED: usize = 3;

/// How the result is printed; the last two as `offered report` writes them. (A word of help for each would make the help of every flag long.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Md,
    Junit,
}

/// Launch a workload and say whether to believe what came of it
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    quick: quick::Quick,
    /// Write the run to this new directory: workload.toml, run.json, events/*.parquet
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON document (schema offered.run/1) instead of the tables
    #[arg(long)]
    json: bool,
    /// Print the result in this form: tables, a summary in Markdown for a pull request, or test cases in XML for a CI
    #[arg(long, value_enum, default_value = "text", conflicts_with = "json")]
    format: Format,
    /// Show every test of the launches with its numbers
    #[arg(long)]
    details: bool,
    /// Bring the server's processors to this load: runs before it find how much work an answer takes, from what is scraped of the server
    /// ([[observe.scrape]]), and the rate of open or partly-open load is set so
    #[arg(long, value_name = "LOAD", requires = "out", conflicts_with_all = ["share", "meet", "dry_run", "once", "start_at"])]
    load: Option<f64>,
    /// How long each run takes that finds the rate for --load
    #[arg(long, value_name = "TIME", requires = "load", default_value = "30s")]
    pilot: Nanos,
    /// Launch only the second of eight equal parts of the run (`2/8`); all parts together are exactly the whole
    #[arg(long, value_name = "K/N")]
    share: Option<Share>,
    /// Begin at this instant (RFC 3339, UTC), the same for all parts of a run
    #[arg(long, value_name = "TIME")]
    start_at: Option<String>,
    /// What tells this run from all others, as {{run}} and in every uuid: give that of an earlier run to send what it sent [default: new
    /// each time, and one for all workers that meet, or have a --share and one --start-at: so give two such runs one each]
    #[arg(long, value_name = "ID")]
    run_id: Option<RunId>,
    /// Begin together with the other workers of the run, who all meet in this folder or under this URL of an object store (s3://, gs://,
    /// az://), and keep what each launches there
    #[arg(long, value_name = "PLACE", conflicts_with_all = ["out", "start_at", "once"])]
    meet: Option<PathBuf>,
    /// How many workers there are, where no --share is given and the engine that has numbered this one does not say
    #[arg(long, value_name = "N", requires = "meet", conflicts_with = "share", value_parser = clap::value_parser!(u64).range(1..))]
    workers: Option<u64>,
    /// How long to wait for the other workers
    #[arg(long, value_name = "TIME", requires = "meet", default_value = "5m")]
    wait: Nanos,
    /// Where worker 1 is asked by the others what its clock shows, by UDP [default: a free port of all its addresses]
    #[arg(long, value_name = "ADDRESS", requires = "meet")]
    clock_at: Option<SocketAddr>,
    #[command(flatten)]
    look: once::Look,
    /// Send nothing: play the workload on a virtual clock against response times of this law
    #[arg(long, value_name = "LAW", num_args = 0..=1, default_missing_value = "constant:10ms")]
    dry_run: Option<Law>,
    /// Show the run on a live page while it goes on; its link is printed on stderr [default address: a free port of 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:0", conflicts_with = "dry_run", value_parser = page::address)]
    ui: Option<SocketAddr>,
    /// Serve the figures of the run to a Prometheus, at /metrics of this address [default address: 127.0.0.1:9464]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:9464", conflicts_with = "dry_run", value_parser = metrics::address)]
    metrics: Option<SocketAddr>,
    /// Show nothing on stderr while the run goes on
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let sessions = args.look.sessions();
    let (mut text, mut workload) =
        args.quick.workload(args.share.is_some() || args.meet.is_some(), sessions.is_some())?;
    crate::places::say(&workload);
    if let Some(sessions) = sessions {
        return once::run(&workload, &run_now(args), sessions, args.look.verbose);
    }
    crate::replay::say(&workload);
    let start_at = args.start_at.as_deref().map(instant).transpose()?;
    let share = share(args.share, args.workers, args.meet.is_some())?;
    let out = args.meet.as_ref().map(|meet| offered_store::worker(meet, share)).or_else(|| args.out.clone());
    // A worker's own may be there where it was started again: the meeting knows.
    if let Some(out) = args.out.as_ref().filter(|out| out.exists()) {
        return Err(Failure::input(format!(
            "{} exists already; a recorded run is never overwritten, choose another --out",
            out.display()
        )));
    }
    let stop = Arc::new(AtomicBool::new(false));
    let hurry = Arc::new(AtomicBool::new(false));
    let mut set_load = None;
    if let (Some(load), Some(out)) = (args.load, &args.out) {
        signals::stop_then_hurry(&stop, &hurry)?;
        let pilots = Pilots { input: &args.quick.input(text), load, each: args.pilot, out };
        let (point, set) = pilots.run(&stop, &hurry, &mut |top, kept| piloting(args, top, kept))?;
        (text, workload, set_load) = (point.text, point.workload, Some(set));
    }
    let plan = Plan {
        text: &text,
        workload: &workload,
        share,
        load: args.dry_run.clone().map_or(Load::Target, Load::Nobody),
        start_at,
        run_id: args.run_id.clone(),
        out: out.as_deref(),
        name: out.as_ref().map_or_else(|| args.quick.target.clone(), |out| out.display().to_string()),
        see_failures: args.look.verbose,
    };
    plan.beyond().iter().for_each(|beyond| tell!("warning: {}", words::of_machine(beyond)));
    let is_heard = set_load.is_some();
    let ready = plan.prepare(stop.clone())?.hurried_by(hurry.clone()).set_for(set_load);
    if !is_heard {
        signals::stop_then_hurry(&stop, &hurry)?;
    }
    unobserved(&ready, &workload, args.dry_run.is_some() || out.is_some());
    let ready = match &args.meet {
        Some(meet) => {
            let clock_at = args.clock_at.unwrap_or((Ipv6Addr::UNSPECIFIED, 0).into());
            let numbered = args.share.is_none();
            let ready = ready.met(MeetingPlace::at(meet)?, args.wait, clock_at, numbered, &mut |missing| {
                waiting(args.quiet, share, missing);
            })?;
            if let Some(said) = clock(share, ready.ahead()).filter(|_| !args.quiet && args.dry_run.is_none()) {
                tell!("note: {said}");
            }
            ready
        }
        None => ready,
    };
    let page = args.ui.map(|address| page::serve(address, &workload, share, Some(stop.clone()))).transpose()?;
    let metrics = args.metrics.map(metrics::serve).transpose()?;
    let mut views = views(args.quiet || args.dry_run.is_some());
    views.extend(page.as_ref().map(|page| Box::new(page.feed()) as Box<dyn View>));
    views.extend(metrics.as_ref().map(|metrics| Box::new(metrics.feed()) as Box<dyn View>));
    let mut made = ready.run(views)?;
    if args.look.verbose {
        made.failures.iter().for_each(|exchange| tell!("{}", Shown { exchange, whole: false }));
    }
    match args.format {
        _ if args.json => json(&made.summary),
        Format::Md => say!(no newline: "{}", markdown(&summary(&seen(&made, &workload)?))),
        Format::Junit => say!(no newline: "{}", junit(&seen(&made, &workload)?).map_err(Failure::stopped)?),
        Format::Text => {
            let run = made.record.run_id.as_ref().filter(|_| workload.asks_for_run());
            let (summary, verdict, halted) = (&made.summary, &made.verdict, made.done.halted.as_ref());
            say!(no newline: "{}", result::Page { summary, run, verdict, workload: &workload, halted, details: args.details });
            if args.dry_run.is_some() && workload.target().is_some() {
                show_requests(&workload, &run_now(args));
            }
        }
    }
    if let Some(page) = page {
        page::end(page, &made, &workload);
    }
    if let Some(metrics) = metrics {
        let was_stopped = stop.load(Relaxed);
        metrics::end(metrics, args.quiet, || !hurry.load(Relaxed) && stop.load(Relaxed) == was_stopped);
    }
    ended(args.quiet, &mut made, &hurry)
}

/// Waits until what is under way to elsewhere is there, and says how it ended.
fn ended(quiet: bool, made: &mut Made, hurry: &Arc<AtomicBool>) -> Result<Exit, Failure> {
    let sent = made.sending.take().map_or(Ok(()), |sending| sending.finish(hurry, &mut |why| refused(quiet, why)));
    if let Some(unkept) = &made.unkept {
        tell!("error: {}; the figures count what this machine still knew", shown(&unkept.to_string()));
        return Ok(Exit::Unkept);
    }
    if let Err(unsent) = sent {
        tell!("error: {}; the figures count everything", shown(&unsent.to_string()));
        return Ok(Exit::Unkept);
    }
    match &made.done.halted {
        Some(Halted { why, end: End::Error }) => Err(Failure::stopped(why)),
        Some(Halted { why, end: End::Unkept }) => {
            tell!("error: stopped, as on_disk_full says: {}", shown(why));
            Ok(Exit::Unkept)
        }
        _ => Ok(Exit::of(made)),
    }
}

/// Says that a run begins that finds the rate.
fn piloting(args: &Args, top: f64, kept: &Path) {
    if !args.quiet {
        tell!("how much work an answer takes: up to {top:.4}/s for {}, kept in {}", args.pilot, kept.display());
    }
}

/// Says what of the server's side nobody will know; what is scraped is `kept`, or there is nobody to ask.
fn unobserved(ready: &Ready<'_>, workload: &Workload, kept: bool) {
    for (name, address) in ready.silent_hosts() {
        tell!(
            "note: {name} at {address} does not say what its clock shows; is `offered observe --listen` running there? The run goes on"
        );
    }
    if !kept && !workload.observe().scrapes.is_empty() {
        tell!("note: nothing is scraped: that is kept in the run's directory; name one with --out");
    }
}

/// What the report says of the run.
fn seen(made: &Made, workload: &Workload) -> Result<Report, Failure> {
    Ok(Report::new(vec![Run::of_made(made, workload)?]))
}

/// The run's own id, or that of one that begins now.
fn run_now(args: &Args) -> RunId {
    args.run_id.clone().unwrap_or_else(|| RunId::of(offered_clock::unix_now()))
}

/// The first requests as they would be sent in this run. What keeps them from being made keeps nobody from seeing when they would be sent.
fn show_requests(workload: &Workload, run: &RunId) {
    if workload.asks_for_run() {
        say!("\nas run {run} would send them (another sends others; --run-id {run} sends these):");
    }
    match preview(workload, run, PREVIEWED) {
        Ok(requests) => {
            let requests = requests.iter().map(|exchange| Shown { exchange, whole: false }.to_string());
            say!("\n{}", requests.collect::<Vec<_>>().join("\n").trim_end());
        }
        Err(why) => tell!("note: the requests cannot be shown: {why}"),
    }
}

/// The part that is made here: as it is said, or as the engine says that has started this worker where it `meets` others.
pub(crate) fn share(given: Option<Share>, workers: Option<u64>, meets: bool) -> Result<Share, Failure> {
    match given {
        Some(share) => Ok(share),
        None if !meets => Ok(Share::ALL),
        None => {
            let share = offered_meet::share(workers, |name| std::env::var(name).ok());
            share.map_err(|why| Failure::input(words::of_no_share(&why)))
        }
    }
}

/// Says that what is kept here does not come to where it should.
fn refused(quiet: bool, why: &str) {
    if !quiet {
        tell!("note: {}; it is tried for another minute, or until Ctrl-C is pressed once more", shown(why));
    }
}

/// Says who is still waited for.
fn waiting(quiet: bool, share: Share, missing: &[u64]) {
    if !quiet && !missing.is_empty() {
        tell!("waiting for {} of {} workers", missing.len(), share.parts());
    }
}

/// What is worth to be said of this machine's clock, which is so far ahead of worker 1's.
fn clock(share: Share, ahead: Option<Offset>) -> Option<String> {
    match ahead {
        None if share.index() == 0 => None,
        None => Some(
            "worker 1 does not say what its clock shows (no datagram came back): this machine's is believed".to_owned(),
        ),
        Some(Offset { ahead_ns, bound_ns, .. }) if ahead_ns.unsigned_abs() > bound_ns => {
            let (apart, side) =
                (span(ahead_ns.unsigned_abs() as f64), if ahead_ns > 0 { "ahead of" } else { "behind" });
            let bound = span(bound_ns as f64);
            Some(format!("this machine's clock is {apart} {side} worker 1's (to {bound}), by which the run begins"))
        }
        Some(_) => None,
    }
}

/// Where the run is shown while it goes on.
pub(crate) fn views(quiet: bool) -> Vec<Box<dyn View>> {
    if quiet {
        return Vec::new();
    }
    vec![block::Block::on_stderr().map_or_else(|| Box::<block::Lines>::default() as Box<dyn View>, |b| Box::new(b))]
}

/// An RFC 3339 instant that is still to come, since the Unix epoch.
fn instant(text: &str) -> Result<Nanos, Failure> {
    let wrong = || Failure::input(format!("`{text}` is not an instant; write for example 2026-12-01T10:00:00Z"));
    let timestamp: jiff::Timestamp = text.parse().map_err(|_| wrong())?;
    let instant = u64::try_from(timestamp.as_nanosecond()).map(Nanos).map_err(|_| wrong())?;
    if instant < offered_clock::unix_now() {
        // Begun late, everything due by now would be launched in one burst.
        return Err(Failure::input(format!(
            "--start-at {text} has passed; give all parts of the run an instant to come"
        )));
    }
    Ok(instant)
}
