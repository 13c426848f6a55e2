//! Requests before the run that find out the model of the server and the number of words per token.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offered_events::{Event, Exchange, Outcome, RunId};
use offered_experiment::{WorkloadSource, trace_sessions};
use serde_json::Value;

use super::workload::{Draft, Lengths};
use crate::failure::Failure;
use crate::input_file;
use crate::output::status;

/// The distributions of the lengths of requests that measure them.
const WORDS: &str = "uniform:16..512";
const TOKENS: &str = "constant:1";

/// The line through these numbers of words and tokens of prompts, by least squares; the defaults if the numbers do not
/// determine a line.
fn fitted(prompts: &[(f64, f64)]) -> Lengths {
    let n = prompts.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| prompts.iter().map(of).sum::<f64>() / n;
    let (words, tokens) = (mean(|prompt| prompt.0), mean(|prompt| prompt.1));
    let spread: f64 = prompts.iter().map(|prompt| (prompt.0 - words).powi(2)).sum();
    let together: f64 = prompts.iter().map(|prompt| (prompt.0 - words) * (prompt.1 - tokens)).sum();
    let tokens_per_word = together / spread;
    if !tokens_per_word.is_finite() || tokens_per_word <= 0.0 {
        return Lengths::default();
    }
    let overhead = (tokens - tokens_per_word * words).round().max(0.0);
    // As many digits as the workload needs.
    let words_per_token = (1e4 / tokens_per_word).round() / 1e4;
    Lengths { words_per_token, overhead_tokens: overhead as u32 }
}

/// The first model that the server lists; `None` if the request failed, as those of the run will.
pub(super) fn model(draft: &Draft) -> Result<Option<String>, Failure> {
    let Pilot { exchanges, failure, .. } = Pilot::run(draft.models(), 1)?;
    if let Some(failure) = failure {
        status!("warning: {failure}; add --model NAME");
        return Ok(None);
    }
    let body = exchanges.last().and_then(|exchange| exchange.received.as_ref()?.body.as_deref());
    let list: Option<Value> = body.and_then(|body| serde_json::from_str(body).ok());
    let first = list.as_ref().and_then(|list| list["data"][0]["id"].as_str());
    let first = first.map(str::to_owned);
    first.map(Some).ok_or_else(|| Failure::input("the server lists no models at /models; add --model NAME"))
}

/// How the server counts the tokens of prompts; `None` if the requests failed, as those of the run will.
pub(super) fn lengths(draft: &Draft) -> Result<Option<Lengths>, Failure> {
    let Pilot { events, failure, .. } = Pilot::run(draft.pilot(WORDS, TOKENS), draft.pilot_requests())?;
    let counted = |event: &Event| {
        let stream = event.stream.as_ref()?;
        Some((stream.tokens_intended? as f64, stream.tokens_in? as f64))
    };
    let prompts: Vec<(f64, f64)> = events.iter().filter_map(counted).collect();
    match failure {
        Some(failure) => {
            status!("warning: {failure}; words per token are not measured");
            Ok(None)
        }
        None if prompts.is_empty() => Err(Failure::input(
            "the responses contain no token counts (usage, requested by stream_options.include_usage); add --no-pilot",
        )),
        None => Ok(Some(fitted(&prompts))),
    }
}

/// Requests that were sent one after another.
struct Pilot {
    events: Vec<Event>,
    exchanges: Vec<Exchange>,
    /// Why a request failed.
    failure: Option<String>,
}

impl Pilot {
    /// Sends `requests` requests of the workload `text`.
    fn run(text: String, requests: u64) -> Result<Self, Failure> {
        let source = WorkloadSource::new("the first requests".to_owned(), text, input_file::beside(None));
        let workload = source.parse(&source.text).map_err(Failure::input)?;
        // A signal ends the process: nothing is recorded yet.
        let stop = Arc::new(AtomicBool::new(false));
        let mut exchanges = Vec::new();
        let run = RunId::of(offered_io::unix_now());
        let events = trace_sessions(&workload, &run, requests, stop, |exchange| exchanges.push(exchange))?;
        // A single token may have no text: a special token, or a part of a character. Its prompt is counted all the same.
        let is_counted = |event: &Event| {
            event.outcome == Outcome::NoToken && event.stream.as_ref().is_some_and(|stream| stream.tokens_in.is_some())
        };
        let failed = events.iter().find(|event| event.outcome != Outcome::Ok && !is_counted(event));
        let failure = failed.map(|failed| {
            let received = exchanges.iter().rev().find_map(|exchange| exchange.received.as_ref()?.body.as_deref());
            let said = received.filter(|_| failed.status >= 400).map(|body| format!(": {}", body.trim()));
            let status = if failed.status > 0 { format!(" (status {})", failed.status) } else { String::new() };
            let path = workload.requests()[0].path().as_str();
            let why =
                said.unwrap_or_else(|| failed.error.as_ref().map_or_else(String::new, |error| format!(": {error}")));
            format!("{path}: {}{status}{why}", failed.outcome.name())
        });
        Ok(Self { events, exchanges, failure })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_the_counted_prompts() {
        let of = fitted;
        let line = of(&[(16.0, 32.0), (100.0, 137.0), (512.0, 652.0)]);
        assert_eq!(line, Lengths { words_per_token: 0.8, overhead_tokens: 12 });
        assert_eq!(of(&[(16.0, 16.0), (512.0, 512.0)]), Lengths::default());
        assert_eq!(of(&[(16.0, 20.0)]), Lengths::default());
        assert_eq!(of(&[(16.0, 20.0), (20.0, 16.0)]), Lengths::default());
    }
}
