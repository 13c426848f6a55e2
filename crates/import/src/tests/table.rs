//! Checks `tests/import/jmeter.csv`: all elements and functions of 262 public plans, their meaning in `JMeter`, and
//! their translation. `tests/foreign` checks that the table is complete.

use super::*;

const TABLE: &str = include_str!("../../../../tests/import/jmeter.csv");

/// Sets the variable `k`.
const EXTRACTS: &str = "<RegexExtractor><stringProp name=\"RegexExtractor.refname\">k</stringProp><stringProp name=\"RegexExtractor.regex\">k=(.)</stringProp><stringProp name=\"RegexExtractor.template\">$1$</stringProp><stringProp name=\"RegexExtractor.match_number\">1</stringProp></RegexExtractor><hashTree/>";

/// A row of the table.
#[derive(Debug)]
struct Row {
    kind: String,
    /// Class of an element, or name of a function.
    name: String,
    /// Position in the plan.
    place: String,
    /// The call of a function, or the properties of an element as XML or `name=value;name=value`.
    sample: String,
    /// `exact`, `noted` or `refused`.
    how: String,
    /// Text that the workload, the note or the error must contain.
    shows: String,
}

fn table() -> Vec<Row> {
    let mut reader = csv::Reader::from_reader(TABLE.as_bytes());
    let row = |record: csv::StringRecord| {
        let cell = |at: usize| record[at].to_owned();
        Row { kind: cell(0), name: cell(1), place: cell(2), sample: cell(3), how: cell(6), shows: cell(7) }
    };
    reader.records().map(|record| row(record.unwrap())).collect()
}

/// An element with this class and these properties.
fn opened(name: &str, sample: &str) -> String {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    if sample.starts_with('<') {
        return format!("<{name} testname=\"it\">{sample}</{name}>");
    }
    let (mut attributes, mut inside) = (String::new(), String::new());
    for (key, value) in sample.split(';').filter_map(|pair| pair.split_once('=')) {
        match key.strip_prefix('@') {
            Some(attribute) => attributes += &format!(" {attribute}=\"{value}\""),
            None => inside += &format!("<stringProp name=\"{key}\">{}</stringProp>", escaped(value)),
        }
    }
    format!("<{name} testname=\"it\"{attributes}>{inside}</{name}>")
}

/// A plan that contains the element or function of the row.
fn plan_with(row: &Row) -> String {
    let two = [get("a", ""), get("b", "")].concat();
    let asks = get("z-${k}", "");
    let element = opened(&row.name, &row.sample);
    match row.place.as_str() {
        "whole" => threads(1, 0, &get("a", "")),
        "beside" => threads(1, 0, &get("a", "")).replace(
            "</hashTree></jmeterTestPlan>",
            &format!("{element}<hashTree>{two}</hashTree></hashTree></jmeterTestPlan>"),
        ),
        "group" => jmx(&format!("{element}<hashTree>{two}</hashTree>")),
        "controller" => threads(1, 0, &format!("{element}<hashTree>{two}</hashTree>{}", get("c", ""))),
        // The first request extracts `k`, and so do those in the controller.
        "controller-after" => {
            let inside = [get("a", EXTRACTS), get("b", "")].concat();
            threads(1, 0, &format!("{}{element}<hashTree>{inside}</hashTree>", get("first", EXTRACTS)))
        }
        "path-after" => threads(1, 0, &[get("first", EXTRACTS), get(&format!("z-{}", row.sample), "")].concat()),
        "group-level" => threads(3, 0, &format!("{element}<hashTree/>{asks}")),
        "plan-level" => threads(1, 0, &get("a", ""))
            .replace("<ThreadGroup", &format!("{element}<hashTree>{two}</hashTree><ThreadGroup")),
        "path" => {
            let own = "<Arguments><collectionProp name=\"Arguments.arguments\"><elementProp name=\"k\"><stringProp name=\"Argument.value\">kv</stringProp></elementProp></collectionProp></Arguments><hashTree/>";
            let path = format!(
                "<HTTPSamplerProxy testname=\"z\"><stringProp name=\"HTTPSampler.path\">/z-{}</stringProp></HTTPSamplerProxy><hashTree/>",
                row.sample
            );
            threads(1, 0, &format!("{own}{path}"))
        }
        other => panic!("{row:?}: no place is called {other}"),
    }
}

#[test]
fn every_row_of_the_table_holds() {
    let mut wrong = Vec::new();
    for row in table() {
        let text = plan_with(&row);
        let class = row.name.rsplit('.').next().unwrap();
        let result = match read(&text, "plan.jmx", None) {
            Err(error) => (String::new(), Vec::new(), error.to_string()),
            Ok(plans) => {
                let notes = plans[0].notes.clone();
                (plans[0].text("plan.jmx").unwrap(), notes, String::new())
            }
        };
        let (workload, notes, refusal) = result;
        let own = |note: &&Note| match row.kind.as_str() {
            "function" => note.message.contains(&row.name) || note.message.contains(&row.shows),
            _ => note.element == format!("{class} `it`"),
        };
        let own: Vec<&Note> = notes.iter().filter(own).collect();
        let body = workload.split_once("duration = ").map_or("", |(_, body)| body);
        let holds = match row.how.as_str() {
            "exact" => own.is_empty() && body.contains(&row.shows),
            "noted" => {
                own.iter().any(|note| note.message.contains(&row.shows) && !note.message.contains("unknown element"))
            }
            "refused" => refusal.contains(&row.shows),
            _ => false,
        };
        if !holds {
            wrong.push(format!("{row:?}\n  notes {own:?} {refusal}\n  {workload}"));
        }
    }
    assert!(wrong.is_empty(), "{} rows do not hold:\n{}", wrong.len(), wrong.join("\n"));
}
