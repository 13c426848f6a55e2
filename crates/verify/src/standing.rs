//! The verdict as it stands while a run is under way, from running sums: what can be said before the events are all there.
//!
//! Of the tests of [`verify`](crate::verify) only those that need no sample are made: the CoV of the gaps (with Greenwood's
//! test of it), sent against meant, the rate, lateness and what was never sent. So what fails here fails at the end unless it
//! mends itself, and what holds here may still fail by a test that needs all events.

use offered_model::time::span;
use offered_stats::Interval;
use offered_stats::cov::{exponential_interval, greenwood};

use crate::Ask;
use crate::because::in_figure;
use crate::effect::Share;
use crate::finding::{Size, Strictness, limit};
use crate::judge::{EVEN, UNSENT, outside};
use crate::meant::Meant;
use crate::pattern::CLOCKWORK;
use crate::poisson::COV_SHARE;
use crate::verdict::{Check, Finding, Judgement, Pattern};

/// More than this share of the launches still under way: those that are seen are not those that were made.
const UNDER_WAY: f64 = 0.01;

/// Running sums of the launches that count, those made by now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SoFar {
    /// Gaps between launches that were sent (of a partly-open system: between first launches of sessions).
    pub gaps: usize,
    /// The CoV of those gaps.
    pub sent_cov: Option<f64>,
    /// The CoV of the gaps between the instants they were meant for.
    pub meant_cov: Option<f64>,
    /// Launches per second sent over launches per second asked for, where a rate was.
    pub rate_ratio: Option<f64>,
    /// The 99 % point of lateness in microseconds.
    pub late_p99_us: Option<f64>,
    /// The figure of which most is lateness, where that can be told; company is not looked at before the end.
    pub worst: Option<Share>,
    /// How many launches were sent.
    pub sent: u64,
    /// How many were not.
    pub unsent: u64,
    /// How many are under way, and so not among the others yet.
    pub in_flight: u64,
}

/// The verdict as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// What the launches look like so far.
    pub pattern: Pattern,
    /// Whether that, and all else that can be told, is as meant.
    pub judgement: Judgement,
    /// The reason in a few words.
    pub because: String,
}

/// The verdict as it stands after `so_far`.
pub fn standing(so_far: &SoFar, ask: &Ask) -> Standing {
    let launches = so_far.sent + so_far.unsent;
    let standing = |pattern, judgement, because| Standing { pattern, judgement, because };
    let worst = so_far.worst.filter(|worst| ask.effect_tolerance > 0.0 && worst.at_most() <= ask.effect_tolerance);
    let late = late(so_far, ask);
    if let Some(why) = late.clone().filter(|_| worst.is_none()).or_else(|| unsent(so_far)) {
        return standing(pattern(so_far, ask), Judgement::Fails, why);
    }
    if so_far.gaps < Pattern::FEWEST_GAPS {
        let because = format!("{launches} launches are too few to tell a pattern");
        return standing(Pattern::TooFew, Judgement::NotChecked, because);
    }
    if so_far.in_flight as f64 > UNDER_WAY * launches as f64 {
        let because = format!("{} launches are under way, {launches} are through: too soon to tell", so_far.in_flight);
        return standing(Pattern::TooFew, Judgement::NotChecked, because);
    }
    let pattern = pattern(so_far, ask);
    let wrong = stream(so_far, ask);
    let as_meant = || format!("the launches are what was meant ({})", ask.meant.name());
    let doubtful = so_far.worst.filter(|worst| worst.is_doubtful(ask.effect_tolerance));
    match (late.or_else(|| wrong.as_ref().map(|wrong| wrong.why.clone())), worst) {
        (None, _) => match doubtful {
            Some(worst) => standing(pattern, Judgement::HoldsWithDoubt, in_figure(&worst)),
            None => standing(pattern, Judgement::Holds, as_meant()),
        },
        (Some(why), Some(worst)) if wrong.as_ref().is_none_or(|wrong| wrong.of_sending) => {
            standing(pattern, Judgement::HoldsWithDoubt, format!("{why}; {}", in_figure(&worst)))
        }
        (Some(why), _) => standing(pattern, Judgement::Fails, wrong.map_or(why, |wrong| wrong.why)),
    }
}

fn late(so_far: &SoFar, ask: &Ask) -> Option<String> {
    let late = so_far.late_p99_us?;
    fails(&limit(Check::LatenessP99, late, ask.late_tolerance.as_micros_f64()))
        .then(|| format!("one launch in a hundred was more than {} late", span(late * 1e3)))
}

fn unsent(so_far: &SoFar) -> Option<String> {
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
fn stream(so_far: &SoFar, ask: &Ask) -> Option<Wrong> {
    let cov = so_far.sent_cov?;
    let meant_passes = |passes: &dyn Fn(f64) -> bool| so_far.meant_cov.is_some_and(passes);
    let poisson = |cov| !fails(&greenwoods(so_far, cov, ask));
    if ask.meant.is_poisson() && !poisson(cov) {
        let why = format!("the CoV of the gaps is {cov:.2}, that of a Poisson process is 1");
        return Some(Wrong { why, of_sending: meant_passes(&poisson) });
    }
    let even = |cov| !fails(&limit(Check::EvenGaps, cov, EVEN));
    if *ask.meant.arrivals() == Meant::Constant && !even(cov) {
        let why = format!("the CoV of the gaps is {cov:.2}, even ones were meant");
        return Some(Wrong { why, of_sending: meant_passes(&even) });
    }
    if let Some(ratio) = so_far.rate_ratio {
        // The rate of n gaps is known to 1.96 CoV / sqrt(n).
        let half = 1.96 * cov / (so_far.gaps as f64).sqrt();
        let interval = Interval { low: ratio - half, high: ratio + half };
        if fails(&outside(Check::Rate, ratio, Some(interval), 1.0, ask.pattern_tolerance)) {
            let why = format!("the rate is {:.0} % of the one asked for", 100.0 * ratio);
            return Some(Wrong { why, of_sending: false });
        }
    }
    let far = |meant: &f64| (cov - meant).abs() > ask.pattern_tolerance * meant.max(1.0);
    so_far.meant_cov.filter(far).map(|meant| Wrong {
        why: format!("the CoV of the gaps is {cov:.2}, that of the instants meant {meant:.2}"),
        of_sending: true,
    })
}

/// What the launches look like, as far as the CoV tells.
fn pattern(so_far: &SoFar, ask: &Ask) -> Pattern {
    let Some(cov) = so_far.sent_cov.filter(|_| so_far.gaps >= Pattern::FEWEST_GAPS) else { return Pattern::TooFew };
    match fails(&greenwoods(so_far, cov, ask)) {
        _ if cov <= CLOCKWORK => Pattern::Clockwork,
        true if cov < 1.0 => Pattern::TooEven,
        true => Pattern::OverDispersed,
        false if *ask.meant.arrivals() == Meant::FixedCount => Pattern::FixedCountPoisson,
        false => Pattern::Poisson,
    }
}

/// The finding of the CoV with the share of false alarms that it has at the end.
fn greenwoods(so_far: &SoFar, cov: f64, ask: &Ask) -> Finding {
    let effect = Size::of(cov, 1.0, ask.pattern_tolerance).within(exponential_interval(cov, so_far.gaps));
    Strictness::new(true, ask.pattern_tolerance).finding(
        Check::Cov,
        Some(greenwood(cov, so_far.gaps)),
        COV_SHARE,
        effect,
    )
}

fn fails(finding: &Finding) -> bool {
    finding.judgement == Judgement::Fails
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten thousand launches as they were meant.
    const WELL: SoFar = SoFar {
        gaps: 9_999,
        sent_cov: Some(1.003),
        meant_cov: Some(1.002),
        rate_ratio: Some(1.01),
        late_p99_us: Some(80.0),
        worst: None,
        sent: 10_000,
        unsent: 0,
        in_flight: 3,
    };

    fn is(so_far: SoFar, meant: Meant, pattern: Pattern, judgement: Judgement, because: &str) {
        let standing = standing(&so_far, &Ask { meant, ..Ask::default() });
        assert_eq!((standing.pattern, standing.judgement), (pattern, judgement), "{}", standing.because);
        assert!(standing.because.contains(because), "{}", standing.because);
    }

    #[test]
    fn what_was_meant_holds() {
        let even = SoFar { sent_cov: Some(0.02), meant_cov: Some(0.0), ..WELL };
        is(WELL, Meant::Poisson, Pattern::Poisson, Judgement::Holds, "what was meant (poisson)");
        is(WELL, Meant::FixedCount, Pattern::FixedCountPoisson, Judgement::Holds, "what was meant");
        is(even, Meant::Constant, Pattern::Clockwork, Judgement::Holds, "what was meant (constant)");
        let bursty = SoFar { sent_cov: Some(2.01), meant_cov: Some(2.0), ..WELL };
        is(bursty, Meant::Renewal { cov: 2.0 }, Pattern::OverDispersed, Judgement::Holds, "CoV 2");
    }

    #[test]
    fn too_few_or_too_many_under_way_are_not_judged() {
        let few = SoFar { gaps: 49, sent: 50, ..WELL };
        is(few, Meant::Poisson, Pattern::TooFew, Judgement::NotChecked, "50 launches are too few");
        is(SoFar::default(), Meant::Poisson, Pattern::TooFew, Judgement::NotChecked, "0 launches are too few");
        let hanging = SoFar { in_flight: 101, sent_cov: Some(3.0), ..WELL };
        is(hanging, Meant::Poisson, Pattern::TooFew, Judgement::NotChecked, "too soon to tell");
    }

    #[test]
    fn what_was_not_meant_fails_with_its_reason() {
        let late = SoFar { late_p99_us: Some(25_000.0), ..WELL };
        is(late, Meant::Poisson, Pattern::Poisson, Judgement::Fails, "more than 25 ms late");
        let early = SoFar { gaps: 9, sent: 10, ..late };
        is(early, Meant::Poisson, Pattern::TooFew, Judgement::Fails, "more than 25 ms late");
        let unsent = SoFar { unsent: 500, ..WELL };
        is(unsent, Meant::Poisson, Pattern::Poisson, Judgement::Fails, "4.8 % of the launches were not sent");
        let even = SoFar { sent_cov: Some(0.8), meant_cov: Some(0.8), ..WELL };
        is(even, Meant::Poisson, Pattern::TooEven, Judgement::Fails, "the CoV of the gaps is 0.80");
        let jitter = SoFar { sent_cov: Some(0.2), meant_cov: Some(0.0), ..WELL };
        is(jitter, Meant::Constant, Pattern::Clockwork, Judgement::Fails, "even ones were meant");
        let stalls = SoFar { sent_cov: Some(2.5), meant_cov: Some(1.0), ..WELL };
        is(
            stalls,
            Meant::Other { what: "a trace".into(), system: None },
            Pattern::OverDispersed,
            Judgement::Fails,
            "instants meant 1.00",
        );
        let slow = SoFar { rate_ratio: Some(0.9), ..WELL };
        is(slow, Meant::Poisson, Pattern::Poisson, Judgement::Fails, "90 % of the one asked for");
    }

    #[test]
    fn what_hardly_touches_the_figures_is_a_doubt() {
        let worst = |waiting| Share {
            percentile: 99.0,
            response_ms: 1000.0,
            without_lateness_ms: 1000.0 * (1.0 - waiting),
            waiting,
            company: None,
        };
        let late = |waiting| SoFar { late_p99_us: Some(25_000.0), worst: Some(worst(waiting)), ..WELL };
        let doubt = Judgement::HoldsWithDoubt;
        is(
            late(0.025),
            Meant::Poisson,
            Pattern::Poisson,
            doubt,
            "25 ms late; at most 2.5 % of the p99 is the generator's",
        );
        is(late(0.06), Meant::Poisson, Pattern::Poisson, Judgement::Fails, "more than 25 ms late");
        // What was meant so, or has another rate, is no matter of sending.
        let uneven = SoFar { sent_cov: Some(1.5), ..late(0.025) };
        is(uneven, Meant::Poisson, Pattern::OverDispersed, doubt, "25 ms late");
        let meant = SoFar { meant_cov: Some(1.5), ..uneven };
        is(meant, Meant::Poisson, Pattern::OverDispersed, Judgement::Fails, "the CoV of the gaps is 1.50");
        let slow = SoFar { rate_ratio: Some(0.9), ..late(0.025) };
        is(slow, Meant::Poisson, Pattern::Poisson, Judgement::Fails, "90 % of the one asked for");
        let on_time = SoFar { worst: Some(worst(0.06)), ..WELL };
        is(on_time, Meant::Poisson, Pattern::Poisson, doubt, "at most 6.0 % of the p99 is the generator's");
        let strict = Ask { effect_tolerance: 0.0, ..Ask::default() };
        assert_eq!(standing(&late(0.025), &strict).judgement, Judgement::Fails);
    }

    #[test]
    fn chance_is_not_held_against_a_short_stream() {
        let short = SoFar { gaps: 99, sent: 100, in_flight: 1, sent_cov: Some(1.2), rate_ratio: Some(0.9), ..WELL };
        let same = SoFar { meant_cov: short.sent_cov, ..short };
        is(same, Meant::Poisson, Pattern::Poisson, Judgement::Holds, "what was meant");
    }
}
