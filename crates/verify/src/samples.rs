//! Samples: the raw gaps and response times per label, for histograms and for other programs.

use std::io;

use offered_events::Recording;
use offered_stats::summary::gaps;

use crate::criteria::Criteria;
use crate::scope::Scope;

/// The raw values of one label, or of all (`Total`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The label, or `Total`.
    pub label: String,
    /// The gaps between its requests in nanoseconds, in the order of time.
    pub gaps: Vec<u64>,
    /// The response times in nanoseconds, in the order of the recording.
    pub responses: Vec<i64>,
}

/// The values behind the tables of a verdict: one [`Sample`] per label with sent requests, then `Total`.
///
/// # Errors
/// The recording cannot be read.
pub fn samples(recording: &Recording, criteria: &Criteria) -> io::Result<Vec<Sample>> {
    let Some(scope) = Scope::of(recording, criteria) else { return Ok(Vec::new()) };
    let labels = recording.labels.iter().enumerate().map(|(at, name)| (name.as_str(), Some(at as u16)));
    let mut labels: Vec<(&str, Option<u16>)> = labels.collect();
    labels.sort_unstable();
    labels.push(("Total", None));
    let mut samples = Vec::new();
    for (name, label) in labels {
        let (mut sent, mut responses) = (Vec::new(), Vec::new());
        scope.each_sent(|at, event| {
            if label.is_none_or(|label| label == event.label) {
                sent.push(at);
                responses.extend(event.response().map(|response| response.0));
            }
        })?;
        sent.sort_unstable();
        if !sent.is_empty() {
            samples.push(Sample { label: name.to_owned(), gaps: gaps(&sent).collect(), responses });
        }
    }
    Ok(samples)
}
