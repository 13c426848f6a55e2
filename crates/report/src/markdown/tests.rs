//! The shown lines of every kind of part.

use offered_experiment::RunResult;
use offered_verify::{CheckResult, ThresholdResult, Validity};

use crate::report::Report;
use crate::run::Run;
use crate::tests::run;

/// The lines that a forge shows before the fold, the fold's own line among them.
fn shown(text: &str) -> Vec<&str> {
    let fold = text.lines().position(|line| line.starts_with("<details>")).expect("a fold");
    text.lines().take(fold + 1).collect()
}

fn threshold(text: &str, value: f64, result: CheckResult) -> ThresholdResult {
    ThresholdResult { result, ..ThresholdResult::check_interim(&text.parse().unwrap(), Some(value)) }
}

fn markdown(runs: Vec<Run>) -> String {
    super::markdown(&Report::new(runs))
}

#[test]
fn a_run_takes_at_most_fifteen_lines_however_much_fails() {
    let mut run = run("r", 20.0);
    let bounds = (1..=40).map(|ms| threshold(&format!("p99 < {ms}ms"), 0.03, CheckResult::Passed));
    run.thresholds = bounds.collect();
    run.thresholds[37].result = CheckResult::Failed;
    for validity in [Validity::Valid, Validity::ValidWithWarnings, Validity::Invalid, Validity::NotChecked] {
        run.verdict.validity = validity;
        let text = markdown(vec![run.clone()]);
        let lines = shown(&text);
        assert!(lines.len() <= 15, "{text}");
        assert!(lines.iter().any(|line| line.contains("p99 | &lt; 38ms | 30.0 ms | ❌ failed")), "{text}");
        assert!(lines.iter().any(|line| line.contains(" more | ")), "{text}");
        assert!(text.trim_end().ends_with("</details>") && text.matches("<details>").count() == 1, "{text}");
    }
}

#[test]
fn the_heading_is_the_conclusion() {
    let mut run = run("r", 20.0);
    let heading = |run: &Run| markdown(vec![run.clone()]).lines().next().unwrap().to_owned();
    // Every tenth request fails, and there is no threshold.
    assert_eq!(heading(&run), "### ⚠️ Requests failed · stability not checked · valid run");
    run.thresholds = vec![threshold("p99 < 1s", 0.1, CheckResult::Passed)];
    assert_eq!(heading(&run), "### ⚠️ Requests failed · passed · stability not checked · valid run");
    run.thresholds.push(threshold("p50 < 1us", 0.1, CheckResult::Failed));
    run.result = Some(RunResult::Failed);
    assert!(heading(&run).starts_with("### ❌ 1 of 2 thresholds failed · requests failed · "), "{}", heading(&run));
    run.verdict.validity = Validity::Invalid;
    assert_eq!(heading(&run), "### ❌ Invalid run: do not use its results · requests failed");
}

#[test]
fn several_runs_have_a_row_each() {
    let runs: Vec<Run> = (0..12).map(|i| run(&format!("run {i}"), 20.0 + f64::from(i))).collect();
    let text = markdown(runs.clone());
    let lines = shown(&text);
    assert!(lines.len() <= 15 && text.contains("| 4 more | "), "{text}");
    assert!(lines[0].starts_with("### ⚠️ 12 runs: 12 with warnings"), "{}", lines[0]);
    assert!(lines.iter().any(|line| line.starts_with("| run 7 | ⚠️ Requests failed")), "{text}");
    assert!(!markdown(runs[..3].to_vec()).contains(" more | "));
}

#[test]
fn scenarios_have_rows_where_there_is_room() {
    let mut run = run("r", 20.0);
    let scenario = |name: &str, validity| {
        let mut verdict = offered_verify::Verdict { validity, ..run.verdict.clone() };
        verdict.source.path = name.to_owned();
        verdict
    };
    let mut scenarios: Vec<_> = (0..20).map(|number| scenario(&format!("s{number}"), Validity::Valid)).collect();
    scenarios.push(scenario("batch", Validity::Invalid));
    run.verdict.scenarios = scenarios;
    let text = markdown(vec![run]);
    let shown = shown(&text);
    assert!(shown.len() <= 15, "{text}");
    let first = shown.iter().find(|line| line.starts_with("| batch")).expect("the invalid one is shown");
    assert!(first.contains("invalid"), "{first}");
    assert!(text.contains("| s19 |"), "all are in the fold: {text}");
}
