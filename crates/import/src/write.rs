//! Writes the workload of a plan, with the notes as comments above it.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use offered_base::{InvalidValue, Nanos, Rate, visible};
use offered_distributions::Distribution;
use offered_schedule::Schedule;
use offered_schedule::arrivals::{Batch, Profile as Rates};
use offered_schedule::flow::{self, Branches, Flows, Once, Rules};
use offered_schedule::{Closed, Length, Opening, Population, Sessions, Start};
use offered_workload::condition::Condition;
use offered_workload::script::{self, Auth, Draw, Feeder, Objects, Per, When};
use offered_workload::{Draft, Target, Url, Workload};

use crate::note::Note;
use crate::plan::{Arrivals, Flow, Plan, RateProfile, Request, ValueSource, Variable};
use crate::text::Text;

/// Maximum number of positions listed for one kind of note; of the others only lines or their number are shown.
const MAX_PLACES: usize = 8;

/// Placeholder for values that are only available when the workload runs.
const READ_LATER: &str = "the import reads no data files and no environment";

impl Plan {
    /// Builds the workload.
    ///
    /// # Errors
    /// The plan contains something that a workload cannot express.
    pub fn workload(&self) -> Result<Workload, InvalidValue> {
        let requests: Vec<offered_workload::Request> = self
            .requests
            .iter()
            .map(|request| self::request(request, self.flows.is_empty()))
            .collect::<Result<_, _>>()?;
        let skip_first = match self.arrivals {
            Arrivals::Closed { ramp, .. } if ramp < self.duration => ramp,
            _ => Nanos::ZERO,
        };
        Workload::new(Draft {
            count: self.count,
            skip_first,
            thresholds: self.thresholds.clone(),
            target: Some(self.target.clone()),
            more_targets: self.all_targets()?,
            variables: self.variables.iter().map(variable).collect::<Result<_, _>>()?,
            conditions: self.flows.iter().chain(&self.once).flat_map(Flow::conditions).cloned().collect(),
            requests,
            ..Draft::new(self.sessions()?, self.duration)
        })
    }

    /// The targets after the first, and those of token endpoints on other hosts.
    fn all_targets(&self) -> Result<Vec<Target>, InvalidValue> {
        let mut targets = self.more_targets.clone();
        for request in &self.requests {
            let Some(Auth::OAuth2(oauth2)) = request.auth.as_ref().or(self.target.auth()) else { continue };
            let Some(url) = oauth2.token_url.text().filter(|url| !url.starts_with('/')) else { continue };
            let url: Url = url.parse()?;
            let origin = url.origin();
            if !targets.iter().chain([&self.target]).any(|known| known.url().has_origin(&origin)) {
                targets.push(Target::new(origin.parse()?).with_name(url.host()));
            }
        }
        Ok(targets)
    }

    /// The workload as TOML text for [`Workload::parse`], with the notes as comments above it. `file` is the name of
    /// the plan file.
    ///
    /// # Errors
    /// The plan contains something that a workload cannot express.
    pub fn text(&self, file: &str) -> Result<String, InvalidValue> {
        let mut text = format!("# Written by `offered import` from {}: {}.\n", one_line(file), one_line(&self.origin));
        if let Some(remark) = self.remark {
            let _ = writeln!(text, "# {remark}");
        }
        if !self.notes.is_empty() {
            text.push_str("#\n# Not translated, or not exactly:\n");
            for note in self.notes() {
                let _ = writeln!(text, "#   {note}");
            }
        }
        let _ = write!(text, "\n{}", self.workload()?);
        Ok(text)
    }

    /// The notes as lines: one line for each message, with all positions where it applies.
    pub fn notes(&self) -> Vec<String> {
        let mut kinds: Vec<(&str, BTreeSet<(usize, &str)>)> = Vec::new();
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        for Note { line, element, message } in &self.notes {
            let number = *numbers.entry(message).or_insert_with(|| {
                kinds.push((message, BTreeSet::new()));
                kinds.len() - 1
            });
            kinds[number].1.insert((*line, element));
        }
        let line_of = |(message, places): (&str, BTreeSet<(usize, &str)>)| {
            let place = |(line, element): &(usize, &str)| match (*line, element.is_empty()) {
                (0, _) => (*element).to_owned(),
                (line, true) => format!("line {line}"),
                (line, false) => format!("line {line} {element}"),
            };
            let mut named: Vec<String> = places.iter().take(MAX_PLACES).map(place).collect();
            if places.len() > MAX_PLACES {
                let lines: Vec<String> = places
                    .iter()
                    .skip(MAX_PLACES)
                    .map(|(line, _)| *line)
                    .filter(|line| *line > 0)
                    .map(|line| line.to_string())
                    .collect();
                named.push(match lines.len() {
                    0 => format!("and {} more", places.len() - MAX_PLACES),
                    _ => format!("lines {}", lines.join(" ")),
                });
            }
            named.retain(|name| !name.is_empty());
            let places = if named.is_empty() { String::new() } else { named.join(", ") + ": " };
            one_line(&format!("{places}{message}"))
        };
        kinds.into_iter().map(line_of).collect()
    }

    fn sessions(&self) -> Result<Sessions, InvalidValue> {
        let flows = if self.flows.is_empty() { None } else { Some(Arc::new(self.chain()?)) };
        match &self.arrivals {
            Arrivals::Closed { users, visits, pace, visitor, ramp, stages, think } => {
                let start = match pace {
                    // The first request is sent at once.
                    Some(_) => Start::AtOnce,
                    None if think.is_zero() => Start::MidThought,
                    None => Start::Thinking,
                };
                let closed = match stages.is_empty() {
                    true => Closed::new(*users, think.clone())?.with_ramp(*ramp),
                    false => Closed::in_stages(Population::new(stages)?, think.clone())?,
                };
                let closed = closed.with_start(start);
                // Without flows, or with one visit, the setting has no effect.
                let closed = match flows {
                    Some(_) if *visits != Some(1) => closed.with_visitor(*visitor),
                    _ => closed,
                };
                let closed = pace.map_or(Ok(closed.clone()), |pace| closed.with_pace(pace))?;
                let closed = visits.map_or(Ok(closed.clone()), |visits| closed.with_visits(visits))?;
                Ok(Sessions::Closed(flows.into_iter().fold(closed, Closed::with_flows)))
            }
            Arrivals::Open { rate, process, think } => {
                let schedule = Schedule::new(profile(rate)?, process.clone(), Batch::Single)?;
                Ok(match flows {
                    None => Sessions::Open(schedule),
                    Some(flows) => {
                        let (length, think) = (Length::of_flows(flows), think.clone());
                        Sessions::PartlyOpen { schedule, length, think, opening: Opening::Empty }
                    }
                })
            }
        }
    }

    fn chain(&self) -> Result<Flows, InvalidValue> {
        let numbers: HashMap<&str, u16> = self.requests.iter().map(|request| &*request.name).zip(0u16..).collect();
        let (mut flows, mut steps, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
        let repeats = |times: u32| {
            let wrong = |_| InvalidValue::new(format!("a request cannot be repeated {times} times in a row"));
            u16::try_from(times).map_err(wrong)
        };
        // Their numbers are their places in the list of `workload`.
        let mut numbers_of_conditions = 0u16..;
        let mut condition = |given: Option<&Condition>| {
            let number = given.and_then(|_| numbers_of_conditions.next());
            number.map(|number| flow::Condition { number, probability: None })
        };
        let visits = self.flows.iter().map(|flow| (flow, None));
        let once = self.once.iter().map(|flow| (flow, Some(Once::Start)));
        for (number, (flow, once)) in (0u16..).zip(visits.chain(once)) {
            let base = steps.len();
            let at = |step: usize| {
                u16::try_from(base + step).map_err(|_| InvalidValue::new("the flows have too many steps"))
            };
            flows.push(flow::Flow { name: flow.name.clone(), weight: round_weight(flow.weight), start: at(0)?, once });
            for step in &flow.steps {
                let to = |(to, weight): &(Option<usize>, f64)| Ok((to.map(at).transpose()?, round_weight(*weight)));
                let request = numbers.get(&*step.request).copied();
                steps.push(flow::Step {
                    flow: number,
                    name: step.name.clone(),
                    request: request
                        .ok_or_else(|| InvalidValue::new(format!("no request is named `{}`", step.request)))?,
                    repeat: repeats(step.repeat)?,
                    think: step.think.clone(),
                    next: Branches::new(step.next.iter().map(to).collect::<Result<Vec<_>, InvalidValue>>()?),
                    rules: Rules {
                        only_if: condition(step.only_if.as_ref()),
                        until: condition(step.until.as_ref()),
                        ..Rules::default()
                    },
                });
            }
            for block in &flow.blocks {
                blocks.push(flow::Block {
                    first: at(block.first)?,
                    last: at(block.last)?,
                    repeat: repeats(block.repeat)?,
                    only_if: condition(block.only_if.as_ref()),
                    until: condition(block.until.as_ref()),
                });
            }
        }
        Flows::with_blocks(flows, steps, blocks)
    }
}

fn profile(profile: &RateProfile) -> Result<Rates, InvalidValue> {
    match profile {
        RateProfile::Constant(rate) => Ok(Rates::constant(Rate::from_per_sec(*rate)?)),
        RateProfile::Ramp(from, to, over) => Rates::ramp(*from, *to, *over),
        RateProfile::Steps(steps) => Rates::steps(steps),
        RateProfile::Stages(stages) => Rates::stages(stages),
    }
}

fn variable(Variable { name, value, per }: &Variable) -> Result<script::Variable, InvalidValue> {
    let unread = || script::Source::Constant(Err(READ_LATER.to_owned()));
    let (source, per, env) = match value {
        ValueSource::Constant(text) => (script::Source::Constant(Ok(text.clone())), Per::Session, None),
        ValueSource::Env(name) => (unread(), Per::Session, Some(name.clone())),
        ValueSource::File { file, columns, order, format, at_end } => {
            let columns = (!columns.is_empty()).then(|| columns.clone());
            let rows = Err(READ_LATER.to_owned());
            let feeder = Feeder { file: file.clone(), order: *order, at_end: *at_end, columns, format: *format, rows };
            (script::Source::Feeder(feeder), *per, None)
        }
        ValueSource::Uuid => (script::Source::Uuid, *per, None),
        ValueSource::Sequence(from) => (script::Source::Sequence(*from), *per, None),
        ValueSource::UniformInteger(low, high) => {
            let (low, high) = (*low as f64, *high as f64);
            // Distributions are non-negative, so negative ranges are shifted.
            let shift = low.min(0.0);
            let law = Distribution::uniform(low - shift, high - shift)?;
            (script::Source::Random(Draw { distribution: law, shift, decimals: 0, min: None }), *per, None)
        }
    };
    Ok(script::Variable { name: name.clone(), source, per, env })
}

fn request(request: &Request, weighted: bool) -> Result<offered_workload::Request, InvalidValue> {
    let texts = |texts: &[(String, Text)]| texts.iter().map(|(name, text)| (name.clone(), text.template())).collect();
    let objects = (!request.objects.is_empty()).then(|| Objects {
        paths: request.objects.iter().map(Text::template).collect(),
        connections: Objects::CONNECTIONS,
        when: When::After,
        may_fail: request.objects_may_fail,
    });
    let asked = match &request.sql {
        Some(sql) => offered_workload::Request::sql(sql.clone()),
        None => offered_workload::Request::new(&request.method.to_uppercase(), request.path.template())?,
    };
    Ok(asked
        .named(&request.name)
        .with_weight(if weighted { round_weight(request.weight) } else { 1.0 })
        .with_headers(texts(&request.headers))
        .with_body(request.body.clone())
        .with_auth(request.auth.clone())
        .with_extract(request.extract.clone())
        .with_checks(request.check.clone())
        .with_on_failure(request.on_failure)
        .with_target(request.target)
        .with_redirects(request.redirects)
        .with_objects(objects))
}

/// Rounds a weight to nine significant digits.
fn round_weight(weight: f64) -> f64 {
    format!("{weight:.8e}").parse().expect("a formatted number can be parsed")
}

/// A comment in one line of at most 1,000 characters. Line ends become blanks; other unreadable characters are shown as escapes.
pub(crate) fn one_line(text: &str) -> String {
    let line = text.replace(['\r', '\n', '\t'], " ");
    visible(line.trim()).chars().take(1000).collect()
}
