//! The reason for a judgement in one sentence, the same on the page of `verify` and on that of a run.

use offered_model::recording::Evidence;

use crate::ask::Ask;
use crate::meant::Meant;
use crate::pattern::Look;
use crate::verdict::{Check, Finding, Judgement, Pattern, Stalls};
use crate::warnings;

/// Why it was judged so: the cause where it is known, then what was seen.
///
/// What was not meant to be Poisson is not told how it differs from Poisson.
pub(crate) fn because(
    ask: &Ask,
    look: &Look,
    intent: &[Finding],
    judgement: Judgement,
    generator: Option<&Evidence>,
    stalled: Option<Stalls>,
) -> String {
    let poisson = ask.meant.is_poisson();
    match judgement {
        Judgement::Fails => {
            let plain = matches!(look.pattern, Pattern::Poisson | Pattern::FixedCountPoisson);
            let symptom = Some(look.because.clone()).filter(|_| poisson && !plain);
            let fails = |finding: &&Finding| finding.judgement == Judgement::Fails && finding.check != Check::Busy;
            let failing = intent.iter().filter(fails).map(in_words);
            let saturated = generator.and_then(warnings::saturated);
            let reasons =
                saturated.into_iter().chain(stalled.iter().map(warnings::stood_still)).chain(symptom).chain(failing);
            reasons.collect::<Vec<_>>().join("; ")
        }
        Judgement::Holds if !poisson => format!("the launches are what was meant ({})", ask.meant.name()),
        Judgement::NotChecked if matches!(ask.meant.arrivals(), Meant::Other(_)) && look.pattern != Pattern::TooFew => {
            format!("the launches cannot be held to what was meant ({})", ask.meant.name())
        }
        _ => look.because.clone(),
    }
}

fn in_words(finding: &Finding) -> String {
    let estimate = finding.estimate.unwrap_or(f64::NAN);
    if estimate >= 100.0 {
        format!("{} is {estimate:.0}", finding.check.name())
    } else {
        format!("{} is {estimate:.3}", finding.check.name())
    }
}
