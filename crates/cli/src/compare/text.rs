//! A comparison as text.

use std::fmt;

use offered_base::{count, short, visible};
use offered_experiment::document::compare::{Change, Document, End};
use offered_verify::CheckResult;

use crate::table::{Table, paragraph};

/// A comparison.
pub(super) struct Text<'a>(pub(super) &'a Document);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let document = self.0;
        line(f, judgement(document), &document.conclusion)?;
        if let (Some(result), Some(limit)) = (document.result, document.no_worse_than_percent) {
            let limit = format!("no worse than {} %", short(limit));
            match result {
                CheckResult::Passed => line(f, "PASSED", &limit)?,
                CheckResult::Failed if fails_more(document) => {
                    line(f, "FAILED", &format!("{limit}: more requests of B fail"))?;
                }
                CheckResult::Failed => line(f, "FAILED", &limit)?,
                CheckResult::NotChecked => {
                    line(
                        f,
                        "NOT CHECKED",
                        &format!("{limit}: the interval includes it; add --pairs, or use a longer --round"),
                    )?;
                }
            }
        }
        writeln!(f, "\n{}", table(document))?;
        let side = |side: &offered_experiment::document::compare::Side| {
            format!("{}: {} ok, {} failed", side.name, count(side.ok), count(side.failed))
        };
        line(f, "A", &side(&document.a))?;
        line(f, "B", &side(&document.b))?;
        line(f, "rounds", &rounds(document))?;
        document.warnings.iter().try_for_each(|warning| line(f, "warning", warning))
    }
}

/// Writes a paragraph after its head.
fn line(f: &mut fmt::Formatter<'_>, head: &str, text: &str) -> fmt::Result {
    paragraph(&format!("{head:<12}"), &visible(text)).iter().try_for_each(|line| writeln!(f, "{line}"))
}

/// What is known of the statistic that decides.
fn judgement(document: &Document) -> &'static str {
    let decides = document.responses.iter().find(|row| row.statistic == document.statistic);
    let Some((low, high)) = decides.and_then(|row| row.low_percent.zip(row.high_percent)) else { return "NOT KNOWN" };
    match (low > 0.0, high < 0.0) {
        (true, _) => "SLOWER",
        (_, true) => "FASTER",
        _ => "SIMILAR",
    }
}

fn fails_more(document: &Document) -> bool {
    document.errors.low_points.is_some_and(|low| low > 0.0)
}

fn table(document: &Document) -> Table {
    let mut table = Table::new(["response ms", "A", "B", "change %", "95 % interval"]);
    let text = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), short);
    let signed = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:+.1}"));
    let interval = |low: Option<f64>, high: Option<f64>| match low.zip(high) {
        Some((low, high)) => format!("{low:+.1} to {high:+.1}"),
        None => "-".to_owned(),
    };
    for row in &document.responses {
        let Change { statistic, a_ms, b_ms, change_percent, low_percent, high_percent } = row;
        let cells = [text(*a_ms), text(*b_ms), signed(*change_percent), interval(*low_percent, *high_percent)];
        let [a, b, change, interval] = cells;
        table.row([statistic.clone(), a, b, change, interval]);
    }
    let errors = &document.errors;
    table.row([
        "failed %".to_owned(),
        short(errors.a_percent),
        short(errors.b_percent),
        format!("{:+.2} points", errors.difference_points),
        errors
            .low_points
            .zip(errors.high_points)
            .map_or_else(|| "-".to_owned(), |(low, high)| format!("{low:+.2} to {high:+.2}")),
    ]);
    table
}

/// How many rounds were made, and why no more.
fn rounds(document: &Document) -> String {
    let Document { rounds, max_rounds, round_s, settle_s, .. } = document;
    let what = if document.has_baseline { "rounds of B" } else { "pairs" };
    let why = match document.end {
        End::Decided => "the answer is known",
        End::Precise => "the interval is narrow enough",
        End::Rounds => "no more --pairs",
        End::Stopped => "stopped",
    };
    format!(
        "{rounds} {what} of at most {max_rounds}: {why}; each {} s, without its first {} s",
        short(*round_s),
        short(*settle_s)
    )
}
