//! The dispersion of counts for a ladder of window lengths, from a millisecond to a twentieth of the run.

use offered_base::time::span;
use offered_stats::dispersion::Dispersion;
use offered_stats::windows::DispersionCounter;

use crate::ends::Ends;
use crate::finding::{EffectSize, Strictness};
use crate::verdict::{Check, Finding};

/// The share of the significance level; the other shares are in `poisson.rs`.
const LEVEL_SHARE: f64 = 0.06;
/// Minimum number of windows of a length.
pub(crate) const MIN_WINDOWS: u64 = 20;
/// Minimum mean number of requests in a window.
const MIN_MEAN_COUNT: f64 = 0.25;

/// Counts for every window length (1, 2, 5 times a power of ten) that a stream is long enough for.
#[derive(Default)]
pub(crate) struct Ladder(Vec<DispersionCounter>);

impl Ladder {
    /// For a stream with these ends.
    pub(crate) fn new(ends: Ends, tick: u64) -> Self {
        // Windows start at a tick, so that no tick is divided.
        let (from, length) = (ends.first / tick * tick, ends.length());
        let decades = (6..15).map(|power| 10u64.pow(power));
        let rungs = decades
            .flat_map(|decade| [decade, 2 * decade, 5 * decade])
            .skip_while(|&window| window < tick || (window as f64) < MIN_MEAN_COUNT * ends.mean_gap())
            .take_while(|&window| window <= length / MIN_WINDOWS);
        Self(rungs.map(|window| DispersionCounter::new(from, from + length, window)).collect())
    }

    /// Adds a sent time, in nanoseconds.
    #[inline]
    pub(crate) fn add(&mut self, at: u64) {
        self.0.iter_mut().for_each(|rung| rung.add(at));
    }

    pub(crate) fn finish(self) -> Vec<Dispersion> {
        self.0.into_iter().filter_map(DispersionCounter::finish).collect()
    }
}

/// Is the index of dispersion 1 for every window length? The most significant length whose effect matters decides; its
/// p-value is multiplied by the number of lengths.
pub(crate) fn finding(ladder: &[Dispersion], strictness: Strictness) -> Finding {
    // With independent gaps the index is the squared CoV of the gaps, so its tolerance is twice that of a CoV.
    let matters = |rung: &&Dispersion| (rung.idc - 1.0).abs() > 2.0 * strictness.tolerance;
    let worst = |a: &&Dispersion, b: &&Dispersion| a.test.p_value.total_cmp(&b.test.p_value);
    let rung = ladder.iter().filter(matters).min_by(worst).or_else(|| ladder.iter().min_by(worst));
    let test = rung
        .map(|rung| offered_stats::Test { p_value: (rung.test.p_value * ladder.len() as f64).min(1.0), ..rung.test });
    let effect = rung.map_or_else(EffectSize::default, |rung| {
        EffectSize::of(rung.idc, 1.0, 2.0 * strictness.tolerance).with_interval(rung.interval)
    });
    strictness.finding(Check::Dispersion, test, LEVEL_SHARE, effect)
}

/// The result of a dispersion finding in words: `under-dispersed over 10.0 s and more: a finite population (IDC 0.35, tolerated: 0.90 to 1.10)`.
/// `ladder` has the index for each window length in nanoseconds, ascending. `None` if the estimate of the finding is within its limits.
///
/// The counts of a finite population are under-dispersed over times in which a user returns: a user who has just sent a request thinks first.
pub(crate) fn text(finding: &Finding, ladder: &[(f64, f64)]) -> Option<String> {
    let (idc, low, high) = (finding.estimate?, finding.limit_low?, finding.limit_high?);
    let (what, cause) = direction(finding)?;
    let is_out = |of: &&(f64, f64)| if idc < low { of.1 < low } else { of.1 > high };
    let decisive = ladder.iter().position(|(_, of_window)| *of_window == idc)?;
    let first = decisive + 1 - ladder[..=decisive].iter().rev().take_while(is_out).count();
    let last = decisive + ladder[decisive..].iter().take_while(is_out).count() - 1;
    let from = span(ladder[first].0);
    let over = match ladder.len() - 1 {
        end if end == last => format!("{from} and more"),
        _ if first == last => from,
        _ => format!("{from} to {}", span(ladder[last].0)),
    };
    Some(format!("{what} over {over}: {cause} (IDC {idc:.2}, {})", finding.limits_text()))
}

/// The same of the dispersion at the lowest frequencies of requests over `length_ns`.
pub(crate) fn text_of_spectrum(finding: &Finding, length_ns: f64) -> Option<String> {
    let (dispersion, sum) = (finding.estimate?, finding.statistic?);
    let (what, cause) = direction(finding)?;
    // The sum has two degrees of freedom for each frequency. Half a period of the highest of them is the shortest time.
    let frequencies = sum / dispersion / 2.0;
    let from = span(length_ns / frequencies / 2.0);
    let limits = finding.limits_text();
    Some(format!("{what} over {from} and more: {cause} (dispersion of slow changes {dispersion:.2}, {limits})"))
}

/// Whether the estimate is below or above its limits, with the likely cause.
pub(crate) fn direction(finding: &Finding) -> Option<(&'static str, &'static str)> {
    match finding.estimate? {
        estimate if estimate < finding.limit_low? => Some(("under-dispersed", "a finite population")),
        estimate if estimate > finding.limit_high? => Some(("over-dispersed", "bursts, or a varying rate")),
        _ => None,
    }
}
