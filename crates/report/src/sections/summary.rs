//! The first screen of a run: its conclusion, the figures that matter, response times and rates over time, and its requests.

use offered_base::count;
use offered_workload::threshold::{Bound, Quantity, Statistic};

use super::{arrivals, responses, verdict};
use crate::chart::{Chart, Series, Shape, Style};
use crate::chart_data::OverTime;
use crate::conclusion::Conclusion;
use crate::document::{Block, Card, Cell, Judgement, Section, Status, Tile};
use crate::format::{duration, number, rate};
use crate::run::Run;
use crate::verdict_lines::{Subject, VerdictLine};

/// With more thresholds than this, those that passed are only in the table.
const THRESHOLDS: usize = 3;
/// A limit is drawn if it is within this factor of the measured values; else it would flatten them.
const NEAR: f64 = 10.0;

pub(super) fn section(run: &Run) -> Section {
    let over_time = run.chart_data.as_ref().map(|chart_data| &chart_data.over_time);
    let charts = [
        over_time.and_then(|over_time| response_times(run, over_time)),
        over_time.and_then(|over_time| arrivals::rates(over_time).non_empty()),
    ];
    let thresholds = (run.thresholds.len() > THRESHOLDS).then(|| verdict::thresholds(&run.thresholds));
    let pages = run.chart_data.as_ref().and_then(|chart_data| chart_data.pages.as_ref()).map(responses::pages);
    let tables = [thresholds, responses::by_request(run), responses::checks(run), pages];
    let mut blocks = vec![Block::Card(card(run))];
    blocks.extend(charts.into_iter().flatten().map(Block::Chart));
    blocks.extend(tables.into_iter().flatten().map(Block::Table));
    Section { id: "summary".into(), level: 2, title: String::new(), intro: "", book_page: None, folded: false, blocks }
}

fn card(run: &Run) -> Card {
    let many = run.thresholds.len() > THRESHOLDS;
    let judgement = |line: VerdictLine| Judgement {
        fixes: run.fixes(&line),
        status: line.status,
        judgement: line.judgement.to_owned(),
        text: match line.subject {
            Subject::Thresholds if many && line.status == Status::Passed => {
                "thresholds: see the table below".to_owned()
            }
            _ => line.text,
        },
    };
    Card { judgements: Conclusion::of(run).lines.into_iter().map(judgement).collect(), tiles: tiles(run) }
}

/// The figures that matter, each with its limit or target.
fn tiles(run: &Run) -> Vec<Tile> {
    let verdict = &run.verdict;
    let Some(total) = verdict.requests.last().filter(|total| total.requests > 0) else { return Vec::new() };
    let tile = |name: &str, value: Cell, note: String| Tile { name: name.to_owned(), value, note };
    let of = if total.failed > 0 { " of successes" } else { "" };
    let time = |(name, p, ms): (&str, f64, Option<f64>)| {
        let limit = limits(run)
            .find(|limit| (limit.percentile - p).abs() < 1e-9)
            .map_or_else(String::new, |limit| format!(", limit {}", limit.text));
        tile(&format!("{name}{of}"), Cell::from(ms), format!("ms{limit}"))
    };
    let times = [("p50", 50.0, total.p50_ms), ("p95", 95.0, total.p95_ms), ("p99", 99.0, total.p99_ms)];
    let target = verdict.expected.target_rate_per_s.filter(|_| verdict.sessions.is_none());
    let sent = match target {
        Some(target) => format!("/s of {}", number(target)),
        None => "/s".to_owned(),
    };
    let mut tiles: Vec<Tile> = times.into_iter().map(time).collect();
    tiles.push(tile("sent", verdict.queue.rate_per_s.into(), sent));
    tiles.push(tile("failed", total.failed_after_sending().into(), format!("of {}", count(total.requests))));
    let unsent = verdict.lateness.as_ref().map(|late| late.unsent).filter(|unsent| *unsent > 0);
    tiles.extend(unsent.map(|unsent| tile(verdict.not_sent_heading(), unsent.into(), String::new())));
    tiles.push(tile("max", total.max_ms.into(), "ms".to_owned()));
    tiles
}

/// An upper limit of a response time percentile of all requests.
struct Limit {
    percentile: f64,
    ms: f64,
    /// As written in the workload.
    text: String,
}

fn limits(run: &Run) -> impl Iterator<Item = Limit> {
    run.thresholds.iter().filter_map(|checked| {
        let threshold = &checked.threshold;
        let (Quantity::Response(Statistic::Percentile(percentile))
        | Quantity::ResponseOk(Statistic::Percentile(percentile))) = threshold.metric.quantity
        else {
            return None;
        };
        let (Bound::Below(limit) | Bound::AtMost(limit)) = &threshold.bound else { return None };
        threshold.metric.label.is_none().then(|| Limit {
            percentile,
            ms: limit.number * 1e3,
            text: threshold.bound.to_string(),
        })
    })
}

/// p50, p95 and p99 over time, with their limits.
fn response_times(run: &Run, over_time: &OverTime) -> Option<Chart> {
    let mut chart = responses::percentiles_over_time(over_time)?;
    let (low, high) = chart.y_range();
    let (from, to) = chart.x_range();
    for Limit { percentile, ms, text } in limits(run) {
        if (low / NEAR..=high * NEAR).contains(&ms) {
            let line = Shape::Line(vec![[from, ms], [to, ms]]);
            chart.series.push(Series::new(format!("limit of p{percentile}: {text}"), Style::Theory, line));
        }
    }
    Some(chart)
}

/// Target, load, duration, start and seed in one line; of another tool's file its format, and its source unless the title states it.
pub(super) fn facts(run: &Run, title: &str) -> String {
    let (setup, expected, source) = (&run.test_setup, &run.verdict.expected, &run.verdict.source);
    let load = setup.target.as_ref().map(|_| match expected.target_rate_per_s {
        Some(target) => format!("{}, {}", expected.arrivals, rate(target)),
        None => expected.arrivals.clone(),
    });
    let path = if title == source.path { String::new() } else { format!("{}: ", source.path) };
    let file = setup.target.is_none().then(|| format!("{path}{}, {} requests", source.format, count(source.requests)));
    let target = setup.target.as_ref().map(|target| target.strip_prefix("none: ").unwrap_or(target).to_owned());
    let facts = [
        file,
        target,
        load,
        setup.duration_s.map(duration),
        setup.started_at.as_deref().map(minute),
        setup.share.as_ref().map(|share| format!("slice {share}")),
        setup.seed.map(|seed| format!("seed {seed}")),
    ];
    facts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// An instant to the minute: `2026-11-24 22:08 UTC` of `2026-11-24T22:08:13.042Z`.
fn minute(instant: &str) -> String {
    match (instant.get(..10), instant.get(11..16)) {
        (Some(day), Some(minute)) if instant.ends_with('Z') => format!("{day} {minute} UTC"),
        _ => instant.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_verify::{CheckResult, ThresholdResult};

    fn threshold(text: &str) -> ThresholdResult {
        ThresholdResult::check_interim(&text.parse().unwrap(), Some(0.1))
    }

    #[test]
    fn tiles_state_limits_and_name_what_they_exclude() {
        let mut run = crate::tests::run("r", 20.0);
        run.thresholds = vec![threshold("p95 < 300ms"), threshold("p99{a} < 1s"), threshold("p50 > 1ms")];
        let tiles: Vec<String> =
            tiles(&run).into_iter().map(|tile| format!("{} {} {}", tile.name, tile.text(), tile.note)).collect();
        assert!(tiles[1].starts_with("p95 of successes ") && tiles[1].ends_with(" ms, limit < 300ms"), "{tiles:?}");
        assert!(tiles[0].ends_with(" ms") && tiles[2].ends_with(" ms"), "{tiles:?}");
        assert!(tiles[3].ends_with("/s of 100") && tiles[4] == "failed 400 of 4,000", "{tiles:?}");
    }

    #[test]
    fn a_limit_is_drawn_unless_it_would_flatten_the_curves() {
        let mut run = crate::tests::run("r", 20.0);
        run.thresholds = vec![threshold("p95 < 300ms"), threshold("p50 < 1us")];
        let over_time = run.chart_data.clone().unwrap().over_time;
        let names: Vec<String> = response_times(&run, &over_time).unwrap().series.into_iter().map(|s| s.name).collect();
        assert_eq!(names, ["p50", "p95", "p99", "limit of p95: < 300ms"]);
    }

    #[test]
    fn many_passed_thresholds_are_in_a_table() {
        let mut run = crate::tests::run("r", 20.0);
        let passed = || ThresholdResult { result: CheckResult::Passed, ..threshold("p95 < 300ms") };
        let texts = |run: &Run| card(run).judgements.into_iter().map(|judgement| judgement.text).collect::<Vec<_>>();
        let tables = |run: &Run| section(run).blocks.iter().filter(|block| matches!(block, Block::Table(_))).count();
        run.thresholds = vec![passed(); 3];
        assert!(texts(&run).iter().any(|text| text.contains(" ms · response.p95")), "{:?}", texts(&run));
        let few = tables(&run);
        run.thresholds.push(passed());
        assert!(texts(&run).iter().any(|text| text.contains("see the table")), "{:?}", texts(&run));
        assert_eq!(tables(&run), few + 1);
    }

    #[test]
    fn the_start_is_shown_to_the_minute() {
        assert_eq!(minute("2026-11-24T22:08:13.042Z"), "2026-11-24 22:08 UTC");
        assert_eq!(minute("today"), "today");
    }
}
