//! The workload text of a plan: what was translated as TOML, what was not as comments above it.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use offered_model::workload::script::{Otherwise, Per, Which};
use offered_model::{Law, Rate};

use crate::plan::{
    Arrivals, Auth, Body, Check, Extract, Flow, Must, Note, Part, Plan, Profile, Request, Source, Step, Target, Tls,
    Value, Variable,
};
use crate::text::Text;

/// Places named for one kind of note; of more, their number.
const PLACES: usize = 8;

impl Plan {
    /// The workload, as a text that [`offered_model::Workload::parse`] takes. `file` is where the plan stood.
    pub fn workload(&self, file: &str) -> String {
        let mut text = format!("# Written by `offered import` from {}: {}.\n", plain(file), plain(&self.origin));
        if let Some(remark) = self.remark {
            let _ = writeln!(text, "# {remark}");
        }
        if !self.notes.is_empty() {
            text.push_str("#\n# Not translated, or not exactly:\n");
            for note in self.notes() {
                let _ = writeln!(text, "#   {note}");
            }
        }
        let _ = writeln!(text, "\nduration = \"{}\"", self.duration);
        if let Arrivals::Closed { ramp, .. } = self.arrivals
            && ramp.0 > 0
            && ramp < self.duration
        {
            let _ = writeln!(text, "skip_first = \"{ramp}\"");
        }
        let _ = write!(text, "\n[arrivals]\n{}\n", self.arrivals());
        text.push_str(&target(&self.target));
        if !self.variables.is_empty() {
            text.push_str("\n[variables]\n");
            text.extend(self.variables.iter().map(variable));
        }
        text.extend(self.requests.iter().map(|request| self::request(request, self.flows.is_empty())));
        text.extend(self.flows.iter().map(flow));
        text
    }

    /// What was not translated, one line for each kind of thing with all its places.
    pub fn notes(&self) -> Vec<String> {
        let mut kinds: Vec<(&str, BTreeSet<(usize, &str)>)> = Vec::new();
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        for Note { line, element, what } in &self.notes {
            let number = *numbers.entry(what).or_insert_with(|| {
                kinds.push((what, BTreeSet::new()));
                kinds.len() - 1
            });
            kinds[number].1.insert((*line, element));
        }
        let told = |(what, places): (&str, BTreeSet<(usize, &str)>)| {
            let place = |(line, element): &(usize, &str)| match (*line, element.is_empty()) {
                (0, _) => (*element).to_owned(),
                (line, true) => format!("line {line}"),
                (line, false) => format!("line {line} {element}"),
            };
            let mut named: Vec<String> = places.iter().take(PLACES).map(place).collect();
            if places.len() > PLACES {
                let lines: Vec<String> = places
                    .iter()
                    .skip(PLACES)
                    .map(|(line, _)| *line)
                    .filter(|line| *line > 0)
                    .map(|line| line.to_string())
                    .collect();
                named.push(match lines.len() {
                    0 => format!("and {} more", places.len() - PLACES),
                    _ => format!("lines {}", lines.join(" ")),
                });
            }
            named.retain(|name| !name.is_empty());
            let places = if named.is_empty() { String::new() } else { named.join(", ") + ": " };
            plain(&format!("{places}{what}"))
        };
        kinds.into_iter().map(told).collect()
    }

    fn arrivals(&self) -> String {
        let think = |think: &Law| if think.is_zero() { String::new() } else { format!(", think = {think}") };
        match &self.arrivals {
            Arrivals::Closed { users, visits, ramp, think: law } => {
                let ramp = if ramp.0 == 0 { String::new() } else { format!(", ramp = \"{ramp}\"") };
                let start = if law.is_zero() { "" } else { ", start = \"thinking\"" };
                let visits = visits.map_or_else(String::new, |visits| format!(", visits = {visits}"));
                format!("closed = {{ users = {users}{visits}{}{ramp}{start} }}", think(law))
            }
            Arrivals::Open { rate, process, think: law } => {
                let (model, think) =
                    if self.flows.is_empty() { ("open", String::new()) } else { ("partly_open", think(law)) };
                format!("{model} = {{ rate = {}, process = \"{process}\"{think} }}", profile(rate))
            }
        }
    }
}

fn profile(profile: &Profile) -> String {
    match profile {
        Profile::Constant(rate) => self::rate(*rate),
        Profile::Ramp(from, to, over) => {
            format!("{{ ramp = [{}, {}], over = \"{over}\" }}", self::rate(*from), self::rate(*to))
        }
        Profile::Steps(steps) => {
            let steps: Vec<String> =
                steps.iter().map(|(rate, time)| format!("[{}, \"{time}\"]", self::rate(*rate))).collect();
            format!("{{ steps = [{}] }}", steps.join(", "))
        }
    }
}

fn rate(per_sec: f64) -> String {
    Rate::from_per_sec(per_sec).map_or_else(|_| "\"0/s\"".to_owned(), |rate| format!("\"{rate}\""))
}

fn target(target: &Target) -> String {
    let mut text = format!("\n[target]\nurl = {}\n", quoted(&target.url));
    if let Some(reuse) = target.reuse {
        let _ = writeln!(text, "reuse = \"{reuse}\"");
    }
    let timeouts = [("connect", target.connect_timeout), ("response", target.response_timeout)];
    for (what, time) in timeouts.into_iter().filter_map(|(what, time)| Some((what, time?))) {
        let _ = writeln!(text, "{what}_timeout = \"{time}\"");
    }
    if target.cookies {
        text.push_str("cookies = true\n");
    }
    if target.redirects > 0 {
        let _ = writeln!(text, "redirects = {}", target.redirects);
    }
    if let Some(protocol) = target.protocol {
        let _ = writeln!(text, "protocol = \"{protocol}\"");
    }
    if let Some(proxy) = &target.proxy {
        let _ = writeln!(text, "proxy = {}", quoted(proxy));
    }
    text.extend(target.auth.as_ref().map(auth));
    text.push_str(&headers(&target.headers));
    let Tls { insecure, roots, own } = &target.tls;
    let mut tls: Vec<String> = insecure.then(|| "insecure = true".to_owned()).into_iter().collect();
    tls.extend(roots.as_ref().map(|file| format!("roots = {}", quoted(file))));
    tls.extend(own.as_ref().map(|(own, key)| format!("certificate = {}, key = {}", quoted(own), quoted(key))));
    if !tls.is_empty() {
        let _ = writeln!(text, "tls = {{ {} }}", tls.join(", "));
    }
    text
}

fn headers(headers: &[(String, Text)]) -> String {
    if headers.is_empty() { String::new() } else { format!("headers = {{ {} }}\n", pairs(headers)) }
}

/// The inside of a table of texts.
fn pairs(pairs: &[(String, Text)]) -> String {
    let pair = |(name, value): &(String, Text)| format!("{} = {}", key(name), quoted(&value.written()));
    pairs.iter().map(pair).collect::<Vec<_>>().join(", ")
}

fn auth(auth: &Auth) -> String {
    let (kind, text) = match auth {
        Auth::Basic(text) => ("basic", text),
        Auth::Bearer(text) => ("bearer", text),
    };
    format!("auth = {{ {kind} = {} }}\n", quoted(&text.written()))
}

fn variable(variable: &Variable) -> String {
    let per = match variable.per {
        Per::Session => "session",
        Per::Visit => "visit",
        Per::Request => "request",
    };
    let value = match &variable.value {
        Value::Constant(text) => quoted(text),
        Value::Env(name) => format!("{{ env = {} }}", quoted(name)),
        Value::File { file, columns, at_end } => {
            let columns = match columns.as_slice() {
                [] => String::new(),
                columns => {
                    format!(", columns = [{}]", columns.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "))
                }
            };
            format!("{{ file = {}{columns}, per = \"{per}\", at_end = \"{at_end}\" }}", quoted(file))
        }
        Value::Uuid => format!("{{ uuid = true, per = \"{per}\" }}"),
        Value::Sequence(from) => format!("{{ sequence = {from}, per = \"{per}\" }}"),
        Value::Between(low, high) => format!("{{ random = \"uniform:{low}..{high}\", per = \"{per}\" }}"),
    };
    format!("{} = {value}\n", variable.name)
}

/// The methods that have a key of their own.
const METHODS: [&str; 7] = ["get", "post", "put", "delete", "head", "patch", "options"];

fn request(request: &Request, weighted: bool) -> String {
    let path = quoted(&request.path.written());
    let mut text = format!("\n[[request]]\nname = {}\n", quoted(&request.name));
    if METHODS.contains(&request.method.as_str()) {
        let _ = writeln!(text, "{} = {path}", request.method);
    } else {
        let _ = write!(text, "method = {}\npath = {path}\n", quoted(&request.method.to_uppercase()));
    }
    if weighted && request.weight != 1.0 {
        let _ = writeln!(text, "weight = {}", short(request.weight));
    }
    text.push_str(&headers(&request.headers));
    match &request.body {
        None => {}
        Some(Body::Text(body)) => {
            let _ = writeln!(text, "body = {}", quoted(&body.written()));
        }
        Some(Body::File(file)) => {
            let _ = writeln!(text, "body_file = {}\nraw = true", quoted(file));
        }
        Some(Body::Form(fields)) => {
            let _ = writeln!(text, "form = {{ {} }}", pairs(fields));
        }
        Some(Body::Parts(parts)) => {
            let _ = writeln!(text, "multipart = [{}]", list(parts, part));
        }
    }
    text.extend(request.auth.as_ref().map(auth));
    if !request.extract.is_empty() {
        let _ = writeln!(text, "extract = [{}]", list(&request.extract, extract));
    }
    if !request.check.is_empty() {
        let _ = writeln!(text, "check = [{}]", list(&request.check, check));
    }
    if !request.objects.is_empty() {
        let _ = writeln!(text, "objects = [{}]", list(&request.objects, |path: &Text| quoted(&path.written())));
        if let Some(connections) = request.connections {
            let _ = writeln!(text, "connections = {connections}");
        }
    }
    text
}

/// The inside of a list; more than one thing stands on lines of its own.
fn list<T>(items: &[T], written: impl Fn(&T) -> String) -> String {
    match items {
        [one] => format!(" {} ", written(one)),
        many => many.iter().map(|item| format!("\n  {},", written(item))).collect::<String>() + "\n",
    }
}

fn part(part: &Part) -> String {
    // They stand between quotes in the head of a part.
    let fit = |text: &str| quoted(&text.replace(|c: char| c.is_control() || c == '"', "_"));
    let kind = part.kind.as_ref().map_or(String::new(), |kind| format!(", type = {}", fit(kind)));
    let value = if part.file { "file" } else { "value" };
    // The name of a file is no template.
    let text = if part.file { fit(&part.value.shown()) } else { quoted(&part.value.written()) };
    format!("{{ name = {}, {value} = {text}{kind} }}", fit(&part.name))
}

fn extract(extract: &Extract) -> String {
    let from = match &extract.from {
        Source::Json(path) => format!("json = {}", quoted(path)),
        Source::Regex(regex, 1) => format!("regex = {}", quoted(regex)),
        Source::Regex(regex, group) => format!("regex = {}, group = {group}", quoted(regex)),
        Source::Header(name) => format!("header = {}", quoted(name)),
        Source::Css(selector, None) => format!("css = {}", quoted(selector)),
        Source::Css(selector, Some(attribute)) => {
            format!("css = {}, attribute = {}", quoted(selector), quoted(attribute))
        }
    };
    let which = match extract.which {
        Which::Nth(1) => String::new(),
        Which::Nth(nth) => format!(", nth = {nth}"),
        Which::Random => ", nth = \"random\"".to_owned(),
    };
    let otherwise = match &extract.otherwise {
        Otherwise::Fails => String::new(),
        Otherwise::Is(text) => format!(", default = {}", quoted(text)),
        Otherwise::Keeps => ", keep = true".to_owned(),
    };
    format!("{{ name = {}, {from}{which}{otherwise} }}", quoted(&extract.name))
}

fn check(check: &Check) -> String {
    let said = |text: &str| quoted(&Text::from(text).written());
    let must = match &check.must {
        Must::Status(statuses) => match statuses.as_slice() {
            [one] => format!("status = {one}"),
            many => format!("status = [{}]", many.iter().map(u16::to_string).collect::<Vec<_>>().join(", ")),
        },
        Must::AnyStatus => "status = \"100..999\"".to_owned(),
        Must::Class(hundreds) => format!("status = \"{hundreds}xx\""),
        Must::Header(name, text) => format!("header = {}, contains = {}", quoted(name), said(text)),
        Must::Contains(text) => format!("body = true, contains = {}", said(text)),
        Must::Matches(regex) => format!("body = true, matches = {}", quoted(regex)),
        Must::Json(path, None) => format!("json = {}", quoted(path)),
        Must::Json(path, Some(text)) => format!("json = {}, is = {}", quoted(path), said(text)),
        Must::Size(size) => format!("size = {}", quoted(size)),
    };
    match &check.name {
        Some(name) => format!("{{ name = {}, {must} }}", quoted(name)),
        None => format!("{{ {must} }}"),
    }
}

fn flow(flow: &Flow) -> String {
    let mut text = format!("\n[[flow]]\nname = {}\n", quoted(&flow.name));
    if flow.weight != 1.0 {
        let _ = writeln!(text, "weight = {}", short(flow.weight));
    }
    for (here, step) in flow.steps.iter().enumerate() {
        let _ = write!(text, "[[flow.step]]\nrequest = {}\n", quoted(&step.request));
        if step.name != step.request {
            let _ = writeln!(text, "name = {}", quoted(&step.name));
        }
        if step.repeat != 1 {
            let _ = writeln!(text, "repeat = {}", step.repeat);
        }
        if let Some(think) = &step.think {
            let _ = writeln!(text, "think = {think}");
        }
        text.push_str(&next(step, here, &flow.steps));
    }
    text
}

/// The ways on, where they are not just the step below.
fn next(step: &Step, here: usize, steps: &[Step]) -> String {
    let below = (here + 1 < steps.len()).then_some(here + 1);
    if step.next.iter().all(|(to, _)| *to == below) {
        return String::new();
    }
    let way = |(to, weight): &(Option<usize>, f64)| {
        let to = to.map_or_else(|| "leave".to_owned(), |to| key(&steps[to].name));
        format!("{to} = {}", short(*weight))
    };
    format!("next = {{ {} }}\n", step.next.iter().map(way).collect::<Vec<_>>().join(", "))
}

/// A weight with nine digits, as short as they can be written.
fn short(weight: f64) -> f64 {
    format!("{weight:.8e}").parse().expect("what was printed is a number")
}

/// A TOML key.
fn key(name: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !name.is_empty() && name.bytes().all(bare) { name.to_owned() } else { quoted(name) }
}

/// A TOML basic string.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// In one line of a comment or a terminal, and not endless.
fn plain(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(1000).collect();
    line.trim().to_owned()
}
