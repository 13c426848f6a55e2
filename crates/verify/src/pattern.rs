//! The arrival pattern of the sent requests, and the reason for it.

use offered_base::time::span;
use offered_stats::bunches::{self, Bunches};

use crate::criteria::Criteria;
use crate::expected_arrivals::ExpectedArrivals;
use crate::stream::Stream;
use crate::verdict::{Check, Finding, Pattern};
use crate::windows;

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

/// Classifies `stream` by the findings of the tests. The criteria decide only what data cannot show: whether the number of requests was
/// fixed.
pub(crate) fn classify(stream: &Stream, findings: &[Finding], criteria: &Criteria) -> Classification {
    let plain = |pattern, reason: String| Classification { pattern, bunches: None, reason };
    if !stream.is_long_enough() {
        return plain(Pattern::TooFewRequests, too_few(stream));
    }
    let cov = stream.corrected_cov.unwrap_or(0.0);
    if cov <= CONSTANT_COV {
        let limits = findings.iter().find(|finding| finding.check == Check::Cov).map(Finding::limits_text);
        let limits = limits.unwrap_or_default();
        return plain(
            Pattern::Constant,
            format!("the gaps between requests are nearly constant (CoV {cov:.2}, {limits})"),
        );
    }
    if !findings.iter().any(Finding::failed) {
        let pattern = if *criteria.expected.arrivals() == ExpectedArrivals::FixedCount {
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
        let reason = format!("requests come in bunches of {:.0}, {when} (limit {MIN_BUNCH_SIZE})", found.size);
        return Classification { pattern: Pattern::Bunched, bunches: Some(found), reason };
    }
    let (pattern, reason) = deviation(stream, findings, criteria);
    plain(pattern, reason)
}

/// The difference of the requests from a Poisson process, by the first failed finding in this order: gaps, trend,
/// counts, order of the gaps.
fn deviation(stream: &Stream, findings: &[Finding], criteria: &Criteria) -> (Pattern, String) {
    let failed = |check| {
        let finding = findings.iter().find(|finding| finding.check == check && finding.failed())?;
        Some((finding.estimate?, finding))
    };
    let side = |is_low| if is_low { Pattern::UnderDispersed } else { Pattern::OverDispersed };
    if let Some((cov, finding)) = failed(Check::Cov) {
        let pattern = side(cov < 1.0);
        let limits = finding.limits_text();
        return (pattern, format!("the gaps between requests are {} (CoV {cov:.2}, {limits})", pattern.text()));
    }
    if let Some((fit, finding)) = failed(Check::GammaFit) {
        let word = if fit < 1.0 { "few" } else { "many" };
        let reason = format!("too {word} gaps are short, compared with those of independent users");
        return (side(fit < 1.0), format!("{reason} (CoV of the gamma fit {fit:.2}, {})", finding.limits_text()));
    }
    if let Some((trend, finding)) = failed(Check::Trend) {
        let way = if trend > 0.0 { "rises" } else { "falls" };
        let limit = 100.0 * finding.limit_high.unwrap_or(f64::NAN);
        let change = 100.0 * trend.abs();
        let reason = format!("the rate {way} by {change:.0} % of its mean during the run (limit {limit:.0} %)");
        return (Pattern::OverDispersed, reason);
    }
    let ladder: Vec<(f64, f64)> = stream.ladder.iter().map(|rung| (rung.window as f64, rung.idc)).collect();
    if let Some((idc, text)) =
        failed(Check::Dispersion).and_then(|(idc, finding)| Some((idc, windows::text(finding, &ladder)?)))
    {
        return (side(idc < 1.0), format!("the number of requests is {text}"));
    }
    if let Some((dispersion, text)) = failed(Check::LowFrequencies)
        .and_then(|(of, finding)| Some((of, windows::text_of_spectrum(finding, stream.length() as f64)?)))
    {
        return (side(dispersion < 1.0), format!("the number of requests is {text}"));
    }
    if let Some((lag, finding)) = failed(Check::RepeatedPattern) {
        let period = span(lag * stream.mean_gap());
        let correlation = finding.statistic.unwrap_or(f64::NAN);
        let limit = 2.0 * criteria.cov_tolerance;
        let reason = format!(
            "the pattern of gaps repeats every {lag:.0} requests ({period}): a sign of fixed timers (correlation {correlation:.2}, limit {limit:.2})"
        );
        return (Pattern::UnderDispersed, reason);
    }
    if let Some((r, finding)) = failed(Check::Spearman).or_else(|| failed(Check::LjungBox)) {
        let word = if r < 0.0 { "negatively" } else { "positively" };
        return (side(r < 0.0), format!("consecutive gaps are {word} correlated ({r:.2}, {})", finding.limits_text()));
    }
    // The remaining deviation is the shape of the distribution of gaps.
    let shape = [Check::KolmogorovSmirnov, Check::AndersonDarling, Check::PoissonCounts].into_iter().find_map(failed);
    let size = shape.map_or_else(String::new, |(distance, finding)| {
        format!(" (distance {distance:.3}, {})", finding.limits_text())
    });
    let reason = "the gaps between requests are not exponentially distributed, as those of independent users are";
    (side(stream.corrected_cov.is_some_and(|cov| cov < 1.0)), format!("{reason}{size}"))
}

/// Why no pattern can be recognised.
fn too_few(stream: &Stream) -> String {
    match stream.requests() {
        0 => "no request was sent in the window".to_owned(),
        1 => "a single request has no gaps".to_owned(),
        n if n <= Pattern::FEWEST_GAPS as u64 => format!("{n} requests are too few to check the pattern of arrivals"),
        n => {
            let ticks = (stream.length() as f64 / stream.tick.max(1.0)).max(1.0);
            format!(
                "{n} requests in {ticks:.0} ticks of {}: timestamps are too coarse to check the pattern of arrivals",
                span(stream.tick)
            )
        }
    }
}
