//! Queueing: Little's law, predictions and measurement, number of web users.

use offered_experiment::prediction::{Prediction, WebUsers};
use offered_verify::StabilityState;

use crate::chart::{Axis, Chart, Series, Shape, Style};
use crate::chart_data::OverTime;
use crate::document::{Block, Cell, Section, Table, headings};
use crate::format::number;
use crate::run::Run;

pub(super) fn section(run: &Run) -> Section {
    let q = &run.verdict.queue;
    let mut blocks = vec![Block::Table(little(run))];
    if run.verdict.stability.is_some_and(|stability| stability.state == StabilityState::Overloaded) {
        blocks.push(Block::Paragraph(
            "Little's law does not apply, and there is no number of web users, because both need a stable system, and this system was overloaded. The response time grows with the duration of the run."
                .to_owned(),
        ));
    }
    if let Some(rort) = q.rort {
        blocks.push(Block::Paragraph(format!(
            "Each user spends {} % of the time waiting for responses (RoRT). Near zero, users are independent of the server.",
            number(rort * 100.0)
        )));
    }
    if let Some(chart_data) = &run.chart_data {
        blocks.extend(in_flight(&chart_data.over_time, q.concurrency).non_empty().map(Block::Chart));
    }
    if !run.predictions.is_empty() {
        blocks.push(Block::Table(predicted(run)));
        blocks.extend(agreement(run).map(Block::Paragraph));
    }
    if !run.web_users.is_empty() {
        blocks.extend(ten_thousand(&run.web_users).map(Block::Paragraph));
        blocks.push(Block::Table(web_users(&run.web_users)));
    }
    Section {
        id: "queue".into(),
        level: 2,
        title: "Queueing".into(),
        intro: "Little's law: the number of requests in flight Q is rate times response time, the number of users N is rate times R + Z. The same rate corresponds to many more web users, who think for tens of seconds.",
        book_page: Some("concepts/models.md"),
        folded: true,
        blocks,
    }
}

fn little(run: &Run) -> Table {
    let q = &run.verdict.queue;
    let cells = vec![
        q.rate_per_s.into(),
        q.response_ms.into(),
        q.concurrency.into(),
        q.think_ms.into(),
        q.rtt_ms.into(),
        q.users.into(),
        q.users_observed.into(),
        q.rort.into(),
    ];
    Table {
        caption: "Little's law (Table 3 of Brady and Gunther)".into(),
        headings: headings([
            "rate/s",
            "R (ms)",
            "Q = λ R",
            "Z (ms)",
            "RTT = R + Z (ms)",
            "N = λ (R + Z)",
            "users observed",
            "RoRT = R / RTT",
        ]),
        rows: vec![cells],
    }
}

fn in_flight(over_time: &OverTime, concurrency: Option<f64>) -> Chart {
    let mut steps: Vec<[f64; 2]> =
        over_time.edges_s.iter().zip(&over_time.in_flight).map(|(edge, n)| [*edge, *n]).collect();
    let end = over_time.edges_s.last().copied().unwrap_or(0.0);
    steps.extend(steps.last().copied().map(|last| [end, last[1]]));
    let law = concurrency.map(|q| Series::new("Q = λ R", Style::Theory, Shape::Line(vec![[0.0, q], [end, q]])));
    Chart {
        id: "in-flight".into(),
        title: "Requests in flight".into(),
        caption: "Number of requests sent and not yet completed, averaged per time interval, and the value by Little's law. A steady rise shows an overloaded server."
            .into(),
        x: Axis::linear("time (s)"),
        y: Axis::linear("requests in flight"),
        series: [Series::new("measured", Style::Measured, Shape::Steps(steps))].into_iter().chain(law).collect(),
    }
}

fn predicted(run: &Run) -> Table {
    let at = |prediction: &Prediction, p: f64| {
        prediction.percentiles_ms.iter().find(|point| (point[0] - p).abs() < 1e-9).map(|point| point[1])
    };
    let row = |prediction: &Prediction| {
        let interval = prediction.interval_ms.map_or(Cell::Empty, |(low, high)| Cell::Interval(low, high));
        let mut cells = vec![Cell::from(prediction.method.name()), prediction.mean_ms.into(), interval];
        cells.extend([0.5, 0.9, 0.95, 0.99].map(|p| Cell::from(at(prediction, p))));
        cells.extend([prediction.in_system.into(), prediction.throughput_per_s.into()]);
        cells.push(Cell::from(format!("{}: {}", prediction.model, prediction.source)));
        cells
    };
    let spread = run.chart_data.as_ref().and_then(|chart_data| chart_data.response.as_ref());
    let measured = spread.map(|spread| {
        let interval = spread.mean_interval_ms.map_or(Cell::Empty, |ends| Cell::Interval(ends.low, ends.high));
        let mut cells = vec![Cell::from("measured"), spread.mean_ms.into(), interval];
        cells.extend([spread.p50_ms, spread.p90_ms, spread.p95_ms, spread.p99_ms].map(Cell::from));
        let answers = run.verdict.responses.last().and_then(|total| total.rate_per_s);
        cells.extend([run.verdict.queue.concurrency.into(), answers.into(), Cell::from("this run")]);
        cells
    });
    Table {
        caption: "Predicted and measured response times (ms)".into(),
        headings: headings(["by", "mean", "95 %", "p50", "p90", "p95", "p99", "Q", "completed/s", "source"]),
        rows: measured.into_iter().chain(run.predictions.iter().map(row)).collect(),
    }
}

/// Whether the measured mean agrees with the prediction.
fn agreement(run: &Run) -> Option<String> {
    let ends = run.chart_data.as_ref()?.response.as_ref()?.mean_interval_ms?;
    let prediction = run.predictions.iter().find(|prediction| prediction.mean_ms.is_some())?;
    let mean = prediction.mean_ms?;
    let (low, high) = prediction.interval_ms.unwrap_or((mean, mean));
    let by = prediction.method.name();
    Some(if high < ends.low || low > ends.high {
        format!(
            "The {by} is outside the measured interval: the server differs from its model, or the load differs from the specified load."
        )
    } else {
        format!("The {by} is inside the measured interval: run and theory agree within the precision of this run.")
    })
}

/// The rate of ten thousand web users, as a sentence.
fn ten_thousand(rows: &[WebUsers]) -> Option<String> {
    let row = rows.iter().find(|row| row.think_s >= 30.0).or(rows.last())?;
    Some(format!(
        "This run corresponds to {} web users who think {} s between requests. Ten thousand of them would send {} requests/s, {} times this run's rate, if the response time does not change.",
        number(row.web_users.round()),
        number(row.think_s),
        number(row.rate_of_10000_per_s),
        number(row.multiple_of_run)
    ))
}

fn web_users(rows: &[WebUsers]) -> Table {
    let row = |row: &WebUsers| {
        [row.think_s, row.web_users, row.rate_of_10000_per_s, row.multiple_of_run].map(Cell::from).to_vec()
    };
    Table {
        caption: "Web users N' = λ (R + Z') (Table 4 of Brady and Gunther)".into(),
        headings: headings(["think Z' (s)", "web users N' of this run", "rate of 10,000 users (/s)", "times this run"]),
        rows: rows.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_events::Recording;
    use offered_verify::{Criteria, Stability, verify};

    #[test]
    fn littles_law_does_not_apply_to_an_overloaded_system() {
        let mut run = Run::new("r".to_owned(), verify(&Recording::default(), &Criteria::default()).unwrap(), None);
        let stability = Stability {
            timed_out: 0,
            completed_later: 0,
            state: StabilityState::Overloaded,
            not_checked_reason: None,
            scheduled_rate_per_s: None,
            sent_rate_per_s: 150.0,
            completed_rate_per_s: 90.0,
            in_flight_at_start: 0,
            in_flight_at_middle: 300,
            in_flight_at_end: 600,
            growth_per_s: 60.0,
            growth_low_per_s: 50.0,
            growth_high_per_s: 70.0,
        };
        let text = |run: &Run| format!("{:?}", section(run).blocks);
        assert!(!text(&run).contains("does not apply"));
        run.verdict.stability = Some(stability);
        assert!(text(&run).contains("Little's law does not apply"));
    }
}
