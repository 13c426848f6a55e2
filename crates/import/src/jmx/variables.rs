//! Resolves `${...}` in a test plan: user-defined variables, variables set by data files, counters and responses, and
//! functions.

use std::collections::{BTreeMap, HashMap, HashSet};

use offered_base::Seed;
use offered_workload::script::{Per, data};

use super::functions::{self, parse_call};
use super::node::Node;
use super::template;
use super::tree::Element;
use crate::ImportOptions;
use crate::address::MissingValue;
use crate::note::Note;
use crate::plan::{ValueSource, Variable};
use crate::text::{self, Text};

/// Maximum depth of variables in values of variables.
const MAX_DEPTH: usize = 16;
/// Maximum number of bytes substituted in the whole plan; it stops exponential expansion of nested variables.
const MAX_BYTES: usize = 16 << 20;
/// Maximum number of variables generated for functions.
const MAX_GENERATED_VARIABLES: usize = 1_000;

/// Properties with the names of extracted variables.
pub(super) const EXTRACTOR_NAMES: [&str; 7] = [
    "RegexExtractor.refname",
    "JSONPostProcessor.referenceNames",
    "BoundaryExtractor.refname",
    "HtmlExtractor.refname",
    "XPathExtractor.refname",
    "XPathExtractor2.refname",
    "JMESExtractor.referenceName",
];

/// Properties with the match numbers of extractors.
const MATCH_NUMBERS: [&str; 4] = [
    "RegexExtractor.match_number",
    "JSONPostProcessor.match_numbers",
    "BoundaryExtractor.match_number",
    "HtmlExtractor.match_number",
];

/// The variables of a plan. `JMeter` sets user-defined variables before the test starts, wherever they are defined.
#[derive(Default)]
pub(super) struct Variables<'g> {
    pub(super) outside: ImportOptions<'g>,
    /// Number of thread groups that generate load.
    pub(super) groups: usize,
    values: HashMap<String, Known>,
    /// Variables with run-time values (data files, counters, random numbers, responses), as texts of the workload.
    pub(super) runtime: HashMap<String, Text>,
    /// Variables of the workload.
    pub(super) definitions: Vec<Variable>,
    /// Notes on variables.
    pub(super) notes: Vec<Note>,
    /// Properties without a value, with the default that `JMeter` uses.
    pub(super) undefined_properties: BTreeMap<String, String>,
    /// Properties in the last resolved text that have neither value nor default.
    pub(super) properties_without_default: Vec<String>,
    /// Functions in user-defined variables that are evaluated once at the start of the test, with the value used here.
    pub(super) drawn_once: BTreeMap<String, String>,
    /// Number of identical function calls in the current element; each call returns a new value.
    uses: HashMap<String, usize>,
    /// Line of the current element outside of samplers; 0 inside a sampler.
    current_line: usize,
    substituted_bytes: usize,
    /// Nesting depth of function calls with run-time arguments.
    computed_depth: usize,
}

/// The value of a user-defined variable. A reference that had no value when it was evaluated stays in the text.
#[derive(Clone, Default)]
struct Known {
    text: Text,
    /// The references without a value.
    unknown: Vec<String>,
    /// Properties with neither value nor default.
    properties: Vec<String>,
}

impl From<String> for Known {
    fn from(text: String) -> Self {
        Self { text: Text::from(text), ..Self::default() }
    }
}

/// When a function call is evaluated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Evaluation {
    /// At each use.
    EachUse,
    /// Once at the start of the test, because the call is in a user-defined variable.
    Once,
}

impl<'g> Variables<'g> {
    /// An empty set of variables with the settings of the import.
    pub(super) fn new(outside: ImportOptions<'g>) -> Self {
        Self { outside, ..Self::default() }
    }

    /// Sets the line of the current element; 0 for a sampler.
    pub(super) fn enter(&mut self, line: usize) {
        self.uses.clear();
        self.current_line = line;
    }

    /// Overrides variables of the plan with the values set by the user: before the plan's variables are collected, which may refer to
    /// them, and again afterwards.
    pub(super) fn apply_preset(&mut self) {
        for (name, value) in self.outside.variables.into_iter().flatten() {
            self.runtime.remove(name);
            self.values.insert(name.clone(), value.clone().into());
        }
    }

    /// Collects the variables of `node` and its children. `within` is the enclosing controller, if it may run more or
    /// less than once per iteration.
    pub(super) fn collect(&mut self, node: &Node, within: Option<&str>) {
        let arguments = match node.class() {
            "TestPlan" => node.element.property("TestPlan.user_defined_variables"),
            "Arguments" => Some(node.element),
            _ => None,
        };
        self.user_defined(arguments.map_or(&[][..], |arguments| arguments.entries("Arguments.arguments")));
        let anew = match node.class() {
            "CSVDataSet" => self.csv_data_set(node, Per::Visit),
            "RandomCSVDataSetConfig" => self.random_csv_data_set(node, Per::Visit),
            "CounterConfig" => self.counter(node),
            "RandomVariableConfig" => self.random_variable(node),
            _ => false,
        };
        if let Some(within) = within.filter(|_| anew) {
            self.note(node, format!("takes a new value each time {within} starts; here it takes one per iteration"));
        }
        // These controllers start once per iteration, with all that they contain, or with one of it.
        let all = [
            "GenericController",
            "TransactionController",
            "RecordingController",
            "RandomOrderController",
            "ParallelSampler",
        ];
        let one = ["RandomController", "InterleaveControl", "SwitchController"];
        let is_controller = super::tree::is_controller;
        let own = is_controller(node.class()) && !all.contains(&node.class());
        let own = own.then(|| format!("{} `{}`", node.class(), node.name()));
        for child in &node.children {
            let starts_with_it = one.contains(&node.class()) && !is_controller(child.class());
            self.collect(child, own.as_deref().filter(|_| !starts_with_it).or(within));
        }
    }

    /// Evaluates the user-defined variables of an element. They may refer to those of earlier elements, not to each other
    /// (`PreCompiler.addNode`).
    fn user_defined(&mut self, entries: &[Element]) {
        let mut all = Vec::new();
        for entry in entries {
            let name = match entry.text_of("Argument.name") {
                "" => entry.attribute("name"),
                name => name,
            };
            if !name.is_empty() && self.outside.variable(name).is_none() {
                let mut known = Known::default();
                self.properties_without_default.clear();
                let text = entry.text_of("Argument.value");
                self.substitute(text, MAX_DEPTH, Evaluation::Once, &mut known.text, &mut known.unknown);
                known.properties = std::mem::take(&mut self.properties_without_default);
                for names in [&mut known.unknown, &mut known.properties] {
                    names.sort_unstable();
                    names.dedup();
                }
                all.push((name.to_owned(), known));
            }
        }
        self.values.extend(all);
    }

    /// Sets a variable of the plan for the elements that follow; returns whether `from` has a value before the run.
    pub(super) fn set_from(&mut self, name: &str, from: &str) -> bool {
        let Some(known) = self.values.get(from).filter(|_| !self.runtime.contains_key(from)).cloned() else {
            return false;
        };
        self.runtime.remove(name);
        self.values.insert(name.to_owned(), known);
        true
    }

    /// Collects the names of variables that `node` and its children extract.
    pub(super) fn collect_extracted(&mut self, node: &Node) {
        for property in EXTRACTOR_NAMES {
            let numbers =
                MATCH_NUMBERS.iter().map(|property| node.element.text_of(property)).find(|text| !text.is_empty());
            let all = numbers.is_some_and(|numbers| numbers.contains('-'));
            for name in node.element.text_of(property).split(';').map(str::trim).filter(|name| !name.is_empty()) {
                // The names of the matches are registered by the extractor itself, which comes before their uses.
                if all {
                    continue;
                }
                self.extracted(name);
                if let Some(composed) = template::composed(node, name) {
                    self.runtime.insert(name.to_owned(), composed);
                }
            }
        }
        node.children.iter().for_each(|child| self.collect_extracted(child));
    }

    /// A unique variable name of the workload for a name of the plan.
    pub(super) fn new_name(&self, wanted: &str) -> String {
        let taken: HashSet<&str> = self.definitions.iter().map(|variable| variable.name.as_str()).collect();
        let plain = text::variable_name(wanted);
        if !taken.contains(plain.as_str()) {
            return plain;
        }
        let mut numbered = (2..u32::MAX).map(|n| format!("{plain}_{n}"));
        numbered.find(|name| !taken.contains(name.as_str())).expect("some number is free")
    }

    pub(super) fn note(&mut self, node: &Node, message: String) {
        self.notes.push(super::note(node, message));
    }

    /// Translates a counter; returns whether it defines a variable that changes per iteration.
    fn counter(&mut self, node: &Node) -> bool {
        let property = |name: &str| node.element.text_of(name).trim();
        let name = property("CounterConfig.name");
        if name.is_empty() {
            return false;
        }
        let mut number =
            |name: &str| self.resolve(property(name)).0.as_literal().and_then(|text| text.trim().parse::<i64>().ok());
        let (start, step) = (number("CounterConfig.start").unwrap_or(0), number("CounterConfig.incr").unwrap_or(0));
        if step == 0 {
            // Invalid numbers count as 0.
            self.values.insert(name.to_owned(), start.to_string().into());
            self.note(node, format!("has an increment of 0, so `{name}` stays {start}"));
            return false;
        }
        let Ok(from) = u64::try_from(start) else {
            self.note(node, format!("counts `{name}` from {start}; sequences cannot start below 0"));
            return false;
        };
        if step != 1 || property("CounterConfig.per_user") == "true" {
            let whose = if property("CounterConfig.per_user") == "true" { " for each user" } else { "" };
            self.note(
                node,
                format!("counts `{name}` in steps of {step}{whose}; here it counts in steps of 1, shared by all users"),
            );
        }
        if !property("CounterConfig.end").is_empty() {
            self.note(node, format!("starts again after {}; here it continues", property("CounterConfig.end")));
        }
        if !property("CounterConfig.format").is_empty() {
            self.note(
                node,
                format!("formats the number as {}; here it is unformatted", property("CounterConfig.format")),
            );
        }
        self.define(name, ValueSource::Sequence(from), Per::Visit);
        true
    }

    /// Translates a random variable; returns whether it changes per iteration.
    fn random_variable(&mut self, node: &Node) -> bool {
        let property = |name: &str| node.element.text_of(name).trim();
        let name = property("variableName");
        let mut bound =
            |name: &str| self.resolve(property(name)).0.as_literal().and_then(|bound| bound.trim().parse::<i64>().ok());
        let (low, high) = (bound("minimumValue").unwrap_or(0), bound("maximumValue").unwrap_or(0));
        if name.is_empty() {
            self.note(node, "names no variable; left out".to_owned());
            return false;
        }
        if low < 0 || high < low {
            self.note(node, format!("draws the variable `{name}` from {low} to {high}; not translated"));
            return false;
        }
        if !property("outputFormat").is_empty() {
            self.note(node, format!("formats the number as {}; here it is unformatted", property("outputFormat")));
        }
        if !property("randomSeed").is_empty() {
            let message = if property("perThread") == "true" {
                "every thread draws the same numbers"
            } else {
                "every run draws the same numbers"
            };
            self.note(
                node,
                format!(
                    "has its own seed, so {message}; here the workload's seed is used and users draw different numbers"
                ),
            );
        }
        if low == high {
            self.values.insert(name.to_owned(), low.to_string().into());
            return false;
        }
        self.define(name, ValueSource::UniformInteger(low, high), Per::Visit);
        true
    }

    /// Defines a workload variable for `name` of the plan.
    fn define(&mut self, name: &str, value: ValueSource, per: Per) {
        let own = self.new_name(name);
        self.runtime.insert(name.to_owned(), Text::variable(&own));
        self.definitions.push(Variable { name: own, value, per });
    }

    /// Registers an extracted variable and returns its name in the workload. A user-defined value becomes its initial
    /// value.
    pub(super) fn extracted(&mut self, name: &str) -> String {
        let own = text::variable_name(name);
        self.runtime.insert(name.to_owned(), Text::variable(&own));
        if let Some(value) = self.values.get(name).cloned()
            && !self.definitions.iter().any(|variable| variable.name == own)
        {
            self.definitions.push(Variable::constant(own.clone(), value.text.to_display()));
        }
        own
    }

    /// Substitutes the variables in `text`. Also returns the variables and functions without a value, which stay
    /// unchanged.
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
            if let Some(known) = self.values.get(wanted).cloned() {
                self.substituted_bytes += known.text.to_display().len() + 1;
                if self.substituted_bytes <= MAX_BYTES {
                    resolved.push(&known.text);
                    unknown.extend(known.unknown);
                    self.properties_without_default.extend(known.properties);
                    continue;
                }
            }
            let value = self.static_value(wanted);
            match value.filter(|value| depth > 0 && self.substituted_bytes + value.len() <= MAX_BYTES) {
                Some(value) => {
                    self.substituted_bytes += value.len() + 1;
                    self.substitute(&value, depth - 1, evaluation, resolved, unknown);
                }
                None if evaluation == Evaluation::Once => {
                    unknown.push(whole.to_owned());
                    resolved.push_str(whole);
                }
                None => {
                    if let Some(value) = self.computed_call(wanted) {
                        resolved.push(&value);
                        continue;
                    }
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

    /// The text for a function call with run-time arguments.
    fn computed_call(&mut self, name: &str) -> Option<Text> {
        let (function, arguments) = parse_call(name).filter(|_| self.computed_depth < MAX_DEPTH)?;
        let properties = std::mem::take(&mut self.properties_without_default);
        self.computed_depth += 1;
        let value = self.computed(function, &arguments);
        self.computed_depth -= 1;
        self.properties_without_default.extend(properties);
        value
    }

    /// Resolves variables inside the braces of a variable, if all of them are known before the run.
    fn resolve_inner(&mut self, wanted: &str, depth: usize, evaluation: Evaluation) -> String {
        if depth > 0 && wanted.contains("${") {
            let (mut resolved, mut unknown) = (Text::default(), Vec::new());
            self.substitute(wanted, depth - 1, evaluation, &mut resolved, &mut unknown);
            if let Some(text) = resolved.as_literal().filter(|_| unknown.is_empty()) {
                return text.to_owned();
            }
        }
        wanted.to_owned()
    }

    /// The text for a variable or function with a run-time value.
    fn runtime_value(&mut self, name: &str, evaluation: Evaluation) -> Option<Text> {
        if let Some(given) = self.runtime.get(name) {
            return Some(given.clone());
        }
        let (function, arguments) = parse_call(name)?;
        let argument = |at: usize| arguments.get(at).map(|text| text.trim());
        let (called, value, per) = match function {
            // Thread numbers start at 1.
            "__threadNum" => ("thread".to_owned(), ValueSource::Sequence(1), Per::Session),
            "__counter" => ("counter".to_owned(), ValueSource::Sequence(1), Per::Request),
            "__time" if evaluation == Evaluation::EachUse => {
                // Other formats are of the local time.
                return match argument(0).unwrap_or("") {
                    "" => Some(Text::variable("now|unix_ms")),
                    "/1000" => Some(Text::variable("now|unix")),
                    _ => None,
                };
            }
            "__UUID" => ("uuid".to_owned(), ValueSource::Uuid, Per::Request),
            "__Random" => {
                let (low, high) = (argument(0)?.parse::<i64>().ok()?, argument(1)?.parse::<i64>().ok()?);
                // Negative ranges are not supported.
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
        // Each call in a request draws a new value. Other requests draw new values anyway.
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
                message:
                    "counts its own calls, with TRUE for each user; here the requests of the whole run are counted"
                        .to_owned(),
            });
        }
        self.define_generated(&key, &called, value, per)
    }

    /// The missing value, if a workload variable is only a placeholder for a name without a value.
    pub(super) fn missing_value(&self, name: &str) -> Option<MissingValue> {
        let variable = self.definitions.iter().find(|variable| variable.name == name)?;
        let ValueSource::Constant(text) = &variable.value else { return None };
        let wanted = text.strip_prefix("${").and_then(|text| text.strip_suffix('}'))?;
        Some(MissingValue { is_property: false, name: wanted.to_owned() })
    }

    /// The bounds, if `text` is a single random integer variable.
    pub(super) fn integer_range(&self, text: &Text) -> Option<(i64, i64)> {
        let name = text.variable_names().next().filter(|name| *text == Text::variable(name))?;
        match self.definitions.iter().find(|variable| variable.name == name)?.value {
            ValueSource::UniformInteger(low, high) => Some((low, high)),
            _ => None,
        }
    }

    /// A constant value for a function that `JMeter` evaluates once at the start of the test.
    fn draw_once(&mut self, whole: &str, value: &ValueSource) -> Text {
        // A stream that no variable of the workload uses: their numbers are smaller.
        let mut stream = data(Seed(self.drawn_once.len() as u64), u16::MAX, 0, 0);
        let text = match value {
            ValueSource::UniformInteger(low, high) => (low + stream.below((high - low) as u64 + 1) as i64).to_string(),
            _ => {
                let mut part = || stream.below(1 << 16);
                let parts = [part(), part(), part(), part() & 0xfff, part() & 0x3fff | 0x8000, part(), part(), part()];
                let [a, b, c, d, e, f, g, h] = parts;
                format!("{a:04x}{b:04x}-{c:04x}-4{d:03x}-{e:04x}-{f:04x}{g:04x}{h:04x}")
            }
        };
        let text = self.drawn_once.entry(whole.to_owned()).or_insert(text).clone();
        Text::from(text)
    }

    /// Defines a generated variable for the call `whole`; equal calls share it.
    fn define_generated(&mut self, whole: &str, called: &str, value: ValueSource, per: Per) -> Option<Text> {
        if self.definitions.len() == MAX_GENERATED_VARIABLES {
            return None;
        }
        let own = self.new_name(called);
        self.runtime.insert(whole.to_owned(), Text::variable(&own));
        self.definitions.push(Variable { name: own.clone(), value, per });
        Some(Text::variable(&own))
    }

    /// The value of a function that is known before the run.
    fn static_value(&mut self, name: &str) -> Option<String> {
        let (function, arguments) = parse_call(name)?;
        let argument = |at: usize| arguments.get(at).map(|text| text.trim().to_owned());
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
            "__intSum" | "__longSum" => {
                let sum = functions::evaluate(function, &arguments)?;
                // The last argument may name a variable for the sum.
                if let Some(name) = arguments.last().map(|name| name.trim()).filter(|name| name.parse::<i64>().is_err())
                {
                    self.values.insert(name.to_owned(), sum.clone().into());
                }
                Some(sum)
            }
            "__lowercase" | "__uppercase" => {
                let element = format!("`{function}`");
                if self.notes.iter().all(|note| note.element != element) {
                    let message = "belongs to the plugin Custom JMeter Functions; without the plugin, JMeter sends the call as text";
                    self.notes.push(Note { line: 0, element, message: message.to_owned() });
                }
                functions::evaluate(function, &arguments)
            }
            "__V" => argument(0).and_then(|name| self.values.get(&name)).map(|known| known.text.to_display()),
            _ => functions::evaluate(function, &arguments),
        }
    }
}

/// Position of the brace that closes the first one in `text`.
pub(super) fn closing_brace(text: &str) -> Option<usize> {
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
