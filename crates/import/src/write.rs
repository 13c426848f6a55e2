//! The workload text of a plan: what was translated as TOML, what was not as comments above it.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use offered_model::{Law, Rate};

use crate::plan::{Arrivals, Flow, Note, Plan, Profile, Request, Step};

/// Places named for one kind of note; of more, their number.
const PLACES: usize = 8;

impl Plan {
    /// The workload, as a text that [`offered_model::Workload::parse`] takes. `file` is where the plan stood.
    pub fn workload(&self, file: &str) -> String {
        let mut text = format!("# Written by `offered import` from {}: {}.\n", plain(file), plain(&self.origin));
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
        let _ = write!(text, "\n[target]\nurl = {}\n", quoted(&self.target.url));
        if let Some(reuse) = self.target.reuse {
            let _ = writeln!(text, "reuse = \"{reuse}\"");
        }
        let timeouts = [("connect", self.target.connect_timeout), ("response", self.target.response_timeout)];
        for (what, time) in timeouts.into_iter().filter_map(|(what, time)| Some((what, time?))) {
            let _ = writeln!(text, "{what}_timeout = \"{time}\"");
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
                let lines: Vec<String> = places.iter().skip(PLACES).map(|(line, _)| line.to_string()).collect();
                named.push(format!("lines {}", lines.join(" ")));
            }
            plain(&format!("{}: {what}", named.join(", ")))
        };
        kinds.into_iter().map(told).collect()
    }

    fn arrivals(&self) -> String {
        let think = |think: &Law| if think.is_zero() { String::new() } else { format!(", think = {think}") };
        match &self.arrivals {
            Arrivals::Closed { users, ramp, think: law } => {
                let ramp = if ramp.0 == 0 { String::new() } else { format!(", ramp = \"{ramp}\"") };
                let start = if law.is_zero() { "" } else { ", start = \"thinking\"" };
                format!("closed = {{ users = {users}{}{ramp}{start} }}", think(law))
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

fn request(request: &Request, weighted: bool) -> String {
    let mut text =
        format!("\n[[request]]\nname = {}\n{} = {}\n", quoted(&request.name), request.method, quoted(&request.path));
    if weighted && request.weight != 1.0 {
        let _ = writeln!(text, "weight = {}", short(request.weight));
    }
    if !request.headers.is_empty() {
        let headers: Vec<String> =
            request.headers.iter().map(|(name, value)| format!("{} = {}", key(name), quoted(value))).collect();
        let _ = writeln!(text, "headers = {{ {} }}", headers.join(", "));
    }
    if let Some(body) = &request.body {
        let _ = writeln!(text, "body = {}", quoted(body));
    }
    text
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
