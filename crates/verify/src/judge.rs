//! The judgement: is the pattern what was meant, and did the generator do what it intended?

use offered_stats::cov::bootstrap_interval;
use offered_stats::summary::gaps;
use offered_stats::{Interval, Summary};

use crate::ask::Ask;
use crate::finding::limit;
use crate::meant::{Meant, superposition_cov};
use crate::scope::Scope;
use crate::stream::Stream;
use crate::verdict::{Finding, Judgement, Lateness, Queue};

/// Even gaps may have this CoV, jitter and all, and still be what `constant` meant.
pub(crate) const EVEN: f64 = 0.1;
/// So large a share of the launches may stay unsent.
pub(crate) const UNSENT: f64 = 0.01;
/// Where the users wait for answers more than this share of their time, formulas without queueing do not apply.
const NO_QUEUEING: f64 = 0.05;
/// The bootstrap's sample and its resamples.
const BOOTSTRAP: (usize, usize) = (5000, 400);

/// The CoV of the gaps between intended instants; `None` where they are not known or too few.
pub(crate) fn meant_cov(scope: Scope, meant: &Meant) -> Option<f64> {
    if !scope.recording.intent_known {
        return None;
    }
    let first_only = *meant == Meant::PartlyOpen;
    let mut intended: Vec<u64> =
        scope.meant().filter(|event| !first_only || event.step == 0).map(|event| event.intended.0).collect();
    intended.sort_unstable();
    let mut apart: Vec<u64> = gaps(&intended).collect();
    apart.sort_unstable();
    Some(Summary::of_sorted(&apart, 1.0)?.cov)
}

/// The findings that compare with what was meant, besides the tests of a Poisson stream.
pub(crate) fn against_intent(
    ask: &Ask,
    stream: &Stream,
    queue: &Queue,
    lateness: Option<&Lateness>,
    meant_cov: Option<f64>,
) -> Vec<Finding> {
    let mut found = Vec::new();
    if stream.is_long_enough() {
        found.extend(of_law(ask, stream, queue));
        found.extend(meant_cov.zip(stream.corrected_cov).map(|(meant, sent)| {
            let finding = limit("sent cov against meant", (sent - meant).abs() / meant.max(1.0), ask.tolerance);
            Finding { statistic: Some(sent), ..finding }
        }));
        found.extend(rate(ask, stream));
    }
    if let Some(late) = lateness {
        found.push(limit("lateness p99 (us)", late.p99_us, ask.late_tolerance.as_micros_f64()));
        found.push(limit("unsent share", late.unsent as f64 / (late.unsent + late.n) as f64, UNSENT));
    }
    found
}

/// What each law of arrivals can be held to.
fn of_law(ask: &Ask, stream: &Stream, queue: &Queue) -> Vec<Finding> {
    let cov = stream.corrected_cov.unwrap_or(0.0);
    match &ask.meant {
        Meant::Poisson | Meant::FixedCount | Meant::PartlyOpen | Meant::Other(_) => Vec::new(),
        Meant::Constant => vec![limit("even gaps (cov)", cov, EVEN)],
        Meant::Renewal { cov: meant } => {
            vec![outside("cov against meant", cov, bootstrap(ask, stream), *meant, ask.tolerance * meant.max(1.0))]
        }
        Meant::Closed { users, think } => {
            // The formula knows no queueing; where there is some the CoV is the system's doing, not the generator's.
            let quiet = queue.rort.is_some_and(|rort| rort <= NO_QUEUEING);
            let expected = superposition_cov(*users, think).unwrap_or(1.0);
            let of_cov = outside("closed cov against theory", cov, bootstrap(ask, stream), expected, ask.tolerance);
            let unchecked = Finding { judgement: Judgement::NotChecked, ..of_cov.clone() };
            let mut found = vec![if quiet { of_cov } else { unchecked }];
            if let (Some(seen), true) = (queue.think_ms, think.mean() > 0.0) {
                // The mean of n think times is known to 1.96 sqrt(scv / n).
                let half = 1.96 * (think.scv() / stream.gaps.len() as f64).sqrt();
                let ratio = seen / 1e3 / think.mean();
                let interval = Some(Interval { low: ratio - half, high: ratio + half });
                found.push(outside("think time against meant", ratio, interval, 1.0, ask.tolerance));
            }
            found
        }
    }
}

/// A finding that fails when the whole interval of the estimate lies further than `tolerance` from what was meant.
pub(crate) fn outside(
    name: &'static str,
    estimate: f64,
    interval: Option<Interval>,
    meant: f64,
    tolerance: f64,
) -> Finding {
    let (low, high) = interval.map_or((estimate, estimate), |interval| (interval.low, interval.high));
    let fails = low > meant + tolerance || high < meant - tolerance;
    Finding {
        name,
        statistic: None,
        p: None,
        estimate: Some(estimate),
        low: Some(low),
        high: Some(high),
        judgement: if fails { Judgement::Fails } else { Judgement::Holds },
    }
}

/// The bootstrap interval of the CoV: from a bounded stretch of gaps, drawn in to what all of them would give.
pub(crate) fn bootstrap(ask: &Ask, stream: &Stream) -> Option<Interval> {
    let all = stream.stretch();
    let sample = &all[..all.len().min(BOOTSTRAP.0)];
    let mut chance = ask.seed.at(offered_model::Purpose::Judge, 0, 1);
    let interval = bootstrap_interval(sample, BOOTSTRAP.1, || chance.uniform())?;
    let (here, whole) = (offered_stats::cov::cov(sample)?, offered_stats::cov::cov(&stream.gaps)?);
    let shrink = (sample.len() as f64 / stream.gaps.len() as f64).sqrt();
    Some(Interval { low: whole + (interval.low - here) * shrink, high: whole + (interval.high - here) * shrink })
}

/// The rate offered against the rate asked for, as a ratio: with n Poisson gaps it is known to 1.96 / sqrt(n).
fn rate(ask: &Ask, stream: &Stream) -> Option<Finding> {
    let ratio = stream.rate_per_s()? / ask.rate_per_s?;
    let cov = stream.corrected_cov?;
    let half = 1.96 * cov / (stream.gaps.len() as f64).sqrt();
    let interval = Interval { low: ratio - half, high: ratio + half };
    Some(outside("rate against asked", ratio, Some(interval), 1.0, ask.tolerance))
}

/// The last word: fails if anything fails, holds if something that was meant was checked and held.
pub(crate) fn overall(ask: &Ask, poisson: &[Finding], intent: &[Finding], stream: &Stream) -> Judgement {
    let fails = |findings: &[Finding]| findings.iter().any(|finding| finding.judgement == Judgement::Fails);
    let holds = |findings: &[Finding]| findings.iter().any(|finding| finding.judgement == Judgement::Holds);
    if fails(intent) || (is_poisson(&ask.meant) && fails(poisson)) {
        return Judgement::Fails;
    }
    let checked = if is_poisson(&ask.meant) { holds(poisson) } else { holds(intent) };
    if stream.is_long_enough() && checked { Judgement::Holds } else { Judgement::NotChecked }
}

/// Whether the tests of a Poisson stream are what this intent is held to.
pub(crate) const fn is_poisson(meant: &Meant) -> bool {
    matches!(meant, Meant::Poisson | Meant::FixedCount | Meant::PartlyOpen)
}

/// The CoV with its bootstrap interval, for gaps that are not exponential: a number to read, not a check.
pub(crate) fn bootstrap_finding(ask: &Ask, stream: &Stream) -> Option<Finding> {
    let interval = bootstrap(ask, stream)?;
    let estimate = offered_stats::cov::cov(&stream.gaps)?;
    let finding = outside("cov (bootstrap)", estimate, Some(interval), estimate, ask.tolerance);
    Some(Finding { judgement: Judgement::NotChecked, ..finding })
}
