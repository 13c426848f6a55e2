//! `offered run`: launches a workload and says whether to believe what came of it.

mod block;
mod collect;
mod page;
mod quick;
mod summary;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use offered_model::{Event, Law, Nanos, Recording, Share, Workload};
use offered_run::{Done, End, Generator, Halted, Load};
use offered_store::{ReadOptions, Recorder, Writer};
use offered_verify::{Ask, Verdict, verify};
use offered_watch::Tally;
use serde_json::json;

use crate::calibrate;
use crate::exit::{Exit, Failure};
use crate::say::say;
use crate::signals;
use crate::vary::Point;
use collect::{Collector, View, Watch};
pub(crate) use summary::{Summary, short};

const EXAMPLES: &str = "\
Examples:
  offered run http://127.0.0.1:8080/ --open 1000/s --duration 10s
  offered run http://127.0.0.1:8080/ --open 200/s --arrivals gamma:1.5 --out runs/bursty
  offered run http://127.0.0.1:8080/ --closed 200 --think exponential:5s --ramp 10s
  offered run http://127.0.0.1:8080/ --partly-open 50/s --stay 0.8 --think exponential:2s
  offered run workload.toml --out runs/1 --json
  offered run workload.toml --dry-run constant:10ms     what would be launched, in no time
  offered run workload.toml --ui                        with a live page and a button to stop it
  offered run workload.toml --share 2/8 --start-at 2026-12-01T10:00:00Z

Exit codes: 0 done; 1 could not go on; 2 wrong input; 3 done, but do not believe the result; 99 a threshold was not kept,\n            or a failure stopped the run (on_failure).";

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
    /// Launch only the second of eight equal parts of the run (`2/8`); all parts together are exactly the whole
    #[arg(long, value_name = "K/N")]
    share: Option<Share>,
    /// Begin at this instant (RFC 3339, UTC), the same for all parts of a run
    #[arg(long, value_name = "TIME")]
    start_at: Option<String>,
    /// Send nothing: play the workload on a virtual clock against response times of this law
    #[arg(long, value_name = "LAW", num_args = 0..=1, default_missing_value = "constant:10ms")]
    dry_run: Option<Law>,
    /// Show the run on a live page while it goes on; its link is printed on stderr [default address: a free port of 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:0", conflicts_with = "dry_run", value_parser = page::address)]
    ui: Option<SocketAddr>,
    /// Show nothing on stderr while the run goes on
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let (text, workload) = args.quick.workload(args.share.is_some())?;
    let start_at = args.start_at.as_deref().map(instant).transpose()?;
    if args.out.as_ref().is_some_and(|out| out.exists()) {
        let out = args.out.as_ref().map_or("", |out| out.to_str().unwrap_or(""));
        return Err(Failure::input(format!(
            "{out} exists already; a recorded run is never overwritten, choose another --out"
        )));
    }
    let plan = Plan {
        text: &text,
        workload: &workload,
        share: args.share.unwrap_or(Share::ALL),
        load: args.dry_run.clone().map_or(Load::Target, Load::Nobody),
        start_at,
        out: args.out.as_deref(),
        name: name(args),
        views: views(args.quiet || args.dry_run.is_some()),
        ui: args.ui,
    };
    let Made { summary, verdict, recording, page, done } = plan.make()?;
    if args.json {
        say!("{}", serde_json::to_string_pretty(&summary).map_err(Failure::stopped)?);
    } else {
        say!(no newline: "{}", summary::Page { summary: &summary, verdict: &verdict, workload: &workload });
    }
    if let Some(ending) = page {
        ending.report(&recording, verdict, &summary, &workload);
    }
    match done.halted {
        Some(Halted { why, end: End::Error }) => Err(Failure::stopped(why)),
        _ => Ok(summary.exit()),
    }
}

/// A run to be made.
pub(crate) struct Plan<'a> {
    pub(crate) text: &'a str,
    /// What the text says.
    pub(crate) workload: &'a Workload,
    pub(crate) share: Share,
    pub(crate) load: Load,
    pub(crate) start_at: Option<Nanos>,
    /// A new directory; without one the events are in memory only.
    pub(crate) out: Option<&'a Path>,
    /// What the verdict calls it.
    pub(crate) name: String,
    pub(crate) views: Vec<Box<dyn View>>,
    /// Where a live page is served, if one is wanted.
    pub(crate) ui: Option<SocketAddr>,
}

/// A run that was made.
pub(crate) struct Made {
    pub(crate) summary: Summary,
    pub(crate) verdict: Verdict,
    pub(crate) recording: Recording,
    pub(crate) done: Done,
    /// The live page, which has still to become the report.
    page: Option<page::Ending>,
}

impl<'a> Plan<'a> {
    /// The whole of one point of a grid, at its target.
    pub(crate) fn of(point: &'a Point, out: Option<&'a Path>, quiet: bool) -> Self {
        Self {
            text: &point.text,
            workload: &point.workload,
            share: Share::ALL,
            load: Load::Target,
            start_at: None,
            out,
            name: point.name(),
            views: views(quiet),
            ui: None,
        }
    }

    /// Launches everything, keeps what happened, and judges what was kept.
    pub(crate) fn make(self) -> Result<Made, Failure> {
        let Plan { text, workload, share, load, start_at, out, name, mut views, ui } = self;
        let generator = Generator::new(workload.clone(), share, load).map_err(of_run)?;
        if start_at.is_none() {
            generator.knock().map_err(Failure::stopped)?;
        }
        signals::stop(&generator.stop())?;
        let store = out.map(|out| Store::create(out, text, workload)).transpose()?;
        let page = ui.map(|address| page::serve(address, workload, share, &generator)).transpose()?;
        views.extend(page.as_ref().map(|page| Box::new(page.feed()) as Box<dyn View>));
        let watch = Watch {
            tally: Tally::new(workload, share.fraction()),
            live: Box::new(generator.watch()),
            stop: generator.stop(),
            views,
        };
        let (done, events) = launch(&generator, start_at, store.as_ref(), watch)?;
        let recording = recording(workload, events, store.as_ref())?;
        let ask = Ask { path: name, ..Ask::of(workload, share.fraction()) };
        let verdict = verify(&recording, &ask);
        let mut summary = Summary::new(workload, share, &recording, &done, &verdict);
        summary.warnings.extend(calibrate::too_much(workload, share, generator.threads()));
        summary.out = out.map(|out| out.display().to_string());
        if let Some(store) = store {
            store.finish(&summary, &verdict, &done, share, generator.threads())?;
        }
        let page = page.map(|page| page::Ending { page, ask });
        Ok(Made { summary, verdict, recording, done, page })
    }
}

fn name(args: &Args) -> String {
    args.out.as_ref().map_or_else(|| args.quick.target.clone(), |out| out.display().to_string())
}

/// Where the run is shown while it goes on.
fn views(quiet: bool) -> Vec<Box<dyn View>> {
    if quiet {
        return Vec::new();
    }
    vec![block::Block::on_stderr().map_or_else(|| Box::<block::Lines>::default() as Box<dyn View>, |b| Box::new(b))]
}

/// Launches everything; what happened, unless it was stored.
fn launch(
    generator: &Generator,
    start_at: Option<Nanos>,
    store: Option<&Store>,
    watch: Watch,
) -> Result<(Done, Vec<Event>), Failure> {
    let collector = Collector::start(store.map(|store| store.recorder.clone()), watch);
    let outcome = generator.run(start_at, || collector.sink(), |clock| collector.begin(clock));
    let done = outcome.map(|(done, _)| done).map_err(of_run);
    // Also a run that could not begin takes its block away before it says why.
    let events = collector.finish();
    Ok((done?, events))
}

/// The recording of what happened: read back from disk where it was written, so that what is judged is what is kept.
fn recording(workload: &Workload, events: Vec<Event>, store: Option<&Store>) -> Result<Recording, Failure> {
    if let Some(store) = store {
        store.recorder.flush().map_err(Failure::stopped)?;
        let mut recording = offered_store::read(&store.path, &ReadOptions::default()).map_err(Failure::stopped)?;
        recording.notes.clear(); // that there is no run.json yet
        return Ok(recording);
    }
    Ok(Recording::of_run(events, workload.labels()))
}

/// A run directory being written.
struct Store {
    path: PathBuf,
    recorder: Recorder,
}

impl Store {
    fn create(path: &Path, text: &str, workload: &Workload) -> Result<Self, Failure> {
        let writer = Writer::create(path, text, workload.labels()).map_err(Failure::input)?;
        Ok(Self { path: path.to_owned(), recorder: Recorder::start(writer) })
    }

    fn finish(
        self,
        summary: &Summary,
        verdict: &Verdict,
        done: &Done,
        share: Share,
        threads: u16,
    ) -> Result<(), Failure> {
        let machine = rustix::system::uname();
        let run = json!({
            "schema": "offered.run-directory/1",
            "version": env!("CARGO_PKG_VERSION"),
            "started_unix_ns": done.started.0,
            "share": share.to_string(),
            "threads": threads,
            "machine": {
                "name": machine.nodename().to_string_lossy(),
                "system": format!("{} {}", machine.sysname().to_string_lossy(), machine.release().to_string_lossy()),
                "arch": machine.machine().to_string_lossy(),
                "cores": std::thread::available_parallelism().map_or(0, usize::from),
            },
            "summary": summary,
            "verdict": verdict,
        });
        self.recorder.finish(run).map_err(Failure::stopped)
    }
}

fn of_run(error: offered_run::Error) -> Failure {
    use offered_run::Error;
    match error {
        Error::System(_) | Error::Resolve { .. } | Error::Nobody { .. } | Error::Handshake { .. } => {
            Failure::stopped(error)
        }
        _ => Failure::input(error),
    }
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
