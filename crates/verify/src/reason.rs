//! The reason for the validity, in one sentence; `verify` and `run` print the same one.

use offered_base::time::span;
use offered_events::recording::Evidence;

use crate::criteria::Criteria;
use crate::expected_arrivals::ExpectedArrivals;
use crate::generator_error::{GeneratorError, PercentileError};
use crate::pattern::Classification;
use crate::verdict::{Check, Finding, Lateness, Pattern, Stalls, Validity, WarningKind};
use crate::warnings;

/// A smaller share counts as zero: it would be displayed as 0.0 %.
const NEGLIGIBLE: f64 = 5e-4;

/// Everything the sentence depends on.
pub(crate) struct ReasonInput<'a> {
    pub(crate) criteria: &'a Criteria,
    pub(crate) classification: &'a Classification,
    pub(crate) findings: &'a [Finding],
    pub(crate) validity: Validity,
    pub(crate) generator: Option<&'a Evidence>,
    /// Whether requests were sent at other times than scheduled.
    pub(crate) badly_sent: bool,
    /// The stalls of the generator, if they caused that.
    pub(crate) stalled: Option<Stalls>,
    pub(crate) lateness: Option<&'a Lateness>,
    /// The CoV of the gaps between scheduled times, if those are known.
    pub(crate) scheduled_cov: Option<f64>,
    /// The generator error, if the validity depends on it.
    pub(crate) generator_error: Option<&'a GeneratorError>,
    /// Whether every threshold has the same result with and without the generator error.
    pub(crate) thresholds_unaffected: bool,
    /// The warning that the order of requests is uncertain.
    pub(crate) order_uncertain: Option<&'a WarningKind>,
}

impl ReasonInput<'_> {
    /// Whether the sentence already states this warning.
    pub(crate) fn states(&self, warning: &WarningKind) -> bool {
        let invalid_or_badly_sent = match self.validity {
            Validity::Invalid => true,
            Validity::ValidWithWarnings => self.badly_sent,
            Validity::Valid | Validity::NotChecked => false,
        };
        match warning {
            WarningKind::GeneratorSaturated { .. }
            | WarningKind::GeneratorStalled(_)
            | WarningKind::NotPoisson { .. } => invalid_or_badly_sent,
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
        Validity::ValidWithWarnings if input.badly_sent => what_is_wrong(input),
        Validity::Valid | Validity::ValidWithWarnings => match input.lateness {
            Some(lateness) => {
                let error = input.generator_error;
                let second = error.map_or_else(|| arrivals_match(criteria, classification), worst_error_text);
                format!("{}; {second}", lateness_text(lateness))
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

/// What deviates from the specification.
fn what_is_wrong(input: &ReasonInput) -> String {
    let is_poisson = matches!(input.classification.pattern, Pattern::Poisson | Pattern::PoissonFixedCount);
    // After a stall, only its effect on the percentiles matters.
    let stall_explains = input.stalled.is_some() && input.generator_error.is_some();
    let names_pattern = input.criteria.expected.is_poisson() && !is_poisson && !stall_explains;
    let pattern = names_pattern.then(|| input.classification.reason.clone());
    let failed = input.findings.iter().filter(|finding| finding.failed());
    // Unsent requests and a low rate explain all other deviations.
    let is_missing = |finding: &&Finding| matches!(finding.check, Check::UnsentShare | Check::RateAgainstTarget);
    let (missing, mut other): (Vec<_>, Vec<_>) = failed.partition(is_missing);
    other.retain(|_| !stall_explains);
    let [missing, other] =
        [missing, other].map(|findings| findings.into_iter().filter_map(|finding| describe(input, finding)));
    let saturated = input.generator.and_then(warnings::of_saturation);
    let stalled = input.stalled.map(WarningKind::GeneratorStalled);
    let causes = saturated.into_iter().chain(stalled).map(|warning| warning.message());
    let error = input.generator_error.map(worst_error_text);
    let unaffected = input.thresholds_unaffected.then(|| "no threshold depends on that".to_owned());
    let mut reasons: Vec<String> = Vec::new();
    for reason in causes.chain(missing).chain(pattern).chain(other).chain(error).chain(unaffected) {
        // Two checks may find the same deviation.
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons.join("; ")
}

/// A failed check in plain words; the finding has the numbers. `None` if the cause is stated elsewhere.
fn describe(input: &ReasonInput, finding: &Finding) -> Option<String> {
    let estimate = finding.estimate.unwrap_or(f64::NAN);
    let compare = |measured: f64, expected: f64| {
        let how = if measured > expected { "over-dispersed" } else { "under-dispersed" };
        format!("requests were {how} compared with the specification")
    };
    Some(match finding.check {
        Check::ConstantGaps => "the gaps between requests were not constant, as specified".to_owned(),
        Check::CovAgainstSchedule => {
            compare(finding.statistic.unwrap_or(f64::NAN), input.scheduled_cov.unwrap_or(f64::NAN))
        }
        Check::CovAgainstExpected | Check::ClosedCov => {
            compare(estimate, input.criteria.expected.expected_cov().unwrap_or(f64::NAN))
        }
        Check::ClosedDispersion => {
            "over longer times the number of requests varied differently than with the specified users".to_owned()
        }
        Check::ThinkTime => format!("the mean think time was {} of the specified one", whole_percent(estimate)),
        Check::RateAgainstTarget => format!("the sent rate was {} of the target rate", whole_percent(estimate)),
        Check::LatenessP99 => format!("1 % of the requests were {} late or more", span(estimate * 1e3)),
        Check::UnsentShare => format!("{} of the requests were not sent", percent(estimate)),
        _ => return None,
    })
}

/// `92 %`, `120 %`; close to 100 % with one decimal: `99.4 %`.
fn whole_percent(share: f64) -> String {
    let digits = usize::from((0.95..1.05).contains(&share));
    format!("{:.digits$} %", 100.0 * share)
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

/// The largest share of a percentile that the generator caused.
fn worst_error_text(error: &GeneratorError) -> String {
    error_text(error.worst())
}

/// The share of this percentile that the generator caused.
pub(crate) fn error_text(worst: &PercentileError) -> String {
    match worst.upper_bound() {
        share if share < NEGLIGIBLE => "the generator error of the p99 is 0 %".to_owned(),
        share => format!("the generator error of the p{} is at most {}", worst.percentile, percent(share)),
    }
}

/// Two digits: `0.43 %`, `4.3 %`, `43 %`; at most 100 %.
fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 1.0 => format!("{percent:.2} %"),
        percent if percent < 10.0 => format!("{percent:.1} %"),
        percent => format!("{:.0} %", percent.min(100.0)),
    }
}
