//! The reason for the validity, in one sentence; `verify` and `run` print the same one.

use offered_base::time::span;

use crate::criteria::Criteria;
use crate::expected_arrivals::ExpectedArrivals;
use crate::generator_error::{GeneratorError, NOTICEABLE_MS, PercentileError};
use crate::judge::MAX_UNSENT_SHARE;
use crate::not_sent::{self, NotSent};
use crate::pattern::Classification;
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
    /// The warning that the order of requests is uncertain.
    pub(crate) order_uncertain: Option<&'a WarningKind>,
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
            WarningKind::UnsentRequests { .. } => {
                let unsent = |finding: &Finding| finding.check == Check::UnsentShare && finding.failed();
                self.findings.iter().any(unsent)
            }
            WarningKind::OtherSchedule => self.validity == Validity::Invalid,
            WarningKind::OrderUncertain { .. } => self.validity == Validity::ValidWithWarnings,
            WarningKind::TooFewRequests { .. } => {
                self.validity == Validity::NotChecked || (invalid_or_badly_sent && self.criteria.expected.is_poisson())
            }
            _ => false,
        }
    }
}

/// The reason: the cause if it is known, then the deviation, then its effect on the percentiles.
///
/// For arrivals that were not specified as Poisson, deviations from Poisson are not mentioned.
pub(crate) fn reason(input: &ReasonInput) -> String {
    let order = input.order_uncertain.filter(|_| input.validity == Validity::ValidWithWarnings);
    let order = order.map_or_else(String::new, |warning| format!("; {}", warning.message()));
    reason_for_arrivals(input) + &order
}

fn reason_for_arrivals(input: &ReasonInput) -> String {
    let ReasonInput { criteria, classification, .. } = input;
    match input.validity {
        Validity::Invalid => what_is_wrong(input),
        Validity::ValidWithWarnings if input.is_late => what_is_wrong(input),
        Validity::Valid | Validity::ValidWithWarnings => match input.lateness {
            Some(lateness) => {
                let error = input.generator_error;
                let second = error.map_or_else(|| arrivals_match(criteria, classification), worst_error_text);
                let reading = input.reading.filter(|reading| reading.p99_us >= NOTICEABLE_US);
                let reading = reading.map_or_else(String::new, |reading| format!("; {}", reading_text(reading.p99_us)));
                format!("{}{reading}; {second}", lateness_text(lateness))
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

/// What deviates from the specification: the cause if the recording singles one out, otherwise the symptom.
fn what_is_wrong(input: &ReasonInput) -> String {
    let saturated = input.saturated.map(WarningKind::message);
    let failed = || input.findings.iter().filter(|finding| finding.failed());
    // Requests that were not sent explain a low rate and all other arrivals.
    if let Some(finding) = failed().find(|finding| finding.check == Check::UnsentShare) {
        return saturated.into_iter().chain([not_sent_text(input, finding)]).collect::<Vec<_>>().join("; ");
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
    let unaffected = input.thresholds_unaffected.then(|| "no threshold depends on that".to_owned());
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

/// That more requests than the limit were not sent, and why.
fn not_sent_text(input: &ReasonInput, finding: &Finding) -> String {
    let share = percent(finding.estimate.unwrap_or(f64::NAN));
    let limit = plain_percent(MAX_UNSENT_SHARE);
    match not_sent::text(input.not_sent) {
        None => format!("{share} of the requests were not sent (limit {limit})"),
        Some(text) => format!("{text} ({share} of all; limit {limit})"),
    }
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
            format!("the gaps between requests were not constant, as specified (CoV {estimate:.2}, {limits})")
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
            let users = "over longer times the number of requests varied otherwise than with the specified users";
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

/// ` (tolerated: 95 to 105 %)`: the limits of a ratio.
fn ratio_limits(finding: &Finding) -> String {
    let limits = finding.limit_low.zip(finding.limit_high);
    limits.map_or_else(String::new, |(low, high)| format!(" (tolerated: {:.0} to {:.0} %)", 100.0 * low, 100.0 * high))
}

/// `92 %`, `120 %`; close to 100 % with one decimal: `99.4 %`.
fn whole_percent(share: f64) -> String {
    let digits = usize::from((0.95..1.05).contains(&share));
    format!("{:.digits$} %", 100.0 * share)
}

/// How late the responses were read, by the 99th percentile.
fn reading_text(p99_us: f64) -> String {
    format!("1 % of the responses waited {} or more to be read", span(p99_us * 1e3))
}

/// How late the requests were.
fn lateness_text(lateness: &Lateness) -> String {
    match lateness.max_us {
        max if max > 0.0 => format!("requests were at most {} late", span(max * 1e3)),
        _ if lateness.mean_us < 0.0 => {
            "no request was late, and some were sent before their scheduled times".to_owned()
        }
        _ => "every request was sent at its scheduled time".to_owned(),
    }
}

/// The largest share of a percentile that the generator caused, and the tolerance.
fn worst_error_text(error: &GeneratorError) -> String {
    error_text(error.worst(), error.tolerance)
}

/// The share of this percentile that the generator caused, and the tolerance.
pub(crate) fn error_text(worst: &PercentileError, tolerance: f64) -> String {
    let share = worst.upper_bound();
    if share < NEGLIGIBLE {
        return "the generator error of the p99 is 0 %".to_owned();
    }
    let is_small = share > tolerance && share * worst.response_ms.abs() < NOTICEABLE_MS;
    let or_small = if is_small { format!(" or {NOTICEABLE_MS} ms") } else { String::new() };
    let tolerated = match tolerance {
        0.0 => "none tolerated".to_owned(),
        _ => format!("{}{or_small} tolerated", plain_percent(tolerance)),
    };
    format!("the generator error of the p{} is at most {} ({tolerated})", worst.percentile, percent(share))
}

/// `5 %`, `0.5 %`: a limit as it was set.
fn plain_percent(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}

/// Two digits: `0.43 %`, `4.3 %`, `43 %`; at most 100 %.
fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 1.0 => format!("{percent:.2} %"),
        percent if percent < 10.0 => format!("{percent:.1} %"),
        percent => format!("{:.0} %", percent.min(100.0)),
    }
}
