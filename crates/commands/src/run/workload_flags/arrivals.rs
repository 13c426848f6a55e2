//! Flags of the system model. Each edits one field of `[arrivals]` and leaves the others.

use offered_base::{Nanos, Rate};
use offered_distributions::Distribution;
use toml_edit::{DocumentMut, InlineTable, Item, TableLike, Value, value};

use crate::failure::Failure;
use crate::input_file::table;

/// Flags of the system model.
#[derive(clap::Args)]
pub(super) struct ArrivalFlags {
    /// Open: requests arrive at RATE whatever the server does, for example 100/s
    #[arg(long, value_name = "RATE", group = "model", help_heading = "System model")]
    open: Option<Rate>,
    /// Closed: this number of users; each waits for its response, thinks and sends again
    #[arg(short = 'c', long, value_name = "USERS", group = "model", help_heading = "System model")]
    closed: Option<u64>,
    /// Partly-open: sessions arrive at RATE, send some requests and leave
    #[arg(long, value_name = "RATE", group = "model", help_heading = "System model")]
    partly_open: Option<Rate>,
    /// Arrival process: poisson, constant, poisson-fixed-count, gamma:COV [default: poisson]
    #[arg(long, value_name = "PROCESS", help_heading = "System model")]
    arrivals: Option<String>,
    /// Probability of another request after each response, 0.8 or 80% (partly-open)
    #[arg(long, value_name = "P", value_parser = probability, help_heading = "System model")]
    stay: Option<f64>,
    /// Think time: exponential:5s, uniform:0s,10s, 2s (constant), ... (closed, partly-open)
    #[arg(long, value_name = "DISTRIBUTION", value_parser = think, help_heading = "System model")]
    think: Option<Distribution>,
    /// Minimum time between the starts of two visits of a user; a visit is a request or a walk through a flow (closed)
    #[arg(long, value_name = "TIME", help_heading = "System model")]
    every: Option<Nanos>,
    /// Start the users evenly over this time (closed)
    #[arg(long, value_name = "TIME", help_heading = "System model")]
    ramp: Option<Nanos>,
}

/// The system models of a workload, with the keys that each has.
const MODELS: [(&str, &[&str]); 4] = [
    ("open", &["rate", "process", "batch"]),
    ("closed", &["users", "think", "every", "ramp", "start"]),
    ("partly_open", &["rate", "process", "batch", "stay", "length", "think"]),
    ("replay", &["trace", "speed", "as", "think", "users", "ramp", "start"]),
];

fn keys(model: &str) -> &'static [&'static str] {
    MODELS.iter().find(|(name, _)| *name == model).map_or(&[], |(_, keys)| keys)
}

impl ArrivalFlags {
    /// Edits the workload. Removes keys that the new model does not have and returns a note for each change.
    pub(super) fn edit(&self, document: &mut DocumentMut, file: bool) -> Result<Vec<String>, Failure> {
        let before = present(document);
        let (Some(model), replaced) = self.model(before) else {
            return match self.edits().first() {
                Some((_, flag, _)) if !file => Err(Failure::input(format!("{flag} needs {}", models_of(flag)))),
                None if file => Ok(Vec::new()),
                _ => Err(Failure::input("no load given: add --open 100/s, --closed 50 or --partly-open 20/s")),
            };
        };
        let (mut removed, mut notes) = (Vec::new(), Vec::new());
        if replaced {
            removed = become_model(document, before, model)?;
        }
        let fields = fields(document, model)?;
        for (key, flag, content) in self.edits() {
            if !keys(model).contains(&key) {
                return Err(Failure::input(format!(
                    "{flag} needs {}; this workload is {}",
                    models_of(flag),
                    description(model)
                )));
            }
            // `stay` and `length` exclude each other.
            if key == "stay" && fields.remove("length").is_some() {
                removed.push("length".to_owned());
            }
            if key == "rate" && fields.get(key).is_some_and(|rate| !rate.is_str()) {
                notes.push(format!("{flag} replaces the changing rate of the workload file with a constant one"));
            }
            fields.insert(key, Item::Value(content?));
        }
        if let Some(rate) = self.partly_open.filter(|_| !fields.contains_key("stay") && !fields.contains_key("length"))
        {
            return Err(Failure::input(format!(
                "--partly-open {rate} needs a session length: add --stay 0.8, the probability of another request"
            )));
        }
        if model == "replay" && self.closed.is_some() {
            fields.insert("as", value("closed"));
        }
        match &removed[..] {
            [] => {}
            [gone] => notes
                .push(format!("{gone} of the workload file does not apply to {} and is ignored", description(model))),
            [most @ .., last] => notes.push(format!(
                "{} and {last} of the workload file do not apply to {} and are ignored",
                most.join(", "),
                description(model)
            )),
        }
        Ok(notes)
    }

    /// The given flag that sets this workload key.
    pub(super) fn flag(&self, field: &str) -> Option<&'static str> {
        let key = field.strip_prefix("arrivals.")?.split('.').nth(1)?;
        self.edits().into_iter().find(|(edited, ..)| *edited == key).map(|(_, flag, _)| flag)
    }

    /// The system model after the flags, and whether it replaces another one.
    fn model(&self, before: Option<&'static str>) -> (Option<&'static str>, bool) {
        let given = if self.open.is_some() {
            "open"
        } else if self.partly_open.is_some() {
            "partly_open"
        } else if self.closed.is_some() {
            "closed"
        } else {
            return (before, false);
        };
        match before {
            // A closed replay: users work through the trace.
            Some("replay") if given == "closed" => (Some("replay"), false),
            Some(before) if before == given => (Some(given), false),
            _ => (Some(given), true),
        }
    }

    /// The given flags: key, flag and new value.
    fn edits(&self) -> Vec<(&'static str, &'static str, Result<Value, Failure>)> {
        let rate = |rate: Rate| Ok(Value::from(rate.to_string()));
        let mut edits = Vec::new();
        edits.extend(self.open.map(|r| ("rate", "--open", rate(r))));
        edits.extend(self.partly_open.map(|r| ("rate", "--partly-open", rate(r))));
        edits.extend(self.closed.map(|n| ("users", "--closed", Ok(Value::from(i64::try_from(n).unwrap_or(i64::MAX))))));
        edits.extend(self.arrivals.as_deref().map(|process| ("process", "--arrivals", of_process(process))));
        edits.extend(self.stay.map(|stay| ("stay", "--stay", Ok(Value::from(stay)))));
        let law = |law: &Distribution| law.to_string().parse().map_err(Failure::input);
        edits.extend(self.think.as_ref().map(|think| ("think", "--think", law(think))));
        edits.extend(self.every.map(|every| ("every", "--every", Ok(Value::from(every.to_string())))));
        edits.extend(self.ramp.map(|ramp| ("ramp", "--ramp", Ok(Value::from(ramp.to_string())))));
        edits
    }
}

/// The system model of the workload file.
fn present(document: &DocumentMut) -> Option<&'static str> {
    let arrivals = document.get("arrivals")?.as_table_like()?;
    MODELS.iter().map(|(name, _)| *name).find(|name| arrivals.contains_key(name))
}

/// Changes `[arrivals]` to `model` and keeps the keys that it has; returns the removed keys.
fn become_model(
    document: &mut DocumentMut,
    before: Option<&'static str>,
    model: &'static str,
) -> Result<Vec<String>, Failure> {
    let arrivals = table(document, "arrivals")?;
    let old = before.and_then(|before| arrivals.remove(before));
    let mut common = InlineTable::new();
    let mut removed = Vec::new();
    for (key, item) in old.as_ref().and_then(Item::as_table_like).into_iter().flat_map(TableLike::iter) {
        match item.clone().into_value() {
            // A rate is overwritten by the flag.
            Ok(content) if keys(model).contains(&key) => drop(common.insert(key, content)),
            _ => removed.push(key.to_owned()),
        }
    }
    arrivals[model] = value(common);
    Ok(removed)
}

/// The table of the system model.
fn fields<'d>(document: &'d mut DocumentMut, model: &str) -> Result<&'d mut dyn TableLike, Failure> {
    let arrivals = table(document, "arrivals")?;
    let item = arrivals.entry(model).or_insert_with(|| value(InlineTable::new()));
    item.as_table_like_mut().ok_or_else(|| Failure::input(format!("`arrivals.{model}` is not a table in the workload")))
}

/// The system models that a flag applies to.
fn models_of(flag: &str) -> &'static str {
    match flag {
        "--arrivals" => "--open or --partly-open",
        "--stay" => "--partly-open",
        "--think" => "--closed or --partly-open",
        _ => "--closed",
    }
}

fn description(model: &str) -> &'static str {
    match model {
        "open" => "an open system",
        "closed" => "a closed system",
        "partly_open" => "a partly-open system",
        _ => "a replay",
    }
}

/// `gamma:1.5`, or the name of a process.
fn of_process(process: &str) -> Result<Value, Failure> {
    let Some(("gamma", cov)) = process.split_once(':') else { return Ok(Value::from(process)) };
    let cov: f64 = cov.parse().map_err(|_| {
        Failure::input(format!("--arrivals {process}: `{cov}` is not a CoV; write for example gamma:1.5"))
    })?;
    Ok(InlineTable::from_iter([("gamma", cov)]).into())
}

/// `0.8` or `80%`.
fn probability(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{text}` is not a probability; write for example 0.8 or 80%");
    let number = |text: &str| text.trim().parse::<f64>().map_err(|_| wrong());
    let stay = match text.strip_suffix('%') {
        Some(percent) => number(percent)? / 100.0,
        None => number(text)?,
    };
    if (0.0..1.0).contains(&stay) {
        return Ok(stay);
    }
    if !text.ends_with('%') && (1.0..100.0).contains(&stay) && stay != 1.0 {
        return Err(format!("`{text}` is not below 1, so it is no probability; for per cent write {text}%"));
    }
    Err(format!("`{text}` must be at least 0 and below 1; for sessions that never end use --closed"))
}

/// A distribution, or a constant time.
fn think(text: &str) -> Result<Distribution, offered_base::InvalidValue> {
    text.parse::<Nanos>().map_or_else(|_| text.parse(), |time| Distribution::constant(time.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        system: ArrivalFlags,
    }

    /// The workload after these flags in one line, and the notes.
    fn after(text: &str, flags: &str) -> Result<(String, String), String> {
        let mut document: DocumentMut = text.parse().unwrap();
        let line = Line::try_parse_from(["run"].into_iter().chain(flags.split_whitespace()));
        let system = line.map_err(|error| error.to_string())?.system;
        match system.edit(&mut document, true) {
            Ok(notes) => Ok((document.to_string().trim().replace('\n', " "), notes.join(" "))),
            Err(Failure::Input(why) | Failure::Stopped(why)) => Err(why),
        }
    }

    const CLOSED: &str = "arrivals.closed = { users = 2, think = { constant = \"500ms\" }, ramp = \"1s\" }";
    const OPEN: &str =
        "[arrivals]\nopen = { rate = { ramp = [\"1/s\", \"9/s\"], over = \"1m\" }, process = \"constant\" }";
    const PARTLY: &str =
        "[arrivals.partly_open]\nrate = \"3/s\"\nlength = { fixed = 3 }\nthink = { constant = \"2s\" }";

    #[test]
    fn a_flag_edits_the_field_it_names() {
        let profile = "--open replaces the changing rate of the workload file with a constant one";
        for (text, flags, expected) in [
            (CLOSED, "--closed 3", CLOSED.replace("users = 2", "users = 3")),
            (CLOSED, "-c 3", CLOSED.replace("users = 2", "users = 3")),
            (CLOSED, "--think 1s", CLOSED.replace("500ms", "1s")),
            // toml_edit keeps the blank after the last value.
            (CLOSED, "--every 10s", CLOSED.replace("\"1s\" }", "\"1s\" , every = \"10s\" }")),
            (CLOSED, "--ramp 5s", CLOSED.replace("\"1s\"", "\"5s\"")),
            (OPEN, "--open 7/s", "[arrivals] open = { rate = \"7/s\", process = \"constant\" }".to_owned()),
            (OPEN, "--arrivals poisson", OPEN.replace("constant", "poisson").replace('\n', " ")),
            (PARTLY, "--partly-open 4/s", PARTLY.replace("3/s", "4/s").replace('\n', " ")),
        ] {
            let notes = if flags == "--open 7/s" { profile } else { "" };
            assert_eq!(after(text, flags), Ok((expected, notes.to_owned())), "{flags} on {text}");
        }
    }

    #[test]
    fn another_model_keeps_common_keys_and_reports_removed_ones() {
        let (text, notes) = after(PARTLY, "--closed 5").unwrap();
        assert_eq!(text, "[arrivals] closed = { think = { constant = \"2s\" }, users = 5 }");
        assert_eq!(notes, "rate and length of the workload file do not apply to a closed system and are ignored");
        let (text, notes) = after(OPEN, "--partly-open 4/s --stay 80%").unwrap();
        let text = text.replace(" ,", ","); // toml_edit keeps the blank after the last value
        assert_eq!(text, "[arrivals] partly_open = { rate = \"4/s\", process = \"constant\", stay = 0.8 }");
        assert_eq!(notes, "--partly-open replaces the changing rate of the workload file with a constant one");
        let (text, notes) = after(PARTLY, "--stay 0.5").unwrap();
        assert!(text.ends_with("stay = 0.5") && !text.contains("length"), "{text}");
        assert_eq!(notes, "length of the workload file does not apply to a partly-open system and is ignored");
        let replay = "arrivals.replay = { trace = \"day.trace\", as = \"sessions\", think = { exponential = \"5s\" } }";
        let (text, notes) = after(replay, "--closed 5").unwrap();
        let text = text.replace(" ,", ",");
        assert_eq!(
            (text, notes.as_str()),
            (replay.replace("sessions\"", "closed\"").replace(" } }", " }, users = 5 }"), "")
        );
        assert!(after(replay, "--open 5/s").unwrap().1.starts_with("trace, as and think of the workload file do"));
    }

    #[test]
    fn errors_name_the_flag() {
        for (text, flags, why) in [
            (OPEN, "--think 1s", "--think needs --closed or --partly-open; this workload is an open system"),
            (OPEN, "--partly-open 4/s", "--partly-open 4/s needs a session length: add --stay 0.8"),
            (CLOSED, "--stay 0.5", "--stay needs --partly-open; this workload is a closed system"),
            (CLOSED, "--open 100", "'100' for '--open <RATE>'"),
            (CLOSED, "--partly-open 1/s --stay 80", "write 80%"),
            (CLOSED, "--partly-open 1/s --stay 100%", "'100%' for '--stay <P>'"),
            (CLOSED, "--open 1/s --arrivals gamma:x", "--arrivals gamma:x: `x` is not a CoV"),
        ] {
            let error = after(text, flags).unwrap_err();
            assert!(error.contains(why), "{flags}: {error}");
        }
    }
}
