//! `offered watch`: follows a run of other workers while it is in progress.

use std::fmt::{self, Display, Formatter};
use std::net::SocketAddr;
use std::path::PathBuf;

use offered_base::{Nanos, Share};
use offered_experiment::{
    Error, Failure as Failed, LiveView, LocalRun, RunWatcher, ThreadAnalysis, VerifiedRun, VerifyOptions, failures,
};
use offered_io::Clock;
use offered_report::{Report, Run};
use offered_store::ReadOptions;
use offered_verify::Verdict;
use offered_watch::{LivePage, Phase, Snapshot};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::out;
use crate::run::{live_page, metrics, views};
use crate::screen::THRESHOLDS;
use crate::{input_file, object_store, report, verdict_lines};

/// Time between two reads of the run directory.
const INTERVAL: Nanos = Nanos::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  All workers that share this directory or bucket
    offered watch /shared/run7
    offered watch s3://bucket/run7
  The run of `offered run -o runs/1`
    offered watch runs/1
  A live page that becomes the report
    offered watch /shared/run7 --ui

The display is about three seconds behind: workers write every few seconds.

Exit codes: 1 the run can no longer be read; 2 no such run; otherwise as for
`offered verify`: 0, 3 the run is invalid, 99 a threshold failed.";

/// Watch a run of one or several workers while it is in progress
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Run directory, or the directory or URL (s3://, gs://, az://) that its workers share (--rendezvous)
    run: PathBuf,
    /// Serve a live page; its link is printed on stderr [default address: 127.0.0.1, a free port]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:0", value_parser = live_page::address)]
    ui: Option<SocketAddr>,
    /// Serve Prometheus metrics at /metrics [default address: 127.0.0.1:9464]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:9464", value_parser = metrics::address)]
    metrics: Option<SocketAddr>,
    /// Show no progress on stderr
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let mut watching = RunWatcher::open(object_store::growing(&args.run)?, input_file::broken)?;
    let page = args.ui.map(|address| live_page::serve(address, watching.workload(), Share::ALL, None)).transpose()?;
    let metrics = args.metrics.map(metrics::serve).transpose()?;
    let mut views = views(args.quiet);
    views.extend(page.as_ref().map(|page| Box::new(page.feed()) as Box<dyn LiveView>));
    if let Some(metrics) = &metrics {
        watching.enable_totals();
        views.push(Box::new(metrics.feed()));
    }
    let clock = Clock::start();
    let last = loop {
        let looked = clock.now();
        let snapshot = watching.snapshot()?;
        if snapshot.phase == Phase::Ended {
            break snapshot;
        }
        for view in &mut views {
            view.show(&snapshot);
        }
        clock.sleep_until(looked + INTERVAL);
    };
    // From here on the verdict counts, not the interim one.
    let verified = VerifyOptions::default().verify(watching.run(), &ReadOptions::default(), input_file::broken)?;
    let Verdict { validity, reason, pattern, .. } = &verified.verdict;
    let last = Snapshot { validity: *validity, reason: reason.clone(), pattern: *pattern, ..last };
    for view in &mut views {
        view.show(&last);
    }
    let failed = failures(&verified.recording).map_err(Error::from)?;
    // The views end before the lines below.
    drop(views);
    out!(no newline: "{}", EndOfRun { last: &last, verified: &verified, failures: &failed, args });
    if let Some(page) = page {
        end(page, watching.run())?;
    }
    if let Some(metrics) = metrics {
        metrics::end(metrics, args.quiet, || true);
    }
    Ok(verified.result().map_or(Exit::Done, Exit::from))
}

/// The last lines about a run that has ended: its verdict, in the words of `verify`, and its workers.
struct EndOfRun<'a> {
    last: &'a Snapshot,
    verified: &'a VerifiedRun,
    failures: &'a [Failed],
    args: &'a Args,
}

impl Display for EndOfRun<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { last, verified: VerifiedRun { verdict, .. }, failures, args } = self;
        let lines = verdict_lines::lines(verdict_lines::input(verdict, failures), THRESHOLDS);
        lines.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        let (requests, unsent) =
            (verdict.source.requests, verdict.lateness.as_ref().map_or(0, |lateness| lateness.unsent));
        writeln!(f, "\nended after {:.0} s: {requests} requests, {unsent} of them not sent", last.time_s)?;
        for worker in &last.workers {
            writeln!(f, "  {}: {}", worker.name, worker.state_text())?;
        }
        writeln!(f, "next: offered verify {}", args.run.display())
    }
}

/// Replaces the live page by the report of the run.
fn end(page: LivePage, run: &LocalRun) -> Result<(), Failure> {
    let terms = VerifyOptions { by_threads: ThreadAnalysis::IfFewSessions, ..VerifyOptions::default() };
    let run = Run::judged(run, &ReadOptions::default(), &terms, input_file::broken)?;
    page.end(report::page(&Report::new(vec![run]))?);
    Ok(())
}
