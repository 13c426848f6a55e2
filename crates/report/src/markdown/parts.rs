//! The parts of the Markdown text: a run, several runs, a sweep, a comparison of A and B, a site.

use offered_base::{count, short};
use offered_experiment::document::compare::Document as Comparison;
use offered_experiment::document::sweep::Document as Sweep;
use offered_logs::document::LogAnalysis as Site;
use offered_verify::{CheckResult, Validity, VisitStats};

use super::Part;
use super::blocks::{code, plain, rows};
use crate::conclusion::Conclusion;
use crate::document::{Block, Cell, Section, Status, Table, headings};
use crate::format::{duration, percent, rate};
use crate::report::Report;
use crate::run::Run;
use crate::sections::{self, arrivals, compare, comparison, failures, responses, site, sweep, test_setup, verdict};
use crate::verdict_lines::{Subject, VerdictLine};

/// A status as one character that every forge draws in colour.
const fn emoji(status: Status) -> &'static str {
    match status {
        Status::Passed => "✅",
        Status::Warning => "⚠️",
        Status::Failed => "❌",
        Status::NotChecked => "❔",
    }
}

/// One run, below a title if the report has one.
pub(super) fn run(run: &Run, title: Option<&str>) -> Part {
    let conclusion = Conclusion::of(run);
    let heading = match title {
        Some(title) => format!("{}: {}", plain(title), plain(&conclusion.headline)),
        None => plain(&conclusion.sentence()),
    };
    let reasons = conclusion.lines.iter().filter(|line| {
        // The table has the thresholds.
        line.status != Status::Passed && line.subject != Subject::Thresholds
    });
    let notes = run.verdict.warnings.iter().filter(|warning| warning.is_note()).count();
    let warnings = and_counted(run.verdict.warnings.len() - notes, "warning");
    let summary = format!("Requests, failures, arrivals, generator{warnings}{}", and_counted(notes, "note"));
    let mut part = Part {
        heading: format!("{} {heading}", emoji(conclusion.status)),
        shown: vec![reasons.map(|line| reason(run, line)).collect(), vec![sentence(run)]],
        summary,
        folded: details(run),
    };
    part.shown.retain(|lines| !lines.is_empty());
    if let Some(thresholds) = thresholds(run, part.lines_left()) {
        // After the reasons, before the sentence.
        part.shown.insert(part.shown.len() - 1, thresholds);
    }
    if let Some(scenarios) = scenario_lines(run, part.lines_left()) {
        part.shown.push(scenarios);
    }
    part
}

/// `, 2 warnings`; empty without any.
fn and_counted(number: usize, word: &str) -> String {
    match number {
        0 => String::new(),
        1 => format!(", 1 {word}"),
        n => format!(", {n} {word}s"),
    }
}

/// A judgement with its reason and its fixes.
fn reason(run: &Run, line: &VerdictLine) -> String {
    let mut text = format!("* **{}** {}", line.judgement, plain(&line.text));
    run.fixes(line).iter().for_each(|fix| text += &format!(" *Fix:* {}", plain(fix)));
    text
}

/// The thresholds as a table of at most `most` lines, including the blank line, with the failed ones first. A last line
/// has the number of omitted thresholds. `None` without thresholds.
fn thresholds(run: &Run, most: usize) -> Option<Vec<String>> {
    let mut all: Vec<_> = run.thresholds.iter().collect();
    all.sort_by_key(|checked| match checked.result {
        CheckResult::Failed => 0,
        CheckResult::NotChecked => 1,
        CheckResult::Passed => 2,
    });
    let row = |checked: &&offered_verify::ThresholdResult| {
        let limit = checked.threshold.bound.to_string();
        let metric = checked.threshold.metric.to_string();
        let status = format!("{} {}", emoji(checked.result.into()), checked.result.text());
        vec![Cell::from(metric), Cell::from(limit), Cell::from(checked.value_and_range()), Cell::from(status)]
    };
    // The heading takes two lines, the blank line one.
    let room = most.saturating_sub(3);
    let shown = if all.len() > room { room.saturating_sub(1) } else { all.len() };
    let left_out = all.len() - shown;
    (!all.is_empty()).then(|| {
        let mut lines = rows(&Table {
            caption: String::new(),
            headings: headings(["threshold", "limit", "measured", "result"]),
            rows: all.iter().take(shown).map(row).collect(),
        });
        lines.extend((left_out > 0).then(|| format!("| {left_out} more | | | see below |")));
        lines
    })
}

/// A table with a row for each scenario, the invalid ones first, of at most `most` lines, including the blank line.
/// `None` without scenarios, or if `most` is too small.
fn scenario_lines(run: &Run, most: usize) -> Option<Vec<String>> {
    let mut all: Vec<_> = run.verdict.scenarios.iter().collect();
    all.sort_by_key(|scenario| scenario.validity != Validity::Invalid);
    let row = |scenario: &&offered_verify::Verdict| {
        let total = scenario.requests.last();
        let status = format!("{} {}", emoji(scenario.validity.into()), scenario.validity.text());
        vec![
            Cell::from(&scenario.source.path),
            Cell::from(status),
            scenario.queue.rate_per_s.into(),
            total.map_or(Cell::Empty, |total| total.requests.into()),
            total.map_or(Cell::Empty, |total| total.failed.into()),
            total.and_then(|total| total.p95_ms).into(),
        ]
    };
    // The heading takes two lines, the blank line one, a line for those left out one.
    let room = most.saturating_sub(4);
    let left_out = all.len().saturating_sub(room);
    (!all.is_empty() && room > 0).then(|| {
        let mut lines = rows(&Table {
            caption: String::new(),
            headings: headings(["scenario", "verdict", "sent/s", "requests", "failed", "p95 ms"]),
            rows: all.iter().take(room).map(row).collect(),
        });
        lines.extend((left_out > 0).then(|| format!("| {left_out} more | see below | | | | |")));
        lines
    })
}

/// Load, duration, target, number of requests, response times: one line.
fn sentence(run: &Run) -> String {
    let (verdict, setup) = (&run.verdict, &run.test_setup);
    let load = match (verdict.expected.target_rate_per_s, verdict.queue.rate_per_s) {
        (Some(target), _) if setup.target.is_some() => {
            format!("{}, {} target", plain(&verdict.expected.arrivals), rate(target))
        }
        (_, Some(sent)) if setup.target.is_none() => format!("{} sent", rate(sent)),
        _ => plain(&verdict.expected.arrivals),
    };
    let time = setup.duration_s.map_or_else(String::new, |seconds| format!(" for {}", duration(seconds)));
    let target = setup.target.as_ref().map_or_else(String::new, |target| match target.strip_prefix("none: ") {
        Some(why) => format!(", {}", plain(why)),
        None => format!(" against {}", code(target)),
    });
    let mut facts = vec![format!("{load}{time}{target}")];
    if let Some(total) = verdict.requests.last() {
        facts.push(format!("{} requests", count(total.requests)));
        let counted = [(total.failed_after_sending(), "failed"), (total.not_sent, verdict.not_sent_heading())];
        for (n, name) in counted.into_iter().filter(|(n, _)| *n > 0) {
            facts.push(format!("{} {name} ({})", count(n), percent(n as f64 / total.requests as f64)));
        }
        let times = [("p50", total.p50_ms), ("p95", total.p95_ms), ("p99", total.p99_ms)];
        facts.extend(times.into_iter().filter_map(|(name, ms)| Some(format!("{name} {}", response_time(ms?)))));
    }
    facts.extend(verdict.visits.as_ref().and_then(visits));
    facts.join(" · ")
}

/// `310 of 312 visits succeeded`; `None` if none was judged.
fn visits(visits: &VisitStats) -> Option<String> {
    let total = visits.total().filter(|total| total.ok + total.failed > 0)?;
    Some(format!("{} of {} visits succeeded", count(total.ok), count(total.ok + total.failed)))
}

/// A time in the unit that suits it, to three significant digits.
fn response_time(ms: f64) -> String {
    match ms {
        ms if ms < 1.0 => format!("{} us", short(1e3 * ms)),
        ms if ms < 1e3 => format!("{} ms", short(ms)),
        ms => format!("{} s", short(ms / 1e3)),
    }
}

/// What is folded of a run.
fn details(run: &Run) -> Vec<Block> {
    let tables = [
        (!run.thresholds.is_empty()).then(|| verdict::thresholds(&run.thresholds)),
        (!run.verdict.scenarios.is_empty()).then(|| sections::scenarios::table(&run.verdict.scenarios)),
        responses::by_request(run),
        run.verdict.visits.as_ref().map(sections::visits::by_flow),
        run.verdict.visits.as_ref().and_then(sections::visits::groups),
        run.verdict.visits.as_ref().and_then(sections::visits::by_step),
        sections::visits::metrics(run),
        responses::statuses(run),
        failures::by_request(run),
        responses::checks(run),
        Some(arrivals::scheduled_and_sent(run)),
        run.verdict.generator_error.as_ref().map(verdict::generator_error),
    ];
    let mut blocks: Vec<Block> = tables.into_iter().flatten().map(Block::Table).collect();
    blocks.extend(verdict::warnings(run));
    blocks.extend(test_setup::summary(run).map(Block::Paragraph));
    blocks.push(Block::Paragraph(test_setup::source(run)));
    blocks
}

/// Several runs: a row for each, and what differs.
pub(super) fn comparison(report: &Report) -> Part {
    let conclusions: Vec<Conclusion> = report.runs.iter().map(Conclusion::of).collect();
    let n = |status| conclusions.iter().filter(|conclusion| conclusion.status == status).count();
    let statuses = [Status::Failed, Status::Warning, Status::NotChecked, Status::Passed];
    let names = ["failed", "with warnings", "not checked", "passed"];
    let counts: Vec<String> = statuses
        .iter()
        .zip(names)
        .filter(|(status, _)| n(**status) > 0)
        .map(|(status, name)| format!("{} {name}", n(*status)))
        .collect();
    let worst = statuses.into_iter().find(|status| n(*status) > 0).unwrap_or(Status::NotChecked);
    let mut part = Part {
        heading: format!(
            "{} {}{} runs: {}",
            emoji(worst),
            report.title.as_ref().map_or_else(String::new, |title| format!("{}: ", plain(title))),
            report.runs.len(),
            counts.join(", ")
        ),
        shown: Vec::new(),
        summary: "Comparison, and each run".to_owned(),
        folded: comparison::tables(report),
    };
    let row = |(number, run): (usize, &Run)| {
        let conclusion = &conclusions[number];
        let total = run.verdict.requests.last();
        let failed =
            total.filter(|total| total.requests > 0).map(|total| 100.0 * total.failed as f64 / total.requests as f64);
        let times = [total.and_then(|t| t.p50_ms), total.and_then(|t| t.p95_ms), total.and_then(|t| t.p99_ms)];
        let mut cells = vec![
            Cell::from(&run.name),
            Cell::from(format!("{} {}", emoji(conclusion.status), conclusion.sentence())),
            run.verdict.queue.rate_per_s.into(),
            failed.into(),
        ];
        cells.extend(times.map(Cell::from));
        cells
    };
    // The heading takes two lines, the blank line one, a line for those left out one.
    let room = part.lines_left() - 4;
    let left_out = report.runs.len().saturating_sub(room);
    let mut lines = rows(&Table {
        caption: String::new(),
        headings: headings(["run", "result", "sent/s", "failed %", "p50 ms", "p95 ms", "p99 ms"]),
        rows: comparison::sorted(&report.runs).into_iter().take(room).map(row).collect(),
    });
    lines.extend((left_out > 0).then(|| format!("| {left_out} more | see below | | | | | |")));
    part.shown.push(lines);
    for (run, conclusion) in report.runs.iter().zip(&conclusions) {
        let reason =
            conclusion.lines.first().map_or_else(String::new, |line| format!("{}: {}", line.judgement, line.text));
        part.folded.push(Block::Paragraph(format!("Run {}. {reason}", run.name)));
        part.folded.extend(details(run));
    }
    part
}

/// A sweep: the limits of its objective, or how many cells are valid.
pub(super) fn sweep(of: &Sweep) -> Part {
    let section = sweep::section(of, 1);
    let invalid = of.cells.iter().filter(|cell| cell.figures.validity == Validity::Invalid).count();
    let without = of.cells.iter().filter(|cell| sweep::is_without_result(cell)).count();
    let without = if without > 0 { format!(", {without} without a result") } else { String::new() };
    let cells = match invalid {
        0 => format!("{} cells, none invalid{without}", of.cells.len()),
        n => format!("{} cells, {n} invalid: do not use their results{without}", of.cells.len()),
    };
    let mut part = folded(section, "Every cell");
    part.shown.push(vec![cells]);
    if let Some(objective) = &of.objective {
        let mut lines = rows(&sweep::limits(of, objective));
        let most = part.lines_left().saturating_sub(1);
        if lines.len() > most {
            lines.truncate(most - 1);
            lines.push("| more: see below | | | |".to_owned());
        }
        part.shown.push(lines);
    }
    part
}

/// A comparison of A and B: the statistics with the intervals of their changes.
pub(super) fn two(of: &Comparison) -> Part {
    let conclusion = match of.result.zip(of.limit_text()) {
        Some((result, limit)) => format!("{}: {} ({limit})", result.text().to_uppercase(), of.conclusion),
        None => of.conclusion.clone(),
    };
    let rounds = if of.has_baseline { "rounds of B" } else { "pairs of rounds" };
    let sides = format!("A {} · B {} · {} {rounds}", code(&of.a.name), code(&of.b.name), of.rounds);
    Part {
        heading: format!("{} {}", emoji(compare::status(of)), plain(&conclusion)),
        shown: vec![rows(&compare::table(of)), vec![sides]],
        summary: format!("Rounds{}", and_counted(of.warnings.len(), "warning")),
        folded: compare::notes(of).into_iter().map(Block::Paragraph).collect(),
    }
}

/// A site: the recommended system model.
pub(super) fn site(of: &Site) -> Part {
    let mut part = folded(site::section(of, 1), "Reasons and figures of the log");
    part.shown.push(vec![plain(&site::recommendation(of))]);
    part
}

/// A section whose blocks are folded.
fn folded(section: Section, summary: &str) -> Part {
    Part { heading: plain(&section.title), shown: Vec::new(), summary: summary.to_owned(), folded: section.blocks }
}
