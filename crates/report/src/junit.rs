//! A report as `JUnit` XML, with a test case for everything that changes the exit code of `offered run` from 0.
//!
//! No test case is skipped: a check that was not made and does not affect the exit code has no test case. Figures that
//! cannot fail (counts, times, stability) are in the output of the suite.

use std::fmt::Write as _;
use std::io;

use offered_base::visible;
use offered_experiment::RunResult;
use offered_experiment::document::compare::{Change, Document as Comparison};
use offered_verify::{CheckResult, Incomplete, MetricStats, RequestStats, ThresholdResult, Validity, Verdict};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use crate::check_counts::CheckCounts;
use crate::conclusion::{Conclusion, none_succeeded};
use crate::document::Cell;
use crate::format::{number, optional};
use crate::report::Report;
use crate::run::Run;
use crate::sections::compare;
use crate::verdict_lines::Subject;

/// Something that passes or fails.
struct Case {
    name: String,
    fails: bool,
    /// The measured value or the reason, as text.
    message: String,
}

/// The test cases of a run or a comparison.
struct Suite {
    name: String,
    cases: Vec<Case>,
    duration_s: Option<f64>,
    started_at: Option<String>,
    properties: Vec<(&'static str, String)>,
    /// What cannot fail, as text.
    output: String,
}

/// A test suite per run, a test case per threshold, for the validity of the run and of each scenario, and for the success of requests. A
/// test suite per comparison, with a test case for its limit and for failures.
///
/// # Errors
/// None in practice: it writes to memory.
pub fn junit(report: &Report) -> io::Result<String> {
    let suites: Vec<Suite> =
        report.runs.iter().map(of_run).chain(report.comparisons.iter().map(of_comparison)).collect();
    let tests: usize = suites.iter().map(|suite| suite.cases.len()).sum();
    let failures: usize = suites.iter().map(|suite| failed(&suite.cases)).sum();
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    writer
        .create_element("testsuites")
        .with_attributes([
            ("name", "offered"),
            ("tests", tests.to_string().as_str()),
            ("failures", failures.to_string().as_str()),
        ])
        .write_inner_content(|writer| suites.iter().try_for_each(|suite| write_suite(writer, suite)))?;
    let mut text = String::from_utf8_lossy(&writer.into_inner()).into_owned();
    text.push('\n');
    Ok(text)
}

fn of_run(run: &Run) -> Suite {
    let setup = &run.test_setup;
    let seed = setup.seed.map(|seed| seed.to_string());
    let properties = [("target", setup.target.clone()), ("seed", seed), ("version", setup.version.clone())];
    Suite {
        name: run.name.clone(),
        cases: cases(run),
        duration_s: run.chart_data.as_ref().and_then(|data| data.over_time.edges_s.last()).copied(),
        started_at: setup.started_at.clone(),
        properties: properties.into_iter().filter_map(|(name, value)| Some((name, value?))).collect(),
        output: output(run),
    }
}

/// With a limit: the test cases whether the statistic is below it, and whether more requests of B fail. Without a
/// limit: the test case whether the change is known.
fn of_comparison(of: &Comparison) -> Suite {
    let case = |name: String, fails, message: &str| Case { name, fails, message: message.to_owned() };
    let cases = match (of.no_worse_than_percent, of.result) {
        (Some(limit), Some(result)) => {
            let is_below = of.change().and_then(Change::interval).is_some_and(|(_, high)| high < limit);
            let fails = result == CheckResult::NotChecked || result == CheckResult::Failed && !is_below;
            vec![
                case(format!("the {} is no worse than {} %", of.statistic, number(limit)), fails, &of.conclusion),
                case("no more requests fail".to_owned(), of.fails_more(), &compare::failures(of)),
            ]
        }
        _ => {
            let is_known = of.responses.iter().any(|row| row.change_percent.is_some());
            vec![case("the change is known".to_owned(), !is_known, &of.conclusion)]
        }
    };
    let mut output = format!("\n{}: {}\n", of.judgement(), of.conclusion);
    for row in &compare::table(of).rows {
        let cells: Vec<String> = row.iter().map(Cell::text).collect();
        if let [name, a, b, change, interval] = &cells[..] {
            let _ = writeln!(output, "{name}: A {a}, B {b}, change {change}, 95 % interval {interval}");
        }
    }
    for note in compare::notes(of) {
        let _ = writeln!(output, "{}", visible(&note));
    }
    let properties = vec![("a", of.a.name.clone()), ("b", of.b.name.clone())];
    Suite { name: compare::title(of), cases, duration_s: None, started_at: None, properties, output }
}

fn failed(cases: &[Case]) -> usize {
    cases.iter().filter(|case| case.fails).count()
}

fn write_suite(writer: &mut Writer<Vec<u8>>, suite: &Suite) -> io::Result<()> {
    let Suite { name, cases, duration_s, started_at, properties, output } = suite;
    let name = visible(name);
    let mut attributes = vec![
        ("name", name.to_string()),
        ("tests", cases.len().to_string()),
        ("failures", failed(cases).to_string()),
        ("errors", "0".to_owned()),
        ("skipped", "0".to_owned()),
    ];
    attributes.extend(duration_s.map(|seconds| ("time", format!("{seconds:.3}"))));
    attributes.extend(started_at.clone().map(|started| ("timestamp", started)));
    let attributes = attributes.iter().map(|(key, value)| (*key, value.as_str()));
    writer.create_element("testsuite").with_attributes(attributes).write_inner_content(|writer| {
        write_properties(writer, properties)?;
        cases.iter().try_for_each(|case| write_case(writer, &name, case))?;
        writer.create_element("system-out").write_text_content(BytesText::new(output)).map(|_| ())
    })?;
    Ok(())
}

/// The tested target or workload, if it is known.
fn write_properties(writer: &mut Writer<Vec<u8>>, properties: &[(&str, String)]) -> io::Result<()> {
    if properties.is_empty() {
        return Ok(());
    }
    writer.create_element("properties").write_inner_content(|writer| {
        properties.iter().try_for_each(|(name, value)| {
            let attributes = [("name", *name), ("value", &*visible(value))];
            writer.create_element("property").with_attributes(attributes).write_empty().map(|_| ())
        })
    })?;
    Ok(())
}

fn write_case(writer: &mut Writer<Vec<u8>>, suite: &str, case: &Case) -> io::Result<()> {
    let (name, found) = (visible(&case.name), visible(&case.message));
    let element = writer.create_element("testcase").with_attributes([("classname", suite), ("name", &*name)]);
    element.write_inner_content(|writer| {
        if case.fails {
            let failure = writer.create_element("failure").with_attribute(("message", &*found));
            return failure.write_empty().map(|_| ());
        }
        writer.create_element("system-out").write_text_content(BytesText::new(&found)).map(|_| ())
    })?;
    Ok(())
}

/// The validity, the success of requests, and the thresholds. If the run is invalid, the case of the validity fails. A
/// failure that stopped the run has a case of its own.
fn cases(run: &Run) -> Vec<Case> {
    let verdict = &run.verdict;
    let is_invalid = verdict.validity == Validity::Invalid;
    let coverage = verdict.incomplete.as_ref().and_then(Incomplete::coverage);
    let coverage = coverage.map_or_else(String::new, |coverage| format!("; {coverage}"));
    let validity = (verdict.validity != Validity::NotChecked).then(|| Case {
        name: "the run is valid".to_owned(),
        fails: is_invalid,
        message: format!("{}{coverage}", verdict.reason),
    });
    // An invalid scenario makes the run invalid.
    let scenario = |one: &Verdict| Case {
        name: format!("the scenario {} is valid", one.source.path),
        fails: one.validity == Validity::Invalid,
        message: one.reason.clone(),
    };
    let scenarios = verdict.scenarios.iter().filter(|one| one.validity != Validity::NotChecked).map(scenario);
    let total = verdict.requests.last().filter(|total| total.requests > 0);
    let success = total.map(|RequestStats { requests, ok, .. }| Case {
        name: "requests succeed".to_owned(),
        fails: none_succeeded(run),
        message: format!("{ok} of {requests} requests succeeded"),
    });
    let threshold = |checked: &ThresholdResult| Case {
        name: format!("threshold {}", checked.threshold),
        fails: checked.result != CheckResult::Passed,
        message: match checked.result {
            CheckResult::NotChecked => format!("not checked: {}", checked.value_and_range()),
            CheckResult::Passed | CheckResult::Failed => checked.value_and_range(),
        },
    };
    // Of one worker's share, only `verify` of the whole run can check some thresholds.
    let is_left =
        |checked: &&ThresholdResult| is_invalid || checked.result == CheckResult::NotChecked && checked.passed_here();
    let thresholds = run.thresholds.iter().filter(|checked| !is_left(checked)).map(threshold);
    let mut cases: Vec<Case> = validity.into_iter().chain(scenarios).chain(success).chain(thresholds).collect();
    if run.result.is_some_and(|result| result != RunResult::Passed) && failed(&cases) == 0 {
        let end = Conclusion::of(run).lines.into_iter().find(|line| line.subject == Subject::End);
        let message = end.map_or_else(String::new, |line| line.text);
        cases.push(Case { name: "the run ends by itself".to_owned(), fails: true, message });
    }
    cases
}

/// `, 7 not sent`; empty if all were sent.
fn unsent_text(run: &Run, n: u64) -> String {
    if n == 0 { String::new() } else { format!(", {n} {}", run.verdict.not_sent_heading()) }
}

/// The first lines of every output, and a line per request.
fn output(run: &Run) -> String {
    let mut text = String::from("\n");
    for line in Conclusion::of(run).lines {
        let _ = write!(text, "{}: {}", line.judgement, visible(&line.text));
        for fix in run.fixes(&line) {
            let _ = write!(text, "; fix: {}", visible(&fix));
        }
        text.push('\n');
    }
    for scenario in &run.verdict.scenarios {
        let (name, requests) = (visible(&scenario.source.path), scenario.requests.last().map_or(0, |all| all.requests));
        let reason = visible(&scenario.reason);
        let _ = writeln!(text, "scenario {name}: {}: {reason}; {requests} requests", scenario.validity.text());
    }
    for row in &run.verdict.requests {
        let RequestStats { label, requests, ok, not_sent, p50_ms, p95_ms, p99_ms, max_ms, .. } = row;
        let (failed, not_sent) = (row.failed_after_sending(), unsent_text(run, *not_sent));
        let [p50, p95, p99, max] = [p50_ms, p95_ms, p99_ms, max_ms].map(|time| optional(*time));
        let label = visible(label);
        let _ = writeln!(
            text,
            "{label}: {requests} requests, {ok} ok, {failed} failed{not_sent}; response time of successes in ms: p50 {p50}, p95 {p95}, p99 {p99}, max {max}"
        );
    }
    if let Some(visits) = &run.verdict.visits {
        let _ = writeln!(text, "visits: {}", visits.text());
        for group in &visits.groups {
            let _ = writeln!(text, "group {}: {}", visible(&group.label), group.text());
        }
    }
    for MetricStats { metric, n, mean, p95, max, .. } in &run.verdict.metrics {
        let [mean, p95, max] = [mean, p95, max].map(|value| optional(*value));
        let _ = writeln!(text, "metric {}: {n} responses; mean {mean}, p95 {p95}, max {max}", visible(metric));
    }
    for (status, n) in &run.verdict.statuses {
        let _ = writeln!(text, "status {status}: {n} responses");
    }
    for CheckCounts { request, check, responses, failed, .. } in &run.checks {
        let (request, check) = (visible(request), visible(check));
        let _ = writeln!(text, "check {check} of {request}: {failed} of {responses} responses failed");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_events::recording::End;
    use offered_verify::{Warning, WarningKind};

    fn text(run: &Run) -> String {
        junit(&Report::new(vec![run.clone()])).unwrap()
    }

    #[test]
    fn a_test_case_fails_if_and_only_if_the_run_does() {
        let mut run = crate::tests::run("r", 20.0);
        let threshold = |result| ThresholdResult {
            result,
            ..ThresholdResult::check_interim(&"p99 < 1s".parse().unwrap(), Some(0.1))
        };
        run.result = Some(RunResult::Passed);
        run.thresholds = vec![threshold(CheckResult::Passed)];
        assert!(text(&run).contains("tests=\"3\" failures=\"0\""), "{}", text(&run));
        (run.result, run.thresholds) = (Some(RunResult::Failed), vec![threshold(CheckResult::Failed)]);
        assert!(text(&run).contains("tests=\"3\" failures=\"1\""), "{}", text(&run));
        // The thresholds of an invalid run are not checked: the validity fails alone.
        (run.result, run.verdict.validity) = (Some(RunResult::Invalid), Validity::Invalid);
        assert!(text(&run).contains("tests=\"2\" failures=\"1\""), "{}", text(&run));
        // An invalid scenario is named.
        let scenario = |validity| Verdict { validity, ..run.verdict.clone() };
        run.verdict.scenarios = vec![scenario(Validity::Invalid), scenario(Validity::Valid)];
        assert!(text(&run).contains("tests=\"4\" failures=\"2\""), "{}", text(&run));
        assert!(text(&run).contains("name=\"the scenario r is valid\""), "{}", text(&run));
        run.verdict.scenarios.clear();
        // A request whose failure ends the run.
        (run.result, run.verdict.validity) = (Some(RunResult::Failed), Validity::Valid);
        run.thresholds.clear();
        run.verdict.warnings.push(Warning::from(WarningKind::StoppedEarly {
            reason: Some("login failed".to_owned()),
            end: Some(End::RequestFailed),
            at_s: None,
            duration_s: None,
        }));
        let stopped = text(&run);
        assert!(stopped.contains("tests=\"3\" failures=\"1\"") && stopped.contains("login failed"), "{stopped}");
        // The fix of what the reason of the validity names.
        let named = Warning { in_reason: true, ..WarningKind::ThreadsUnknown.into() };
        run.verdict.warnings = vec![named.clone()];
        assert!(text(&run).contains(&format!("; fix: {}", named.fix)), "{}", text(&run));
    }
}
