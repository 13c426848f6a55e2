//! The arrival process: expected and measured (Brady and Gunther, Figures 3 to 7, 9, 13, 15 and 16).

use offered_verify::{Finding, TimeStats, Verdict};

use super::{most_frequent, times};
use crate::chart::{Axis, Chart, Series, Shape, Style};
use crate::chart_data::{ChartData, Counts, Excerpt, Gaps, OverTime, TimeDistribution};
use crate::document::{Block, Cell, Section, Table, headings};
use crate::format::number;
use crate::run::Run;

pub(super) fn section(run: &Run) -> Section {
    let v = &run.verdict;
    let mut blocks = vec![Block::Table(scheduled_and_sent(run)), Block::Table(findings(&v.findings))];
    if let Some(chart_data) = &run.chart_data {
        blocks.extend(charts(chart_data).into_iter().flatten().map(Block::Chart));
    }
    let of_verdict = [dispersion(v), cov_by_label(v), cov_by_threads(v)];
    blocks.extend(of_verdict.into_iter().flatten().map(Block::Chart));
    blocks.extend(times("Gaps between requests (ms)", &v.gaps).map(Block::Table));
    Section {
        id: "arrivals".into(),
        level: 2,
        title: "Arrivals (appendix)".into(),
        intro: "Independent users arrive as a Poisson process: exponential gaps and Poisson counts at every time scale. If the measured (solid) lines deviate from the dashed or dotted lines, the load differs from the expected load.",
        book_page: Some("background/poisson.md"),
        folded: true,
        blocks,
    }
}

/// Expected and measured arrivals.
pub(crate) fn scheduled_and_sent(run: &Run) -> Table {
    let v = &run.verdict;
    let total = v.gaps.last();
    let pattern = Cell::from(v.pattern.name());
    let cov = total.and_then(|total| Some(Cell::Interval(total.cov_low?, total.cov_high?)));
    let late = v.lateness.as_ref();
    let row = |name: &str, meant: Cell, sent: Cell| vec![Cell::from(name), meant, sent];
    let (rate, meant_cov) = (v.expected.target_rate_per_s, v.expected.scheduled_cov.or(v.expected.expected_cov));
    let mut rows = vec![row("arrivals", Cell::from(&v.expected.arrivals), pattern)];
    // Rate and CoV are specified for sessions; the other requests follow the responses.
    if let Some(sessions) = &v.sessions {
        let interval = sessions.cov_low.zip(sessions.cov_high).map(|(low, high)| Cell::Interval(low, high));
        rows.extend([
            row("sessions/s", rate.into(), sessions.sent_rate_per_s.into()),
            row("CoV of the gaps between sessions", meant_cov.into(), sessions.measured_cov.into()),
            row("95 % interval", Cell::Empty, interval.unwrap_or(Cell::Empty)),
        ]);
    }
    let of_requests = |meant: Option<f64>| Cell::from(meant.filter(|_| v.sessions.is_none()));
    rows.extend([
        row("requests/s", of_requests(rate), v.queue.rate_per_s.into()),
        row("CoV of the gaps", of_requests(meant_cov), total.map(|total| total.cov).into()),
        row("95 % interval", Cell::Empty, cov.unwrap_or(Cell::Empty)),
        row("requests analysed", Cell::Empty, v.window.requests.into()),
        row("excluded at the ends", Cell::Empty, v.window.excluded.into()),
        row("not sent", Cell::Count(0), late.map(|late| late.unsent).into()),
        row("lateness p99 (us)", Cell::Empty, late.map(|late| late.p99_us).into()),
    ]);
    Table { caption: "Expected and measured arrivals".into(), headings: headings(["", "expected", "measured"]), rows }
}

fn findings(findings: &[Finding]) -> Table {
    let row = |finding: &Finding| {
        let interval = finding.low.zip(finding.high).map(|(low, high)| Cell::Interval(low, high));
        vec![
            Cell::from(finding.check.name()),
            finding.result.into(),
            finding.estimate.into(),
            interval.unwrap_or(Cell::Empty),
            finding.statistic.into(),
            finding.p_value.into(),
        ]
    };
    Table {
        caption: "Statistical tests".into(),
        headings: headings(["test", "result", "estimate", "95 %", "statistic", "p"]),
        rows: findings.iter().map(row).collect(),
    }
}

fn charts(chart_data: &ChartData) -> [Option<Chart>; 6] {
    // A simulation has no lateness.
    let late = chart_data.lateness.as_ref().filter(|late| late.max_ms > 0.0);
    [
        rate(&chart_data.over_time).non_empty(),
        chart_data.gaps.as_ref().map(gaps),
        chart_data.counts.as_ref().map(counts),
        fragment(&chart_data.excerpt).non_empty(),
        late.map(lateness),
        late.and_then(|_| late_over_time(&chart_data.over_time)),
    ]
}

/// Scheduled, sent and completed requests per second over time.
pub(super) fn rates(over_time: &OverTime) -> Chart {
    let line = |name: &str, style, counts: &[u64]| Series::new(name, style, Shape::Steps(over_time.rates(counts)));
    let scheduled = over_time.scheduled.as_ref().map(|counts| line("scheduled", Style::Scheduled, counts));
    let sent = line("sent", Style::Measured, &over_time.sent);
    let completed = line("completed", Style::Second, &over_time.completed);
    Chart {
        id: "rates".into(),
        title: "Rate".into(),
        caption: "Scheduled, sent and completed requests. If fewer requests were sent than scheduled, the generator was late, or a limit held requests back. If fewer were completed than sent, the server was saturated."
            .into(),
        x: Axis::linear("time (s)"),
        y: Axis::linear("requests per second"),
        series: [sent].into_iter().chain(scheduled).chain([completed]).collect(),
    }
}

/// Requests over time, scheduled and sent.
fn rate(over_time: &OverTime) -> Chart {
    let [from, to] = over_time.window_s;
    let title = format!("requests {}", over_time.per());
    let steps = |counts: &[u64]| Shape::Steps(over_time.steps(counts));
    let meant = over_time.scheduled.as_ref().map(|meant| Series::new("scheduled", Style::Scheduled, steps(meant)));
    let sent = Series::new("sent", Style::Measured, steps(&over_time.sent));
    Chart {
        id: "rate".into(),
        title: "Requests over time".into(),
        caption: format!(
            "Scheduled and sent requests should agree; if they differ, the generator was late. The analysed time is {} s to {} s.",
            number(from),
            number(to)
        ),
        x: Axis::linear("time (s)"),
        y: Axis::linear(&title),
        series: [sent].into_iter().chain(meant).collect(),
    }
}

fn gaps(gaps: &Gaps) -> Chart {
    let Gaps { events: of, n, mean_ms, bin_width_ms: cell_ms, counts, overflow: longer } = gaps;
    // Zero gaps are counted in the first bin.
    let zeros = |i: usize| if i == 1 { counts[0] } else { 0 };
    let density = |i: usize| [(i as f64 - 0.5) * cell_ms, (counts[i] + zeros(i)) as f64 / (*n as f64 * cell_ms)];
    let exponential = |i: usize| {
        let x = i as f64 * cell_ms / 2.0;
        [x, (-x / mean_ms).exp() / mean_ms]
    };
    Chart {
        id: "gaps".into(),
        title: format!("Gaps between {of}"),
        caption: format!(
            "Bars that follow the dotted curve show Poisson arrivals. A peak away from zero shows pacing, and a high bar at zero shows bunching. {longer} of {n} gaps are longer than shown."
        ),
        x: Axis::linear("gap (ms)"),
        y: Axis::linear("density (per ms)"),
        series: vec![
            Series::new("measured", Style::Measured, Shape::Bars((1..counts.len()).map(density).collect())),
            Series::new("exponential", Style::Theory, Shape::Line((0..2 * counts.len()).map(exponential).collect())),
        ],
    }
}

fn counts(counts: &Counts) -> Chart {
    let Counts { events: of, interval_s, mean, intervals } = counts;
    let all = intervals.iter().sum::<u64>() as f64;
    // P(K = k) = e^-m m^k / k!, by recursion.
    let mut chance = (-mean).exp() * 100.0;
    let mut poisson = Vec::new();
    for k in 0..intervals.len().max(2 * *mean as usize) {
        poisson.push([k as f64, chance]);
        chance *= mean / (k + 1) as f64;
    }
    let seen = intervals.iter().enumerate().map(|(k, n)| [k as f64, *n as f64 * 100.0 / all]).collect();
    Chart {
        id: "counts".into(),
        title: format!("Number of {of} in {} s", number(*interval_s)),
        caption: "Bars that follow the dotted curve show Poisson counts. A narrower distribution is under-dispersed (closed or paced users); a wider one is over-dispersed (bursts)."
            .into(),
        x: Axis::linear(&format!("{of} in an interval")),
        y: Axis::linear("share of intervals (%)"),
        series: vec![
            Series::new("measured", Style::Measured, Shape::Bars(seen)),
            Series::new("Poisson", Style::Theory, Shape::Line(poisson)),
        ],
    }
}

fn fragment(fragment: &Excerpt) -> Chart {
    let row = |at: f64, times: &[f64]| Shape::Points(times.iter().map(|time| [*time, at]).collect());
    Chart {
        id: "timeline".into(),
        title: "Single requests".into(),
        caption: format!(
            "Consecutive requests from the middle of the run, {} s after the first. Random arrivals have clusters and holes; even spacing is not random.",
            number(fragment.start_s)
        ),
        x: Axis::linear("time (ms)"),
        y: Axis::names("", vec!["sent".into(), "scheduled".into()]),
        series: vec![
            Series::new("sent", Style::Measured, row(0.0, &fragment.sent_ms)),
            Series::new("scheduled", Style::Scheduled, row(1.0, &fragment.scheduled_ms)),
        ],
    }
}

fn lateness(spread: &TimeDistribution) -> Chart {
    Chart {
        id: "lateness".into(),
        title: "Lateness".into(),
        caption:
            "The lateness that a given share of the requests does not exceed. Lateness far below the response times has no effect on them."
                .into(),
        x: Axis::nines("share of requests"),
        y: Axis::log("lateness (us)"),
        series: vec![Series::new(
            "sent - scheduled",
            Style::Measured,
            Shape::Line(spread.percentile_curve.iter().map(|[p, ms]| [*p, ms * 1e3]).collect()),
        )],
    }
}

fn late_over_time(over_time: &OverTime) -> Option<Chart> {
    Some(Chart {
        id: "lateness-over-time".into(),
        title: "Lateness over time".into(),
        caption: "Each column is a time interval; each cell shows the share of its requests with this lateness. Bright cells at the top show times when the generator was saturated; a rise shows an overloaded generator."
            .into(),
        x: Axis::linear("time (s)"),
        y: Axis::log("lateness (us)"),
        series: vec![Series::new(
            "lateness",
            Style::Measured,
            Shape::Heat(over_time.heat(over_time.lateness.as_ref()?, 1e3, "% of requests")),
        )],
    })
}

fn dispersion(v: &Verdict) -> Option<Chart> {
    let rungs: Vec<[f64; 4]> = v.dispersion.iter().map(|rung| [rung.window_s, rung.idc, rung.low, rung.high]).collect();
    let (first, last) = (rungs.first()?[0], rungs.last()?[0]);
    Some(Chart {
        id: "dispersion".into(),
        title: "Dispersion of counts".into(),
        caption: "Variance / mean of the counts in windows of this length: 1 for Poisson arrivals. A line that falls to the right shows returning users (closed system); a line that rises shows a varying rate."
            .into(),
        x: Axis::log("window (s)"),
        y: Axis::linear("variance / mean"),
        series: vec![
            Series::new("measured, 95 %", Style::Measured, Shape::Intervals(rungs)),
            Series::new("Poisson", Style::Theory, Shape::Line(vec![[first, 1.0], [last, 1.0]])),
        ],
    })
}

fn cov_by_label(v: &Verdict) -> Option<Chart> {
    let rows = most_frequent(&v.gaps);
    if rows.len() < 2 {
        return None;
    }
    let point = |(i, row): (usize, &&TimeStats)| Some([i as f64, row.cov, row.cov_low?, row.cov_high?]);
    let points = rows.iter().enumerate().filter_map(point).collect();
    let expected = v.expected.expected_cov.filter(|_| v.sessions.is_none());
    let expected = expected.map(|cov| vec![[0.0, cov], [rows.len() as f64 - 1.0, cov]]);
    let expected = expected.map(|line| Series::new("expected, all requests", Style::Theory, Shape::Line(line)));
    let names = rows.iter().map(|row| row.label.clone()).collect();
    Some(Chart {
        id: "cov-by-label".into(),
        title: "CoV of the gaps by request".into(),
        caption: "Requests picked at random from a Poisson process are Poisson too: CoV 1. Requests that follow each other at fixed intervals are not Poisson."
            .into(),
        x: Axis::names("", names),
        y: Axis::linear("CoV of the gaps"),
        series: [Series::new("measured, 95 %", Style::Measured, Shape::Intervals(points))]
            .into_iter()
            .chain(expected)
            .collect(),
    })
}

fn cov_by_threads(v: &Verdict) -> Option<Chart> {
    let points: Vec<[f64; 2]> = v.by_threads.iter().map(|row| [row.threads as f64, row.cov]).collect();
    let last = points.last().filter(|last| last[0] > 1.0)?[0];
    Some(Chart {
        id: "cov-by-threads".into(),
        title: "CoV of the gaps by number of users".into(),
        caption: "Requests of the first 1, 2, 3, ... users. Many independent users approach a Poisson process; the curve shows how many users are needed."
            .into(),
        x: Axis::log("users or threads"),
        y: Axis::linear("CoV of the gaps"),
        series: vec![
            Series::new("measured", Style::Measured, Shape::Line(points)),
            Series::new("Poisson", Style::Theory, Shape::Line(vec![[1.0, 1.0], [last, 1.0]])),
        ],
    })
}
