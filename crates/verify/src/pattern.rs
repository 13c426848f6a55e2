//! The pattern: one word for what the launches look like, and the reason for it.

use offered_model::time::span;
use offered_stats::bunches::{self, Bunches};

use crate::expected_arrivals::ExpectedArrivals;
use crate::stream::Stream;
use crate::verdict::{Check, Finding, CheckResult, Pattern};

/// Gaps with a CoV up to this are a clock's, jitter and all.
pub(crate) const CLOCKWORK: f64 = 0.25;
/// From so many launches at a time on they are bunches.
const BUNCH: f64 = 1.5;

/// What the launches look like, with the bunches where that is it.
pub(crate) struct Look {
    pub(crate) pattern: Pattern,
    pub(crate) bunches: Option<Bunches>,
    pub(crate) because: String,
}

/// The pattern of `stream`, given what the tests found. `meant` matters only where data cannot tell: whether a number was fixed.
pub(crate) fn look(stream: &Stream, findings: &[Finding], meant: &ExpectedArrivals) -> Look {
    let plain = |pattern, because: String| Look { pattern, bunches: None, because };
    if !stream.is_long_enough() {
        return plain(Pattern::TooFewRequests, too_few(stream));
    }
    let fails = |check| findings.iter().find(|f| f.check == check && f.result == CheckResult::Failed);
    let cov = stream.corrected_cov.unwrap_or(0.0);
    if cov <= CLOCKWORK {
        return plain(Pattern::Constant, "launches come at even distances, as a clock would make them".to_owned());
    }
    if findings.iter().all(|finding| finding.result != CheckResult::Failed) {
        let pattern =
            if *meant.arrivals() == ExpectedArrivals::FixedCount { Pattern::PoissonFixedCount } else { Pattern::Poisson };
        return plain(pattern, "the launches pass for those of independent users".to_owned());
    }
    if let Some(found) = bunches::find(&stream.neighbours).filter(|found| found.size >= BUNCH) {
        let when = if found.spacing_cov < 0.5 {
            format!("every {}", span(found.every))
        } else {
            format!("at irregular times, {} apart in the median", span(found.every))
        };
        let because = format!("launches come in bunches of {:.0}, {when}", found.size);
        return Look { pattern: Pattern::Bunched, bunches: Some(found), because };
    }
    // The gaps speak first, then the counts, then the rest.
    if let Some(cov) = fails(Check::Cov).and_then(|finding| finding.estimate) {
        let (pattern, how) =
            if cov < 1.0 { (Pattern::UnderDispersed, "more evenly") } else { (Pattern::OverDispersed, "more in bursts") };
        return plain(pattern, format!("launches come {how} than those of independent users would"));
    }
    if let Some(fit) = fails(Check::GammaFit).and_then(|finding| finding.estimate) {
        let (pattern, word) = if fit < 1.0 { (Pattern::UnderDispersed, "few") } else { (Pattern::OverDispersed, "many") };
        let because = format!("too {word} launches follow close upon another for those of independent users");
        return plain(pattern, because);
    }
    if let Some(trend) = fails(Check::Trend).and_then(|finding| finding.estimate) {
        let way = if trend > 0.0 { "rises" } else { "falls" };
        let because = format!("the rate {way} by {:.0} % of its mean in the course of the run", 100.0 * trend.abs());
        return plain(Pattern::OverDispersed, because);
    }
    if let Some(idc) = fails(Check::Dispersion).and_then(|finding| finding.estimate) {
        return if idc < 1.0 {
            let because = "from one launch to the next they pass for those of independent users, but over longer times their \
                           number varies too little: a closed or paced generator";
            plain(Pattern::UnderDispersed, because.to_owned())
        } else {
            plain(
                Pattern::OverDispersed,
                "over longer times the number of launches varies too much for independent users: bursts, or an unsteady rate"
                    .to_owned(),
            )
        };
    }
    if let Some(lag) = fails(Check::RepeatedPattern).and_then(|finding| finding.estimate) {
        let period = span(lag * stream.mean_gap());
        let because = format!("the launches repeat their pattern every {lag:.0} of them ({period}): fixed timers");
        return plain(Pattern::UnderDispersed, because);
    }
    for check in [Check::Spearman, Check::LjungBox] {
        if let Some(r) = fails(check).and_then(|finding| finding.estimate) {
            let (pattern, word) =
                if r < 0.0 { (Pattern::UnderDispersed, "evened out by") } else { (Pattern::OverDispersed, "much like") };
            return plain(pattern, format!("launches depend on each other: a pause between two is {word} the next"));
        }
    }
    // What is left is the shape of the gaps' law.
    let pattern = if cov < 1.0 { Pattern::UnderDispersed } else { Pattern::OverDispersed };
    plain(pattern, "the pauses between launches are spread otherwise than those of independent users".to_owned())
}

/// Why no pattern can be told.
fn too_few(stream: &Stream) -> String {
    match stream.launches() {
        0 => "no launch lies in the window".to_owned(),
        1 => "one launch has no gaps".to_owned(),
        n if n <= Pattern::FEWEST_GAPS as u64 => format!("{n} launches are too few to tell a pattern"),
        n => {
            let ticks = (stream.length() as f64 / stream.tick.max(1.0)).max(1.0);
            format!(
                "{n} launches in {ticks:.0} ticks of a clock of {}: too coarse to tell a pattern",
                span(stream.tick)
            )
        }
    }
}
