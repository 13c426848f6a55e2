//! Failures by request and over time.

use std::borrow::Cow;

use offered_experiment::Failure;

use crate::chart::{Axis, Chart, Series, Shape, Style};
use crate::chart_data::OverTime;
use crate::document::{Block, Section, Table, headings};
use crate::run::Run;

pub(super) fn section(run: &Run) -> Option<Section> {
    let over_time = run.chart_data.as_ref().and_then(|chart_data| over_time(&chart_data.over_time));
    let table = Block::Table(by_request(run)?);
    Some(Section {
        id: "failures".into(),
        level: 2,
        title: "Failures".into(),
        intro: "Failed requests of the whole run, by request and reason.",
        book_page: None,
        folded: false,
        blocks: [table].into_iter().chain(over_time.map(Block::Chart)).collect(),
    })
}

/// Failures by request and reason.
pub(crate) fn by_request(run: &Run) -> Option<Table> {
    let failures = &run.chart_data.as_ref()?.failures;
    let row = |failure: &Failure| {
        vec![
            failure.label.as_ref().into(),
            failure.n.into(),
            failure.outcome.as_str().into(),
            failure.status.map(u64::from).into(),
            failure.reason.as_ref().into(),
        ]
    };
    (!failures.is_empty()).then(|| Table {
        caption: "Failures by request, whole run".into(),
        headings: headings(["request", "failures", "outcome", "status", "reason"]),
        rows: failures.iter().map(row).collect(),
    })
}

fn over_time(over_time: &OverTime) -> Option<Chart> {
    let kind = |(i, (outcome, counts)): (usize, (&Cow<'static, str>, &Vec<u64>))| {
        Series::new(outcome.clone(), Style::Nth(i), Shape::Steps(over_time.steps(counts)))
    };
    Chart {
        id: "failures".into(),
        title: "Failures over time".into(),
        caption: "Failed requests by outcome. A burst suggests an incident; a constant error rate suggests a systematic server error."
            .into(),
        x: Axis::linear("time (s)"),
        y: Axis::linear(&format!("failures {}", over_time.per())),
        series: over_time.failed.iter().enumerate().map(kind).collect(),
    }
    .non_empty()
}
