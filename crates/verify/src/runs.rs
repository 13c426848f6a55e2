//! Appended runs: several runs in one file, told apart by long silences and by clocks that jump back.

use std::ops::Range;

use offered_model::{Event, Recording};
use offered_stats::summary::{gaps, quantile};

use crate::merge;

/// A run has at least so many launches; fewer are part of their neighbour.
const LEAST: usize = 50;
/// A silence that parts two runs lasts at least this long, and this many times the 99 % point of the gaps.
const SILENCE: (u64, u64) = (10_000_000_000, 30);
/// A jump back that parts two runs is at least this long, and half of what has been recorded of the run.
const JUMP: u64 = 1_000_000_000;
/// More parts than this are a pattern of the launches, not runs appended by hand.
const MOST: usize = 20;

/// One run of a recording: these rows, as far as they were sent in this closed range of instants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) rows: Range<usize>,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Run {
    /// All of `recording` as one run; `None` when nothing was sent.
    pub(crate) fn whole(recording: &Recording) -> Option<Self> {
        let sent = || recording.events.iter().filter_map(|event| Some(event.sent?.0));
        Some(Self { rows: 0..recording.events.len(), from: sent().min()?, to: sent().max()? })
    }
}

/// The runs of `recording` in the order of the file; none when nothing was sent.
///
/// Where the intended instants are known nobody appended anything: a silence there is a generator that stood still.
pub(crate) fn split(recording: &Recording) -> Vec<Run> {
    if recording.intent_known {
        return Run::whole(recording).into_iter().collect();
    }
    by_jumps(recording).into_iter().flat_map(|rows| by_silence(&recording.events, rows)).collect()
}

/// Parts at whose beginning both launch and answer lie far before what was seen: no order of writing one run does that.
fn by_jumps(recording: &Recording) -> Vec<Range<usize>> {
    let whole = std::iter::once(0..recording.events.len()).collect();
    // Our own parts are written worker by worker; their clock cannot jump.
    if recording.format == "run" || recording.format == merge::FORMAT {
        return whole;
    }
    let (mut parts, mut start) = (Vec::new(), 0);
    let (mut first, mut launched, mut ended) = (u64::MAX, 0u64, 0u64);
    for (row, event) in recording.events.iter().enumerate() {
        let Some(sent) = event.sent else { continue };
        let end = event.done.unwrap_or(sent);
        let jump = (launched.saturating_sub(first) / 2).max(JUMP);
        if first != u64::MAX && sent.0 + jump < launched && end.0 + jump < ended {
            parts.push(start..row);
            (start, first, launched, ended) = (row, u64::MAX, 0, 0);
        }
        (first, launched, ended) = (first.min(sent.0), launched.max(sent.0), ended.max(end.0));
    }
    parts.push(start..recording.events.len());
    let of_one_session =
        |rows: &Range<usize>| recording.events[rows.clone()].windows(2).all(|pair| pair[0].session == pair[1].session);
    let sorted_by_session = recording.sessions_known && parts.iter().all(of_one_session);
    if parts.len() > MOST || parts.iter().any(|rows| rows.len() < LEAST) || sorted_by_session { whole } else { parts }
}

fn by_silence(events: &[Event], rows: Range<usize>) -> Vec<Run> {
    let mut sent: Vec<u64> = events[rows.clone()].iter().filter_map(|event| Some(event.sent?.0)).collect();
    sent.sort_unstable();
    let (Some(&first), Some(&last)) = (sent.first(), sent.last()) else { return Vec::new() };
    let one = vec![Run { rows: rows.clone(), from: first, to: last }];
    if sent.len() < 2 * LEAST {
        return one;
    }
    let mut sorted: Vec<u64> = gaps(&sent).collect();
    sorted.sort_unstable();
    let silence = SILENCE.0.max(SILENCE.1 * quantile(&sorted, 0.99));
    if *sorted.last().expect("two launches at least") < silence {
        return one;
    }
    let mut runs: Vec<Run> = Vec::new();
    let mut start = 0;
    for end in 1..=sent.len() {
        let parted = end == sent.len() || sent[end] - sent[end - 1] >= silence;
        if parted && (end - start >= LEAST) {
            runs.push(Run { rows: rows.clone(), from: sent[start], to: sent[end - 1] });
            start = end;
        }
    }
    if runs.len() > MOST {
        return one;
    }
    // What was too short to be a run of its own belongs to the one before.
    runs.last_mut().map(|run| run.to = last).map_or(one, |()| runs)
}
