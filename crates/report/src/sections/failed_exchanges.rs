//! Recorded failures with request and response.

use offered_events::{Exchange, FailedCheck, Message};

use crate::document::{Block, Cell, Section, Table, headings};
use crate::run::Run;

/// Maximum number of failures, and of characters of a request or response.
const SHOWN: usize = 20;
const CHARACTERS: usize = 400;

pub(super) fn section(run: &Run) -> Option<Section> {
    let exchanges = &run.failed_exchanges;
    let row = |exchange: &Exchange| {
        let Exchange { request, session, step, outcome, status, reason, sent, received, failed_checks, .. } = exchange;
        let status = if *status > 0 { format!(" {status}") } else { String::new() };
        let why = reason.as_ref().map_or_else(String::new, |error| format!(": {error}"));
        let text = |text: Option<String>| text.map_or(Cell::Empty, Cell::Text);
        let all = |side: fn(&FailedCheck) -> String| {
            (!failed_checks.is_empty()).then(|| failed_checks.iter().map(side).collect::<Vec<_>>().join("; "))
        };
        let wanted = all(|failed| clipped(&failed.expected));
        let found = all(|failed| failed.found.as_deref().map_or_else(|| "nothing".to_owned(), clipped));
        vec![
            Cell::Text(format!("{request} (session {session}, step {step})")),
            Cell::Text(format!("{outcome}{status}{why}")),
            text(received.as_ref().map(side)),
            text(wanted),
            text(found),
            text(sent.as_ref().map(side)),
        ]
    };
    let caption = match exchanges.len().saturating_sub(SHOWN) {
        0 => "Requests and responses".to_owned(),
        more => format!("Requests and responses; {more} more in failed.jsonl"),
    };
    let table = || Table {
        caption,
        headings: headings(["request", "outcome", "response", "expected", "found", "sent"]),
        rows: exchanges.iter().take(SHOWN).map(row).collect(),
    };
    (!exchanges.is_empty()).then(|| Section {
        id: "failed-exchanges".into(),
        level: 2,
        title: "Failed requests in full".into(),
        intro: "The first failures of each kind, as recorded in failed.jsonl of the run directory. Credentials and values from files and the environment are blanked.",
        book_page: Some("guides/scripts.md"),
        folded: true,
        blocks: vec![Block::Table(table())],
    })
}

/// The head and the start of the body of a request or response.
fn side(message: &Message) -> String {
    let body = message.body.as_deref().unwrap_or("(no text)");
    clipped(&format!("{} {}", message.head.join("; "), if message.bytes > 0 { body } else { "" }))
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_events::Recording;
    use offered_verify::{Criteria, verify};

    #[test]
    fn recorded_failures_are_shown_within_limits() {
        let verdict = verify(&Recording::default(), &Criteria::default()).unwrap();
        let mut run = Run::new("r".to_owned(), verdict, None);
        assert!(section(&run).is_none());
        let message = Message {
            head: vec!["GET / HTTP/1.1".to_owned()],
            body: Some("x".repeat(4000)),
            bytes: 4000,
            truncated: false,
        };
        let failed = FailedCheck { check: "c".to_owned(), expected: "the body contains `hi`".to_owned(), found: None };
        let exchange = Exchange {
            request: "page".to_owned(),
            outcome: "check_failed".to_owned(),
            status: 200,
            reason: Some("c".to_owned()),
            sent: Some(message.clone()),
            received: Some(message),
            failed_checks: vec![failed],
            ..Exchange::default()
        };
        run.failed_exchanges = vec![exchange; 25];
        let section = section(&run).unwrap();
        let Block::Table(table) = &section.blocks[0] else { panic!("a table") };
        assert_eq!((table.rows.len(), table.caption.ends_with("5 more in failed.jsonl")), (SHOWN, true));
        assert_eq!(
            [0, 1, 3, 4].map(|column| table.rows[0][column].clone()),
            ["page (session 0, step 0)", "check_failed 200: c", "the body contains `hi`", "nothing"].map(Cell::from)
        );
        let Cell::Text(answered) = &table.rows[0][2] else { panic!("a text") };
        assert!(answered.starts_with("GET / HTTP/1.1 xxx") && answered.chars().count() < 420, "{answered}");
    }
}
