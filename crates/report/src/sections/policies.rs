//! Policies that alternated within the run, side by side.

use offered_verify::policies::{Policy, PolicyRow};

use crate::document::{Block, Cell, Section, Table, headings};
use crate::run::Run;

pub(super) fn section(run: &Run) -> Option<Section> {
    let policies = &run.verdict.policies;
    let first = policies.first()?;
    let hosts = run.verdict.server_side.iter().flat_map(|side| &side.hosts);
    let work = hosts.filter(|host| !host.policies.is_empty()).map(|host| {
        let each = host.policies.iter().map(|under| format!("{} {:.3}", under.policy, under.busy_processors));
        let counter = host.policies[0].counter.name();
        format!("Busy CPUs at {} ({counter}): {}.", host.name, each.collect::<Vec<_>>().join(", "))
    });
    let work = work.collect::<Vec<_>>().join(" ");
    let mut blocks = vec![Block::Table(table(policies, &first.policy))];
    blocks.extend((!work.is_empty()).then_some(Block::Paragraph(work)));
    Some(Section {
        id: "policies".into(),
        level: 2,
        title: "Policies side by side".into(),
        intro: "The policies alternated within this run, so all had the same arrivals and the same machine. Intervals are computed from blocks, which are assumed to be independent. The ratio compares neighbouring blocks and is more precise than either mean.",
        book_page: Some("guides/policies.md"),
        folded: false,
        blocks,
    })
}

fn table(policies: &[Policy], first: &str) -> Table {
    let interval = |ends: (Option<f64>, Option<f64>)| match ends {
        (Some(low), Some(high)) => Cell::Interval(low, high),
        _ => Cell::Empty,
    };
    let row = |policy: &Policy, row: &PolicyRow| {
        vec![
            Cell::from(&policy.policy),
            Cell::from(&row.label),
            policy.blocks.into(),
            row.requests.into(),
            row.rate_per_s.into(),
            row.mean_ms.into(),
            interval((row.mean_low_ms, row.mean_high_ms)),
            row.p50_ms.into(),
            row.p95_ms.into(),
            row.p99_ms.into(),
            row.ratio.into(),
            interval((row.ratio_low, row.ratio_high)),
        ]
    };
    Table {
        caption: format!("Response times by policy (ms), in the measured parts of its blocks; ratio to {first}"),
        headings: headings([
            "policy", "requests", "blocks", "n", "rate/s", "mean", "95 %", "p50", "p95", "p99", "ratio", "95 %",
        ]),
        rows: policies.iter().flat_map(|policy| policy.shown_rows().map(move |shown| row(policy, shown))).collect(),
    }
}
