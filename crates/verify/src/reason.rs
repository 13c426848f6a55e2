//! The reason for a judgement in one sentence, the same on the page of `verify` and on that of a run.

use offered_model::recording::Evidence;
use offered_model::time::span;

use crate::criteria::Criteria;
use crate::generator_error::{GeneratorError, PercentileError};
use crate::expected_arrivals::ExpectedArrivals;
use crate::pattern::Look;
use crate::verdict::{Check, WarningKind, Finding, Validity, Lateness, Pattern, Stalls};
use crate::warnings;

/// A share below this is nothing: a tenth of a per cent would be shown as 0.0.
const NOTHING: f64 = 5e-4;

/// What the sentence is made of.
pub(crate) struct Because<'a> {
    pub(crate) ask: &'a Criteria,
    pub(crate) look: &'a Look,
    pub(crate) intent: &'a [Finding],
    pub(crate) judgement: Validity,
    pub(crate) generator: Option<&'a Evidence>,
    /// Launches left otherwise than they were meant to.
    pub(crate) spoilt: bool,
    /// The machine stood still, and that is what spoilt the launches.
    pub(crate) stalled: Option<Stalls>,
    pub(crate) lateness: Option<&'a Lateness>,
    /// The CoV of the gaps between the instants meant, where those are known.
    pub(crate) meant_cov: Option<f64>,
    /// Where it says something of the judgement.
    pub(crate) effect: Option<&'a GeneratorError>,
    /// The thresholds come out the same, whatever lateness did to the figures.
    pub(crate) decided: bool,
    /// Clocks leave open in which order launches came.
    pub(crate) unordered: Option<&'a WarningKind>,
}

impl Because<'_> {
    /// Whether the sentence says this already.
    pub(crate) fn tells(&self, doubt: &WarningKind) -> bool {
        let Because { ask, judgement, .. } = self;
        let spoilt = *judgement == Validity::Invalid || (*judgement == Validity::ValidWithWarnings && self.spoilt);
        match doubt {
            WarningKind::GeneratorSaturated { .. } | WarningKind::GeneratorStalled(_) | WarningKind::NotPoisson { .. } => spoilt,
            WarningKind::OrderUncertain { .. } => *judgement == Validity::ValidWithWarnings,
            WarningKind::TooFewRequests { .. } => *judgement == Validity::NotChecked || (spoilt && ask.expected.is_poisson()),
            _ => false,
        }
    }
}

/// Why it was judged so: the cause where it is known, then what was seen, then what it did to the figures.
///
/// What was not meant to be Poisson is not told how it differs from Poisson.
pub(crate) fn because(of: &Because) -> String {
    let unordered = of.unordered.filter(|_| of.judgement == Validity::ValidWithWarnings);
    let unordered = unordered.map_or_else(String::new, |doubt| format!("; {}", doubt.message()));
    because_of_launches(of) + &unordered
}

fn because_of_launches(of: &Because) -> String {
    let Because { ask, look, judgement, .. } = of;
    match judgement {
        Validity::Invalid => spoilt(of),
        Validity::ValidWithWarnings if of.spoilt => spoilt(of),
        Validity::Valid | Validity::ValidWithWarnings => match of.lateness {
            Some(late) => {
                let effect = of.effect.map_or_else(|| as_meant(ask, look), in_figures);
                format!("{}; {effect}", punctual(late))
            }
            None => as_meant(ask, look),
        },
        Validity::NotChecked
            if matches!(ask.expected.arrivals(), ExpectedArrivals::Other { .. }) && look.pattern != Pattern::TooFewRequests =>
        {
            format!("the launches cannot be held to what was meant ({})", ask.expected.name())
        }
        Validity::NotChecked => look.because.clone(),
    }
}

fn as_meant(ask: &Criteria, look: &Look) -> String {
    if ask.expected.is_poisson() { look.because.clone() } else { "the launches are what was meant".to_owned() }
}

/// What was not as meant.
fn spoilt(of: &Because) -> String {
    let plain = matches!(of.look.pattern, Pattern::Poisson | Pattern::PoissonFixedCount);
    // Of a machine that stood still it matters what that did to the figures, not how else it shows.
    let is_told = of.stalled.is_some() && of.effect.is_some();
    let symptom = Some(of.look.because.clone()).filter(|_| of.ask.expected.is_poisson() && !plain && !is_told);
    let failing = of.intent.iter().filter(|finding| finding.failed());
    // What was not sent, or too seldom, shows in all the rest.
    let (little, mut odd): (Vec<_>, Vec<_>) = failing.partition(|of| matches!(of.check, Check::UnsentShare | Check::RateAgainstTarget));
    odd.retain(|_| !is_told);
    let [little, odd] = [little, odd].map(|of_these| of_these.into_iter().filter_map(|finding| in_words(of, finding)));
    let saturated = of.generator.and_then(warnings::of_saturation);
    let causes = saturated.into_iter().chain(of.stalled.map(WarningKind::GeneratorStalled)).map(|doubt| doubt.message());
    let mut reasons: Vec<String> = Vec::new();
    let decided = of.decided.then(|| "every threshold comes out the same without that".to_owned());
    for reason in causes.chain(little).chain(symptom).chain(odd).chain(of.effect.map(in_figures)).chain(decided) {
        // Two checks may find the same.
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons.join("; ")
}

/// What a check found wrong, for who knows no statistics: its numbers are in the finding. The busiest thread is told as a cause.
fn in_words(of: &Because, finding: &Finding) -> Option<String> {
    let estimate = finding.estimate.unwrap_or(f64::NAN);
    let spaced = |sent: f64, meant: f64| {
        let how = if sent > meant { "more bunched" } else { "more evenly" };
        format!("launches came {how} than was meant")
    };
    Some(match finding.check {
        Check::ConstantGaps => "launches did not come at the even distances that were meant".to_owned(),
        Check::CovAgainstSchedule => spaced(finding.statistic.unwrap_or(f64::NAN), of.meant_cov.unwrap_or(f64::NAN)),
        Check::CovAgainstExpected | Check::ClosedCov => spaced(estimate, of.ask.expected.expected_cov().unwrap_or(f64::NAN)),
        Check::ClosedDispersion => {
            "over longer times the number of launches varied otherwise than so many users make it".to_owned()
        }
        Check::ThinkTime => format!("users thought for {} of the time that was meant", whole_percent(estimate)),
        Check::RateAgainstTarget => format!("{} of the load asked for was launched", whole_percent(estimate)),
        Check::LatenessP99 => format!("one launch in a hundred left {} late or more", span(estimate * 1e3)),
        Check::UnsentShare => format!("{} of the launches were never sent", percent(estimate)),
        _ => return None,
    })
}

/// `92 %`, `120 %`; what is near to all of it gets a digit: `99.4 %`.
fn whole_percent(share: f64) -> String {
    let digits = usize::from((0.95..1.05).contains(&share));
    format!("{:.digits$} %", 100.0 * share)
}

/// How late launches came.
fn punctual(late: &Lateness) -> String {
    match late.max_us {
        max if max > 0.0 => format!("launches came {} late at worst", span(max * 1e3)),
        _ if late.mean_us < 0.0 => "no launch came late, and some left before they were meant".to_owned(),
        _ => "every launch came at the instant it was meant for".to_owned(),
    }
}

/// How much of the figures is the generator's.
fn in_figures(effect: &GeneratorError) -> String {
    in_figure(effect.worst())
}

/// How much of the figure that suffered most is the generator's.
pub(crate) fn in_figure(worst: &PercentileError) -> String {
    match worst.upper_bound() {
        share if share < NOTHING => "nothing of the p99 is the generator's".to_owned(),
        share => format!("at most {} of the p{} is the generator's", percent(share), worst.percentile),
    }
}

/// Two digits: `0.43 %`, `4.3 %`, `43 %`; no more than all.
fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 1.0 => format!("{percent:.2} %"),
        percent if percent < 10.0 => format!("{percent:.1} %"),
        percent => format!("{:.0} %", percent.min(100.0)),
    }
}
