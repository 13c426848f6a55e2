//! Several recordings as one: what several generators did to one server.

use offered_model::Recording;

/// All launches of `parts`, each given with its name, in the order of their sending, as if one generator had made them.
///
/// Percentiles and patterns then come from merged rows, never from averages. Sessions and workers of different parts stay
/// different. Launches are placed by each part's own clock: how far those clocks agree cannot be seen in the files, so the
/// merged recording says so in its notes.
pub fn merge(parts: Vec<(String, Recording)>) -> Recording {
    let mut merged =
        Recording { format: "merged".into(), intent_known: true, sessions_known: true, ..Recording::default() };
    merged.on_run_clock = parts.iter().all(|(_, part)| part.on_run_clock);
    let spans: Vec<(u64, u64)> = parts.iter().filter_map(|(_, part)| span(part)).collect();
    merged.notes.push(alignment(&spans));
    let (mut sessions, mut workers) = (0u64, 0u16);
    for (name, mut part) in parts {
        merged.nodes.push((name, workers));
        let labels: Vec<u16> = part.labels.into_iter().map(|label| index(&mut merged.labels, label)).collect();
        let most_sessions = part.events.iter().map(|event| event.session.wrapping_add(1)).max().unwrap_or(0);
        let most_workers = part.events.iter().map(|event| event.worker.wrapping_add(1)).max().unwrap_or(0);
        for event in part.events.iter_mut().chain(&mut part.objects) {
            event.session = event.session.wrapping_add(sessions);
            event.worker = event.worker.wrapping_add(workers);
            event.label = labels.get(usize::from(event.label)).copied().unwrap_or(event.label);
        }
        sessions = sessions.wrapping_add(most_sessions);
        workers = workers.wrapping_add(most_workers);
        merged.events.append(&mut part.events);
        merged.objects.append(&mut part.objects);
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
    merged.events.sort_by_key(|event| event.sent.unwrap_or(event.intended));
    merged
}

fn index(labels: &mut Vec<String>, label: String) -> u16 {
    let at = labels.iter().position(|known| *known == label).unwrap_or_else(|| {
        labels.push(label);
        labels.len() - 1
    });
    at as u16
}

/// The first and the last launch.
fn span(part: &Recording) -> Option<(u64, u64)> {
    let sent = || part.events.iter().filter_map(|event| Some(event.sent?.0));
    Some((sent().min()?, sent().max()?))
}

/// What can be said of the clocks: whether the parts were at work at the same time at all.
fn alignment(spans: &[(u64, u64)]) -> String {
    let (first, last) = (spans.iter().map(|span| span.0), spans.iter().map(|span| span.1));
    let spread = first.clone().max().unwrap_or(0) - first.clone().min().unwrap_or(0);
    let common = last.clone().min().unwrap_or(0).saturating_sub(first.clone().max().unwrap_or(0));
    let whole = last.max().unwrap_or(0) - first.min().unwrap_or(0);
    let share = if whole == 0 { 100.0 } else { 100.0 * common as f64 / whole as f64 };
    format!(
        "{} recordings merged by their own clocks, whose agreement is not known: they began within {}, and all were at work \
         {share:.0} % of the time",
        spans.len(),
        crate::pattern::span(spread as f64)
    )
}
