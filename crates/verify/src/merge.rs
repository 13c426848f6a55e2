//! Merges recordings of several generators that loaded one server.

use std::io;
use std::sync::Arc;

use offered_events::{Columns, EventSource, Events, Extent};
use offered_events::{Event, Note, Recording};

/// Merges all requests of `parts`, each given with its name, as if one generator had sent them.
///
/// Percentiles and patterns are then computed from all requests, never averaged. Sessions and workers of different
/// parts stay different. `scenarios` is the number of scenarios, or 1; sessions stay in their scenario. Each part keeps
/// its own clock; the files do not show whether the clocks agree, so the merged recording has a note about it.
///
/// # Errors
/// A recording cannot be read.
pub fn merge(parts: Vec<(String, Recording)>, scenarios: usize) -> io::Result<Recording> {
    let mut merged =
        Recording { format: "merged".into(), intent_known: true, sessions_known: true, ..Recording::default() };
    merged.on_run_clock = parts.iter().all(|(_, part)| part.on_run_clock);
    let spans: Vec<(u64, u64)> =
        parts.iter().filter_map(|(_, part)| part.events.extent().sent).map(|(first, last)| (first.0, last.0)).collect();
    merged.notes.push(alignment(&spans));
    let (mut source, mut extent) = (Vec::new(), Extent::default());
    let (mut sessions, mut workers) = (0u64, 0u16);
    for (name, part) in parts {
        merged.nodes.push((name, workers));
        let labels: Vec<u16> = part.labels.into_iter().map(|label| index(&mut merged.labels, label)).collect();
        let (mut most_sessions, mut most_workers) = (0u64, 0);
        part.events.each_response(|event| {
            most_sessions = most_sessions.max(event.session.wrapping_add(1));
            most_workers = most_workers.max(event.worker.wrapping_add(1));
        })?;
        extent = extent.and(part.events.extent());
        source.push(Part { events: part.events, labels, sessions, workers });
        // The remainder of a session number is its scenario.
        sessions = sessions.wrapping_add(most_sessions.next_multiple_of(scenarios as u64));
        workers = workers.wrapping_add(most_workers);
        merged.resolution = merged.resolution.max(part.resolution);
        merged.intent_known &= part.intent_known;
        merged.sessions_known &= part.sessions_known;
        merged.unreadable += part.unreadable;
        merged.complaints.extend(part.complaints);
        merged.notes.extend(part.notes);
        merged.stamps = merged.stamps.or(part.stamps);
        merged.generator = match (merged.generator, part.generator) {
            (Some(one), Some(other)) => Some(one.and(other)),
            (one, other) => one.or(other),
        };
    }
    merged.events = Events::new(Arc::new(Merged(source)), extent);
    Ok(merged)
}

/// The events of one part, and the numbers of its labels, sessions and workers in the merged recording.
struct Part {
    events: Events,
    labels: Vec<u16>,
    sessions: u64,
    workers: u16,
}

/// The parts, one after another.
struct Merged(Vec<Part>);

impl EventSource for Merged {
    fn scan(&self, columns: Columns, see: &mut dyn FnMut(&[Event])) -> io::Result<()> {
        self.0.iter().try_for_each(|Part { events, labels, sessions, workers }| {
            let mut renamed = Vec::new();
            events.batches(columns, &mut |batch| {
                renamed.clear();
                renamed.extend(batch.iter().map(|event| Event {
                    session: event.session.wrapping_add(*sessions),
                    worker: event.worker.wrapping_add(*workers),
                    label: labels.get(usize::from(event.label)).copied().unwrap_or(event.label),
                    ..event.clone()
                }));
                see(&renamed);
            })
        })
    }
}

fn index(labels: &mut Vec<String>, label: String) -> u16 {
    let at = labels.iter().position(|known| *known == label).unwrap_or_else(|| {
        labels.push(label);
        labels.len() - 1
    });
    at as u16
}

/// A note about the clocks: whether the parts overlap in time.
fn alignment(spans: &[(u64, u64)]) -> Note {
    let (first, last) = (spans.iter().map(|span| span.0), spans.iter().map(|span| span.1));
    let spread = first.clone().max().unwrap_or(0) - first.clone().min().unwrap_or(0);
    let common = last.clone().min().unwrap_or(0).saturating_sub(first.clone().max().unwrap_or(0));
    let whole = last.max().unwrap_or(0) - first.min().unwrap_or(0);
    let share = if whole == 0 { 100.0 } else { 100.0 * common as f64 / whole as f64 };
    Note::Merged { recordings: spans.len(), start_spread_ms: spread as f64 / 1e6, overlap_percent: share }
}
