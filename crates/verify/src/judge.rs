//! Decides whether a run is valid: whether the arrivals are as specified, and whether the generator followed its schedule.

use offered_distributions::Distribution;
use offered_distributions::superposition::{self, Cycle};
use offered_events::recording::Evidence;
use offered_stats::Interval;
use offered_stats::cov::bootstrap_interval;

use crate::counts::{Counts, ResponseSums};
use crate::criteria::Criteria;
use crate::expected_arrivals::{ExpectedArrivals, MIN_MIXING_SCV};
use crate::finding::{EffectSize, Strictness, check_limit};
use crate::generator_error::GeneratorError;
use crate::not_sent::MAX_UNSENT_SHARE;
use crate::scope::Scope;
use crate::stream::Stream;
use crate::threshold_sensitivity::ThresholdSensitivity;
use crate::verdict::warning_kind::SATURATED;
use crate::verdict::{Check, CheckResult, Finding, Lateness, Queue, ReadingLateness, Validity};

/// The largest CoV of gaps, jitter included, that counts as constant.
pub(crate) const CONSTANT_GAPS_COV: f64 = 0.1;
/// If nothing was scheduled in a larger last share of the run, the run may have been stopped.
const MAX_EMPTY_SHARE: f64 = 0.02;
/// Theory describes the dispersion of counts only in windows of at least this number of user cycles.
const MIN_CYCLES: f64 = 3.0;
/// If users wait for responses for a larger share of their time, formulas without queueing do not apply.
const MAX_RORT: f64 = 0.05;
/// With fewer gaps the bootstrap interval is too narrow to invalidate a run of `offered`, whose schedule is known to be
/// right.
const MIN_BOOTSTRAP_GAPS: usize = 500;
/// The size of the bootstrap sample and the number of resamples.
const BOOTSTRAP: (usize, usize) = (5000, 400);

/// The observations that are compared with the specification.
#[derive(Clone, Copy)]
pub(crate) struct Observed<'a> {
    pub(crate) counts: &'a Counts<'a>,
    pub(crate) stream: &'a Stream,
    pub(crate) queue: &'a Queue,
    pub(crate) lateness: Option<&'a Lateness>,
    pub(crate) reading: Option<&'a ReadingLateness>,
    pub(crate) scheduled_cov: Option<f64>,
    /// The rate of the schedule, for a rate that changes at random.
    pub(crate) realised_rate_per_s: Option<f64>,
    /// Whether all requests count as sent at their scheduled times; `stream` is then that of the schedule.
    pub(crate) as_scheduled: bool,
}

/// The findings of the comparison with the specification, except for the tests of a Poisson process.
pub(crate) fn check_against_expected(scope: Scope, criteria: &Criteria, seen: &Observed) -> Vec<Finding> {
    let (stream, mut found) = (seen.stream, Vec::new());
    if stream.is_long_enough() {
        found.extend(check_arrivals(scope, criteria, seen));
        found.extend(seen.scheduled_cov.zip(stream.corrected_cov).map(|(meant, sent)| {
            let finding =
                check_limit(Check::CovAgainstSchedule, (sent - meant).abs() / meant.max(1.0), criteria.cov_tolerance);
            Finding { statistic: Some(sent), ..finding }
        }));
        found.extend(check_rate(scope, criteria, seen));
    }
    if let Some(late) = seen.lateness {
        found.push(check_limit(Check::LatenessP99, late.p99_us, criteria.late_after.as_micros_f64()));
        found.push(check_limit(
            Check::UnsentShare,
            late.unsent as f64 / (late.unsent + late.n) as f64,
            MAX_UNSENT_SHARE,
        ));
    }
    if let Some(reading) = seen.reading {
        let limit = criteria.late_after.as_micros_f64();
        found.push(check_limit(Check::ReadingLatenessP99, reading.p99_us, limit));
    }
    if let Some((_, busy)) = scope.recording.generator.as_ref().and_then(Evidence::busiest) {
        found.push(check_limit(Check::BusiestThread, busy, SATURATED));
    }
    found
}

/// The checks for each kind of arrivals.
fn check_arrivals(scope: Scope, criteria: &Criteria, seen: &Observed) -> Vec<Finding> {
    let cov = seen.stream.corrected_cov.unwrap_or(0.0);
    // Repeating the same gaps `alike` times gives no more information than one repetition.
    let near = |check, meant: f64, alike: f64| {
        let interval = bootstrap(criteria, seen.stream);
        let half = interval.map_or(0.0, |interval| (interval.high - interval.low) / 2.0) * alike.sqrt();
        let interval = Interval { low: cov - half, high: cov + half };
        let mut found = check_interval(
            check,
            cov,
            Some(interval),
            meant,
            criteria.cov_tolerance * meant.max(1.0) + chance_allowance(scope, half),
        );
        if scope.recording.intent_known && seen.stream.gaps() < MIN_BOOTSTRAP_GAPS {
            found.result = CheckResult::NotChecked;
        }
        found
    };
    match criteria.expected.arrivals() {
        ExpectedArrivals::Constant => vec![check_limit(Check::ConstantGaps, cov, CONSTANT_GAPS_COV)],
        ExpectedArrivals::Renewal { cov: meant } => vec![near(Check::CovAgainstExpected, *meant, 1.0)],
        ExpectedArrivals::Closed { users, think } => {
            let cycle = cycle(&seen.counts.responses, think);
            let (expected, is_known) = closed_cov(&seen.counts.responses, think, *users, criteria.cov_tolerance);
            let mut of_cov = near(Check::ClosedCov, expected, identical_rounds(&cycle, *users, seen.stream));
            if !is_known {
                of_cov.result = CheckResult::NotChecked;
            }
            let mut found = vec![of_cov, check_dispersion(scope, criteria, seen, &cycle)];
            // Theory assumes no queueing. With queueing the system, not the generator, determines arrivals.
            if seen.queue.rort.is_none_or(|rort| rort > MAX_RORT) {
                for finding in &mut found {
                    finding.result = CheckResult::NotChecked;
                }
            }
            found.extend(check_think_time(scope, criteria, seen, think));
            found
        }
        ExpectedArrivals::ChangingUsers { levels, think } => {
            let of_level = |(users, share): &(u64, f64)| {
                let (cov, is_known) = closed_cov(&seen.counts.responses, think, *users, criteria.cov_tolerance);
                (share * (cov * cov + 1.0), is_known)
            };
            let squares: Vec<(f64, bool)> = levels.iter().map(of_level).collect();
            // Gaps have a mean of 1 in operational time, whatever the number of users.
            let expected = (squares.iter().map(|(square, _)| square).sum::<f64>() - 1.0).max(0.0).sqrt();
            let mut of_cov = near(Check::ClosedCov, expected, 1.0);
            let waits = seen.queue.rort.is_none_or(|rort| rort > MAX_RORT);
            // With constant think times the same rounds repeat, as long as their users stay.
            let repeats = think.scv() < MIN_MIXING_SCV;
            if waits || repeats || squares.iter().any(|(_, is_known)| !is_known) {
                of_cov.result = CheckResult::NotChecked;
            }
            std::iter::once(of_cov).chain(check_think_time(scope, criteria, seen, think)).collect()
        }
        ExpectedArrivals::Poisson
        | ExpectedArrivals::FixedCount
        | ExpectedArrivals::PartlyOpen(_)
        | ExpectedArrivals::ChangingRate { .. }
        | ExpectedArrivals::Other { .. } => Vec::new(),
    }
}

/// Compares the dispersion of counts in the longest windows with that of users who return after a think time and a
/// response.
fn check_dispersion(scope: Scope, criteria: &Criteria, seen: &Observed, cycle: &Cycle) -> Finding {
    let rung = seen.stream.ladder.last().filter(|rung| rung.window as f64 / 1e9 >= MIN_CYCLES * cycle.mean);
    let expected = rung.map(|rung| cycle.dispersion(rung.window as f64 / 1e9));
    let known = rung.zip(expected.filter(|expected| expected.is_finite() && *expected > 0.0));
    let effect = known.map_or_else(EffectSize::default, |(rung, expected)| {
        EffectSize::of(rung.idc, expected, 2.0 * criteria.cov_tolerance * expected.max(1.0))
            .with_interval(rung.interval)
    });
    let strictness = Strictness::new(scope.recording.intent_known, criteria.cov_tolerance);
    let test = known.map(|(rung, expected)| rung.test_of(expected));
    strictness.finding(Check::ClosedDispersion, test, 1.0, effect)
}

/// A response time with a smaller CoV counts as constant.
const CONSTANT_RESPONSE_COV: f64 = 0.1;

/// The CoV of the gaps between the requests of closed users, whose cycle is a think time plus a response time, and whether it is known.
///
/// Even a response time that is short relative to the mean think time matters if some think times are shorter. For a
/// constant response time R the formula of [`superposition::cov`] can be extended in closed form: with z = E\[Z\], m =
/// z + R and G the tail of the residual think time, the tail of the residual cycle is (m - t) / m up to R, and then z/m
/// G(t - R). For a response time that varies, the CoV is known only if R hardly changes it.
fn closed_cov(responses: &ResponseSums, think: &Distribution, users: u64, tolerance: f64) -> (f64, bool) {
    let Ok(thinking) = superposition::cov(think, users) else { return (1.0, false) };
    let ResponseSums { n, sum_s: sum, sum_of_squares: squares, .. } = *responses;
    let (count, users) = (f64::max(n as f64, 1.0), users as f64);
    let (response, z) = (sum / count, think.mean());
    let m = z + response;
    let q = z / m;
    let until_response = m / (users + 1.0) * (1.0 - q.powf(users + 1.0));
    let after = q.powf(users) * (thinking * thinking + 1.0) * z / (2.0 * users);
    let cov = (2.0 * users / m * (until_response + after) - 1.0).max(0.0).sqrt();
    let variance = (squares / count - response * response).max(0.0);
    let is_constant = variance.sqrt() <= CONSTANT_RESPONSE_COV * response;
    (cov, is_constant || (cov - thinking).abs() <= tolerance / 4.0 * thinking.max(1.0))
}

/// The cycle of a user: a think time plus a measured response time.
fn cycle(responses: &ResponseSums, think: &Distribution) -> Cycle {
    let ResponseSums { n, sum_s: sum, sum_of_squares: squares, .. } = *responses;
    let n = n as f64;
    let mean = sum / f64::max(n, 1.0);
    let variance = (squares / f64::max(n, 1.0) - mean * mean).max(0.0);
    let thinking = Cycle::of(think);
    Cycle { mean: thinking.mean + mean, variance: thinking.variance + variance, ..thinking }
}

/// The number of rounds in which the users send in the same order. Each round moves a user by one standard deviation of
/// its cycle, and its neighbour is E\[X\]/N away. With constant think times the same order repeats for ever.
fn identical_rounds(cycle: &Cycle, users: u64, stream: &Stream) -> f64 {
    let rounds = (stream.gaps() as f64 / users as f64).max(1.0);
    let neighbour = cycle.mean / users as f64;
    (neighbour * neighbour / cycle.variance).clamp(1.0, rounds)
}

/// Compares the mean think time with the specified one. The mean of n think times is known to 1.96 sqrt(scv / n).
fn check_think_time(scope: Scope, criteria: &Criteria, seen: &Observed, think: &Distribution) -> Option<Finding> {
    // A late request makes the think time before it longer.
    let lateness_ms = seen.lateness.filter(|_| seen.as_scheduled).map_or(0.0, |lateness| lateness.mean_us / 1e3);
    let ratio = (seen.queue.think_ms.filter(|_| think.mean() > 0.0)? - lateness_ms) / 1e3 / think.mean();
    let error = (think.scv() / seen.stream.gaps() as f64).sqrt();
    Some(check_ratio(Check::ThinkTime, ratio, error, scope, criteria))
}

/// Checks a ratio that should be 1 and has this standard error.
fn check_ratio(check: Check, ratio: f64, error: f64, scope: Scope, criteria: &Criteria) -> Finding {
    let half = 1.96 * error;
    let interval = Interval { low: ratio - half, high: ratio + half };
    check_interval(check, ratio, Some(interval), 1.0, criteria.cov_tolerance + chance_allowance(scope, half))
}

/// An allowance for an unusual schedule, which is added to a tolerance. For a run of `offered` it is the 99.9th
/// percentile of the deviation, for the file of another tool the 97.5th; `half` is the half-width of the 95 % interval.
fn chance_allowance(scope: Scope, half: f64) -> f64 {
    if scope.recording.intent_known { (3.29 / 1.96 - 1.0) * half } else { 0.0 }
}

/// A finding that fails if the whole interval of the estimate is further than `tolerance` from the expected value.
pub(crate) fn check_interval(
    check: Check,
    estimate: f64,
    interval: Option<Interval>,
    meant: f64,
    tolerance: f64,
) -> Finding {
    let (low, high) = interval.map_or((estimate, estimate), |interval| (interval.low, interval.high));
    let fails = low > meant + tolerance || high < meant - tolerance;
    Finding {
        check,
        statistic: None,
        p_value: None,
        estimate: Some(estimate),
        low: Some(low),
        high: Some(high),
        limit_low: Some(meant - tolerance),
        limit_high: Some(meant + tolerance),
        result: if fails { CheckResult::Failed } else { CheckResult::Passed },
    }
}

/// The bootstrap interval of the CoV: from a bounded stretch of gaps, narrowed to the width that all gaps would give.
pub(crate) fn bootstrap(criteria: &Criteria, stream: &Stream) -> Option<Interval> {
    let interval = || {
        let sample = &stream.stretch[..stream.stretch.len().min(BOOTSTRAP.0)];
        let mut chance = criteria.seed.at(offered_base::Purpose::Judge, 0, 1);
        let interval = bootstrap_interval(sample, BOOTSTRAP.1, || chance.uniform())?;
        let (here, whole) = (offered_stats::cov::cov(sample)?, stream.cov()?);
        let shrink = (sample.len() as f64 / stream.gaps() as f64).sqrt();
        Some(Interval { low: whole + (interval.low - here) * shrink, high: whole + (interval.high - here) * shrink })
    };
    *stream.bootstrap.get_or_init(interval)
}

/// Compares the sent rate with the target rate, as a ratio. With n Poisson gaps it is known to 1.96 / sqrt(n).
///
/// A constant rate is one over the mean gap. The mean of a changing rate is the number of requests over the interval
/// for which they were scheduled, so it needs a clock that started with the run. A rate that changes at random differs
/// from its mean for minutes, so the sent rate is compared with that of the schedule.
fn check_rate(scope: Scope, criteria: &Criteria, seen: &Observed) -> Option<Finding> {
    let stream = seen.stream;
    let (offered, cov, n) = match criteria.rate_interval {
        None => (stream.rate_per_s()?, stream.corrected_cov?, stream.gaps() as u64),
        Some(_) if !scope.recording.on_run_clock => return None,
        Some((from, to)) => {
            let last = scope.recording.events.extent().last_intended?;
            if last.until(to).as_secs_f64() > MAX_EMPTY_SHARE * from.until(to).as_secs_f64() {
                // The run was stopped early, or its schedule is empty at the end; the recording does not show which.
                return None;
            }
            let Counts { scheduled_in_rate_interval, sent_in_rate_interval, .. } = *seen.counts;
            let n = if seen.as_scheduled { scheduled_in_rate_interval } else { sent_in_rate_interval };
            // Counts of bursts vary more than Poisson counts, by at most about the squared CoV of the gaps.
            (n as f64 / from.until(to).as_secs_f64(), stream.corrected_cov?.max(1.0), n)
        }
    };
    let ratio = offered / seen.realised_rate_per_s.or(criteria.target_rate_per_s).filter(|rate| *rate > 0.0)?;
    Some(check_ratio(Check::RateAgainstTarget, ratio, cov / (n as f64).sqrt(), scope, criteria))
}

/// Whether the observed arrivals agree with the specification.
pub(crate) fn matches_expected(scope: Scope, criteria: &Criteria, seen: &Observed, poisson: &[Finding]) -> bool {
    let as_law = check_arrivals(scope, criteria, seen)
        .iter()
        .all(|finding| !finding.failed() || !finding.check.depends_on_send_times());
    as_law && (!criteria.expected.is_poisson() || first_failed(poisson).is_none())
}

/// The first finding that failed.
pub(crate) fn first_failed(findings: &[Finding]) -> Option<&Finding> {
    findings.iter().find(|finding| finding.failed())
}

/// The strict validity: invalid if any finding failed; valid if some specified property was checked and passed.
pub(crate) fn overall(criteria: &Criteria, poisson: &[Finding], intent: &[Finding], stream: &Stream) -> Validity {
    let holds = |findings: &[Finding]| findings.iter().any(|finding| finding.result == CheckResult::Passed);
    if first_failed(intent).is_some() || (criteria.expected.is_poisson() && first_failed(poisson).is_some()) {
        return Validity::Invalid;
    }
    let checked = if criteria.expected.is_poisson() { holds(poisson) } else { holds(intent) };
    if stream.is_long_enough() && checked { Validity::Valid } else { Validity::NotChecked }
}

/// The validity, given the generator error. `only_late` means that only the times at which requests were sent and
/// responses were read are wrong.
pub(crate) fn with_generator_error(
    strict: Validity,
    only_late: bool,
    decided: ThresholdSensitivity,
    effect: &GeneratorError,
) -> Validity {
    match strict {
        Validity::Invalid if only_late && (decided.all_unaffected() || effect.is_within_tolerance()) => {
            Validity::ValidWithWarnings
        }
        Validity::Valid if decided.affected > 0 || effect.needs_warning() => Validity::ValidWithWarnings,
        strict => strict,
    }
}

/// The CoV with its bootstrap interval, for gaps that are not exponential; for information, never a failure.
pub(crate) fn bootstrap_finding(criteria: &Criteria, stream: &Stream) -> Option<Finding> {
    let interval = bootstrap(criteria, stream)?;
    let estimate = stream.cov()?;
    let finding = check_interval(Check::CovBootstrap, estimate, Some(interval), estimate, criteria.cov_tolerance);
    Some(Finding { result: CheckResult::NotChecked, ..finding })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The closed CoV for `n` responses of these times, alternating.
    fn expected(think: &Distribution, users: u64, responses: [f64; 2]) -> (f64, bool) {
        let squares = responses.map(|response| response * response);
        let sums = ResponseSums {
            n: 2000,
            sum_s: 1000.0 * responses.iter().sum::<f64>(),
            sum_of_squares: 1000.0 * squares.iter().sum::<f64>(),
            ..ResponseSums::default()
        };
        closed_cov(&sums, think, users, 0.05)
    }

    #[test]
    fn the_cycle_of_closed_users_includes_the_response() {
        let bursty = Distribution::empirical([vec![0.1; 90], vec![500.0; 10]].concat()).unwrap();
        for users in [1, 2, 25] {
            for response in [0.001, 1.0, 5.0] {
                // Think times that include the response have the same cycle.
                let shifted = [vec![0.1 + response; 90], vec![500.0 + response; 10]].concat();
                let exact = superposition::cov(&Distribution::empirical(shifted).unwrap(), users).unwrap();
                let (cov, is_known) = expected(&bursty, users, [response; 2]);
                assert!(is_known && (cov - exact).abs() < 1e-6, "{users} users, {response} s: {cov} against {exact}");
            }
        }
        assert!(!expected(&bursty, 25, [0.5, 2.0]).1, "a response that varies and matters");
        let exponential = Distribution::exponential(10.0).unwrap();
        assert!(expected(&exponential, 25, [0.0005, 0.002]).1, "a response that does not matter");
    }
}
