//! The interim verdict, from running sums while a run is in progress.
//!
//! It includes only those checks of [`verify`](crate::verify) that need no sample: the CoV of the gaps (with
//! Greenwood's test), the CoV against the schedule, the rate, lateness, and unsent requests. Later requests can still
//! correct a failure. A run that passes here may still fail a check that needs all events.

use offered_base::time::span;
use offered_stats::Interval;
use offered_stats::cov::{exponential_interval, greenwood};

use crate::Criteria;
use crate::expected_arrivals::ExpectedArrivals;
use crate::finding::{EffectSize, Strictness, check_limit};
use crate::generator_error::PercentileError;
use crate::judge::{CONSTANT_GAPS_COV, check_interval};
use crate::not_sent::MAX_UNSENT_SHARE;
use crate::pattern::CONSTANT_COV;
use crate::poisson::COV_SHARE;
use crate::reason::error_text;
use crate::verdict::{Check, CheckResult, Finding, Pattern, Validity};

/// With a larger share of requests in flight, the completed requests are not representative.
const MAX_IN_FLIGHT_SHARE: f64 = 0.01;

/// Running sums of the requests in the analysed time so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InterimStats {
    /// Number of gaps between sent requests (in a partly-open system: between the first requests of sessions).
    pub gaps: usize,
    /// The CoV of the gaps.
    pub measured_cov: Option<f64>,
    /// The CoV of the gaps between the scheduled times of these requests.
    pub scheduled_cov: Option<f64>,
    /// Sent rate over target rate; `None` without a target rate.
    pub rate_ratio: Option<f64>,
    /// Scheduled rate over target rate; `None` without a target rate.
    pub scheduled_rate_ratio: Option<f64>,
    /// Whether the schedule is that of the workload by construction. Then a difference between schedule and theory is
    /// not a defect.
    pub is_own_schedule: bool,
    /// The 99th percentile of lateness, in microseconds.
    pub lateness_p99_us: Option<f64>,
    /// The percentile with the largest lateness share, if known. Bunching is not measured before the end.
    pub worst_percentile: Option<PercentileError>,
    /// Number of sent requests.
    pub sent: u64,
    /// Number of requests not sent.
    pub unsent: u64,
    /// Number of requests in flight, which the other sums do not include yet.
    pub in_flight: u64,
}

/// The verdict so far.
#[derive(Clone, Debug, PartialEq)]
pub struct InterimVerdict {
    /// The arrival pattern so far.
    pub pattern: Pattern,
    /// The validity so far.
    pub validity: Validity,
    /// The reason, in a few words.
    pub reason: String,
}

/// The verdict so far, from these sums.
pub fn interim_verdict(stats: &InterimStats, criteria: &Criteria) -> InterimVerdict {
    let criteria = &*criteria.in_real_time();
    let requests = stats.sent + stats.unsent;
    let verdict = |pattern, validity, reason| InterimVerdict { pattern, validity, reason };
    let worst = stats.worst_percentile.filter(|worst| {
        criteria.generator_error_tolerance > 0.0 && worst.upper_bound() <= criteria.generator_error_tolerance
    });
    let lateness = late_reason(stats, criteria);
    if let Some(reason) = lateness.clone().filter(|_| worst.is_none()).or_else(|| unsent_reason(stats)) {
        return verdict(pattern(stats, criteria), Validity::Invalid, reason);
    }
    if stats.gaps < Pattern::FEWEST_GAPS {
        let reason = format!("{requests} requests are too few to check the pattern of arrivals");
        return verdict(Pattern::TooFewRequests, Validity::NotChecked, reason);
    }
    if stats.in_flight as f64 > MAX_IN_FLIGHT_SHARE * requests as f64 {
        let reason = format!("{} requests are in flight and {requests} are done: too early to judge", stats.in_flight);
        return verdict(Pattern::TooFewRequests, Validity::NotChecked, reason);
    }
    let pattern = pattern(stats, criteria);
    let defect = arrivals_defect(stats, criteria);
    let as_specified = || format!("requests were sent as specified ({})", criteria.expected.name());
    let noticeable = stats.worst_percentile.filter(|worst| worst.needs_warning(criteria.generator_error_tolerance));
    match (lateness.or_else(|| defect.as_ref().map(|defect| defect.reason.clone())), worst) {
        (None, _) => match noticeable {
            Some(worst) => {
                verdict(pattern, Validity::ValidWithWarnings, error_text(&worst, criteria.generator_error_tolerance))
            }
            None => verdict(pattern, Validity::Valid, as_specified()),
        },
        (Some(reason), Some(worst)) if defect.as_ref().is_none_or(|defect| defect.caused_by_sending) => verdict(
            pattern,
            Validity::ValidWithWarnings,
            format!("{reason}; {}", error_text(&worst, criteria.generator_error_tolerance)),
        ),
        (Some(reason), _) => verdict(pattern, Validity::Invalid, defect.map_or(reason, |defect| defect.reason)),
    }
}

fn late_reason(stats: &InterimStats, criteria: &Criteria) -> Option<String> {
    let lateness = stats.lateness_p99_us?;
    failed(&check_limit(Check::LatenessP99, lateness, criteria.late_after.as_micros_f64()))
        .then(|| format!("1 % of the requests were more than {} late", span(lateness * 1e3)))
}

fn unsent_reason(stats: &InterimStats) -> Option<String> {
    let unsent = stats.unsent as f64 / (stats.sent + stats.unsent) as f64;
    (unsent > MAX_UNSENT_SHARE).then(|| format!("{:.1} % of the requests were not sent", 100.0 * unsent))
}

/// A deviation of the arrivals from the specification.
struct Defect {
    reason: String,
    /// Whether the scheduled times are as specified; then only the sending deviates.
    caused_by_sending: bool,
}

/// How the arrivals deviate from the specification; `None` if they do not.
fn arrivals_defect(stats: &InterimStats, criteria: &Criteria) -> Option<Defect> {
    let cov = stats.measured_cov?;
    let schedule_passes = |passes: &dyn Fn(f64) -> bool| stats.scheduled_cov.is_some_and(passes);
    let is_unusual = |passes: &dyn Fn(f64) -> bool| {
        stats.is_own_schedule && stats.scheduled_cov.is_some_and(|scheduled| !passes(scheduled))
    };
    let poisson = |cov| !failed(&greenwood_finding(stats, cov, criteria));
    if criteria.expected.is_poisson() && !poisson(cov) && !is_unusual(&poisson) {
        let reason = format!("the CoV of the gaps is {cov:.2}, that of a Poisson process is 1");
        return Some(Defect { reason, caused_by_sending: schedule_passes(&poisson) });
    }
    let even = |cov| !failed(&check_limit(Check::ConstantGaps, cov, CONSTANT_GAPS_COV));
    if *criteria.expected.arrivals() == ExpectedArrivals::Constant && !even(cov) && !is_unusual(&even) {
        let reason = format!("the CoV of the gaps is {cov:.2}, but constant gaps were specified");
        return Some(Defect { reason, caused_by_sending: schedule_passes(&even) });
    }
    if let Some(ratio) = stats.rate_ratio {
        // With n gaps the rate is known to 1.96 CoV / sqrt(n).
        let half_width = 1.96 * cov / (stats.gaps as f64).sqrt();
        let differs = |ratio: f64| {
            let interval = Interval { low: ratio - half_width, high: ratio + half_width };
            failed(&check_interval(Check::RateAgainstTarget, ratio, Some(interval), 1.0, criteria.cov_tolerance))
        };
        let is_unusual = stats.is_own_schedule && stats.scheduled_rate_ratio.is_some_and(differs);
        if differs(ratio) && !is_unusual {
            let reason = format!("the sent rate is {:.0} % of the target rate", 100.0 * ratio);
            return Some(Defect { reason, caused_by_sending: false });
        }
    }
    let deviates = |meant: &f64| (cov - meant).abs() > criteria.cov_tolerance * meant.max(1.0);
    stats.scheduled_cov.filter(deviates).map(|meant| Defect {
        reason: format!("the CoV of the gaps is {cov:.2}, that of the schedule {meant:.2}"),
        caused_by_sending: true,
    })
}

/// The arrival pattern, judged by the CoV alone.
fn pattern(stats: &InterimStats, criteria: &Criteria) -> Pattern {
    let Some(cov) = stats.measured_cov.filter(|_| stats.gaps >= Pattern::FEWEST_GAPS) else {
        return Pattern::TooFewRequests;
    };
    match failed(&greenwood_finding(stats, cov, criteria)) {
        _ if cov <= CONSTANT_COV => Pattern::Constant,
        true if cov < 1.0 => Pattern::UnderDispersed,
        true => Pattern::OverDispersed,
        false if *criteria.expected.arrivals() == ExpectedArrivals::FixedCount => Pattern::PoissonFixedCount,
        false => Pattern::Poisson,
    }
}

/// The finding of the CoV, with the same share of false alarms as in the final verdict.
fn greenwood_finding(stats: &InterimStats, cov: f64, criteria: &Criteria) -> Finding {
    let effect = EffectSize::of(cov, 1.0, criteria.cov_tolerance).with_interval(exponential_interval(cov, stats.gaps));
    Strictness::new(true, criteria.cov_tolerance).finding(
        Check::Cov,
        Some(greenwood(cov, stats.gaps)),
        COV_SHARE,
        effect,
    )
}

fn failed(finding: &Finding) -> bool {
    finding.result == CheckResult::Failed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten thousand requests sent on schedule.
    const WELL: InterimStats = InterimStats {
        gaps: 9_999,
        measured_cov: Some(1.003),
        scheduled_cov: Some(1.002),
        rate_ratio: Some(1.01),
        scheduled_rate_ratio: Some(1.01),
        is_own_schedule: false,
        lateness_p99_us: Some(80.0),
        worst_percentile: None,
        sent: 10_000,
        unsent: 0,
        in_flight: 3,
    };

    fn is(stats: InterimStats, meant: ExpectedArrivals, pattern: Pattern, judgement: Validity, reason: &str) {
        let verdict = interim_verdict(&stats, &Criteria { expected: meant, ..Criteria::default() });
        assert_eq!((verdict.pattern, verdict.validity), (pattern, judgement), "{}", verdict.reason);
        assert!(verdict.reason.contains(reason), "{}", verdict.reason);
    }

    #[test]
    fn what_was_specified_holds() {
        let even = InterimStats { measured_cov: Some(0.02), scheduled_cov: Some(0.0), ..WELL };
        is(WELL, ExpectedArrivals::Poisson, Pattern::Poisson, Validity::Valid, "as specified (poisson)");
        is(WELL, ExpectedArrivals::FixedCount, Pattern::PoissonFixedCount, Validity::Valid, "as specified");
        is(even, ExpectedArrivals::Constant, Pattern::Constant, Validity::Valid, "as specified (constant)");
        let bursty = InterimStats { measured_cov: Some(2.01), scheduled_cov: Some(2.0), ..WELL };
        is(bursty, ExpectedArrivals::Renewal { cov: 2.0 }, Pattern::OverDispersed, Validity::Valid, "CoV 2");
    }

    #[test]
    fn too_few_or_too_many_in_flight_are_not_checked() {
        let few = InterimStats { gaps: 49, sent: 50, ..WELL };
        is(few, ExpectedArrivals::Poisson, Pattern::TooFewRequests, Validity::NotChecked, "50 requests are too few");
        is(
            InterimStats::default(),
            ExpectedArrivals::Poisson,
            Pattern::TooFewRequests,
            Validity::NotChecked,
            "0 requests are too few",
        );
        let hanging = InterimStats { in_flight: 101, measured_cov: Some(3.0), ..WELL };
        is(hanging, ExpectedArrivals::Poisson, Pattern::TooFewRequests, Validity::NotChecked, "too early to judge");
    }

    #[test]
    fn deviations_are_invalid_with_a_reason() {
        let lateness = InterimStats { lateness_p99_us: Some(25_000.0), ..WELL };
        is(lateness, ExpectedArrivals::Poisson, Pattern::Poisson, Validity::Invalid, "more than 25 ms late");
        let early = InterimStats { gaps: 9, sent: 10, ..lateness };
        is(early, ExpectedArrivals::Poisson, Pattern::TooFewRequests, Validity::Invalid, "more than 25 ms late");
        let unsent = InterimStats { unsent: 500, ..WELL };
        is(
            unsent,
            ExpectedArrivals::Poisson,
            Pattern::Poisson,
            Validity::Invalid,
            "4.8 % of the requests were not sent",
        );
        let even = InterimStats { measured_cov: Some(0.8), scheduled_cov: Some(0.8), ..WELL };
        is(even, ExpectedArrivals::Poisson, Pattern::UnderDispersed, Validity::Invalid, "the CoV of the gaps is 0.80");
        let jitter = InterimStats { measured_cov: Some(0.2), scheduled_cov: Some(0.0), ..WELL };
        is(jitter, ExpectedArrivals::Constant, Pattern::Constant, Validity::Invalid, "constant gaps were specified");
        let stalls = InterimStats { measured_cov: Some(2.5), scheduled_cov: Some(1.0), ..WELL };
        is(
            stalls,
            ExpectedArrivals::Other { what: "a trace".into(), system: None },
            Pattern::OverDispersed,
            Validity::Invalid,
            "that of the schedule 1.00",
        );
        let slow = InterimStats { rate_ratio: Some(0.9), ..WELL };
        is(slow, ExpectedArrivals::Poisson, Pattern::Poisson, Validity::Invalid, "90 % of the target rate");
    }

    #[test]
    fn an_unusual_schedule_is_no_defect_of_its_run() {
        let unusual = InterimStats { measured_cov: Some(1.2), scheduled_cov: Some(1.2), is_own_schedule: true, ..WELL };
        is(unusual, ExpectedArrivals::Poisson, Pattern::OverDispersed, Validity::Valid, "as specified");
        let slow = InterimStats { rate_ratio: Some(0.9), scheduled_rate_ratio: Some(0.9), ..unusual };
        is(slow, ExpectedArrivals::Poisson, Pattern::OverDispersed, Validity::Valid, "as specified");
        // The schedule explains neither a lower rate than its own nor another CoV.
        let unsent = InterimStats { scheduled_rate_ratio: Some(1.0), ..slow };
        is(unsent, ExpectedArrivals::Poisson, Pattern::OverDispersed, Validity::Invalid, "90 % of the target rate");
        let stalls = InterimStats { measured_cov: Some(1.4), scheduled_cov: Some(1.0), ..unusual };
        is(stalls, ExpectedArrivals::Poisson, Pattern::OverDispersed, Validity::Invalid, "the CoV of the gaps is 1.40");
    }

    #[test]
    fn a_small_generator_error_is_a_warning() {
        let worst = |waiting| PercentileError {
            percentile: 99.0,
            response_ms: 1000.0,
            service_ms: 1000.0 * (1.0 - waiting),
            with_unsent_ms: None,
            lateness_share: waiting,
            bunching_share: None,
            reading_share: None,
            writing_share: None,
        };
        let lateness =
            |waiting| InterimStats { lateness_p99_us: Some(25_000.0), worst_percentile: Some(worst(waiting)), ..WELL };
        let warning = Validity::ValidWithWarnings;
        is(
            lateness(0.025),
            ExpectedArrivals::Poisson,
            Pattern::Poisson,
            warning,
            "25 ms late; the generator error of the p99 is at most 2.5 %",
        );
        is(lateness(0.06), ExpectedArrivals::Poisson, Pattern::Poisson, Validity::Invalid, "more than 25 ms late");
        // A CoV that was scheduled, or another rate, is not caused by sending.
        let uneven = InterimStats { measured_cov: Some(1.5), ..lateness(0.025) };
        is(uneven, ExpectedArrivals::Poisson, Pattern::OverDispersed, warning, "25 ms late");
        let meant = InterimStats { scheduled_cov: Some(1.5), ..uneven };
        is(meant, ExpectedArrivals::Poisson, Pattern::OverDispersed, Validity::Invalid, "the CoV of the gaps is 1.50");
        let slow = InterimStats { rate_ratio: Some(0.9), ..lateness(0.025) };
        is(slow, ExpectedArrivals::Poisson, Pattern::Poisson, Validity::Invalid, "90 % of the target rate");
        let on_time = InterimStats { worst_percentile: Some(worst(0.06)), ..WELL };
        is(
            on_time,
            ExpectedArrivals::Poisson,
            Pattern::Poisson,
            warning,
            "the generator error of the p99 is at most 6.0 %",
        );
        let strict = Criteria { generator_error_tolerance: 0.0, ..Criteria::default() };
        assert_eq!(interim_verdict(&lateness(0.025), &strict).validity, Validity::Invalid);
    }

    #[test]
    fn a_short_stream_may_deviate_by_chance() {
        let short =
            InterimStats { gaps: 99, sent: 100, in_flight: 1, measured_cov: Some(1.2), rate_ratio: Some(0.9), ..WELL };
        let same = InterimStats { scheduled_cov: short.measured_cov, ..short };
        is(same, ExpectedArrivals::Poisson, Pattern::Poisson, Validity::Valid, "as specified");
    }
}
