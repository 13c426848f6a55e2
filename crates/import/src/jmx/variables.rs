//! `${...}` in the texts of a test plan: user-defined variables, those that rows, counters and answers give values, and the
//! functions that mean something here.

use std::collections::{BTreeMap, HashMap, HashSet};

use offered_model::Seed;
use offered_model::workload::script::{AtEnd, Per, data};

use super::functions::{self, parse_call};
use super::node::Node;
use crate::ImportOptions;
use crate::address::MissingValue;
use crate::note::Note;
use crate::plan::{ValueSource, Variable};
use crate::text::{self, Text};

/// Values of values of values, at most so often.
const MAX_DEPTH: usize = 16;
/// Bytes that variables may put in, over the whole plan: a bomb of variables within variables stops here.
const MAX_BYTES: usize = 16 << 20;
/// Variables that functions draw, at most.
const MAX_GENERATED_VARIABLES: usize = 1_000;

/// Where extractors name what they take.
pub(super) const EXTRACTOR_NAMES: [&str; 7] = [
    "RegexExtractor.refname",
    "JSONPostProcessor.referenceNames",
    "BoundaryExtractor.refname",
    "HtmlExtractor.refname",
    "XPathExtractor.refname",
    "XPathExtractor2.refname",
    "JMESExtractor.referenceName",
];

/// The variables of a plan. `JMeter` sets those of the user before it starts, wherever they stand.
#[derive(Default)]
pub(super) struct Variables<'g> {
    outside: ImportOptions<'g>,
    values: HashMap<String, String>,
    /// What rows, counters, draws and answers give, as a workload says it.
    runtime: HashMap<String, Text>,
    /// Those of a workload that are no constants.
    pub(super) definitions: Vec<Variable>,
    /// What is to be said of them, each where it stands.
    pub(super) notes: Vec<Note>,
    /// The properties that have no value, and what `JMeter` takes for each.
    pub(super) undefined_properties: BTreeMap<String, String>,
    /// Those among them that were asked for last and have no default either.
    pub(super) properties_without_default: Vec<String>,
    /// What user-defined variables draw once, when the test begins, and what is taken for it.
    pub(super) drawn_once: BTreeMap<String, String>,
    /// How often a function has been asked for in the same words where we are: each time it draws anew.
    uses: HashMap<String, usize>,
    /// The line of the element around samplers where we are; 0 within a sampler.
    current_line: usize,
    substituted_bytes: usize,
}

/// How the values of a call come about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Evaluation {
    /// Whenever it is asked for.
    EachUse,
    /// When the test begins, for it stands in a user-defined variable.
    Once,
}

impl<'g> Variables<'g> {
    /// None yet, with what is given from outside.
    pub(super) fn new(outside: ImportOptions<'g>) -> Self {
        Self { outside, ..Self::default() }
    }

    /// From here on texts stand in the element of this line; 0: in a sampler.
    pub(super) fn enter(&mut self, line: usize) {
        self.uses.clear();
        self.current_line = line;
    }

    /// What is given from outside wins over what the plan says.
    pub(super) fn apply_preset(&mut self) {
        for (name, value) in self.outside.variables.into_iter().flatten() {
            self.runtime.remove(name);
            self.values.insert(name.clone(), value.clone());
        }
    }

    /// Those of `node` and of everything under it, within the controller `within` of a thread group.
    pub(super) fn collect(&mut self, node: &Node, within: Option<&str>) {
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
        let anew = match node.class() {
            "CSVDataSet" => self.csv_data_set(node, Per::Visit),
            "RandomCSVDataSetConfig" => self.random_csv_data_set(node),
            "CounterConfig" => self.counter(node),
            "RandomVariableConfig" => self.random_variable(node),
            _ => false,
        };
        if let Some(within) = within.filter(|_| anew) {
            self.note(node, format!("takes a new value whenever {within} begins; here once in a round"));
        }
        // Those that are begun once in a round, and those that may be more or less often.
        let plain = ["GenericController", "TransactionController", "RecordingController"].contains(&node.class());
        let inner = super::controller::is_controller(node.class()) && !plain;
        let inner = inner.then(|| format!("{} `{}`", node.class(), node.name()));
        node.children.iter().for_each(|child| self.collect(child, inner.as_deref().or(within)));
    }

    /// The names of what is taken from answers by `node` and by everything under it.
    pub(super) fn collect_extracted(&mut self, node: &Node) {
        for property in EXTRACTOR_NAMES {
            for name in node.element.text_of(property).split(';').map(str::trim).filter(|name| !name.is_empty()) {
                self.extracted(name);
            }
        }
        node.children.iter().for_each(|child| self.collect_extracted(child));
    }

    /// A name of the plan as one of the workload, unique_name the others.
    fn new_name(&self, wanted: &str) -> String {
        let taken: HashSet<&str> = self.definitions.iter().map(|variable| variable.name.as_str()).collect();
        let plain = text::variable_name(wanted);
        if !taken.contains(plain.as_str()) {
            return plain;
        }
        let mut numbered = (2..u32::MAX).map(|n| format!("{plain}_{n}"));
        numbered.find(|name| !taken.contains(name.as_str())).expect("some number is free")
    }

    fn note(&mut self, node: &Node, what: String) {
        self.notes.push(super::note(node, what));
    }

    /// The rows of a file, one after another; whether there are any.
    fn csv_data_set(&mut self, node: &Node, per: Per) -> bool {
        let said = |name: &str| node.element.text_of(name).trim();
        let yes = |name: &str| said(name) == "true";
        let (whole, _) = self.resolve(said("filename"));
        let path = whole.to_display();
        let file = path.rsplit(['/', '\\']).next().unwrap_or(&path);
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        let names: Vec<&str> =
            said("variableNames").split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        if names.is_empty() || path.is_empty() {
            self.note(node, format!("would read `{path}`, whose first line names the variables; write it under [variables] as {{ file = \"{path}\" }}, and {{name.column}} where they are used"));
            return false;
        }
        let columns: Vec<String> = names.iter().map(|name| text::variable_name(name)).collect();
        let feeder = self.new_name(stem);
        for (name, column) in names.iter().zip(&columns) {
            self.runtime.insert((*name).to_owned(), Text::variable(&format!("{feeder}.{column}")));
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
        let last = said("recycle") == "false";
        if last && said("stopThread") != "true" {
            self.note(node, "after its last row it would go on with <EOF>; here the run stops".to_owned());
        }
        let value = ValueSource::File {
            file: path,
            columns: if head { Vec::new() } else { columns },
            at_end: if last { AtEnd::Stop } else { AtEnd::Repeat },
        };
        self.definitions.push(Variable { name: feeder, value, per });
        true
    }

    /// The rows of a file in a random order: of the `BlazeMeter` plugin.
    fn random_csv_data_set(&mut self, node: &Node) -> bool {
        let said = |name: &str| node.element.text_of(name).trim();
        let each = if said("independentListPerThread") == "true" { "of each thread " } else { "" };
        let what = format!(
            "would take the rows {each}of `{}` in a random order; write it under [variables] as {{ file = ..., order = \"random\" }}, which takes each row as likely every time",
            said("filename")
        );
        self.note(node, what);
        false
    }

    /// A counter; whether it counts rounds.
    fn counter(&mut self, node: &Node) -> bool {
        let said = |name: &str| node.element.text_of(name).trim();
        let name = said("CounterConfig.name");
        if name.is_empty() {
            return false;
        }
        let mut number =
            |name: &str| self.resolve(said(name)).0.as_literal().and_then(|said| said.trim().parse::<i64>().ok());
        let (start, step) = (number("CounterConfig.start").unwrap_or(0), number("CounterConfig.incr").unwrap_or(0));
        if step == 0 {
            // What is not a number is none.
            self.values.insert(name.to_owned(), start.to_string());
            self.note(node, format!("counts in steps of nothing, so `{name}` stays {start}"));
            return false;
        }
        let Ok(from) = u64::try_from(start) else {
            self.note(node, format!("would count in `{name}` from {start}; no sequence begins below 0"));
            return false;
        };
        if step != 1 || said("CounterConfig.per_user") == "true" {
            let whose = if said("CounterConfig.per_user") == "true" { ", for each user" } else { "" };
            self.note(node, format!("would count in `{name}` in steps of {step}{whose}; here by one, for all"));
        }
        if !said("CounterConfig.end").is_empty() {
            self.note(node, format!("would begin again after {}; here it goes on", said("CounterConfig.end")));
        }
        if !said("CounterConfig.format").is_empty() {
            self.note(node, format!("would write the number as {}; here plain", said("CounterConfig.format")));
        }
        self.define(name, ValueSource::Sequence(from), Per::Visit);
        true
    }

    /// A random variable; whether it is drawn for each round.
    fn random_variable(&mut self, node: &Node) -> bool {
        let said = |name: &str| node.element.text_of(name).trim();
        let name = said("variableName");
        let mut bound =
            |name: &str| self.resolve(said(name)).0.as_literal().and_then(|bound| bound.trim().parse::<i64>().ok());
        let (low, high) = (bound("minimumValue").unwrap_or(0), bound("maximumValue").unwrap_or(0));
        if name.is_empty() || low < 0 || high < low {
            self.note(node, format!("would draw the variable `{name}` from {low} to {high}"));
            return false;
        }
        if !said("outputFormat").is_empty() {
            self.note(node, format!("would write the number as {}; here plain", said("outputFormat")));
        }
        if !said("randomSeed").is_empty() {
            let what = if said("perThread") == "true" {
                "every thread would draw the same numbers"
            } else {
                "every run would draw the same numbers"
            };
            self.note(node, format!("by its own seed {what}; here by the workload's seed, each user others"));
        }
        if low == high {
            self.values.insert(name.to_owned(), low.to_string());
            return false;
        }
        self.define(name, ValueSource::UniformInteger(low, high), Per::Visit);
        true
    }

    /// `name` of the plan has this value in the workload.
    fn define(&mut self, name: &str, value: ValueSource, per: Per) {
        let own = self.new_name(name);
        self.runtime.insert(name.to_owned(), Text::variable(&own));
        self.definitions.push(Variable { name: own, value, per });
    }

    /// `name` is taken from answers; the name it has in the workload. Where it has a value before, that is the workload's too.
    pub(super) fn extracted(&mut self, name: &str) -> String {
        let own = text::variable_name(name);
        self.runtime.insert(name.to_owned(), Text::variable(&own));
        if let Some(value) = self.values.get(name).cloned()
            && !self.definitions.iter().any(|variable| variable.name == own)
        {
            let value = self.resolve(&value).0.to_display();
            self.definitions.push(Variable::constant(own.clone(), value));
        }
        own
    }

    /// `text` with its variables put in; those without a value here stay as they stand and are named in the second.
    pub(super) fn resolve(&mut self, text: &str) -> (Text, Vec<String>) {
        let mut unknown = Vec::new();
        let mut resolved = Text::default();
        self.properties_without_default.clear();
        self.substitute(text, MAX_DEPTH, Evaluation::EachUse, &mut resolved, &mut unknown);
        (resolved, unknown)
    }

    fn substitute(
        &mut self,
        text: &str,
        depth: usize,
        evaluation: Evaluation,
        resolved: &mut Text,
        unknown: &mut Vec<String>,
    ) {
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            resolved.push_str(&rest[..start]);
            rest = &rest[start..];
            let Some(end) = closing_brace(rest) else { break };
            let whole = &rest[..=end];
            rest = &rest[end + 1..];
            let own = self.resolve_inner(whole[2..end].trim(), depth, evaluation);
            let wanted = own.as_str();
            if let Some(given) = self.runtime_value(wanted, evaluation) {
                resolved.push(&given);
                continue;
            }
            // What a user-defined variable says is known when the test begins.
            let (value, evaluation) = match self.values.get(wanted) {
                Some(value) => (Some(value.clone()), Evaluation::Once),
                None => (self.static_value(wanted), evaluation),
            };
            match value.filter(|value| depth > 0 && self.substituted_bytes + value.len() <= MAX_BYTES) {
                Some(value) => {
                    self.substituted_bytes += value.len() + 1;
                    self.substitute(&value, depth - 1, evaluation, resolved, unknown);
                }
                _ => {
                    unknown.push(whole.to_owned());
                    let plain = wanted.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
                    let known = depth > 0 && plain && !wanted.is_empty();
                    let value = known.then(|| {
                        self.define_generated(wanted, wanted, ValueSource::Constant(whole.to_owned()), Per::Session)
                    });
                    match value.flatten() {
                        Some(value) => resolved.push(&value),
                        None => resolved.push_str(whole),
                    }
                }
            }
        }
        resolved.push_str(rest);
    }

    /// What stands between braces, with the variables in it put in where all of them are known beforehand.
    fn resolve_inner(&mut self, wanted: &str, depth: usize, evaluation: Evaluation) -> String {
        if depth > 0 && wanted.contains("${") {
            let (mut resolved, mut unknown) = (Text::default(), Vec::new());
            self.substitute(wanted, depth - 1, evaluation, &mut resolved, &mut unknown);
            if let Some(said) = resolved.as_literal().filter(|_| unknown.is_empty()) {
                return said.to_owned();
            }
        }
        wanted.to_owned()
    }

    /// What is given a value while the workload runs.
    fn runtime_value(&mut self, name: &str, evaluation: Evaluation) -> Option<Text> {
        if let Some(given) = self.runtime.get(name) {
            return Some(given.clone());
        }
        let (function, arguments) = parse_call(name)?;
        let argument = |at: usize| arguments.get(at).map(|said| said.trim());
        let (called, value, per) = match function {
            // Threads are counted from 1.
            "__threadNum" => ("thread".to_owned(), ValueSource::Sequence(1), Per::Session),
            "__counter" if argument(0).is_some_and(|own| own.eq_ignore_ascii_case("false")) => {
                ("counter".to_owned(), ValueSource::Sequence(1), Per::Request)
            }
            "__UUID" => ("uuid".to_owned(), ValueSource::Uuid, Per::Request),
            "__Random" => {
                let (low, high) = (argument(0)?.parse::<i64>().ok()?, argument(1)?.parse::<i64>().ok()?);
                // A workload draws no negative numbers.
                if low < 0 || high <= low {
                    return None;
                }
                (format!("random_{low}_{high}"), ValueSource::UniformInteger(low, high), Per::Request)
            }
            "__env" => {
                let env = argument(0).filter(|env| !env.is_empty() && !env.contains("${"))?;
                (env.to_owned(), ValueSource::Env(env.to_owned()), Per::Session)
            }
            _ => return None,
        };
        if evaluation == Evaluation::Once
            && let ValueSource::Uuid | ValueSource::UniformInteger(..) = value
        {
            return Some(self.draw_once(name, &value));
        }
        // Each time it is asked for in one request it draws anew; in another request it does so anyway.
        let again = match value {
            ValueSource::Uuid | ValueSource::UniformInteger(..) => {
                let used = self.uses.entry(name.to_owned()).or_default();
                *used += 1;
                *used
            }
            _ => 1,
        };
        let place = if again > 1 || self.current_line > 0 { self.current_line } else { 0 };
        let key = format!("{name} {again} {place}");
        if let Some(given) = self.runtime.get(&key) {
            return Some(given.clone());
        }
        if function == "__counter" {
            self.notes.push(Note {
                line: 0,
                element: format!("`${{{name}}}`"),
                message: "counts how often it is asked for; here the launches of the whole run".to_owned(),
            });
        }
        self.define_generated(&key, &called, value, per)
    }

    /// What a name of the workload lacks, where it only stands for what nothing gives a value.
    pub(super) fn missing_value(&self, name: &str) -> Option<MissingValue> {
        let variable = self.definitions.iter().find(|variable| variable.name == name)?;
        let ValueSource::Constant(said) = &variable.value else { return None };
        let wanted = said.strip_prefix("${").and_then(|said| said.strip_suffix('}'))?;
        Some(MissingValue { is_property: false, name: wanted.to_owned() })
    }

    /// The ends of the numbers that `text`, a variable and nothing else, is drawn from.
    pub(super) fn integer_range(&self, text: &Text) -> Option<(i64, i64)> {
        let name = text.variable_names().next().filter(|name| *text == Text::variable(name))?;
        match self.definitions.iter().find(|variable| variable.name == name)?.value {
            ValueSource::UniformInteger(low, high) => Some((low, high)),
            _ => None,
        }
    }

    /// What is drawn when the test begins, as one value that is always the same.
    fn draw_once(&mut self, whole: &str, value: &ValueSource) -> Text {
        // Of no variable of the workload, for all of those are below.
        let mut stream = data(Seed(self.drawn_once.len() as u64), u16::MAX, 0, 0);
        let said = match value {
            ValueSource::UniformInteger(low, high) => (low + stream.below((high - low) as u64 + 1) as i64).to_string(),
            _ => {
                let mut part = || stream.below(1 << 16);
                let parts = [part(), part(), part(), part() & 0xfff, part() & 0x3fff | 0x8000, part(), part(), part()];
                let [a, b, c, d, e, f, g, h] = parts;
                format!("{a:04x}{b:04x}-{c:04x}-4{d:03x}-{e:04x}-{f:04x}{g:04x}{h:04x}")
            }
        };
        let said = self.drawn_once.entry(whole.to_owned()).or_insert(said).clone();
        Text::from(said)
    }

    /// What a function gives, the same wherever it stands in the same words.
    fn define_generated(&mut self, whole: &str, called: &str, value: ValueSource, per: Per) -> Option<Text> {
        if self.definitions.len() == MAX_GENERATED_VARIABLES {
            return None;
        }
        let own = self.new_name(called);
        self.runtime.insert(whole.to_owned(), Text::variable(&own));
        self.definitions.push(Variable { name: own.clone(), value, per });
        Some(Text::variable(&own))
    }

    /// What a function gives that is known beforehand.
    fn static_value(&mut self, name: &str) -> Option<String> {
        let (function, arguments) = parse_call(name)?;
        let argument = |at: usize| arguments.get(at).map(|said| said.trim().to_owned());
        match function {
            "__P" | "__property" => {
                let wanted = argument(0)?;
                if let Some(value) = self.outside.property(&wanted) {
                    return Some(value.to_owned());
                }
                let (default, otherwise) = match function {
                    "__P" => (argument(1), "1".to_owned()),
                    _ => (argument(2), wanted.clone()),
                };
                if default.as_ref().is_none_or(String::is_empty) {
                    self.properties_without_default.push(wanted.clone());
                }
                let value = default.unwrap_or(otherwise);
                self.undefined_properties.insert(wanted, value.clone());
                Some(value)
            }
            "__V" => argument(0).and_then(|name| self.values.get(&name)).cloned(),
            _ => functions::evaluate(function, &arguments),
        }
    }
}

/// Where the brace that `text` begins with is closed.
fn closing_brace(text: &str) -> Option<usize> {
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
