//! The arrival pattern of the sent requests, and the reason for it.

use offered_base::time::span;
use offered_stats::bunches::{self, Bunches};

use crate::expected_arrivals::ExpectedArrivals;
use crate::stream::Stream;
use crate::verdict::{Check, CheckResult, Finding, Pattern};

/// Gaps with a CoV up to this count as constant, jitter included.
pub(crate) const CONSTANT_COV: f64 = 0.25;
/// From this mean number of requests at a time on, they are bunched.
const MIN_BUNCH_SIZE: f64 = 1.5;

/// The arrival pattern, with the bunches if it is bunched.
#[derive(Clone)]
pub(crate) struct Classification {
    pub(crate) pattern: Pattern,
    pub(crate) bunches: Option<Bunches>,
    pub(crate) reason: String,
}

/// Classifies `stream` by the findings of the tests. `meant` decides only what data cannot show: whether the number of
/// requests was fixed.
pub(crate) fn classify(stream: &Stream, findings: &[Finding], expected: &ExpectedArrivals) -> Classification {
    let plain = |pattern, reason: String| Classification { pattern, bunches: None, reason };
    if !stream.is_long_enough() {
        return plain(Pattern::TooFewRequests, too_few(stream));
    }
    let failed = |check| findings.iter().find(|f| f.check == check && f.result == CheckResult::Failed);
    let cov = stream.corrected_cov.unwrap_or(0.0);
    if cov <= CONSTANT_COV {
        return plain(Pattern::Constant, "the gaps between requests are nearly constant".to_owned());
    }
    if findings.iter().all(|finding| finding.result != CheckResult::Failed) {
        let pattern = if *expected.arrivals() == ExpectedArrivals::FixedCount {
            Pattern::PoissonFixedCount
        } else {
            Pattern::Poisson
        };
        let tested = match stream.ladder.last() {
            Some(longest) => format!("gap by gap and in counts over up to {}", span(longest.window as f64)),
            None => "gap by gap; the run is too short for counts".to_owned(),
        };
        let reason = "the requests are indistinguishable from those of independent users (Poisson)";
        return plain(pattern, format!("{reason}, {tested}"));
    }
    if let Some(found) = bunches::find(&stream.neighbours).filter(|found| found.size >= MIN_BUNCH_SIZE) {
        let when = if found.spacing_cov < 0.5 {
            format!("every {}", span(found.every))
        } else {
            format!("at irregular times, {} apart in the median", span(found.every))
        };
        let reason = format!("requests come in bunches of {:.0}, {when}", found.size);
        return Classification { pattern: Pattern::Bunched, bunches: Some(found), reason };
    }
    // In this order: gaps, counts, the other tests.
    if let Some(cov) = failed(Check::Cov).and_then(|finding| finding.estimate) {
        let (pattern, how) = if cov < 1.0 {
            (Pattern::UnderDispersed, "under-dispersed")
        } else {
            (Pattern::OverDispersed, "over-dispersed")
        };
        return plain(pattern, format!("the gaps between requests are {how} (CoV {cov:.2}; independent users: 1)"));
    }
    if let Some(fit) = failed(Check::GammaFit).and_then(|finding| finding.estimate) {
        let (pattern, word) =
            if fit < 1.0 { (Pattern::UnderDispersed, "few") } else { (Pattern::OverDispersed, "many") };
        let reason = format!("too {word} gaps are short, compared with those of independent users");
        return plain(pattern, reason);
    }
    if let Some(trend) = failed(Check::Trend).and_then(|finding| finding.estimate) {
        let way = if trend > 0.0 { "rises" } else { "falls" };
        let reason = format!("the rate {way} by {:.0} % of its mean during the run", 100.0 * trend.abs());
        return plain(Pattern::OverDispersed, reason);
    }
    if let Some(idc) = failed(Check::Dispersion).and_then(|finding| finding.estimate) {
        return if idc < 1.0 {
            let reason = "gap by gap the requests are indistinguishable from those of independent users, but over longer times their number \
                           is under-dispersed: a closed or paced generator";
            plain(Pattern::UnderDispersed, reason.to_owned())
        } else {
            plain(
                Pattern::OverDispersed,
                "over longer times the number of requests is over-dispersed: bursts, or a varying rate".to_owned(),
            )
        };
    }
    if let Some(lag) = failed(Check::RepeatedPattern).and_then(|finding| finding.estimate) {
        let period = span(lag * stream.mean_gap());
        let reason = format!("the pattern of gaps repeats every {lag:.0} requests ({period}): fixed timers");
        return plain(Pattern::UnderDispersed, reason);
    }
    for check in [Check::Spearman, Check::LjungBox] {
        if let Some(r) = failed(check).and_then(|finding| finding.estimate) {
            let (pattern, word) =
                if r < 0.0 { (Pattern::UnderDispersed, "negatively") } else { (Pattern::OverDispersed, "positively") };
            return plain(pattern, format!("consecutive gaps are {word} correlated"));
        }
    }
    // The remaining deviation is the shape of the distribution of gaps.
    let pattern = if cov < 1.0 { Pattern::UnderDispersed } else { Pattern::OverDispersed };
    plain(
        pattern,
        "the gaps between requests are not exponentially distributed, as those of independent users are".to_owned(),
    )
}

/// Why no pattern can be recognised.
fn too_few(stream: &Stream) -> String {
    match stream.requests() {
        0 => "no request was sent in the window".to_owned(),
        1 => "a single request has no gaps".to_owned(),
        n if n <= Pattern::FEWEST_GAPS as u64 => format!("{n} requests are too few to recognise a pattern"),
        n => {
            let ticks = (stream.length() as f64 / stream.tick.max(1.0)).max(1.0);
            format!(
                "{n} requests in {ticks:.0} ticks of {}: timestamps are too coarse to recognise a pattern",
                span(stream.tick)
            )
        }
    }
}
