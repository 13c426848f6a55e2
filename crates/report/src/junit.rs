//! A report as `JUnit` XML: every check of a run is a test case that passed, failed or was skipped, for a CI to count.

use std::io;

use offered_verify::{Finding, Judgement, Request, Verdict};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use crate::checks::Tried;
use crate::document::{Banner, short};
use crate::report::{Report, Run};
use crate::sections::answer;

/// A check of a run.
struct Case {
    name: String,
    judgement: Judgement,
    /// What was found, in words.
    found: String,
}

/// A test suite per run, a test case per threshold and finding.
///
/// # Errors
/// None that a report can cause: the sink is a vector.
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
    let count = |judgement| cases.iter().filter(|case| case.judgement == judgement).count().to_string();
    let name = xml(&run.name);
    let suite = writer.create_element("testsuite").with_attributes([
        ("name", name.as_str()),
        ("tests", &cases.len().to_string()),
        ("failures", &count(Judgement::Fails)),
        ("skipped", &count(Judgement::NotChecked)),
    ]);
    suite.write_inner_content(|writer| cases.iter().try_for_each(|case| write_case(writer, &name, case)))?;
    Ok(())
}

fn write_case(writer: &mut Writer<Vec<u8>>, suite: &str, case: &Case) -> io::Result<()> {
    let (name, found) = (xml(&case.name), xml(&case.found));
    let element = writer.create_element("testcase").with_attributes([("classname", suite), ("name", &name)]);
    match case.judgement {
        Judgement::Holds | Judgement::HoldsWithDoubt => element.write_inner_content(|writer| {
            writer.create_element("system-out").write_text_content(BytesText::new(&found)).map(|_| ())
        })?,
        Judgement::Fails => element.write_inner_content(|writer| {
            writer.create_element("failure").with_attribute(("message", found.as_str())).write_empty().map(|_| ())
        })?,
        Judgement::NotChecked => element.write_inner_content(|writer| {
            writer.create_element("skipped").with_attribute(("message", found.as_str())).write_empty().map(|_| ())
        })?,
    };
    Ok(())
}

/// The last word first, then thresholds, what came of each request and its checks, then findings.
fn cases(run: &Run) -> Vec<Case> {
    let Verdict { judgement, because, .. } = &run.verdict;
    let verdict = Case { name: "verdict".to_owned(), judgement: *judgement, found: because.clone() };
    let keeps_up = answer::keeps_up(&run.verdict).map(|Banner { judgement, because, .. }| Case {
        name: "keeps up".to_owned(),
        judgement,
        found: because,
    });
    let thresholds = run.thresholds.iter().map(|checked| Case {
        name: format!("threshold {} {}", checked.threshold.metric, checked.threshold.bound),
        judgement: checked.judgement,
        found: checked.found(),
    });
    // Whether a share of failures is too many is for a threshold to say; here a request fails of which none went well.
    let request = |row: &Request| {
        let judgement = match (row.launches, row.ok) {
            (0, _) => Judgement::NotChecked,
            (_, 0) => Judgement::Fails,
            _ => Judgement::Holds,
        };
        let time = |ms: Option<f64>| ms.map_or_else(|| "-".to_owned(), short);
        let found = format!(
            "launches {}, ok {}, failed {}; p50 {}, p95 {}, p99 {}, max {} ms",
            row.launches,
            row.ok,
            row.failed,
            time(row.p50_ms),
            time(row.p95_ms),
            time(row.p99_ms),
            time(row.max_ms)
        );
        Case { name: format!("request {}", row.label), judgement, found }
    };
    let check = |tried: &Tried| Case {
        name: format!("request {}: {}", tried.request, tried.check),
        judgement: tried.judgement,
        found: match tried.judgement {
            Judgement::NotChecked => "nothing was answered".to_owned(),
            _ => format!("{} of {} answers failed it", tried.failed, tried.answers),
        },
    };
    let finding = |finding: &Finding| {
        let found =
            finding.estimate.map_or_else(|| "no estimate".to_owned(), |estimate| format!("estimate {estimate}"));
        // What the verdict tolerates breaks no build, and has not passed either.
        let (judgement, found) = match *judgement {
            Judgement::HoldsWithDoubt if finding.fails() => (Judgement::NotChecked, format!("tolerated: {found}")),
            _ => (finding.judgement, found),
        };
        Case { name: finding.check.name().to_owned(), judgement, found }
    };
    let said = &run.verdict.statuses;
    let statuses = (!said.is_empty()).then(|| Case {
        name: "HTTP statuses".to_owned(),
        judgement: Judgement::Holds,
        found: said.iter().map(|(status, n)| format!("{n} of {status}")).collect::<Vec<_>>().join(", "),
    });
    let requests = run.verdict.requests.iter().map(request).chain(statuses).chain(run.checks.iter().map(check));
    let findings = run.verdict.tests.iter().map(finding);
    [verdict].into_iter().chain(keeps_up).chain(thresholds).chain(requests).chain(findings).collect()
}

/// A text without the control characters that XML cannot hold in any form.
fn xml(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && !"\t\n\r".contains(c) { '\u{fffd}' } else { c }).collect()
}
