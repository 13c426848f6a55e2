//! The judgement: is the pattern what was meant, and did the generator do what it intended?

use offered_model::Law;
use offered_model::recording::Evidence;
use offered_model::superposition::{self, Cycle};
use offered_stats::Interval;
use offered_stats::cov::bootstrap_interval;

use crate::criteria::Criteria;
use crate::counts::{Counted, Responses};
use crate::threshold_sensitivity::Decided;
use crate::generator_error::GeneratorError;
use crate::finding::{Size, Strictness, limit};
use crate::expected_arrivals::ExpectedArrivals;
use crate::scope::Scope;
use crate::stream::Stream;
use crate::verdict::{Check, CheckResult, Finding, Lateness, Queue, Validity, WarningKind};

/// Even gaps may have this CoV, jitter and all, and still be what `constant` meant.
pub(crate) const EVEN: f64 = 0.1;
/// So large a share of the launches may stay unsent.
pub(crate) const UNSENT: f64 = 0.01;
/// A thread that neither sleeps nor spins for more than this share of its time has no time left to be punctual.
pub(crate) const SATURATED: f64 = 0.9;
/// A run that launched nothing in so large a last part of its time may have been stopped.
const ENDED: f64 = 0.02;
/// Theory knows the dispersion of counts in windows of so many cycles of a user and more.
const CYCLES: f64 = 3.0;
/// Where the users wait for answers more than this share of their time, formulas without queueing do not apply.
const NO_QUEUEING: f64 = 0.05;
/// Of fewer gaps the bootstrap's interval is too narrow to throw a run of ours away by: that its launches are those of its schedule
/// is known without it.
const SURE_GAPS: usize = 500;
/// The bootstrap's sample and its resamples.
const BOOTSTRAP: (usize, usize) = (5000, 400);

/// What is compared with what was meant.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) counted: &'a Counted<'a>,
    pub(crate) stream: &'a Stream,
    pub(crate) queue: &'a Queue,
    pub(crate) lateness: Option<&'a Lateness>,
    pub(crate) meant_cov: Option<f64>,
    /// What the schedule of a rate that changes at random held.
    pub(crate) held_per_s: Option<f64>,
}

/// The findings that compare with what was meant, besides the tests of a Poisson stream.
pub(crate) fn against_intent(scope: Scope, ask: &Criteria, seen: &Seen) -> Vec<Finding> {
    let (stream, mut found) = (seen.stream, Vec::new());
    if stream.is_long_enough() {
        found.extend(of_law(scope, ask, seen));
        found.extend(seen.meant_cov.zip(stream.corrected_cov).map(|(meant, sent)| {
            let finding = limit(Check::CovAgainstSchedule, (sent - meant).abs() / meant.max(1.0), ask.cov_tolerance);
            Finding { statistic: Some(sent), ..finding }
        }));
        found.extend(rate(scope, ask, seen));
    }
    if let Some(late) = seen.lateness {
        found.push(limit(Check::LatenessP99, late.p99_us, ask.late_after.as_micros_f64()));
        found.push(limit(Check::UnsentShare, late.unsent as f64 / (late.unsent + late.n) as f64, UNSENT));
    }
    if let Some((_, busy)) = scope.recording.generator.as_ref().and_then(Evidence::busiest) {
        found.push(limit(Check::BusiestThread, busy, SATURATED));
    }
    found
}

/// What each law of arrivals can be held to.
fn of_law(scope: Scope, ask: &Criteria, seen: &Seen) -> Vec<Finding> {
    let cov = seen.stream.corrected_cov.unwrap_or(0.0);
    // `alike` times the same gaps tell no more than one of them.
    let near = |check, meant: f64, alike: f64| {
        let interval = bootstrap(ask, seen.stream);
        let half = interval.map_or(0.0, |interval| (interval.high - interval.low) / 2.0) * alike.sqrt();
        let interval = Interval { low: cov - half, high: cov + half };
        let mut found =
            outside(check, cov, Some(interval), meant, ask.cov_tolerance * meant.max(1.0) + odd(scope, half));
        if scope.recording.intent_known && seen.stream.gaps() < SURE_GAPS {
            found.result = CheckResult::NotChecked;
        }
        found
    };
    match ask.expected.arrivals() {
        ExpectedArrivals::Constant => vec![limit(Check::ConstantGaps, cov, EVEN)],
        ExpectedArrivals::Renewal { cov: meant } => vec![near(Check::CovAgainstExpected, *meant, 1.0)],
        ExpectedArrivals::Closed { users, think } => {
            let expected = superposition::cov(think, *users).unwrap_or(1.0);
            let cycle = cycle(&seen.counted.responses, think);
            let of_cov = near(Check::ClosedCov, expected, alike(&cycle, *users, seen.stream));
            let mut found = vec![of_cov, of_dispersion(scope, ask, seen, &cycle)];
            // Theory knows no queueing; where there is some, launches are the system's doing, not the generator's.
            if seen.queue.rort.is_none_or(|rort| rort > NO_QUEUEING) {
                for finding in &mut found {
                    finding.result = CheckResult::NotChecked;
                }
            }
            found.extend(of_thinking(scope, ask, seen, think));
            found
        }
        ExpectedArrivals::Poisson | ExpectedArrivals::FixedCount | ExpectedArrivals::PartlyOpen(_) | ExpectedArrivals::Other { .. } => Vec::new(),
    }
}

/// The dispersion of counts in the longest windows against that of users who come back after thinking and an answer.
fn of_dispersion(scope: Scope, ask: &Criteria, seen: &Seen, cycle: &Cycle) -> Finding {
    let rung = seen.stream.ladder.last().filter(|rung| rung.window as f64 / 1e9 >= CYCLES * cycle.mean);
    let expected = rung.map(|rung| cycle.dispersion(rung.window as f64 / 1e9));
    let known = rung.zip(expected.filter(|expected| expected.is_finite() && *expected > 0.0));
    let effect = known.map_or_else(Size::default, |(rung, expected)| {
        Size::of(rung.idc, expected, 2.0 * ask.cov_tolerance * expected.max(1.0)).within(rung.interval)
    });
    let strictness = Strictness::new(scope.recording.intent_known, ask.cov_tolerance);
    let test = known.map(|(rung, expected)| rung.test_of(expected));
    strictness.finding(Check::ClosedDispersion, test, 1.0, effect)
}

/// A user's cycle: a think time, and an answer as they were seen.
fn cycle(responses: &Responses, think: &Law) -> Cycle {
    let Responses { n, seconds: sum, squares, .. } = *responses;
    let n = n as f64;
    let mean = sum / f64::max(n, 1.0);
    let variance = (squares / f64::max(n, 1.0) - mean * mean).max(0.0);
    let thinking = Cycle::of(think);
    Cycle { mean: thinking.mean + mean, variance: thinking.variance + variance, ..thinking }
}

/// How many rounds of the users launch in the same places: each round moves a user by a standard deviation of its cycle, and
/// its neighbour is E\[X\]/N away. Constant think times repeat one round for ever.
fn alike(cycle: &Cycle, users: u64, stream: &Stream) -> f64 {
    let rounds = (stream.gaps() as f64 / users as f64).max(1.0);
    let neighbour = cycle.mean / users as f64;
    (neighbour * neighbour / cycle.variance).clamp(1.0, rounds)
}

/// The mean think time against the one meant: that of n think times is known to 1.96 sqrt(scv / n).
fn of_thinking(scope: Scope, ask: &Criteria, seen: &Seen, think: &Law) -> Option<Finding> {
    let ratio = seen.queue.think_ms.filter(|_| think.mean() > 0.0)? / 1e3 / think.mean();
    let error = (think.scv() / seen.stream.gaps() as f64).sqrt();
    Some(ratio_of(Check::ThinkTime, ratio, error, scope, ask))
}

/// A ratio that should be 1 and is known up to this standard error.
fn ratio_of(check: Check, ratio: f64, error: f64, scope: Scope, ask: &Criteria) -> Finding {
    let half = 1.96 * error;
    let interval = Interval { low: ratio - half, high: ratio + half };
    outside(check, ratio, Some(interval), 1.0, ask.cov_tolerance + odd(scope, half))
}

/// What is added to a tolerance because chance may draw an odd schedule. As everywhere, a run of ours is not thrown away for
/// it: it is held to the 99.9 % point where a foreign one is held to the 97.5 % point, `half` an interval away.
fn odd(scope: Scope, half: f64) -> f64 {
    if scope.recording.intent_known { (3.29 / 1.96 - 1.0) * half } else { 0.0 }
}

/// A finding that fails when the whole interval of the estimate lies further than `tolerance` from what was meant.
pub(crate) fn outside(check: Check, estimate: f64, interval: Option<Interval>, meant: f64, tolerance: f64) -> Finding {
    let (low, high) = interval.map_or((estimate, estimate), |interval| (interval.low, interval.high));
    let fails = low > meant + tolerance || high < meant - tolerance;
    Finding {
        check,
        statistic: None,
        p_value: None,
        estimate: Some(estimate),
        low: Some(low),
        high: Some(high),
        result: if fails { CheckResult::Failed } else { CheckResult::Passed },
    }
}

/// The bootstrap interval of the CoV: from a bounded stretch of gaps, drawn in to what all of them would give.
pub(crate) fn bootstrap(ask: &Criteria, stream: &Stream) -> Option<Interval> {
    let sample = &stream.stretch[..stream.stretch.len().min(BOOTSTRAP.0)];
    let mut chance = ask.seed.at(offered_model::Purpose::Judge, 0, 1);
    let interval = bootstrap_interval(sample, BOOTSTRAP.1, || chance.uniform())?;
    let (here, whole) = (offered_stats::cov::cov(sample)?, stream.cov()?);
    let shrink = (sample.len() as f64 / stream.gaps() as f64).sqrt();
    Some(Interval { low: whole + (interval.low - here) * shrink, high: whole + (interval.high - here) * shrink })
}

/// The rate offered against the rate asked for, as a ratio: with n Poisson gaps it is known to 1.96 / sqrt(n).
///
/// A steady rate is one over the mean gap. The mean of a changing one is a number of launches over the time it was meant for,
/// which only a clock that began with the run can tell. Of a rate that changes at random that mean is far away for minutes: what was
/// asked of a run is what its own schedule held.
fn rate(scope: Scope, ask: &Criteria, seen: &Seen) -> Option<Finding> {
    let stream = seen.stream;
    let (offered, cov, n) = match ask.rate_interval {
        None => (stream.rate_per_s()?, stream.corrected_cov?, stream.gaps() as u64),
        Some(_) if !scope.recording.on_run_clock => return None,
        Some((from, to)) => {
            let last = scope.recording.events.extent().last_meant?;
            if last.until(to).as_secs_f64() > ENDED * from.until(to).as_secs_f64() {
                // Stopped before its time, or meant to be silent at the end: which of them cannot be told here.
                return None;
            }
            let n = seen.counted.meant_between;
            // Counts of bursts vary more than Poisson counts, by at most about the squared CoV of the gaps.
            (n as f64 / from.until(to).as_secs_f64(), stream.corrected_cov?.max(1.0), n)
        }
    };
    let ratio = offered / seen.held_per_s.or(ask.target_rate_per_s).filter(|rate| *rate > 0.0)?;
    Some(ratio_of(Check::RateAgainstTarget, ratio, cov / (n as f64).sqrt(), scope, ask))
}

/// Whether launches seen so are what the law of arrivals meant.
pub(crate) fn is_as_meant(scope: Scope, ask: &Criteria, seen: &Seen, poisson: &[Finding]) -> bool {
    let as_law = of_law(scope, ask, seen).iter().all(|finding| !finding.failed() || !finding.check.depends_on_send_times());
    as_law && (!ask.expected.is_poisson() || fails(poisson).is_none())
}

/// The first of them that fails.
pub(crate) fn fails(findings: &[Finding]) -> Option<&Finding> {
    findings.iter().find(|finding| finding.failed())
}

/// The last word: fails if anything fails, holds if something that was meant was checked and held.
pub(crate) fn overall(ask: &Criteria, poisson: &[Finding], intent: &[Finding], stream: &Stream) -> Validity {
    let holds = |findings: &[Finding]| findings.iter().any(|finding| finding.result == CheckResult::Passed);
    if fails(intent).is_some() || (ask.expected.is_poisson() && fails(poisson).is_some()) {
        return Validity::Invalid;
    }
    let checked = if ask.expected.is_poisson() { holds(poisson) } else { holds(intent) };
    if stream.is_long_enough() && checked { Validity::Valid } else { Validity::NotChecked }
}

/// The last word on a run of which it is known what its lateness did, and which of its thresholds that `decided`; `only_spoilt` when
/// nothing fails but by it.
pub(crate) fn by_effect(strict: Validity, only_spoilt: bool, decided: Decided, effect: &GeneratorError) -> Validity {
    match strict {
        Validity::Invalid if only_spoilt && (decided.all() || effect.is_tolerated()) => Validity::ValidWithWarnings,
        Validity::Valid if decided.open > 0 || effect.is_doubtful() => Validity::ValidWithWarnings,
        strict => strict,
    }
}

/// The last word where clocks leave open in which order launches came: then that they came as was meant is not beyond doubt.
pub(crate) fn by_clocks(judgement: Validity, unordered: Option<&WarningKind>) -> Validity {
    match judgement {
        Validity::Valid if unordered.is_some() => Validity::ValidWithWarnings,
        judgement => judgement,
    }
}

/// The CoV with its bootstrap interval, for gaps that are not exponential: a number to read, not a check.
pub(crate) fn bootstrap_finding(ask: &Criteria, stream: &Stream) -> Option<Finding> {
    let interval = bootstrap(ask, stream)?;
    let estimate = stream.cov()?;
    let finding = outside(Check::CovBootstrap, estimate, Some(interval), estimate, ask.cov_tolerance);
    Some(Finding { result: CheckResult::NotChecked, ..finding })
}
