//! The reason for the validity, in one sentence; `verify` and `run` print the same one.

use offered_base::time::span;

use crate::criteria::Criteria;
use crate::expected_arrivals::ExpectedArrivals;
use crate::generator_error::{GeneratorError, PercentileError};
use crate::metric_error::NOTICEABLE_MS;
use crate::not_sent::{self, NotSent};
use crate::pattern::Classification;
use crate::percent::{percent, plain_percent};
use crate::token_metrics::StreamWarning;
use crate::verdict::{Check, Finding, Lateness, Pattern, ReadingLateness, Stalls, Validity, WarningKind};

/// A smaller share counts as zero: it would be displayed as 0.0 %.
const NEGLIGIBLE: f64 = 5e-4;

/// Less reading lateness, in microseconds, is not mentioned in a valid run.
const NOTICEABLE_US: f64 = 1000.0;

/// Everything the sentence depends on.
pub(crate) struct ReasonInput<'a> {
    pub(crate) criteria: &'a Criteria,
    pub(crate) classification: &'a Classification,
    pub(crate) findings: &'a [Finding],
    pub(crate) validity: Validity,
    /// Whether requests were sent at other times than scheduled, or responses read too late.
    pub(crate) is_late: bool,
    /// The stalls of the generator, if they caused that.
    pub(crate) stalled: Option<&'a Stalls>,
    /// The requests that were not sent.
    pub(crate) not_sent: &'a [NotSent],
    /// The saturated thread, if there is one.
    pub(crate) saturated: Option<&'a WarningKind>,
    pub(crate) lateness: Option<&'a Lateness>,
    pub(crate) reading: Option<&'a ReadingLateness>,
    /// The CoV of the gaps between scheduled times, if those are known.
    pub(crate) scheduled_cov: Option<f64>,
    /// The generator error, if the validity depends on it.
    pub(crate) generator_error: Option<&'a GeneratorError>,
    /// Whether every threshold has the same result with and without the generator error.
    pub(crate) thresholds_unaffected: bool,
    /// The warning that the schedule is that of another workload.
    pub(crate) other_schedule: Option<&'a WarningKind>,
    /// The first warning to read the results with, if the run is valid only with warnings and they were sent as specified.
    pub(crate) caveat: Option<&'a WarningKind>,
}

impl ReasonInput<'_> {
    /// Whether the sentence already states this warning.
    pub(crate) fn states(&self, warning: &WarningKind) -> bool {
        let invalid_or_badly_sent = match self.validity {
            Validity::Invalid => true,
            Validity::ValidWithWarnings => self.is_late,
            Validity::Valid | Validity::NotChecked => false,
        };
        match warning {
            WarningKind::GeneratorSaturated { .. }
            | WarningKind::GeneratorStalled(_)
            | WarningKind::NotPoisson { .. } => invalid_or_badly_sent,
            // The reason has the lateness or its effect.
            WarningKind::LateRequests { .. } => self.states_lateness(Check::LatenessP99),
            WarningKind::LateReading { .. } => self.states_lateness(Check::ReadingLatenessP99),
            WarningKind::Streams(StreamWarning::GeneratorError { .. }) => {
                let has_error = matches!(self.validity, Validity::Invalid | Validity::ValidWithWarnings);
                has_error && self.generator_error.is_some_and(|error| error.worst_if_of_streams().is_some())
            }
            WarningKind::UnsentRequests { .. } => {
                let unsent = |finding: &Finding| finding.check == Check::UnsentShare && finding.failed();
                self.findings.iter().any(unsent) || self.is_caveat(warning)
            }
            WarningKind::OtherSchedule => self.validity == Validity::Invalid,
            WarningKind::TooFewRequests { .. } => {
                self.validity == Validity::NotChecked || (invalid_or_badly_sent && self.criteria.expected.is_poisson())
            }
            other => self.is_caveat(other),
        }
    }

    fn states_lateness(&self, check: Check) -> bool {
        match self.validity {
            Validity::ValidWithWarnings => true,
            Validity::Invalid => self.findings.iter().any(|finding| finding.check == check && finding.failed()),
            Validity::Valid | Validity::NotChecked => false,
        }
    }

    fn is_caveat(&self, warning: &WarningKind) -> bool {
        self.caveat.is_some_and(|caveat| std::ptr::eq(caveat, warning))
    }
}

/// The reason: the cause if it is known, then the deviation, then its effect on the percentiles. If a warning is the only reservation, it comes
/// first in a run whose schedule is known, and last where the arrivals alone are judged.
///
/// For arrivals that were not specified as Poisson, deviations from Poisson are not mentioned.
pub(crate) fn reason(input: &ReasonInput) -> String {
    let reason = reason_for_arrivals(input);
    match input.caveat.map(WarningKind::message) {
        None => reason,
        Some(warning) if input.lateness.is_some() => format!("{warning}; {reason}"),
        Some(warning) => format!("{reason}; {warning}"),
    }
}

fn reason_for_arrivals(input: &ReasonInput) -> String {
    let ReasonInput { criteria, classification, .. } = input;
    match input.validity {
        Validity::Invalid => what_is_wrong(input),
        Validity::ValidWithWarnings if input.is_late => what_is_wrong(input),
        Validity::Valid | Validity::ValidWithWarnings => match input.lateness {
            Some(lateness) => {
                let error =
                    input.generator_error.map_or_else(String::new, |error| format!("; {}", worst_error_text(error)));
                let reading = input.reading.filter(|reading| reading.p99_us >= NOTICEABLE_US);
                let reading = reading.map_or_else(String::new, |reading| format!("; {}", reading_text(reading.p99_us)));
                format!("{}{reading}{error}", lateness_text(lateness, criteria.is_closed()))
            }
            None => arrivals_match(criteria, classification),
        },
        Validity::NotChecked
            if matches!(criteria.expected.arrivals(), ExpectedArrivals::Other { .. })
                && classification.pattern != Pattern::TooFewRequests =>
        {
            format!("there is no test for the specified arrivals ({})", criteria.expected.name())
        }
        Validity::NotChecked => classification.reason.clone(),
    }
}

fn arrivals_match(criteria: &Criteria, classification: &Classification) -> String {
    if criteria.expected.is_poisson() {
        classification.reason.clone()
    } else {
        "requests were sent as specified".to_owned()
    }
}

/// The deviation from the specification: the cause if the recording shows a single cause, otherwise the symptom.
fn what_is_wrong(input: &ReasonInput) -> String {
    let saturated = input.saturated.map(WarningKind::message);
    let failed = || input.findings.iter().filter(|finding| finding.failed());
    // Requests that were not sent explain a low rate and all other arrivals.
    let are_missing = failed().any(|finding| finding.check == Check::UnsentShare);
    if let Some(lateness) = input.lateness.filter(|_| are_missing) {
        let not_sent = not_sent::text(input.not_sent, lateness.unsent, lateness.unsent + lateness.n);
        return saturated.into_iter().chain([not_sent]).collect::<Vec<_>>().join("; ");
    }
    let is_poisson = matches!(input.classification.pattern, Pattern::Poisson | Pattern::PoissonFixedCount);
    // After a stall, only its effect on the percentiles matters.
    let stall_explains = input.stalled.is_some() && input.generator_error.is_some();
    let names_pattern = input.criteria.expected.is_poisson() && !is_poisson && !stall_explains;
    let pattern = names_pattern.then(|| input.classification.reason.clone());
    let (rate, other): (Vec<_>, Vec<_>) = failed().partition(|finding| finding.check == Check::RateAgainstTarget);
    let other = other.into_iter().filter(|_| !stall_explains);
    let stalled = input.stalled.map(|stalls| WarningKind::GeneratorStalled(stalls.clone()).message());
    let error = input.generator_error.map(worst_error_text);
    let unaffected = input.thresholds_unaffected.then(|| "no threshold depends on this error".to_owned());
    let described = |findings: Vec<&Finding>| {
        findings.into_iter().filter_map(|finding| describe(input, finding)).collect::<Vec<_>>()
    };
    let mut reasons: Vec<String> = Vec::new();
    let other_schedule = input.other_schedule.map(WarningKind::message);
    let causes = saturated.into_iter().chain(stalled).chain(other_schedule).chain(described(rate)).chain(pattern);
    for reason in causes.chain(described(other.collect())).chain(error).chain(unaffected) {
        // Two checks may find the same deviation.
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons.join("; ")
}

/// A failed check in plain words, with the limit; the finding has the numbers. `None` if the cause is stated elsewhere.
fn describe(input: &ReasonInput, finding: &Finding) -> Option<String> {
    let estimate = finding.estimate.unwrap_or(f64::NAN);
    let limits = finding.limits_text();
    let compare = |measured: f64, expected: f64, limits: &str| {
        let how = if measured > expected { "over-dispersed" } else { "under-dispersed" };
        format!("requests were {how} compared with the specification (CoV {measured:.2}, {limits})")
    };
    Some(match finding.check {
        Check::ConstantGaps => {
            format!("constant gaps were specified, and the gaps of the run varied (CoV {estimate:.2}, {limits})")
        }
        Check::CovAgainstSchedule => {
            let (sent, scheduled) = (finding.statistic.unwrap_or(f64::NAN), input.scheduled_cov.unwrap_or(f64::NAN));
            let half = input.criteria.cov_tolerance * scheduled.max(1.0);
            let limits = format!("tolerated: {:.2} to {:.2}", (scheduled - half).max(0.0), scheduled + half);
            compare(sent, scheduled, &limits)
        }
        Check::CovAgainstExpected | Check::ClosedCov => {
            let middle =
                finding.limit_low.zip(finding.limit_high).map_or(f64::NAN, |(low, high)| f64::midpoint(low, high));
            compare(estimate, middle, &limits)
        }
        Check::ClosedDispersion => {
            let users = "over longer times, the number of requests did not vary as with the specified users";
            format!("{users} (IDC {estimate:.2}, {limits})")
        }
        Check::ThinkTime => {
            format!("the mean think time was {} of the specified one{}", whole_percent(estimate), ratio_limits(finding))
        }
        Check::RateAgainstTarget => {
            format!("the sent rate was {} of the target rate{}", whole_percent(estimate), ratio_limits(finding))
        }
        Check::LatenessP99 => {
            let limit = span(input.criteria.late_after.0 as f64);
            format!("1 % of the requests were {} late or more (limit {limit})", span(estimate * 1e3))
        }
        Check::ReadingLatenessP99 => {
            format!("{} (limit {})", reading_text(estimate), span(input.criteria.late_after.0 as f64))
        }
        _ => return None,
    })
}

/// The limits of a ratio as text: ` (tolerated: 95 to 105 %)`.
fn ratio_limits(finding: &Finding) -> String {
    let limits = finding.limit_low.zip(finding.limit_high);
    limits.map_or_else(String::new, |(low, high)| format!(" (tolerated: {:.0} to {:.0} %)", 100.0 * low, 100.0 * high))
}

/// A share as text: `92 %`, `120 %`; close to 100 % with one decimal: `99.4 %`.
fn whole_percent(share: f64) -> String {
    let digits = usize::from((0.95..1.05).contains(&share));
    format!("{:.digits$} %", 100.0 * share)
}

/// How late the responses were read, by the 99th percentile.
fn reading_text(p99_us: f64) -> String {
    format!("1 % of the responses waited {} or more to be read", span(p99_us * 1e3))
}

/// How late the requests were that were sent. A closed user has no schedule: a request is due when the think time ends.
fn lateness_text(lateness: &Lateness, is_closed: bool) -> String {
    let others = if lateness.unsent > 0 { "the other " } else { "" };
    match lateness.max_us {
        max if max > 0.0 => format!("{others}requests were at most {} late", span(max * 1e3)),
        _ if lateness.mean_us < 0.0 => "no request was late".to_owned(),
        _ if lateness.unsent > 0 => "all others were sent at their scheduled times".to_owned(),
        _ if is_closed => "every request was sent when its user's think time ended".to_owned(),
        _ => "every request was sent at its scheduled time".to_owned(),
    }
}

/// The largest share of a percentile that the generator caused, and the tolerance.
fn worst_error_text(error: &GeneratorError) -> String {
    match error.worst_if_of_streams() {
        Some(worst) => format!("the generator {} ({} tolerated)", worst.text(), plain_percent(error.tolerance)),
        None => error_text(error.worst(), error.tolerance),
    }
}

/// The share of this percentile that the generator caused, and the tolerance.
pub(crate) fn error_text(worst: &PercentileError, tolerance: f64) -> String {
    let share = worst.upper_bound();
    // The text before it is about the requests that were sent.
    let the = if worst.with_unsent_ms.is_some() { "their" } else { "the" };
    if share < NEGLIGIBLE {
        return format!("the generator error of {the} p99 is 0 %");
    }
    let is_small = share > tolerance && share * worst.response_ms.abs() < NOTICEABLE_MS;
    let or_small = if is_small { format!(" or {NOTICEABLE_MS} ms") } else { String::new() };
    let tolerated = match tolerance {
        0.0 => "none tolerated".to_owned(),
        _ => format!("{}{or_small} tolerated", plain_percent(tolerance)),
    };
    match share {
        share if share >= 1.0 => {
            format!(
                "the generator error of {the} p{} may be as large as the p{0} itself ({tolerated})",
                worst.percentile
            )
        }
        share => {
            format!("the generator error of {the} p{} is at most {} ({tolerated})", worst.percentile, percent(share))
        }
    }
}
