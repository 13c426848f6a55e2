//! The kinds of warnings about a recording, each with a message and a fix.
//!
//! Programs identify a warning by its kind. The texts name no flags, because a library does not know which program uses it.

use offered_base::time::span;
use offered_base::{count, short};
use offered_events::Note;
use offered_events::note::SimulationWarning;
use offered_events::recording::End;
use serde::{Deserialize, Serialize};

use super::{Check, Pattern, Stalls, Warning};
use crate::attempts::SustainedByRetries;
use crate::not_sent::{self, NotSent};
use crate::token_metrics::StreamWarning;

/// A thread that is busy for a larger share of its time cannot send punctually.
pub(crate) const SATURATED: f64 = 0.9;

/// The kind of a warning, with its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WarningKind {
    /// A sending thread was busy almost all the time.
    GeneratorSaturated {
        /// The number of the thread.
        thread: usize,
        /// The share of the run in which it was busy.
        busy: f64,
        /// The worker of the thread; `None` for a run of one worker, and if it is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worker: Option<String>,
    },
    /// The run was stopped before its end.
    StoppedEarly {
        /// Why the run stopped itself; `None` if someone stopped it.
        reason: Option<String>,
        /// What ended the run: a threshold or a failed request, for example; `None` if someone stopped it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end: Option<End>,
    },
    /// The target rate is more than half of the rate that calibration found this machine to sustain.
    NearGeneratorLimit {
        /// The target rate, in requests per second.
        target_rate_per_s: f64,
        /// The highest rate that calibration found, in requests per second.
        sustained_rate_per_s: f64,
        /// Number of sending threads.
        threads: usize,
    },
    /// Real-time priority was requested and not granted.
    PriorityRefused {
        /// The error of the operating system, with what was refused.
        reason: String,
    },
    /// A note by the reader of the file.
    ReaderNote {
        /// What the reader noticed, with its numbers.
        note: Note,
    },
    /// Some rows could not be read.
    UnreadableRows {
        /// Number of unreadable rows.
        rows: u64,
        /// The error of the first of them.
        first_error: Option<String>,
    },
    /// A policy of an alternating run was not in effect in some of its blocks.
    PolicyNotApplied {
        /// The policy of the first such block.
        policy: String,
        /// The reason, for the first such block.
        reason: String,
        /// Number of blocks without their policy.
        blocks: u64,
        /// Number of blocks of the run.
        total_blocks: u64,
    },
    /// The certificate of the target was not verified.
    CertificateNotVerified,
    /// Too few requests to recognise a pattern.
    TooFewRequests {
        /// The reason why they are too few.
        reason: String,
        /// Number of gaps from which the CoV is known to `half_width`.
        needed_gaps: f64,
        /// The tolerance of the CoV.
        half_width: f64,
    },
    /// Enough requests for a pattern, but too few to know the CoV to its tolerance.
    FewGaps {
        /// Number of gaps.
        gaps: usize,
        /// Number of gaps from which the CoV is known to `half_width`.
        needed_gaps: f64,
        /// The tolerance of the CoV.
        half_width: f64,
    },
    /// The timestamps are too coarse to see what happens within a tick.
    CoarseTimestamps {
        /// The resolution of the timestamps.
        tick_ms: f64,
        /// The mean gap between requests.
        mean_gap_ms: f64,
    },
    /// Gaps by number of threads were requested, but the file does not contain threads.
    ThreadsUnknown,
    /// The sent requests are not a Poisson process.
    NotPoisson {
        /// The pattern of the sent requests.
        pattern: Pattern,
        /// Whether bunches come at regular times, as from workers that send at the same ticks.
        regular: bool,
        /// How they differ from a Poisson process, with the figure and its limit.
        reason: String,
    },
    /// Users spend much of their time waiting for responses rather than thinking.
    UsersMostlyWaiting {
        /// The share of its time that a user waits for responses, R / (R + Z): 0 to 1.
        rort: f64,
    },
    /// The number of users by Little's law differs from the observed number.
    UserCountMismatch {
        /// The number of users by Little's law, N = lambda (R + Z).
        littles_law: f64,
        /// The number of sessions that sent a request, or of specified users.
        observed: u64,
    },
    /// The run is too short to show under-dispersion by returning users.
    RunTooShortForUsers {
        /// The mean time after which a user returns (R + Z).
        rtt_ms: f64,
        /// The longest window for which the run has enough counts.
        window_ms: f64,
        /// The duration that would suffice.
        needed_ms: f64,
    },
    /// The generator stood still while requests were due.
    GeneratorStalled(Stalls),
    /// Requests were late, and not because of stalls.
    LateRequests {
        /// The 99th percentile of lateness.
        p99_us: f64,
    },
    /// The generator read responses late.
    LateReading {
        /// The 99th percentile of the time that the first byte of a response waited to be read.
        p99_us: f64,
    },
    /// Requests were sent before their scheduled times.
    EarlyRequests {
        /// Number of requests that were sent early.
        requests: u64,
        /// The largest amount by which a request was early.
        max_us: f64,
    },
    /// The clocks of the workers are too uncertain to order their requests.
    OrderUncertain {
        /// The largest error of the gap between two requests of different workers.
        clock_uncertainty_ms: f64,
        /// The mean gap between requests.
        mean_gap_ms: f64,
        /// The resulting uncertainty (plus or minus) of the CoV of the gaps.
        cov_uncertainty: f64,
    },
    /// Some requests were not sent.
    UnsentRequests {
        /// Number of requests not sent.
        unsent: u64,
        /// Number of scheduled requests.
        requests: u64,
        /// Why, by worker: the largest group first.
        #[serde(default)]
        causes: Vec<NotSent>,
    },
    /// The rate changes at random, and the schedule of this seed differs from the target rate.
    RandomRateDiffers {
        /// The target rate: requests (in a partly-open system: sessions) per second, averaged over a long time.
        target_rate_per_s: f64,
        /// The rate of the schedule of this seed in the judged time.
        scheduled_rate_per_s: f64,
    },
    /// The schedule of this seed fails a check against theory by itself; the requests were sent as it says.
    UnusualSchedule {
        /// The checks that it fails.
        checks: Vec<Check>,
    },
    /// The scheduled times are not those of the run's workload file.
    OtherSchedule,
    /// The system stays overloaded at a rate that it carried before, with many retries.
    SustainedByRetries(SustainedByRetries),
    /// The streams of the responses.
    Streams(StreamWarning),
    /// The file contains several runs.
    SeveralRuns {
        /// Number of runs in the file.
        runs: usize,
        /// Where one run ends and the next begins, and what shows it.
        evidence: String,
    },
    /// The run in the file paused.
    RunPaused {
        /// Where the run paused, and what shows it.
        evidence: String,
    },
}

impl WarningKind {
    /// What may be wrong with the results, in one sentence with the numbers of the warning.
    pub fn message(&self) -> String {
        match self {
            Self::GeneratorSaturated { thread, busy, worker } => saturated_text(*thread, *busy, worker.as_deref()),
            Self::StoppedEarly { reason: Some(reason), .. } => format!("the run stopped itself: {reason}"),
            Self::StoppedEarly { reason: None, .. } => "the run was stopped before its end".to_owned(),
            Self::NearGeneratorLimit { target_rate_per_s, sustained_rate_per_s, threads } => {
                near_limit_text(*target_rate_per_s, *sustained_rate_per_s, *threads)
            }
            Self::PriorityRefused { reason } => {
                format!("the operating system refused the priority that generator.priority requests: {reason}")
            }
            Self::ReaderNote { note } => note.to_string(),
            Self::UnreadableRows { rows, first_error } => {
                let first = first_error.as_ref().map_or_else(String::new, |first| format!("; the first: {first}"));
                format!("{rows} rows could not be read{first}")
            }
            Self::PolicyNotApplied { policy, reason, blocks, total_blocks } => format!(
                "{blocks} of {total_blocks} blocks are excluded because their policy was not in effect; the first, of policy \
                 `{policy}`: {reason}"
            ),
            Self::CertificateNotVerified => {
                "the certificate of the target was not verified (insecure): the responses may come from another server"
                    .to_owned()
            }
            Self::TooFewRequests { reason, .. } | Self::NotPoisson { reason, .. } => reason.clone(),
            Self::FewGaps { gaps, .. } => format!(
                "{} gaps determine the CoV only to ±{:.2}: smaller deviations are not detected",
                count(*gaps as u64),
                1.96 / (*gaps as f64).sqrt()
            ),
            Self::CoarseTimestamps { tick_ms, mean_gap_ms } => format!(
                "the timestamps have a resolution of {} and the mean gap is {}: bunching within a tick is not detected",
                span(tick_ms * 1e6),
                span(mean_gap_ms * 1e6)
            ),
            Self::ThreadsUnknown => {
                "the file does not contain the thread of each request, so the CoV by number of threads is not available"
                    .to_owned()
            }
            Self::UsersMostlyWaiting { rort } => format!(
                "users spend {:.0} % of their time waiting for responses (RoRT {rort:.2}): their requests follow the server, \
                 and users queue behind slow responses",
                100.0 * rort
            ),
            Self::UserCountMismatch { littles_law, observed } => {
                format!("Little's law, lambda (R + Z), gives {littles_law:.1} users, but {observed} were observed")
            }
            Self::RunTooShortForUsers { rtt_ms, window_ms, .. } => short_run_text(*rtt_ms, *window_ms),
            Self::GeneratorStalled(stalls) => stalls_text(stalls),
            Self::LateRequests { p99_us } => format!("1 % of the requests were more than {} late", span(p99_us * 1e3)),
            Self::LateReading { p99_us } => {
                format!("1 % of the responses waited more than {} to be read", span(p99_us * 1e3))
            }
            Self::EarlyRequests { requests, max_us } => {
                format!("{requests} requests were sent before their scheduled times, by up to {}", span(max_us * 1e3))
            }
            Self::OrderUncertain { clock_uncertainty_ms, mean_gap_ms, cov_uncertainty } => {
                order_text(*clock_uncertainty_ms, *mean_gap_ms, *cov_uncertainty)
            }
            Self::UnsentRequests { unsent, requests, causes } => {
                let (unsent, requests) = (count(*unsent), count(*requests));
                match not_sent::text(causes) {
                    Some(text) => format!("{text} ({unsent} of {requests})"),
                    None => format!("{unsent} of {requests} requests were not sent"),
                }
            }
            Self::RandomRateDiffers { target_rate_per_s, scheduled_rate_per_s } => {
                random_rate_text(*target_rate_per_s, *scheduled_rate_per_s)
            }
            Self::UnusualSchedule { checks } => format!(
                "in the schedule of this seed {} differs from theory; the requests were sent as scheduled",
                subjects(checks)
            ),
            Self::OtherSchedule => "the requests were not scheduled by this workload".to_owned(),
            Self::SustainedByRetries(found) => found.message(),
            Self::Streams(warning) => warning.message(),
            Self::SeveralRuns { runs, evidence } => format!("the file contains {runs} runs: {evidence}"),
            Self::RunPaused { evidence } => format!("the run paused: {evidence}"),
        }
    }

    /// What to do about it, in the imperative.
    pub fn fix(&self) -> String {
        match self {
            Self::GeneratorSaturated { .. } => "use more threads or more machines, or lower the rate",
            Self::StoppedEarly { .. } => "only the requests sent so far are judged; let the run finish",
            Self::NearGeneratorLimit { .. } => "check the lateness; if it is high, use more threads or more machines",
            Self::PriorityRefused { .. } => {
                "permit it (CAP_SYS_NICE, or the limit `rtprio` of the user), or set generator.priority to \"auto\""
            }
            Self::ReaderNote { note } => fix_for_note(note),
            Self::UnreadableRows { .. } => "correct these rows: each missing request makes a gap longer than it was",
            Self::PolicyNotApplied { .. } => {
                "run the command by hand to test it, or give it more time (policies.settle); the other blocks are compared"
            }
            Self::SustainedByRetries(SustainedByRetries { capacity_per_s: Some(_), .. }) => {
                "limit the retries of clients (retry.budget), shed load at the server, or let clients pause"
            }
            Self::SustainedByRetries(_) => {
                "run the same load with retry = false: if it is carried, retries are the cause; then limit them (retry.budget)"
            }
            Self::CertificateNotVerified => {
                "set the root certificate of the target (target.tls.roots) and run without insecure"
            }
            Self::TooFewRequests { needed_gaps, half_width, .. } => {
                return format!(
                    "send at least {} requests, at as many distinct times; {} determine the CoV to ±{half_width:.2}",
                    Pattern::FEWEST_GAPS + 1,
                    count(*needed_gaps as u64)
                );
            }
            Self::FewGaps { needed_gaps, half_width, .. } => {
                let needed = count(*needed_gaps as u64);
                return format!("run until {needed} requests are sent to determine it to ±{half_width:.2}");
            }
            Self::CoarseTimestamps { .. } => "configure the tool to write timestamps with a finer resolution",
            Self::ThreadsUnknown => "configure the tool to write the thread (JMeter: threadName)",
            Self::NotPoisson { pattern, regular, .. } => fix_for_pattern(*pattern, *regular),
            Self::UsersMostlyWaiting { .. } => {
                "use more users with longer think times and the same N/Z: RoRT falls and requests become independent (Principle A)"
            }
            Self::UserCountMismatch { .. } => {
                "exclude ramp-up and ramp-down; if the difference remains, some users are idle part of the time"
            }
            Self::RunTooShortForUsers { needed_ms, .. } => return format!("run for at least {}", span(needed_ms * 1e6)),
            Self::GeneratorStalled(stalls) if stalls.threads_idle => {
                "reserve cores for the generator (its own machine, fewer threads than cores, no CPU limit on the container) and run \
                 again, or accept a larger generator error (generator.tolerance); the load is not the cause"
            }
            Self::GeneratorStalled(_) => {
                "reserve cores for the generator, and see what its threads do (checks and extraction of large bodies delay other requests, \
                 more threads help), or accept a larger generator error (generator.tolerance)"
            }
            Self::LateRequests { .. } => {
                "lower the rate, add threads, divide the load between machines, reserve cores for the generator, or accept a larger generator \
                 error (generator.tolerance)"
            }
            Self::LateReading { .. } => {
                "add threads or divide the load between machines, so that a thread reads each response when it arrives, or accept a larger \
                 generator error (generator.tolerance)"
            }
            Self::EarlyRequests { .. } => {
                "check the program that wrote the timestamps: one is wrong, or their clocks differ, so response times are wrong"
            }
            Self::OrderUncertain { .. } => {
                "use the gaps of each worker; for the gaps of the whole run, place workers closer to worker 1 on the network, or use \
                 fewer of them"
            }
            Self::UnsentRequests { causes, .. } => fix_for_not_sent(causes),
            Self::RandomRateDiffers { .. } => {
                "compare with the rate of the schedule; to approach the mean, run longer or with several seeds"
            }
            Self::UnusualSchedule { .. } => {
                "nothing: the run is as specified; a longer run or another seed comes closer to theory"
            }
            Self::OtherSchedule => "restore the workload file that the run had, or run again with this one",
            Self::Streams(warning) => warning.fix(),
            Self::SeveralRuns { .. } => {
                "write each run to its own file; if it was a single run, its generator stalled and its results are invalid"
            }
            Self::RunPaused { .. } => "judge only the part before or after the pause, or run again",
        }
        .to_owned()
    }
}

impl From<WarningKind> for Warning {
    fn from(kind: WarningKind) -> Self {
        Self { message: kind.message(), fix: kind.fix(), details: Some(kind), in_reason: false }
    }
}

fn saturated_text(thread: usize, busy: f64, worker: Option<&str>) -> String {
    let of_worker = worker.map_or_else(String::new, |worker| format!(" of worker {worker}"));
    format!(
        "the generator was saturated: thread {thread}{of_worker} was busy for {:.0} % of the run (limit {:.0} %)",
        100.0 * busy,
        100.0 * SATURATED
    )
}

/// A target rate near the limit of the generator.
fn near_limit_text(target_rate_per_s: f64, sustained_rate_per_s: f64, threads: usize) -> String {
    format!(
        "the target rate of {target_rate_per_s:.0}/s with {threads} thread{} is more than half of the \
         {sustained_rate_per_s:.0}/s that calibration measured on this machine",
        if threads == 1 { "" } else { "s" }
    )
}

/// A random rate that differs from its long-term mean.
fn random_rate_text(target_rate_per_s: f64, scheduled_rate_per_s: f64) -> String {
    format!(
        "the rate changes at random: its long-term mean is {}/s, and the schedule of this seed has {}/s, {:.0} % of it",
        short(target_rate_per_s),
        short(scheduled_rate_per_s),
        100.0 * scheduled_rate_per_s / target_rate_per_s
    )
}

/// A run that is too short to show the under-dispersion of returning users.
fn short_run_text(rtt_ms: f64, window_ms: f64) -> String {
    format!(
        "users return every {}, but the run is long enough for windows of {} only: too short to detect the \
         under-dispersion of returning users",
        span(rtt_ms * 1e6),
        span(window_ms * 1e6)
    )
}

/// Requests of several workers with an uncertain order.
fn order_text(clock_uncertainty_ms: f64, mean_gap_ms: f64, cov_uncertainty: f64) -> String {
    format!(
        "the clocks of the workers are uncertain by {} and the mean gap is {}: the order of closer requests of different \
         workers is unknown, and the CoV of the gaps is uncertain by ±{cov_uncertainty:.2}",
        span(clock_uncertainty_ms * 1e6),
        span(mean_gap_ms * 1e6)
    )
}

/// When and how long the generator stood still; the machine is named only if the threads were idle.
fn stalls_text(stalls: &Stalls) -> String {
    let Stalls { count, delayed_requests, longest_ms, longest_start_s, longest_worker, threads_idle, .. } = stalls;
    let longest = span(longest_ms * 1e6);
    let of_worker = longest_worker.as_ref().map_or_else(String::new, |worker| format!(" of worker {worker}"));
    let at = format!("at {longest_start_s:.1} s{of_worker}");
    let (times, where_to) = match count {
        1 => (format!("for {longest}"), at),
        count => (format!("{count} times, for up to {longest}"), format!("the longest {at}")),
    };
    let what = if *threads_idle { "the machine stopped the generator" } else { "the generator stood still" };
    format!("{what} {times} ({where_to}), which delayed {} requests", offered_base::count(*delayed_requests))
}

/// What to do about what a reader noticed.
const fn fix_for_note(note: &Note) -> &'static str {
    match note {
        Note::Worker { note, .. } => fix_for_note(note),
        Note::Killed | Note::NotRecorded { .. } => "use the figures of the recorded part only, or run again",
        Note::Running => "wait for the end of the run, and verify it again",
        Note::Silent { .. } => "see whether the process and its machine still run",
        Note::WorkerMissing { .. } | Note::WorkerLost { .. } => {
            "find out why the worker did not run to its end, and run again"
        }
        Note::Truncated | Note::CountMismatch { .. } | Note::PartsMissing { .. } => {
            "restore the complete files, or run again"
        }
        Note::CoarseClock { .. } | Note::WholeSeconds { .. } => {
            "configure the tool to write timestamps with a finer resolution"
        }
        Note::OnlyListed { .. } => "count failures by another output of the tool",
        Note::TooManyNames { .. } => "name requests by a pattern rather than by the whole URL",
        Note::Excluded { .. } => "nothing, unless you want to count these rows as requests",
        Note::Merged { .. } | Note::SeveralClocks { .. } => {
            "use the gaps of each recording; those between recordings depend on the clocks"
        }
        Note::Simulation { warning } => fix_for_simulation(warning),
    }
}

/// What to do about what a simulation noticed. A longer one does not help where the distribution has no mean or no interval for it.
const fn fix_for_simulation(warning: &SimulationWarning) -> &'static str {
    match warning {
        SimulationWarning::LittlesLaw => "report it, with the workload",
        SimulationWarning::NoMeanInterval
        | SimulationWarning::InfiniteMean
        | SimulationWarning::SlowdownOutliers { .. } => "use percentiles instead of the mean",
        SimulationWarning::Unfinished { .. } => "use the mean response time by Little's law, E[N]/X",
        SimulationWarning::WarmUpNotConverged
        | SimulationWarning::TooFewRequests { .. }
        | SimulationWarning::CorrelatedBatches { .. }
        | SimulationWarning::RareSizes { .. }
        | SimulationWarning::Imprecise { .. }
        | SimulationWarning::LargeSizesMissing { .. } => "simulate longer (more jobs)",
    }
}

/// How to avoid that requests are not sent.
fn fix_for_not_sent(causes: &[NotSent]) -> &'static str {
    match causes {
        [first, rest @ ..] if rest.iter().all(|other| other.fix() == first.fix()) => first.fix(),
        _ => "see the reasons in the list of failures; these requests are missing from the load",
    }
}

/// What these checks examine: `the rate and the order of the gaps`.
fn subjects(checks: &[Check]) -> String {
    let mut subjects: Vec<&str> = Vec::new();
    for subject in checks.iter().map(|check| check.subject()) {
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    match &subjects[..] {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// How to fix requests that are not a Poisson process.
const fn fix_for_pattern(pattern: Pattern, regular: bool) -> &'static str {
    match pattern {
        Pattern::Constant => {
            "configure exponential gaps in the tool: with constant gaps requests hardly queue, and responses are too fast"
        }
        Pattern::Bunched if regular => {
            "requests are sent at regular ticks: give each worker its own random schedule, or use one open schedule for all"
        }
        Pattern::Bunched => {
            "requests are sent together (pages with parallel objects, retries, common wake-ups); send them one by one, or specify \
             batches"
        }
        Pattern::UnderDispersed => {
            "use more users with longer think times and the same N/Z (Principle A), and exponential think times; or open arrivals"
        }
        Pattern::OverDispersed
        | Pattern::Poisson
        | Pattern::PoissonFixedCount
        | Pattern::SeveralRuns
        | Pattern::TooFewRequests => {
            "exclude ramp-up and ramp-down; if the pattern remains, look for pauses of the generator, and for users who queue behind slow \
             responses (more users with longer think times and the same N/Z help: Principle A)"
        }
    }
}
