//! Values in `{{ }}`: variables of the script, columns of CSV files, captured values and functions
//! (`engine_util.ts`, `runner.ts`).

use std::iter;

use std::collections::{HashMap, HashSet};

use offered_workload::script::{AtEnd, CsvFormat, Order, Per};

use super::config::{Config, as_list};
use crate::ImportOptions;
use crate::address::MissingValue;
use crate::data::Data;
use crate::note::Note;
use crate::plan::{ValueSource, Variable};
use crate::text::{self, Text};

/// Maximum number of bytes substituted in the whole script.
const MAX_BYTES: usize = 16 << 20;

/// The values of a script.
pub(super) struct Values {
    /// The texts of the names with known values.
    known: HashMap<String, Text>,
    /// Names of values that responses set.
    captured: HashSet<String>,
    /// Workload variables for names without a value, with their names in the script.
    undefined: HashMap<String, String>,
    substituted_bytes: usize,
    /// Variables of the workload.
    pub(super) definitions: Vec<Variable>,
    pub(super) notes: Vec<Note>,
}

impl Values {
    /// The variables and data files of a configuration; those that the user sets override them.
    pub(super) fn new(config: Config, options: &ImportOptions) -> Self {
        let mut values = Self {
            known: HashMap::new(),
            captured: HashSet::new(),
            undefined: HashMap::new(),
            substituted_bytes: 0,
            definitions: Vec::new(),
            notes: Vec::new(),
        };
        for payload in as_list(config.get("payload")) {
            values.payload(payload);
        }
        for (name, value) in config.get("variables").entries() {
            let text = match value {
                Data::List(all) => values.choice(name, all),
                one => Some(Text::from(one.plain())),
            };
            values.known.extend(text.map(|text| (name.clone(), text)));
        }
        values.known.insert("target".to_owned(), Text::from(config.get("target").plain()));
        values.known.insert("$environment".to_owned(), Text::from(config.environment()));
        values.known.insert("$testId".to_owned(), Text::variable("run"));
        for (name, value) in options.variables.into_iter().flatten() {
            values.known.insert(name.clone(), Text::from(value.as_str()));
        }
        values
    }

    pub(super) fn note(&mut self, element: &str, message: String) {
        self.notes.push(Note { line: 0, element: element.to_owned(), message });
    }

    /// A variable with several values, of which each session draws one.
    fn choice(&mut self, name: &str, all: &[Data]) -> Option<Text> {
        let quoted = |value: &Data| match value.plain() {
            text if !text.contains('\'') => Some(format!("'{text}'")),
            text if !text.contains('"') => Some(format!("\"{text}\"")),
            _ => None,
        };
        match all {
            [] => None,
            [one] => Some(Text::from(one.plain())),
            several => {
                let several: Option<Vec<String>> = several.iter().map(quoted).collect();
                let element = format!("variable `{name}`");
                match several {
                    Some(several) => {
                        self.note(
                            &element,
                            "is one of several values, drawn for each session; here it is drawn at each use".to_owned(),
                        );
                        Some(Text::expression(format!("choice({})", several.join(", ")), Vec::new()))
                    }
                    None => {
                        self.note(
                            &element,
                            "has values with both kinds of quotes; here the first value is always used".to_owned(),
                        );
                        Some(Text::from(all[0].plain()))
                    }
                }
            }
        }
    }

    /// A CSV file of which each session takes a row (`datafileVariables`).
    fn payload(&mut self, payload: &Data) {
        let path = payload.get("path").plain();
        let element = format!("payload `{path}`");
        let fields: Vec<String> = payload.get("fields").list().iter().map(Data::plain).collect();
        if payload.get("loadAll").yes() {
            self.note(&element, "loads all rows as a list, for loops over them; not translated".to_owned());
            return;
        }
        if path.is_empty() || fields.is_empty() {
            self.note(&element, "has no path or no fields; left out".to_owned());
            return;
        }
        let file = text::file_name(&path);
        let name = self.new_name(file.rsplit_once('.').map_or(file, |(stem, _)| stem));
        let columns: Vec<String> = fields.iter().map(|field| text::variable_name(field)).collect();
        for (field, column) in fields.iter().zip(&columns) {
            self.known.insert(field.clone(), Text::variable(&format!("{name}.{column}")));
        }
        let separator = match payload.get("delimiter").text() {
            "\t" | "\\t" => b'\t',
            delimiter => delimiter.bytes().next().filter(u8::is_ascii).unwrap_or(b','),
        };
        let format = CsvFormat {
            separator,
            skip_lines: u64::from(payload.get("skipHeader").yes()),
            ragged: true,
            ..CsvFormat::default()
        };
        // Any other order is random, with replacement.
        let order = if payload.get("order").text() == "sequence" { Order::Sequential } else { Order::Random };
        self.define(name, ValueSource::File { file: path, columns, order, format, at_end: AtEnd::Repeat });
    }

    fn define(&mut self, name: String, value: ValueSource) {
        self.definitions.push(Variable { name, value, per: Per::Session });
    }

    fn new_name(&self, wanted: &str) -> String {
        let wanted = text::variable_name(wanted);
        let is_free = |name: &String| self.definitions.iter().all(|variable| variable.name != *name);
        let mut names = iter::once(wanted.clone()).chain((2_u32..).map(|n| format!("{wanted}_{n}")));
        names.find(is_free).expect("some number is free")
    }

    /// Collects the names of the values that responses set.
    pub(super) fn collect_captures(&mut self, data: &Data) {
        for capture in as_list(data.get("capture")) {
            self.captured.extend(Some(capture.get("as").plain()).filter(|name| !name.is_empty()));
        }
        for inner in data.list().iter().chain(data.entries().iter().map(|(_, value)| value)) {
            self.collect_captures(inner);
        }
    }

    /// Sets a name for the elements that follow; returns its text so far.
    pub(super) fn set(&mut self, name: &str, value: Option<Text>) -> Option<Text> {
        match value {
            Some(value) => self.known.insert(name.to_owned(), value),
            None => self.known.remove(name),
        }
    }

    /// The missing value, if a variable of the workload is only a placeholder for a name without a value.
    pub(super) fn missing(&self, name: &str) -> Option<MissingValue> {
        self.undefined.get(name).map(|wanted| MissingValue { is_property: false, name: wanted.clone() })
    }

    /// The text with its values, if all are known before the run.
    pub(super) fn literal(&mut self, text: &str) -> Option<String> {
        if !text.contains("{{") {
            return Some(text.to_owned());
        }
        self.resolve(text, "config").as_literal().map(str::to_owned)
    }

    /// The value of a name that a run decides; `None` if it is known before, or has no value.
    pub(super) fn run_value(&mut self, name: &str) -> Option<Text> {
        if self.captured.contains(name) {
            return Some(Text::variable(&text::variable_name(name)));
        }
        self.known.get(name).filter(|text| text.as_literal().is_none()).cloned()
    }

    /// Replaces the values in `text`.
    pub(super) fn resolve(&mut self, text: &str, element: &str) -> Text {
        let mut resolved = Text::default();
        let mut rest = text;
        while let Some(start) = rest.find("{{") {
            resolved.push_str(&rest[..start]);
            let Some(end) = rest[start..].find("}}").map(|end| start + end) else {
                rest = &rest[start..];
                break;
            };
            let name = rest[start..end].trim_start_matches('{').trim().to_owned();
            let whole = &rest[start..end + 2];
            rest = rest[end + 2..].trim_start_matches('}');
            match self.value(&name, element) {
                Some(value) => resolved.push(&value),
                None => resolved.push_str(whole),
            }
        }
        resolved.push_str(rest);
        resolved
    }

    fn value(&mut self, name: &str, element: &str) -> Option<Text> {
        if let Some(known) = self.known.get(name) {
            self.substituted_bytes += known.to_display().len();
            return (self.substituted_bytes <= MAX_BYTES).then(|| known.clone());
        }
        if self.captured.contains(name) {
            return Some(Text::variable(&text::variable_name(name)));
        }
        if let Some(arguments) = call(name, "$randomNumber") {
            let [low, high] = <[&str; 2]>::try_from(arguments).ok()?.map(str::parse::<i64>);
            let (Ok(low), Ok(high)) = (low, high) else { return None };
            return (0 <= low && low <= high).then(|| Text::expression(format!("random({low}, {high})"), Vec::new()));
        }
        if let Some(arguments) = call(name, "$randomString") {
            let length: u16 =
                arguments.first().filter(|length| !length.is_empty()).map_or(Ok(10), |n| n.parse()).ok()?;
            return Some(Text::expression(format!("random_text({length})"), Vec::new()));
        }
        let environment = ["$env.", "$processEnvironment."].iter().find_map(|prefix| name.strip_prefix(prefix));
        let source = match (name, environment) {
            ("$uuid", _) => ValueSource::Uuid,
            (_, Some(variable)) => ValueSource::Env(variable.to_owned()),
            _ => {
                self.note(element, format!("`{{{{ {name} }}}}` has no value in the script, or a function sets it; without a value Artillery sends `undefined`; import again with --set {name}=VALUE"));
                let own = self.new_name(name);
                self.undefined.insert(own.clone(), name.to_owned());
                let text = Text::variable(&own);
                self.definitions.push(Variable::constant(own, "undefined"));
                self.known.insert(name.to_owned(), text.clone());
                return Some(text);
            }
        };
        let own = self.new_name(environment.unwrap_or("uuid"));
        let text = Text::variable(&own);
        self.define(own, source);
        self.known.insert(name.to_owned(), text.clone());
        Some(text)
    }
}

/// The arguments of a call of this function.
fn call<'t>(text: &'t str, function: &str) -> Option<Vec<&'t str>> {
    let inside = text.strip_prefix(function)?.trim().strip_prefix('(')?.strip_suffix(')')?;
    Some(inside.split(',').map(str::trim).collect())
}
