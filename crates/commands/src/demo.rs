//! `offered demo`: one server, one load, three system models, measured beside theory.

use std::path::PathBuf;

use offered_base::{Nanos, Seed};
use offered_events::document::Schema;
use offered_experiment::demo::{LOAD, Measured, SERVICE, USERS, WARM_UP, cases, measure};
use offered_experiment::document::demo::{Demo, Model};
use offered_report::{Report, Run};
use offered_verify::Validity;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{json, out, status};
use crate::screen::word;
use crate::table::{Table, paragraph};
use crate::{report, result_files, verdict_lines};

const AFTER: &str = "\
The command starts three `offered serve` servers on free ports of 127.0.0.1.

Examples:
  offered demo
  offered demo --seconds 60 --report demo.html";

/// Measure open, closed and partly-open load on a known server; compare with theory
#[derive(clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct Args {
    /// Measured time in seconds, after a warm-up of 2 s
    #[arg(long, value_name = "N", default_value_t = 14, value_parser = clap::value_parser!(u64).range(2..=3600))]
    seconds: u64,
    /// Print one JSON document (schema offered.demo/1)
    #[arg(long)]
    json: bool,
    /// Seed of all random choices
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Write an HTML report with charts to FILE
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let length = Nanos::from_secs(args.seconds);
    status!("three servers, three runs at the same time: {} s ...", (WARM_UP + length).as_secs_f64());
    let measured = measure(cases()?, length, Seed(args.seed))?;
    let models: Vec<Model> = measured.iter().map(|one| one.model.clone()).collect();
    if let Some(file) = &args.report {
        let runs = measured.iter().map(|Measured { workload, made, .. }| Run::of_made(made, workload));
        result_files::write(file, &report::page(&Report::new(runs.collect::<Result<_, _>>()?))?)?;
        status!("wrote {}", file.display());
    }
    let valid = models.iter().all(|model| model.run.is_valid());
    if args.json {
        json(&Demo { schema: Schema::new(), load: LOAD, service_ms: SERVICE * 1e3, models });
    } else {
        print(&models);
    }
    Ok(if valid { Exit::Done } else { Exit::Invalid })
}

fn print(models: &[Model]) {
    out!("One server (processor sharing, exponential service, mean {} ms) at load {LOAD}.", SERVICE * 1e3);
    out!("Mean response times in ms:\n");
    let mut table =
        Table::new(["model", "rate/s", "measured", "simulated", "measured / simulated", "theory", "result"]);
    let digits = |number: Option<f64>, digits: usize| {
        number.map_or_else(|| "-".to_owned(), |number| format!("{number:.digits$}"))
    };
    for Model { model, theory_ms, simulated_ms, ratio, ratio_low, ratio_high, run, .. } in models {
        let interval = ratio_low.zip(*ratio_high).map(|(low, high)| format!(" ({low:.2} to {high:.2})"));
        table.row([
            model.clone(),
            digits(run.sent_rate_per_s, 0),
            digits(run.response_ms.as_ref().map(|response| response.mean), 2),
            digits(*simulated_ms, 2),
            digits(*ratio, 2) + &interval.unwrap_or_default(),
            digits(Some(*theory_ms), 2),
            // In full below.
            if run.validity == Validity::ValidWithWarnings { "WARNINGS" } else { run.validity.heading() }.to_owned(),
        ]);
    }
    out!("{table}");
    for Model { model, run, .. } in models.iter().filter(|model| model.run.validity != Validity::Valid) {
        let text = format!("{}: {}", run.validity.heading(), run.reason);
        let warnings = run.warnings.iter().filter(|warning| !verdict_lines::states(warning));
        let warnings = warnings.flat_map(|warning| {
            let head = format!("  {}: ", word(warning));
            [paragraph(&head, &warning.message), paragraph("  fix: ", &warning.fix)]
        });
        let lines = paragraph(&format!("{model}: "), &text).into_iter().chain(warnings.flatten());
        lines.for_each(|line| out!("{line}"));
    }
    out!(
        "The three runs have the same server and the same load. In the closed system, {USERS}
users wait for their responses, so a slow server receives fewer requests and
looks faster than it is. In the open system, users arrive independently, as on
the web. In the partly-open system, visitors arrive independently, make a few
requests, and leave.
The simulation serves the same requests as the run. In parentheses: the 95 %
interval of the ratio. Theory gives the mean of a long run: try --seconds 300.

next: offered run http://localhost:8080/ --open 100/s"
    );
}
