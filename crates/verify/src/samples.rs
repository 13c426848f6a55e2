//! Samples: the raw gaps and response times of each label, for histograms and for other programs.

use offered_model::Recording;
use offered_stats::summary::gaps;

use crate::ask::Ask;
use crate::scope::Scope;

/// The raw values of one label, or of all (`Total`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The label, or `Total`.
    pub label: String,
    /// The gaps between its launches in ns, in the order of time.
    pub gaps: Vec<u64>,
    /// Its response times in ns, in the order of the recording.
    pub responses: Vec<i64>,
}

/// The samples behind the tables of a verdict: a [`Sample`] per label that launched something, then `Total`.
pub fn samples(recording: &Recording, ask: &Ask) -> Vec<Sample> {
    let Some(scope) = Scope::of(recording, ask) else { return Vec::new() };
    let labels = recording.labels.iter().enumerate().map(|(at, name)| (name.as_str(), Some(at as u16)));
    let mut labels: Vec<(&str, Option<u16>)> = labels.collect();
    labels.sort_unstable();
    labels.push(("Total", None));
    let sample = |(name, label): (&str, Option<u16>)| {
        let of_label = |of: u16| label.is_none_or(|label| label == of);
        let sent = scope.sent(|event| of_label(event.label));
        let responses = scope.launches().filter(|(_, event)| of_label(event.label));
        (!sent.is_empty()).then(|| Sample {
            label: name.to_owned(),
            gaps: gaps(&sent).collect(),
            responses: responses.filter_map(|(_, event)| Some(event.response()?.0)).collect(),
        })
    };
    labels.into_iter().filter_map(sample).collect()
}
