//! A report as `JUnit` XML: every check of a run is a test case that passed, failed or was skipped.

use std::io;

use offered_base::visible;
use offered_verify::{CheckResult, Finding, RequestStats, Validity, Verdict};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use crate::check_counts::CheckCounts;
use crate::document::{Banner, Status};
use crate::format::number;
use crate::report::{Report, Run};
use crate::sections::verdict;

/// A check of a run.
struct Case {
    name: String,
    status: Status,
    /// The measured value or the reason, as text.
    message: String,
}

/// A test suite per run, a test case per threshold and finding.
///
/// # Errors
/// None in practice: it writes to memory.
pub fn junit(report: &Report) -> io::Result<String> {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    writer
        .create_element("testsuites")
        .with_attribute(("name", "offered"))
        .write_inner_content(|writer| report.runs.iter().try_for_each(|run| suite(writer, run)))?;
    let mut text = String::from_utf8_lossy(&writer.into_inner()).into_owned();
    text.push('\n');
    Ok(text)
}

fn suite(writer: &mut Writer<Vec<u8>>, run: &Run) -> io::Result<()> {
    let cases = cases(run);
    let count = |status| cases.iter().filter(|case| case.status == status).count().to_string();
    let name = visible(&run.name);
    let suite = writer.create_element("testsuite").with_attributes([
        ("name", &*name),
        ("tests", &cases.len().to_string()),
        ("failures", &count(Status::Failed)),
        ("skipped", &count(Status::NotChecked)),
    ]);
    suite.write_inner_content(|writer| cases.iter().try_for_each(|case| write_case(writer, &name, case)))?;
    Ok(())
}

fn write_case(writer: &mut Writer<Vec<u8>>, suite: &str, case: &Case) -> io::Result<()> {
    let (name, found) = (visible(&case.name), visible(&case.message));
    let element = writer.create_element("testcase").with_attributes([("classname", suite), ("name", &*name)]);
    match case.status {
        Status::Passed | Status::Warning => element.write_inner_content(|writer| {
            writer.create_element("system-out").write_text_content(BytesText::new(&found)).map(|_| ())
        })?,
        Status::Failed => element.write_inner_content(|writer| {
            writer.create_element("failure").with_attribute(("message", &*found)).write_empty().map(|_| ())
        })?,
        Status::NotChecked => element.write_inner_content(|writer| {
            writer.create_element("skipped").with_attribute(("message", &*found)).write_empty().map(|_| ())
        })?,
    };
    Ok(())
}

/// The verdict, stability, thresholds, requests and their checks, then findings.
fn cases(run: &Run) -> Vec<Case> {
    let Verdict { validity, reason, .. } = &run.verdict;
    let verdict = Case { name: "verdict".to_owned(), status: (*validity).into(), message: reason.clone() };
    let stability = verdict::stability(&run.verdict).map(|Banner { status, reason, .. }| Case {
        name: "stability".to_owned(),
        status,
        message: reason,
    });
    let thresholds = run.thresholds.iter().map(|checked| Case {
        name: format!("threshold {} {}", checked.threshold.metric, checked.threshold.bound),
        status: checked.result.into(),
        message: checked.value_and_range(),
    });
    // A request fails only if none succeeded; a threshold can limit the share of failures.
    let request = |row: &RequestStats| {
        let status = match (row.requests, row.ok) {
            (0, _) => Status::NotChecked,
            (_, 0) => Status::Failed,
            _ => Status::Passed,
        };
        let time = |ms: Option<f64>| ms.map_or_else(|| "-".to_owned(), number);
        let found = format!(
            "requests {}, ok {}, failed {}; p50 {}, p95 {}, p99 {}, max {} ms",
            row.requests,
            row.ok,
            row.failed,
            time(row.p50_ms),
            time(row.p95_ms),
            time(row.p99_ms),
            time(row.max_ms)
        );
        Case { name: format!("request {}", row.label), status, message: found }
    };
    let check = |tried: &CheckCounts| Case {
        name: format!("request {}: {}", tried.request, tried.check),
        status: tried.result.into(),
        message: match tried.result {
            CheckResult::NotChecked => "no responses".to_owned(),
            _ => format!("{} of {} responses failed", tried.failed, tried.responses),
        },
    };
    let finding = |finding: &Finding| {
        let found =
            finding.estimate.map_or_else(|| "no estimate".to_owned(), |estimate| format!("estimate {estimate}"));
        // A tolerated finding neither passes nor fails the build.
        let (status, found) = match *validity {
            Validity::ValidWithWarnings if finding.failed() => (Status::NotChecked, format!("tolerated: {found}")),
            _ => (finding.result.into(), found),
        };
        Case { name: finding.check.name().to_owned(), status, message: found }
    };
    let statuses = &run.verdict.statuses;
    let statuses = (!statuses.is_empty()).then(|| Case {
        name: "HTTP statuses".to_owned(),
        status: Status::Passed,
        message: statuses.iter().map(|(status, n)| format!("{n} of {status}")).collect::<Vec<_>>().join(", "),
    });
    let requests = run.verdict.requests.iter().map(request).chain(statuses).chain(run.checks.iter().map(check));
    let findings = run.verdict.findings.iter().map(finding);
    [verdict].into_iter().chain(stability).chain(thresholds).chain(requests).chain(findings).collect()
}
