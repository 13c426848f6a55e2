//! `offered demo`: one server, one load, three system models, measured against theory.

use std::path::PathBuf;

use offered_experiment::demo::{LOAD, Measured, SERVICE, USERS, WARM_UP, cases};
use offered_experiment::document::demo::{Demo, Model};
use offered_model::document::Schema;
use offered_model::{Nanos, Seed};
use offered_report::format::number as short;
use offered_report::{Report, Run};

use crate::exit::{Exit, Failure};
use crate::output::{json, out, status};
use crate::report;
use crate::table::Table;

const AFTER: &str = "\
Takes about 45 seconds and needs nothing: the server is `offered serve` on a free port of 127.0.0.1.

Example:
  offered demo --seconds 3";

/// Run open, closed and partly-open load against a known server, and compare with theory
#[derive(clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct Args {
    /// How long each model is measured (two more seconds before that warm up)
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u64).range(2..=3600))]
    seconds: u64,
    /// Print one JSON document (schema offered.demo/1)
    #[arg(long)]
    json: bool,
    /// From which every random choice follows
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Where the page with the charts is written, over what was there
    #[arg(short, long, value_name = "FILE", default_value = "offered-demo.html")]
    out: PathBuf,
}

/// A model that was run.
struct Row {
    /// As the page shows it.
    seen: Run,
    model: Model,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let mut rows = Vec::new();
    for case in cases()? {
        status!("{} for {} s ...", case.name, (WARM_UP + Nanos::from_secs(args.seconds)).as_secs_f64());
        let Measured { workload, made, model } = case.measure(Nanos::from_secs(args.seconds), Seed(args.seed))?;
        rows.push(Row { seen: Run::of_made(&made, &workload)?, model });
    }
    let report = Report::new(rows.iter().map(|row| row.seen.clone()).collect());
    report::write(&args.out, &report::page(&report)?)?;
    if args.json {
        let models = rows.iter().map(|row| row.model.clone()).collect();
        json(&Demo { schema: Schema::new(), load: LOAD, service_ms: SERVICE * 1e3, models });
    } else {
        print(&rows);
        out!(
            "\nAll of it in charts, and under \"The queue\" what 10,000 real users would need: {}",
            args.out.display()
        );
    }
    Ok(if rows.iter().all(|row| row.model.run.believable()) { Exit::Done } else { Exit::Invalid })
}

fn print(rows: &[Row]) {
    out!("One server (processor sharing, exponential service of mean {} ms) at load {LOAD}:\n", SERVICE * 1e3);
    let mut table =
        Table::new(["model", "asked/s", "offered/s", "CoV", "R mean ms", "95 %", "theory ms", "R p95 ms", "verdict"]);
    let number = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), short);
    for Row { model: Model { model, theory_ms, low_ms, high_ms, run, .. }, .. } in rows {
        let interval =
            low_ms.filter(|low| *low > 0.0).zip(*high_ms).map(|(low, high)| format!("{low:.0} to {high:.0}"));
        table.row([
            model.clone(),
            number(Some(run.asked_rate_per_s.unwrap_or(LOAD / SERVICE))),
            number(run.offered_rate_per_s),
            run.arrivals.measured_cov.map_or_else(|| "-".to_owned(), |cov| format!("{cov:.2}")),
            number(run.response_ms.as_ref().map(|response| response.mean)),
            interval.unwrap_or_else(|| "run too short".to_owned()),
            short(*theory_ms),
            number(run.response_ms.as_ref().map(|response| response.p95)),
            run.validity.name().to_owned(),
        ]);
    }
    out!("{table}");
    for Row { model: Model { model, source, arrivals, .. }, .. } in rows {
        out!("{model:<12} {arrivals}\n{:<12} theory: {source}", "");
    }
    out!(
        "
What you just saw: the same server, as busy each time. In the open run people arrive whatever the server does, a Poisson
process: the coefficient of variation (CoV) of the times between launches is 1. In the closed run {USERS} users wait for
their answer before they think and ask again, so the server holds back its own load when it is slow, and the waiting looks
shorter than real visitors would find it. The partly-open run is what a web site sees: visitors arrive like the open ones,
make some requests and leave. Each launch was meant for an instant, and the response time R is counted from that instant. A few
hundred requests tell R only roughly (95 %: so far from theory it may be by chance); ask for more with --seconds 300."
    );
}
