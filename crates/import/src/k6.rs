//! Reads the options of k6 scripts as `k6 inspect` prints them, as a file for `--config` has them, or in the `metadata.json` of an archive:
//! the load and the thresholds. The requests are in the script, which is a program.
//!
//! Source: the documentation of k6, "Options reference" and "Executors"; `lib/executor` of k6.

use offered_base::{Nanos, time::written_number};
use offered_distributions::Distribution;
use offered_schedule::arrivals::Process;
use offered_schedule::{Count, Stage, Visitor};
use offered_workload::{Reuse, Target, Threshold};

use crate::address::{Candidate, MissingValue, Server, TargetChoice, choose_targets, default_target, encode_path};
use crate::boolean;
use crate::data::Data;
use crate::note::Note;
use crate::plan::{Arrivals, Phase, Plan, RateProfile, Request, nanos};
use crate::text::Text;
use crate::unique_names::UniqueNames;
use crate::{Error, ImportOptions};

/// Maximum duration of scenarios that end after a number of iterations, if they state none.
const MAX_DURATION_S: f64 = 600.0;

/// Maximum number of redirects that k6 follows.
const REDIRECTS: u32 = 10;

/// Whether `data` contains options.
pub(crate) fn has_options(data: &Data) -> bool {
    let data = options_of(data);
    let executors = || data.get("scenarios").entries().iter().any(|(_, scenario)| scenario.get("executor").is());
    let stages =
        || data.get("stages").list().iter().any(|stage| stage.get("target").is() && stage.get("duration").is());
    executors() || stages() || data.get("vus").is() && (data.get("duration").is() || data.get("iterations").is())
}

/// The options of a file; an archive has them in its metadata.
fn options_of(data: &Data) -> &Data {
    let inner = data.get("options");
    if inner.entries().is_empty() { data } else { inner }
}

/// A scenario: its arrivals and its end.
struct Load {
    arrivals: Arrivals,
    duration: Nanos,
    count: Option<Count>,
}

/// The plans of the options in `data`, the content of `file`: one for each scenario.
pub(crate) fn read(data: &Data, file: &str, options: &ImportOptions) -> Result<Vec<Plan>, Error> {
    let refused = |message: String| Error::File { file: file.to_owned(), message };
    let given = options_of(data);
    let script = data.get("filename").text();
    let script = if script.is_empty() { "the script" } else { script };
    let url = options.variable("url").map(Text::from);
    let parsed = match &url {
        Some(url) => Server::parse_text(url, |_| None)
            .ok_or_else(|| refused(format!("{} is not an HTTP URL", url.to_display())))?,
        None => (Server::Unresolved(MissingValue { is_property: false, name: "url".to_owned() }), Text::default()),
    };
    let (server, path) = parsed;
    let element = format!("the requests of {script}");
    let candidates = std::iter::once(()).map(|()| Candidate { server: &server, line: 0, element: &element, times: 1 });
    let TargetChoice { mut urls, .. } = choose_targets(candidates, None, 1, file)?;
    let url = urls.remove(0);
    let mut request = Request::new("get", encode_path(&path));
    "request".clone_into(&mut request.name);
    let mut scenarios: Vec<(String, Data)> = given.get("scenarios").entries().to_vec();
    if scenarios.is_empty() {
        scenarios.push(("default".to_owned(), shortcut(given)));
    }
    let several = scenarios.len() > 1;
    let mut notes = vec![note(
        script,
        "the requests, think times and checks of k6 are a program; here one request represents an iteration: replace it, or import a HAR of the same visit",
    )];
    let target = target(given, &mut notes).with_url(url);
    let thresholds = thresholds(given.get("thresholds"), &mut notes);
    let (mut plans, mut names) = (Vec::new(), UniqueNames::default());
    for (name, scenario) in &scenarios {
        let element = format!("scenario `{name}`");
        let mut own = notes.clone();
        let Some(load) = load(scenario, &element, &mut own) else {
            return Err(refused(format!(
                "{element} has the executor {}, whose load is not known before the run",
                scenario.get("executor").plain()
            )));
        };
        let start = seconds(scenario.get("startTime")).unwrap_or(0.0);
        if start > 0.0 && !several {
            own.push(note(&element, "starts after a delay; here it starts at once"));
        }
        plans.push(Plan {
            name: names.take(name),
            origin: format!("k6 scenario `{name}`"),
            phase: Phase::Load,
            serial: false,
            duration: load.duration,
            count: load.count,
            arrivals: load.arrivals,
            target: target.clone(),
            more_targets: Vec::new(),
            variables: Vec::new(),
            requests: vec![Request { weight: 1.0, ..request.clone() }],
            flows: Vec::new(),
            once: None,
            remark: None,
            thresholds: thresholds.clone(),
            start: if several { nanos(start) } else { Nanos::ZERO },
            notes: own,
        });
    }
    Ok(plans)
}

fn note(element: &str, message: &str) -> Note {
    Note { line: 0, element: element.to_owned(), message: message.to_owned() }
}

fn target(options: &Data, notes: &mut Vec<Note>) -> Target {
    let redirects = options.get("maxRedirects").number().map_or(REDIRECTS, |most| most as u32);
    if redirects > Target::MOST_REDIRECTS {
        let message = format!("is {redirects}; at most {} redirects are followed", Target::MOST_REDIRECTS);
        notes.push(note("maxRedirects", &message));
    }
    let fresh = options.get("noConnectionReuse").yes();
    default_target()
        .with_reuse(if fresh { Reuse::Fresh } else { Reuse::PerSession })
        .with_cookies(true)
        .with_redirects(redirects.min(Target::MOST_REDIRECTS))
}

/// The scenario that corresponds to options without scenarios.
fn shortcut(options: &Data) -> Data {
    let has = |key: &str| options.get(key).is();
    let executor = if !options.get("stages").list().is_empty() {
        "ramping-vus"
    } else if has("iterations") {
        "shared-iterations"
    } else if has("duration") {
        "constant-vus"
    } else {
        "per-vu-iterations"
    };
    let mut entries = vec![("executor".to_owned(), Data::Text(executor.to_owned()))];
    for (from, to) in [
        ("vus", "vus"),
        ("vus", "startVUs"),
        ("stages", "stages"),
        ("iterations", "iterations"),
        ("duration", "duration"),
    ] {
        if has(from) {
            entries.push((to.to_owned(), options.get(from).clone()));
        }
    }
    if executor == "shared-iterations" && has("duration") {
        entries.push(("maxDuration".to_owned(), options.get("duration").clone()));
    }
    Data::Map(entries)
}

/// The load of a scenario; `None` for an executor that others control.
fn load(scenario: &Data, element: &str, notes: &mut Vec<Note>) -> Option<Load> {
    let number = |key: &str, otherwise: f64| scenario.get(key).number().unwrap_or(otherwise);
    let users = number("vus", 1.0).max(1.0) as u64;
    let duration = nanos(seconds(scenario.get("duration")).unwrap_or(MAX_DURATION_S));
    let longest = nanos(seconds(scenario.get("maxDuration")).unwrap_or(MAX_DURATION_S));
    let no_think = Distribution::constant(0.0).expect("zero is a constant");
    let closed = |users: u64, visits: Option<u32>, stages: Vec<Stage>| Arrivals::Closed {
        users,
        visits,
        pace: None,
        visitor: Visitor::Same,
        ramp: Nanos::ZERO,
        stages,
        think: no_think.clone(),
    };
    let unit = seconds(scenario.get("timeUnit")).filter(|unit| *unit > 0.0).unwrap_or(1.0);
    let open = |rate: RateProfile, duration: Nanos| Load {
        arrivals: Arrivals::Open { rate, process: Process::Constant, think: no_think.clone() },
        duration,
        count: None,
    };
    let executor = scenario.get("executor").plain();
    if ["constant-arrival-rate", "ramping-arrival-rate"].contains(&executor.as_str()) {
        let most = number("maxVUs", number("preAllocatedVUs", 1.0));
        notes.push(note(element, &format!("drops iterations if {most} VUs are busy; here all requests are sent")));
    }
    Some(match executor.as_str() {
        "constant-vus" => Load { arrivals: closed(users, None, Vec::new()), duration, count: None },
        "shared-iterations" => {
            let all = number("iterations", 1.0).max(1.0) as u64;
            Load { arrivals: closed(users, None, Vec::new()), duration: longest, count: Some(Count::Requests(all)) }
        }
        "per-vu-iterations" => {
            let each = number("iterations", 1.0).clamp(1.0, f64::from(u16::MAX)) as u32;
            Load { arrivals: closed(users, Some(each), Vec::new()), duration: longest, count: None }
        }
        "ramping-vus" => {
            let (mut from, mut stages) = (number("startVUs", 1.0) as u64, Vec::new());
            for (to, over) in stages_of(scenario) {
                let to = to as u64;
                if over > 0.0 {
                    stages.push(Stage { from, to, over: nanos(over) });
                }
                from = to;
            }
            let duration = Nanos(stages.iter().map(|stage| stage.over.0).sum());
            let most = stages.iter().map(|stage| stage.from.max(stage.to)).max().unwrap_or(1);
            Load { arrivals: closed(most, None, stages), duration, count: None }
        }
        "constant-arrival-rate" => open(RateProfile::Constant(number("rate", 1.0) / unit), duration),
        "ramping-arrival-rate" => {
            let (mut from, mut pieces) = (number("startRate", 0.0) / unit, Vec::new());
            for (to, over) in stages_of(scenario) {
                pieces.push((from, to / unit, over));
                from = to / unit;
            }
            let (rate, length) = RateProfile::of_pieces(pieces);
            open(rate, length)
        }
        _ => return None,
    })
}

/// The target and the length in seconds of each stage.
fn stages_of(scenario: &Data) -> Vec<(f64, f64)> {
    let stage =
        |stage: &Data| (stage.get("target").number().unwrap_or(0.0), seconds(stage.get("duration")).unwrap_or(0.0));
    scenario.get("stages").list().iter().map(stage).collect()
}

/// A duration such as `1m30s`, or a number of milliseconds, in seconds.
fn seconds(data: &Data) -> Option<f64> {
    if let Some(millis) = data.number() {
        return Some(millis / 1e3);
    }
    match data.text() {
        "0" | "0s" => Some(0.0),
        text => text.parse::<Nanos>().ok().map(Nanos::as_secs_f64),
    }
}

/// The thresholds; adds a note for each one that is not translated.
fn thresholds(data: &Data, notes: &mut Vec<Note>) -> Vec<Threshold> {
    let mut all = Vec::new();
    for (metric, bounds) in data.entries() {
        if let Some((_, tags)) = metric.split_once('{') {
            let tags = tags.trim_end_matches('}');
            notes.push(note(
                &format!("threshold `{metric}`"),
                &format!("applies to {tags} only; write it under [thresholds] with the name of the request or scenario in braces"),
            ));
            continue;
        }
        for bound in bounds.list() {
            let text = if bound.text().is_empty() { bound.get("threshold").plain() } else { bound.plain() };
            let stops = bound.get("abortOnFail").yes();
            let after = nanos(seconds(bound.get("delayAbortEval")).unwrap_or(0.0));
            match threshold(metric, &text) {
                Some(threshold) => all.push(if stops { threshold.stopping(after) } else { threshold }),
                None => notes.push(note(
                    &format!("threshold `{metric}`"),
                    &format!(
                        "`{text}` does not limit a metric that can be translated; write a threshold under [thresholds]"
                    ),
                )),
            }
        }
        if metric == "http_req_duration" && !bounds.list().is_empty() {
            notes.push(note(
                "threshold `http_req_duration`",
                "counts in k6 from the sending of the request, without waiting for a connection; `response` counts from the scheduled time; `service` counts from the sending",
            ));
        }
    }
    all
}

/// The threshold for a metric of k6, such as `http_req_duration`, and an expression such as `p(95)<250`.
fn threshold(metric: &str, expression: &str) -> Option<Threshold> {
    let (statistic, sign, limit) = boolean::limit(expression)?;
    let percentile = || Some(format!("p{}", statistic.strip_prefix("p(")?.strip_suffix(')')?.trim()));
    let of_time = || match statistic {
        "avg" => Some("mean".to_owned()),
        "med" => Some("p50".to_owned()),
        "max" => Some("max".to_owned()),
        _ => percentile(),
    };
    let (name, bound) = match (metric, statistic) {
        ("http_req_duration", _) => (format!("response.{}", of_time()?), format!("{sign} {}ms", written_number(limit))),
        ("http_req_failed", "rate") => ("errors.rate".to_owned(), format!("{sign} {}%", written_number(limit * 100.0))),
        ("http_reqs", "rate") => ("throughput.rate".to_owned(), format!("{sign} {}/s", written_number(limit))),
        _ => return None,
    };
    Threshold::new(&name, &bound).ok()
}
