//! `offered import`: translates another tool's test plan into a workload and lists what was not translated.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use offered_base::Nanos;
use offered_events::document::Schema;
use offered_import::document::{ImportDocument, ImportedGroup};
use offered_import::{Arrivals, Error, ImportOptions, MAX_PLAN_BYTES, ParameterKind, Phase, Plan};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::input_file;
use crate::output::{json, out, status};

const EXAMPLES: &str = "\
Examples:
  offered import plan.jmx                        print the workload
  offered import plan.jmx -o shop.toml
  offered import plan.jmx --group Buyers -o buyers.toml
  offered import plan.jmx -o 'shop-{group}.toml' one workload per thread group
  offered import plan.jmx --property users=50    as jmeter -Jusers=50
  offered import visit.har                       a browser's recording
  offered import visit.har --target-host shop.example --target-host cdn.example
  offered import api.yaml -o api.toml            a draft from OpenAPI
  offered import shop.postman_collection.json    one flow per folder
  pbpaste | offered import -                     curl commands (clipboard)
  offered import load.sh                         a pgbench command
  offered import bank.sql --set PGHOST=127.0.0.1 --set PGUSER=me
  offered import artillery.yml
  offered import options.json --set url=http://127.0.0.1:8080/   k6 inspect
  offered import web_stats_history.csv           the users of a Locust run
  offered import urls.txt                        URLs of siege, targets of vegeta

The format is detected from the content of the file, not from its name. Comments
at the top of the workload list the parts that were not translated, with the
line in the source.

Exit codes: 0 done; 1 could not write; 2 wrong input.";

/// Translate a JMeter, k6, Locust, Postman, HAR, curl, ... file to a workload
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// JMeter plan, HAR, OpenAPI 3, Postman 2.x, curl, pgbench, Artillery, k6, Locust, or - for stdin
    file: PathBuf,
    /// Output file, never overwritten [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Translate only this thread group
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Set a variable of the file, for example host=shop.example.com (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = pair)]
    values: Vec<(String, String)>,
    /// Set a JMeter property, as jmeter -J does (repeatable)
    #[arg(long = "property", value_name = "NAME=VALUE", value_parser = pair)]
    properties: Vec<(String, String)>,
    /// Read JMeter properties from this file, as jmeter -q does; --property takes precedence
    #[arg(long = "properties", value_name = "FILE")]
    property_file: Option<PathBuf>,
    /// Keep only the recorded requests to this host and its subdomains (repeatable) [default: the recorded site]
    #[arg(long = "target-host", value_name = "HOST")]
    target_hosts: Vec<String>,
    /// Shorten pauses of a recording that are longer than this time
    #[arg(long, value_name = "TIME")]
    cap_think: Option<Nanos>,
    /// Format of the input file [default: detected]
    #[arg(long, value_enum)]
    input_format: Option<Format>,
    /// Print one JSON document (schema offered.import/1)
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A JMeter test plan
    Jmx,
    /// A browser recording (HTTP archive)
    Har,
    /// An OpenAPI 3 or Swagger 2.0 document
    Openapi,
    /// A Postman collection
    Postman,
    /// curl commands
    Curl,
    /// A pgbench script, or a pgbench command
    Pgbench,
    /// An Artillery script (YAML or JSON)
    Artillery,
    /// The options of a k6 script (JSON)
    K6,
    /// A statistics history of Locust (CSV)
    Locust,
    /// A list of URLs (siege, vegeta)
    Urls,
}

impl From<Format> for offered_import::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Jmx => Self::Jmx,
            Format::Har => Self::Har,
            Format::Openapi => Self::Openapi,
            Format::Postman => Self::Postman,
            Format::Curl => Self::Curl,
            Format::Pgbench => Self::Pgbench,
            Format::Artillery => Self::Artillery,
            Format::K6 => Self::K6,
            Format::Locust => Self::Locust,
            Format::Urls => Self::Urls,
        }
    }
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let file = if args.file == Path::new("-") { "stdin".to_owned() } else { args.file.display().to_string() };
    if args.input_format.is_none() && !is_locust_history(&args.file) {
        // Scripts pass: the importer reports which tool they belong to.
        input_file::refuse(
            &args.file,
            &[input_file::Kind::Plan, input_file::Kind::JMeterPlan, input_file::Kind::Program],
        )?;
    }
    let text = text(&args.file)?;
    let values: BTreeMap<String, String> = args.values.iter().cloned().collect();
    let mut properties = match &args.property_file {
        Some(path) => offered_import::read_properties(&self::text(path)?),
        None => BTreeMap::new(),
    };
    properties.extend(args.properties.iter().cloned());
    let folder = args.file.parent().map(Path::to_owned).unwrap_or_default();
    let read_include =
        |name: &str| self::text(&folder.join(name)).map_err(|(Failure::Input(why) | Failure::Stopped(why))| why);
    let options = ImportOptions {
        format: args.input_format.map(Into::into),
        variables: Some(&values),
        properties: Some(&properties),
        max_pause: args.cap_think,
        hosts: &args.target_hosts,
        read_include: Some(&read_include),
    };
    let plans = offered_import::read(&text, &file, &options).map_err(refusal)?;
    let mut plans = chosen(plans, args)?;
    if let Some(folder) = elsewhere(&args.file, args.output.as_deref()) {
        for plan in &mut plans {
            plan.find_files_in(&folder);
        }
    }
    if plans.len() > 1 && !is_apart(args) {
        return combined(&plans, &file, args);
    }
    let written: Vec<(Plan, String)> = plans.into_iter().map(|plan| checked(plan, &file)).collect::<Result<_, _>>()?;
    let mut targets = Vec::new();
    for (plan, workload) in &written {
        let target = args.output.as_ref().map(|output| output.replace("{group}", &file_name(&plan.name)));
        if let Some(target) = &target {
            write(target, workload)?;
        }
        targets.push(target);
    }
    let results = written.iter().zip(&targets);
    if args.json {
        let group = |((plan, workload), target): (&(Plan, String), &Option<String>)| ImportedGroup {
            group: plan.name.clone(),
            output_file: target.clone(),
            workload: workload.clone(),
            not_translated: plan.notes.clone(),
        };
        json(&ImportDocument { schema: Schema::new(), source_file: file, workloads: results.map(group).collect() });
        return Ok(Exit::Done);
    }
    for ((plan, workload), target) in results {
        match target {
            Some(target) => {
                out!("{target}: {}", summary(plan));
                plan.notes().iter().for_each(|note| out!("  {note}"));
            }
            None => {
                out!(no newline: "{workload}");
                if !plan.notes.is_empty() {
                    let items = match plan.notes().len() {
                        1 => "1 item was".to_owned(),
                        many => format!("{many} items were"),
                    };
                    status!("warning: {items} not translated, or not exactly; see the comments at the top");
                }
            }
        }
    }
    Ok(Exit::Done)
}

/// Whether the file begins as a statistics history of Locust; other CSV files are results.
fn is_locust_history(path: &Path) -> bool {
    let mut bytes = Vec::new();
    path.is_file()
        && File::open(path).is_ok_and(|file| file.take(1024).read_to_end(&mut bytes).is_ok())
        && offered_import::is_locust_history(&String::from_utf8_lossy(&bytes))
}

/// `NAME=VALUE`.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

/// The error, with the flag that resolves it.
fn refusal(error: Error) -> Failure {
    match &error {
        Error::UnresolvedHost { kind, name, .. } | Error::Unresolved { kind, name, .. } => {
            let flag = match kind {
                ParameterKind::Variable => "--set",
                ParameterKind::Property => "--property",
            };
            Failure::input(format!("{error}; add {flag} {name}=..."))
        }
        _ => Failure::input(error),
    }
}

/// The directory of the plan, if the workload is written to another directory.
fn elsewhere(plan: &Path, output: Option<&str>) -> Option<PathBuf> {
    let folder = |path: &Path| path.parent().map(Path::to_owned).unwrap_or_default();
    let whole =
        |folder: &Path| std::fs::canonicalize(if folder == Path::new("") { Path::new(".") } else { folder }).ok();
    let (from, to) = (folder(plan), output.map(|output| folder(Path::new(output))).unwrap_or_default());
    match (whole(&from)?, whole(&to)?) {
        (same, other) if same == other => None,
        _ if to == Path::new("") => Some(from),
        (whole, _) => Some(whole),
    }
}

/// The text of a file of at most `MAX_PLAN_BYTES`.
fn text(path: &Path) -> Result<String, Failure> {
    let cannot = |why: std::io::Error| Failure::input(format!("cannot read {}: {why}", path.display()));
    let mut bytes = Vec::new();
    // Read one byte more than allowed to detect a larger file.
    let most = MAX_PLAN_BYTES as u64 + 1;
    let read = match path == Path::new("-") {
        true => std::io::stdin().lock().take(most).read_to_end(&mut bytes),
        false => File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)),
    };
    read.map_err(cannot)?;
    if bytes.len() > MAX_PLAN_BYTES {
        let why = format!("{} is larger than {} MiB, the limit for test plans", path.display(), MAX_PLAN_BYTES >> 20);
        return Err(Failure::input(why));
    }
    let text = String::from_utf8(bytes);
    text.map_err(|_| Failure::input(format!("{} is not UTF-8 text", path.display())))
}

/// The selected plans.
fn chosen(mut plans: Vec<Plan>, args: &Args) -> Result<Vec<Plan>, Failure> {
    let named = |plan: &Plan| match plan.phase {
        Phase::Setup => format!("{} (before the load)", plan.name),
        Phase::Load => plan.name.clone(),
        Phase::Teardown => format!("{} (after the load)", plan.name),
    };
    let names = plans.iter().map(named).collect::<Vec<_>>().join(", ");
    if let Some(group) = &args.group {
        plans.retain(|plan| plan.name == *group);
        if plans.is_empty() {
            return Err(Failure::input(format!("no thread group is named `{group}`; use one of: {names}")));
        }
    }
    let apart = is_apart(args);
    if args.group.is_none() && !apart && plans.iter().any(|plan| plan.phase == Phase::Load) {
        // Set-up and tear-down groups are not load.
        plans.retain(|plan| plan.phase == Phase::Load);
    }
    Ok(plans)
}

/// Whether each plan is written separately.
fn is_apart(args: &Args) -> bool {
    args.json && args.output.is_none() || args.output.as_ref().is_some_and(|output| output.contains("{group}"))
}

/// Writes one workload with a scenario for each plan.
fn combined(plans: &[Plan], file: &str, args: &Args) -> Result<Exit, Failure> {
    let names = plans.iter().map(|plan| plan.name.as_str()).collect::<Vec<_>>().join(", ");
    let text = Plan::combined_text(plans, file).map_err(|why| {
        Failure::input(format!(
            "{file} has {} thread groups, which cannot be one workload: {why}; add --group NAME, or -o 'plan-{{group}}.toml' for one file each; groups: {names}",
            plans.len()
        ))
    })?;
    match &args.output {
        Some(target) => {
            write(target, &text)?;
            for plan in plans {
                out!("{target}: {}: {}", plan.name, summary(plan));
                plan.notes().iter().for_each(|note| out!("  {note}"));
            }
        }
        None => out!(no newline: "{text}"),
    }
    Ok(Exit::Done)
}

/// The plan and its workload text, checked by the workload parser.
fn checked(plan: Plan, file: &str) -> Result<(Plan, String), Failure> {
    match plan.text(file) {
        Ok(text) => Ok((plan, text)),
        Err(wrong) => Err(Failure::input(format!("{file}: `{}` cannot be written as a workload: {wrong}", plan.name))),
    }
}

fn write(target: &str, workload: &str) -> Result<(), Failure> {
    let mut file = File::create_new(target).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Failure::input(format!("{target} already exists and is not overwritten; choose another -o"))
        }
        _ => Failure::input(format!("cannot create {target}: {error}")),
    })?;
    file.write_all(workload.as_bytes()).map_err(|error| Failure::stopped(format!("cannot write {target}: {error}")))
}

/// A group name as part of a file name.
fn file_name(group: &str) -> String {
    let fit = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    group.chars().map(fit).take(100).collect()
}

fn summary(plan: &Plan) -> String {
    let count = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let arrivals = match &plan.arrivals {
        Arrivals::Closed { users, visits, .. } => {
            let users = count(*users, "user");
            visits.map_or(format!("closed, {users}"), |visits| {
                format!("closed, {users} who leave after {}", count(u64::from(visits), "visit"))
            })
        }
        Arrivals::Open { .. } if plan.flows.is_empty() => "open".to_owned(),
        Arrivals::Open { .. } => "partly-open".to_owned(),
    };
    let flows =
        if plan.flows.is_empty() { String::new() } else { format!(", {}", count(plan.flows.len() as u64, "flow")) };
    let length = plan.count.map_or(plan.duration.to_string(), |most| count(most.number(), "transaction"));
    let hosts = match plan.more_targets.len() {
        0 => String::new(),
        more => format!(" to {} hosts", more + 1),
    };
    format!("{arrivals}, {length}, {}{hosts}{flows}", count(plan.requests.len() as u64, "request"))
}
