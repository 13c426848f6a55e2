//! Doubts about a recording, each with what to do about it.
//!
//! A doubt is found by its type. Its words are those of a library: what can be done, and not by which flag of which program.

use offered_model::Note;
use offered_model::time::span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Pattern, Stalls, Warning};

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
    /// Policies that took turns were not in place for all of theirs.
    NotInPlace {
        /// The first that was not.
        policy: String,
        /// Why.
        why: String,
        /// In so many blocks.
        blocks: u64,
        /// Of so many.
        of: u64,
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
    /// The clocks of the workers leave open in which order launches came.
    Unordered {
        /// So much nearer or further than they are seen may two launches be.
        spread_ms: f64,
        /// The mean gap between launches.
        gap_ms: f64,
        /// So much more or less may the CoV of the gaps be.
        cov: f64,
    },
    /// Launches were never sent.
    Unsent {
        /// How many.
        unsent: u64,
        /// Of how many.
        launches: u64,
    },
    /// Chance made the rate of the schedule another than the one asked for.
    RandomRate {
        /// Launches (of a partly-open system: sessions) per second asked for, in the mean over a long time.
        asked_per_s: f64,
        /// And held by the schedule of this seed, in the time that counts.
        scheduled_per_s: f64,
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
            Self::NotInPlace { policy, why, blocks, of } => format!(
                "{blocks} of {of} blocks do not count, for their policy was not in place; the first is of `{policy}`: {why}"
            ),
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
            Self::Unordered { spread_ms, gap_ms, cov } => format!(
                "launches of different workers lie within {} of where they are placed, for their clocks are known no better, and the mean gap \
                 is {}: those that are closer have no order, and the CoV of the gaps may be {cov:.2} more or less",
                span(spread_ms * 1e6),
                span(gap_ms * 1e6)
            ),
            Self::Unsent { unsent, launches } => format!("{unsent} launches of {launches} were never sent"),
            Self::RandomRate { asked_per_s, scheduled_per_s } => format!(
                "the rate changes at random: {asked_per_s:.4}/s is its mean in the long run, and the schedule of this seed held \
                 {scheduled_per_s:.4}/s, {:.0} % of it",
                100.0 * scheduled_per_s / asked_per_s
            ),
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
            Self::NotInPlace { .. } => {
                "try the command by hand, or give it more time (policies.settle); what is compared are the other blocks"
            }
            Self::AnyCertificate => {
                "give the root that signed its certificate (target.tls.roots) and run without insecure"
            }
            Self::TooFew { needed, to_within, .. } => {
                return format!(
                    "it takes {} launches, over as many ticks, to tell a pattern; {needed} tell the CoV to {to_within:.2}",
                    Pattern::FEWEST_GAPS + 1
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
            Self::Unordered { .. } => {
                "believe each worker's own gaps; for those of the whole have workers closer to worker 1 on the network, or fewer of them"
            }
            Self::Unsent { .. } => {
                "raise the limits on connections and requests in flight, or lower the rate: unsent load was not offered"
            }
            Self::RandomRate { .. } => {
                "take the load for what the schedule held; run longer, or with several seeds, to come near the mean"
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
