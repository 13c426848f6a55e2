//! The fixes that depend on the details of a warning.

use offered_base::count;
use offered_events::Note;
use offered_events::note::SimulationWarning;
use offered_events::recording::End;

use super::{Pattern, StabilityState, Stalls};
use crate::attempts::SustainedByRetries;
use crate::not_sent::NotSent;

/// What to do about coarse timestamps.
pub(super) const FOR_COARSE_TIMESTAMPS: &str = "no action needed for response times far above this resolution; to check the arrivals, configure the tool to write finer timestamps";

/// What to do about a run that ended early.
pub(super) const fn for_stop(end: Option<End>) -> &'static str {
    match end {
        Some(End::Threshold) => {
            "find out what the server waits for, or lower the load; if the limit is wrong, correct the limit in the workload"
        }
        Some(End::RequestFailed) => {
            "look up this failure in the log of the server, correct the server or the request, and run again"
        }
        Some(End::DataUsedUp | End::Error) => "add rows to the data file, or shorten the run",
        Some(End::WriteLoss) => "free space on the disk, and run again",
        None => "no action needed if you stopped the run; otherwise find out what stopped it, and run again",
    }
}

/// What to do about too few requests to check the pattern of arrivals.
pub(super) fn for_few_requests(needed_gaps: f64, half_width: f64) -> String {
    format!(
        "run longer or at a higher rate: {} requests at different times are enough for validity, {} for stability, and {} for \
         the CoV of the gaps to ±{half_width:.2}",
        Pattern::FEWEST_GAPS + 1,
        StabilityState::FEWEST_REQUESTS,
        count(needed_gaps as u64 + 1)
    )
}

/// How to avoid that the generator stands still.
pub(super) const fn for_stalls(stalls: &Stalls) -> &'static str {
    if stalls.threads_idle {
        "reserve cores for the generator (its own machine, fewer threads than cores, no CPU limit on the container) and run \
         again: the request rate is not the cause"
    } else {
        "reserve cores for the generator, use more threads, and run again: the recording does not show whether other processes \
         used its cores, or it checked large bodies"
    }
}

/// How to end an overload by retries.
pub(super) const fn for_retries(found: &SustainedByRetries) -> &'static str {
    match found.capacity_per_s {
        Some(_) => "limit the retries of clients (retry.budget), shed load at the server, or let clients pause",
        None => {
            "run the same load with retry = false; if the system is then not overloaded, limit the retries (retry.budget)"
        }
    }
}

/// What to do about what a reader noticed.
pub(super) const fn for_note(note: &Note) -> &'static str {
    match note {
        Note::Worker { note, .. } => for_note(note),
        Note::Killed | Note::NotRecorded { .. } => "find out what ended the process, and run again",
        Note::Running => "wait for the end of the run, and verify the run again",
        Note::Silent { .. } => "check whether the process and its machine still run",
        Note::WorkerMissing { .. } | Note::WorkerLost { .. } => {
            "find out why the worker did not run to its end, and run again"
        }
        Note::Truncated | Note::CountMismatch { .. } | Note::PartsMissing { .. } => {
            "restore the complete files, or run again"
        }
        Note::CoarseClock { .. } | Note::WholeSeconds { .. } => FOR_COARSE_TIMESTAMPS,
        Note::OnlyListed { .. } => "take the number of failures from another output of the tool",
        Note::TooManyNames { .. } => "name requests by a pattern rather than by the whole URL",
        Note::Excluded { .. } => "no action needed, unless you count these rows as requests",
        Note::Merged { .. } | Note::SeveralClocks { .. } => {
            "use only gaps within one recording; gaps between recordings depend on the offsets of their clocks"
        }
        Note::Simulation { warning } => for_simulation(warning),
    }
}

/// What to do about what a simulation noticed. A longer one does not help where the distribution has no mean or no interval for it.
const fn for_simulation(warning: &SimulationWarning) -> &'static str {
    match warning {
        SimulationWarning::LittlesLaw => "report this bug, with the workload",
        SimulationWarning::NoMeanInterval
        | SimulationWarning::InfiniteMean
        | SimulationWarning::SlowdownOutliers { .. } => "use percentiles instead of the mean",
        SimulationWarning::Unfinished { .. } => {
            "use the mean response time by Little's law, E[N]/X (mean number of requests divided by throughput)"
        }
        SimulationWarning::WarmUpNotConverged
        | SimulationWarning::TooFewRequests { .. }
        | SimulationWarning::CorrelatedBatches { .. }
        | SimulationWarning::RareSizes { .. }
        | SimulationWarning::Imprecise { .. }
        | SimulationWarning::LargeSizesMissing { .. } => "simulate longer (more jobs)",
    }
}

/// How to avoid that requests are not sent.
pub(super) fn for_not_sent(causes: &[NotSent]) -> &'static str {
    match causes {
        // Workers that reached the same limit have the fix of the one that it cost most.
        [first, rest @ ..]
            if rest.iter().all(|other| (other.reason, other.stood_still) == (first.reason, first.stood_still)) =>
        {
            first.fix()
        }
        _ => "see the reasons in the list of failures; these requests are missing from the load",
    }
}

/// How to fix requests that are not a Poisson process.
pub(super) const fn for_pattern(pattern: Pattern, regular: bool) -> &'static str {
    match pattern {
        Pattern::Constant => {
            "configure exponential gaps in the tool: if gaps are constant, requests hardly queue, and response times are too short"
        }
        Pattern::Bunched if regular => {
            "give each worker its own random schedule, or use one open schedule for all: now all workers send at the same regular times"
        }
        Pattern::Bunched => {
            "send requests one by one, or specify batches: now some requests are sent together (objects of a page, retries, users who \
             wake up at the same time)"
        }
        Pattern::UnderDispersed => {
            "use more users, with exponential think times that are longer by the same factor; or use open arrivals"
        }
        Pattern::OverDispersed
        | Pattern::Poisson
        | Pattern::PoissonFixedCount
        | Pattern::SeveralRuns
        | Pattern::TooFewRequests => {
            "exclude ramp-up and ramp-down; if the pattern remains, look for pauses of the generator, and for users who queue behind slow \
             responses (then use more users, with think times that are longer by the same factor)"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::not_sent::NotSentReason;

    #[test]
    fn workers_at_one_limit_have_the_fix_of_the_first() {
        let group = |reason, before| NotSent {
            worker: None,
            reason,
            requests: 10,
            first_s: 1.0,
            last_s: 2.0,
            stood_still: false,
            mean_response_before_ms: before,
            mean_response_between_ms: Some(20.0),
        };
        let [slow, steady] = [Some(10.0), Some(10.1)].map(|before| group(NotSentReason::InFlightLimit, before));
        let slower = "find out why the server became slow, or lower the rate";
        let raise = "raise the limit of requests in flight; if it is reached again, lower the rate";
        assert_eq!(for_not_sent(&[slow.clone(), steady.clone()]), slower);
        assert_eq!(for_not_sent(&[steady, slow.clone()]), raise);
        assert_eq!(
            for_not_sent(&[group(NotSentReason::ConnectionsLimit, None)]),
            "raise the limit of connections; if it is reached again, lower the rate"
        );
        // Only a limit is reached because of slow responses.
        let late = group(NotSentReason::Late, Some(1.0));
        assert!(!late.became_slow() && !late.text().contains("because"));
        assert!(for_not_sent(&[slow, late]).starts_with("see the reasons"));
    }
}
