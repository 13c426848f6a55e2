//! Section 5: the times in detail, and how much came back.

use offered_verify::{Times, Verdict};

use super::{busiest, times};
use crate::chart::{Axis, Chart, Ink, Series, Shape};
use crate::document::{Block, Cell, Section, Table};
use crate::portrait::{OverTime, Portrait, Spread};
use crate::report::Run;

pub(super) fn section(run: &Run) -> Section {
    let v = &run.verdict;
    let mut blocks = Vec::new();
    if let Some(portrait) = &run.portrait {
        blocks.extend(charts(run, portrait).into_iter().flatten().map(Block::Chart));
    }
    blocks.extend(by_label(v).map(Block::Chart));
    blocks.extend(times("Responses (ms), from the instant meant", &v.responses).map(Block::Table));
    blocks.extend(times("The same of what failed", &v.failures).map(Block::Table));
    if let Some(portrait) = &run.portrait {
        blocks.extend(three_times(portrait).map(Block::Table));
    }
    blocks.extend(times("First bytes (ms), from the instant meant", &v.first_byte).map(Block::Table));
    Section {
        id: "times".into(),
        level: 2,
        title: "Times and throughput".into(),
        reading: "The response is counted from the instant a launch was meant, the service from the instant it was sent: what a \
                  person waits, and what the server and network took. There is no plain latency, because the two are not the same.",
        page: Some("concepts/times.md"),
        blocks,
    }
}

fn charts(run: &Run, portrait: &Portrait) -> [Option<Chart>; 6] {
    let over_time = &portrait.over_time;
    let spread = portrait.response.as_ref();
    [
        spread.map(|spread| percentiles(run, spread, portrait.service.as_ref())),
        spread.map(density),
        spread.map(distribution),
        heat(over_time),
        throughput(over_time).some(),
        bytes(over_time),
    ]
}

/// Percentiles of response and service, and what theory says of them.
fn percentiles(run: &Run, response: &Spread, service: Option<&Spread>) -> Chart {
    let curve = |spread: &Spread| Shape::Line(spread.curve.clone());
    let mut series = vec![Series::new("response", Ink::Measured, curve(response))];
    series.extend(service.map(|service| Series::new("service", Ink::Second, curve(service))));
    let predicted = run.predictions.iter().filter(|prediction| !prediction.percentiles_ms.is_empty());
    series.extend(predicted.enumerate().map(|(i, prediction)| {
        let ink = if i == 0 { Ink::Theory } else { Ink::Meant };
        Series::new(
            format!("{} ({})", prediction.by.name(), prediction.model),
            ink,
            Shape::Points(prediction.percentiles_ms.clone()),
        )
    }));
    let unknown = if service.is_none() {
        " The file does not say when launches were meant, so it counts from the sending."
    } else {
        ""
    };
    Chart {
        id: "percentiles".into(),
        title: "Percentiles".into(),
        reading: format!(
            "Half of the responses are at most as long as at 50 %, all but one in a thousand as at 99.9 %; it ends where a single \
             response would decide. Where response and service part, launches waited for the generator.{unknown}"
        ),
        x: Axis::nines("share of the launches"),
        y: Axis::log("time (ms)"),
        series,
    }
}

/// The density per decade, whatever the width of a cell.
fn density(spread: &Spread) -> Chart {
    let cell = |(low, high, n): &(f64, f64, u64)| [*low, *n as f64 * 100.0 / (spread.n as f64 * (high / low).log10())];
    let mut steps: Vec<[f64; 2]> = spread.cells.iter().map(cell).collect();
    steps.extend(spread.cells.last().map(|last| [last.1, 0.0]));
    Chart {
        id: "density".into(),
        title: "Density of the responses".into(),
        reading: "Where the responses lie: the area under the line is one. Two hills are two kinds of answers (cached and not, small \
                  and large), which no mean describes."
            .into(),
        x: Axis::log("response (ms)"),
        y: Axis::linear("share per decade (%)"),
        series: vec![Series::new("response", Ink::Measured, Shape::Steps(steps))],
    }
}

fn distribution(spread: &Spread) -> Chart {
    let within: u64 = spread.cells.iter().map(|cell| cell.2).sum();
    let mut upto = spread.n - within;
    let mut points: Vec<[f64; 2]> =
        spread.cells.first().map(|first| [first.0, upto as f64 * 100.0 / spread.n as f64]).into_iter().collect();
    for (_, high, n) in &spread.cells {
        upto += n;
        points.push([*high, upto as f64 * 100.0 / spread.n as f64]);
    }
    Chart {
        id: "distribution".into(),
        title: "Distribution of the responses".into(),
        reading: "How many of a hundred responses are at most so long. Go up from the time you promise to see how many keep it."
            .into(),
        x: Axis::log("response (ms)"),
        y: Axis::linear("share of the responses (%)"),
        series: vec![Series::new("response", Ink::Measured, Shape::Line(points))],
    }
}

fn heat(over_time: &OverTime) -> Option<Chart> {
    Some(Chart {
        id: "responses-over-time".into(),
        title: "Responses over time".into(),
        reading: "Each column is a moment of the run, each cell the share of its launches that waited so long. A steady run looks \
                  the same from left to right; a band that climbs is a queue that grows."
            .into(),
        x: Axis::linear("time of the run (s)"),
        y: Axis::log("response (ms)"),
        series: vec![Series::new(
            "responses",
            Ink::Measured,
            Shape::Heat(over_time.heat(over_time.responses.as_ref()?, 1.0, "% of the launches")),
        )],
    })
}

fn throughput(over_time: &OverTime) -> Chart {
    Chart {
        id: "throughput".into(),
        title: "Throughput".into(),
        reading: "Complete answers beside launches. Answers that stay below the launches pile up at the server; \
                  that is its limit."
            .into(),
        x: Axis::linear("time of the run (s)"),
        y: Axis::linear(&over_time.per()),
        series: vec![
            Series::new("launches", Ink::Meant, Shape::Steps(over_time.steps(&over_time.sent))),
            Series::new("answers", Ink::Measured, Shape::Steps(over_time.steps(&over_time.answered))),
        ],
    }
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
        reading: "Thousands of bytes read and written. A flat top with growing responses is a full network.".into(),
        x: Axis::linear("time of the run (s)"),
        y: Axis::linear(&format!("KB {}", over_time.per())),
        series: vec![
            Series::new("read", Ink::Measured, kilo(&over_time.bytes_in)),
            Series::new("written", Ink::Second, kilo(&over_time.bytes_out)),
        ],
    })
}

/// Response, service and lateness below each other.
fn three_times(portrait: &Portrait) -> Option<Table> {
    let row = |name: &str, spread: &Spread| {
        let numbers = [spread.mean_ms, spread.sdev_ms, spread.p50_ms, spread.p90_ms, spread.p95_ms, spread.p99_ms];
        let mut cells = vec![Cell::from(name), spread.n.into()];
        cells.extend(numbers.map(Cell::from));
        cells.extend([Cell::from(spread.p999_ms), spread.max_ms.into()]);
        cells
    };
    Some(Table {
        caption: "Three times, three names (ms)".into(),
        heads: vec!["", "n", "mean", "sdev", "p50", "p90", "p95", "p99", "p99.9", "max"],
        rows: vec![
            row("response = done - intended", portrait.response.as_ref()?),
            row("service = done - sent", portrait.service.as_ref()?),
            row("lateness = sent - intended", portrait.lateness.as_ref()?),
        ],
    })
}

fn by_label(v: &Verdict) -> Option<Chart> {
    let rows = busiest(&v.responses);
    if rows.len() < 2 {
        return None;
    }
    let points =
        |of: fn(&Times) -> f64| Shape::Points(rows.iter().enumerate().map(|(i, row)| [i as f64, of(row)]).collect());
    Some(Chart {
        id: "responses-by-label".into(),
        title: "Responses by label".into(),
        reading: "Median, 95 % and 99 % point of each label. The label to improve is the one that is both slow and frequent: see the \
                  table."
            .into(),
        x: Axis::names("", rows.iter().map(|row| row.label.clone()).collect()),
        y: Axis::log("response (ms)"),
        series: vec![
            Series::new("p50", Ink::Measured, points(|row| row.median_ms)),
            Series::new("p95", Ink::Second, points(|row| row.p95_ms)),
            Series::new("p99", Ink::Failed, points(|row| row.p99_ms)),
        ],
    })
}
