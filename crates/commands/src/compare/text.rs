//! A comparison as text.

use std::fmt;

use offered_base::{short, visible};
use offered_experiment::document::compare::Document;
use offered_verify::CheckResult;

use crate::table::{Table, paragraph};

/// A comparison.
pub(super) struct Text<'a>(pub(super) &'a Document);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let document = self.0;
        line(f, document.judgement(), &document.conclusion)?;
        if let (Some(result), Some(text)) = (document.result, document.limit_text()) {
            match result {
                CheckResult::Passed => line(f, "PASSED", &text)?,
                CheckResult::Failed => line(f, "FAILED", &text)?,
                CheckResult::NotChecked => {
                    line(f, "NOT CHECKED", &format!("{text}; raise --pairs, or use a longer --round"))?;
                }
            }
        }
        writeln!(f, "\n{}", table(document))?;
        line(f, "A", &document.a.text())?;
        line(f, "B", &document.b.text())?;
        line(f, "rounds", &document.rounds_text("the maximum, see --pairs"))?;
        document.warnings.iter().try_for_each(|warning| line(f, "warning", warning))
    }
}

/// Writes a paragraph after its head.
fn line(f: &mut fmt::Formatter<'_>, head: &str, text: &str) -> fmt::Result {
    paragraph(&format!("{head:<12}"), &visible(text)).iter().try_for_each(|line| writeln!(f, "{line}"))
}

fn table(document: &Document) -> Table {
    let mut table = Table::new(["response ms", "A", "B", "change %", "95 % interval"]);
    let text = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), short);
    let signed = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:+.1}"));
    for row in &document.responses {
        let interval = row.interval().map_or_else(|| "-".to_owned(), |(low, high)| format!("{low:+.1} to {high:+.1}"));
        let cells = [text(row.a_ms), text(row.b_ms), signed(row.change_percent), interval];
        let [a, b, change, interval] = cells;
        table.row([row.statistic.clone(), a, b, change, interval]);
    }
    let errors = &document.errors;
    table.row([
        "failed %".to_owned(),
        short(errors.a_percent),
        short(errors.b_percent),
        format!("{:+.2} points", errors.difference_points),
        errors.interval().map_or_else(|| "-".to_owned(), |(low, high)| format!("{low:+.2} to {high:+.2}")),
    ]);
    table
}
