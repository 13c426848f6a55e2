//! Section 6: the queue. Little's law, the papers' Tables 3 and 4, and theory beside measurement.

use offered_experiment::theory::{Prediction, WebUsers};
use offered_verify::Judgement;

use crate::chart::{Axis, Chart, Ink, Series, Shape};
use crate::document::{Block, Cell, Section, Table, short};
use crate::portrait::OverTime;
use crate::report::Run;

pub(super) fn section(run: &Run) -> Section {
    let q = &run.verdict.queue;
    let mut blocks = vec![Block::Table(little(run))];
    if run.verdict.keeps_up.is_some_and(|kept| kept.judgement == Judgement::Fails) {
        blocks.push(Block::Words(
            "Little's law does not apply, and no number of people is told: both are about systems in balance, and more arrived \
             here than left. The response grows as long as the run lasts."
                .to_owned(),
        ));
    }
    if let Some(rort) = q.rort {
        blocks.push(Block::Words(format!(
            "Each user spends {} % of the time waiting for answers (RoRT); the nearer to zero, the less users launch in step \
             with the server.",
            short(rort * 100.0)
        )));
    }
    if let Some(portrait) = &run.portrait {
        blocks.extend(under_way(&portrait.over_time, q.concurrency).some().map(Block::Chart));
    }
    if !run.predictions.is_empty() {
        blocks.push(Block::Table(predicted(run)));
        blocks.extend(agreement(run).map(Block::Words));
    }
    if !run.web_users.is_empty() {
        blocks.extend(ten_thousand(&run.web_users).map(Block::Words));
        blocks.push(Block::Table(web_users(&run.web_users)));
    }
    Section {
        id: "queue".into(),
        level: 2,
        title: "The queue".into(),
        reading: "Little's law needs no model: requests at the server Q are the rate times the response, users N the rate times the \
                  round trip R + Z. The same rate stands for many more people at their browsers, who think for tens of seconds.",
        page: Some("concepts/models.md"),
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
        q.users_seen.into(),
        q.rort.into(),
    ];
    Table {
        caption: "Little's law (Table 3 of Brady and Gunther)".into(),
        heads: vec![
            "λ per s",
            "R (ms)",
            "Q = λ R",
            "Z (ms)",
            "RTT = R + Z (ms)",
            "N = λ (R + Z)",
            "users seen",
            "RoRT = R / RTT",
        ],
        rows: vec![cells],
    }
}

fn under_way(over_time: &OverTime, concurrency: Option<f64>) -> Chart {
    let mut steps: Vec<[f64; 2]> =
        over_time.edges_s.iter().zip(&over_time.in_flight).map(|(edge, n)| [*edge, *n]).collect();
    let end = over_time.edges_s.last().copied().unwrap_or(0.0);
    steps.extend(steps.last().copied().map(|last| [end, last[1]]));
    let law = concurrency.map(|q| Series::new("Q = λ R", Ink::Theory, Shape::Line(vec![[0.0, q], [end, q]])));
    Chart {
        id: "under-way".into(),
        title: "Requests under way".into(),
        reading: "How many requests were sent and not yet answered, averaged over each cell, and what Little's law makes of rate and \
                  response. A line that climbs to the end is a server that cannot keep up."
            .into(),
        x: Axis::linear("time of the run (s)"),
        y: Axis::linear("requests under way"),
        series: [Series::new("measured", Ink::Measured, Shape::Steps(steps))].into_iter().chain(law).collect(),
    }
}

fn predicted(run: &Run) -> Table {
    let at = |prediction: &Prediction, p: f64| {
        prediction.percentiles_ms.iter().find(|point| (point[0] - p).abs() < 1e-9).map(|point| point[1])
    };
    let row = |prediction: &Prediction| {
        let interval = prediction.interval_ms.map_or(Cell::Nothing, |(low, high)| Cell::Interval(low, high));
        let mut cells = vec![Cell::from(prediction.by.name()), prediction.mean_ms.into(), interval];
        cells.extend([0.5, 0.9, 0.95, 0.99].map(|p| Cell::from(at(prediction, p))));
        cells.extend([prediction.in_system.into(), prediction.throughput_per_s.into()]);
        cells.push(Cell::from(format!("{}: {}", prediction.model, prediction.source)));
        cells
    };
    let spread = run.portrait.as_ref().and_then(|portrait| portrait.response.as_ref());
    let measured = spread.map(|spread| {
        let interval = spread.mean_interval_ms.map_or(Cell::Nothing, |ends| Cell::Interval(ends.low, ends.high));
        let mut cells = vec![Cell::from("measured"), spread.mean_ms.into(), interval];
        cells.extend([spread.p50_ms, spread.p90_ms, spread.p95_ms, spread.p99_ms].map(Cell::from));
        let answers = run.verdict.responses.last().and_then(|total| total.rate_per_s);
        cells.extend([run.verdict.queue.concurrency.into(), answers.into(), Cell::from("this run")]);
        cells
    });
    Table {
        caption: "Predicted and measured responses (ms)".into(),
        heads: vec!["by", "mean", "95 %", "p50", "p90", "p95", "p99", "Q", "X per s", "from"],
        rows: measured.into_iter().chain(run.predictions.iter().map(row)).collect(),
    }
}

/// Whether the measured mean agrees with what was predicted.
fn agreement(run: &Run) -> Option<String> {
    let ends = run.portrait.as_ref()?.response.as_ref()?.mean_interval_ms?;
    let prediction = run.predictions.iter().find(|prediction| prediction.mean_ms.is_some())?;
    let mean = prediction.mean_ms?;
    let (low, high) = prediction.interval_ms.unwrap_or((mean, mean));
    let by = prediction.by.name();
    Some(if high < ends.low || low > ends.high {
        format!(
            "The {by} lies outside the measured interval: the server is not the one modelled, or the load was not the one meant."
        )
    } else {
        format!("The {by} lies inside the measured interval: the run and theory agree as far as this run can tell.")
    })
}

/// What ten thousand people would need, in a sentence.
fn ten_thousand(rows: &[WebUsers]) -> Option<String> {
    let row = rows.iter().find(|row| row.think_s >= 30.0).or(rows.last())?;
    Some(format!(
        "This run stands for {} people who each think {} s between requests. Ten thousand of them would make {} requests per \
         second, {} times this run's rate, as long as the responses stay what they were.",
        short(row.web_users.round()),
        short(row.think_s),
        short(row.rate_of_10000_per_s),
        short(row.times_this_run)
    ))
}

fn web_users(rows: &[WebUsers]) -> Table {
    let row = |row: &WebUsers| {
        [row.think_s, row.web_users, row.rate_of_10000_per_s, row.times_this_run].map(Cell::from).to_vec()
    };
    Table {
        caption: "Web users N' = λ (R + Z') (Table 4 of Brady and Gunther)".into(),
        heads: vec!["think Z' (s)", "this run is N' users", "10,000 users make (per s)", "times this run"],
        rows: rows.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_model::Recording;
    use offered_verify::{Ask, KeepsUp, verify};

    #[test]
    fn a_system_out_of_balance_is_said_to_be_none_of_littles() {
        let mut run = Run::new("r".to_owned(), verify(&Recording::default(), &Ask::default()).unwrap(), None);
        let kept = KeepsUp {
            given_up: 0,
            judgement: Judgement::Fails,
            not_checked: None,
            launched_per_s: 150.0,
            answered_per_s: 90.0,
            in_system_at_first: 0,
            in_system_at_last: 600,
            growth_per_s: 60.0,
            growth_low: 50.0,
            growth_high: 70.0,
        };
        let told = |run: &Run| format!("{:?}", section(run).blocks);
        assert!(!told(&run).contains("does not apply"));
        run.verdict.keeps_up = Some(kept);
        assert!(told(&run).contains("Little's law does not apply"));
    }
}
