//! Reading `[arrivals]`: the system model, its rate profile and its pattern.

use super::{Reader, choice, small};
use crate::Request;
use crate::shape;
use crate::source::{Mistake, Table, Value};
use crate::token_trace;
use offered_base::random::Seed;
use offered_base::time::{Instant, Nanos, per_second};
use offered_distributions::Distribution;
use offered_schedule::arrivals::{Batch, Modulation, Process, Profile, Schedule};
use offered_schedule::flow::Flows;
use offered_schedule::replay::{Part, Replay, ReplayMode};
use offered_schedule::trace::{HEADER, Trace};
use offered_schedule::{Closed, Length, Opening, Pace, Population, Sessions, Stage, Start, Visitor};
use std::sync::Arc;

/// The method and the path of each request of a trace.
type TracedRequests = Vec<(String, String)>;

impl Reader<'_> {
    /// Reads the system model, and for a replay the requests of its trace. With `flows`, sessions follow them.
    pub(super) fn sessions(
        &self,
        arrivals: &Value<'_>,
        flows: Option<Arc<Flows>>,
        seed: Seed,
    ) -> Result<(Sessions, Option<Vec<Request>>), Mistake> {
        let table = arrivals.table(&shape::ARRIVALS)?;
        let (model, value) = table.the_one("open = { rate = \"100/s\" }")?;
        if flows.is_some() && ["open", "replay"].contains(&model) {
            return Err(value.mistake("flows need sessions of several requests: use partly_open or closed"));
        }
        let sessions = match model {
            "replay" => {
                let (replay, requests) = self.replay(&value, seed)?;
                return Ok((Sessions::Replay(replay), requests));
            }
            "open" => Sessions::Open(self.schedule(&value.table(&shape::OPEN)?)?),
            "closed" => {
                let table = value.table(&shape::CLOSED)?;
                let closed = self.users(&table)?;
                let closed = match table.get("every") {
                    None => closed,
                    Some(every) => every.checked(closed.with_pace(pace(&every)?))?,
                };
                let has_once = flows.as_ref().is_some_and(|flows| flows.has_once());
                let usual = if has_once { Visitor::Same } else { Visitor::New };
                let visitor = table.named("visitor")?.unwrap_or(usual);
                if let (Some(value), true, Visitor::New) = (table.get("visitor"), has_once, visitor) {
                    return Err(
                        value.mistake("with `once` a user is the same visitor from start to end; remove this key")
                    );
                }
                let closed = closed.with_visitor(visitor);
                let closed = match table.get("visits") {
                    None => closed,
                    Some(visits) => visits.checked(closed.with_visits(small(&visits, visits.count()?)?))?,
                };
                Sessions::Closed(flows.into_iter().fold(closed, Closed::with_flows))
            }
            _ => {
                let table = value.table(&shape::PARTLY_OPEN)?;
                let said = ["stay", "length"].iter().find_map(|key| table.get(key));
                let length = match (flows, said) {
                    (Some(_), Some(value)) => {
                        return Err(value.mistake("the flows determine the length of a session; remove this key"));
                    }
                    (Some(flows), None) => Length::of_flows(flows),
                    (None, _) => length(&table)?,
                };
                let opening = table.named("start")?.unwrap_or(Opening::Empty);
                Sessions::PartlyOpen { schedule: self.schedule(&table)?, length, think: self.think(&table)?, opening }
            }
        };
        Ok((sessions, None))
    }

    fn replay(&self, value: &Value<'_>, seed: Seed) -> Result<(Replay, Option<Vec<Request>>), Mistake> {
        let table = value.table(&shape::REPLAY)?;
        let name = table.need("trace", "\"day.trace\"")?;
        let (mut trace, requests) = self.trace(&name)?;
        let window = table.get("window").map(|value| window(&value)).transpose()?;
        let continues = window.is_some_and(|(_, to)| to <= trace.length());
        if let (Some(value), Some((from, to))) = (table.get("window"), window) {
            trace = value.checked(trace.cut(Instant::ZERO + from, Instant::ZERO + to))?;
        }
        let speed = table.get("speed");
        let way = table.get("as").map_or(Ok("open"), |value| match value.text()? {
            "open" => Ok("open"),
            "sessions" => Ok("sessions"),
            "closed" => Ok("closed"),
            other => Err(choice(&value, other, &shape::WAYS)),
        })?;
        if let Some(users) =
            ["users", "ramp", "start"].iter().find_map(|key| table.get(key)).filter(|_| way != "closed")
        {
            return Err(users.mistake("needs as = \"closed\""));
        }
        let way = match way {
            "closed" => match table.get("users").filter(Value::is_table) {
                Some(users) => return Err(users.mistake("a replay needs a constant number of users; write a number")),
                None => ReplayMode::Closed(self.users(&table)?),
            },
            "sessions" => ReplayMode::Sessions {
                think: table.get("think").map(|distribution| self.distribution(&distribution)).transpose()?,
            },
            _ => match table.get("think") {
                Some(think) => return Err(think.mistake("an open replay has no think times; write as = \"sessions\"")),
                None => ReplayMode::Open,
            },
        };
        if let (ReplayMode::Sessions { .. }, true, false) = (&way, trace.has_tokens(), trace.has_sessions()) {
            return Err(table.mistake("the entries of the trace have no sessions; remove `as`"));
        }
        let schedule = self.replay_rate(&table, &trace, &way)?;
        match &schedule {
            Some(schedule) => {
                let is_by_session = matches!(way, ReplayMode::Sessions { .. });
                trace = table.checked(trace.at(schedule, seed, is_by_session))?;
            }
            None if spread(table.get("timestamps"), &trace)? => trace.spread(seed),
            None => {}
        }
        let factor = speed.as_ref().map_or(Ok(1.0), Value::number)?;
        let replay = speed.as_ref().unwrap_or(value).checked(Replay::new(Arc::new(trace), factor, way))?;
        let requests =
            requests.map(|all| all.into_iter().map(|(method, path)| Request::of_trace(method, &path)).collect());
        Ok((replay.made_by(Part { window, continues, schedule }), requests))
    }

    /// The trace in a file, and its requests if it has any.
    fn trace(&self, name: &Value<'_>) -> Result<(Trace, Option<TracedRequests>), Mistake> {
        let file = name.text()?;
        let text = self.text(file).map_err(|why| name.mistake(format!("cannot read `{file}`: {why}")))?;
        if let Some(trace) = token_trace::parse(&text, file) {
            return Ok((name.checked(trace)?, None));
        }
        if !text.starts_with(HEADER) {
            let known = format!("a file of `offered logs` (first line {HEADER}), {}", token_trace::FORMATS);
            return Err(name.mistake(format!("{file}:1: not a trace; expected {known}")));
        }
        let (trace, requests) = name.checked(Trace::parse(&text, file))?;
        Ok((trace, Some(requests)))
    }

    /// The arrivals of a replay that does not use the recorded times.
    fn replay_rate(&self, table: &Table<'_>, trace: &Trace, way: &ReplayMode) -> Result<Option<Schedule>, Mistake> {
        let Some(rate) = table.get("rate") else {
            if let Some(lone) = ["process", "batch"].iter().find_map(|key| table.get(key)) {
                return Err(lone.mistake("needs rate"));
            }
            if trace.has_times() || matches!(way, ReplayMode::Closed(_)) {
                return Ok(None);
            }
            return Err(table.mistake("the trace has no times; write for example rate = \"1/s\""));
        };
        if let Some(other) = ["speed", "timestamps"].iter().find_map(|key| table.get(key)) {
            return Err(other.mistake("`rate` replaces the recorded times; remove one of the two keys"));
        }
        if matches!(way, ReplayMode::Closed(_)) {
            return Err(rate.mistake("closed users have no rate; remove one of the two"));
        }
        if !trace.has_times() && *way == (ReplayMode::Sessions { think: None }) {
            return Err(table.mistake(
                "the trace has no times, so its sessions need think times; write for example think = { exponential = \"10s\" }",
            ));
        }
        let schedule = self.schedule(table)?;
        if *schedule.process() == Process::FixedCount {
            return Err(table.mistake("the trace determines the number of requests; write another process"));
        }
        Ok(Some(schedule))
    }

    fn users(&self, table: &Table<'_>) -> Result<Closed, Mistake> {
        let start = table.named("start")?.unwrap_or(Start::MidThought);
        let users = table.need("users", "200")?;
        let think = self.think(table)?;
        if !users.is_table() {
            let closed = users.checked(Closed::new(users.count()?, think))?;
            return Ok(closed.with_ramp(table.parsed("ramp")?.unwrap_or_default()).with_start(start));
        }
        if let Some(ramp) = table.get("ramp") {
            return Err(ramp.mistake("the stages of `users` determine when users start; remove this key"));
        }
        let stages = users.table(&shape::USER_STAGES)?.need("stages", "[[0, 100, \"1m\"], [100, \"5m\"]]")?;
        let stage = |item: &Value<'_>| {
            let [from, to, over] = stage(item, "[100, \"5m\"] or [0, 100, \"1m\"]")?;
            Ok(Stage { from: from.whole()?, to: to.whole()?, over: over.parsed()? })
        };
        let listed = stages.list()?.iter().map(stage).collect::<Result<Vec<_>, Mistake>>()?;
        let population = stages.checked(Population::new(&listed))?;
        Ok(stages.checked(Closed::in_stages(population, think))?.with_start(start))
    }

    pub(super) fn think(&self, table: &Table<'_>) -> Result<Distribution, Mistake> {
        table.get("think").map_or_else(
            || Ok(Distribution::constant(0.0).expect("zero is a constant")),
            |value| self.distribution(&value),
        )
    }

    pub(super) fn schedule(&self, table: &Table<'_>) -> Result<Schedule, Mistake> {
        let rate = self.profile(&table.need("rate", "\"100/s\"")?)?;
        let process = table.get("process").map_or(Ok(Process::Poisson), |value| self.process(&value))?;
        let batch = table.get("batch").map_or(Ok(Batch::Single), |value| batch(&value))?;
        Schedule::new(rate, process, batch).map_err(|wrong| table.mistake(wrong))
    }

    pub(super) fn profile(&self, value: &Value<'_>) -> Result<Profile, Mistake> {
        if !value.is_table() {
            return Ok(Profile::constant(value.parsed()?));
        }
        let table = value.table(&shape::PROFILE)?;
        let (kind, inner) = table.the_one("rate = \"100/s\"")?;
        match kind {
            "ramp" => {
                let [from, to] = inner.pair("two rates, such as [\"10/s\", \"100/s\"]")?;
                let over = table.need("over", "\"5m\"")?.parsed()?;
                inner.checked(Profile::ramp(rate_or_zero(&from)?, rate_or_zero(&to)?, over))
            }
            "steps" => {
                let step = |item: Value<'_>| {
                    let [rate, time] = item.pair("a rate and a time, such as [\"50/s\", \"2m\"]")?;
                    Ok((rate_or_zero(&rate)?, time.parsed()?))
                };
                let steps = inner.list()?.into_iter().map(step).collect::<Result<Vec<_>, _>>()?;
                inner.checked(Profile::steps(&steps))
            }
            "stages" => {
                let stage = |item: &Value<'_>| {
                    let [from, to, over] = stage(item, "[\"100/s\", \"5m\"] or [\"0/s\", \"100/s\", \"1m\"]")?;
                    Ok((rate_or_zero(&from)?, rate_or_zero(&to)?, over.parsed()?))
                };
                let stages = inner.list()?.iter().map(stage).collect::<Result<Vec<_>, Mistake>>()?;
                inner.checked(Profile::stages(&stages))
            }
            "sine" => {
                let sine = inner.table(&shape::SINE)?;
                let mean = rate_or_zero(&sine.need("mean", "\"100/s\"")?)?;
                let amplitude = rate_or_zero(&sine.need("amplitude", "\"50/s\"")?)?;
                let period = sine.need("period", "\"10m\"")?.parsed()?;
                inner.checked(Profile::sine(mean, amplitude, period))
            }
            _ => {
                let interval = table.need("interval", "\"1m\"")?.parsed()?;
                inner.checked(Profile::counts(&self.numbers(&inner)?, interval))
            }
        }
    }

    pub(super) fn process(&self, value: &Value<'_>) -> Result<Process, Mistake> {
        if value.is_text() {
            return match value.text()? {
                "poisson" => Ok(Process::Poisson),
                "constant" => Ok(Process::Constant),
                "poisson-fixed-count" => Ok(Process::FixedCount),
                other => Err(choice(value, other, &shape::PATTERNS)),
            };
        }
        let table = value.table(&shape::PROCESSES)?;
        let (kind, inner) = table.the_one("process = \"poisson\"")?;
        match kind {
            "gamma" => match inner.number()? {
                cov if cov > 0.0 => Ok(Process::Renewal(inner.checked(Distribution::gamma(1.0, cov * cov))?)),
                cov => Err(inner.mistake(format!(
                    "the CoV of gamma gaps must be above zero, not {cov}; for 0 write process = \"constant\""
                ))),
            },
            "renewal" => {
                let distribution = self.distribution(&inner)?;
                if distribution.mean() == 0.0 {
                    return Err(inner.mistake("gaps of zero have no rate; write process = \"poisson\" with a batch"));
                }
                Ok(Process::Renewal(distribution))
            }
            _ => {
                let mmpp = inner.table(&shape::MMPP)?;
                let factors = mmpp.need("factors", "[0.2, 3]")?.list()?;
                let factors = factors.iter().map(Value::number).collect::<Result<Vec<_>, _>>()?;
                let sojourns = mmpp.need("sojourns", "[\"10s\", \"2s\"]")?.list()?;
                let sojourns = sojourns.iter().map(Value::parsed).collect::<Result<Vec<Nanos>, _>>()?;
                Ok(Process::Modulated(inner.checked(Modulation::new(&factors, &sojourns))?))
            }
        }
    }
}

/// `"10s"`, or `{ request = "10s" }`.
fn pace(value: &Value<'_>) -> Result<Pace, Mistake> {
    if !value.is_table() {
        return Ok(Pace::Visits(value.parsed()?));
    }
    let table = value.table(&shape::EVERY)?;
    let (kind, inner) = table.the_one("every = \"10s\"")?;
    Ok(if kind == "visit" { Pace::Visits(inner.parsed()?) } else { Pace::Requests(inner.parsed()?) })
}

/// `window = ["10m", "20m"]`.
fn window(value: &Value<'_>) -> Result<(Nanos, Nanos), Mistake> {
    let [from, to] = value.pair("two times, such as [\"10m\", \"20m\"]")?;
    let (from, to) = (from.parsed()?, to.parsed()?);
    if from < to { Ok((from, to)) } else { Err(value.mistake("must end after it begins")) }
}

/// Whether the requests of each tick of a coarse clock are spread over the tick; the default is true for a `trace` with
/// such a clock.
fn spread(said: Option<Value<'_>>, trace: &Trace) -> Result<bool, Mistake> {
    let has_tick = trace.tick().is_some();
    let Some(said) = said else { return Ok(has_tick) };
    match said.text()? {
        "as-recorded" => Ok(false),
        "spread" if has_tick => Ok(true),
        "spread" => Err(said.mistake("the timestamps of the trace are not from a coarse clock; remove this key")),
        other => Err(choice(&said, other, &shape::STAMPS)),
    }
}

fn length(table: &Table<'_>) -> Result<Length, Mistake> {
    let (kind, value) = table.one_of(&["stay", "length"], "stay = 0.8")?;
    if kind == "stay" {
        return value.checked(Length::geometric(value.number()?));
    }
    let table = value.table(&shape::LENGTH)?;
    let (kind, value) = table.the_one("{ fixed = 5 }")?;
    match kind {
        "fixed" => value.checked(Length::fixed(small(&value, value.count()?)?)),
        "mean" => match value.number()? {
            mean if mean >= 1.0 && mean.is_finite() => value.checked(Length::geometric(1.0 - 1.0 / mean)),
            mean => Err(value.mistake(format!("a session makes at least one request, so the mean cannot be {mean}"))),
        },
        _ => {
            let lengths = value.list()?.iter().map(|v| small(v, v.count()?)).collect::<Result<Vec<_>, _>>()?;
            value.checked(Length::empirical(lengths))
        }
    }
}

fn batch(value: &Value<'_>) -> Result<Batch, Mistake> {
    if let Ok(size) = value.whole() {
        return Ok(Batch::Fixed(small(value, size.max(1))?)).and_then(|batch| match size {
            0 => Err(value.mistake("must be at least 1")),
            _ => Ok(batch),
        });
    }
    let geometric = value.table(&shape::BATCHES)?.need("geometric", "5")?;
    match geometric.number()? {
        mean if mean >= 1.0 && mean.is_finite() => Ok(Batch::Geometric(mean)),
        mean => Err(geometric.mistake(format!("the mean batch must be at least 1, not {mean}"))),
    }
}

/// The values at the start and at the end of a stage, and its length: a list of three, or of two if both values are the same.
fn stage<'a>(item: &Value<'a>, example: &str) -> Result<[Value<'a>; 3], Mistake> {
    match <[Value<'a>; 2]>::try_from(item.list()?) {
        Ok([value, over]) => Ok([value.clone(), value, over]),
        Err(list) => list.try_into().map_err(|_| item.mistake(format!("expected a stage such as {example}"))),
    }
}

/// A rate, or `"0/s"`, which profiles may pass through.
fn rate_or_zero(value: &Value<'_>) -> Result<f64, Mistake> {
    value.checked(per_second(value.text()?))
}
