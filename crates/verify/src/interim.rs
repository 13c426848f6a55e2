//! The verdict as it stands while a run is under way, from running sums: what can be said before the events are all there.
//!
//! Of the tests of [`verify`](crate::verify) only those that need no sample are made: the CoV of the gaps (with Greenwood's
//! test of it), sent against meant, the rate, lateness and what was never sent. So what fails here fails at the end unless it
//! mends itself, and what holds here may still fail by a test that needs all events.

use offered_model::time::span;
use offered_stats::Interval;
use offered_stats::cov::{exponential_interval, greenwood};

use crate::Criteria;
use crate::reason::in_figure;
use crate::generator_error::PercentileError;
use crate::finding::{Size, Strictness, limit};
use crate::judge::{EVEN, UNSENT, outside};
use crate::expected_arrivals::ExpectedArrivals;
use crate::pattern::CLOCKWORK;
use crate::poisson::COV_SHARE;
use crate::verdict::{Check, CheckResult, Finding, Pattern, Validity};

/// More than this share of the launches still under way: those that are seen are not those that were made.
const UNDER_WAY: f64 = 0.01;

/// Running sums of the launches that count, those made by now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InterimStats {
    /// Gaps between launches that were sent (of a partly-open system: between first launches of sessions).
    pub gaps: usize,
    /// The CoV of those gaps.
    pub measured_cov: Option<f64>,
    /// The CoV of the gaps between the instants they were meant for.
    pub scheduled_cov: Option<f64>,
    /// Launches per second sent over launches per second asked for, where a rate was.
    pub rate_ratio: Option<f64>,
    /// The 99 % point of lateness in microseconds.
    pub lateness_p99_us: Option<f64>,
    /// The figure of which most is lateness, where that can be told; company is not looked at before the end.
    pub worst_percentile: Option<PercentileError>,
    /// How many launches were sent.
    pub sent: u64,
    /// How many were not.
    pub unsent: u64,
    /// How many are under way, and so not among the others yet.
    pub in_flight: u64,
}

/// The verdict as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct InterimVerdict {
    /// What the launches look like so far.
    pub pattern: Pattern,
    /// Whether that, and all else that can be told, is as meant.
    pub validity: Validity,
    /// The reason in a few words.
    pub reason: String,
}

/// The verdict as it stands after `so_far`.
pub fn interim_verdict(so_far: &InterimStats, ask: &Criteria) -> InterimVerdict {
    let launches = so_far.sent + so_far.unsent;
    let standing = |pattern, judgement, because| InterimVerdict { pattern, validity: judgement, reason: because };
    let worst = so_far.worst_percentile.filter(|worst| ask.generator_error_tolerance > 0.0 && worst.upper_bound() <= ask.generator_error_tolerance);
    let late = late(so_far, ask);
    if let Some(why) = late.clone().filter(|_| worst.is_none()).or_else(|| unsent(so_far)) {
        return standing(pattern(so_far, ask), Validity::Invalid, why);
    }
    if so_far.gaps < Pattern::FEWEST_GAPS {
        let because = format!("{launches} launches are too few to tell a pattern");
        return standing(Pattern::TooFewRequests, Validity::NotChecked, because);
    }
    if so_far.in_flight as f64 > UNDER_WAY * launches as f64 {
        let because = format!("{} launches are under way, {launches} are through: too soon to tell", so_far.in_flight);
        return standing(Pattern::TooFewRequests, Validity::NotChecked, because);
    }
    let pattern = pattern(so_far, ask);
    let wrong = stream(so_far, ask);
    let as_meant = || format!("the launches are what was meant ({})", ask.expected.name());
    let doubtful = so_far.worst_percentile.filter(|worst| worst.exceeds_tolerance_noticeably(ask.generator_error_tolerance));
    match (late.or_else(|| wrong.as_ref().map(|wrong| wrong.why.clone())), worst) {
        (None, _) => match doubtful {
            Some(worst) => standing(pattern, Validity::ValidWithWarnings, in_figure(&worst)),
            None => standing(pattern, Validity::Valid, as_meant()),
        },
        (Some(why), Some(worst)) if wrong.as_ref().is_none_or(|wrong| wrong.of_sending) => {
            standing(pattern, Validity::ValidWithWarnings, format!("{why}; {}", in_figure(&worst)))
        }
        (Some(why), _) => standing(pattern, Validity::Invalid, wrong.map_or(why, |wrong| wrong.why)),
    }
}

fn late(so_far: &InterimStats, ask: &Criteria) -> Option<String> {
    let late = so_far.lateness_p99_us?;
    fails(&limit(Check::LatenessP99, late, ask.late_after.as_micros_f64()))
        .then(|| format!("one launch in a hundred was more than {} late", span(late * 1e3)))
}

fn unsent(so_far: &InterimStats) -> Option<String> {
    let unsent = so_far.unsent as f64 / (so_far.sent + so_far.unsent) as f64;
    (unsent > UNSENT).then(|| format!("{:.1} % of the launches were not sent", 100.0 * unsent))
}

/// What is wrong with the stream of launches.
struct Wrong {
    why: String,
    /// The instants they were meant for are as they should be; it is the sending.
    of_sending: bool,
}

/// What is wrong with the stream of launches, where anything is.
fn stream(so_far: &InterimStats, ask: &Criteria) -> Option<Wrong> {
    let cov = so_far.measured_cov?;
    let meant_passes = |passes: &dyn Fn(f64) -> bool| so_far.scheduled_cov.is_some_and(passes);
    let poisson = |cov| !fails(&greenwoods(so_far, cov, ask));
    if ask.expected.is_poisson() && !poisson(cov) {
        let why = format!("the CoV of the gaps is {cov:.2}, that of a Poisson process is 1");
        return Some(Wrong { why, of_sending: meant_passes(&poisson) });
    }
    let even = |cov| !fails(&limit(Check::ConstantGaps, cov, EVEN));
    if *ask.expected.arrivals() == ExpectedArrivals::Constant && !even(cov) {
        let why = format!("the CoV of the gaps is {cov:.2}, even ones were meant");
        return Some(Wrong { why, of_sending: meant_passes(&even) });
    }
    if let Some(ratio) = so_far.rate_ratio {
        // The rate of n gaps is known to 1.96 CoV / sqrt(n).
        let half = 1.96 * cov / (so_far.gaps as f64).sqrt();
        let interval = Interval { low: ratio - half, high: ratio + half };
        if fails(&outside(Check::RateAgainstTarget, ratio, Some(interval), 1.0, ask.cov_tolerance)) {
            let why = format!("the rate is {:.0} % of the one asked for", 100.0 * ratio);
            return Some(Wrong { why, of_sending: false });
        }
    }
    let far = |meant: &f64| (cov - meant).abs() > ask.cov_tolerance * meant.max(1.0);
    so_far.scheduled_cov.filter(far).map(|meant| Wrong {
        why: format!("the CoV of the gaps is {cov:.2}, that of the instants meant {meant:.2}"),
        of_sending: true,
    })
}

/// What the launches look like, as far as the CoV tells.
fn pattern(so_far: &InterimStats, ask: &Criteria) -> Pattern {
    let Some(cov) = so_far.measured_cov.filter(|_| so_far.gaps >= Pattern::FEWEST_GAPS) else { return Pattern::TooFewRequests };
    match fails(&greenwoods(so_far, cov, ask)) {
        _ if cov <= CLOCKWORK => Pattern::Constant,
        true if cov < 1.0 => Pattern::UnderDispersed,
        true => Pattern::OverDispersed,
        false if *ask.expected.arrivals() == ExpectedArrivals::FixedCount => Pattern::PoissonFixedCount,
        false => Pattern::Poisson,
    }
}

/// The finding of the CoV with the share of false alarms that it has at the end.
fn greenwoods(so_far: &InterimStats, cov: f64, ask: &Criteria) -> Finding {
    let effect = Size::of(cov, 1.0, ask.cov_tolerance).within(exponential_interval(cov, so_far.gaps));
    Strictness::new(true, ask.cov_tolerance).finding(
        Check::Cov,
        Some(greenwood(cov, so_far.gaps)),
        COV_SHARE,
        effect,
    )
}

fn fails(finding: &Finding) -> bool {
    finding.result == CheckResult::Failed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten thousand launches as they were meant.
    const WELL: InterimStats = InterimStats {
        gaps: 9_999,
        measured_cov: Some(1.003),
        scheduled_cov: Some(1.002),
        rate_ratio: Some(1.01),
        lateness_p99_us: Some(80.0),
        worst_percentile: None,
        sent: 10_000,
        unsent: 0,
        in_flight: 3,
    };

    fn is(so_far: InterimStats, meant: ExpectedArrivals, pattern: Pattern, judgement: Validity, because: &str) {
        let standing = interim_verdict(&so_far, &Criteria { expected: meant, ..Criteria::default() });
        assert_eq!((standing.pattern, standing.validity), (pattern, judgement), "{}", standing.reason);
        assert!(standing.reason.contains(because), "{}", standing.reason);
    }

    #[test]
    fn what_was_meant_holds() {
        let even = InterimStats { measured_cov: Some(0.02), scheduled_cov: Some(0.0), ..WELL };
        is(WELL, ExpectedArrivals::Poisson, Pattern::Poisson, Validity::Valid, "what was meant (poisson)");
        is(WELL, ExpectedArrivals::FixedCount, Pattern::PoissonFixedCount, Validity::Valid, "what was meant");
        is(even, ExpectedArrivals::Constant, Pattern::Constant, Validity::Valid, "what was meant (constant)");
        let bursty = InterimStats { measured_cov: Some(2.01), scheduled_cov: Some(2.0), ..WELL };
        is(bursty, ExpectedArrivals::Renewal { cov: 2.0 }, Pattern::OverDispersed, Validity::Valid, "CoV 2");
    }

    #[test]
    fn too_few_or_too_many_under_way_are_not_judged() {
        let few = InterimStats { gaps: 49, sent: 50, ..WELL };
        is(few, ExpectedArrivals::Poisson, Pattern::TooFewRequests, Validity::NotChecked, "50 launches are too few");
        is(InterimStats::default(), ExpectedArrivals::Poisson, Pattern::TooFewRequests, Validity::NotChecked, "0 launches are too few");
        let hanging = InterimStats { in_flight: 101, measured_cov: Some(3.0), ..WELL };
        is(hanging, ExpectedArrivals::Poisson, Pattern::TooFewRequests, Validity::NotChecked, "too soon to tell");
    }

    #[test]
    fn what_was_not_meant_fails_with_its_reason() {
        let late = InterimStats { lateness_p99_us: Some(25_000.0), ..WELL };
        is(late, ExpectedArrivals::Poisson, Pattern::Poisson, Validity::Invalid, "more than 25 ms late");
        let early = InterimStats { gaps: 9, sent: 10, ..late };
        is(early, ExpectedArrivals::Poisson, Pattern::TooFewRequests, Validity::Invalid, "more than 25 ms late");
        let unsent = InterimStats { unsent: 500, ..WELL };
        is(unsent, ExpectedArrivals::Poisson, Pattern::Poisson, Validity::Invalid, "4.8 % of the launches were not sent");
        let even = InterimStats { measured_cov: Some(0.8), scheduled_cov: Some(0.8), ..WELL };
        is(even, ExpectedArrivals::Poisson, Pattern::UnderDispersed, Validity::Invalid, "the CoV of the gaps is 0.80");
        let jitter = InterimStats { measured_cov: Some(0.2), scheduled_cov: Some(0.0), ..WELL };
        is(jitter, ExpectedArrivals::Constant, Pattern::Constant, Validity::Invalid, "even ones were meant");
        let stalls = InterimStats { measured_cov: Some(2.5), scheduled_cov: Some(1.0), ..WELL };
        is(
            stalls,
            ExpectedArrivals::Other { what: "a trace".into(), system: None },
            Pattern::OverDispersed,
            Validity::Invalid,
            "instants meant 1.00",
        );
        let slow = InterimStats { rate_ratio: Some(0.9), ..WELL };
        is(slow, ExpectedArrivals::Poisson, Pattern::Poisson, Validity::Invalid, "90 % of the one asked for");
    }

    #[test]
    fn what_hardly_touches_the_figures_is_a_doubt() {
        let worst = |waiting| PercentileError {
            percentile: 99.0,
            response_ms: 1000.0,
            service_ms: 1000.0 * (1.0 - waiting),
            lateness_share: waiting,
            bunching_share: None,
        };
        let late = |waiting| InterimStats { lateness_p99_us: Some(25_000.0), worst_percentile: Some(worst(waiting)), ..WELL };
        let doubt = Validity::ValidWithWarnings;
        is(
            late(0.025),
            ExpectedArrivals::Poisson,
            Pattern::Poisson,
            doubt,
            "25 ms late; at most 2.5 % of the p99 is the generator's",
        );
        is(late(0.06), ExpectedArrivals::Poisson, Pattern::Poisson, Validity::Invalid, "more than 25 ms late");
        // What was meant so, or has another rate, is no matter of sending.
        let uneven = InterimStats { measured_cov: Some(1.5), ..late(0.025) };
        is(uneven, ExpectedArrivals::Poisson, Pattern::OverDispersed, doubt, "25 ms late");
        let meant = InterimStats { scheduled_cov: Some(1.5), ..uneven };
        is(meant, ExpectedArrivals::Poisson, Pattern::OverDispersed, Validity::Invalid, "the CoV of the gaps is 1.50");
        let slow = InterimStats { rate_ratio: Some(0.9), ..late(0.025) };
        is(slow, ExpectedArrivals::Poisson, Pattern::Poisson, Validity::Invalid, "90 % of the one asked for");
        let on_time = InterimStats { worst_percentile: Some(worst(0.06)), ..WELL };
        is(on_time, ExpectedArrivals::Poisson, Pattern::Poisson, doubt, "at most 6.0 % of the p99 is the generator's");
        let strict = Criteria { generator_error_tolerance: 0.0, ..Criteria::default() };
        assert_eq!(interim_verdict(&late(0.025), &strict).validity, Validity::Invalid);
    }

    #[test]
    fn chance_is_not_held_against_a_short_stream() {
        let short = InterimStats { gaps: 99, sent: 100, in_flight: 1, measured_cov: Some(1.2), rate_ratio: Some(0.9), ..WELL };
        let same = InterimStats { scheduled_cov: short.measured_cov, ..short };
        is(same, ExpectedArrivals::Poisson, Pattern::Poisson, Validity::Valid, "what was meant");
    }
}
