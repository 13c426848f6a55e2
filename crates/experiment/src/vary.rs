//! Varying fields: a workload file with changed values, once for every combination.

use std::str::FromStr;

use offered_schedule::Sessions;
use offered_simulate::Stop;
use offered_simulate::load::instability;
use offered_workload::Workload;
use serde::{Deserialize, Serialize};
use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike, Value};

use crate::{Error, Field, WorkloadSource};

/// A field and its values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VariedField {
    /// The short name or path of the field: `rate`, `server.servers`.
    pub field: Field,
    /// The values as written.
    pub values: Vec<String>,
}

/// Maximum number of values of a range: each value is a run.
const MAX_VALUES: f64 = 10_000.0;

/// Parses `field=a,b,c` or `field=from..to:step`; both ends are included.
impl FromStr for VariedField {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |why: &str| Error::NotVaried { text: text.to_owned(), reason: why.to_owned() };
        let (field, values) = text.split_once('=').ok_or_else(|| wrong(""))?;
        let range = values.split_once("..").and_then(|(from, rest)| Some((from, rest.split_once(':')?)));
        let values: Vec<String> = match range {
            Some((from, (to, step))) => {
                let number =
                    |text: &str| text.parse::<f64>().map_err(|_| wrong(&format!(" (`{text}` is not a number)")));
                let (from, to, step) = (number(from)?, number(to)?, number(step)?);
                let steps = (to - from) / step;
                if !(steps >= 0.0 && steps.is_finite()) {
                    return Err(wrong(" (the step does not lead from the first to the last value)"));
                }
                if steps > MAX_VALUES {
                    return Err(wrong(&format!(" (these are {:.0} values, more than {MAX_VALUES})", steps + 1.0)));
                }
                // Rounded, because 0.1 + 2 * 0.1 is not 0.3 in floating point.
                let value = |i: u32| format!("{:.9}", from + f64::from(i) * step);
                let bare = |text: String| text.trim_end_matches('0').trim_end_matches('.').to_owned();
                (0..=(steps + 1e-9) as u32).map(|i| bare(value(i))).collect()
            }
            None => values.split(',').map(|value| value.trim().to_owned()).collect(),
        };
        if field.is_empty() || values.iter().any(String::is_empty) {
            return Err(wrong(""));
        }
        Ok(Self { field: field.trim().into(), values })
    }
}

/// One combination of values.
pub struct Point {
    /// The fields and their values.
    pub values: Vec<(Field, String)>,
    /// The text of the workload with these values.
    pub text: String,
    /// The parsed workload.
    pub workload: Workload,
    /// The load, if it is varied.
    pub load: Option<f64>,
}

impl Point {
    /// The values as text: `load=0.5 discipline=ps`; empty if nothing is varied.
    pub fn name(&self) -> String {
        name(&self.values)
    }

    /// Why the queue of its simulation would grow without end; `None` if it would not.
    ///
    /// # Errors
    /// The workload cannot be simulated, or has no steady state at any load.
    pub(crate) fn instability(&self) -> Result<Option<offered_simulate::Error>, Error> {
        let wrong = |wrong: Error| Error::at(self.name())(wrong);
        match instability(&self.workload, Stop::Duration).map_err(|reason| wrong(reason.into()))? {
            Some(error) if !error.is_unstable() => Err(wrong(error.into())),
            found => Ok(found),
        }
    }
}

/// All combinations; the last field changes fastest.
///
/// # Errors
/// A field or a value is given twice, and the errors of [`point`].
pub fn points(input: &WorkloadSource, varied: &[VariedField]) -> Result<Vec<Point>, Error> {
    check_unique(varied)?;
    check_load(input, varied)?;
    let mut combinations: Vec<Vec<(Field, String)>> = vec![Vec::new()];
    for VariedField { field, values } in varied {
        let longer = |one: &Vec<(Field, String)>, value: &String| {
            let mut one = one.clone();
            one.push((field.clone(), value.clone()));
            one
        };
        combinations = combinations.iter().flat_map(|one| values.iter().map(move |value| longer(one, value))).collect();
    }
    combinations.into_iter().map(|values| point(input, values)).collect()
}

/// Refuses duplicate fields and values, because two equal cells would share a directory.
fn check_unique(varied: &[VariedField]) -> Result<(), Error> {
    for (i, VariedField { field, values }) in varied.iter().enumerate() {
        if varied[..i].iter().any(|before| before.field == *field) {
            return Err(Error::FieldTwice { field: field.clone() });
        }
        if let Some((_, value)) = values.iter().enumerate().find(|(j, value)| values[..*j].contains(value)) {
            return Err(Error::ValueTwice { field: field.clone(), value: value.clone() });
        }
    }
    Ok(())
}

/// Refuses a field that a varied load replaces: the rate, and the think time of closed users.
fn check_load(input: &WorkloadSource, varied: &[VariedField]) -> Result<(), Error> {
    let varies = |field: Field| varied.iter().any(|varied| varied.field == field).then_some(field);
    if varies(Field::Load).is_none() {
        return Ok(());
    }
    let is_closed = || Ok::<bool, Error>(matches!(input.parse(&input.text)?.sessions(), Sessions::Closed(_)));
    match (varies(Field::Rate), varies(Field::Think)) {
        (Some(field), _) => Err(Error::LoadSets { field }),
        (None, Some(field)) if is_closed()? => Err(Error::LoadSets { field }),
        _ => Ok(()),
    }
}

/// The workload of `input` with these values.
///
/// # Errors
/// The workload is invalid, it has no such field, or it is invalid with this value.
pub fn point(input: &WorkloadSource, values: Vec<(Field, String)>) -> Result<Point, Error> {
    let mut load = None;
    if values.is_empty() {
        let (text, workload) = input.parse_with_files(&input.text)?;
        return Ok(Point { values, text, workload, load });
    }
    // Errors of the file itself first, with their line numbers.
    input.parse(&input.text)?;
    let mut document: DocumentMut = input.text.parse().expect("a workload is TOML");
    for (field, value) in &values {
        let wrong = |why| Error::Value { field: field.clone(), value: value.clone(), reason: why };
        if *field == Field::Load {
            load = Some(value.parse().map_err(|_| wrong(format!("`{value}` is not a number")))?);
        } else {
            set(&mut document, field, value).map_err(wrong)?;
        }
    }
    let (text, workload) =
        input.parse_with_files(&document.to_string()).map_err(Error::from).map_err(Error::at(name(&values)))?;
    Ok(Point { values, text, workload, load })
}

/// Changes one field of the document.
fn set(document: &mut DocumentMut, field: &Field, value: &str) -> Result<(), String> {
    let number = || value.parse::<f64>().map_err(|_| format!("`{value}` is not a number"));
    match field {
        Field::Discipline => put(table(document, "server")?, "discipline", Value::from(value)),
        Field::Scv => {
            let server = table(document, "server")?;
            let mean = mean_of(server.get("service"))?;
            let scv = number()?;
            let distribution = if scv < 1.0 { "gamma" } else { "hyperexponential" };
            let mut inner = InlineTable::new();
            inner.insert("mean", Value::from(mean));
            inner.insert("scv", Value::from(scv));
            put(server, "service", one_key(distribution, Value::InlineTable(inner)));
        }
        Field::Users => put(model(document, &["closed"])?, "users", Value::from(number()? as i64)),
        Field::Rate => put(model(document, &["open", "partly_open", "replay"])?, "rate", Value::from(rate(value))),
        Field::Think => {
            let sessions = model(document, &["closed", "partly_open"])?;
            let distribution =
                sessions.get("think").and_then(Item::as_table_like).and_then(|distribution| distribution.iter().next());
            let name = match distribution {
                Some((name, item)) if item.is_str() => name.to_owned(),
                Some((name, _)) => {
                    return Err(format!(
                        "the think time distribution {name} has more parameters than its mean; vary one parameter by its path"
                    ));
                }
                None => "exponential".to_owned(),
            };
            put(sessions, "think", one_key(&name, Value::from(value)));
        }
        Field::SessionLength => {
            let sessions = model(document, &["partly_open"])?;
            sessions.remove("stay");
            put(sessions, "length", one_key("mean", Value::from(number()?)));
        }
        Field::Load | Field::Seed | Field::At(_) => at_path(document, field.name(), value)?,
    }
    Ok(())
}

/// `text` with the arrival rate or the think time of `workload`, which is otherwise the same.
pub(crate) fn with_load_of(text: &str, workload: &Workload) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|_| "the workload is not TOML".to_owned())?;
    let sessions = match workload.sessions() {
        Sessions::Closed(closed) => {
            let think: Value = closed
                .think()
                .to_string()
                .parse()
                .map_err(|_| "the think time cannot be written as TOML".to_owned())?;
            put(model(&mut document, &["closed"])?, "think", think);
            return Ok(document.to_string());
        }
        Sessions::Open(schedule) | Sessions::PartlyOpen { schedule, .. } => schedule,
        Sessions::Replay(_) | Sessions::Scenarios(_) => {
            return Err("traces and scenarios have fixed loads".to_owned());
        }
    };
    let rate = sessions.rate().as_constant().ok_or("a load needs a constant arrival rate")?;
    put(model(&mut document, &["open", "partly_open"])?, "rate", Value::from(rate.to_string()));
    Ok(document.to_string())
}

/// `rate=50 think=5ms`.
fn name(values: &[(Field, String)]) -> String {
    values.iter().map(|(field, value)| format!("{field}={value}")).collect::<Vec<_>>().join(" ")
}

/// Adds `/s` to a number without unit.
fn rate(value: &str) -> String {
    if value.parse::<f64>().is_ok() { format!("{value}/s") } else { value.to_owned() }
}

fn put(table: &mut dyn TableLike, key: &str, value: Value) {
    table.insert(key, Item::Value(value));
}

fn one_key(key: &str, value: Value) -> Value {
    let mut table = InlineTable::new();
    table.insert(key, value);
    Value::InlineTable(table)
}

fn table<'d>(document: &'d mut DocumentMut, key: &str) -> Result<&'d mut dyn TableLike, String> {
    document.get_mut(key).and_then(Item::as_table_like_mut).ok_or_else(|| format!("the workload has no [{key}]"))
}

/// The table of the system model, one of `models`.
fn model<'d>(document: &'d mut DocumentMut, models: &[&str]) -> Result<&'d mut dyn TableLike, String> {
    let missing = || format!("the workload's arrivals are not {}", models.join(" or "));
    let arrivals = table(document, "arrivals")?;
    let name = models.iter().find(|name| arrivals.contains_key(name)).ok_or_else(missing)?;
    arrivals.get_mut(name).and_then(Item::as_table_like_mut).ok_or_else(missing)
}

/// The mean of a distribution as written, such as `"10ms"`.
fn mean_of(distribution: Option<&Item>) -> Result<String, String> {
    let distribution = distribution
        .and_then(Item::as_table_like)
        .and_then(|distribution| distribution.iter().next())
        .map(|(_, inner)| inner);
    let mean = distribution.and_then(|inner| inner.as_str().or_else(|| inner.as_table_like()?.get("mean")?.as_str()));
    mean.map(str::to_owned)
        .ok_or_else(|| "the service time distribution is not given by its mean, so its scv cannot be set".to_owned())
}

/// Changes a field by its path, such as `server.servers` or `request.0.weight`. The last key may be new, the others must exist.
fn at_path(document: &mut DocumentMut, path: &str, value: &str) -> Result<(), String> {
    let mut keys: Vec<&str> = path.split('.').collect();
    let last = keys.pop().unwrap_or_default();
    let mut at: &mut dyn TableLike = document.as_table_mut();
    let mut keys = keys.into_iter();
    while let Some(key) = keys.next() {
        let missing = || format!("the workload has no `{key}`, which is part of the path {path}");
        let item = at.get_mut(key).ok_or_else(missing)?;
        at = if item.is_array_of_tables() {
            let index = keys.next().and_then(|index| index.parse::<usize>().ok());
            let found: Option<&mut Table> = index.and_then(|i| item.as_array_of_tables_mut()?.get_mut(i));
            found.ok_or_else(|| format!("`{key}` is a list; write {key}.0 for its first entry"))?
        } else {
            item.as_table_like_mut().ok_or_else(missing)?
        };
    }
    let value = value.parse::<Value>().unwrap_or_else(|_| Value::from(value));
    put(at, last, value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &str, field: &str, value: &str) -> Result<String, String> {
        let mut document: DocumentMut = text.parse().unwrap();
        set(&mut document, &field.into(), value)?;
        Ok(document.to_string())
    }

    #[test]
    fn a_load_becomes_a_rate_or_a_think_time() {
        let server = "server = { discipline = \"ps\", service = { exponential = \"10ms\" } }";
        for (arrivals, found) in [
            ("open.rate = \"1/s\"", "\"70/s\""),
            ("partly_open = { rate = \"1/s\", stay = 0.5, think = { constant = \"1s\" } }", "35/s"),
            ("closed = { users = 1, think = { exponential = \"1s\" } }", "0.00428571"),
        ] {
            let text = format!("duration = \"1s\"\narrivals.{arrivals}\n{server}\n");
            let input = WorkloadSource::new("w.toml".to_owned(), text, |_| Err(String::new()));
            let point = points(&input, &["load=0.7".parse().unwrap()]).unwrap().remove(0);
            let (point, unmeasurable) = crate::simulation::with_load(&input, point, &mut |_| ()).unwrap();
            assert!(unmeasurable.is_none());
            assert!(point.load.is_none() && point.text.contains(found), "{}", point.text);
        }
        // A load without a steady state is a point like any other, which is marked.
        let text = format!("duration = \"1s\"\narrivals.open.rate = \"1/s\"\n{server}\n");
        let input = WorkloadSource::new("w.toml".to_owned(), text, |_| Err(String::new()));
        let mut all = points(&input, &["load=0.5,1.5".parse().unwrap()]).unwrap();
        let (overloaded, reason) = crate::simulation::with_load(&input, all.remove(1), &mut |_| ()).unwrap();
        assert!(overloaded.text.contains("150/s"), "{}", overloaded.text);
        assert!(reason.unwrap().to_string().contains("the load is 1.500"));
        // 120/s as a floating-point number is 119.99999999999999.
        let point = points(&input, &["load=1.2".parse().unwrap()]).unwrap().remove(0);
        let (point, _) = crate::simulation::with_load(&input, point, &mut |_| ()).unwrap();
        assert!(point.text.contains("\"120/s\""), "{}", point.text);
    }

    #[test]
    fn a_field_that_the_load_sets_is_not_varied_with_it() {
        let refused = |arrivals: &str, field: &str| {
            let text = format!(
                "duration = \"1s\"\narrivals.{arrivals}\nserver = {{ service = {{ exponential = \"10ms\" }} }}\n"
            );
            let input = WorkloadSource::new("w.toml".to_owned(), text, |_| Err(String::new()));
            let varied: Vec<VariedField> = ["load=0.5", field].iter().map(|text| text.parse().unwrap()).collect();
            points(&input, &varied).err().map(|error| error.to_string())
        };
        let open = "open.rate = \"1/s\"";
        let closed = "closed = { users = 3, think = { exponential = \"1s\" } }";
        assert!(refused(open, "rate=1,2").unwrap().contains("`load` sets `rate`"));
        assert!(refused(closed, "think=1s,2s").unwrap().contains("`load` sets `think`"));
        assert_eq!((refused(open, "seed=1,2"), refused(closed, "users=3,4")), (None, None));
    }

    #[test]
    fn ranges_include_both_ends_and_are_rounded() {
        let values = |text: &str| text.parse::<VariedField>().unwrap().values;
        assert_eq!(values("load=0.1..0.95:0.05").len(), 18);
        assert_eq!(values("load=0.1..0.4:0.1"), ["0.1", "0.2", "0.3", "0.4"]);
        assert_eq!(values("users=10..30:10"), ["10", "20", "30"]);
        assert_eq!(values("think=1ms, 10ms"), ["1ms", "10ms"]);
        for text in ["load", "=1", "load=", "load=1..0:0.1", "load=0..1:0", "load=a..b:c", "load=1,,2"] {
            assert!(
                text.parse::<VariedField>().unwrap_err().to_string().contains("is not a field with its values"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_range_with_too_many_values_is_refused() {
        let why = "rate=1..1000000:0.001".parse::<VariedField>().unwrap_err().to_string();
        assert!(why.contains("these are 999999001 values, more than 10000"), "{why}");
    }

    #[test]
    fn duplicate_fields_and_values_are_refused() {
        let vary = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<VariedField>>();
        assert!(check_unique(&vary(&["rate=1,2", "seed=1,2"])).is_ok());
        for (texts, why) in
            [(&["rate=1,2,1"][..], "rate=1 is given twice"), (&["rate=1", "rate=2"], "rate is varied twice")]
        {
            let message = check_unique(&vary(texts)).unwrap_err().to_string();
            assert!(message.contains(why), "{texts:?}: {message}");
        }
    }

    #[test]
    fn short_names_change_their_fields() {
        let server = "[server]\nservice = { exponential = \"10ms\" }\n";
        let closed = "arrivals.closed = { users = 3 }\n";
        let partly = "arrivals.partly_open = { rate = \"3/s\", stay = 0.5, think = { constant = \"1s\" } }\n";
        for (text, field, value, has) in [
            (server, "scv", "8", "hyperexponential = { mean = \"10ms\", scv = 8.0 }"),
            (server, "scv", "0.5", "gamma = { mean = \"10ms\", scv = 0.5 }"),
            (server, "discipline", "srpt", "discipline = \"srpt\""),
            (server, "server.servers", "4", "servers = 4"),
            (closed, "users", "40", "users = 40"),
            (closed, "think", "1s", "exponential = \"1s\""),
            (partly, "think", "2s", "constant = \"2s\""),
            (partly, "rate", "9/s", "rate = \"9/s\""),
            (partly, "rate", "9.5", "rate = \"9.5/s\""),
            (partly, "session_length", "5", "mean = 5.0"),
            ("[[request]]\nget = \"/\"\n", "request.0.weight", "3", "weight = 3"),
        ] {
            let text = after(text, field, value).unwrap();
            assert!(text.contains(has), "{field}={value}: {text}");
        }
        for (text, field, value, why) in [
            (server, "users", "3", "[arrivals]"),
            (closed, "rate", "3/s", "not open or partly_open"),
            (closed, "users", "many", "not a number"),
            (server, "a.b", "3", "no `a`"),
            ("[server]\nservice = { uniform = [\"1s\", \"2s\"] }\n", "scv", "2", "not given by its mean"),
        ] {
            let error = after(text, field, value).unwrap_err();
            assert!(error.contains(why), "{field}={value}: {error}");
        }
    }
}
