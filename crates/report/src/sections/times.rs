//! Response, service and first-byte times in detail.

use offered_verify::{TimeStats, TokenMetrics, Verdict};

use super::{most_frequent, responses, times};
use crate::chart::{Axis, Chart, Series, Shape, Style};
use crate::chart_data::{ChartData, OverTime, TimeDistribution};
use crate::document::{Block, Cell, Section, Table, headings};
use crate::run::Run;

pub(super) fn section(run: &Run) -> Section {
    let v = &run.verdict;
    let mut blocks = Vec::new();
    if let Some(chart_data) = &run.chart_data {
        blocks.extend(charts(run, chart_data).into_iter().flatten().map(Block::Chart));
    }
    blocks.extend(by_label(v).map(Block::Chart));
    blocks.extend(responses::statuses(run).map(Block::Table));
    blocks.extend(times("Response times (ms), from the scheduled time", &v.responses).map(Block::Table));
    blocks.extend(times("Response times of failed requests (ms)", &v.failures).map(Block::Table));
    if let Some(chart_data) = &run.chart_data {
        blocks.extend(three_times(chart_data).map(Block::Table));
    }
    blocks.extend(v.tokens.iter().flat_map(token_tables).map(Block::Table));
    blocks.extend(times("Time to first byte (ms), from the scheduled time", &v.first_byte).map(Block::Table));
    Section {
        id: "times".into(),
        level: 2,
        title: "Response times in detail".into(),
        intro: "The response time starts at the scheduled time: it is the time that a user experiences. The service time starts when the request is sent: it is the time of server and network. Other tools call both latency.",
        book_page: Some("concepts/times.md"),
        folded: true,
        blocks,
    }
}

fn charts(run: &Run, chart_data: &ChartData) -> [Option<Chart>; 6] {
    let over_time = &chart_data.over_time;
    let spread = chart_data.response.as_ref();
    [
        spread.map(|spread| percentiles(run, spread, chart_data.service.as_ref())),
        spread.map(density),
        spread.map(distribution),
        heat(over_time),
        chart_data.concurrency_at_arrival.as_ref().and_then(responses::by_concurrency),
        bytes(over_time),
    ]
}

/// Percentiles of response and service time, and predictions.
fn percentiles(run: &Run, response: &TimeDistribution, service: Option<&TimeDistribution>) -> Chart {
    let curve = |spread: &TimeDistribution| Shape::Line(spread.percentile_curve.clone());
    let mut series = vec![Series::new("response", Style::Measured, curve(response))];
    series.extend(service.map(|service| Series::new("service", Style::Second, curve(service))));
    let predicted = run.predictions.iter().filter(|prediction| !prediction.percentiles_ms.is_empty());
    series.extend(predicted.enumerate().map(|(i, prediction)| {
        let ink = if i == 0 { Style::Theory } else { Style::Scheduled };
        Series::new(
            format!("{} ({})", prediction.method.name(), prediction.model),
            ink,
            Shape::Points(prediction.percentiles_ms.clone()),
        )
    }));
    let unknown = if service.is_none() {
        " The file has no scheduled times, so times start when requests were sent."
    } else {
        ""
    };
    Chart {
        id: "percentiles".into(),
        title: "Response time percentiles".into(),
        caption: format!(
            "The value that a given share of the requests does not exceed: half of them at 50 %, all but one in a thousand at 99.9 %. The curve ends where fewer than two values remain. If response and service time differ, requests were late.{unknown}"
        ),
        x: Axis::nines("share of requests"),
        y: Axis::log("time (ms)"),
        series,
    }
}

/// The density per decade, independent of the bin widths.
fn density(spread: &TimeDistribution) -> Chart {
    let cell = |(low, high, n): &(f64, f64, u64)| [*low, *n as f64 * 100.0 / (spread.n as f64 * (high / low).log10())];
    let mut steps: Vec<[f64; 2]> = spread.bins.iter().map(cell).collect();
    steps.extend(spread.bins.last().map(|last| [last.1, 0.0]));
    Chart {
        id: "density".into(),
        title: "Response time density".into(),
        caption: "Distribution of the response times; the area under the line is 100 %. Two peaks show two kinds of responses (cached and not cached, small and large), which a mean does not describe."
            .into(),
        x: Axis::log("response time (ms)"),
        y: Axis::linear("share per decade (%)"),
        series: vec![Series::new("response", Style::Measured, Shape::Steps(steps))],
    }
}

fn distribution(spread: &TimeDistribution) -> Chart {
    let within: u64 = spread.bins.iter().map(|cell| cell.2).sum();
    let mut upto = spread.n - within;
    let mut points: Vec<[f64; 2]> =
        spread.bins.first().map(|first| [first.0, upto as f64 * 100.0 / spread.n as f64]).into_iter().collect();
    for (_, high, n) in &spread.bins {
        upto += n;
        points.push([*high, upto as f64 * 100.0 / spread.n as f64]);
    }
    Chart {
        id: "distribution".into(),
        title: "Response time distribution".into(),
        caption: "Share of requests with at most this response time.".into(),
        x: Axis::log("response time (ms)"),
        y: Axis::linear("share of requests (%)"),
        series: vec![Series::new("response", Style::Measured, Shape::Line(points))],
    }
}

fn heat(over_time: &OverTime) -> Option<Chart> {
    Some(Chart {
        id: "responses-over-time".into(),
        title: "Density of the response times over time".into(),
        caption: "Each column is a time interval; each cell shows the share of its requests with this response time. A steady run looks the same from left to right; a rising band shows a growing queue."
            .into(),
        x: Axis::linear("time (s)"),
        y: Axis::log("response time (ms)"),
        series: vec![Series::new(
            "responses",
            Style::Measured,
            Shape::Heat(over_time.heat(over_time.responses.as_ref()?, 1.0, "% of requests")),
        )],
    })
}

fn bytes(over_time: &OverTime) -> Option<Chart> {
    let kilo = |counts: &[u64]| {
        let steps = over_time.steps(counts);
        Shape::Steps(steps.into_iter().map(|[x, y]| [x, y / 1e3]).collect())
    };
    let any = |counts: &[u64]| counts.iter().any(|count| *count > 0);
    (any(&over_time.bytes_in) || any(&over_time.bytes_out)).then(|| Chart {
        id: "bytes".into(),
        title: "Bytes".into(),
        caption: "Kilobytes read and written. A flat maximum with growing response times shows a saturated network."
            .into(),
        x: Axis::linear("time (s)"),
        y: Axis::linear(&format!("KB {}", over_time.per())),
        series: vec![
            Series::new("read", Style::Measured, kilo(&over_time.bytes_in)),
            Series::new("written", Style::Second, kilo(&over_time.bytes_out)),
        ],
    })
}

/// Response time, service time and lateness in one table.
fn three_times(chart_data: &ChartData) -> Option<Table> {
    let row = |name: &str, spread: &TimeDistribution| {
        let numbers = [spread.mean_ms, spread.sdev_ms, spread.p50_ms, spread.p90_ms, spread.p95_ms, spread.p99_ms];
        let mut cells = vec![Cell::from(name), spread.n.into()];
        cells.extend(numbers.map(Cell::from));
        cells.extend([Cell::from(spread.p999_ms), spread.max_ms.into()]);
        cells
    };
    Some(Table {
        caption: "Response time, service time and lateness (ms)".into(),
        headings: headings(["", "n", "mean", "sdev", "p50", "p90", "p95", "p99", "p99.9", "max"]),
        rows: vec![
            row("response time = done - scheduled", chart_data.response.as_ref()?),
            row("service time = done - sent", chart_data.service.as_ref()?),
            row("lateness = sent - scheduled", chart_data.lateness.as_ref()?),
        ],
    })
}

/// Times of the tokens of streamed responses, and rates.
fn token_tables(tokens: &TokenMetrics) -> [Table; 2] {
    let row = |row: &TimeStats| {
        let times = [row.mean_ms, row.p50_ms, row.p90_ms, row.p95_ms, row.p99_ms, row.p999_ms, row.max_ms];
        [Cell::from(&row.label), Cell::from(row.n)].into_iter().chain(times.map(Cell::from)).collect()
    };
    let goodput = tokens.goodput.as_ref();
    let rates = [
        ("output tokens/s", tokens.output_tokens_per_s),
        ("output tokens/s per user", tokens.output_tokens_per_s_per_user),
        ("tokens per chunk", tokens.tokens_per_chunk),
        ("chunks read together (%)", Some(tokens.coalesced_percent)),
        ("goodput (requests/s)", goodput.and_then(|goodput| goodput.rate_per_s)),
        ("good requests (%)", goodput.and_then(|goodput| goodput.share_percent)),
    ];
    let rates = rates.into_iter().filter(|(_, value)| value.is_some());
    [
        Table {
            caption: "Tokens of streamed responses (ms): first token, time per output token, gaps".into(),
            headings: headings(["metric", "n", "mean", "p50", "p90", "p95", "p99", "p99.9", "max"]),
            rows: tokens.times.iter().map(row).collect(),
        },
        Table {
            caption: "Rates of streamed responses".into(),
            headings: headings(["metric", "value"]),
            rows: rates.map(|(name, value)| vec![Cell::from(name), Cell::from(value)]).collect(),
        },
    ]
}

fn by_label(v: &Verdict) -> Option<Chart> {
    let rows = most_frequent(&v.responses);
    if rows.len() < 2 {
        return None;
    }
    let points = |of: fn(&TimeStats) -> f64| {
        Shape::Points(rows.iter().enumerate().map(|(i, row)| [i as f64, of(row)]).collect())
    };
    Some(Chart {
        id: "responses-by-label".into(),
        title: "Response times by request".into(),
        caption: "p50, p95 and p99 of each request. Improve requests that are both slow and frequent: see the table."
            .into(),
        x: Axis::names("", rows.iter().map(|row| row.label.clone()).collect()),
        y: Axis::log("response time (ms)"),
        series: vec![
            Series::new("p50", Style::Measured, points(|row| row.p50_ms)),
            Series::new("p95", Style::Second, points(|row| row.p95_ms)),
            Series::new("p99", Style::Failed, points(|row| row.p99_ms)),
        ],
    })
}
