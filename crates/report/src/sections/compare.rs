//! A comparison of two targets or workloads, A and B: the change from A to B, and the rounds.

use offered_base::short;
use offered_experiment::document::compare::{Change, Document as Comparison};
use offered_verify::CheckResult;

use crate::chart::{Axis, Chart, Series, Shape, Style};
use crate::document::{Block, Card, Cell, Judgement, Section, Status, Table, Tile, headings};

/// The section of the `number`-th comparison.
pub(crate) fn section(of: &Comparison, number: usize) -> Section {
    let mut blocks = vec![Block::Card(card(of)), Block::Table(table(of))];
    blocks.extend([Some(rounds(of)), changes(of)].into_iter().flatten().filter_map(Chart::non_empty).map(Block::Chart));
    blocks.extend(notes(of).into_iter().map(Block::Paragraph));
    Section {
        id: format!("comparison-{number}"),
        level: 2,
        title: title(of),
        intro: "",
        book_page: Some("reference/compare.md"),
        folded: false,
        blocks,
    }
}

/// `http://new/ against http://old/`.
pub(crate) fn title(of: &Comparison) -> String {
    format!("{} against {}", of.b.name, of.a.name)
}

/// The rounds, in one line.
pub(crate) fn facts(of: &Comparison) -> String {
    of.rounds_text("all planned rounds are done")
}

/// The status of the whole: that of the limit, or of what is known.
pub(crate) fn status(of: &Comparison) -> Status {
    of.result.map_or_else(|| known(of), Status::from)
}

/// The status of the result. Without a limit, a slower B is no failure.
fn known(of: &Comparison) -> Status {
    match of.judgement() {
        "SLOWER" if of.result == Some(CheckResult::Failed) => Status::Failed,
        "SLOWER" => Status::Warning,
        "NOT KNOWN" => Status::NotChecked,
        _ => Status::Passed,
    }
}

fn card(of: &Comparison) -> Card {
    let limit = of.result.zip(of.limit_text()).map(|(result, text)| Judgement {
        status: result.into(),
        judgement: result.text().to_uppercase(),
        text,
        fixes: if result == CheckResult::NotChecked {
            vec!["use more pairs, or longer rounds".to_owned()]
        } else {
            Vec::new()
        },
    });
    let conclusion = Judgement {
        status: known(of),
        judgement: of.judgement().to_owned(),
        text: of.conclusion.clone(),
        fixes: Vec::new(),
    };
    Card { judgements: limit.into_iter().chain([conclusion]).collect(), tiles: tiles(of) }
}

fn tiles(of: &Comparison) -> Vec<Tile> {
    let tile = |name: String, value: Cell, note: String| Tile { name, value, note };
    let change = of.responses.iter().find(|row| row.statistic == of.statistic);
    let statistic = &of.statistic;
    let limit = of.no_worse_than_percent.map_or_else(String::new, |limit| format!(", limit {}", short(limit)));
    let interval = change.and_then(Change::interval);
    let interval = interval.map_or_else(|| "%".to_owned(), |(low, high)| format!("%, {low:+.1} to {high:+.1}"));
    let percent = change.and_then(|change| change.change_percent);
    vec![
        tile(format!("{statistic} of A"), change.and_then(|change| change.a_ms).into(), "ms".to_owned()),
        tile(format!("{statistic} of B"), change.and_then(|change| change.b_ms).into(), "ms".to_owned()),
        tile("change".to_owned(), percent.map(|percent| format!("{percent:+.1}")).into(), interval + &limit),
        tile("failed of A".to_owned(), of.errors.a_percent.into(), "%".to_owned()),
        tile("failed of B".to_owned(), of.errors.b_percent.into(), "%".to_owned()),
        tile("rounds".to_owned(), of.rounds.into(), format!("of at most {}", of.max_rounds)),
    ]
}

/// The statistics of A and B, with the intervals of their changes.
pub(crate) fn table(of: &Comparison) -> Table {
    let signed = |value: Option<f64>| Cell::from(value.map(|value| format!("{value:+.1} %")));
    let row = |row: &Change| {
        let interval = row.interval().map(|(low, high)| format!("{low:+.1} to {high:+.1} %"));
        vec![
            Cell::from(format!("{} ms", row.statistic)),
            row.a_ms.into(),
            row.b_ms.into(),
            signed(row.change_percent),
            interval.into(),
        ]
    };
    let errors = &of.errors;
    let interval = errors.interval().map(|(low, high)| format!("{low:+.2} to {high:+.2} points"));
    let failed = vec![
        Cell::from("failed %"),
        errors.a_percent.into(),
        errors.b_percent.into(),
        format!("{:+.2} points", errors.difference_points).into(),
        interval.into(),
    ];
    Table {
        caption: "Response times of successful requests, and failures".into(),
        headings: headings(["", "A", "B", "change", "95 % interval"]),
        rows: of.responses.iter().map(row).chain([failed]).collect(),
    }
}

/// The shares of failed requests, in a sentence.
pub(crate) fn failures(of: &Comparison) -> String {
    format!(
        "{} % of the requests of A failed, {} % of those of B",
        short(of.errors.a_percent),
        short(of.errors.b_percent)
    )
}

/// What A and B are, the rounds, and the warnings.
pub(crate) fn notes(of: &Comparison) -> Vec<String> {
    let method = if of.has_baseline {
        "A is a recording, so rounds are not paired."
    } else {
        "A pair is one round of A and one of B with the same requests, in alternating order. The intervals account for repeated tests, so the comparison may stop as soon as the result is clear."
    };
    let mut notes =
        vec![format!("A is {}.", of.a.text()), format!("B is {}.", of.b.text()), format!("{}. {method}", facts(of))];
    notes.extend(of.warnings.iter().map(|warning| format!("Warning: {warning}.")));
    notes
}

/// The statistic that decides, in each round of A and B.
fn rounds(of: &Comparison) -> Chart {
    let line = |rounds: &[Option<f64>]| {
        let points = rounds.iter().zip(1..).filter_map(|(ms, round)| Some([f64::from(round), (*ms)?]));
        Shape::Line(points.collect())
    };
    let statistic = &of.statistic;
    let caption = if of.has_baseline {
        "Rounds in the order in which they ran; rounds of A and B with the same number are not related."
    } else {
        "If the machine or the network changed for A and B, both lines change together; the comparison by pairs removes this effect."
    };
    Chart {
        id: "rounds".into(),
        title: format!("The {statistic} of each round"),
        caption: caption.to_owned(),
        x: Axis::linear("round"),
        y: Axis::linear(&format!("{statistic} (ms)")),
        series: vec![
            Series::new("A", Style::Measured, line(&of.a.rounds_ms)),
            Series::new("B", Style::Second, line(&of.b.rounds_ms)),
        ],
    }
}

/// The change in each pair, with the interval of their mean; `None` without pairs.
fn changes(of: &Comparison) -> Option<Chart> {
    let ((low, high), last) = (of.change()?.interval()?, of.b.rounds_ms.len() as f64);
    let pairs = of.a.rounds_ms.iter().zip(&of.b.rounds_ms).zip(1..);
    let points = pairs.filter_map(|((a, b), pair)| Some([f64::from(pair), 100.0 * ((*b)? / (*a)? - 1.0)])).collect();
    let level = |percent: f64| Shape::Line(vec![[0.5, percent], [last + 0.5, percent]]);
    let mut series = vec![
        Series::new(
            "95 % interval of the mean change",
            Style::Scheduled,
            Shape::Band(vec![[0.5, low, high], [last + 0.5, low, high]]),
        ),
        Series::new("no change", Style::Theory, level(0.0)),
        Series::new("pair", Style::Measured, Shape::Points(points)),
    ];
    series.extend(of.no_worse_than_percent.map(|limit| Series::new("limit", Style::Failed, level(limit))));
    (!of.has_baseline).then(|| Chart {
        id: "changes".into(),
        title: format!("Change of the {} in each pair", of.statistic),
        caption: "Above zero, B is slower. The band is the 95 % interval of the mean change.".to_owned(),
        x: Axis::linear("pair"),
        y: Axis::linear("change from A to B (%)"),
        series,
    })
}
