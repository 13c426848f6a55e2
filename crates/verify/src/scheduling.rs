//! The scheduling priority of the generator, and the remaining fixes for lateness.

use offered_events::recording::{Evidence, Scheduling};

use crate::generator_error::GeneratorError;
use crate::verdict::{Check, Validity, Verdict, Warning, WarningKind};

/// A thread that is busy for a smaller share of the time is late because it does not run.
const MOSTLY_IDLE: f64 = 0.5;

/// No tolerance for a larger share of a percentile is sensible: most of the response time would be that of the generator.
const MAX_ACCEPTABLE_ERROR: f64 = 0.5;

/// The remedy for the lateness of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatenessAction {
    /// Nothing: the generator error is within the tolerance.
    Nothing,
    /// Send requests on time.
    BeOnTime,
    /// Send requests on time, or raise the tolerance of the generator error.
    BeOnTimeOrAccept,
}

impl LatenessAction {
    fn of(validity: Validity, error: Option<&GeneratorError>) -> Self {
        match error {
            Some(error) if validity != Validity::Invalid && error.is_within_tolerance() => Self::Nothing,
            Some(error) if error.largest_share() > MAX_ACCEPTABLE_ERROR => Self::BeOnTime,
            _ => Self::BeOnTimeOrAccept,
        }
    }
}

/// How the sending threads get a higher priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorityAction {
    /// Use more threads: one used so much of a processor that it lost its priority.
    UseMoreThreads,
    /// Request the default or real-time priority instead of none.
    Request,
    /// Request real-time priority.
    RequestRealtime,
    /// Permit the generator the priority that was refused.
    Permit,
}

impl PriorityAction {
    /// `None` if the threads had the highest priority, if it is unknown, or if they worked when requests were late. In a run
    /// of several workers, this is for the first worker that had a lower priority.
    fn of(scheduling: &[Scheduling], busiest: Option<f64>) -> Option<Self> {
        if busiest.is_some_and(|busy| busy > MOSTLY_IDLE) {
            return None;
        }
        if scheduling.iter().any(|of| of.lowered_s > 0.0) {
            return Some(Self::UseMoreThreads);
        }
        let below = scheduling.iter().find(|of| !of.is_realtime())?;
        Some(match below {
            _ if below.requested == "normal" => Self::Request,
            Scheduling { refused: Some(_), .. } => Self::Permit,
            _ => Self::RequestRealtime,
        })
    }

    const fn text(self) -> &'static str {
        match self {
            Self::UseMoreThreads => "use more threads: a thread that uses too much of a processor loses its priority",
            Self::Request => "set generator.priority to \"auto\" or \"realtime\"",
            Self::RequestRealtime => "set generator.priority to \"realtime\"",
            Self::Permit => {
                "permit the generator a higher priority (CAP_SYS_NICE, or the limits `nice` and `rtprio` of its user)"
            }
        }
    }
}

impl Verdict {
    /// The remedy for requests that were sent late, or responses that were read late. The fixes of these warnings are based on it.
    pub fn lateness_action(&self) -> LatenessAction {
        LatenessAction::of(self.validity, self.generator_error.as_ref())
    }

    /// How the sending threads get a higher priority, with which the fix for lateness begins; `None` if that does not help, or if
    /// it is unknown.
    pub fn priority_action(&self) -> Option<PriorityAction> {
        let busiest = self.finding(Check::BusiestThread).and_then(|finding| finding.estimate);
        PriorityAction::of(&self.scheduling, busiest)
    }

    /// The warnings whose fixes belong to the reason: those that it names, but of the warnings about lateness only the first,
    /// because all of them have one remedy.
    pub fn warnings_to_fix(&self) -> impl Iterator<Item = &Warning> {
        let is_lateness = |warning: &Warning| warning.details.as_ref().is_some_and(WarningKind::is_lateness);
        let mut is_first = true;
        let named = self.warnings.iter().filter(|warning| warning.in_reason);
        named.filter(move |warning| !is_lateness(warning) || std::mem::take(&mut is_first))
    }
}

/// The fix of a warning. For lateness it says whether the generator error needs any action. If it does, it begins with the priority of the
/// sending threads, unless they had the highest or were busy.
pub(crate) fn fix(
    kind: &WarningKind,
    generator: Option<&Evidence>,
    validity: Validity,
    error: Option<&GeneratorError>,
) -> String {
    if !kind.is_lateness() {
        return kind.fix();
    }
    let action = LatenessAction::of(validity, error);
    if action == LatenessAction::Nothing {
        return "no action needed: the generator error is within the tolerance".to_owned();
    }
    let busiest = generator.and_then(Evidence::busiest).map(|(_, busy)| busy);
    let scheduling = generator.map_or(&[][..], |generator| generator.scheduling.as_slice());
    let fix = match PriorityAction::of(scheduling, busiest) {
        Some(priority) => format!("{}, or {}", priority.text(), kind.fix()),
        None => kind.fix(),
    };
    match action {
        LatenessAction::BeOnTimeOrAccept => format!("{fix}; or accept a larger generator error (generator.tolerance)"),
        _ => fix,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator_error::PercentileError;
    use crate::verdict::Stalls;

    fn with(scheduling: &[Scheduling]) -> String {
        let stalled = WarningKind::GeneratorStalled(Stalls { threads_idle: true, ..Stalls::default() });
        let generator = Evidence { scheduling: scheduling.to_vec(), ..Evidence::default() };
        fix(&stalled, Some(&generator), Validity::Invalid, None)
    }

    #[test]
    fn lateness_is_fixed_by_the_next_higher_priority() {
        let auto = Scheduling {
            requested: "auto".to_owned(),
            policy: "SCHED_OTHER".to_owned(),
            nice: -20,
            slice_us: Some(100.0),
            refused: None,
            lowered_s: 0.0,
        };
        let realtime = Scheduling { policy: "SCHED_RR".to_owned(), ..auto.clone() };
        let refused = Scheduling { nice: 0, refused: Some("nice -20: not permitted".to_owned()), ..auto.clone() };
        let normal = Scheduling { requested: "normal".to_owned(), nice: 0, ..auto.clone() };
        let lowered = Scheduling { lowered_s: 1.5, ..realtime.clone() };
        for (scheduling, start) in [
            (&[][..], "reserve cores"),
            (&[realtime.clone()][..], "reserve cores"),
            (&[realtime.clone(), auto][..], "set generator.priority to \"realtime\", or reserve cores"),
            (&[refused][..], "permit the generator"),
            (&[normal.clone()][..], "set generator.priority to \"auto\""),
            (&[lowered][..], "use more threads"),
        ] {
            let fix = with(scheduling);
            assert!(fix.starts_with(start) && fix.contains("(generator.tolerance)"), "{fix}");
        }
        let busy = Evidence { busy: vec![0.1, 0.7], scheduling: vec![normal], ..Evidence::default() };
        let late = WarningKind::LateReading { p99_us: 20_000.0 };
        assert!(fix(&late, Some(&busy), Validity::Invalid, None).starts_with("add threads"));
        let unsent = WarningKind::UnsentRequests { unsent: 1, requests: 2, causes: Vec::new(), p99_ms: None };
        let generator = Evidence { scheduling: vec![realtime], ..Evidence::default() };
        assert_eq!(fix(&unsent, Some(&generator), Validity::Invalid, None), unsent.fix());
    }

    #[test]
    fn a_tolerated_error_needs_no_action_and_a_large_one_is_not_to_be_accepted() {
        let error = |lateness_share| {
            let percentile = PercentileError {
                percentile: 99.0,
                response_ms: 10.0,
                service_ms: 10.0 * (1.0 - lateness_share),
                with_unsent_ms: None,
                lateness_share,
                bunching_share: None,
                reading_share: None,
                writing_share: None,
            };
            GeneratorError { window_ms: 1.0, tolerance: 0.05, percentiles: vec![percentile], streams: Vec::new() }
        };
        let stalled = WarningKind::GeneratorStalled(Stalls::default());
        let fix = |share, validity| fix(&stalled, None, validity, Some(&error(share)));
        assert!(fix(0.01, Validity::ValidWithWarnings).starts_with("no action needed: "));
        assert!(fix(0.01, Validity::Invalid).starts_with("reserve cores"));
        assert!(fix(0.2, Validity::Invalid).ends_with("or accept a larger generator error (generator.tolerance)"));
        assert!(!fix(0.9, Validity::Invalid).contains("accept"));
    }
}
