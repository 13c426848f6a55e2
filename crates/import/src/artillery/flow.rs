//! The steps of a scenario: requests, think times, loops and conditions (`engine_http.ts`, `engine_util.ts`).

use offered_distributions::Distribution;
use offered_workload::script::{Auth, Body};

use super::config::Config;
use super::values::Values;
use super::{condition, phases, response};
use crate::action::{Action, Decided};
use crate::address::{Server, add_parameter, encode_path, header_left_out};
use crate::body;
use crate::chain::MAX_STEPS;
use crate::data::Data;
use crate::delay::Delay;
use crate::plan::Request;
use crate::request_list::{PlannedRequest, default_name};
use crate::text::Text;

/// Maximum nesting depth of loops.
const MAX_DEPTH: usize = 30;

/// Names of steps that send a request.
const METHODS: [&str; 8] = ["get", "post", "put", "patch", "delete", "head", "options", "trace"];

/// Reads the flows of scenarios.
pub(super) struct FlowReader<'v, 'd, 'o> {
    config: Config<'d, 'o>,
    values: &'v mut Values,
    pub(super) requests: Vec<PlannedRequest>,
}

impl<'v, 'd, 'o> FlowReader<'v, 'd, 'o> {
    pub(super) fn new(config: Config<'d, 'o>, values: &'v mut Values) -> Self {
        Self { config, values, requests: Vec::new() }
    }

    pub(super) fn note(&mut self, element: &str, message: String) {
        self.values.note(element, message);
    }

    /// The weight of a scenario: a whole number (`runner.ts`).
    pub(super) fn weight(&mut self, weight: &Data, scenario: &str) -> f64 {
        if !weight.is() {
            return 1.0;
        }
        match self.values.literal(&weight.plain()).and_then(|text| text.trim().parse::<f64>().ok()) {
            Some(weight) => weight.trunc().max(0.0),
            None => {
                let message = format!("its weight is `{}`, which is not a number; 1 is used", weight.plain());
                self.note(&format!("scenario `{scenario}`"), message);
                1.0
            }
        }
    }

    /// The steps of a scenario.
    pub(super) fn scenario(&mut self, scenario: &Data, name: &str) -> Action {
        let element = format!("scenario `{name}`");
        for hook in ["beforeScenario", "afterScenario", "beforeRequest", "afterResponse", "onError"] {
            self.hooks(scenario, hook, &element);
        }
        Action::Sequence(self.steps(scenario.get("flow").list(), &element, 0))
    }

    /// Writes a note for each function that runs at this place.
    fn hooks(&mut self, source: &Data, hook: &str, element: &str) {
        let hooks: Vec<String> = super::config::as_list(source.get(hook)).into_iter().map(Data::plain).collect();
        if !hooks.is_empty() {
            let processor = self.config.get("processor").plain();
            let file = if processor.is_empty() { String::new() } else { format!(" of {processor}") };
            let message = format!(
                "{hook} runs the function {}{file}, which is a program; replace it by [variables], `extract` or `check`",
                hooks.join(", ")
            );
            self.note(element, message);
        }
    }

    fn steps(&mut self, steps: &[Data], element: &str, depth: usize) -> Vec<Action> {
        if depth == MAX_DEPTH {
            self.note(element, format!("loops are nested deeper than {MAX_DEPTH} levels; left out"));
            return Vec::new();
        }
        let mut actions = Vec::new();
        for step in steps {
            if self.requests.len() > MAX_STEPS {
                break; // The flow is rejected later.
            }
            actions.extend(self.step(step, element, depth));
        }
        actions
    }

    fn step(&mut self, step: &Data, element: &str, depth: usize) -> Option<Action> {
        if step.get("loop").is() {
            return Some(self.looped(step, element, depth));
        }
        if step.get("parallel").is() {
            self.note(element, "sends some requests in parallel; here they are sent one after another".to_owned());
            return Some(Action::Sequence(self.steps(step.get("parallel").list(), element, depth + 1)));
        }
        if step.get("think").is() {
            return self.think(step, element);
        }
        if step.get("log").is() {
            return None;
        }
        if step.get("function").is() {
            self.hooks(step, "function", element);
            return None;
        }
        let method = METHODS.iter().find(|method| step.get(method).is());
        let Some(method) = method else {
            let key = step.entries().first().map_or("", |(key, _)| key.as_str());
            self.note(element, format!("has a step `{key}`, which is not translated"));
            return None;
        };
        self.request(method, step.get(method), element)
    }

    /// A think time, with a jitter of its own or of the defaults (`createThink`, `jitter.ts`).
    fn think(&mut self, step: &Data, element: &str) -> Option<Action> {
        let Some(seconds) = phases::time(step.get("think"), self.values) else {
            self.note(element, format!("thinks for `{}`, which is not a time; left out", step.get("think").plain()));
            return None;
        };
        let own = step.get("jitter");
        let jitter = if own.is() { own } else { self.config.default("think").get("jitter") };
        let text = jitter.plain();
        let digits: String = text.trim().chars().take_while(char::is_ascii_digit).collect();
        let around = match digits.parse::<f64>() {
            Ok(percent) if text.contains('%') => seconds * percent / 100.0,
            Ok(millis) => millis / 1e3,
            Err(_) => 0.0,
        };
        let wait = match Distribution::uniform(0.0, around.min(seconds) * 2.0) {
            Ok(uniform) if around > 0.0 => {
                Delay::constant(seconds - around.min(seconds)).plus(&Delay::from_distribution(uniform))
            }
            _ => Delay::constant(seconds),
        };
        if around > seconds {
            self.note(
                element,
                "has a jitter that is longer than its think time; here the jitter is as long as the think time"
                    .to_owned(),
            );
        }
        Some(Action::Pause(wait))
    }

    /// A loop with a count, over a list, or while a function returns true (`createLoopWithCount`).
    fn looped(&mut self, step: &Data, element: &str, depth: usize) -> Action {
        let inside = step.get("loop").list();
        if step.get("whileTrue").is() {
            self.hooks(step, "whileTrue", element);
            self.note(element, "loops while a function returns true; here the loop runs once".to_owned());
            return Action::Sequence(self.steps(inside, element, depth + 1));
        }
        let index = step.get("loopValue");
        let index = if index.is() { index.plain() } else { "$loopCount".to_owned() };
        let element_name = step.get("loopElement");
        let element_name = if element_name.is() { element_name.plain() } else { "$loopElement".to_owned() };
        let over = step.get("over");
        let (from, to) = match over {
            Data::List(all) => (0, all.len() as i64),
            Data::Null => self.count(step.get("count"), element),
            other => {
                self.note(
                    element,
                    format!(
                        "loops over `{}`, whose length is only known at run time; here the loop runs once",
                        other.plain()
                    ),
                );
                (0, 1)
            }
        };
        let times = (to - from).clamp(0, MAX_STEPS as i64);
        let uses = |name: &str| inside.iter().any(|step| step.json().contains(name));
        if !over.is() && !uses(&index) && !uses(&element_name) {
            let body = Action::Sequence(self.steps(inside, element, depth + 1));
            let body = match body.single_request() {
                Some((request, before)) => Action::Request(request, before.clone()),
                None => body,
            };
            return Action::Repeat(times as u32, Box::new(body));
        }
        let mut all = Vec::new();
        for number in from..from + times {
            if self.requests.len() > MAX_STEPS {
                break;
            }
            let value = over.list().get((number - from) as usize).map_or_else(|| number.to_string(), Data::plain);
            let value = self.values.resolve(&value, element);
            let before = self.values.set(&index, Some(Text::from(number.to_string())));
            let before_element = self.values.set(&element_name, Some(value));
            all.push(Action::Sequence(self.steps(inside, element, depth + 1)));
            self.values.set(&index, before);
            self.values.set(&element_name, before_element);
        }
        Action::Sequence(all)
    }

    /// The range of a loop (`parseLoopCount`): its first number, and the number after its last. A loop without an end
    /// gets one pass.
    fn count(&mut self, count: &Data, element: &str) -> (i64, i64) {
        let text = count.plain();
        let Some(text) = self.values.literal(&text) else {
            self.note(
                element,
                format!(
                    "loops `{}` times, a number that is only known at run time; here the loop runs once",
                    count.plain()
                ),
            );
            return (0, 1);
        };
        let range = text.split_once('-').filter(|(from, _)| !from.is_empty());
        let range = range.and_then(|(from, to)| Some((from.trim().parse().ok()?, to.trim().parse().ok()?)));
        let times = text.trim().parse::<i64>().ok().map(|to| (0, to));
        match range.or(times) {
            Some((0, to)) if to <= 0 => {
                self.note(element, "has a loop without an end; here it runs once".to_owned());
                (0, 1)
            }
            Some((from, to)) if to - from > MAX_STEPS as i64 => {
                self.note(
                    element,
                    format!("loops {} times; here the loop runs {MAX_STEPS} times, the maximum", to - from),
                );
                (from, from + MAX_STEPS as i64)
            }
            Some(range) => range,
            None => {
                self.note(element, "has a loop without a count, which has no end; here it runs once".to_owned());
                (0, 1)
            }
        }
    }

    fn request(&mut self, method: &str, source: &Data, scenario: &str) -> Option<Action> {
        let url = if source.get("url").is() { source.get("url") } else { source.get("uri") }.plain();
        if url.is_empty() {
            self.note(scenario, format!("has a {method} without a URL; left out"));
            return None;
        }
        let element = format!("{scenario}, {} {url}", method.to_uppercase());
        let Some((server, mut path)) = self.url(&url, &element) else {
            self.note(&element, "is not an HTTP URL; left out".to_owned());
            return None;
        };
        path = path.split_once('#').map_or(path, |(before, _)| before);
        let query: Vec<(String, Text)> = source
            .get("qs")
            .entries()
            .iter()
            .map(|(name, value)| (name.clone(), self.values.resolve(&value.plain(), &element)))
            .collect();
        if !query.is_empty() {
            // They replace those of the URL.
            path = path.split_once('?').map_or(path, |(before, _)| before);
        }
        for (name, value) in &query {
            add_parameter(&mut path, name, value);
        }
        let mut request = Request::new(method, encode_path(&path));
        let name = self.values.resolve(&source.get("name").plain(), &element).to_display();
        request.name = if name.is_empty() { default_name(&request) } else { name };
        self.headers(source, &mut request, &element);
        request.body = self.body(source, &mut request.headers, &element);
        if let Some(user) = Some(source.at(&["auth", "user"])).filter(|user| user.is()) {
            let login = format!("{}:{}", user.plain(), source.at(&["auth", "pass"]).plain());
            request.auth = Some(Auth::Basic(self.values.resolve(&login, &element).template()));
        }
        let is_strict = *self.config.default("strictCapture") != Data::Bool(false);
        response::read(source, &mut request, &element, self.values, is_strict);
        for hook in ["beforeRequest", "afterResponse"] {
            self.hooks(source, hook, &element);
        }
        request.redirects = (*source.get("followRedirect") == Data::Bool(false)).then_some(0);
        let condition = source.get("ifTrue").plain();
        let decided = if condition.is_empty() { None } else { condition::read(&condition, self.values) };
        if decided.is_none() && !condition.is_empty() {
            self.note(&element, format!("is sent only if `{condition}` is true, which is not a comparison of captured values with constants; here it is always sent"));
        }
        self.requests.push(PlannedRequest { line: 0, element, server, request });
        let mut action = Action::Request(self.requests.len() - 1, Delay::default());
        if let Some(condition) = decided {
            action = Action::If(condition, Decided::Once, Box::new(action));
        }
        if let Some(percent) = source.get("probability").number() {
            // A whole random number from 0 to 100 that is below this (`isProbableEnough`).
            let sent = percent.clamp(0.0, 100.0).ceil();
            action = Action::Choice(vec![(sent, action), (101.0 - sent, Action::Sequence(Vec::new()))]);
        }
        Some(action)
    }

    /// The server and the path of a URL. Paths are those of the target.
    fn url(&mut self, url: &str, element: &str) -> Option<(Server, Text)> {
        let target = self.config.get("target").plain();
        let mut whole = self.values.resolve(url, element);
        let is_path = whole.leading_literal().is_empty() && !whole.is_empty();
        if is_path || whole.leading_literal().starts_with('/') {
            let mut joined = self.values.resolve(target.trim(), element);
            if is_path {
                // A value of the run may be a path, or a URL of the target.
                let values = &*self.values;
                let (server, _) = Server::parse_text(&joined, |name| values.missing(name))?;
                return Some((server, whole));
            }
            joined.push(&whole);
            whole = joined;
        }
        let values = &*self.values;
        Server::parse_text(&whole, |name| values.missing(name))
    }

    fn headers(&mut self, source: &Data, request: &mut Request, element: &str) {
        for (name, value) in source.get("headers").entries() {
            let value = self.values.resolve(&value.plain(), element);
            if !request.add_header(name, value) {
                self.note(element, header_left_out(name));
            }
        }
        if source.get("cookie").is() {
            self.note(element, "if a response or `http.defaults` sets a cookie, later requests of the session send the cookie of this request too; here only this request sends it".to_owned());
        }
        for defaults in [self.config.default("cookie"), source.get("cookie")] {
            for (name, value) in defaults.entries() {
                let mut cookie = Text::from(format!("{name}="));
                cookie.push(&self.values.resolve(&value.plain(), element));
                request.add_header("Cookie", cookie);
            }
        }
    }

    fn body(&mut self, source: &Data, headers: &mut Vec<(String, Text)>, element: &str) -> Body {
        if source.get("json").is() {
            body::set_default_type(headers, "application/json");
            let mut text = Text::default();
            self.json(source.get("json"), &mut text, element);
            // Values are escaped as JSON.
            return Body::Text(text.template());
        }
        if source.get("form").is() {
            let pairs: Vec<(String, Text)> = source
                .get("form")
                .entries()
                .iter()
                .map(|(name, value)| (name.clone(), self.values.resolve(&value.plain(), element)))
                .collect();
            return body::form(&pairs, headers);
        }
        if source.get("formData").is() {
            let mut parts = Vec::new();
            for (name, value) in source.get("formData").entries() {
                let kind = Some(value.get("contentType").plain()).filter(|kind| !kind.is_empty());
                let file = value.get("fromFile").plain();
                if file.is_empty() {
                    let text = if value.get("value").is() { value.get("value") } else { value };
                    let text = self.values.resolve(&text.plain(), element);
                    parts.push(body::field(name, &text, kind.as_deref()));
                } else {
                    let file = self.values.resolve(&file, element).to_display();
                    parts.push(body::upload(name, &file, kind.as_deref()));
                }
            }
            return if parts.is_empty() { Body::None } else { Body::Multipart(parts) };
        }
        match source.get("body").plain() {
            text if text.is_empty() => Body::None,
            text => body::text(&self.values.resolve(&text, element)),
        }
    }

    /// Writes a value as JSON without blanks, with the values in its texts.
    fn json(&mut self, data: &Data, json: &mut Text, element: &str) {
        match data {
            Data::List(all) => {
                json.push_str("[");
                for (number, value) in all.iter().enumerate() {
                    json.push_str(if number == 0 { "" } else { "," });
                    self.json(value, json, element);
                }
                json.push_str("]");
            }
            Data::Map(entries) => {
                json.push_str("{");
                // A name with a value is removed and added again (`templateObjectOrArray`).
                let (changed, plain): (Vec<_>, Vec<_>) = entries.iter().partition(|(name, _)| name.contains("{{"));
                for (number, (name, value)) in plain.into_iter().chain(changed).enumerate() {
                    json.push_str(if number == 0 { "" } else { "," });
                    let name = Data::Text(self.values.resolve(name, element).to_display());
                    json.push_str(&format!("{}:", name.json()));
                    self.json(value, json, element);
                }
                json.push_str("}");
            }
            Data::Text(text) => {
                let value = self.values.resolve(text, element);
                let alone = text.starts_with("{{") && text.ends_with("}}") && text.matches("{{").count() == 1;
                match value.as_literal() {
                    // Alone it keeps its type.
                    Some(number) if alone && number.parse::<f64>().is_ok_and(f64::is_finite) => json.push_str(number),
                    Some(literal) => json.push_str(&Data::Text(literal.to_owned()).json()),
                    None => {
                        if alone && !text.contains('(') {
                            self.note(
                                element,
                                format!("in Artillery `{text}` keeps its type in the JSON, such as a number; here it is a text"),
                            );
                        }
                        json.push_str("\"");
                        json.push(&value.map_literals(|part| {
                            let quoted = Data::Text(part.to_owned()).json();
                            quoted[1..quoted.len() - 1].to_owned()
                        }));
                        json.push_str("\"");
                    }
                }
            }
            plain => json.push_str(&plain.json()),
        }
    }
}
