//! An exchange as text, as curl shows it: request lines after `>`, response lines after `<`.

use std::fmt;

use offered_base::{visible, visible_lines};
use offered_events::{Exchange, Message};

use offered_report::format::number;

/// Limits of an exchange that is not shown in full: lines of the head, lines of the body, characters of a line.
const HEAD: usize = 16;
const BODY: usize = 12;
const WIDTH: usize = 160;

/// An exchange as text.
pub(crate) struct ExchangeText<'a> {
    pub(crate) exchange: &'a Exchange,
    /// Whether to show it in full.
    pub(crate) whole: bool,
}

impl fmt::Display for ExchangeText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let e = self.exchange;
        write!(f, "-- {}", visible(&e.request))?;
        if e.object > 0 {
            write!(f, ", object {}", e.object)?;
        }
        if e.token_request {
            write!(f, ", token request")?;
        }
        if e.redirects > 0 {
            write!(f, ", redirect {}", e.redirects)?;
        }
        write!(f, " (session {}, step {})", e.session, e.step)?;
        // A previewed request has no outcome yet.
        if !e.outcome.is_empty() {
            write!(f, ": {}", e.outcome)?;
        }
        if e.status > 0 {
            write!(f, ", status {}", e.status)?;
        }
        if let Some(service) = e.service_ms {
            write!(f, ", {} ms{}", number(service), if e.reused { "" } else { " with a new connection" })?;
        }
        writeln!(f)?;
        if let Some(why) = &e.reason {
            writeln!(f, "   reason: {}", visible(why))?;
        }
        if let Some(asked) = &e.sent {
            self.write_message(f, '>', asked)?;
        }
        if let Some(answered) = &e.received {
            self.write_message(f, '<', answered)?;
        }
        for (name, value) in &e.extracted {
            match value {
                Some(value) => writeln!(f, "   extracted {name} = {}", self.line(value))?,
                None => writeln!(f, "   extracted {name}: nothing")?,
            }
        }
        for failed in &e.failed_checks {
            let found =
                failed.found.as_deref().map_or_else(|| "nothing".to_owned(), |found| format!("`{}`", self.line(found)));
            writeln!(
                f,
                "   check failed: {}\n      expected: {}\n      found:    {found}",
                visible(&failed.check),
                visible(&failed.expected)
            )?;
        }
        Ok(())
    }
}

impl ExchangeText<'_> {
    fn write_message(&self, f: &mut fmt::Formatter<'_>, side: char, message: &Message) -> fmt::Result {
        let lines = |most: usize| if self.whole { usize::MAX } else { most };
        for line in message.head.iter().take(lines(HEAD)) {
            writeln!(f, "{side} {}", self.line(line))?;
        }
        if message.head.len() > lines(HEAD) {
            writeln!(f, "{side} ... {} more lines", message.head.len() - HEAD)?;
        }
        match &message.body {
            _ if message.bytes == 0 => {}
            None => writeln!(f, "{side}\n{side} ({} bytes, not text)", message.bytes)?,
            Some(body) => {
                writeln!(f, "{side}")?;
                // Long lines are broken, so that a document without line breaks is visible.
                let wrapped = body.lines().flat_map(wrapped);
                let mut left_out = message.truncated;
                for (number, line) in wrapped.enumerate() {
                    if number >= lines(BODY) {
                        left_out = true;
                        break;
                    }
                    writeln!(f, "{}", format!("{side} {}", visible_lines(&line)).trim_end())?;
                }
                if left_out {
                    writeln!(f, "{side} ... of {} bytes", message.bytes)?;
                }
            }
        }
        Ok(())
    }

    /// A text in one line, with line breaks as `\n`.
    fn line(&self, text: &str) -> String {
        let text = text.replace("\r\n", "\n").replace('\n', "\\n");
        match text.char_indices().nth(WIDTH) {
            Some((end, _)) if !self.whole => format!("{}...", visible_lines(&text[..end])),
            _ => visible_lines(&text).into_owned(),
        }
    }
}

/// Splits a line into pieces of at most `WIDTH` characters; an empty line is one piece.
fn wrapped(line: &str) -> Vec<String> {
    let all: Vec<char> = line.chars().collect();
    match all.is_empty() {
        true => vec![String::new()],
        false => all.chunks(WIDTH).map(|piece| piece.iter().collect()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_events::FailedCheck;

    fn exchange() -> Exchange {
        Exchange {
            request: "log\u{1b}[2Jin".to_owned(),
            step: 1,
            outcome: "check_failed".to_owned(),
            status: 200,
            reason: Some("signed in".to_owned()),
            service_ms: Some(1.5),
            sent: Some(Message { head: vec!["GET / HTTP/1.1".to_owned()], ..Message::default() }),
            received: Some(Message {
                head: (0..20).map(|n| format!("X-{n}: a")).collect(),
                body: Some(format!("{}\n{}\u{1b}[31m", "x".repeat(200), "line\n".repeat(30))),
                bytes: 9000,
                truncated: true,
            }),
            extracted: vec![("token".to_owned(), Some("t\u{7}".to_owned())), ("id".to_owned(), None)],
            failed_checks: vec![FailedCheck {
                check: "signed in".to_owned(),
                expected: "the body contains `hi`".to_owned(),
                found: None,
            }],
            ..Exchange::default()
        }
    }

    #[test]
    fn an_exchange_fits_on_a_screen_without_control_characters() {
        let text = ExchangeText { exchange: &exchange(), whole: false }.to_string();
        assert!(text.lines().count() < 45 && text.lines().all(|line| line.chars().count() < 170), "{text}");
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
        for part in [
            "-- log\\u{1b}[2Jin (session 0, step 1): check_failed, status 200, 1.5 ms with a new connection\n",
            "   reason: signed in\n> GET / HTTP/1.1\n< X-0: a\n",
            "< ... 4 more lines\n<\n< xxxxx",
            "< ... of 9000 bytes\n   extracted token = t\\u{7}\n   extracted id: nothing\n   check failed: signed in\n",
            "      expected: the body contains `hi`\n      found:    nothing\n",
        ] {
            assert!(text.contains(part), "{part}\nis not in\n{text}");
        }
        let whole = ExchangeText { exchange: &exchange(), whole: true }.to_string();
        assert!(whole.contains("X-19: a") && whole.matches("< line\n").count() == 30, "{whole}");
    }
}
