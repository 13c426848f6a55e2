//! Reading: from inputs to one tally, on as many threads as asked, with the same result on any number.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::curve::Curve;
use crate::entry::Entry;
use crate::error::Error;
use crate::format::{Format, trimmed};
use crate::input::{Input, Piece, Progress, pieces};
use crate::labels::Labels;
use crate::lines::{Line, each_line};
use crate::options::{Dropped, Options};
use crate::part::{Part, WINDOW};
use crate::robots::Robots;
use crate::sessions::{Hit, Sessions};
use crate::time::SECOND;

/// How many unreadable lines are shown.
const COMPLAINTS: usize = 20;

/// What was counted in a part of the logs; tallies of neighbouring parts merge to the whole's.
pub struct Tally {
    /// Lines that hold a request and pass the filters.
    pub lines: u64,
    /// Lines that cannot be read.
    pub unreadable: u64,
    /// The first of them, as `file:line: why`.
    pub complaints: Vec<String>,
    /// Lines left out, by [`Dropped`].
    pub dropped: [u64; Dropped::ALL.len()],
    /// The first and the last instant.
    pub span: Option<(i64, i64)>,
    /// Bytes of the answers.
    pub sizes: Moments,
    /// Nanoseconds the answers took.
    pub durations: Moments,
    /// The sizes without the parts of pages.
    pub page_sizes: Moments,
    /// The durations without the parts of pages.
    pub page_durations: Moments,
    /// The tick of the stamps, in nanoseconds: a second, a millisecond, or 1.
    pub tick: i64,
    /// How often each label was asked for, where wanted.
    pub labels: Labels,
    part: Part,
    /// Lines of any kind in the last input, for the numbers of complaints.
    numbered: u64,
}

/// Count, sum and sum of squares of whole numbers, exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// How many numbers.
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

    /// The arithmetic mean; `None` of nothing.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// C2, the squared coefficient of variation; `None` with fewer than two numbers or only zeros.
    pub fn scv(&self) -> Option<f64> {
        let mean = self.mean().filter(|mean| *mean > 0.0 && self.count > 1)?;
        Some((self.squares as f64 / self.count as f64 / (mean * mean) - 1.0).max(0.0))
    }
}

impl Tally {
    fn new(options: &Options, timeout: u64) -> Self {
        Self {
            lines: 0,
            unreadable: 0,
            complaints: Vec::new(),
            dropped: [0; Dropped::ALL.len()],
            span: None,
            sizes: Moments::default(),
            durations: Moments::default(),
            page_sizes: Moments::default(),
            page_durations: Moments::default(),
            tick: SECOND,
            labels: Labels::default(),
            part: Part::new(Sessions::new(timeout as i64 * SECOND, options.most_clients), WINDOW),
            numbered: 0,
        }
    }

    /// Adds the tally of the lines that follow.
    fn merge(&mut self, later: Self) {
        self.lines += later.lines;
        self.unreadable += later.unreadable;
        self.complaints.extend(later.complaints);
        self.complaints.truncate(COMPLAINTS);
        for (count, more) in self.dropped.iter_mut().zip(later.dropped) {
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

    /// The timeout at the knee of the curve of sessions, in seconds; see [`Curve::knee`].
    pub fn knee(self) -> u64 {
        Curve::new(&self.sessions()).knee()
    }

    /// The sessions.
    pub fn sessions(self) -> Sessions {
        self.part.finish()
    }
}

/// Reads all `inputs` with sessions that end after `timeout` seconds.
///
/// # Errors
/// A file that cannot be read to its end.
pub fn read(inputs: &[Input], options: &Options, timeout: u64, progress: &Progress) -> Result<Tally, Error> {
    let pieces = pieces(inputs, options.threads);
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<Result<Tally, Error>>>> = pieces.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(at) else { return };
            let tally = one(&inputs[piece.input], piece, options, timeout, progress);
            *done[at].lock().expect("nobody panics") = Some(tally);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..options.threads.min(pieces.len()) {
            // Where the system has no more threads, those that are there do it.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut whole = Tally::new(options, timeout);
    let mut before: Option<usize> = None;
    for (piece, tally) in pieces.iter().zip(done) {
        let mut tally = tally.into_inner().expect("nobody panics").expect("every piece is read")?;
        let lines_before = if before == Some(piece.input) { whole.numbered } else { 0 };
        let name = &inputs[piece.input].name;
        for complaint in &mut tally.complaints {
            // Numbered within the piece; a piece in the middle of a file learns only now what came before.
            let (line, why) = complaint.split_once(':').expect("made below");
            let line = line.parse::<u64>().expect("made below") + lines_before;
            *complaint = format!("{name}:{line}:{why}");
        }
        whole.numbered = lines_before + tally.numbered;
        before = Some(piece.input);
        whole.merge(tally);
    }
    Ok(whole)
}

fn one(input: &Input, piece: &Piece, options: &Options, timeout: u64, progress: &Progress) -> Result<Tally, Error> {
    let mut reader = Reader {
        tally: Tally::new(options, timeout),
        format: input.format.clone(),
        robots: Robots::default(),
        options,
        room: Vec::new(),
    };
    each(input, piece.range, progress, |line| reader.line(line))?;
    Ok(reader.tally)
}

/// Calls `each` with the lines of `input` that begin in `range`.
pub(crate) fn each(
    input: &Input,
    range: Option<(u64, u64)>,
    progress: &Progress,
    each: impl FnMut(Line<'_>),
) -> Result<(), Error> {
    // A range begins one byte early: if that byte ends a line, a line begins at the range's first.
    let (from, until) = range.map_or((0, u64::MAX), |(from, to)| (from.saturating_sub(1), to - from.saturating_sub(1)));
    let skip = range.is_some_and(|(from, _)| from > 0);
    input
        .open(from, progress.clone())
        .and_then(|mut reader| each_line(&mut reader, input.format.record(), skip, until, each))
        .map_err(|why| Error::Read { file: input.name.clone(), why })
}

/// What tells the client of `entry` from others, as 64 bits.
#[inline]
pub(crate) fn client(entry: &Entry<'_>, options: &Options) -> u64 {
    let name = if options.choice.user.is_some() { entry.user } else { entry.client };
    let hash = twox_hash::XxHash3_64::oneshot(name);
    if options.by_agent { twox_hash::XxHash3_64::oneshot_with_seed(hash, entry.agent) } else { hash }
}

struct Reader<'o> {
    tally: Tally,
    format: Format,
    robots: Robots,
    options: &'o Options,
    room: Vec<u8>,
}

impl Reader<'_> {
    #[inline]
    fn line(&mut self, line: Line<'_>) {
        self.tally.numbered += 1;
        let read = match line {
            Line::Text(text) => self.format.parse(if self.format.record().is_some() { text } else { trimmed(text) }),
            Line::TooLong => Err("longer than a mebibyte"),
        };
        match read {
            Ok(None) => {}
            Ok(Some(entry)) => Self::entry(&mut self.tally, &mut self.robots, &mut self.room, self.options, &entry),
            Err(why) => {
                self.tally.unreadable += 1;
                if self.tally.complaints.len() < COMPLAINTS {
                    self.tally.complaints.push(format!("{}: {why}", self.tally.numbered));
                }
            }
        }
    }

    #[inline]
    fn entry(tally: &mut Tally, robots: &mut Robots, room: &mut Vec<u8>, options: &Options, entry: &Entry<'_>) {
        let filters = &options.filters;
        if let Some(why) = filters.drops(entry, robots) {
            tally.dropped[why as usize] += 1;
            return;
        }
        let is_part = filters.parts.has(entry.target);
        if is_part && filters.pages_only {
            tally.dropped[Dropped::Part as usize] += 1;
            return;
        }
        let hit = Hit { time: entry.time, client: client(entry, options), page: !is_part };
        tally.part.add(hit);
        tally.lines += 1;
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
            tally.labels.add(rules, entry.method, entry.target, room);
        }
    }
}
