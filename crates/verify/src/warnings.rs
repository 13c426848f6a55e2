//! Warnings: what to doubt about this recording, and what to do about it, in the terms of Brady and Gunther's principles.
//!
//! A doubt is found by its type. Its words are those of a library: what can be done, and not by which flag of which program.

use offered_model::recording::Evidence;
use offered_model::time::span;
use offered_model::{Nanos, Note, Recording};
use offered_stats::dispersion::Dispersion;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ask::Ask;
use crate::judge::SATURATED;
use crate::meant::Meant;
use crate::pattern::Look;
use crate::stream::{FEWEST_GAPS, Stream};
use crate::verdict::{Lateness, Pattern, Queue, Stalls, Warning};
use crate::windows;

/// R / (R + Z) above this: the users spend so much of their time waiting that they launch in step with the server.
const HIGH_RORT: f64 = 0.1;
/// The counts of users who come back are too even in windows of so many of their cycles.
const CYCLES: f64 = 3.0;
/// Ticks coarser than this share of the mean gap hide what happens inside them.
const COARSE: f64 = 0.2;

/// What a warning is about, with its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Doubt {
    /// A launching thread had no time left.
    Saturated {
        /// Its number.
        thread: usize,
        /// The share of its time in which it was busy.
        busy: f64,
    },
    /// The run did not come to its end.
    Stopped {
        /// Why, where it stopped itself.
        why: Option<String>,
    },
    /// More is asked of the generator than half of what the machine was found to sustain.
    NearLimit {
        /// Launches per second asked for.
        asked_per_s: f64,
        /// And found possible.
        sustained_per_s: f64,
        /// With so many threads.
        threads: usize,
    },
    /// Something the reader of the file noted.
    Note {
        /// What.
        note: Note,
    },
    /// Rows that could not be read.
    Unreadable {
        /// How many.
        rows: u64,
        /// What is wrong with the first.
        first: Option<String>,
    },
    /// Any certificate was taken for the target's.
    AnyCertificate,
    /// Too little to tell any pattern.
    TooFew {
        /// Of what.
        why: String,
        /// So many gaps tell the CoV to `to_within`.
        needed: f64,
        /// The tolerance asked for.
        to_within: f64,
    },
    /// Enough for a pattern, too little to tell the CoV to what is tolerated.
    FewGaps {
        /// How many there are.
        gaps: usize,
        /// How many it takes.
        needed: f64,
        /// The tolerance asked for.
        to_within: f64,
    },
    /// Stamps too coarse to see what happens inside a tick.
    CoarseStamps {
        /// The tick.
        tick_ms: f64,
        /// The mean gap.
        gap_ms: f64,
    },
    /// The file does not say which thread launched what, and that was asked.
    NoThreads,
    /// The launches are no Poisson process.
    NoPoisson {
        /// What they look like.
        pattern: Pattern,
        /// Whether they come at even times, as workers do that share a ticker.
        ticking: bool,
        /// What shows it.
        because: String,
    },
    /// Users who wait rather than think.
    WaitingUsers {
        /// R / (R + Z).
        rort: f64,
    },
    /// Little's law makes another number of users than were there.
    OtherUsers {
        /// N = lambda (R + Z).
        by_little: f64,
        /// How many were there.
        seen: u64,
    },
    /// Too short to show that the users come back.
    ShortForUsers {
        /// How often they do.
        rtt_ms: f64,
        /// The longest window that the run is long enough for.
        window_ms: f64,
        /// How long it has to be.
        needed_ms: f64,
    },
    /// The machine stalled the generator.
    Stalled(Stalls),
    /// Launches were late, and not by stalls.
    Late {
        /// The 99 % point.
        p99_us: f64,
    },
    /// Launches left before the instants they were meant for.
    Early {
        /// How many.
        launches: u64,
        /// By how much the earliest of them did.
        most_us: f64,
    },
    /// Launches were never sent.
    Unsent {
        /// How many.
        unsent: u64,
        /// Of how many.
        launches: u64,
    },
    /// The file holds several runs.
    SeveralRuns {
        /// How many.
        runs: usize,
        /// What shows it.
        evidence: String,
    },
    /// The run in the file stood still.
    StoodStill {
        /// What shows it.
        evidence: String,
    },
}

impl Doubt {
    /// What may be wrong, in words.
    pub fn words(&self) -> String {
        match self {
            Self::Saturated { thread, busy } => {
                format!("the generator was saturated: thread {thread} was busy for {:.0} % of the run", busy * 100.0)
            }
            Self::Stopped { why: Some(why) } => format!("the run stopped itself: {why}"),
            Self::Stopped { why: None } => "the run was stopped before its time".to_owned(),
            Self::NearLimit { asked_per_s, sustained_per_s, threads } => format!(
                "{asked_per_s:.0} launches/s are asked of {threads} thread{}, more than half of the {sustained_per_s:.0}/s that \
                 calibration found possible here",
                if *threads == 1 { "" } else { "s" }
            ),
            Self::Note { note } => note.to_string(),
            Self::Unreadable { rows, first } => {
                let first = first.as_ref().map_or_else(String::new, |first| format!(", the first: {first}"));
                format!("{rows} rows could not be read{first}")
            }
            Self::AnyCertificate => {
                "insecure: any certificate was taken, so nothing proves that the answers are the target's".to_owned()
            }
            Self::TooFew { why, .. } => why.clone(),
            Self::FewGaps { gaps, .. } => format!(
                "{gaps} gaps tell the CoV only to {:.2}: smaller deviations go unseen",
                1.96 / (*gaps as f64).sqrt()
            ),
            Self::CoarseStamps { tick_ms, gap_ms } => format!(
                "stamps are whole ticks of {} and the mean gap is {}: bunching inside a tick cannot be seen",
                span(tick_ms * 1e6),
                span(gap_ms * 1e6)
            ),
            Self::NoThreads => {
                "the file does not say which thread launched what, so there is no CoV against the number of threads"
                    .to_owned()
            }
            Self::NoPoisson { because, .. } => because.clone(),
            Self::WaitingUsers { rort } => format!(
                "users spend {:.0} % of their time waiting for answers (RoRT {rort:.2}): their launches follow the server, \
                 single threads line up behind long responses",
                100.0 * rort
            ),
            Self::OtherUsers { by_little, seen } => {
                format!("Little's law makes {by_little:.1} users of lambda (R + Z), but {seen} were seen")
            }
            Self::ShortForUsers { rtt_ms, window_ms, .. } => format!(
                "the users come back every {} and the run is long enough only for windows of {}: that they are always the \
                 same, and so too even, would hardly show",
                span(rtt_ms * 1e6),
                span(window_ms * 1e6)
            ),
            Self::Stalled(Stalls { count, launches, longest_ms }) => format!(
                "the machine stalled the generator: {launches} launches in {count} stalls of up to {}",
                span(longest_ms * 1e6)
            ),
            Self::Late { p99_us } => format!("one launch in a hundred was more than {} late", span(p99_us * 1e3)),
            Self::Early { launches, most_us } => {
                format!("{launches} launches left before they were meant, by up to {}", span(most_us * 1e3))
            }
            Self::Unsent { unsent, launches } => format!("{unsent} launches of {launches} were never sent"),
            Self::SeveralRuns { runs, evidence } => format!("{runs} runs are told apart: {evidence}"),
            Self::StoodStill { evidence } => format!("the run stood still: {evidence}"),
        }
    }

    /// What to do about it, in words.
    pub fn remedy(&self) -> String {
        match self {
            Self::Saturated { .. } => "give it more threads or more machines, or ask for less",
            Self::Stopped { .. } => {
                "what was launched until then is judged; run it to the end to judge what was meant"
            }
            Self::NearLimit { .. } => {
                "look at the lateness before anything else; give it more threads or machines"
            }
            Self::Note { .. } => "judge what is there with that in mind, or record the run again",
            Self::Unreadable { .. } => "look at those rows: launches that are missing make gaps that never were",
            Self::AnyCertificate => {
                "give the root that signed its certificate (target.tls.roots) and run without insecure"
            }
            Self::TooFew { needed, to_within, .. } => {
                return format!(
                    "it takes {} launches, over as many ticks, to tell a pattern; {needed} tell the CoV to {to_within:.2}",
                    FEWEST_GAPS + 1
                );
            }
            Self::FewGaps { needed, to_within, .. } => {
                return format!("run until {needed} launches are made to tell it to {to_within:.2}");
            }
            Self::CoarseStamps { .. } => "have the tool write finer stamps",
            Self::NoThreads => "have the tool write the thread (JMeter: threadName)",
            Self::NoPoisson { pattern, ticking, .. } => of_no_poisson(*pattern, *ticking),
            Self::WaitingUsers { .. } => {
                "more users who think longer, with N/Z unchanged: RoRT falls and launches become independent (Principle A)"
            }
            Self::OtherUsers { .. } => {
                "leave out ramp-up and ramp-down; if it stays, the users do not all work all the time"
            }
            Self::ShortForUsers { needed_ms, .. } => return format!("run for at least {}", span(needed_ms * 1e6)),
            Self::Stalled(_) => {
                "give it cores that nothing else uses (a machine of its own, fewer threads than cores, no throttled container), \
                 and run again; the load is not the reason"
            }
            Self::Late { .. } => {
                "the generator is saturated: lower the rate, add threads, or share the load among machines"
            }
            Self::Early { .. } => {
                "look at what wrote the two stamps: one of them is wrong, or their clocks differ, and no response is to be believed"
            }
            Self::Unsent { .. } => {
                "raise the limits on connections and requests in flight, or lower the rate: unsent load was not offered"
            }
            Self::SeveralRuns { .. } => {
                "keep every run in a file of its own; if it was one run, its generator stood still, and nothing of it is to be \
                 believed"
            }
            Self::StoodStill { .. } => {
                "believe nothing of the time around it: judge the part before or after, or run again"
            }
        }
        .to_owned()
    }
}

impl From<Doubt> for Warning {
    fn from(about: Doubt) -> Self {
        Self { doubt: about.words(), remedy: about.remedy(), about: Some(about), told: false }
    }
}

/// What to do about launches that are no Poisson process.
const fn of_no_poisson(pattern: Pattern, ticking: bool) -> &'static str {
    match pattern {
        Pattern::Clockwork => {
            "queues meet no chance at all and responses come out too short; ask the tool for exponential gaps"
        }
        Pattern::Bunched if ticking => {
            "the workers share a ticker; give each a random schedule of its own, or use one global open schedule"
        }
        Pattern::Bunched => {
            "requests are launched together (pages with parallel objects, retries, shared wake-ups); launch them singly, or \
             say that batches are meant"
        }
        Pattern::TooEven => {
            "more users who think longer, N/Z unchanged (Principle A), and exponential think times; or open arrivals"
        }
        Pattern::OverDispersed
        | Pattern::Poisson
        | Pattern::FixedCountPoisson
        | Pattern::AppendedRuns
        | Pattern::TooFew => {
            "judge only the steady part; if it stays, the generator stalls and catches up, or its users queue behind long \
             responses: more users who think longer, N/Z unchanged (Principle A)"
        }
    }
}

/// That the generator had no time left, where it had none.
pub(crate) fn of_saturation(generator: &Evidence) -> Option<Doubt> {
    let (thread, busy) = generator.busiest().filter(|(_, busy)| *busy > SATURATED)?;
    Some(Doubt::Saturated { thread, busy })
}

/// Doubts about a run that did not come to its end, and about a generator of which much was asked.
pub(crate) fn of_generator(generator: &Evidence) -> Vec<Doubt> {
    let why = generator.halted.as_ref().map(|halted| halted.why.clone());
    let stopped = generator.stopped.then_some(Doubt::Stopped { why });
    let near = generator.calibrated.filter(|found| found.asked_per_s > found.sustained_per_s / 2.0);
    let near = near.map(|found| Doubt::NearLimit {
        asked_per_s: found.asked_per_s,
        sustained_per_s: found.sustained_per_s,
        threads: generator.busy.len(),
    });
    stopped.into_iter().chain(near).collect()
}

/// Doubts about the file itself, and about who answered.
pub(crate) fn of_source(ask: &Ask, recording: &Recording) -> Vec<Doubt> {
    let mut all: Vec<Doubt> = recording.notes.iter().map(|note| Doubt::Note { note: note.clone() }).collect();
    if recording.unreadable > 0 {
        all.push(Doubt::Unreadable { rows: recording.unreadable, first: recording.complaints.first().cloned() });
    }
    all.extend(ask.insecure.then_some(Doubt::AnyCertificate));
    all
}

/// Doubts about the launches.
pub(crate) fn of_launches(ask: &Ask, stream: &Stream, look: &Look, sessions_known: bool) -> Vec<Doubt> {
    let gaps = stream.gaps();
    let mut all = Vec::new();
    let (to_within, needed) = (ask.pattern_tolerance, (1.96 / ask.pattern_tolerance).powi(2).ceil());
    if !stream.is_long_enough() {
        all.push(Doubt::TooFew { why: look.because.clone(), needed, to_within });
    } else if (gaps as f64) < needed {
        all.push(Doubt::FewGaps { gaps, needed, to_within });
    }
    if stream.is_long_enough() && stream.tick > COARSE * stream.mean_gap() && stream.tick > 1.0 {
        all.push(Doubt::CoarseStamps { tick_ms: stream.tick / 1e6, gap_ms: stream.mean_gap() / 1e6 });
    }
    all.extend((ask.by_threads && !sessions_known).then_some(Doubt::NoThreads));
    all
}

/// A doubt about launches that are no Poisson process.
pub(crate) fn of_pattern(look: &Look) -> Option<Doubt> {
    let plain =
        matches!(look.pattern, Pattern::Poisson | Pattern::FixedCountPoisson | Pattern::TooFew | Pattern::AppendedRuns);
    let ticking = look.bunches.is_some_and(|found| found.spacing_cov < 0.5);
    (!plain).then(|| Doubt::NoPoisson { pattern: look.pattern, ticking, because: look.because.clone() })
}

/// Doubts about the queue: users who wait rather than think.
pub(crate) fn of_queue(ask: &Ask, queue: &Queue) -> Vec<Doubt> {
    let waiting = queue.rort.filter(|&rort| rort > HIGH_RORT).map(|rort| Doubt::WaitingUsers { rort });
    let asked = match &ask.meant {
        Meant::Closed { users, .. } => Some(*users),
        _ => queue.users_seen,
    };
    let far = |(seen, by_little): &(u64, f64)| (by_little / *seen as f64 - 1.0).abs() > 0.1;
    let other = asked.zip(queue.users).filter(far).filter(|_| !ask.meant.is_of_sessions());
    waiting.into_iter().chain(other.map(|(seen, by_little)| Doubt::OtherUsers { by_little, seen })).collect()
}

/// Doubts about a run too short to show that its users come back: their evenness is in windows of several cycles.
pub(crate) fn of_length(ask: &Ask, queue: &Queue, ladder: &[Dispersion]) -> Option<Doubt> {
    let (rtt_ms, window_ms) = (queue.rtt_ms?, ladder.last()?.window as f64 / 1e6);
    let short = window_ms < CYCLES * rtt_ms && matches!(ask.meant, Meant::Poisson | Meant::FixedCount);
    let needed_ms = windows::FEWEST as f64 * CYCLES * rtt_ms;
    short.then_some(Doubt::ShortForUsers { rtt_ms, window_ms, needed_ms })
}

/// Doubts about launches that left too early, by more than the tick of their stamps: no generator does that, a clock may.
pub(crate) fn of_early((launches, most): (u64, Nanos)) -> Option<Doubt> {
    (launches > 0).then(|| Doubt::Early { launches, most_us: most.as_micros_f64() })
}

/// Doubts about the generator's punctuality; that it `stalled` is a doubt of its own.
pub(crate) fn of_lateness(ask: &Ask, lateness: &Lateness, stalled: bool) -> Vec<Doubt> {
    let late = lateness.p99_us > ask.late_tolerance.as_micros_f64() && !stalled;
    let late = late.then_some(Doubt::Late { p99_us: lateness.p99_us });
    let (unsent, launches) = (lateness.unsent, lateness.unsent + lateness.n);
    late.into_iter().chain((unsent > 0).then_some(Doubt::Unsent { unsent, launches })).collect()
}
