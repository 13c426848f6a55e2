//! The first lines of every output: validity, failures, thresholds and stability, each with its reason.

use std::collections::BTreeMap;

use offered_base::count;
use offered_events::Outcome;
use offered_events::recording::End;
use offered_experiment::Failure;
use offered_verify::{
    CheckResult, Incomplete, IncompleteCause, NotCheckedReason, Stability, StabilityState, ThresholdResult,
    UncheckedReason, Validity, Verdict, Warning, WarningKind,
};

use crate::document::Status;
use crate::format::{number, rate};

/// The judgement of a run without a successful request.
const NONE_SUCCEEDED: &str = "FAILED";

/// What a line judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Whether the results may be used.
    Validity,
    /// Whether the CoV of the gaps is about 1; only for the file of another tool.
    PrincipleB,
    /// How many requests failed.
    Failures,
    /// Why the run ended early.
    End,
    /// The thresholds of the workload.
    Thresholds,
    /// Whether completions follow arrivals.
    Stability,
}

/// A judgement with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictLine {
    /// What is judged.
    pub subject: Subject,
    /// The status, for colour and sign.
    pub status: Status,
    /// The judgement in capitals: `VALID`, `FAILED`, `OVERLOADED`.
    pub judgement: &'static str,
    /// The reason, without a line break. It may contain text from outside: requests and error messages.
    pub text: String,
}

/// What the lines depend on.
#[derive(Clone, Copy, Debug)]
pub struct VerdictLines<'a> {
    /// The verdict.
    pub verdict: &'a Verdict,
    /// The results of the thresholds.
    pub thresholds: &'a [ThresholdResult],
    /// The failures, to name the most frequent one; may be empty.
    pub failures: &'a [Failure],
    /// The target rate of all requests; `None` if responses determine the rate or if it is unknown.
    pub target_rate_per_s: Option<f64>,
    /// Whether the validity states which arrivals were expected. A recording of another tool does not say it otherwise.
    pub states_expected: bool,
}

impl VerdictLines<'_> {
    /// The lines in reading order: validity, Principle B, failures, end, thresholds, stability. A positive judgement never precedes a failed one, and if
    /// no request succeeded, only an invalid run is worth saying before.
    pub fn lines(&self) -> Vec<VerdictLine> {
        let mut lines = self.validity();
        lines.extend(self.principle_b());
        let failures = self.failures();
        let none_succeeded = failures.as_ref().is_some_and(|line| line.judgement == NONE_SUCCEEDED);
        lines.extend(failures);
        lines.extend(self.end());
        lines.extend(self.thresholds());
        lines.extend(self.stability());
        if lines.iter().any(|line| line.status == Status::Failed) {
            lines.sort_by_key(|line| match line.status {
                Status::Passed | Status::Warning => true,
                Status::NotChecked => none_succeeded && line.subject == Subject::Validity,
                Status::Failed => false,
            });
        }
        lines
    }

    /// The validity with its reason, and the part of an incomplete run that was judged.
    fn validity(&self) -> Vec<VerdictLine> {
        let Verdict { validity, reason, incomplete, expected, pattern, .. } = self.verdict;
        let expected = &expected.arrivals;
        let reason = match validity {
            _ if !self.states_expected => reason.clone(),
            Validity::Valid | Validity::ValidWithWarnings => format!("{expected}: {reason}"),
            Validity::Invalid if incomplete.is_some() => reason.clone(),
            Validity::Invalid => format!("{expected} expected, {} found: {reason}", pattern.name().replace('_', "-")),
            Validity::NotChecked => format!("{expected} expected: {reason}"),
        };
        let cov = self.cov();
        let coverage = incomplete.as_ref().and_then(Incomplete::coverage);
        let coverage = coverage.map_or_else(String::new, |coverage| format!("; {coverage}"));
        vec![line(Subject::Validity, (*validity).into(), validity.heading(), format!("{reason}{cov}{coverage}"))]
    }

    /// Whether Principle B is met, and what was found beside it. A run of `offered` was compared with its schedule, which says more.
    fn principle_b(&self) -> Vec<VerdictLine> {
        let Some(principle) = self.verdict.principle_b().filter(|_| self.states_expected) else { return Vec::new() };
        let status = match principle.result {
            CheckResult::Failed => Status::Warning,
            result => result.into(),
        };
        let of = |status, judgement, text| line(Subject::PrincipleB, status, judgement, text);
        let beside = self.verdict.found_beside_principle_b().map(|text| of(Status::Warning, "ALSO FOUND", text));
        [of(status, "PRINCIPLE B", principle.text())].into_iter().chain(beside).collect()
    }

    /// The CoV of the gaps beside the expected one, which the validity of another tool's recording depends on: `; CoV 1.002 (95 %: 0.990 to
    /// 1.013), expected 1.5`. Empty where lateness decides, and where the line on Principle B says the same.
    fn cov(&self) -> String {
        let Verdict { gaps, expected, lateness, .. } = self.verdict;
        let is_stated = expected.expected_cov == Some(1.0) && self.verdict.principle_b().is_some();
        let total = gaps.last().filter(|_| self.states_expected && lateness.is_none() && !is_stated);
        let Some((total, low, high)) = total.and_then(|total| Some((total, total.cov_low?, total.cov_high?))) else {
            return String::new();
        };
        let expected = expected.expected_cov.map_or_else(String::new, |cov| format!(", expected {}", number(cov)));
        format!("; CoV {:.3} (95 %: {low:.3} to {high:.3}){expected}", total.cov)
    }

    /// That all or many requests failed, with the most frequent failure.
    fn failures(&self) -> Option<VerdictLine> {
        let incomplete = self.verdict.incomplete.as_ref().map(|incomplete| incomplete.cause);
        // Requests that an object store lacks may have been sent.
        let total = self.verdict.requests.last().filter(|_| incomplete != Some(IncompleteCause::EndMissing))?;
        let (failed, requests) = total.notable_failures()?;
        let how_many = match total.ok {
            0 => format!("all {} requests failed", count(requests)),
            _ => {
                let share = percent(failed as f64 / requests as f64);
                format!("{} of {} requests failed ({share})", count(failed), count(requests))
            }
        };
        let judgement = if total.ok == 0 { NONE_SUCCEEDED } else { "FAILURES" };
        Some(line(Subject::Failures, Status::Failed, judgement, how_many + &self.most_frequent_failure()))
    }

    /// `, most of them status 503`; empty if no failures are known.
    fn most_frequent_failure(&self) -> String {
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        for failure in self.failures.iter().filter(|failure| failure.outcome != Outcome::Cut.name()) {
            *kinds.entry(failure.text()).or_default() += failure.n;
        }
        let all: u64 = kinds.values().sum();
        let Some((text, n)) = kinds.into_iter().max_by_key(|(_, n)| *n) else { return String::new() };
        match n {
            n if n == all => format!(": {text}"),
            n if 2 * n > all => format!(", most of them: {text}"),
            n => format!(", {} of them: {text}", count(n)),
        }
    }

    /// That the run ended early. If a failure stopped it, the run has failed.
    fn end(&self) -> Option<VerdictLine> {
        let early = |warning: &Warning| match &warning.details {
            Some(WarningKind::StoppedEarly { end, .. }) => Some((warning.message.clone(), *end)),
            _ => None,
        };
        let (message, end) = self.verdict.warnings.iter().find_map(early)?;
        let status = match end {
            Some(End::RequestFailed | End::Threshold) => Status::Failed,
            _ => Status::Warning,
        };
        let text = format!("{message}; only the requests sent so far are judged");
        Some(line(Subject::End, status, "STOPPED", text))
    }

    /// Failed thresholds, unchecked ones, then all passed ones in one line. If the run is invalid, none is checked.
    fn thresholds(&self) -> Vec<VerdictLine> {
        let Some(first) = self.thresholds.first() else { return Vec::new() };
        let of = |status, judgement, text| line(Subject::Thresholds, status, judgement, text);
        if self.verdict.validity == Validity::Invalid {
            let names: Vec<String> = self.thresholds.iter().map(|checked| checked.threshold.to_string()).collect();
            let reason = first.not_checked_reason.filter(|reason| *reason == UncheckedReason::NeedsWholeRun);
            let reason = reason.map_or("needs a valid run", UncheckedReason::text);
            return vec![of(Status::NotChecked, "NOT CHECKED", format!("{} ({reason})", names.join(" · ")))];
        }
        let texts = |result| {
            let with = self.thresholds.iter().filter(move |checked| checked.result == result);
            with.map(|checked| format!("{}: {}", checked.threshold, checked.value_and_range()))
        };
        let failed = texts(CheckResult::Failed).map(|text| of(Status::Failed, "FAILED", text));
        let unchecked = texts(CheckResult::NotChecked).map(|text| of(Status::NotChecked, "NOT CHECKED", text));
        let passed = texts(CheckResult::Passed).collect::<Vec<_>>().join(" · ");
        let passed = (!passed.is_empty()).then(|| of(Status::Passed, "PASSED", passed));
        failed.chain(unchecked).chain(passed).collect()
    }

    /// The stability with the rates. A closed system cannot be overloaded by its users and gets no line.
    fn stability(&self) -> Option<VerdictLine> {
        let of = self.verdict.stability.as_ref()?;
        let Stability { state, sent_rate_per_s, completed_rate_per_s, .. } = *of;
        let target = self.target_rate_per_s.map_or_else(String::new, |target| format!("target {}, ", rate(target)));
        let rates = format!("{target}sent {}, completed {}", rate(sent_rate_per_s), rate(completed_rate_per_s));
        let in_flight = of.in_flight_text();
        let (judgement, text) = match (state, of.not_checked_reason) {
            (StabilityState::NotChecked, Some(NotCheckedReason::ClosedSystem)) => return None,
            (StabilityState::Stable, _) => ("STABLE", format!("{rates}; {in_flight}")),
            (StabilityState::Overloaded, _) => {
                let [low, high] = [of.growth_low_per_s, of.growth_high_per_s].map(number);
                let growth = format!("backlog grows {} (99 %: {low} to {high})", rate(of.growth_per_s));
                let text = format!("{rates}: {growth}, {in_flight}; response times depend on the duration");
                ("OVERLOADED", text)
            }
            (StabilityState::NotChecked, reason) => {
                let reason = match reason {
                    Some(NotCheckedReason::TooManyFailures) => "too many requests failed",
                    Some(NotCheckedReason::TooFewRequests) => "fewer than 100 requests",
                    _ => "the run is too short",
                };
                ("NOT CHECKED", format!("stability: {reason}; {rates}, {in_flight}"))
            }
        };
        Some(line(Subject::Stability, state.into(), judgement, text))
    }
}

/// `52 %`, `1.2 %`.
fn percent(share: f64) -> String {
    let digits = usize::from(share < 0.1);
    format!("{:.digits$} %", 100.0 * share)
}

const fn line(subject: Subject, status: Status, judgement: &'static str, text: String) -> VerdictLine {
    VerdictLine { subject, status, judgement, text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_base::Instant;
    use offered_events::{Event, Recording};
    use offered_verify::{Criteria, RequestStats, verify};

    /// The verdict on one request every 10 ms for 5 s, with another validity, reason and stability.
    fn verdict(validity: Validity, reason: &str, state: StabilityState) -> Verdict {
        let event = |i: u64| {
            let at = Instant::from_millis(10 * i);
            Event { sent: Some(at), done: Some(at), outcome: Outcome::Ok, ..Event::at(at) }
        };
        let recording = Recording::of_run((0..500).map(event).collect(), vec!["home".to_owned()]);
        let verdict = verify(&recording, &Criteria::default()).unwrap();
        let stability = Some(Stability {
            state,
            not_checked_reason: None,
            sent_rate_per_s: 150.0,
            completed_rate_per_s: 88.0,
            in_flight_at_start: 0,
            in_flight_at_end: 620,
            timed_out: 0,
            growth_per_s: 62.0,
            growth_low_per_s: 52.0,
            growth_high_per_s: 76.0,
        });
        Verdict { validity, reason: reason.to_owned(), stability, warnings: Vec::new(), ..verdict }
    }

    fn threshold(text: &str, value: f64) -> ThresholdResult {
        ThresholdResult::check_interim(&text.parse().unwrap(), Some(value))
    }

    fn text(verdict: &Verdict, thresholds: &[ThresholdResult], failures: &[Failure]) -> Vec<String> {
        let (target_rate_per_s, states_expected) = (Some(150.0), false);
        let lines = VerdictLines { verdict, thresholds, failures, target_rate_per_s, states_expected }.lines();
        lines.into_iter().map(|line| format!("{} {}", line.judgement, line.text)).collect()
    }

    #[test]
    fn an_invalid_run_says_so_first_and_checks_no_threshold() {
        let saturated = verdict(Validity::Invalid, "the generator was saturated", StabilityState::Overloaded);
        let lines = text(&saturated, &[threshold("p95 < 1s", 0.5), threshold("errors < 1%", 0.5)], &[]);
        assert_eq!(
            lines[..2],
            [
                "INVALID the generator was saturated".to_owned(),
                "NOT CHECKED response.p95 < 1s · errors.rate < 1% (needs a valid run)".to_owned(),
            ]
        );
        let rates = "OVERLOADED target 150/s, sent 150/s, completed 88/s: backlog grows 62/s (99 %: 52 to 76)";
        assert!(lines[2].starts_with(rates), "{lines:?}");
    }

    #[test]
    fn no_positive_judgement_precedes_a_failed_one() {
        let valid = verdict(Validity::Valid, "sent as scheduled", StabilityState::Stable);
        let judgements = |thresholds: &[ThresholdResult], verdict: &Verdict| {
            let lines = text(verdict, thresholds, &[]);
            lines.iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let passed = threshold("p95 < 1s", 0.5);
        assert_eq!(judgements(std::slice::from_ref(&passed), &valid), ["VALID", "PASSED", "STABLE"]);
        let failed = threshold("p50 < 1s", 1.5);
        assert_eq!(judgements(&[passed.clone(), failed], &valid), ["FAILED", "VALID", "PASSED", "STABLE"]);
        let overloaded = verdict(Validity::Valid, "sent as scheduled", StabilityState::Overloaded);
        assert_eq!(judgements(&[passed], &overloaded), ["OVERLOADED", "VALID", "PASSED"]);
    }

    #[test]
    fn failures_come_with_their_most_frequent_kind() {
        let mut refused = verdict(Validity::Valid, "sent as scheduled", StabilityState::Stable);
        let total = refused.requests.last().cloned().unwrap();
        refused.requests = vec![RequestStats { requests: 200, ok: 190, failed: 10, ..total.clone() }];
        let failure = |outcome: Outcome, status, reason: Option<&str>, n| Failure {
            label: Some("home".to_owned()),
            outcome: outcome.name().to_owned(),
            status,
            reason: reason.map(str::to_owned),
            n,
        };
        let status = failure(Outcome::HttpError, Some(503), None, 7);
        let other = failure(Outcome::Timeout, None, None, 3);
        let lines = text(&refused, &[], &[status.clone(), other]);
        assert_eq!(lines[0], "FAILURES 10 of 200 requests failed (5.0 %), most of them: status 503");
        assert_eq!(text(&refused, &[], &[status])[0], "FAILURES 10 of 200 requests failed (5.0 %): status 503");
        refused.requests = vec![RequestStats { requests: 10, ok: 0, failed: 10, ..total }];
        let why = failure(Outcome::Refused, None, Some("Connection refused (os error 111)"), 10);
        let lines = text(&refused, &[], &[why]);
        assert_eq!(lines[0], "FAILED all 10 requests failed: refused: Connection refused (os error 111)");
        assert_eq!(text(&refused, &[], &[])[0], "FAILED all 10 requests failed");
        for (validity, first) in [(Validity::NotChecked, "FAILED"), (Validity::Invalid, "INVALID")] {
            let lines = text(&Verdict { validity, ..refused.clone() }, &[], &[]);
            assert!(lines[0].starts_with(first), "{lines:?}");
        }
    }

    #[test]
    fn the_expected_arrivals_are_stated_on_request() {
        for (validity, start) in [
            (Validity::Valid, "poisson: sent"),
            (Validity::Invalid, "poisson expected, "),
            (Validity::NotChecked, "poisson expected: sent"),
        ] {
            let verdict = verdict(validity, "sent", StabilityState::Stable);
            let (thresholds, failures, target_rate_per_s) = (&[][..], &[][..], None);
            let lines = |states_expected| {
                VerdictLines { verdict: &verdict, thresholds, failures, target_rate_per_s, states_expected }.lines()
            };
            assert!(lines(true)[0].text.starts_with(start), "{:?}", lines(true)[0]);
            assert_eq!(lines(false)[0].text, "sent");
            // The gaps are constant. Only the file of another tool is compared with Principle B.
            let principle_b = |states_expected| {
                let line = lines(states_expected).into_iter().find(|line| line.subject == Subject::PrincipleB)?;
                Some(format!("{} {}", line.judgement, line.text))
            };
            let text = "PRINCIPLE B not met: CoV 0.000, 95 % 0.000 to 0.088 (limits 0.95 to 1.05)";
            assert_eq!((principle_b(true).as_deref(), principle_b(false)), (Some(text), None));
        }
    }

    #[test]
    fn a_run_that_ended_early_says_why() {
        let mut stopped = verdict(Validity::Valid, "sent as scheduled", StabilityState::Stable);
        stopped.warnings =
            vec![Warning::from(WarningKind::StoppedEarly { reason: Some("p95 < 1s: 3 s".to_owned()), end: None })];
        let lines = text(&stopped, &[], &[]);
        assert_eq!(lines[1], "STOPPED the run stopped itself: p95 < 1s: 3 s; only the requests sent so far are judged");
    }

    #[test]
    fn a_closed_system_has_no_stability_line() {
        let mut closed = verdict(Validity::Valid, "sent as scheduled", StabilityState::NotChecked);
        closed.stability.as_mut().unwrap().not_checked_reason = Some(NotCheckedReason::ClosedSystem);
        assert_eq!(text(&closed, &[], &[]), ["VALID sent as scheduled"]);
        closed.stability.as_mut().unwrap().not_checked_reason = Some(NotCheckedReason::TooFewRequests);
        assert!(text(&closed, &[], &[])[1].starts_with("NOT CHECKED stability: fewer than 100 requests; target 150/s"));
    }
}
