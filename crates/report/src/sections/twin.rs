//! The run compared with a simulation of the same requests on the workload's server model.

use offered_verify::{PairedInterval, PairedStats, Twin};

use crate::chart::{Axis, Chart, Series, Shape, Style};
use crate::document::{Block, Cell, Section, Table, headings};
use crate::run::Run;

use super::{LABELS, and_more};

pub(super) fn section(run: &Run) -> Option<Section> {
    let twin = run.verdict.twin.as_ref()?;
    let mut blocks = vec![Block::Paragraph(twin.sentences().join(" "))];
    blocks.extend(table(twin).map(Block::Table));
    blocks.extend(over_time(twin, run.verdict.window.end_s).non_empty().map(Block::Chart));
    Some(Section {
        id: "twin".into(),
        level: 2,
        title: "Comparison with the server model".into(),
        intro: "The same requests, simulated on the [server] of the workload. Run and simulation use the same random numbers, so their noise cancels and their ratio is more precise than either mean. A ratio of 1 means that the server behaves like its model.",
        book_page: Some("concepts/twin.md"),
        folded: true,
        blocks,
    })
}

fn table(twin: &Twin) -> Option<Table> {
    let (total, labels) = twin.requests.split_last()?;
    let mut busiest: Vec<&PairedStats> = labels.iter().collect();
    busiest.sort_by_key(|row| std::cmp::Reverse(row.n));
    busiest.truncate(if labels.len() > 1 { LABELS } else { 0 });
    busiest.sort_by(|a, b| a.label.cmp(&b.label));
    let left_out = if labels.len() > 1 { labels.len() - busiest.len() } else { 0 };
    let interval = |ends: (Option<f64>, Option<f64>)| match ends {
        (Some(low), Some(high)) => Cell::Interval(low, high),
        _ => Cell::Empty,
    };
    let row = |row: &PairedStats| {
        vec![
            Cell::from(&row.label),
            row.n.into(),
            row.response_ms.into(),
            interval((row.response_low_ms, row.response_high_ms)),
            row.model_ms.into(),
            row.ratio.into(),
            interval((row.ratio_low, row.ratio_high)),
            row.correlation.into(),
        ]
    };
    Some(Table {
        caption: and_more(
            &format!("Response times of the same requests (ms); simulated: {}", twin.model),
            &format!("the {LABELS} most frequent labels"),
            left_out,
        ),
        headings: headings(["request", "pairs", "run", "95 %", "simulated", "run / simulation", "95 %", "correlation"]),
        rows: busiest.into_iter().chain([total]).map(row).collect(),
    })
}

/// Means over stretches with equal numbers of requests; the last ends at `end`, in seconds.
fn over_time(twin: &Twin, end: f64) -> Chart {
    let steps = |mean: fn(&PairedInterval) -> f64| {
        let mut steps: Vec<[f64; 2]> = twin.over_time.iter().map(|stretch| [stretch.start_s, mean(stretch)]).collect();
        steps.extend(steps.last().map(|last| [end, last[1]]));
        Shape::Steps(steps)
    };
    Chart {
        id: "over-time".into(),
        title: "Run and simulation over time".into(),
        caption: "Mean response time over intervals with equal numbers of requests. If both lines rise, the load is the cause. If only the line of the run rises, the cause is outside the model."
            .into(),
        x: Axis::linear("time (s)"),
        y: Axis::linear("mean response time (ms)"),
        series: vec![
            Series::new("simulated", Style::Theory, steps(|stretch| stretch.model_ms)),
            Series::new("measured", Style::Measured, steps(|stretch| stretch.response_ms)),
        ],
    }
    .auto_scale()
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_events::Recording;
    use offered_verify::{Criteria, Unpaired, verify};

    #[test]
    fn run_and_simulation_are_compared_over_time_and_by_request() {
        let mut run = Run::new("r".to_owned(), verify(&Recording::default(), &Criteria::default()).unwrap(), None);
        assert!(section(&run).is_none(), "no twin");
        let total = PairedStats {
            label: "Total".to_owned(),
            n: 500,
            response_ms: 42.0,
            response_low_ms: Some(30.0),
            response_high_ms: Some(54.0),
            model_ms: 40.0,
            ratio: Some(1.05),
            ratio_low: Some(1.02),
            ratio_high: Some(1.08),
            correlation: Some(0.99),
        };
        let few = PairedStats { label: "few".to_owned(), n: 3, ratio_low: None, ratio_high: None, ..total.clone() };
        let stretch = |from_s| PairedInterval { start_s: from_s, response_ms: 42.0 + from_s, model_ms: 40.0 };
        run.verdict.twin = Some(Twin {
            model: "open, fcfs".to_owned(),
            sampled_one_in: 1,
            pairs: 500,
            same_time: 500,
            unpaired: Unpaired { failed: 2, ..Unpaired::default() },
            requests: vec![few.clone(), PairedStats { label: "many".to_owned(), n: 497, ..total.clone() }, total],
            over_time: vec![stretch(0.0), stretch(5.0)],
        });
        run.verdict.window.end_s = 10.0;
        let blocks = section(&run).unwrap().blocks;
        let [Block::Paragraph(words), Block::Table(table), Block::Chart(chart)] = &blocks[..] else {
            panic!("{blocks:?}")
        };
        assert!(words.contains("2.0 to 8.0 % slower") && words.contains("without a pair: 2 failed"), "{words}");
        assert_eq!(table.rows.iter().map(|row| row[0].text()).collect::<Vec<_>>(), ["few", "many", "Total"]);
        assert_eq!((&table.rows[0][6], &table.rows[2][6]), (&Cell::Empty, &Cell::Interval(1.02, 1.08)));
        let steps = Shape::Steps(vec![[0.0, 42.0], [5.0, 47.0], [10.0, 47.0]]);
        assert_eq!((&chart.series[1].name[..], &chart.series[1].shape), ("measured", &steps));
    }
}
