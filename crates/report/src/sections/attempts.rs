//! First attempts, retries and goodput.

use offered_verify::{AttemptRates, AttemptStats};

use crate::chart::{Axis, Chart, Series, Shape, Style};
use crate::document::{Block, Cell, Section, Table, headings};
use crate::run::Run;

/// `None` if no request was sent again.
pub(super) fn section(run: &Run) -> Option<Section> {
    let attempts = run.verdict.attempts.as_ref()?;
    Some(Section {
        id: "attempts".into(),
        level: 2,
        title: "Attempts and goodput".into(),
        intro: "The server receives first attempts and retries. Goodput is the rate of requests that succeeded in any attempt. If goodput falls below the rate of first attempts while the rate of all attempts rises, retries increase an overload.",
        book_page: Some("reference/workload.md#time-limits-and-retries"),
        folded: false,
        blocks: vec![Block::Chart(over_time(attempts)), Block::Table(counts(attempts))],
    })
}

fn over_time(attempts: &AttemptStats) -> Chart {
    let line = |name: &str, style, rate: fn(&AttemptRates) -> f64| {
        Series::new(
            name,
            style,
            Shape::Steps(attempts.over_time.iter().map(|part| [part.start_s, rate(part)]).collect()),
        )
    };
    Chart {
        id: "attempts-over-time".into(),
        title: "First attempts, all attempts and goodput".into(),
        caption: "The distance between the two rates of attempts is the load that retries add.".into(),
        x: Axis::linear("time (s)"),
        y: Axis::linear("requests per second"),
        series: vec![
            line("all attempts", Style::Failed, |part| part.attempts_per_s),
            line("first attempts", Style::Scheduled, |part| part.first_attempts_per_s),
            line("goodput", Style::Measured, |part| part.goodput_per_s),
        ],
    }
}

fn counts(attempts: &AttemptStats) -> Table {
    let row = |name: &str, value: Cell| vec![Cell::from(name), value];
    Table {
        caption: "Attempts".into(),
        headings: headings(["", "value"]),
        rows: vec![
            row("first attempts/s", attempts.first_attempts_per_s.into()),
            row("all attempts/s", attempts.attempts_per_s.into()),
            row("goodput/s", attempts.goodput_per_s.into()),
            row("attempts per request", attempts.attempts_per_request.into()),
            row("requests sent again", attempts.retried_requests.into()),
            row("of them ok in the end", attempts.recovered_requests.into()),
            row("users who gave up", attempts.gave_up.into()),
            row("not sent, circuit breaker open", attempts.breaker_open.into()),
        ],
    }
}
