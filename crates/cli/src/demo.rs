//! `offered demo`: one server, one load, three system models, measured against theory.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use offered_experiment::document::demo::{Demo, Model};
use offered_experiment::document::finite;
use offered_experiment::{Made, Plan};
use offered_model::document::Schema;
use offered_model::workload::{Closed, Draft, Length, Server as Modelled, Sessions, Target, Url};
use offered_model::{Instant, Law, Nanos, Rate, Recording, Schedule, Seed, Share, Workload};
use offered_plan::closed::machine_repair::MachineRepair;
use offered_plan::open::mg1::Mg1;
use offered_plan::{load, partly_open};
use offered_report::{Report, Run};
use offered_run::Load;
use offered_serve::{Options, Server};
use offered_simulate::policy::{Make, Policy, Setting};
use offered_stats::steady_state::{Estimate, ratio};

use crate::exit::{Exit, Failure};
use crate::report;
use crate::run::short;
use crate::say::{json, say};
use crate::table::Table;

/// Mean service time of the demo's server, seconds; exponential.
const SERVICE: f64 = 0.01;
/// Its load under every model.
const LOAD: f64 = 0.7;
/// Users of the closed model.
const USERS: u64 = 50;
/// Stay probability of the partly-open model.
const STAY: f64 = 0.8;
/// Mean think time of its sessions, seconds; exponential.
const THINK: f64 = 0.2;

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

/// One model of the demo.
struct Case {
    name: &'static str,
    sessions: Sessions,
    /// The mean response that theory predicts, milliseconds, and where from.
    theory_ms: f64,
    source: &'static str,
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
        eprintln!("{} for {} s ...", case.name, args.seconds + 2);
        rows.push(measure(case, args)?);
    }
    let report = Report::new(rows.iter().map(|row| row.seen.clone()).collect());
    report::write(&args.out, &report::page(&report)?)?;
    if args.json {
        let models = rows.iter().map(|row| row.model.clone()).collect();
        json(&Demo { schema: Schema::new(), load: LOAD, service_ms: SERVICE * 1e3, models });
    } else {
        print(&rows);
        say!(
            "\nAll of it in charts, and under \"The queue\" what 10,000 real users would need: {}",
            args.out.display()
        );
    }
    Ok(if rows.iter().all(|row| row.model.run.believable()) { Exit::Done } else { Exit::Doubtful })
}

/// The three models at the same load, each with its theory.
fn cases() -> Result<[Case; 3], Failure> {
    let rate = load::open_rate(LOAD, 1, SERVICE)?;
    let service = Law::exponential(SERVICE)?;
    let closed = |think: f64| MachineRepair::new(1, SERVICE, USERS, think).map(|model| model.solve());
    let think = load::closed_think(LOAD, 1, SERVICE, USERS, |think| Ok(closed(think)?.throughput))?;
    let sessions = load::session_rate(LOAD, 1, SERVICE, STAY)?;
    // As people write them.
    let poisson = |per_sec: f64| Rate::from_per_sec((per_sec * 1e3).round() / 1e3).map(Schedule::poisson);
    let exponential = |mean: f64| Law::exponential((mean * 1e6).round() / 1e6);
    Ok([
        Case {
            name: "open",
            sessions: Sessions::Open(poisson(rate)?),
            theory_ms: Mg1::new(&service, rate)?.ps() * 1e3,
            source: "M/M/1 processor sharing, R = S / (1 - rho)",
        },
        Case {
            name: "closed",
            sessions: Sessions::Closed(Closed::new(USERS, exponential(think)?)?),
            theory_ms: closed(think)?.response * 1e3,
            source: "M/M/1/N/N (machine repair), exact",
        },
        Case {
            name: "partly-open",
            sessions: Sessions::PartlyOpen {
                schedule: poisson(sessions)?,
                length: Length::geometric(STAY)?,
                think: exponential(THINK)?,
            },
            theory_ms: partly_open::Sessions::new(sessions, STAY)?.product_form(1, SERVICE)? * 1e3,
            source: "product form: that of the open system at the same load",
        },
    ])
}

fn measure(case: Case, args: &Args) -> Result<Row, Failure> {
    let Case { name, sessions, theory_ms, source } = case;
    let arrivals = sessions.to_string();
    let (seed, service) = (Seed(args.seed), Law::exponential(SERVICE)?);
    let setting = Setting { servers: 1, class_means: vec![Nanos::from_secs_f64(SERVICE)], seed };
    let options = Options::new(Policy::Ps(None).boxed(&setting)?, service.clone(), seed);
    let server = Server::start(options).map_err(Failure::stopped)?;
    let url: Url = format!("{}/", server.address()).parse()?;
    let workload = Workload::new(Draft {
        seed,
        skip_first: Nanos::from_secs(2),
        target: Some(Target::new(url)),
        server: Some(Modelled::new(1, Policy::Ps(None), service)?),
        ..Draft::new(sessions, Nanos::from_secs(args.seconds + 2))
    })?;
    let plan = Plan {
        text: &workload.to_string(),
        workload: &workload,
        share: Share::ALL,
        load: Load::Target,
        start_at: None,
        out: None,
        name: name.to_owned(),
        see_failures: false,
    };
    let made = plan.prepare(Arc::default())?.run(Vec::new())?;
    server.stop().map_err(Failure::stopped)?;
    let seen = Run::of_made(&made, &workload)?;
    let Made { summary: run, recording, .. } = made;
    let mean = mean_response(&workload, &recording).map_err(Failure::stopped)?;
    let (model, source, low_ms, high_ms) = (name.to_owned(), source.to_owned(), finite(mean.low), finite(mean.high));
    Ok(Row { seen, model: Model { model, arrivals, theory_ms, source, low_ms, high_ms, run } })
}

/// The mean response in milliseconds with its 95 % interval, from ten batches of the time that is judged.
fn mean_response(workload: &Workload, recording: &Recording) -> io::Result<Estimate> {
    let from = Instant::ZERO + workload.skip_first();
    let span = from.until(workload.end());
    let mut batches = [(0.0, 0.0); 10];
    recording.events.each(|event| {
        if let Some(response) = event.response().filter(|_| event.intended >= from) {
            let batch = from.until(event.intended).0 * 10 / span.0;
            let (sum, count) = &mut batches[batch as usize];
            *sum += response.as_millis_f64();
            *count += 1.0;
        }
    })?;
    Ok(ratio(&batches))
}

fn print(rows: &[Row]) {
    say!("One server (processor sharing, exponential service of mean {} ms) at load {LOAD}:\n", SERVICE * 1e3);
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
            run.arrivals.sent_cov.map_or_else(|| "-".to_owned(), |cov| format!("{cov:.2}")),
            number(run.response_ms.as_ref().map(|response| response.mean)),
            interval.unwrap_or_else(|| "run too short".to_owned()),
            short(*theory_ms),
            number(run.response_ms.as_ref().map(|response| response.p95)),
            run.judgement.name().to_owned(),
        ]);
    }
    say!("{table}");
    for Row { model: Model { model, source, arrivals, .. }, .. } in rows {
        say!("{model:<12} {arrivals}\n{:<12} theory: {source}", "");
    }
    say!(
        "
What you just saw: the same server, as busy each time. In the open run people arrive whatever the server does, a Poisson
process: the coefficient of variation (CoV) of the times between launches is 1. In the closed run {USERS} users wait for
their answer before they think and ask again, so the server holds back its own load when it is slow, and the waiting looks
shorter than real visitors would find it. The partly-open run is what a web site sees: visitors arrive like the open ones,
make some requests and leave. Each launch was meant for an instant, and the response time R is counted from that instant. A few
hundred requests tell R only roughly (95 %: so far from theory it may be by chance); ask for more with --seconds 300."
    );
}
