//! Where the workload models its server: the run beside the simulation of the same launches.

use offered_verify::{Paired, Stretch, Twin};

use crate::chart::{Axis, Chart, Ink, Series, Shape};
use crate::document::{Block, Cell, Section, Table};
use crate::report::Run;

use super::{LABELS, and_more};

pub(super) fn section(run: &Run) -> Option<Section> {
    let twin = run.verdict.twin.as_ref()?;
    let mut blocks = vec![Block::Words(twin.in_words().join(" "))];
    blocks.extend(table(twin).map(Block::Table));
    blocks.extend(over_time(twin, run.verdict.window.to_s).some().map(Block::Chart));
    Some(Section {
        id: "twin".into(),
        level: 2,
        title: "Beside its model".into(),
        reading: "The same launches, simulated at the server that the workload models. What chance did to the run (a burst, a long \
                  request) it did to the model too, so the ratio of the two is known much better than either mean. Where it is 1, \
                  the server is the one that was modelled.",
        page: Some("concepts/twin.md"),
        blocks,
    })
}

fn table(twin: &Twin) -> Option<Table> {
    let (total, labels) = twin.requests.split_last()?;
    let mut busiest: Vec<&Paired> = labels.iter().collect();
    busiest.sort_by_key(|row| std::cmp::Reverse(row.n));
    busiest.truncate(if labels.len() > 1 { LABELS } else { 0 });
    busiest.sort_by(|a, b| a.label.cmp(&b.label));
    let left_out = if labels.len() > 1 { labels.len() - busiest.len() } else { 0 };
    let interval = |ends: (Option<f64>, Option<f64>)| match ends {
        (Some(low), Some(high)) => Cell::Interval(low, high),
        _ => Cell::Nothing,
    };
    let row = |row: &Paired| {
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
            &format!("Responses to the same launches (ms); the model: {}", twin.model),
            &format!("the busiest {LABELS} labels"),
            left_out,
        ),
        heads: vec!["request", "pairs", "run", "95 %", "model", "run / model", "95 %", "correlation"],
        rows: busiest.into_iter().chain([total]).map(row).collect(),
    })
}

/// The means of stretches of equally many launches; the last ends at `end`, seconds.
fn over_time(twin: &Twin, end: f64) -> Chart {
    let steps = |mean: fn(&Stretch) -> f64| {
        let mut steps: Vec<[f64; 2]> = twin.over_time.iter().map(|stretch| [stretch.from_s, mean(stretch)]).collect();
        steps.extend(steps.last().map(|last| [end, last[1]]));
        Shape::Steps(steps)
    };
    Chart {
        id: "over-time".into(),
        title: "Run and model over time".into(),
        reading: "The mean response of stretches of equally many launches, and what the model makes of the same. Where both rise, the \
                  load made them; where only the run does, something that is not in the model."
            .into(),
        x: Axis::linear("time of the run (s)"),
        y: Axis::linear("mean response (ms)"),
        series: vec![
            Series::new("model", Ink::Theory, steps(|stretch| stretch.model_ms)),
            Series::new("measured", Ink::Measured, steps(|stretch| stretch.response_ms)),
        ],
    }
    .tenfold()
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_model::Recording;
    use offered_verify::{Ask, Unpaired, verify};

    #[test]
    fn run_and_model_are_shown_over_time_and_by_request() {
        let mut run = Run::new("r".to_owned(), verify(&Recording::default(), &Ask::default()).unwrap(), None);
        assert!(section(&run).is_none(), "nobody asked");
        let total = Paired {
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
        let few = Paired { label: "few".to_owned(), n: 3, ratio_low: None, ratio_high: None, ..total.clone() };
        let stretch = |from_s| Stretch { from_s, response_ms: 42.0 + from_s, model_ms: 40.0 };
        run.verdict.twin = Some(Twin {
            model: "open, fcfs".to_owned(),
            one_in: 1,
            pairs: 500,
            same_instant: 500,
            unpaired: Unpaired { failed: 2, ..Unpaired::default() },
            requests: vec![few.clone(), Paired { label: "many".to_owned(), n: 497, ..total.clone() }, total],
            over_time: vec![stretch(0.0), stretch(5.0)],
        });
        run.verdict.window.to_s = 10.0;
        let blocks = section(&run).unwrap().blocks;
        let [Block::Words(words), Block::Table(table), Block::Chart(chart)] = &blocks[..] else { panic!("{blocks:?}") };
        assert!(words.contains("2.0 to 8.0 % slower") && words.contains("without a pair: 2 failed"), "{words}");
        assert_eq!(table.rows.iter().map(|row| row[0].text()).collect::<Vec<_>>(), ["few", "many", "Total"]);
        assert_eq!((&table.rows[0][6], &table.rows[2][6]), (&Cell::Nothing, &Cell::Interval(1.02, 1.08)));
        let steps = Shape::Steps(vec![[0.0, 42.0], [5.0, 47.0], [10.0, 47.0]]);
        assert_eq!((&chart.series[1].name[..], &chart.series[1].shape), ("measured", &steps));
    }
}
