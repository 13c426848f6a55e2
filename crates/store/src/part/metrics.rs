//! The numbers in a response as text: a JSON array.

use offered_events::{Event, MetricValue};

/// Maximum length of a text that is read.
const MAX_TEXT: usize = 64 << 10;

/// The numbers of an event, `[12.0,null]`; `None` without metrics.
pub(crate) fn text(event: &Event) -> Option<String> {
    let numbers: Vec<Option<f64>> = event.metrics.as_ref()?.iter().map(|value| value.get()).collect();
    Some(serde_json::to_string(&numbers).unwrap_or_default())
}

/// Sets the numbers of an event; none if `text` is not such an array.
pub(crate) fn set(event: &mut Event, text: &[u8]) {
    let numbers = Some(text).filter(|text| text.len() <= MAX_TEXT);
    let numbers: Option<Vec<Option<f64>>> = numbers.and_then(|text| serde_json::from_slice(text).ok());
    event.metrics = numbers.map(|numbers| numbers.into_iter().map(MetricValue::new).collect());
}
