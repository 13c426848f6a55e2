//! `offered logs`: finds sessions in access logs, recommends a system model, writes a workload or a trace.

mod comparison;
mod each;
mod messages;
mod progress;
mod text;

use std::fs::File;
use std::io::{BufWriter, IsTerminal};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use comparison::Discipline;
use offered_base::{InvalidValue, Nanos};
use offered_experiment::log_models::{self, SiteModels};
use offered_logs::document::{LogAnalysis, Messages, ModelComparison};
use offered_logs::{
    Error, Findings, FormatChoice, Input, LONGEST, LabelRules, Options, Progress, ServiceSource, TraceSummary,
    open_inputs, read, write_trace,
};
use offered_schedule::System;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::input_file::{self, Kind};
use crate::output::{json, out, status};

const EXAMPLES: &str = "\
Examples:
  offered logs access.log
  offered logs 'logs/access.log*' --pages-only --no-robots --status 2xx,3xx
  offered logs access.log --session-timeout auto --json
  A log format of nginx
    offered logs a.log --input-format '$remote_addr [$time_iso8601] \"$request\"'
  A workload that behaves like the site
    offered logs access.log --workload site.toml
  The recorded requests, for [arrivals] replay = { trace = \"day.trace\" }
    offered logs access.log --trace day.trace
  Jobs of a parallel machine, with their work
    offered logs machine.swf.gz --trace jobs.trace
  Several sites in one table
    offered logs shop.log news.log 'wiki.log*' --each

Formats: common, combined, vhost, squid, w3c, cloudfront, elb, haproxy, envoy,
s3, uwsgi, json, swf, worldcup.

Exit codes: 0 done; 1 could not continue; 2 wrong input.";

/// Find the sessions in access logs, recommend a system model, write a workload or trace
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[allow(clippy::struct_excessive_bools)] // each is a flag of its own
pub(crate) struct Args {
    /// Log files, plain or compressed (gz, zst, bz2), in any order; globs; - for stdin
    #[arg(value_name = "LOG", required = true)]
    files: Vec<String>,
    /// Log format: auto, a name (see below), or a format string of nginx ($) or Apache (%)
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    input_format: String,
    /// Keys of JSON logs, for example client=addr,time=t
    #[arg(long, value_name = "FIELD=KEY,...", default_value = "", hide_default_value = true)]
    keys: String,
    /// Field that identifies a user: client, client+agent, or 'field NAME'
    #[arg(long, default_value = "client", value_parser = user)]
    user: User,
    /// Inactivity after which a session ends, 1s to 3h; auto: the shortest time above which the number of sessions hardly
    /// changes
    #[arg(long, value_name = "TIME", default_value = "1800s", value_parser = timeout)]
    session_timeout: Timeout,
    /// Exclude embedded objects: images, styles, scripts, fonts, audio and video
    #[arg(long)]
    pages_only: bool,
    /// File extensions that --pages-only excludes
    #[arg(long, value_name = "EXT,...", default_value = offered_logs::ASSET_EXTENSIONS, hide_default_value = true)]
    parts: offered_logs::Extensions,
    /// Exclude user agents that identify as robots
    #[arg(long)]
    no_robots: bool,
    /// Include only these statuses, for example 2xx,3xx
    #[arg(long)]
    status: Option<offered_logs::StatusFilter>,
    /// Include only URLs that match
    #[arg(long, value_name = "REGEX")]
    path: Option<String>,
    /// Analyse each LOG (a glob is one site) separately, and print one table of all sites
    #[arg(long, conflicts_with_all = ["workload", "trace", "labels"])]
    each: bool,
    /// Name URLs that match REGEX; in the names of other URLs, IDs become :id (repeatable)
    #[arg(long, value_name = "REGEX=NAME")]
    label: Vec<String>,
    /// Show the number of requests by name
    #[arg(long)]
    labels: bool,
    /// Write a workload that behaves like the site
    #[arg(long, value_name = "FILE")]
    workload: Option<PathBuf>,
    /// System model of the workload [default: the recommended one]
    #[arg(long, value_parser = system_model(), requires = "workload")]
    model: Option<System>,
    /// Write the recorded requests as a trace for replay
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Methods in the trace
    #[arg(long, value_delimiter = ',', default_value = "GET,HEAD")]
    methods: Vec<String>,
    /// Utilisation at which the system models are compared
    #[arg(long, default_value_t = 0.7, value_parser = load)]
    load: f64,
    /// Scheduling disciplines under which the system models are compared
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["fcfs", "ps"])]
    discipline: Vec<Discipline>,
    /// Source for the variability of service times: durations (if logged) or response sizes
    #[arg(long, default_value = "durations")]
    service_from: ServiceSource,
    /// Do not compare the system models; recommend partly-open
    #[arg(long, conflicts_with_all = ["load", "discipline"])]
    no_compare: bool,
    /// Maximum number of clients; above it, a random sample is analysed
    #[arg(long, value_name = "N", default_value_t = 20_000_000)]
    max_clients: usize,
    /// Number of reading threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Print one JSON document (schema offered.logs/1, or offered.logs.each/1)
    #[arg(long)]
    json: bool,
    /// Show no progress on stderr
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Debug)]
enum User {
    Client,
    ClientAndAgent,
    Field(String),
}

fn user(text: &str) -> Result<User, String> {
    let field = || text.strip_prefix("field").map(|rest| rest.trim_start_matches([' ', ':', '=']));
    match text {
        "client" => Ok(User::Client),
        "client+agent" => Ok(User::ClientAndAgent),
        _ => match field().filter(|name| !name.is_empty()) {
            Some(name) => Ok(User::Field(name.to_owned())),
            None => Err("write client, client+agent, or 'field NAME'".to_owned()),
        },
    }
}

#[derive(Clone, Copy, Debug)]
enum Timeout {
    Fixed(u64),
    Knee,
}

fn timeout(text: &str) -> Result<Timeout, String> {
    if text == "auto" {
        return Ok(Timeout::Knee);
    }
    let nanos = text.parse::<Nanos>().map_err(|error| error.to_string())?;
    let seconds = nanos.0 / 1_000_000_000;
    if nanos != Nanos::from_secs(seconds) || !(1..=LONGEST).contains(&seconds) {
        return Err(format!("a session timeout is auto, or whole seconds from 1s to 3h, not {nanos}"));
    }
    Ok(Timeout::Fixed(seconds))
}

fn system_model() -> impl TypedValueParser<Value = System> {
    PossibleValuesParser::new(System::NAMES).map(|name| name.parse().expect("one of the names"))
}

fn load(text: &str) -> Result<f64, String> {
    let load = text.parse().ok().filter(|load: &f64| *load >= 0.01 && *load <= 0.95);
    load.ok_or_else(|| {
        "write a load from 0.01 to 0.95; at 1 the queue of an open system grows without bound".to_owned()
    })
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    for name in &args.files {
        input_file::refuse(Path::new(name), &[Kind::Log, Kind::Result, Kind::Plan])?;
    }
    let options = options(args)?;
    options.choice.check().map_err(Failure::input)?;
    if args.each {
        return each::run(args, &options);
    }
    let inputs = open_inputs(&args.files, &options.choice).map_err(of_logs)?;
    if args.trace.is_some() && inputs.iter().any(Input::is_stdin) {
        return Err(of_logs(Error::StandardInput("--trace")));
    }
    let site = Site::of(args, &options, &inputs)?;
    if let Some(path) = &args.workload {
        let failed = |error| Failure::stopped(format!("cannot write {}: {error}", path.display()));
        std::fs::write(path, site.workload_text(args)?).map_err(failed)?;
    }
    let timeout = site.found.figures.timeout_s;
    let written = args.trace.as_ref().map(|path| {
        let file = File::create(path)
            .map_err(|error| Failure::stopped(format!("cannot write {}: {error}", path.display())))?;
        let written = write_trace(&inputs, &options, timeout, &args.methods, &mut BufWriter::new(file));
        // A partial trace would pass for a complete one.
        written.inspect_err(|_| drop(std::fs::remove_file(path))).map_err(of_logs)
    });
    let written = written.transpose()?;
    let Site { found, others, reasons, warnings, .. } = &site;
    if args.json {
        json(&site.document());
    } else {
        let (others, labels) = (others.as_ref(), args.labels);
        out!(no newline: "{}", text::Text { found, reasons, others, labels, written });
    }
    for warning in warnings.iter().chain(&written.iter().flat_map(trace_warnings).collect::<Vec<_>>()) {
        status!("warning: {warning}");
    }
    Ok(Exit::Done)
}

/// The differences between the trace and the log, as text.
fn trace_warnings(written: &TraceSummary) -> Vec<String> {
    let mut warnings = Vec::new();
    if written.stand_ins + written.unfollowed > 0 {
        warnings.push(format!(
            "the trace is not exact: after the first 60000 distinct requests, {} entries are replaced by the first request of their label; {} entries of clients above --max-clients are sessions of one request",
            written.stand_ins, written.unfollowed
        ));
    }
    if written.without_work > 0 {
        let jobs = written.without_work;
        warnings.push(format!("{jobs} jobs are not in the trace: their run time is unknown or zero"));
    }
    warnings
}

/// The analysis of the logs of one site.
struct Site {
    found: Findings,
    /// The system models; an error if the log has no rate.
    models: Result<SiteModels, InvalidValue>,
    /// The three system models, if they were compared.
    others: Option<ModelComparison>,
    /// The reasons of the recommendation.
    reasons: Vec<String>,
    warnings: Vec<String>,
}

impl Site {
    /// Reads the logs and compares the system models; prints lines that could not be parsed.
    fn of(args: &Args, options: &Options, inputs: &[Input]) -> Result<Self, Failure> {
        let pass = |timeout| {
            let progress = Progress::default();
            let total = inputs.iter().map(Input::size).sum();
            let _bar = (!args.quiet).then(|| progress::ProgressBar::start(progress.clone(), total));
            read(inputs, options, timeout, &progress).map_err(of_logs)
        };
        let timeout = match args.session_timeout {
            Timeout::Fixed(seconds) => seconds,
            Timeout::Knee if inputs.iter().any(Input::is_stdin) => {
                return Err(of_logs(Error::StandardInput("--session-timeout auto")));
            }
            Timeout::Knee => pass(1800)?.knee(),
        };
        let mut found = Findings::of(pass(timeout)?, options, timeout).map_err(of_logs)?;
        for complaint in &found.parse_errors {
            status!("warning: unreadable: {complaint}");
        }
        let models = SiteModels::new(&found, args.load);
        let (others, not_compared) = match args.no_compare {
            true => (None, None),
            false => match compared(args, &models) {
                Ok(others) => (Some(others), None),
                Err(why) => (None, Some(why.to_string())),
            },
        };
        if let Some(others) = &others {
            found.recommendation = log_models::recommendation(others, found.figures.requests_per_session.mean);
        }
        let reasons = messages::reasons(&found, not_compared.as_deref());
        let mut warnings: Vec<String> = found.warnings.iter().map(messages::doubt).collect();
        warnings.extend(others.iter().flat_map(|others| others.warnings.clone()));
        warnings.extend(not_compared.map(|error| format!("the system models could not be compared: {error}")));
        Ok(Self { found, models, others, reasons, warnings })
    }

    /// The JSON document.
    fn document(&self) -> LogAnalysis {
        let found = &self.found;
        let excluded = found.excluded.iter().map(|(why, lines)| (messages::option(*why).to_owned(), *lines)).collect();
        let words = Messages { excluded, reasons: self.reasons.clone(), warnings: self.warnings.clone() };
        LogAnalysis::new(found, self.others.clone(), words)
    }

    /// The workload of the chosen model, under processor sharing if the models were compared under it, as text.
    fn workload_text(&self, args: &Args) -> Result<String, Failure> {
        let model = args.model.unwrap_or(self.found.recommendation.model);
        let discipline = match args.discipline.contains(&Discipline::Ps) {
            true => Discipline::Ps,
            false => args.discipline[0],
        };
        let models = self.models.as_ref().map_err(Clone::clone)?;
        let workload = models.workload(&self.found, model, discipline.into())?;
        Ok(self.found.workload_text(&workload))
    }
}

/// Compares the three system models; shows a status line on a terminal.
fn compared(
    args: &Args,
    models: &Result<SiteModels, InvalidValue>,
) -> Result<ModelComparison, offered_experiment::Error> {
    let shown = !args.quiet && std::io::stderr().is_terminal();
    if shown {
        status!(no newline: "comparing the three system models (skip with --no-compare) ...");
    }
    let disciplines: Vec<log_models::Discipline> = args.discipline.iter().map(|one| (*one).into()).collect();
    let others = models.as_ref().map_err(|why| why.clone().into()).and_then(|models| models.compare(&disciplines));
    if shown {
        status!(no newline: "\r\u{1b}[K");
    }
    others
}

fn options(args: &Args) -> Result<Options, Failure> {
    let mut options =
        Options { max_clients: args.max_clients, service_source: args.service_from, ..Options::default() };
    options.choice = FormatChoice { format: args.input_format.clone(), mapping: args.keys.clone(), user: None };
    match &args.user {
        User::Client => {}
        User::ClientAndAgent => options.by_agent = true,
        User::Field(name) => options.choice.user = Some(name.clone()),
    }
    options.filters.pages_only = args.pages_only;
    options.filters.assets = args.parts.clone();
    options.filters.no_robots = args.no_robots;
    options.filters.status.clone_from(&args.status);
    options.filters.path = args.path.as_deref().map(offered_logs::path_regex).transpose()?;
    if args.labels || args.workload.is_some() {
        let mut rules = LabelRules::default();
        args.label.iter().try_for_each(|rule| rules.add(rule))?;
        options.labels = Some(rules);
    }
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    options.threads = args.threads.unwrap_or_else(cores).clamp(1, 1024);
    Ok(options)
}

fn of_logs(error: Error) -> Failure {
    match error {
        Error::Trace(_) => Failure::stopped(error),
        Error::NoSampledClient => Failure::input(format!("{error}; raise --max-clients")),
        _ => Failure::input(error),
    }
}
