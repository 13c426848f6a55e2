//! `offered watch`: a run that others make, while it goes on.

use std::net::SocketAddr;
use std::path::PathBuf;

use offered_clock::Clock;
use offered_experiment::{ByThreads, Here, Terms, View, Watching};
use offered_model::{Nanos, Share};
use offered_report::{Report, Run};
use offered_store::ReadOptions;
use offered_watch::{Page, Phase, Pulse};

use crate::exit::{Exit, Failure};
use crate::run::{metrics, page, views};
use crate::say::say;
use crate::{file, report, stored};

/// From one look to the next.
const LOOK: Nanos = Nanos::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  offered watch /shared/run7                the run of all workers that have met in this folder
  offered watch s3://bucket/run7            the same in a folder of an object store
  offered watch runs/1                      the run of `offered run --out runs/1`
  offered watch /shared/run7 --ui           on a live page, which becomes its report

What is shown is the run as it was some three seconds ago: until then everything is in the directory.
Exit codes: 0 the run has ended; 1 it can no longer be read; 2 there is none.";

/// Watch a run that others make, of one worker or of many
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The directory of the run, or the folder or URL (s3://, gs://, az://) where its workers have met
    run: PathBuf,
    /// Show it on a live page; its link is printed on stderr [default address: a free port of 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:0", value_parser = page::address)]
    ui: Option<SocketAddr>,
    /// Serve its figures to a Prometheus, at /metrics of this address [default address: 127.0.0.1:9464]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:9464", value_parser = metrics::address)]
    metrics: Option<SocketAddr>,
    /// Show nothing on stderr
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let mut watching = Watching::open(stored::growing(&args.run)?, file::broken)?;
    let page = args.ui.map(|address| page::serve(address, watching.workload(), Share::ALL, None)).transpose()?;
    let metrics = args.metrics.map(metrics::serve).transpose()?;
    let mut views = views(args.quiet);
    views.extend(page.as_ref().map(|page| Box::new(page.feed()) as Box<dyn View>));
    if let Some(metrics) = &metrics {
        watching.keep_totals();
        views.push(Box::new(metrics.feed()));
    }
    let clock = Clock::start();
    let last = loop {
        let looked = clock.now();
        let pulse = watching.pulse()?;
        for view in &mut views {
            view.show(&pulse);
        }
        if pulse.phase == Phase::Ended {
            break pulse;
        }
        clock.sleep_until(looked + LOOK);
    };
    say!("{}", over(&last, args));
    if let Some(page) = page {
        end(page, watching.run())?;
    }
    if let Some(metrics) = metrics {
        metrics::end(metrics, args.quiet, || true);
    }
    Ok(Exit::Done)
}

/// What is left to say of a run that has ended.
fn over(last: &Pulse, args: &Args) -> String {
    let Pulse { launched, unsent, time_s, .. } = last;
    let workers: String =
        last.workers.iter().map(|worker| format!("  {}: {}\n", worker.name, worker.words())).collect();
    let run = args.run.display();
    format!(
        "the run has ended after {time_s:.0} s: {launched} launches, of them {unsent} unsent\n{workers}`offered verify {run}` says what to believe of it"
    )
}

/// The page becomes the report of the run.
fn end(page: Page, run: &Here) -> Result<(), Failure> {
    let terms = Terms { by_threads: ByThreads::IfFew, ..Terms::default() };
    let run = Run::judged(run, &ReadOptions::default(), &terms, file::broken)?;
    page.end(report::page(&Report::new(vec![run]))?);
    Ok(())
}
