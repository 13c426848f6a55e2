//! `offered import`: a plan written for another tool as a workload, with a list of what was not translated.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use offered_import::{Arrivals, Error, MOST_BYTES, Plan};
use offered_model::Workload;
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::say::say;

const EXAMPLES: &str = "\
Examples:
  offered import plan.jmx                          the workload on stdout
  offered import plan.jmx -o shop.toml             then: offered run shop.toml --dry-run
  offered import plan.jmx --group Buyers -o buyers.toml
  offered import plan.jmx -o 'shop-{group}.toml'   one workload for each thread group
  offered import visit.har                         a visit as a browser recorded it
  offered import api.yaml -o api.toml              a sketch of what an OpenAPI 3 description offers
  offered import shop.postman_collection.json      each folder a flow
  pbpaste | offered import -                       curl commands, as browsers copy them

What a file is, is told by what stands in it, not by its name. What is not translated stands above the workload as comments, each with its line in the plan.
Exit codes: 0 done; 1 could not write; 2 wrong input.";

/// Turn a plan of another tool, a recording, a description or curl commands into a workload
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A JMeter test plan, a browser's recording (HAR), an OpenAPI 3 description (JSON, YAML), a Postman collection (2.0, 2.1) or
    /// curl commands; - for stdin
    file: PathBuf,
    /// Where to write the workload; stdout if not given. An existing file is not overwritten
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Of several thread groups, this one
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
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
}

impl From<Format> for offered_import::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Jmx => Self::Jmx,
            Format::Har => Self::Har,
            Format::Openapi => Self::Openapi,
            Format::Postman => Self::Postman,
            Format::Curl => Self::Curl,
        }
    }
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let file = if args.file == Path::new("-") { "stdin".to_owned() } else { args.file.display().to_string() };
    let text = text(&args.file)?;
    let plans = offered_import::read(&text, &file, args.format.map(Into::into))
        .map_err(|error: Error| Failure::input(error))?;
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
        let workloads: Vec<_> = results
            .map(|((plan, workload), target)| {
                let notes = plan.notes.iter();
                let notes: Vec<_> = notes
                    .map(|note| json!({ "line": note.line, "element": note.element, "what": note.what }))
                    .collect();
                json!({ "group": plan.name, "file": target, "workload": workload, "not_translated": notes })
            })
            .collect();
        say!("{}", json!({ "schema": "offered.import/1", "from": file, "workloads": workloads }));
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
                    eprintln!(
                        "warning: not everything is translated, or not exactly; the notes at the top say what ({})",
                        plan.notes().len()
                    );
                }
            }
        }
    }
    Ok(Exit::Done)
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
    let names = plans.iter().map(|plan| plan.name.clone()).collect::<Vec<_>>().join(", ");
    if let Some(group) = &args.group {
        plans.retain(|plan| plan.name == *group);
        if plans.is_empty() {
            return Err(Failure::input(format!("no thread group is named `{group}`; there are: {names}")));
        }
    }
    let apart =
        args.json && args.output.is_none() || args.output.as_ref().is_some_and(|output| output.contains("{group}"));
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
    let text = plan.workload(file);
    let none = |name: &str| Err(format!("{name} is no file of the plan"));
    match Workload::parse(&text, "the workload", &none) {
        Ok(_) => Ok((plan, text)),
        Err(mistake) => Err(Failure::input(format!("{file}: `{}` makes no workload: {mistake}", plan.name))),
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
    let arrivals = match &plan.arrivals {
        Arrivals::Closed { users: 1, .. } => "closed, 1 user".to_owned(),
        Arrivals::Closed { users, .. } => format!("closed, {users} users"),
        Arrivals::Open { .. } if plan.flows.is_empty() => "open".to_owned(),
        Arrivals::Open { .. } => "partly-open".to_owned(),
    };
    let count = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let flows = if plan.flows.is_empty() { String::new() } else { format!(", {}", count(plan.flows.len(), "flow")) };
    format!("{arrivals}, {}, {}{flows}", plan.duration, count(plan.requests.len(), "request"))
}
