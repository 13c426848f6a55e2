//! The reason for a judgement in one sentence, the same on the page of `verify` and on that of a run.

use offered_model::recording::Evidence;

use crate::ask::Ask;
use crate::effect::{Effect, Share};
use crate::meant::Meant;
use crate::pattern::{Look, span};
use crate::verdict::{Check, Finding, Judgement, Lateness, Pattern, Stalls};
use crate::warnings::{self, Doubt};

/// A share below this is nothing: a tenth of a per cent would be shown as 0.0.
const NOTHING: f64 = 5e-4;

/// What the sentence is made of.
pub(crate) struct Because<'a> {
    pub(crate) ask: &'a Ask,
    pub(crate) look: &'a Look,
    pub(crate) intent: &'a [Finding],
    pub(crate) judgement: Judgement,
    pub(crate) generator: Option<&'a Evidence>,
    /// Launches left otherwise than they were meant to.
    pub(crate) spoilt: bool,
    /// The machine stood still, and that is what spoilt the launches.
    pub(crate) stalled: Option<Stalls>,
    pub(crate) lateness: Option<&'a Lateness>,
    /// Where it says something of the judgement.
    pub(crate) effect: Option<&'a Effect>,
}

/// Why it was judged so: the cause where it is known, then what was seen, then what it did to the figures.
///
/// What was not meant to be Poisson is not told how it differs from Poisson.
pub(crate) fn because(of: &Because) -> String {
    let Because { ask, look, judgement, .. } = of;
    match judgement {
        Judgement::Fails => spoilt(of),
        Judgement::HoldsWithDoubt if of.spoilt => spoilt(of),
        Judgement::Holds | Judgement::HoldsWithDoubt => match of.lateness {
            Some(late) => {
                let effect = of.effect.map_or_else(|| as_meant(ask, look), in_figures);
                format!("{}; {effect}", punctual(late))
            }
            None => as_meant(ask, look),
        },
        Judgement::NotChecked if matches!(ask.meant.arrivals(), Meant::Other(_)) && look.pattern != Pattern::TooFew => {
            format!("the launches cannot be held to what was meant ({})", ask.meant.name())
        }
        Judgement::NotChecked => look.because.clone(),
    }
}

fn as_meant(ask: &Ask, look: &Look) -> String {
    if ask.meant.is_poisson() {
        look.because.clone()
    } else {
        format!("the launches are what was meant ({})", ask.meant.name())
    }
}

/// What was not as meant.
fn spoilt(of: &Because) -> String {
    let plain = matches!(of.look.pattern, Pattern::Poisson | Pattern::FixedCountPoisson);
    let symptom = Some(of.look.because.clone()).filter(|_| of.ask.meant.is_poisson() && !plain);
    let failing = of.intent.iter().filter(|finding| finding.fails() && finding.check != Check::Busy).map(in_words);
    let saturated = of.generator.and_then(warnings::of_saturation);
    let causes = saturated.into_iter().chain(of.stalled.map(Doubt::Stalled)).map(|doubt| doubt.words());
    let reasons = causes.chain(symptom).chain(failing).chain(of.effect.map(in_figures));
    reasons.collect::<Vec<_>>().join("; ")
}

fn in_words(finding: &Finding) -> String {
    let estimate = finding.estimate.unwrap_or(f64::NAN);
    if estimate >= 100.0 {
        format!("{} is {estimate:.0}", finding.check.name())
    } else {
        format!("{} is {estimate:.3}", finding.check.name())
    }
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
fn in_figures(effect: &Effect) -> String {
    in_figure(effect.worst())
}

/// How much of the figure that suffered most is the generator's.
pub(crate) fn in_figure(worst: &Share) -> String {
    match worst.at_most() {
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
