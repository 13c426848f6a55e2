//! Reads Artillery scripts (YAML or JSON): phases become rates, each scenario a flow.
//!
//! Source: Artillery 2 (`packages/artillery/lib/core`, `lib/commons/engine_util.ts`, the plugins `ensure` and `expect`).

mod condition;
mod config;
mod ensure;
mod flow;
mod phases;
mod response;
mod values;

use offered_base::Nanos;
use offered_distributions::Distribution;
use offered_workload::{Reuse, Target, Tls};

use crate::action::Action;
use crate::address::{TargetChoice, choose_targets, default_target, drop_conflicting_options};
use crate::chain::Chain;
use crate::data::Data;
use crate::delay::Delay;
use crate::distinct_requests::DistinctRequests;
use crate::initial_values;
use crate::plan::{Arrivals, Flow, Phase, Plan};
use crate::request_list::PlannedRequest;
use crate::text::{Text, file_name};
use crate::unique_names::UniqueNames;
use crate::{Error, ImportOptions};
use config::Config;
use flow::FlowReader;
use phases::Load;
use values::Values;

/// Maximum number of redirects that Artillery's HTTP client follows.
const REDIRECTS: u32 = 10;

/// Time in which Artillery expects the first byte of a response, if the script says nothing (`engine_http.ts`).
const TIMEOUT: Nanos = Nanos::from_secs(10);

/// The text that Artillery sends for a variable without a value.
const UNDEFINED: &str = "undefined";

/// Whether a text begins lines with the two keys of a script.
pub(crate) fn looks_like(text: &str) -> bool {
    let has = |key: &str| text.lines().any(|line| line.trim_end() == key || line.starts_with(&format!("{key} ")));
    has("config:") && has("scenarios:")
}

/// Whether `data` is a script.
pub(crate) fn is_script(data: &Data) -> bool {
    let flows = || data.get("scenarios").list().iter().any(|scenario| scenario.get("flow").is());
    data.get("config").is() && (flows() || !data.get("scenarios").list().is_empty())
}

/// A scenario with its place in the plan.
struct Scenario {
    name: String,
    weight: f64,
    action: Action,
}

/// The plan of `script`, the content of `file`.
pub(crate) fn read(script: &Data, file: &str, options: &ImportOptions) -> Result<Plan, Error> {
    let refused = |message: String| Error::File { file: file.to_owned(), message };
    let environment = options.variable("environment").unwrap_or_default();
    let config = Config::new(script.get("config"), environment);
    let mut values = Values::new(config, options);
    if environment.is_empty() && !config.environments().is_empty() {
        let names = config.environments().join(", ");
        values
            .note("config", format!("has environments; import again with --set environment=NAME for one of: {names}"));
    }
    for part in ["before", "after"] {
        if script.get(part).is() {
            values.note(part, format!("runs once {part} the load; here it is left out"));
        }
    }
    values.collect_captures(script.get("scenarios"));
    let mut reader = FlowReader::new(config, &mut values);
    let scenarios = scenarios(script.get("scenarios").list(), &mut reader).map_err(refused)?;
    let planned = reader.requests;
    let candidates = planned.iter().map(PlannedRequest::candidate);
    let TargetChoice { mut urls, target_of, notes } = choose_targets(candidates, None, 1, file)?;
    let (url, included) = (urls.remove(0), target_of.iter().map(Option::is_some).collect::<Vec<bool>>());
    values.notes.extend(notes);
    let mut requests = DistinctRequests::default();
    let mut name_of = |planned: &PlannedRequest| requests.find_or_add(planned.request.clone());
    let names: Vec<String> = planned
        .iter()
        .zip(&included)
        .map(|(planned, included)| if *included { name_of(planned) } else { String::new() })
        .collect();
    let requests = requests.into_requests();
    if requests.iter().any(|request| request.method == "post" && request.redirects.is_none()) {
        let message = "Artillery repeats a POST after a redirect with status 301 or 302, and keeps its Content-Type after 303; here a GET without body and Content-Type follows";
        values.note("config", message.to_owned());
    }
    let flows = flows(scenarios, &included, &names, &mut values).map_err(refused)?;
    let Load { rate, process, duration } = phases::load(config, &mut values);
    let thresholds = ensure::thresholds(config, &mut values);
    let target = target(config, &mut values).with_url(url);
    let Values { definitions, notes, .. } = values;
    let mut plan = Plan {
        name: file_name(file).to_owned(),
        origin: "an Artillery script".to_owned(),
        phase: Phase::Load,
        serial: false,
        duration,
        count: None,
        arrivals: Arrivals::Open {
            rate: rate.scaled(flows.sending_share),
            process,
            think: Distribution::constant(0.0).expect("zero is a constant"),
        },
        target: drop_conflicting_options(target),
        more_targets: Vec::new(),
        variables: definitions,
        requests,
        flows: flows.all,
        once: None,
        remark: None,
        thresholds,
        start: Nanos::ZERO,
        notes,
    };
    let used: Vec<&str> = plan.flows.iter().flat_map(|flow| &flow.steps).map(|step| step.request.as_str()).collect();
    plan.requests.retain(|request| used.contains(&request.name.as_str()));
    initial_values::ensure_initial_values(&mut plan, 0, |_| UNDEFINED.to_owned());
    Ok(plan)
}

/// The scenarios that use HTTP; an error if none sends a request.
fn scenarios(all: &[Data], reader: &mut FlowReader) -> Result<Vec<Scenario>, String> {
    let mut scenarios: Vec<Scenario> = Vec::new();
    let mut engines: Vec<&str> = Vec::new();
    for (number, scenario) in all.iter().enumerate() {
        let name = match scenario.get("name").text() {
            "" => format!("scenario {}", number + 1),
            name => name.to_owned(),
        };
        let engine = scenario.get("engine").text();
        if !["", "http"].contains(&engine) {
            let message = format!("uses the engine {engine}; only http is translated; left out");
            reader.note(&format!("scenario `{name}`"), message);
            engines.push(engine);
            continue;
        }
        let weight = reader.weight(scenario.get("weight"), &name);
        let action = reader.scenario(scenario, &name);
        scenarios.push(Scenario { name, weight, action });
    }
    if scenarios.iter().all(|scenario| scenario.weight == 0.0 || scenario.action.requests().is_empty()) {
        let why = if engines.is_empty() { String::new() } else { format!(" (engines: {})", engines.join(", ")) };
        return Err(format!("no scenario sends an HTTP request{why}"));
    }
    Ok(scenarios)
}

/// The flows of all scenarios.
struct Flows {
    all: Vec<Flow>,
    /// Share of the sessions that send at least one request.
    sending_share: f64,
}

/// The flows of the scenarios; an error if they have too many steps.
fn flows(scenarios: Vec<Scenario>, included: &[bool], names: &[String], values: &mut Values) -> Result<Flows, String> {
    let usual = Delay::default().distribution().0;
    let total: f64 = scenarios.iter().map(|scenario| scenario.weight).sum();
    let (mut all, mut sending_share): (Vec<Flow>, f64) = (Vec::new(), 0.0);
    let mut flow_names = UniqueNames::default();
    for Scenario { name, weight, action } in scenarios.into_iter().filter(|scenario| scenario.weight > 0.0) {
        let element = format!("scenario `{name}`");
        let action = action.retain_requests(&|request| included[request]);
        let mut chain = Chain::build(&action, false)
            .map_err(|_| format!("{element} expands to more steps than a workload can have; reduce its loops"))?;
        if chain.requests().is_empty() {
            values.note(&element, "sends no request that is translated; left out".to_owned());
            continue;
        }
        if chain.initial_wait.mean() > 0.0 {
            values.note(
                &element,
                "begins with a think time, which only moves the start of each session; left out".to_owned(),
            );
        }
        if !chain.drop_first_conditions().is_empty() {
            values.note(&element, "begins with a condition, which a workload cannot examine before the first request; here it always holds".to_owned());
        }
        let share = weight / total * chain.nonempty_share;
        sending_share += share;
        for mut flow in chain.flows(&name, names, &usual) {
            flow.name = flow_names.take(&flow.name);
            flow.weight *= share;
            all.push(flow);
        }
    }
    if all.is_empty() {
        return Err("no scenario sends an HTTP request to the target".to_owned());
    }
    let least = all.iter().map(|flow| flow.weight).fold(f64::INFINITY, f64::min);
    for flow in &mut all {
        flow.weight /= least;
    }
    Ok(Flows { all, sending_share })
}

/// The settings of the target.
fn target(config: Config, values: &mut Values) -> Target {
    let timeout = [config.get("timeout"), config.at("http", "timeout")].into_iter().find_map(Data::number);
    let timeout = timeout.map_or(TIMEOUT, |secs| Nanos::from_secs_f64(secs.clamp(0.001, 1e6)));
    let mut headers = Vec::new();
    for (name, value) in config.default("headers").entries() {
        let value = values.resolve(&value.plain(), "config");
        headers.push((name.clone(), value.template()));
    }
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("accept-encoding")) {
        headers.push(("Accept-Encoding".to_owned(), Text::from("gzip, deflate, br").template()));
    }
    let mut target = default_target()
        .with_headers(headers)
        .with_reuse(Reuse::PerSession)
        .with_cookies(true)
        .with_redirects(REDIRECTS)
        .with_omit_headers(vec!["Accept".to_owned()])
        .with_response_timeout(timeout);
    if *config.at("tls", "rejectUnauthorized") == Data::Bool(false) {
        target = target.with_tls(Tls { insecure: true, ..Tls::default() });
    }
    if let Some(pool) = config.at("http", "pool").number() {
        values.note("config", format!("shares {pool} connections among all users; here each session has its own"));
    }
    target
}
