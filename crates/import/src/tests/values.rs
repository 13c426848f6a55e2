//! Values that requests need: what a login extracts, and names that have no value; and refusals that name the cause.

use offered_workload::script::{CsvFormat, OnFailure};

use super::semantics::{element, has, paths, under};
use super::*;

#[test]
fn the_values_of_a_once_only_login_are_known_to_later_requests() {
    let extractor = element(
        "RegexExtractor",
        &[
            ("RegexExtractor.refname", "tok"),
            ("RegexExtractor.regex", "t=(x)"),
            ("RegexExtractor.template", "$1$"),
            ("RegexExtractor.match_number", "1"),
            ("RegexExtractor.default", "none"),
        ],
    );
    let login = under("OnceOnlyController", &[], &get("login", &extractor));
    let (plan, workload) = one(&threads(1, 0, &[login, get("buy?t=${tok}", "")].concat()));
    assert_eq!(paths(&plan), ["/login", "/buy?t={{tok}}"]);
    assert!(plan.variables.is_empty() && plan.notes.is_empty(), "{:?}", plan.notes());
    assert!(workload.to_string().contains("[once]"), "{workload}");
}

#[test]
fn a_path_that_begins_with_an_unset_variable_is_refused_by_its_name() {
    let plan = threads(1, 0, &get("a", "").replace("/a<", "${tokenEndpoint}/token<"));
    match read(&plan, "f", None) {
        Err(Error::UnresolvedHost { kind: ParameterKind::Variable, name, .. }) => assert_eq!(name, "tokenEndpoint"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_plan_without_requests_is_an_error_with_the_reason() {
    let refused = |text: &str| read(text, "f", None).unwrap_err().to_string();
    let plan = threads(1, 0, &get("a", ""));
    let disabled =
        plan.replace("<ThreadGroup testname=\"people\">", "<ThreadGroup testname=\"people\" enabled=\"false\">");
    assert!(refused(&disabled).contains("disabled: `people` (line 3); set enabled=\"true\""), "{}", refused(&disabled));
    let unknown = plan
        .replace("ThreadGroup testname", "a.b.RampThreadGroup testname")
        .replace("</ThreadGroup>", "</a.b.RampThreadGroup>");
    let unknown = refused(&unknown);
    assert!(unknown.contains("`people` (line 3) of class RampThreadGroup is not a known kind"), "{unknown}");
    assert!(refused(&jmx(&get("a", ""))).contains("the file has no thread group"));
}

#[test]
fn reactions_to_errors_are_those_of_the_requests() {
    let reaction = |reaction: &str| {
        let more = format!("<stringProp name=\"ThreadGroup.on_sample_error\">{reaction}</stringProp></ThreadGroup>");
        let (plan, _) = one(&threads(1, 0, &get("a", "")).replace("</ThreadGroup>", &more));
        (plan.requests[0].on_failure, plan.notes().concat())
    };
    let (next, note) = reaction("startnextloop");
    assert!(next == OnFailure::EndSession && note.contains("without cookies and values"), "{note}");
    let (thread, note) = reaction("stopthread");
    assert!(thread == OnFailure::EndSession && note.contains("stops the thread after an error"), "{note}");
    assert_eq!(reaction("stoptest"), (OnFailure::Stop, String::new()));
    assert_eq!(reaction("continue"), (OnFailure::Continue, String::new()));
}

/// A plan that reads `data.csv` with this content.
fn with_data(content: &'static str, properties: &[(&str, &str)]) -> (Vec<String>, CsvFormat, Plan) {
    let read = |name: &str| if name == "data.csv" { Ok(content.to_owned()) } else { Err("not there".to_owned()) };
    let given = ImportOptions { read_include: Some(&read), ..ImportOptions::default() };
    let data = element("CSVDataSet", &[&[("filename", "data.csv")], properties].concat());
    let plan =
        super::super::read(&threads(1, 0, &[data, get("a?${user}", "")].concat()), "f", &given).unwrap().remove(0);
    let ValueSource::File { columns, format, .. } = &plan.variables[0].value else { panic!("{plan:?}") };
    (columns.clone(), *format, plan)
}

#[test]
fn data_files_of_every_form_are_read_as_jmeter_reads_them() {
    let usual = CsvFormat::default();
    let (columns, format, plan) = with_data("u1,p1\nu2,p2\n", &[("variableNames", "user,pass")]);
    assert_eq!((columns, format, plan.notes()), (vec!["user".to_owned(), "pass".to_owned()], usual, vec![]));
    let (_, format, plan) = with_data(
        "user;pass\nu1;p1\n",
        &[("variableNames", "user,pass"), ("delimiter", ";"), ("ignoreFirstLine", "true")],
    );
    assert_eq!((format, plan.notes()), (CsvFormat { separator: b';', skip_lines: 1, ..usual }, vec![]));
    assert!(plan.text("f").unwrap().contains("separator = \";\", skip_lines = 1"));
    // The first line names the variables, in quotes or not.
    let (columns, format, plan) = with_data("\"user\"\\tage\n".replace("\\t", "\t").leak(), &[("delimiter", "\\t")]);
    assert_eq!((columns, format.separator, format.skip_lines), (vec!["user".to_owned(), "age".to_owned()], b'\t', 1));
    assert_eq!(paths(&plan), ["/a?{{data.user}}"]);
    // Without `quotedData` quotes are sent.
    let (_, format, _) = with_data("\"u1\",2\n", &[("variableNames", "user,n")]);
    assert!(!format.quotes);
    let (_, format, _) = with_data("\"u1\",2\n", &[("variableNames", "user,n"), ("quotedData", "true")]);
    assert!(format.quotes);
    let (_, format, plan) = with_data("u1,1,x\n\nu2\n", &[("variableNames", "user,n")]);
    assert!(format.ragged && has(&plan, "fewer than 2 values") && has(&plan, "blank lines"), "{:?}", plan.notes());
}

#[test]
fn rows_that_groups_share_are_noted() {
    let data = element("CSVDataSet", &[("filename", "d.csv"), ("variableNames", "v")]);
    let group = |name: &str| format!("<ThreadGroup testname=\"{name}\"/><hashTree>{}</hashTree>", get("a?${v}", ""));
    let notes = |content: &str| read(&jmx(content), "f", None).unwrap()[0].notes().concat();
    assert!(notes(&[data.clone(), group("x"), group("y")].concat()).contains("all thread groups share its rows"));
    assert!(!notes(&[data, group("x")].concat()).contains("share its rows"));
}
