//! Section 4, where something failed: what, of which request, and when.

use std::borrow::Cow;

use offered_experiment::Failure;

use crate::chart::{Axis, Chart, Ink, Series, Shape};
use crate::document::{Block, Section, Table};
use crate::portrait::OverTime;
use crate::report::Run;

pub(super) fn section(run: &Run) -> Option<Section> {
    let over_time = run.portrait.as_ref().and_then(|portrait| over_time(&portrait.over_time));
    let table = Block::Table(by_request(run)?);
    Some(Section {
        id: "failures".into(),
        level: 2,
        title: "Failures".into(),
        reading: "What did not get a good answer, in the whole run, by request and by what was said of it.",
        page: None,
        blocks: [table].into_iter().chain(over_time.map(Block::Chart)).collect(),
    })
}

/// What failed, and of which request.
pub(super) fn by_request(run: &Run) -> Option<Table> {
    let failures = &run.portrait.as_ref()?.failures;
    let row = |failure: &Failure| {
        vec![
            failure.label.as_ref().into(),
            failure.n.into(),
            failure.outcome.as_str().into(),
            failure.status.map(u64::from).into(),
            failure.why.as_ref().into(),
        ]
    };
    (!failures.is_empty()).then(|| Table {
        caption: "Failures by request, the whole run".into(),
        heads: vec!["request", "launches", "outcome", "status", "why"],
        rows: failures.iter().map(row).collect(),
    })
}

fn over_time(over_time: &OverTime) -> Option<Chart> {
    let kind = |(i, (outcome, counts)): (usize, (&Cow<'static, str>, &Vec<u64>))| {
        Series::new(outcome.clone(), Ink::Nth(i), Shape::Steps(over_time.steps(counts)))
    };
    Chart {
        id: "failures".into(),
        title: "Failures over time".into(),
        reading: "Launches that did not get a good answer, by how they ended and when. One burst is an incident; a constant share \
                  is a rule of the server."
            .into(),
        x: Axis::linear("time of the run (s)"),
        y: Axis::linear(&format!("failures {}", over_time.per())),
        series: over_time.failed.iter().enumerate().map(kind).collect(),
    }
    .some()
}
