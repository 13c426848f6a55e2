//! `offered import`: a plan written for another tool as a workload, with a list of what was not translated.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use offered_import::document::{Group, Imported};
use offered_import::{Arrivals, Error, Given, Kind, MOST_BYTES, Plan, When};
use offered_model::Nanos;
use offered_model::document::Schema;

use crate::exit::{Exit, Failure};
use crate::file;
use crate::say::{json, say, tell};

const EXAMPLES: &str = "\
Examples:
  offered import plan.jmx                          the workload on stdout
  offered import plan.jmx -o shop.toml             then: offered run shop.toml --dry-run
  offered import plan.jmx --group Buyers -o buyers.toml
  offered import plan.jmx -o 'shop-{group}.toml'   one workload for each thread group
  offered import plan.jmx --property users=50      as jmeter -Jusers=50
  offered import visit.har                         a visit as a browser recorded it
  offered import api.yaml -o api.toml              a sketch of what an OpenAPI 3 description offers
  offered import shop.postman_collection.json      each folder a flow
  pbpaste | offered import -                       curl commands, as browsers copy them
  offered import load.sh                           a pgbench command, with the scripts that it names
  offered import bank.sql --set PGHOST=127.0.0.1 --set PGUSER=me

What a file is, is told by what stands in it, not by its name. What is not translated stands above the workload as comments, each with its line in the plan.
Exit codes: 0 done; 1 could not write; 2 wrong input.";

/// Turn a plan of another tool, a recording, a description, or commands of curl or pgbench into a workload
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A JMeter test plan, a browser's recording (HAR), an OpenAPI 3 description (JSON, YAML), a Postman collection (2.0, 2.1),
    /// curl commands, a pgbench script, or a command that runs some; - for stdin
    file: PathBuf,
    /// Where to write the workload; stdout if not given. An existing file is not overwritten
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Of several thread groups, this one
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Give a variable of the file this value, whatever the file says: --set host=shop.example.com. Can be given several times
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = pair)]
    values: Vec<(String, String)>,
    /// Give a property of JMeter this value, as jmeter -J does. Can be given several times
    #[arg(long = "property", value_name = "NAME=VALUE", value_parser = pair)]
    properties: Vec<(String, String)>,
    /// Take the properties of JMeter from this file, as jmeter -q does; --property wins
    #[arg(long = "properties", value_name = "FILE")]
    property_file: Option<PathBuf>,
    /// Take pauses of a recording that are longer than this for so long
    #[arg(long, value_name = "TIME")]
    cap_think: Option<Nanos>,
    /// The file's format, where what stands in it does not tell
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Print one JSON document (schema offered.import/1) with workloads and notes
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A JMeter test plan
    Jmx,
    /// A browser's recording
    Har,
    /// An OpenAPI 3 description
    Openapi,
    /// A Postman collection
    Postman,
    /// Command lines of curl
    Curl,
    /// A script for pgbench, or a command that runs some
    Pgbench,
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
        }
    }
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let file = if args.file == Path::new("-") { "stdin".to_owned() } else { args.file.display().to_string() };
    if args.format.is_none() {
        // Of programs the reader knows which tool they are for.
        file::refuse(&args.file, &[file::Kind::Plan, file::Kind::JMeterPlan, file::Kind::Program])?;
    }
    let text = text(&args.file)?;
    let values: BTreeMap<String, String> = args.values.iter().cloned().collect();
    let mut properties = match &args.property_file {
        Some(path) => offered_import::properties(&self::text(path)?),
        None => BTreeMap::new(),
    };
    properties.extend(args.properties.iter().cloned());
    let folder = args.file.parent().map(Path::to_owned).unwrap_or_default();
    let included =
        |name: &str| self::text(&folder.join(name)).map_err(|(Failure::Input(why) | Failure::Stopped(why))| why);
    let given = Given {
        format: args.format.map(Into::into),
        values: Some(&values),
        properties: Some(&properties),
        longest_think: args.cap_think,
        included: Some(&included),
    };
    let plans = offered_import::read(&text, &file, &given).map_err(refusal)?;
    let mut plans = chosen(plans, args)?;
    if let Some(folder) = elsewhere(&args.file, args.output.as_deref()) {
        for plan in &mut plans {
            plan.find_files_in(&folder);
        }
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
        let group = |((plan, workload), target): (&(Plan, String), &Option<String>)| Group {
            group: plan.name.clone(),
            file: target.clone(),
            workload: workload.clone(),
            not_translated: plan.notes.clone(),
        };
        json(&Imported { schema: Schema::new(), from: file, workloads: results.map(group).collect() });
        return Ok(Exit::Done);
    }
    for ((plan, workload), target) in results {
        match target {
            Some(target) => {
                say!("{target}: {}", summary(plan));
                plan.notes().iter().for_each(|note| say!("  {note}"));
            }
            None => {
                say!(no newline: "{workload}");
                if !plan.notes.is_empty() {
                    tell!(
                        "warning: not everything is translated, or not exactly; the notes at the top say what ({})",
                        plan.notes().len()
                    );
                }
            }
        }
    }
    Ok(Exit::Done)
}

/// `NAME=VALUE`.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

/// Why there is no plan, and which flag helps.
fn refusal(error: Error) -> Failure {
    match &error {
        Error::Unnamed { kind: Kind::Variable, name, .. } => {
            Failure::input(format!("{error}; give it one: --set {name}=..."))
        }
        Error::Unnamed { kind: Kind::Property, name, .. } => {
            Failure::input(format!("{error}; give it one: --property {name}=..."))
        }
        _ => Failure::input(error),
    }
}

/// The folder of the files that a plan names, where its workload will not stand beside them.
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

/// The whole file, where it is no larger than a plan can be.
fn text(path: &Path) -> Result<String, Failure> {
    let cannot = |why: std::io::Error| Failure::input(format!("cannot read {}: {why}", path.display()));
    let mut bytes = Vec::new();
    // One byte more than is allowed: then it is refused, however large it is.
    let most = MOST_BYTES as u64 + 1;
    let read = match path == Path::new("-") {
        true => std::io::stdin().lock().take(most).read_to_end(&mut bytes),
        false => File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)),
    };
    read.map_err(cannot)?;
    if bytes.len() > MOST_BYTES {
        let why = format!("{} is larger than {} MiB; no plan is", path.display(), MOST_BYTES >> 20);
        return Err(Failure::input(why));
    }
    let text = String::from_utf8(bytes);
    text.map_err(|_| Failure::input(format!("{} is not a text file in UTF-8", path.display())))
}

/// The plans that are wanted: all of them only where each gets a file.
fn chosen(mut plans: Vec<Plan>, args: &Args) -> Result<Vec<Plan>, Failure> {
    let named = |plan: &Plan| match plan.when {
        When::Before => format!("{} (before the load)", plan.name),
        When::Load => plan.name.clone(),
        When::After => format!("{} (after the load)", plan.name),
    };
    let names = plans.iter().map(named).collect::<Vec<_>>().join(", ");
    if let Some(group) = &args.group {
        plans.retain(|plan| plan.name == *group);
        if plans.is_empty() {
            return Err(Failure::input(format!("no thread group is named `{group}`; there are: {names}")));
        }
    }
    let apart =
        args.json && args.output.is_none() || args.output.as_ref().is_some_and(|output| output.contains("{group}"));
    if args.group.is_none() && !apart && plans.iter().any(|plan| plan.when == When::Load) {
        // What is done before and after it is not the load.
        plans.retain(|plan| plan.when == When::Load);
    }
    if plans.len() > 1 && !apart {
        return Err(Failure::input(format!(
            "{} has {} thread groups, and a workload has one [arrivals]; choose with --group NAME, or write each with -o 'plan-{{group}}.toml'; there are: {names}",
            args.file.display(),
            plans.len()
        )));
    }
    Ok(plans)
}

/// The plan's workload, which must be one that `offered run` takes.
fn checked(plan: Plan, file: &str) -> Result<(Plan, String), Failure> {
    match plan.text(file) {
        Ok(text) => Ok((plan, text)),
        Err(wrong) => Err(Failure::input(format!("{file}: `{}` makes no workload: {wrong}", plan.name))),
    }
}

fn write(target: &str, workload: &str) -> Result<(), Failure> {
    let mut file = File::create_new(target).map_err(|why| match why.kind() {
        ErrorKind::AlreadyExists => Failure::input(format!("{target} exists already; choose another -o")),
        _ => Failure::input(format!("cannot create {target}: {why}")),
    })?;
    file.write_all(workload.as_bytes()).map_err(|why| Failure::stopped(format!("cannot write {target}: {why}")))
}

/// A group's name as a part of a file's.
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
    format!("{arrivals}, {length}, {}{flows}", count(plan.requests.len() as u64, "request"))
}
