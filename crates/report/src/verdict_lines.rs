//! The first lines of every output: validity, failures, thresholds and stability, each with its reason.

use std::collections::BTreeMap;

use offered_base::count;
use offered_events::Outcome;
use offered_events::recording::End;
use offered_experiment::Failure;
use offered_verify::{
    Check, CheckResult, Finding, Incomplete, NotCheckedReason, Stability, StabilityState, ThresholdResult,
    UncheckedReason, Validity, Verdict, Warning, WarningKind,
};

use crate::document::Status;
use crate::format::{number, rate};
use crate::next_steps;

/// The judgement of a run without a successful request.
const NONE_SUCCEEDED: &str = "FAILED";

/// The subject of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Whether the results may be used.
    Validity,
    /// Whether the CoV of the gaps is about 1; only for the file of another tool.
    PrincipleB,
    /// The number of failed requests.
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
    /// The subject of the judgement.
    pub subject: Subject,
    /// The status, for colour and sign.
    pub status: Status,
    /// The judgement in capitals: `VALID`, `FAILED`, `OVERLOADED`.
    pub judgement: &'static str,
    /// The reason, without a line break. It may contain text from outside: requests and error messages.
    pub text: String,
    /// The fix. At most one line has a fix; [`VerdictLine::fixes`] has those of the validity, too.
    pub fix: Option<String>,
}

impl VerdictLine {
    /// The fixes of the line; for the validity those of an incomplete run and of [`Verdict::warnings_to_fix`], as `of_warning`
    /// writes them.
    pub fn fixes(&self, verdict: &Verdict, of_warning: impl Fn(&Warning) -> String) -> Vec<String> {
        if self.subject != Subject::Validity {
            return self.fix.iter().cloned().collect();
        }
        verdict.incomplete.iter().map(Incomplete::fix).chain(verdict.warnings_to_fix().map(of_warning)).collect()
    }
}

/// The input of the lines.
#[derive(Clone, Copy, Debug)]
pub struct VerdictLines<'a> {
    /// The verdict.
    pub verdict: &'a Verdict,
    /// The results of the thresholds.
    pub thresholds: &'a [ThresholdResult],
    /// The failures, of which a line names the most frequent one; may be empty.
    pub failures: &'a [Failure],
    /// The target rate of all requests; `None` if responses determine the rate or if it is unknown.
    pub target_rate_per_s: Option<f64>,
    /// Whether the line of the validity states the expected arrivals, as for recordings of other tools.
    pub states_expected: bool,
}

impl VerdictLines<'_> {
    /// The lines in reading order: validity, Principle B, failures, end, thresholds, stability. A positive judgement
    /// never precedes a failed one. The line that no request succeeded comes first, unless the run is invalid.
    pub fn lines(&self) -> Vec<VerdictLine> {
        let mut lines = self.validity();
        lines.extend(self.principle_b());
        let failures = self.failures();
        let none_succeeded = failures.as_ref().is_some_and(|line| line.judgement == NONE_SUCCEEDED);
        lines.extend(failures);
        lines.extend(self.end());
        lines.extend(self.thresholds());
        lines.extend(self.stability());
        if self.thresholds.is_empty() && !self.states_expected {
            let is_failing =
                lines.iter().any(|line| line.subject == Subject::Failures && line.judgement != NONE_SUCCEEDED);
            let none = if is_failing {
                "thresholds: none are set, so a run fails only if all requests fail"
            } else {
                "thresholds: the workload has none"
            };
            lines.push(line(Subject::Thresholds, Status::NotChecked, "NOT CHECKED", none.to_owned()));
        }
        if lines.iter().any(|line| line.status == Status::Failed) {
            lines.sort_by_key(|line| match line.status {
                Status::Passed | Status::Warning => true,
                Status::NotChecked if line.subject == Subject::Thresholds => self.thresholds.is_empty(),
                Status::NotChecked => none_succeeded && line.subject == Subject::Validity,
                Status::Failed => false,
            });
        }
        self.keep_first_fix(&mut lines);
        lines
    }

    /// Keeps only the fix of the first cause, because the other problems may follow from it. If the run is invalid,
    /// this is the fix of the validity.
    fn keep_first_fix(&self, lines: &mut [VerdictLine]) {
        let validity = self.verdict.validity;
        let rank = |line: &VerdictLine| match (line.subject, line.status) {
            _ if line.fix.is_none() || validity == Validity::Invalid => None,
            (Subject::Failures, _) => Some(0),
            (Subject::Stability, Status::Failed) => Some(1),
            (Subject::End, Status::Failed) => Some(2),
            (Subject::Thresholds, _) => Some(3),
            (Subject::End, _) => Some(4),
            // A run that is too short for its validity has that fix.
            _ => (validity != Validity::NotChecked).then_some(5),
        };
        let first = lines.iter().enumerate().filter_map(|(at, line)| Some((rank(line)?, at))).min().map(|(_, at)| at);
        for (_, line) in lines.iter_mut().enumerate().filter(|(at, _)| Some(*at) != first) {
            line.fix = None;
        }
    }

    /// The validity with its reason, and the part of an incomplete run that was judged.
    fn validity(&self) -> Vec<VerdictLine> {
        let Verdict { validity, reason, incomplete, expected, pattern, .. } = self.verdict;
        let expected = &expected.arrivals;
        let reason = match validity {
            Validity::NotChecked if !self.states_expected => format!("validity: {reason}"),
            _ if !self.states_expected => reason.clone(),
            Validity::Valid | Validity::ValidWithWarnings => format!("{expected}: {reason}"),
            Validity::Invalid if incomplete.is_some() => reason.clone(),
            Validity::Invalid => format!("{expected} expected, {} found: {reason}", pattern.name().replace('_', "-")),
            Validity::NotChecked => format!("{expected} expected: {reason}"),
        };
        let is_running = incomplete.as_ref().is_some_and(Incomplete::is_running);
        let heading = if is_running { "NOT FINISHED" } else { validity.heading() };
        let cov = self.cov();
        let coverage = incomplete.as_ref().and_then(Incomplete::coverage);
        let coverage = coverage.map_or_else(String::new, |coverage| format!("; {coverage}"));
        vec![line(Subject::Validity, (*validity).into(), heading, format!("{reason}{cov}{coverage}"))]
    }

    /// Whether Principle B is met, with the measured figures. A run of `offered` has no such line, because it was
    /// compared with its schedule, which is more precise.
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

    /// The measured and the expected CoV of the gaps, which determine the validity of another tool's recording: `; CoV
    /// 1.002 (95 %: 0.990 to 1.013), expected 1.5`. Empty if lateness determines the validity, or if the line on
    /// Principle B contains the same figures.
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

    /// The line that all or many requests failed, with the most frequent failure. Requests that were not sent do not
    /// count as failures of the server.
    fn failures(&self) -> Option<VerdictLine> {
        let total = self.verdict.requests.last().filter(|total| total.requests > 0)?;
        let (failed, not_sent, requests) = (total.failed_after_sending(), total.not_sent, total.requests);
        let (kind, most_frequent) = self.most_frequent_failure(failed == 0);
        let of_failures = |judgement, text: String| {
            let fix = Some(
                kind.map_or_else(|| "look for errors in the log of the server".to_owned(), next_steps::of_failure),
            );
            VerdictLine { fix, ..line(Subject::Failures, Status::Failed, judgement, text + &most_frequent) }
        };
        if total.ok == 0 && total.failed > 0 {
            return Some(of_failures(
                NONE_SUCCEEDED,
                match (failed, not_sent) {
                    (_, 0) => format!("all {} requests failed", count(requests)),
                    (0, _) => format!("no request succeeded: {} were not sent", count(not_sent)),
                    _ => format!("no request succeeded: {} failed, {} were not sent", count(failed), count(not_sent)),
                },
            ));
        }
        let (failed, requests) = total.notable_failures()?;
        let share = percent(failed as f64 / requests as f64);
        Some(of_failures("FAILURES", format!("{} of {} requests failed ({share})", count(failed), count(requests))))
    }

    /// The most frequent kind of failure, also as text: `, most of them: status 503`. `None` and an empty text if no
    /// failures are known. With `unsent` only requests that were not sent are considered, otherwise only sent requests.
    fn most_frequent_failure(&self, unsent: bool) -> (Option<&Failure>, String) {
        let mut kinds: BTreeMap<String, (u64, &Failure)> = BTreeMap::new();
        let is_counted = |of: &&Failure| of.outcome != Outcome::Cut.name() && of.is_unsent() == unsent;
        for failure in self.failures.iter().filter(is_counted) {
            kinds.entry(failure.text()).or_insert((0, failure)).0 += failure.n;
        }
        let all: u64 = kinds.values().map(|(n, _)| n).sum();
        let Some((text, (n, failure))) = kinds.into_iter().max_by_key(|(_, (n, _))| *n) else {
            return (None, String::new());
        };
        let text = match n {
            n if n == all => format!(": {text}"),
            n if 2 * n > all => format!(", most of them: {text}"),
            n => format!(", {} of them: {text}", count(n)),
        };
        (Some(failure), text)
    }

    /// The line that the run ended early, with the time and the reason. If a failure stopped it, the run has failed.
    fn end(&self) -> Option<VerdictLine> {
        let early = |warning: &Warning| match &warning.details {
            Some(kind @ WarningKind::StoppedEarly { end, .. }) => Some((kind.stop_text()?, kind.fix(), *end)),
            _ => None,
        };
        let (text, fix, end) = self.verdict.warnings.iter().find_map(early)?;
        let status = match end {
            Some(End::RequestFailed | End::Threshold) => Status::Failed,
            _ => Status::Warning,
        };
        let text = format!("{text}; only the requests until this time are judged");
        Some(VerdictLine { fix: Some(fix), ..line(Subject::End, status, "STOPPED", text) })
    }

    /// Failed thresholds, unchecked ones, then all passed ones in one line. If the run is invalid, none is checked.
    fn thresholds(&self) -> Vec<VerdictLine> {
        let of = |status, judgement, text| line(Subject::Thresholds, status, judgement, text);
        let Some(first) = self.thresholds.first() else { return Vec::new() };
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
        let mut failed: Vec<VerdictLine> =
            texts(CheckResult::Failed).map(|text| of(Status::Failed, "FAILED", text)).collect();
        let first_failed = self.thresholds.iter().find(|checked| checked.result == CheckResult::Failed);
        if let Some((last, checked)) = failed.last_mut().zip(first_failed) {
            last.fix = Some(next_steps::of_threshold(&checked.threshold));
        }
        let unchecked = texts(CheckResult::NotChecked).map(|text| of(Status::NotChecked, "NOT CHECKED", text));
        let passed = texts(CheckResult::Passed).collect::<Vec<_>>().join(" · ");
        let passed = (!passed.is_empty()).then(|| of(Status::Passed, "PASSED", passed));
        failed.into_iter().chain(unchecked).chain(passed).collect()
    }

    /// The stability with the rates, or why it was not checked. The file of another tool without response times has no
    /// such line.
    fn stability(&self) -> Option<VerdictLine> {
        let of_stability = |status, judgement, text| line(Subject::Stability, status, judgement, text);
        let Some(of) = self.verdict.stability.as_ref() else {
            let none = "stability: no request has an end time";
            let is_own = !self.states_expected && self.verdict.requests.last().is_some_and(|total| total.requests > 0);
            return is_own.then(|| of_stability(Status::NotChecked, "NOT CHECKED", none.to_owned()));
        };
        let (state, sent, completed) = (of.state, self.rates(of), rate(of.completed_rate_per_s));
        let end = self.verdict.incomplete.as_ref().and_then(|incomplete| incomplete.covered_until_s);
        let until = end.map_or_else(String::new, |end| format!("until {end:.1} s: "));
        let (rates, in_flight) = (format!("{until}{sent}, completed {completed}"), of.in_flight_text());
        let (judgement, text, fix) = match (state, of.not_checked_reason) {
            (StabilityState::Stable, _) => ("STABLE", format!("{rates}; {in_flight}"), None),
            (StabilityState::Overloaded, _) => {
                let [low, high] = [of.growth_low_per_s, of.growth_high_per_s].map(number);
                let growth = format!("backlog grows {} (99 % confidence: {low} to {high}/s)", rate(of.growth_per_s));
                let text = format!("{rates}: {growth}, {in_flight}; the longer the run, the longer the response times");
                let fix = format!("lower the rate below {completed}, or find out what limits the server");
                ("OVERLOADED", text, Some(fix))
            }
            (StabilityState::NotChecked, reason) => {
                let (text, fix) = match reason {
                    Some(NotCheckedReason::ClosedSystem) => {
                        (format!("users wait for responses, so there is no target rate; {rates}, {in_flight}"), None)
                    }
                    Some(NotCheckedReason::TooManyFailures) => {
                        (format!("more than 5 % of the requests failed; {sent}"), None)
                    }
                    Some(NotCheckedReason::TooFewRequests) => {
                        let fix = "run longer or at a higher rate: at least 100 requests are needed";
                        (format!("fewer than 100 requests; {rates}, {in_flight}"), Some(fix))
                    }
                    Some(NotCheckedReason::TargetNotSent) => (self.target_not_sent(of, &in_flight), None),
                    Some(NotCheckedReason::RunTooShort) | None => {
                        let reason = "the run is too short to tell whether the backlog grows";
                        (format!("{reason}; {rates}, {in_flight}"), Some("run longer"))
                    }
                };
                ("NOT CHECKED", format!("stability: {text}"), fix.map(str::to_owned))
            }
        };
        Some(VerdictLine { fix, ..of_stability(state.into(), judgement, text) })
    }

    /// Target and sent rate: `target 300/s, sent 300/s`; if the schedule of the seed has another rate, `target 300/s on average,
    /// scheduled 312.9/s, sent 312.9/s`.
    fn rates(&self, of: &Stability) -> String {
        let sent = format!("sent {}", rate(of.sent_rate_per_s));
        let Some(target) = self.target_rate_per_s else { return sent };
        let target_text = target_text(target, self.scheduled(of));
        match self.scheduled(of).filter(|scheduled| differs(*scheduled, target)) {
            Some(scheduled) => format!("{target_text}, scheduled {}, {sent}", rate(scheduled)),
            None => format!("{target_text}, {sent}"),
        }
    }

    /// The scheduled rate, unless the schedule is that of another workload.
    fn scheduled(&self, of: &Stability) -> Option<f64> {
        let is_other = |warning: &Warning| matches!(warning.details, Some(WarningKind::OtherSchedule));
        of.scheduled_rate_per_s.filter(|_| !self.verdict.warnings.iter().any(is_other))
    }

    /// Why stability at the target rate is unknown: requests are missing, were not sent, or had another schedule. The text
    /// contains both rates of its percentage.
    fn target_not_sent(&self, of: &Stability, in_flight: &str) -> String {
        let (sent, target) = (of.sent_rate_per_s, self.target_rate_per_s.unwrap_or(f64::NAN));
        if let Some(incomplete) = self.verdict.incomplete.as_ref().filter(|_| of.scheduled_rate_per_s.is_none()) {
            let (are_missing, target) = (incomplete.are_missing(), rate(target));
            return format!("too many requests {are_missing}; target {target}, recorded {}; {in_flight}", rate(sent));
        }
        let is_unsent = self.verdict.finding(Check::UnsentShare).is_some_and(Finding::failed);
        let (what, all, target) = match self.scheduled(of).filter(|_| is_unsent) {
            Some(scheduled) => {
                let target = format!(" ({})", target_text(target, Some(scheduled)));
                ("scheduled requests were", scheduled, target)
            }
            None => ("target rate was", target, String::new()),
        };
        let share = percent(sent / all);
        format!("only {share} of the {what} sent: {} of {}{target}; {in_flight}", rate(sent), rate(all))
    }
}

/// `target 300/s`; with another scheduled rate, `target 300/s on average`.
fn target_text(target: f64, scheduled: Option<f64>) -> String {
    let is_mean = scheduled.is_some_and(|scheduled| differs(scheduled, target));
    format!("target {}{}", rate(target), if is_mean { " on average" } else { "" })
}

/// Whether the rate of the schedule is noticeably another one than the target, as by chance with random arrivals.
fn differs(scheduled: f64, target: f64) -> bool {
    (scheduled / target - 1.0).abs() > 0.01
}

/// `52 %`, `1.2 %`.
fn percent(share: f64) -> String {
    let digits = usize::from(share < 0.1);
    format!("{:.digits$} %", 100.0 * share)
}

const fn line(subject: Subject, status: Status, judgement: &'static str, text: String) -> VerdictLine {
    VerdictLine { subject, status, judgement, text, fix: None }
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
            scheduled_rate_per_s: None,
            sent_rate_per_s: 150.0,
            completed_rate_per_s: 88.0,
            in_flight_at_start: 0,
            in_flight_at_middle: 310,
            in_flight_at_end: 620,
            timed_out: 0,
            completed_later: 0,
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
        let rates =
            "OVERLOADED target 150/s, sent 150/s, completed 88/s: backlog grows 62/s (99 % confidence: 52 to 76/s)";
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
            let validity = if validity == Validity::NotChecked { "validity: " } else { "" };
            assert_eq!(lines(false)[0].text, format!("{validity}sent"));
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
        stopped.warnings = vec![Warning::from(WarningKind::StoppedEarly {
            reason: Some("p95 < 1s: 3 s".to_owned()),
            end: None,
            at_s: Some(12.0),
            duration_s: Some(20.0),
        })];
        let lines = text(&stopped, &[], &[]);
        assert_eq!(lines[1], "STOPPED at 12.0 s of 20 s: p95 < 1s: 3 s; only the requests until this time are judged");
    }

    #[test]
    fn what_was_not_checked_has_a_reason() {
        let mut closed = verdict(Validity::Valid, "sent as scheduled", StabilityState::NotChecked);
        for (reason, text_of_it) in [
            (
                NotCheckedReason::ClosedSystem,
                "users wait for responses, so there is no target rate; target 150/s, sent",
            ),
            (NotCheckedReason::TooFewRequests, "fewer than 100 requests; target 150/s"),
            (
                NotCheckedReason::TargetNotSent,
                "only 100 % of the target rate was sent: 150/s of 150/s; in flight 0 -> 620",
            ),
        ] {
            closed.stability.as_mut().unwrap().not_checked_reason = Some(reason);
            let lines = text(&closed, &[], &[]);
            assert!(lines[1].starts_with(&format!("NOT CHECKED stability: {text_of_it}")), "{lines:?}");
            assert_eq!(lines[2], "NOT CHECKED thresholds: the workload has none");
        }
        // The share of the schedule, which has another rate than the target.
        closed.stability.as_mut().unwrap().scheduled_rate_per_s = Some(160.0);
        let unsent = closed.findings.iter_mut().find(|finding| finding.check == Check::UnsentShare).unwrap();
        unsent.result = CheckResult::Failed;
        let text_of_it = "NOT CHECKED stability: only 94 % of the scheduled requests were sent: 150/s of 160/s (target 150/s on average); in flight 0 -> 620";
        assert_eq!(text(&closed, &[], &[])[1], text_of_it);
        closed.stability = None;
        assert_eq!(text(&closed, &[], &[])[1], "NOT CHECKED stability: no request has an end time");
    }

    #[test]
    fn the_first_cause_has_the_only_next_step() {
        let fixed = |verdict: &Verdict, thresholds: &[ThresholdResult]| {
            let (failures, target_rate_per_s, states_expected) = (&[][..], Some(150.0), false);
            let lines = VerdictLines { verdict, thresholds, failures, target_rate_per_s, states_expected }.lines();
            let with_fix = lines.into_iter().filter_map(|line| Some((line.judgement, line.fix?)));
            with_fix.collect::<Vec<_>>()
        };
        let failed = [threshold("p50 < 1s", 1.5)];
        let stable = verdict(Validity::Valid, "sent as scheduled", StabilityState::Stable);
        assert!(fixed(&stable, &[]).is_empty());
        assert_eq!(fixed(&stable, &failed)[0].0, "FAILED");
        let mut over = verdict(Validity::Valid, "sent as scheduled", StabilityState::Overloaded);
        let [(judgement, fix)] = &fixed(&over, &failed)[..] else { panic!("one fix") };
        assert_eq!(*judgement, "OVERLOADED");
        assert!(fix.starts_with("lower the rate below 88/s"), "{fix}");
        over.requests.iter_mut().for_each(|row| (row.ok, row.failed) = (0, row.requests));
        assert_eq!(fixed(&over, &failed)[0].0, "FAILED");
        over.validity = Validity::Invalid;
        assert!(fixed(&over, &failed).is_empty());
    }

    #[test]
    fn several_warnings_about_lateness_have_one_fix() {
        let mut late = verdict(Validity::Invalid, "requests were late", StabilityState::Stable);
        let named = |kind: WarningKind| Warning { in_reason: true, ..kind.into() };
        let first = named(WarningKind::LateRequests { p99_us: 2e4 });
        let second = named(WarningKind::LateReading { p99_us: 2e4 });
        let other = named(WarningKind::OtherSchedule);
        let unnamed = Warning { in_reason: false, ..first.clone() };
        late.warnings = vec![unnamed, first.clone(), second.clone(), other.clone()];
        let validity = line(Subject::Validity, Status::Failed, "INVALID", String::new());
        let fixes = |late: &Verdict| validity.fixes(late, |warning| warning.fix.clone());
        assert_eq!(fixes(&late), [first.fix, other.fix.clone()]);
        late.warnings.remove(1);
        assert_eq!(fixes(&late), [second.fix, other.fix]);
    }

    #[test]
    fn requests_that_were_not_sent_are_no_failures() {
        let mut unsent = verdict(Validity::Invalid, "they were late", StabilityState::Stable);
        let total = unsent.requests.last().cloned().unwrap();
        let of = |ok, failed, not_sent| RequestStats { requests: 200, ok, failed, not_sent, ..total.clone() };
        let judged = |unsent: &Verdict| text(unsent, &[], &[]).into_iter().find(|line| line.starts_with("FAIL"));
        unsent.requests = vec![of(150, 50, 50)];
        assert_eq!(judged(&unsent), None);
        unsent.requests = vec![of(150, 50, 40)];
        assert_eq!(judged(&unsent).unwrap(), "FAILURES 10 of 200 requests failed (5.0 %)");
        unsent.requests = vec![of(0, 200, 50)];
        assert_eq!(judged(&unsent).unwrap(), "FAILED no request succeeded: 150 failed, 50 were not sent");
    }
}
