//! Appended runs: several runs in one file, told apart by clocks that jump back and by long silences.
//!
//! A silence may also be one run that stood still, and then its parts must not be judged as if nothing had happened. What tells
//! them apart is how it ends. Answers to earlier launches that come only after it show a stall; users who come in the order in
//! which the file's first users came show a beginning. Where neither is to be seen the length decides, and in every case the
//! verdict says what was taken for what, and why.

use std::collections::HashSet;
use std::io;
use std::ops::Range;

use offered_model::time::span;
use offered_model::{Event, Recording};
use offered_stats::values::Values;

use crate::scope::{Run, in_order};
use crate::verdict::WarningKind;

/// Where a clock jumps back, a run has at least so many launches; where a file falls silent, it has twice as many in all.
const LEAST: u64 = 50;
/// A silence lasts at least this long, and this many times the 99 % point of the gaps. Among n exponential gaps the longest is
/// about ln(n) means; 30 times their 99 % point is 138 means, which no stream reaches that does not stop.
const SILENCE: (u64, u64) = (10_000_000_000, 30);
/// Without other evidence it parts two runs when it lasts at least this long: beyond it every tool has given up on answers.
const LONG: u64 = 60_000_000_000;
/// Users are known again by the first so many of them, of at least so many in all.
const KNOWN: (usize, usize) = (3, 10);
/// They are looked for among so many launches.
const FIRST: u64 = 200;
/// A jump back that parts two runs is at least this long, and half of what has been recorded of the run.
const JUMP: u64 = 1_000_000_000;
/// More parts than this are a pattern of the launches, not runs appended by hand.
const MOST: usize = 20;

/// The runs of a recording, and what must be said of how they were told apart.
#[derive(Debug)]
pub(crate) struct Split {
    /// In the order of the file; none when nothing was sent.
    pub(crate) runs: Vec<Run>,
    pub(crate) doubts: Vec<WarningKind>,
}

/// Where the intended instants are known nobody appended anything: a silence there is a generator that stood still.
pub(crate) fn split(recording: &Recording) -> io::Result<Split> {
    if recording.intent_known {
        return Ok(Split { runs: Run::whole(recording).into_iter().collect(), doubts: Vec::new() });
    }
    let (mut runs, mut evidence) = (Vec::new(), Evidence::default());
    let parts = by_jumps(recording)?;
    if parts.len() > 1 {
        evidence.restarts.push(format!("the clock jumps back {} times", parts.len() - 1));
    }
    for rows in parts {
        runs.extend(by_silence(Rows { recording, rows }, &mut evidence)?);
    }
    let doubts = evidence.doubts(runs.len());
    Ok(Split { runs, doubts })
}

/// What was found where something ended and something began.
#[derive(Default)]
struct Evidence {
    restarts: Vec<String>,
    stalls: Vec<String>,
}

impl Evidence {
    fn doubts(&self, runs: usize) -> Vec<WarningKind> {
        let restarted = (runs > 1).then(|| WarningKind::SeveralRuns { runs, evidence: first(&self.restarts) });
        let stalled = !self.stalls.is_empty();
        let stalled = stalled.then(|| WarningKind::RunPaused { evidence: first(&self.stalls) });
        restarted.into_iter().chain(stalled).collect()
    }
}

/// The first three of them.
fn first(all: &[String]) -> String {
    let more = all.len().saturating_sub(3);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}", all[..all.len().min(3)].join("; "))
}

/// Some rows of a recording.
struct Rows<'a> {
    recording: &'a Recording,
    rows: Range<u64>,
}

impl Rows<'_> {
    /// Gives `see` every launch of them that was sent, with that instant.
    fn sent(&self, mut see: impl FnMut(u64, &Event)) -> io::Result<()> {
        let mut row = 0;
        self.recording.events.each_answer(|event| {
            if let Some(sent) = event.sent.filter(|_| self.rows.contains(&row)) {
                see(sent.0, event);
            }
            row += 1;
        })
    }
}

/// A part of a recording, as far as it has been seen.
struct Part {
    start: u64,
    rows: u64,
    first: u64,
    launched: u64,
    ended: u64,
    session: Option<u64>,
    /// Whether all its launches are of one session.
    of_one: bool,
}

impl Part {
    fn new(start: u64) -> Self {
        Self { start, rows: 0, first: u64::MAX, launched: 0, ended: 0, session: None, of_one: true }
    }
}

/// Parts at whose beginning both launch and answer lie far before what was seen: no order of writing one run does that.
fn by_jumps(recording: &Recording) -> io::Result<Vec<Range<u64>>> {
    let whole = || Ok(vec![Range { start: 0, end: recording.events.launches() }]);
    // Our own parts are written worker by worker; their clock cannot jump. Of several files the one is read behind the other.
    if recording.on_run_clock || !recording.nodes.is_empty() {
        return whole();
    }
    let (mut parts, mut part, mut row) = (Vec::new(), Part::new(0), 0);
    recording.events.each_answer(|event| {
        if let Some(sent) = event.sent {
            let end = event.done.unwrap_or(sent);
            let jump = (part.launched.saturating_sub(part.first) / 2).max(JUMP);
            let jumps_back = |from: u64, to: u64| to.checked_sub(from).is_some_and(|back| back > jump);
            let jumped = part.first != u64::MAX && jumps_back(sent.0, part.launched) && jumps_back(end.0, part.ended);
            // More of them are no runs, and need not be known.
            if jumped && parts.len() <= MOST {
                parts.push(std::mem::replace(&mut part, Part::new(row)));
            }
            part.first = part.first.min(sent.0);
            (part.launched, part.ended) = (part.launched.max(sent.0), part.ended.max(end.0));
        }
        part.of_one &= part.session.is_none_or(|session| session == event.session);
        part.session = Some(event.session);
        part.rows += 1;
        row += 1;
    })?;
    parts.push(part);
    let sorted_by_session = recording.sessions_known && parts.iter().all(|part| part.of_one);
    if parts.len() > MOST || parts.iter().any(|part| part.rows < LEAST) || sorted_by_session {
        return whole();
    }
    Ok(parts.iter().map(|part| part.start..part.start + part.rows).collect())
}

/// A silence that may be long enough to part two runs, or the beginning of all.
struct Silence {
    /// The last launch before it, and the first after it.
    before: u64,
    after: u64,
    /// How many launches were before it.
    launches: u64,
    /// The last of the first launches after it.
    until: u64,
}

/// The launches of some rows as they come in order: their gaps, and the silences between them.
struct Listening {
    launches: u64,
    gaps: Values,
    /// The first is the beginning of all.
    silences: Vec<Silence>,
    last: u64,
}

impl Listening {
    fn add(&mut self, sent: u64) {
        let gap = sent - if self.launches == 0 { sent } else { self.last };
        if self.launches > 0 {
            self.gaps.add(gap);
        }
        if self.launches == 0 || gap >= SILENCE.0 {
            self.silences.push(Silence { before: self.last, after: sent, launches: self.launches, until: sent });
        }
        for silence in self.silences.iter_mut().rev().take_while(|silence| self.launches < silence.launches + FIRST) {
            silence.until = sent;
        }
        self.launches += 1;
        self.last = sent;
    }
}

/// The runs in these rows. One may be of a few launches only: a trial before the run, forgotten in its file.
fn by_silence(rows: Rows, evidence: &mut Evidence) -> io::Result<Vec<Run>> {
    let source = |give: &mut dyn FnMut(u64)| rows.sent(|sent, _| give(sent));
    let fresh = || Listening { launches: 0, gaps: Values::default(), silences: Vec::new(), last: 0 };
    let Listening { launches, gaps, silences, last } = in_order(&source, fresh, Listening::add)?;
    let Some(from) = silences.first().map(|beginning| beginning.after) else { return Ok(Vec::new()) };
    let one = vec![Run { rows: rows.rows.clone(), from, to: last }];
    if launches < 2 * LEAST {
        return Ok(one);
    }
    let silence = SILENCE.0.max(SILENCE.1 * gaps.sorted().quantile(0.99).unwrap_or(0));
    let parts = |part: &Silence| part.launches == 0 || part.after - part.before >= silence;
    let beginnings: Vec<Silence> = silences.into_iter().filter(parts).collect();
    if beginnings.len() < 2 || beginnings.len() > MOST {
        return Ok(one);
    }
    let found = Beginning::all(&rows, &beginnings)?;
    let (mut runs, mut start): (Vec<Run>, usize) = (Vec::new(), 0);
    for at in 1..beginnings.len() {
        let Silence { before, after, .. } = beginnings[at];
        let place = format!("nothing for {} from {} on", span((after - before) as f64), span((before - from) as f64));
        let first = found[start].users(before);
        match found[at].restart(&first, after - before) {
            Ok(why) => {
                evidence.restarts.push(format!("{place}, {why}"));
                runs.push(Run { rows: rows.rows.clone(), from: beginnings[start].after, to: before });
                start = at;
            }
            Err(why) => evidence.stalls.push(format!("{place}, {why}")),
        }
    }
    runs.push(Run { rows: rows.rows, from: beginnings[start].after, to: last });
    Ok(runs)
}

fn has_many_users(rows: &Rows) -> io::Result<bool> {
    let mut users = HashSet::new();
    rows.sent(|_, event| {
        if users.len() < KNOWN.1 {
            users.insert(event.session);
        }
    })?;
    Ok(users.len() >= KNOWN.1)
}

/// What tells the beginning of a run from the end of a stall.
#[derive(Default)]
struct Beginning {
    /// Launches from before it that were answered only after it.
    waiting: u64,
    /// The first launches and their users, where these can be told apart.
    first: Option<Vec<(u64, u64)>>,
}

impl Beginning {
    /// Of all `beginnings` in `rows`.
    fn all(rows: &Rows, beginnings: &[Silence]) -> io::Result<Vec<Self>> {
        let users_known = rows.recording.sessions_known && has_many_users(rows)?;
        let begin = |_: &Silence| Self { waiting: 0, first: users_known.then(Vec::new) };
        let mut all: Vec<Self> = beginnings.iter().map(begin).collect();
        rows.sent(|sent, event| {
            for (beginning, silence) in all.iter_mut().zip(beginnings) {
                let spans = sent <= silence.before && event.done.is_some_and(|done| done.0 >= silence.after);
                beginning.waiting += u64::from(spans);
                if let Some(first) =
                    beginning.first.as_mut().filter(|_| (silence.after..=silence.until).contains(&sent))
                {
                    first.push((sent, event.session));
                }
            }
        })?;
        all.iter_mut().flat_map(|beginning| &mut beginning.first).for_each(|first| first.sort_unstable());
        Ok(all)
    }

    /// The users of the first launches up to `last`, each once, in the order in which they came.
    fn users(&self, last: u64) -> Vec<u64> {
        let mut users = Vec::new();
        for (_, user) in self.first.iter().flatten().take_while(|(sent, _)| *sent <= last) {
            if users.len() < KNOWN.0 && !users.contains(user) {
                users.push(*user);
            }
        }
        users
    }

    /// Why the silence of this length before it parts two runs, of which the other began with the users `first`; `Err`: why it does
    /// not.
    fn restart(&self, first: &[u64], silence: u64) -> Result<String, String> {
        let waiting = self.waiting;
        if waiting > 0 {
            return Err(format!("and {waiting} launches from before it were answered only after it"));
        }
        if first.len() == KNOWN.0 && first == self.users(u64::MAX) {
            return Ok("and then the same users begin in the same order as at first".into());
        }
        if silence >= LONG {
            return Ok("longer than tools wait for an answer".into());
        }
        Err("and nothing shows that another run begins there".into())
    }
}
