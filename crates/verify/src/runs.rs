//! Appended runs: several runs in one file, told apart by clocks that jump back and by long silences.
//!
//! A silence may also be one run that stood still, and then its parts must not be judged as if nothing had happened. What tells
//! them apart is how it ends. Answers to earlier launches that come only after it show a stall; users who come in the order in
//! which the file's first users came show a beginning. Where neither is to be seen the length decides, and in every case the
//! verdict says what was taken for what, and why.

use std::collections::HashSet;
use std::ops::Range;

use offered_model::{Event, Recording};
use offered_stats::summary::{gaps, quantile};

use crate::pattern::span;
use crate::warnings::Doubt;

/// Where a clock jumps back, a run has at least so many launches; where a file falls silent, it has twice as many in all.
const LEAST: usize = 50;
/// A silence lasts at least this long, and this many times the 99 % point of the gaps. Among n exponential gaps the longest is
/// about ln(n) means; 30 times their 99 % point is 138 means, which no stream reaches that does not stop.
const SILENCE: (u64, u64) = (10_000_000_000, 30);
/// Without other evidence it parts two runs when it lasts at least this long: beyond it every tool has given up on answers.
const LONG: u64 = 60_000_000_000;
/// Users are known again by the first so many of them, of at least so many in all.
const KNOWN: (usize, usize) = (3, 10);
/// They are looked for among so many launches.
const FIRST: usize = 200;
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

/// The runs of a recording, and what must be said of how they were told apart.
#[derive(Debug)]
pub(crate) struct Split {
    /// In the order of the file; none when nothing was sent.
    pub(crate) runs: Vec<Run>,
    pub(crate) doubts: Vec<Doubt>,
}

/// Where the intended instants are known nobody appended anything: a silence there is a generator that stood still.
pub(crate) fn split(recording: &Recording) -> Split {
    if recording.intent_known {
        return Split { runs: Run::whole(recording).into_iter().collect(), doubts: Vec::new() };
    }
    let (mut runs, mut evidence) = (Vec::new(), Evidence::default());
    let parts = by_jumps(recording);
    if parts.len() > 1 {
        evidence.restarts.push(format!("the clock jumps back {} times", parts.len() - 1));
    }
    for rows in parts {
        runs.extend(by_silence(recording, rows, &mut evidence));
    }
    let doubts = evidence.doubts(runs.len());
    Split { runs, doubts }
}

/// What was found where something ended and something began.
#[derive(Default)]
struct Evidence {
    restarts: Vec<String>,
    stalls: Vec<String>,
}

impl Evidence {
    fn doubts(&self, runs: usize) -> Vec<Doubt> {
        let restarted = (runs > 1).then(|| Doubt::SeveralRuns { runs, evidence: first(&self.restarts) });
        let stalled = !self.stalls.is_empty();
        let stalled = stalled.then(|| Doubt::StoodStill { evidence: first(&self.stalls) });
        restarted.into_iter().chain(stalled).collect()
    }
}

/// The first three of them.
fn first(all: &[String]) -> String {
    let more = all.len().saturating_sub(3);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}", all[..all.len().min(3)].join("; "))
}

/// Parts at whose beginning both launch and answer lie far before what was seen: no order of writing one run does that.
fn by_jumps(recording: &Recording) -> Vec<Range<usize>> {
    let whole = std::iter::once(0..recording.events.len()).collect();
    // Our own parts are written worker by worker; their clock cannot jump.
    if recording.on_run_clock {
        return whole;
    }
    let (mut parts, mut start) = (Vec::new(), 0);
    let (mut first, mut launched, mut ended) = (u64::MAX, 0u64, 0u64);
    for (row, event) in recording.events.iter().enumerate() {
        let Some(sent) = event.sent else { continue };
        let end = event.done.unwrap_or(sent);
        let jump = (launched.saturating_sub(first) / 2).max(JUMP);
        let jumps_back = |from: u64, to: u64| to.checked_sub(from).is_some_and(|back| back > jump);
        if first != u64::MAX && jumps_back(sent.0, launched) && jumps_back(end.0, ended) {
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

/// The runs in these rows. One may be of a few launches only: a trial before the run, forgotten in its file.
fn by_silence(recording: &Recording, rows: Range<usize>, evidence: &mut Evidence) -> Vec<Run> {
    let events = &recording.events[rows.clone()];
    let mut sent: Vec<u64> = events.iter().filter_map(|event| Some(event.sent?.0)).collect();
    sent.sort_unstable();
    let (Some(&from), Some(&last)) = (sent.first(), sent.last()) else { return Vec::new() };
    let one = vec![Run { rows: rows.clone(), from, to: last }];
    if sent.len() < 2 * LEAST {
        return one;
    }
    let mut sorted: Vec<u64> = gaps(&sent).collect();
    sorted.sort_unstable();
    let silence = SILENCE.0.max(SILENCE.1 * quantile(&sorted, 0.99));
    drop(sorted);
    let ends: Vec<usize> = (1..sent.len()).filter(|&at| sent[at] - sent[at - 1] >= silence).collect();
    if ends.is_empty() || ends.len() >= MOST {
        return one;
    }
    let beginning = Beginning { events, users_known: recording.sessions_known && has_many_users(events) };
    let (mut runs, mut start): (Vec<Run>, usize) = (Vec::new(), 0);
    for at in ends {
        let (before, after) = (sent[at - 1], sent[at]);
        let place = format!("nothing for {} from {} on", span((after - before) as f64), span((before - from) as f64));
        match beginning.restart(
            [sent[start], sent[(start + FIRST).min(at) - 1]],
            before,
            [after, sent[(at + FIRST).min(sent.len()) - 1]],
        ) {
            Ok(why) => {
                evidence.restarts.push(format!("{place}, {why}"));
                runs.push(Run { rows: rows.clone(), from: sent[start], to: before });
                start = at;
            }
            Err(why) => evidence.stalls.push(format!("{place}, {why}")),
        }
    }
    runs.push(Run { rows, from: sent[start], to: last });
    runs
}

fn has_many_users(events: &[Event]) -> bool {
    let mut users = HashSet::new();
    events.iter().any(|event| users.insert(event.session) && users.len() >= KNOWN.1)
}

/// What tells the beginning of a run from the end of a stall.
struct Beginning<'a> {
    events: &'a [Event],
    users_known: bool,
}

impl Beginning<'_> {
    /// Why the silence between `before` and the first instant of `second` parts two runs; `Err`: why it does not. `first` and
    /// `second` are spans of the first launches of the run before it and of what follows it.
    fn restart(&self, first: [u64; 2], before: u64, second: [u64; 2]) -> Result<String, String> {
        let spans = |event: &&Event| {
            event.sent.is_some_and(|sent| sent.0 <= before) && event.done.is_some_and(|done| done.0 >= second[0])
        };
        let waiting = self.events.iter().filter(spans).count();
        if waiting > 0 {
            return Err(format!("and {waiting} launches from before it were answered only after it"));
        }
        let users = self.users_known.then(|| self.first_users(first)).filter(|users| users.len() == KNOWN.0);
        if users.is_some_and(|users| users == self.first_users(second)) {
            return Ok("and then the same users begin in the same order as at first".into());
        }
        if second[0] - before >= LONG {
            return Ok("longer than tools wait for an answer".into());
        }
        Err("and nothing shows that another run begins there".into())
    }

    /// The users of the first launches in `span`, each once, in the order in which they came.
    fn first_users(&self, span: [u64; 2]) -> Vec<u64> {
        let inside = self.events.iter().filter_map(|event| Some((event.sent?.0, event.session)));
        let mut launches: Vec<(u64, u64)> = inside.filter(|(sent, _)| (span[0]..=span[1]).contains(sent)).collect();
        launches.sort_unstable();
        let mut users = Vec::new();
        for (_, user) in launches {
            if users.len() < KNOWN.0 && !users.contains(&user) {
                users.push(user);
            }
        }
        users
    }
}
