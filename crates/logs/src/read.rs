//! Reads inputs into one tally on several threads; the result does not depend on the number of threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::curve::Curve;
use crate::entry::Entry;
use crate::error::Error;
use crate::format::{Format, trimmed};
use crate::input::{Input, Piece, Progress, pieces};
use crate::labels::Labels;
use crate::lines::{Line, each_line};
use crate::options::{Exclusion, Options};
use crate::part::{Part, WINDOW};
use crate::robots::Robots;
use crate::sessions::{Hit, Sessions};
use crate::time::SECOND;

/// Maximum number of parse errors that are stored.
const MAX_PARSE_ERRORS: usize = 20;

/// Counts of a part of the logs; tallies of adjacent parts merge exactly.
pub struct Tally {
    /// Number of requests that pass the filters.
    pub requests: u64,
    /// Number of lines that could not be parsed.
    pub unreadable_lines: u64,
    /// The first parse errors, as `file:line: reason`.
    pub parse_errors: Vec<String>,
    /// Number of excluded lines, indexed by [`Exclusion`].
    pub excluded: [u64; Exclusion::ALL.len()],
    /// Times of the first and the last request, in nanoseconds since the epoch.
    pub span: Option<(i64, i64)>,
    /// Response sizes in bytes.
    pub sizes: Moments,
    /// Durations in nanoseconds.
    pub durations: Moments,
    /// Response sizes without page assets.
    pub page_sizes: Moments,
    /// Durations without page assets.
    pub page_durations: Moments,
    /// Resolution of the timestamps in nanoseconds: a second, a millisecond, or 1.
    pub tick: i64,
    /// Requests per label; empty unless labels were requested.
    pub labels: Labels,
    part: Part,
    /// Number of lines read from the last input, for line numbers.
    lines_read: u64,
}

/// Count, sum and sum of squares of integers (exact).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// Number of values.
    pub count: u64,
    sum: u128,
    squares: u128,
}

impl Moments {
    #[inline]
    fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
        self.squares = self.squares.saturating_add(u128::from(value) * u128::from(value));
    }

    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// Mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// C2, the squared coefficient of variation; `None` with fewer than two values or only zeros.
    pub fn scv(&self) -> Option<f64> {
        let mean = self.mean().filter(|mean| *mean > 0.0 && self.count > 1)?;
        Some((self.squares as f64 / self.count as f64 / (mean * mean) - 1.0).max(0.0))
    }
}

impl Tally {
    fn new(options: &Options, timeout: u64) -> Self {
        Self {
            requests: 0,
            unreadable_lines: 0,
            parse_errors: Vec::new(),
            excluded: [0; Exclusion::ALL.len()],
            span: None,
            sizes: Moments::default(),
            durations: Moments::default(),
            page_sizes: Moments::default(),
            page_durations: Moments::default(),
            tick: SECOND,
            labels: Labels::default(),
            part: Part::new(Sessions::new(timeout as i64 * SECOND, options.max_clients), WINDOW),
            lines_read: 0,
        }
    }

    /// Adds the tally of the lines that follow.
    fn merge(&mut self, later: Self) {
        self.requests += later.requests;
        self.unreadable_lines += later.unreadable_lines;
        self.parse_errors.extend(later.parse_errors);
        self.parse_errors.truncate(MAX_PARSE_ERRORS);
        for (count, more) in self.excluded.iter_mut().zip(later.excluded) {
            *count += more;
        }
        self.span = match (self.span, later.span) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, other) => one.or(other),
        };
        self.sizes.merge(later.sizes);
        self.durations.merge(later.durations);
        self.page_sizes.merge(later.page_sizes);
        self.page_durations.merge(later.page_durations);
        self.tick = self.tick.min(later.tick);
        self.labels.merge(later.labels);
        self.part.merge(later.part);
    }

    /// Session timeout at the knee of the curve, in seconds; see [`Curve::knee`].
    pub fn knee(self) -> u64 {
        Curve::new(&self.sessions()).knee()
    }

    /// The sessions.
    pub fn sessions(self) -> Sessions {
        self.part.finish()
    }
}

/// Reads all `inputs` with a session timeout of `timeout` seconds.
///
/// # Errors
/// A file cannot be read to its end.
pub fn read(inputs: &[Input], options: &Options, timeout: u64, progress: &Progress) -> Result<Tally, Error> {
    let pieces = pieces(inputs, options.threads);
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<Result<Tally, Error>>>> = pieces.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(at) else { return };
            let tally = one(&inputs[piece.input], piece, options, timeout, progress);
            *done[at].lock().expect("no thread panics") = Some(tally);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..options.threads.min(pieces.len()) {
            // If no more threads can be created, the existing ones do the work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut whole = Tally::new(options, timeout);
    let mut before: Option<usize> = None;
    for (piece, tally) in pieces.iter().zip(done) {
        let mut tally = tally.into_inner().expect("no thread panics").expect("every piece is read")?;
        let lines_before = if before == Some(piece.input) { whole.lines_read } else { 0 };
        let name = &inputs[piece.input].name;
        for parse_error in &mut tally.parse_errors {
            // Line numbers are relative to the piece until the number of preceding lines is known.
            let (line, why) = parse_error.split_once(':').expect("made below");
            let line = line.parse::<u64>().expect("made below") + lines_before;
            *parse_error = format!("{name}:{line}:{why}");
        }
        whole.lines_read = lines_before + tally.lines_read;
        before = Some(piece.input);
        whole.merge(tally);
    }
    Ok(whole)
}

fn one(input: &Input, piece: &Piece, options: &Options, timeout: u64, progress: &Progress) -> Result<Tally, Error> {
    let mut reader = LineReader {
        tally: Tally::new(options, timeout),
        format: input.format.clone(),
        robots: Robots::default(),
        options,
        scratch: Vec::new(),
    };
    each(input, piece.range, progress, |line| reader.line(line))?;
    Ok(reader.tally)
}

/// Calls `each` with the lines of `input` that start in `range`.
pub(crate) fn each(
    input: &Input,
    range: Option<(u64, u64)>,
    progress: &Progress,
    each: impl FnMut(Line<'_>),
) -> Result<(), Error> {
    // Reading starts one byte early: if that byte is a line end, a line starts at the first byte of the range.
    let (from, until) = range.map_or((0, u64::MAX), |(from, to)| (from.saturating_sub(1), to - from.saturating_sub(1)));
    let skip = range.is_some_and(|(from, _)| from > 0);
    input
        .open(from, progress.clone())
        .and_then(|mut reader| each_line(&mut reader, input.format.record(), skip, until, each))
        .map_err(|why| Error::Read { file: input.name.clone(), reason: why })
}

/// 64-bit hash that identifies the client of `entry`.
#[inline]
pub(crate) fn client(entry: &Entry<'_>, options: &Options) -> u64 {
    let name = if options.choice.user.is_some() { entry.user } else { entry.client };
    let hash = twox_hash::XxHash3_64::oneshot(name);
    if options.by_agent { twox_hash::XxHash3_64::oneshot_with_seed(hash, entry.agent) } else { hash }
}

struct LineReader<'o> {
    tally: Tally,
    format: Format,
    robots: Robots,
    options: &'o Options,
    scratch: Vec<u8>,
}

impl LineReader<'_> {
    #[inline]
    fn line(&mut self, line: Line<'_>) {
        self.tally.lines_read += 1;
        let read = match line {
            Line::Text(text) => self.format.parse(if self.format.record().is_some() { text } else { trimmed(text) }),
            Line::TooLong => Err("the line is longer than 1 MiB"),
        };
        match read {
            Ok(None) => {}
            Ok(Some(entry)) => Self::entry(&mut self.tally, &mut self.robots, &mut self.scratch, self.options, &entry),
            Err(why) => {
                self.tally.unreadable_lines += 1;
                if self.tally.parse_errors.len() < MAX_PARSE_ERRORS {
                    self.tally.parse_errors.push(format!("{}: {why}", self.tally.lines_read));
                }
            }
        }
    }

    #[inline]
    fn entry(tally: &mut Tally, robots: &mut Robots, scratch: &mut Vec<u8>, options: &Options, entry: &Entry<'_>) {
        let filters = &options.filters;
        if let Some(why) = filters.drops(entry, robots) {
            tally.excluded[why as usize] += 1;
            return;
        }
        let is_part = filters.assets.has(entry.target);
        if is_part && filters.pages_only {
            tally.excluded[Exclusion::Asset as usize] += 1;
            return;
        }
        let hit = Hit { time: entry.time, client: client(entry, options), page: !is_part };
        tally.part.add(hit);
        tally.requests += 1;
        tally.span = Some(tally.span.map_or((hit.time, hit.time), |(a, b)| (a.min(hit.time), b.max(hit.time))));
        if let Some(bytes) = entry.bytes {
            tally.sizes.add(bytes);
            if !is_part {
                tally.page_sizes.add(bytes);
            }
        }
        if let Some(duration) = entry.duration {
            tally.durations.add(duration);
            if !is_part {
                tally.page_durations.add(duration);
            }
        }
        while hit.time % tally.tick != 0 {
            tally.tick = if tally.tick == SECOND { 1_000_000 } else { 1 };
        }
        if let Some(rules) = &options.labels {
            tally.labels.add(rules, entry.method, entry.target, scratch);
        }
    }
}
