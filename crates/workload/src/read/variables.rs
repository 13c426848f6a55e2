//! Reading `[variables]`, which templates may use.

use std::path::Path;
use std::sync::Arc;

use super::{Reader, small};
use crate::check::parts::check_variable;
use crate::prompt::{Corpus, Prompt, PromptTokens, SharedPrefix};
use crate::script::{AtEnd, CsvFormat, Draw, Feeder, Order, Per, Rows, Source, TraceValue, Variable};
use crate::shape;
use crate::source::{Mistake, Table, Value};
use offered_base::InvalidValue;
use offered_base::nearest;
use offered_distributions::Distribution;

impl Reader<'_> {
    pub(super) fn variables(&self, value: &Value<'_>) -> Result<Vec<Variable>, Mistake> {
        let entries = value.entries("variables such as shop = \"north\" or user = { file = \"users.csv\" }")?;
        entries.iter().map(|(name, value)| self.variable(name, value)).collect()
    }

    fn variable(&self, name: &str, value: &Value<'_>) -> Result<Variable, Mistake> {
        let name = name.to_owned();
        let variable = match value.is_table() {
            false => Variable { name, source: Source::of_text(&value.shown()), per: Per::Session, env: None },
            true => self.drawn(name, value)?,
        };
        value.checked(check_variable(&variable))?;
        Ok(variable)
    }

    /// Reads a variable that is a table with the source of its values.
    fn drawn(&self, name: String, value: &Value<'_>) -> Result<Variable, Mistake> {
        let table = value.table(&shape::VALUES)?;
        let (kind, from) = table.the_one("{ file = \"users.csv\" }")?;
        let of_file = ["order", "at_end", "columns", "separator", "quotes", "skip_lines", "ragged"];
        let of_prompt = ["prefix", "corpus", "overhead_tokens"].map(|key| (key, "prompt"));
        let others = of_prompt.into_iter().chain([("decimals", "random"), ("min", "random")]);
        for (key, with) in of_file.map(|key| (key, "file")).into_iter().chain(others) {
            if let (Some(lone), true) = (table.get(key), kind != with) {
                return Err(lone.mistake(format!("needs {with}")));
            }
        }
        if let (Some(lone), false) = (table.get("words_per_token"), ["prompt", "trace_value"].contains(&kind)) {
            return Err(lone.mistake("needs prompt or trace_value"));
        }
        let source = match kind {
            "env" => {
                let key = from.text()?;
                let why = |_| {
                    format!("the environment variable {key} is not set; write before the command: export {key}=...")
                };
                Source::Constant(std::env::var(key).map_err(why))
            }
            "file" => Source::Feeder(self.feeder(&table, from.text()?)?),
            "uuid" => match from.truth()? {
                true => Source::Uuid,
                false => return Err(from.mistake("write uuid = true")),
            },
            "sequence" => Source::Sequence(from.whole()?),
            "work" => Source::Work(from.named()?),
            "prompt" => Source::Prompt(self.prompt(&table, &from)?),
            "trace_value" => {
                Source::TraceValue(TraceValue { column: from.named()?, words_per_token: words_per_token(&table)? })
            }
            "conversation" => Source::Conversation(from.text()?.to_owned()),
            _ => Source::Random(draw(&table, &from)?),
        };
        // Sequence numbers, work and prompts change with each request; other values, such as a user name, are the same for a whole session.
        let usual = if ["sequence", "work", "prompt", "trace_value", "conversation"].contains(&kind) {
            Per::Request
        } else {
            Per::Session
        };
        let per = table.named("per")?.unwrap_or(usual);
        let env = if kind == "env" { Some(from.text()?.to_owned()) } else { None };
        Ok(Variable { name, source, per, env })
    }

    fn prompt(&self, table: &Table<'_>, from: &Value<'_>) -> Result<Prompt, Mistake> {
        let tokens = match from.text()? {
            PromptTokens::TRACE => PromptTokens::Trace,
            text => {
                let (distribution, shift) = from.checked(numbers(text))?;
                PromptTokens::Drawn(Draw { distribution, shift, decimals: 0, min: None })
            }
        };
        let number = |key| table.get(key).map(|value| small(&value, value.whole()?)).transpose();
        let prefix = |value: Value<'_>| {
            let own = value.table(&shape::PREFIX)?;
            let number = |key| own.get(key).map(|value| small(&value, value.whole()?)).transpose();
            let tokens = own.need("tokens", "1000")?;
            Ok(SharedPrefix { tokens: small(&tokens, tokens.whole()?)?, groups: number("groups")?.unwrap_or(1) })
        };
        let corpus = |value: Value<'_>| {
            let file = value.text()?.to_owned();
            Ok(Corpus { words: self.text(&file).and_then(|text| Corpus::words(&text)), file })
        };
        Ok(Prompt {
            tokens,
            prefix: table.get("prefix").map(prefix).transpose()?,
            corpus: table.get("corpus").map(corpus).transpose()?,
            words_per_token: words_per_token(table)?,
            overhead_tokens: number("overhead_tokens")?.unwrap_or(0),
        })
    }

    fn feeder(&self, table: &Table<'_>, file: &str) -> Result<Feeder, Mistake> {
        let order = table.named("order")?.unwrap_or(Order::Sequential);
        let at_end = table.named("at_end")?.unwrap_or(AtEnd::Repeat);
        let columns = table.get("columns").map(|value| {
            value.list()?.iter().map(|name| name.text().map(str::to_owned)).collect::<Result<Vec<_>, _>>()
        });
        let columns = columns.transpose()?;
        let format = csv_format(table)?;
        let name = Path::new(file.strip_suffix(".gz").unwrap_or(file));
        let ends_in = |kind| name.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(kind));
        let rows = self.text(file).and_then(|text| {
            let rows =
                if ends_in("jsonl") { json_lines(&text, columns.clone()) } else { csv(&text, columns.clone(), format) };
            match rows {
                Ok(rows) if rows.is_empty() => Err("the file has no rows".to_owned()),
                rows => rows.map(Arc::new),
            }
        });
        Ok(Feeder { file: file.to_owned(), order, at_end, columns, format, rows })
    }
}

/// `separator = ";", quotes = false, skip_lines = 1, ragged = true`.
fn csv_format(table: &Table<'_>) -> Result<CsvFormat, Mistake> {
    let mut format = CsvFormat::default();
    if let Some(value) = table.get("separator") {
        format.separator = match value.text()?.as_bytes() {
            [one] if one.is_ascii() && ![b'"', b'\r', b'\n'].contains(one) => *one,
            _ => return Err(value.mistake("expected one ASCII character, such as \";\" or \"\\t\" (a tab)")),
        };
    }
    format.quotes = table.get("quotes").map_or(Ok(true), |value| value.truth())?;
    format.skip_lines = table.get("skip_lines").map_or(Ok(0), |value| value.whole())?;
    format.ragged = table.get("ragged").map_or(Ok(false), |value| value.truth())?;
    Ok(format)
}

/// Comma-separated values (RFC 4180), or others; without `columns` the first row names them.
fn csv(text: &str, columns: Option<Vec<String>>, format: CsvFormat) -> Result<Rows, String> {
    let mut start = 0;
    for _ in 0..format.skip_lines {
        start += text[start..].find('\n').map_or(text.len() - start, |end| end + 1);
    }
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::None)
        .delimiter(format.separator)
        .quoting(format.quotes)
        .from_reader(&text.as_bytes()[start..]);
    let mut rows = Vec::new();
    let mut columns = columns;
    for record in reader.records() {
        let record = record.map_err(|why| why.to_string())?;
        let line = record.position().map_or(0, csv::Position::line) + format.skip_lines;
        let mut cells: Vec<String> = record.iter().map(str::to_owned).collect();
        let Some(columns) = &columns else {
            // Spreadsheets write a byte order mark before the first name.
            let names = cells.iter().map(|name| name.trim().trim_start_matches('\u{feff}').to_owned());
            columns = Some(names.collect());
            continue;
        };
        if format.ragged {
            cells.resize(columns.len(), String::new());
        } else if cells.len() != columns.len() {
            let (n, of) = (cells.len(), columns.len());
            return Err(format!(
                "line {line} has {n} values for {of} columns; correct it, set separator, or set ragged = true: missing values are then \
                 empty, and further ones are ignored"
            ));
        }
        rows.push(cells);
    }
    Ok(Rows::new(columns.ok_or("it is empty")?, rows))
}

/// One JSON object per line; without `columns` the first object names them. A value that is not a text is used as its
/// JSON text.
fn json_lines(text: &str, columns: Option<Vec<String>>) -> Result<Rows, String> {
    let mut rows = Vec::new();
    let mut columns = columns;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let at = |why: String| format!("line {}: {why}", number + 1);
        let object: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(line).map_err(|why| at(why.to_string()))?;
        let names = columns.get_or_insert_with(|| object.keys().cloned().collect());
        let cell = |name: &String| match object.get(name) {
            Some(serde_json::Value::String(text)) => Ok(text.clone()),
            Some(value) => Ok(value.to_string()),
            None => Err(at(format!("`{name}` is missing"))),
        };
        rows.push(names.iter().map(cell).collect::<Result<Vec<_>, _>>()?);
    }
    let columns = columns.filter(|columns| !columns.is_empty()).ok_or("it is empty")?;
    Ok(Rows::new(columns, rows))
}

/// `random = "uniform:1..100", decimals = 2`.
fn draw(table: &Table<'_>, value: &Value<'_>) -> Result<Draw, Mistake> {
    // A number that does not fit is rejected by the check, which has a smaller maximum.
    let decimals = table.get("decimals").map_or(Ok(0), |value| Ok(u8::try_from(value.whole()?).unwrap_or(u8::MAX)))?;
    let (distribution, shift) = value.checked(numbers(value.text()?))?;
    let min = table.get("min").map(|value| value.number()).transpose()?;
    Ok(Draw { distribution, shift, decimals, min })
}

fn words_per_token(table: &Table<'_>) -> Result<f64, Mistake> {
    table.get("words_per_token").map_or(Ok(1.0), |value| value.number())
}

/// A distribution of plain numbers: `uniform:1..100`, `exponential:5`, `lognormal:20,2`; and the number that is added
/// to it.
fn numbers(text: &str) -> Result<(Distribution, f64), InvalidValue> {
    let distributions =
        ["uniform", "constant", "exponential", "gamma", "lognormal", "weibull", "pareto", "hyperexponential"];
    let wrong = |why: &str| {
        InvalidValue::new(format!(
            "`{text}` is not a distribution of numbers{why}; write for example uniform:1..100 or exponential:5"
        ))
    };
    let (name, rest) = text.split_once(':').ok_or_else(|| wrong(""))?;
    let given: Vec<f64> = rest
        .split(',')
        .flat_map(|part| part.split(".."))
        .map(|number| number.trim().parse().map_err(|_| wrong(&format!(" (`{number}` is not a number)"))))
        .collect::<Result<_, _>>()?;
    let distribution = match (name.trim(), &given[..]) {
        ("uniform", [low, high]) if *low < 0.0 => return Ok((Distribution::uniform(0.0, high - low)?, *low)),
        ("uniform", [low, high]) => Distribution::uniform(*low, *high),
        ("constant", [value]) => Distribution::constant(*value),
        ("exponential", [mean]) => Distribution::exponential(*mean),
        ("gamma", [mean, scv]) => Distribution::gamma(*mean, *scv),
        ("lognormal", [mean, scv]) => Distribution::lognormal(*mean, *scv),
        ("hyperexponential", [mean, scv]) => Distribution::hyperexponential(*mean, *scv),
        ("weibull", [mean, shape]) => Distribution::weibull(*mean, *shape),
        ("pareto", [min, shape]) => Distribution::pareto(*min, *shape),
        (known, _) if distributions.contains(&known) => Err(wrong(&format!(" (`{known}` needs other values)"))),
        (unknown, _) => Err(wrong(&nearest(unknown, &distributions))),
    };
    Ok((distribution?, 0.0))
}
