//! `offered init`: writes a first workload, after one request to its target.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offered_base::{Nanos, visible};
use offered_events::{Event, Exchange, Outcome, RunId};
use offered_experiment::{WorkloadSource, trace_sessions};
use offered_report::format::number;
use offered_workload::Url;
use serde_json::Value;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::out;
use crate::run::exchange::ExchangeText;
use crate::{input_file, schema, signals};

const EXAMPLES: &str = "\
Examples:
  Send one GET request, show the response, write workload.toml
    offered init http://127.0.0.1:8080/
    offered run workload.toml
  To another file
    offered init https://shop.example/api/items -o items.toml
  Without a request: edit target.url in the file
    offered init

If the request needs a login or a body: in the browser's network tab, copy it as
a curl command, and paste it into: offered import - -o workload.toml

Exit codes: 0 done; 1 the request failed, nothing was written; 2 wrong input.";

/// The workload, with places for what is known of the target.
const TEMPLATE: &str = include_str!("init/workload.toml");
/// Name of the schema file, beside the workload.
const SCHEMA_FILE: &str = "workload.schema.json";
/// The target without a URL.
const PLACEHOLDER: &str = "http://127.0.0.1:8080/";
/// Redirects that the first request follows, to paths of the same server.
const MAX_REDIRECTS: u32 = 5;
/// Limits for the p95 of the response time, in ms; the first that is ten times the first response is proposed.
const BOUNDS_MS: [u32; 8] = [100, 200, 500, 1000, 2000, 5000, 10_000, 20_000];

/// Request a URL once, and write a workload with comments for it
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// URL of the target (`http://`, `https://`, `unix:/run/app.sock:/path`)
    url: Option<String>,
    /// Output file; its directory also gets workload.schema.json, for completion in editors
    #[arg(short, long, value_name = "FILE", default_value = "workload.toml")]
    output: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

/// What is known of the target.
struct First {
    /// Time from sending to the last byte of the response; `None` if it was not sent.
    service: Option<Nanos>,
    /// Number of redirects that it followed.
    redirects: u32,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let url: Url = args.url.as_deref().unwrap_or(PLACEHOLDER).parse()?;
    if url.login.is_some() {
        return Err(Failure::input("init writes HTTP workloads; for PostgreSQL start from examples/postgresql.toml"));
    }
    if !args.force && args.output.exists() {
        return Err(exists(&args.output));
    }
    let directory = args.output.parent().filter(|directory| !directory.as_os_str().is_empty());
    if let Some(missing) = directory.filter(|directory| !directory.is_dir()) {
        return Err(Failure::input(format!(
            "there is no directory {}; create it, or choose another -o",
            missing.display()
        )));
    }
    let schema = schema_file(&args.output)?;
    let first = match args.url {
        Some(_) => request(&url, &args.output)?,
        None => First { service: None, redirects: 0 },
    };
    write(&args.output, &workload_text(&url, &args.output, &first), args.force)?;
    write(&schema, &schema::workload(), true)?;
    out!("{}: open arrivals at 20/s for 30 s; comments explain every part", args.output.display());
    out!("{}: completion and checks in editors", schema.display());
    let file = args.output.display();
    match args.url {
        Some(_) => out!("next: offered run {file}"),
        None => out!("next: edit target.url, then: offered run {file} --once"),
    }
    Ok(Exit::Done)
}

/// Sends the request of the workload once and shows the response. Returns an error unless the request succeeds.
fn request(url: &Url, file: &Path) -> Result<First, Failure> {
    let text = workload_text(url, file, &First { service: None, redirects: MAX_REDIRECTS });
    let source = WorkloadSource::new("the first request".to_owned(), text, input_file::beside(None));
    let workload = source.parse(&source.text).map_err(Failure::input)?;
    let stop = Arc::new(AtomicBool::new(false));
    signals::stop(&stop)?;
    let mut exchanges: Vec<Exchange> = Vec::new();
    let events = trace_sessions(&workload, &RunId::of(offered_io::unix_now()), 1, stop, |exchange| {
        out!("{}", ExchangeText { exchange: &exchange, whole: false });
        exchanges.push(exchange);
    })?;
    match (events.first(), exchanges.last()) {
        (Some(Event { outcome: Outcome::Ok, .. }), Some(last)) => {
            let service = last.service_ms.map(|milliseconds| Nanos((milliseconds * 1e6) as u64));
            Ok(First { service, redirects: last.redirects })
        }
        (_, last) => Err(Failure::stopped(refusal(url, last))),
    }
}

/// The reason why nothing is written after this last exchange, and the next step.
fn refusal(url: &Url, last: Option<&Exchange>) -> String {
    let Some(last) = last else { return format!("{url}: stopped; nothing was written") };
    let location = last.received.iter().flat_map(|received| &received.head).find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("location").then(|| value.trim())
    });
    match (location, last.status) {
        (Some(location), 300..=399) if location.contains("://") => {
            format!("{url} redirects to another server; nothing was written; use: offered init {location}")
        }
        (_, 0) => format!("{url}: {}; nothing was written", last.reason.as_deref().unwrap_or(&last.outcome)),
        (_, status) => format!(
            "{url} responds with status {status}, not 2xx; nothing was written; correct the URL, or start without a request: \
             offered init"
        ),
    }
}

/// The text of the workload for `url`.
fn workload_text(url: &Url, file: &Path, first: &First) -> String {
    let origin = Url { path: "/".to_owned(), ..url.clone() }.to_string();
    let redirects = match first.redirects {
        0 => String::new(),
        most => format!("redirects = {most}               # consecutive redirects to follow, on this server\n"),
    };
    let service_ms = first.service.map(|service| service.as_secs_f64() * 1e3);
    let least = service_ms.map_or(0.0, |milliseconds| 10.0 * milliseconds);
    let bound = BOUNDS_MS.into_iter().find(|bound| f64::from(*bound) >= least).unwrap_or(BOUNDS_MS[7]);
    let measured = service_ms.map_or_else(String::new, |milliseconds| {
        format!("    # the first response took {} ms; set your own limit", number(milliseconds))
    });
    let quoted = |text: &str| toml_edit::Value::from(text).to_string();
    [
        ("{{url}}", url.to_string()),
        ("{{file}}", visible(&file.display().to_string()).into_owned()),
        ("{{origin}}", quoted(&origin)),
        ("{{path}}", quoted(&url.path)),
        ("{{redirects}}", redirects),
        ("{{bound}}", Nanos::from_millis(bound.into()).to_string()),
        ("{{measured}}", measured),
    ]
    .into_iter()
    .fold(TEMPLATE.to_owned(), |text, (place, value)| text.replace(place, &value))
}

fn exists(path: &Path) -> Failure {
    Failure::input(format!(
        "{} already exists and is not overwritten; choose another -o, or add --force",
        path.display()
    ))
}

fn write(path: &Path, text: &str, overwrite: bool) -> Result<(), Failure> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).create_new(!overwrite);
    let file = options.open(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => exists(path),
        _ => Failure::input(format!("cannot create {}: {error}", path.display())),
    });
    file?
        .write_all(text.as_bytes())
        .map_err(|error| Failure::stopped(format!("cannot write {}: {error}", path.display())))
}

/// The path of the schema beside the workload. Returns an error if that file exists and is not this schema.
fn schema_file(workload: &Path) -> Result<PathBuf, Failure> {
    let path = workload.with_file_name(SCHEMA_FILE);
    let is_ours =
        |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|json| json["title"] == schema::WORKLOAD_TITLE);
    match fs::read_to_string(&path) {
        Ok(text) if !is_ours(&text) => Err(Failure::input(format!(
            "{} is not the schema of a workload and is not overwritten; choose another directory with -o",
            path.display()
        ))),
        _ => Ok(path),
    }
}
