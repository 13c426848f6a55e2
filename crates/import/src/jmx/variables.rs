//! `${...}` in the texts of a test plan: user-defined variables, those that rows, counters and answers give values, and the
//! functions that mean something here.

use std::collections::{HashMap, HashSet};

use super::node::Node;
use crate::plan::{Note, Value, Variable};
use crate::text::{self, Text};

/// Values of values of values, at most so often.
const DEEPEST: usize = 16;
/// Bytes that variables may put in, over the whole plan: a bomb of variables within variables stops here.
const MOST: usize = 16 << 20;
/// Variables that functions draw, at most.
const MOST_DRAWN: usize = 1_000;

/// Where extractors name what they take.
pub(super) const EXTRACTED: [&str; 7] = [
    "RegexExtractor.refname",
    "JSONPostProcessor.referenceNames",
    "BoundaryExtractor.refname",
    "HtmlExtractor.refname",
    "XPathExtractor.refname",
    "XPathExtractor2.refname",
    "JMESExtractor.referenceName",
];

/// The variables of a plan. `JMeter` sets those of the user before it starts, wherever they stand.
#[derive(Debug, Default)]
pub(super) struct Variables {
    values: HashMap<String, String>,
    /// What rows, counters, draws and answers give, as a workload says it.
    given: HashMap<String, Text>,
    /// Those of a workload that are no constants.
    pub(super) written: Vec<Variable>,
    /// What is to be said of them, each where it stands.
    pub(super) notes: Vec<Note>,
    spent: usize,
}

impl Variables {
    /// Those of `node` and of everything under it.
    pub(super) fn collect(&mut self, node: &Node) {
        let arguments = match node.class() {
            "TestPlan" => node.element.property("TestPlan.user_defined_variables"),
            "Arguments" => Some(node.element),
            _ => None,
        };
        for entry in arguments.map_or(&[][..], |arguments| arguments.entries("Arguments.arguments")) {
            let name = match entry.text_of("Argument.name") {
                "" => entry.attribute("name"),
                name => name,
            };
            if !name.is_empty() {
                self.values.insert(name.to_owned(), entry.text_of("Argument.value").to_owned());
            }
        }
        match node.class() {
            "CSVDataSet" => self.rows(node),
            "CounterConfig" => self.counter(node),
            "RandomVariableConfig" => self.random(node),
            _ => {}
        }
        node.children.iter().for_each(|child| self.collect(child));
    }

    /// The names of what is taken from answers by `node` and by everything under it.
    pub(super) fn collect_extracted(&mut self, node: &Node) {
        for property in EXTRACTED {
            for name in node.element.text_of(property).split(';').map(str::trim).filter(|name| !name.is_empty()) {
                self.extracted(name);
            }
        }
        node.children.iter().for_each(|child| self.collect_extracted(child));
    }

    /// A name of the plan as one of the workload, unlike the others.
    fn new_name(&self, wanted: &str) -> String {
        let taken: HashSet<&str> = self.written.iter().map(|variable| variable.name.as_str()).collect();
        let plain = text::name(wanted);
        if !taken.contains(plain.as_str()) {
            return plain;
        }
        let mut numbered = (2..u32::MAX).map(|n| format!("{plain}_{n}"));
        numbered.find(|name| !taken.contains(name.as_str())).expect("some number is free")
    }

    fn note(&mut self, node: &Node, what: String) {
        self.notes.push(super::note(node, what));
    }

    fn rows(&mut self, node: &Node) {
        let said = |name: &str| node.element.text_of(name).trim();
        let yes = |name: &str| said(name) == "true";
        let (whole, _) = self.resolve(said("filename"));
        let path = whole.shown();
        let file = path.rsplit(['/', '\\']).next().unwrap_or(&path);
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        let names: Vec<&str> =
            said("variableNames").split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        if names.is_empty() || path.is_empty() {
            self.note(node, format!("would read `{path}`, whose first line names the variables; write it under [variables] as {{ file = \"{path}\" }}, and {{name.column}} where they are used"));
            return;
        }
        let columns: Vec<String> = names.iter().map(|name| text::name(name)).collect();
        let feeder = self.new_name(stem);
        for (name, column) in names.iter().zip(&columns) {
            self.given.insert((*name).to_owned(), Text::value(&format!("{feeder}.{column}")));
        }
        let known = file.strip_suffix(".csv").is_some();
        let path = if known {
            path.clone()
        } else {
            format!("{}.csv", path.rsplit_once('.').map_or(path.as_str(), |(stem, _)| stem))
        };
        if !known {
            self.note(
                node,
                format!("reads `{file}`; offered reads files whose names end in .csv: give it the name {path}"),
            );
        }
        if !["", ","].contains(&said("delimiter")) {
            self.note(
                node,
                format!("its values are parted by `{}`; offered takes commas: write the file so", said("delimiter")),
            );
        }
        let head = yes("ignoreFirstLine");
        if head {
            self.note(
                node,
                format!(
                    "would skip the file's first line; here that line names the columns, which must be {}",
                    columns.join(", ")
                ),
            );
        }
        if said("shareMode") == "shareMode.thread" {
            self.note(
                node,
                "each thread would read the file from its start; here all take their rows from it in turn".to_owned(),
            );
        }
        let value = Value::File {
            file: path,
            columns: if head { Vec::new() } else { columns },
            per: "session",
            at_end: if said("recycle") == "false" { "stop" } else { "repeat" },
        };
        self.written.push(Variable { name: feeder, value });
    }

    fn counter(&mut self, node: &Node) {
        let said = |name: &str| node.element.text_of(name).trim();
        let name = said("CounterConfig.name");
        if name.is_empty() {
            return;
        }
        let start = self.resolve(said("CounterConfig.start")).0.said().and_then(|start| start.trim().parse().ok());
        let plain = matches!(said("CounterConfig.incr"), "" | "1") && said("CounterConfig.per_user") != "true";
        if !plain {
            self.note(
                node,
                format!(
                    "would count in `{name}` in steps of {}, or for each user; here by one, for all",
                    said("CounterConfig.incr")
                ),
            );
        }
        if !said("CounterConfig.end").is_empty() {
            self.note(node, format!("would begin again after {}; here it goes on", said("CounterConfig.end")));
        }
        if !said("CounterConfig.format").is_empty() {
            self.note(node, format!("would write the number as {}; here plain", said("CounterConfig.format")));
        }
        self.define(name, Value::Sequence(start.unwrap_or(0)));
    }

    fn random(&mut self, node: &Node) {
        let said = |name: &str| node.element.text_of(name).trim();
        let name = said("variableName");
        let mut bound =
            |name: &str| self.resolve(said(name)).0.said().and_then(|bound| bound.trim().parse::<i64>().ok());
        let (low, high) = (bound("minimumValue").unwrap_or(0), bound("maximumValue"));
        match high.filter(|high| 0 <= low && low < *high && !name.is_empty()) {
            Some(high) => {
                self.define(name, Value::Between(low, high));
                if !said("outputFormat").is_empty() {
                    self.note(node, format!("would write the number as {}; here plain", said("outputFormat")));
                }
            }
            None => self.note(node, format!("would draw the variable `{name}`")),
        }
    }

    /// `name` of the plan has this value in the workload.
    fn define(&mut self, name: &str, value: Value) {
        let own = self.new_name(name);
        self.given.insert(name.to_owned(), Text::value(&own));
        self.written.push(Variable { name: own, value });
    }

    /// `name` is taken from answers; the name it has in the workload. Where it has a value before, that is the workload's too.
    pub(super) fn extracted(&mut self, name: &str) -> String {
        let own = text::name(name);
        self.given.insert(name.to_owned(), Text::value(&own));
        if let Some(value) = self.values.get(name).cloned()
            && !self.written.iter().any(|variable| variable.name == own)
        {
            let value = self.resolve(&value).0.shown();
            self.written.push(Variable { name: own.clone(), value: Value::Constant(value) });
        }
        own
    }

    /// `text` with its variables put in; those without a value here stay as they stand and are named in the second.
    pub(super) fn resolve(&mut self, text: &str) -> (Text, Vec<String>) {
        let mut unknown = Vec::new();
        let mut resolved = Text::default();
        self.put_in(text, DEEPEST, &mut resolved, &mut unknown);
        (resolved, unknown)
    }

    fn put_in(&mut self, text: &str, depth: usize, resolved: &mut Text, unknown: &mut Vec<String>) {
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            resolved.say(&rest[..start]);
            rest = &rest[start..];
            let Some(end) = closing(rest) else { break };
            let whole = &rest[..=end];
            rest = &rest[end + 1..];
            let own = self.inner(whole[2..end].trim(), depth);
            let wanted = own.as_str();
            if let Some(given) = self.given(wanted) {
                resolved.push(&given);
                continue;
            }
            let value = if depth == 0 { None } else { self.value(wanted) };
            match value {
                Some(value) if self.spent + value.len() <= MOST => {
                    self.spent += value.len() + 1;
                    self.put_in(&value, depth - 1, resolved, unknown);
                }
                _ => {
                    unknown.push(whole.to_owned());
                    let plain = wanted.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
                    let known = depth > 0 && plain;
                    let value = known.then(|| self.drawn(wanted, wanted, Value::Constant(whole.to_owned())));
                    match value.flatten() {
                        Some(value) => resolved.push(&value),
                        None => resolved.say(whole),
                    }
                }
            }
        }
        resolved.say(rest);
    }

    /// What stands between braces, with the variables in it put in where all of them are known beforehand.
    fn inner(&mut self, wanted: &str, depth: usize) -> String {
        if depth > 0 && wanted.contains("${") {
            let (mut resolved, mut unknown) = (Text::default(), Vec::new());
            self.put_in(wanted, depth - 1, &mut resolved, &mut unknown);
            if let Some(said) = resolved.said().filter(|_| unknown.is_empty()) {
                return said.to_owned();
            }
        }
        wanted.to_owned()
    }

    /// What is given a value while the workload runs.
    fn given(&mut self, name: &str) -> Option<Text> {
        if let Some(given) = self.given.get(name) {
            return Some(given.clone());
        }
        let (function, arguments) = call(name);
        let mut arguments = arguments.split(',').map(str::trim);
        match function {
            "__threadNum" => Some(Text::value("session")),
            "__counter" if arguments.next().is_some_and(|own| own.eq_ignore_ascii_case("false")) => {
                Some(Text::value("sequence"))
            }
            "__UUID" => self.drawn(name, "uuid", Value::Uuid { per: "request" }),
            "__Random" => {
                let (low, high) = (arguments.next()?.parse::<i64>().ok()?, arguments.next()?.parse::<i64>().ok()?);
                let called = format!("random_{low}_{high}");
                // A workload draws no negative numbers.
                if 0 <= low && low < high { self.drawn(name, &called, Value::Between(low, high)) } else { None }
            }
            "__env" => {
                let env = arguments.next().filter(|env| !env.is_empty() && !env.contains("${"))?.to_owned();
                self.drawn(name, &env.clone(), Value::Env(env))
            }
            _ => None,
        }
    }

    /// What a function gives, the same wherever it stands in the same words.
    fn drawn(&mut self, whole: &str, called: &str, value: Value) -> Option<Text> {
        if self.written.len() == MOST_DRAWN {
            return None;
        }
        let own = self.new_name(called);
        self.given.insert(whole.to_owned(), Text::value(&own));
        self.written.push(Variable { name: own.clone(), value });
        Some(Text::value(&own))
    }

    fn value(&self, name: &str) -> Option<String> {
        if let Some(value) = self.values.get(name) {
            return Some(value.clone());
        }
        let (function, arguments) = call(name);
        let mut arguments = arguments.split(',').map(str::trim);
        match function {
            "__P" => Some(arguments.nth(1).unwrap_or("1").to_owned()),
            "__property" => arguments.nth(2).map(str::to_owned),
            "__V" => arguments.next().and_then(|name| self.values.get(name)).cloned(),
            _ => None,
        }
    }
}

/// A function and what it is called with.
fn call(name: &str) -> (&str, &str) {
    name.strip_suffix(')').and_then(|call| call.split_once('(')).unwrap_or((name, ""))
}

/// Where the brace that `text` begins with is closed.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}
