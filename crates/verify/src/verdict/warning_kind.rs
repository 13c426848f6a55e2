//! The kinds of warnings about a recording, each with a message and a fix.
//!
//! Programs identify a warning by its kind. The texts name no flags, because a library does not know which program uses it.

use offered_base::time::span;
use offered_base::{count, short};
use offered_events::Note;
use offered_events::recording::End;
use serde::{Deserialize, Serialize};

use super::{Check, Pattern, Stalls, Warning, fixes};
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
        /// The reason why the run stopped itself; `None` if it was stopped from outside.
        reason: Option<String>,
        /// The event that ended the run, such as a failed threshold or request; `None` if the run was stopped from
        /// outside.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end: Option<End>,
        /// The scheduled time of the last request, from the start of the run; `None` if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_s: Option<f64>,
        /// The test duration of the workload; `None` if it is unknown or if a number of requests ends the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_s: Option<f64>,
    },
    /// The target rate is more than half of the maximum rate that calibration measured on this machine.
    NearGeneratorLimit {
        /// The target rate, in requests per second.
        target_rate_per_s: f64,
        /// The maximum rate that calibration measured, in requests per second.
        sustained_rate_per_s: f64,
        /// Number of sending threads.
        threads: usize,
    },
    /// Real-time priority was requested and not granted.
    PriorityRefused {
        /// The error of the operating system, with the refused setting.
        reason: String,
    },
    /// A note by the reader of the file.
    ReaderNote {
        /// The kind of the note, with its numbers.
        note: Note,
    },
    /// Some rows could not be read.
    UnreadableRows {
        /// Number of unreadable rows.
        rows: u64,
        /// The error of the first unreadable row.
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
    /// There are enough requests for a pattern, but too few to know the CoV as precisely as its tolerance.
    FewGaps {
        /// Number of gaps.
        gaps: usize,
        /// Number of gaps from which the CoV is known to `half_width`.
        needed_gaps: f64,
        /// The tolerance of the CoV.
        half_width: f64,
        /// Whether the gaps are those between the first requests of sessions.
        #[serde(default)]
        of_sessions: bool,
    },
    /// The timestamps are too coarse to show the order within a tick.
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
        /// The difference of the requests from a Poisson process, with the figure and its limit.
        reason: String,
    },
    /// Users wait for responses during much of their time.
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
        /// The longest think time of the workload, if it is known and longer than the analysed time.
        #[serde(default)]
        longest_think_s: Option<f64>,
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
    /// Requests were late for another reason than stalls.
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
        /// The reasons why requests were not sent, by worker, the largest group first.
        #[serde(default)]
        causes: Vec<NotSent>,
        /// The p99 of the response times without these requests, and if they had been the slowest; `None` if it would be one of theirs.
        #[serde(default)]
        p99_ms: Option<[f64; 2]>,
    },
    /// The rate changes at random, and the schedule of this seed differs from the target rate.
    RandomRateDiffers {
        /// The target rate: requests (in a partly-open system: sessions) per second, averaged over a long time.
        target_rate_per_s: f64,
        /// The rate of the schedule of this seed in the analysed time.
        scheduled_rate_per_s: f64,
    },
    /// The schedule of this seed itself fails a check against theory; the requests were sent as scheduled.
    UnusualSchedule {
        /// The checks that it fails.
        checks: Vec<Check>,
    },
    /// The scheduled times are not those of the run's workload file.
    OtherSchedule,
    /// The system stays overloaded, with many retries, at a rate that it could complete before.
    SustainedByRetries(SustainedByRetries),
    /// Many requests were lost with their connections, and were sent again.
    RequestsSentAgain {
        /// Number of times that a request was sent again.
        resends: u64,
        /// Number of requests on the wire, without the lost ones.
        requests: u64,
    },
    /// The streams of the responses.
    Streams(StreamWarning),
    /// The file contains several runs.
    SeveralRuns {
        /// Number of runs in the file.
        runs: usize,
        /// The times at which one run ends and the next begins, and the evidence.
        evidence: String,
    },
    /// The run in the file paused.
    RunPaused {
        /// The time of the pause, and the evidence.
        evidence: String,
    },
}

impl WarningKind {
    /// The possible problem of the results, in one sentence with the numbers of the warning.
    pub fn message(&self) -> String {
        match self {
            Self::GeneratorSaturated { thread, busy, worker } => saturated_text(*thread, *busy, worker.as_deref()),
            Self::StoppedEarly { reason, at_s, duration_s, .. } => stopped_text(reason.as_deref(), *at_s, *duration_s),
            Self::NearGeneratorLimit { target_rate_per_s, sustained_rate_per_s, threads } => {
                near_limit_text(*target_rate_per_s, *sustained_rate_per_s, *threads)
            }
            Self::PriorityRefused { reason } => {
                format!("the operating system refused the priority that generator.priority requests: {reason}")
            }
            Self::ReaderNote { note } => note.to_string(),
            Self::UnreadableRows { rows, first_error } => {
                let first = first_error.as_ref().map_or_else(String::new, |first| format!("; first error: {first}"));
                format!("{rows} rows could not be read{first}")
            }
            Self::PolicyNotApplied { policy, reason, blocks, total_blocks } => format!(
                "{blocks} of {total_blocks} blocks are excluded because their policy was not in effect; first reason (policy \
                 `{policy}`): {reason}"
            ),
            Self::CertificateNotVerified => {
                "the certificate of the target was not verified (insecure): the responses may come from another server"
                    .to_owned()
            }
            Self::TooFewRequests { reason, .. } | Self::NotPoisson { reason, .. } => reason.clone(),
            Self::FewGaps { gaps, half_width, of_sessions, .. } => few_gaps_text(*gaps, *half_width, *of_sessions),
            Self::CoarseTimestamps { tick_ms, mean_gap_ms } => format!(
                "the timestamps have a resolution of {} and the mean gap is {}: bunches of requests with equal timestamps cannot be detected",
                span(tick_ms * 1e6),
                span(mean_gap_ms * 1e6)
            ),
            Self::ThreadsUnknown => {
                "the file does not contain the thread of each request, so the CoV by number of threads is not available"
                    .to_owned()
            }
            Self::UsersMostlyWaiting { rort } => format!(
                "users spend {:.0} % of their time waiting for responses: a slow server makes them send less, unlike independent users",
                100.0 * rort
            ),
            Self::UserCountMismatch { littles_law, observed, longest_think_s } => {
                user_count_text(*littles_law, *observed, *longest_think_s)
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
            Self::OrderUncertain { clock_uncertainty_ms, mean_gap_ms, .. } => {
                order_text(*clock_uncertainty_ms, *mean_gap_ms)
            }
            Self::UnsentRequests { unsent, requests, causes, p99_ms } => {
                let text = not_sent::text(causes, *unsent, *requests);
                match p99_ms.map(|both| both.map(|ms| span(ms * 1e6))) {
                    Some([without, with]) => format!(
                        "{text}; the p99 is between {without} (without them) and {with} (if they had been the slowest)"
                    ),
                    None => text,
                }
            }
            Self::RandomRateDiffers { target_rate_per_s, scheduled_rate_per_s } => {
                random_rate_text(*target_rate_per_s, *scheduled_rate_per_s)
            }
            Self::UnusualSchedule { checks } => format!(
                "in the schedule of this seed {} differs from theory; the requests were sent as scheduled",
                subjects(checks)
            ),
            Self::OtherSchedule => "this workload file is not the workload of the run".to_owned(),
            Self::SustainedByRetries(found) => found.message(),
            Self::RequestsSentAgain { resends, requests } => format!(
                "requests were sent again {} times ({} requests on the wire), because the server had closed their reused connections (HTTP/1.1) \
                 or had not processed them (HTTP/2): their response times contain the lost time",
                count(*resends),
                count(*requests)
            ),
            Self::Streams(warning) => warning.message(),
            Self::SeveralRuns { runs, evidence } => format!("the file contains {runs} runs: {evidence}"),
            Self::RunPaused { evidence } => format!("the run paused: {evidence}"),
        }
    }

    /// The fix, in the imperative.
    pub fn fix(&self) -> String {
        match self {
            Self::GeneratorSaturated { .. } => "lower the rate, or use more threads or more machines",
            Self::StoppedEarly { end, .. } => fixes::for_stop(*end),
            Self::NearGeneratorLimit { .. } => {
                "no action needed for a valid run; at a higher rate use more threads or more machines"
            }
            Self::PriorityRefused { .. } => {
                "no action needed for a valid run; otherwise permit the priority (CAP_SYS_NICE, or the limit `rtprio` of the user)"
            }
            Self::ReaderNote { note } => fixes::for_note(note),
            Self::UnreadableRows { .. } => "correct these rows: each missing request makes a gap between requests too long",
            Self::PolicyNotApplied { .. } => {
                "run the command by hand to test it, or give it more time (policies.settle); the other blocks are compared"
            }
            Self::SustainedByRetries(found) => fixes::for_retries(found),
            Self::RequestsSentAgain { .. } => {
                "raise the limits of the server (keep-alive time-out, requests per connection, concurrent streams), or open a connection for each \
                 request (target.reuse = \"fresh\")"
            }
            Self::CertificateNotVerified => {
                "no action needed if you know the server; otherwise set its root certificate (target.tls.roots), and remove insecure"
            }
            Self::TooFewRequests { needed_gaps, half_width, .. } => {
                return fixes::for_few_requests(*needed_gaps, *half_width);
            }
            Self::FewGaps { needed_gaps, of_sessions, .. } => {
                let what = if *of_sessions { "visits have started" } else { "requests are sent" };
                let needed = count(*needed_gaps as u64 + 1);
                return format!("no action needed if you use only response times; to check the arrivals, run until {needed} {what}");
            }
            Self::CoarseTimestamps { .. } => fixes::FOR_COARSE_TIMESTAMPS,
            Self::ThreadsUnknown => "configure the tool to write the thread name of each request (JMeter: threadName)",
            Self::NotPoisson { pattern, regular, .. } => fixes::for_pattern(*pattern, *regular),
            Self::UsersMostlyWaiting { .. } => {
                "use more users with longer think times, so that users / (response time + think time) stays the same: the rate remains, and users wait for less of their time"
            }
            Self::UserCountMismatch { littles_law, observed, longest_think_s } if *littles_law < *observed as f64 => {
                let longest = match longest_think_s {
                    Some(longest) => format!("the longest think time, {},", span(longest * 1e9)),
                    None => "the think times,".to_owned(),
                };
                return format!(
                    "run at least three times as long as {longest} and exclude the time in which users start and end"
                );
            }
            Self::UserCountMismatch { .. } => "exclude the time in which users start and end",
            Self::RunTooShortForUsers { needed_ms, .. } => {
                let needed = span(needed_ms * 1e6);
                return format!("no action needed if you use only response times; to check the arrivals, run for at least {needed}");
            }
            Self::GeneratorStalled(stalls) => fixes::for_stalls(stalls),
            Self::LateRequests { .. } => {
                "lower the rate, add threads, divide the load between machines, or reserve cores for the generator"
            }
            Self::LateReading { .. } => {
                "add threads or divide the load between machines, so that a thread reads each response when it arrives"
            }
            Self::EarlyRequests { .. } => {
                "check the program that wrote the timestamps: one is wrong, or their clocks differ, so response times are wrong"
            }
            Self::OrderUncertain { .. } => {
                "no action needed if you use only response times; to check the gaps, use those within each worker, or place the workers closer together on \
                 the network"
            }
            Self::UnsentRequests { causes, .. } => fixes::for_not_sent(causes),
            Self::RandomRateDiffers { .. } => {
                "no action needed; to come closer to the long-term mean, run longer or with several seeds"
            }
            Self::UnusualSchedule { .. } => {
                "no action needed: the run is as specified; a longer run or another seed comes closer to theory"
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

/// The CoV is not known to its tolerance.
fn few_gaps_text(gaps: usize, half_width: f64, of_sessions: bool) -> String {
    format!(
        "{} {} are too few: the CoV of their gaps is known to ±{:.3}, and the check needs ±{half_width:.3}",
        count(gaps as u64 + 1),
        if of_sessions { "visits" } else { "requests" },
        1.96 / (gaps as f64).sqrt()
    )
}

/// The number of users by Little's law differs from the observed number. The law counts the time from each request of a user to the next one.
fn user_count_text(littles_law: f64, observed: u64, longest_think_s: Option<f64>) -> String {
    if littles_law < observed as f64 {
        let idle = observed as f64 - littles_law;
        let idle = format!("{idle:.1} of {observed} users were before their first or after their last request");
        match longest_think_s {
            Some(longest) => {
                format!("think times of up to {} are longer than the run, so on average {idle}", span(longest * 1e9))
            }
            None => format!("averaged over the run, {idle} (Little's law: {littles_law:.1} were between two requests)"),
        }
    } else {
        format!(
            "response and think times account for {littles_law:.1} users (Little's law), but {observed} were observed"
        )
    }
}

/// A run that is too short to show the under-dispersion of returning users.
fn short_run_text(rtt_ms: f64, window_ms: f64) -> String {
    format!(
        "the run is too short to check whether returning users make the request counts too regular: users return every {}, and only counts per {} or less can be tested",
        span(rtt_ms * 1e6),
        span(window_ms * 1e6)
    )
}

/// Requests of several workers with an uncertain order.
fn order_text(clock_uncertainty_ms: f64, mean_gap_ms: f64) -> String {
    format!(
        "the clocks of the workers agree only to {}, so the gaps between requests of different workers cannot be checked (mean gap {}); \
         response times are not affected",
        span(clock_uncertainty_ms * 1e6),
        span(mean_gap_ms * 1e6)
    )
}

/// The time and the reason of the end of a run that was stopped early.
fn stopped_text(reason: Option<&str>, at_s: Option<f64>, duration_s: Option<f64>) -> String {
    let at = stop_time(at_s, duration_s).map_or_else(String::new, |at| format!(" ({at})"));
    match reason {
        Some(reason) => format!("the run stopped itself: {reason}{at}"),
        None => format!("the run was stopped before its end{at}"),
    }
}

/// When a run was stopped: `at 12.0 s of 20 s`; `None` if it is unknown.
pub(crate) fn stop_time(at_s: Option<f64>, duration_s: Option<f64>) -> Option<String> {
    let at = at_s?;
    Some(duration_s.map_or_else(|| format!("at {at:.1} s"), |duration| format!("at {at:.1} s of {duration} s")))
}

/// The time and the length of the stalls. The machine is named as the cause only if the threads were idle.
fn stalls_text(stalls: &Stalls) -> String {
    let Stalls { count, delayed_requests, longest_ms, longest_start_s, longest_worker, threads_idle, .. } = stalls;
    let longest = span(longest_ms * 1e6);
    let worker = longest_worker.as_ref().map_or_else(String::new, |worker| format!("worker {worker}, "));
    let (times, which) = match count {
        1 => (format!("for {longest}"), ""),
        count => (format!("{count} times, for up to {longest}"), "the longest: "),
    };
    let what = if *threads_idle { "the machine stopped the generator" } else { "the generator stood still" };
    let delayed = offered_base::count(*delayed_requests);
    format!("{what} {times} ({which}{worker}at {longest_start_s:.1} s), which delayed {delayed} requests")
}

/// The subjects of these checks as text: `the rate and the order of the gaps`.
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
