//! Writes a workload as a text from which the reader makes the same workload.
//!
//! Keys with default values are not written. Templates are written as in the file, so that the text contains neither values of
//! variables nor secrets of the environment. Distributions, counts and lists that were read from a file are
//! written as numbers; data, bodies and traces are written as file names.

mod arrivals;
mod condition;
mod pairs;
mod request;
mod retry;
mod target;

pub use arrivals::sessions_to_toml;

use std::fmt::{self, Write};

use self::pairs::{Pair, Pairs, list, pairs, section, template};
use super::observe::DEFAULT_INTERVAL;
use super::script::{AtEnd, CsvFormat, Draw, Feeder, Order, Per, Source, TraceValue, Variable};
use super::{
    Draft, Generator, Goodput, Group, Late, OnDiskFull, Policies, Priority, Region, Scrape, Server, Station, WaitMode,
    WhenFull, Workload,
};
use crate::Template;
use crate::engine::Engine;
use crate::policy::Policy;
use crate::prompt::{Prompt, PromptTokens};
use crate::threshold::Threshold;
use crate::toml_text::{toml_key, toml_text};
use offered_base::time::{Nanos, written_number};
use offered_distributions::Shape;
use offered_schedule::{Count, Sessions};

/// A text that [`Workload::parse`] reads as this workload if the same files are in its folder.
impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        pairs(&mut text, &general(&self.0));
        match &self.0.sessions {
            Sessions::Scenarios(scenarios) => {
                arrivals::of_scenarios(&mut text, scenarios, &self.0.requests, &self.0.conditions);
            }
            sessions => {
                text.push_str("\n[arrivals]\n");
                let _ = writeln!(text, "{}", sessions_to_toml(sessions));
            }
        }
        let head = if self.0.more_targets.is_empty() { "[target]" } else { "[[target]]" };
        for target in self.targets() {
            section(&mut text, head, &target::of_target(target));
        }
        if let Some(server) = &self.0.server {
            section(&mut text, "[server]", &of_server(server));
        }
        for station in &self.0.stations {
            section(&mut text, "[[station]]", &of_station(station));
        }
        for region in &self.0.regions {
            section(&mut text, "[[region]]", &of_region(region));
        }
        if self.0.generator != Generator::default() {
            section(&mut text, "[generator]", &of_generator(self.0.generator));
        }
        if !self.0.observe.hosts.is_empty() {
            let hosts = self.0.observe.hosts.iter().map(|(name, at)| (toml_key(name), toml_text(at)));
            let hosts = Pairs(hosts.collect()).table();
            section(&mut text, "[observe]", &[("hosts".to_owned(), hosts)]);
        }
        for scrape in &self.0.observe.scrapes {
            section(&mut text, "[[observe.scrape]]", &of_scrape(scrape));
        }
        if let Some(Policies { names, block, settle, hook }) = &self.0.policies {
            let keys = Pairs(Vec::new()).raw("names", list(names, toml_text));
            let keys = keys.text("block", block).text("settle", settle);
            section(&mut text, "[policies]", &keys.raw("hook", list(hook, toml_text)).0);
        }
        if !self.0.variables.is_empty() {
            let variables: Vec<Pair> = self.0.variables.iter().map(|v| (toml_key(&v.name), variable(v))).collect();
            section(&mut text, "[variables]", &variables);
        }
        // The requests of a replay are those of its trace, if that has any.
        if !matches!(&self.0.sessions, Sessions::Replay(replay) if replay.trace().has_requests()) {
            for request in &self.0.requests {
                let named =
                    self.target_of(request).filter(|_| request.target > 0 && request.absolute_origin().is_none());
                let keys = Pairs(request::of_request(request))
                    .maybe(named.and_then(|target| target.name.as_ref()), |keys, name| keys.text("target", name));
                section(&mut text, "[[request]]", &keys.0);
            }
        }
        if let Some(flows) = self.0.sessions.flows() {
            let (requests, conditions) = (&self.0.requests, &self.0.conditions);
            arrivals::of_flows(&mut text, flows, requests, conditions);
            let is_alone = self.0.sessions.scenarios().is_none();
            if let Some(once) = arrivals::of_once(flows, |_| is_alone, requests, conditions) {
                section(&mut text, "[once]", &once.0);
            }
        }
        for Group { name, from, to } in &self.0.groups {
            let Some(flows) = self.0.sessions.flows() else { continue };
            let [from, to] = [from, to].map(|step| &flows.steps()[usize::from(*step)]);
            let flow = &flows.flows()[usize::from(from.flow)].name;
            let keys = Pairs::default().text("name", name).text("flow", flow);
            section(&mut text, "[[group]]", &keys.text("from", &from.name).text("to", &to.name).0);
        }
        if let Some(Goodput { ttft, tpot, response }) = self.0.goodput {
            let keys = Pairs::default().maybe(ttft, |keys, time| keys.text("ttft", time));
            let keys = keys.maybe(tpot, |keys, time| keys.text("tpot", time));
            section(&mut text, "[goodput]", &keys.maybe(response, |keys, time| keys.text("response", time)).0);
        }
        if !self.0.thresholds.is_empty() {
            let bounds =
                self.0.thresholds.iter().map(|threshold| (toml_key(threshold.metric.to_string()), bound(threshold)));
            section(&mut text, "[thresholds]", &bounds.collect::<Vec<_>>());
        }
        f.write_str(&text)
    }
}

fn general(draft: &Draft) -> Vec<Pair> {
    let zero = Nanos::ZERO;
    let keys = Pairs::default().raw("seed", draft.seed.0);
    let limited = draft.duration < Nanos::MAX || draft.count.is_none();
    let keys = keys.when(limited, |keys| keys.text("duration", draft.duration));
    let keys = keys.maybe(draft.count, |keys, count| match count {
        Count::Requests(n) => keys.raw("requests", n),
        Count::Sessions(n) => keys.raw("sessions", n),
    });
    let keys = keys.when(draft.skip_first > zero, |keys| keys.text("skip_first", draft.skip_first));
    let keys = keys.when(draft.skip_last > zero, |keys| keys.text("skip_last", draft.skip_last));
    let keys = keys
        .when(draft.finish > zero, |keys| keys.raw("end", pairs::one("finish", toml_text(draft.finish.to_string()))));
    let secret = draft.secret_names.added();
    let keys = keys.when(!secret.is_empty(), |keys| keys.raw("secret_names", list(secret, toml_text)));
    match draft.late {
        Late::Send => keys.0,
        Late::Skip(after) => keys.text("late", "skip").text("late_after", after).0,
    }
}

fn bound(threshold: &Threshold) -> String {
    let Some(after) = threshold.stop else { return toml_text(threshold.bound.to_string()) };
    let keys = Pairs::default().text("bound", &threshold.bound).raw("stop", true);
    keys.when(after > Nanos::ZERO, |keys| keys.text("after", after)).table()
}

fn of_server(server: &Server) -> Vec<Pair> {
    let keys = match server.discipline {
        Policy::Batch(engine) => Pairs::default().raw("engine", of_engine(engine)),
        _ => works(Pairs::default(), server),
    };
    let keys = keys.maybe(server.capacity, |keys, capacity| keys.raw("capacity", capacity));
    keys.when(server.cancel, |keys| keys.raw("cancel", true)).0
}

fn of_engine(engine: Engine) -> String {
    let Engine { step, per_sequence, sequences, per_prompt_token, prompt_chunk, prefix_cache } = engine;
    let keys = Pairs::default().text("step", step);
    let keys = keys.when(per_sequence > Nanos::ZERO, |keys| keys.text("per_sequence", per_sequence));
    let keys = keys.raw("sequences", sequences);
    let keys = keys.when(per_prompt_token > Nanos::ZERO, |keys| keys.text("per_prompt_token", per_prompt_token));
    let keys = keys.maybe(prompt_chunk, |keys, chunk| keys.raw("prompt_chunk", chunk));
    keys.when(prefix_cache, |keys| keys.raw("prefix_cache", true)).table()
}

fn of_scrape(scrape: &Scrape) -> Vec<Pair> {
    let Scrape { name, target, sql, every, series, counters } = scrape;
    let keys = Pairs::default().text("name", name).raw("target", Pairs(target::of_target(target)).table());
    let keys = keys.maybe(sql.as_ref(), |keys, sql| keys.text("sql", sql));
    let keys = keys.when(*every != DEFAULT_INTERVAL, |keys| keys.text("every", *every));
    let keys = keys.when(!series.is_empty(), |keys| keys.raw("series", list(series, toml_text)));
    keys.when(!counters.is_empty(), |keys| keys.raw("counters", list(counters, toml_text))).0
}

fn of_station(station: &Station) -> Vec<Pair> {
    let keys = Pairs::default().text("name", &station.name);
    let keys = keys.when(station.visits != 1.0, |keys| keys.raw("visits", written_number(station.visits)));
    let keys = works(keys, &station.server);
    keys.maybe(station.server.capacity, |keys, capacity| limited(keys, capacity, station.when_full)).0
}

fn of_region(region: &Region) -> Vec<Pair> {
    let keys = Pairs::default().text("name", &region.name).raw("stations", list(&region.stations, toml_text));
    limited(keys, region.capacity, region.when_full).0
}

fn limited(keys: Pairs, capacity: u32, when_full: WhenFull) -> Pairs {
    let keys = keys.raw("capacity", capacity);
    keys.when(when_full != WhenFull::Reject, |keys| keys.text("when_full", when_full))
}

fn works(keys: Pairs, server: &Server) -> Pairs {
    let keys = keys.when(server.servers != 1, |keys| keys.raw("servers", server.servers));
    let keys = keys.when(server.discipline != Policy::Fcfs, |keys| keys.text("discipline", server.discipline));
    keys.raw("service", &server.service).maybe(server.rates(), |keys, rates| keys.raw("rates", rates))
}

fn of_generator(generator: Generator) -> Vec<Pair> {
    let keys = Pairs::default().maybe(generator.threads, |keys, threads| keys.raw("threads", threads));
    let wait_mode = generator.wait_mode;
    let keys = keys.when(wait_mode != WaitMode::Spin, |keys| keys.text("wait", wait_mode));
    let priority = generator.priority;
    let keys = keys.when(priority != Priority::Auto, |keys| keys.text("priority", priority));
    let tolerated = generator.tolerance != Generator::default().tolerance;
    let keys = keys.when(tolerated, |keys| keys.text("tolerance", format!("{}%", generator.tolerance)));
    let on_disk_full = generator.on_disk_full;
    keys.when(on_disk_full != OnDiskFull::Continue, |keys| keys.text("on_disk_full", on_disk_full)).0
}

fn variable(variable: &Variable) -> String {
    let keys = Pairs::default();
    let (keys, per) = match (&variable.source, &variable.env) {
        (_, Some(name)) => (keys.text("env", name), Per::Session),
        (Source::Constant(value), None) => return constant(value.as_deref().unwrap_or_default()),
        (Source::Composed(text), None) => return template(text),
        (Source::Feeder(feeder), None) => (rows(keys, feeder), Per::Session),
        (Source::Uuid, None) => (keys.raw("uuid", true), Per::Session),
        (Source::Sequence(first), None) => (keys.raw("sequence", first), Per::Request),
        (Source::Random(draw), None) => (drawn(keys, "random", draw), Per::Session),
        (Source::Prompt(prompt), None) => (of_prompt(keys, prompt), Per::Request),
        (Source::TraceValue(TraceValue { column, words_per_token }), None) => {
            (words_per_token_key(keys.text("trace_value", column), *words_per_token), Per::Request)
        }
        (Source::Conversation(user), None) => (keys.text("conversation", user), Per::Request),
        (Source::Work(unit), None) => (keys.text("work", unit), Per::Request),
    };
    keys.when(variable.per != per, |keys| keys.text("per", variable.per)).table()
}

/// A text that the reader takes as this constant, even if it contains braces.
fn constant(text: &str) -> String {
    let is_read_so = Template::new(text).text() == Some(text);
    if is_read_so { toml_text(text) } else { template(&Template::literal(text)) }
}

fn rows(keys: Pairs, feeder: &Feeder) -> Pairs {
    let keys = keys.text("file", &feeder.file);
    let keys = keys.when(feeder.order != Order::Sequential, |keys| keys.text("order", feeder.order));
    let keys = keys.when(feeder.at_end != AtEnd::Repeat, |keys| keys.text("at_end", feeder.at_end));
    let keys = keys.maybe(feeder.columns.as_ref(), |keys, names| keys.raw("columns", list(names, toml_text)));
    let CsvFormat { separator, quotes, skip_lines, ragged } = feeder.format;
    let keys = keys.when(separator != b',', |keys| keys.text("separator", char::from(separator)));
    let keys = keys.when(!quotes, |keys| keys.raw("quotes", false));
    let keys = keys.when(skip_lines > 0, |keys| keys.raw("skip_lines", skip_lines));
    keys.when(ragged, |keys| keys.raw("ragged", true))
}

fn of_prompt(keys: Pairs, prompt: &Prompt) -> Pairs {
    let keys = match &prompt.tokens {
        PromptTokens::Drawn(draw) => drawn(keys, "prompt", draw),
        PromptTokens::Trace => keys.text("prompt", PromptTokens::TRACE),
    };
    let keys = keys.maybe(prompt.prefix, |keys, prefix| {
        let own = Pairs::default().raw("tokens", prefix.tokens);
        keys.raw("prefix", own.when(prefix.groups != 1, |own| own.raw("groups", prefix.groups)).table())
    });
    let keys = keys.maybe(prompt.corpus.as_ref(), |keys, corpus| keys.text("corpus", &corpus.file));
    let keys = words_per_token_key(keys, prompt.words_per_token);
    keys.when(prompt.overhead_tokens > 0, |keys| keys.raw("overhead_tokens", prompt.overhead_tokens))
}

fn words_per_token_key(keys: Pairs, words: f64) -> Pairs {
    keys.when(words != 1.0, |keys| keys.raw("words_per_token", written_number(words)))
}

fn drawn(keys: Pairs, key: &str, draw: &Draw) -> Pairs {
    let distribution = match *draw.distribution.shape() {
        Shape::Uniform(_, width) if draw.shift < 0.0 => {
            // The number that is read as this width, which rounding may have put beside the sum.
            let high = width + draw.shift;
            let read = [high, high.next_up(), high.next_down()].into_iter().find(|high| high - draw.shift == width);
            Some(format!("uniform:{}..{}", draw.shift, read.unwrap_or(high)))
        }
        _ => draw.distribution.of_numbers(),
    };
    keys.maybe(distribution, |keys, distribution| keys.text(key, distribution))
        .when(draw.decimals > 0, |keys| keys.raw("decimals", draw.decimals))
        .maybe(draw.min, |keys, min| keys.raw("min", written_number(min)))
}

#[cfg(test)]
pub(super) mod tests;
