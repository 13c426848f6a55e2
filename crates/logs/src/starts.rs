//! Session starts: are the arrivals of sessions a Poisson process, in blocks short enough for the rate to be steady?
//!
//! The rate of a site follows the clock, so gaps are judged within blocks (an hour, or an eighth of a shorter log), as Paxson
//! and Floyd (1995) did. Stamps of whole seconds are spread over their second first (`offered_stats::ticks`).

use offered_model::{Purpose, Seed};
use offered_stats::{cov, dispersion, exponential, ticks};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sessions::Session;
use crate::time::SECOND;

/// When sessions start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Starts {
    /// Over the whole span.
    pub rate_per_s: f64,
    /// The CoV of the gaps, each in units of its block's mean; 1 for Poisson arrivals. `None` with too few.
    pub cov: Option<f64>,
    /// Variance over mean of counts in windows, within blocks; 1 for Poisson arrivals.
    pub idc: Vec<Idc>,
    /// The length of a block.
    pub block_s: u64,
    /// Blocks with enough starts to judge.
    pub blocks: u64,
    /// Blocks whose gaps the Anderson-Darling test takes for exponential at 5 %.
    pub poisson_blocks: u64,
    /// `holds`, `fails` or `not checked`: about 95 % of the blocks pass, as Poisson arrivals would.
    pub poisson: String,
    /// Starts in each block from the first on: the rate profile.
    pub profile: Vec<u32>,
}

/// Dispersion at one window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Idc {
    /// The window.
    pub window_s: u64,
    /// Averaged over blocks.
    pub idc: f64,
}

const HOUR: u64 = 3600;
/// Fewer starts in a block are not judged.
const ENOUGH: usize = 20;
/// A profile longer than this (a year of hours) is cut into longer blocks.
const MOST_BLOCKS: u64 = 8784;

impl Starts {
    /// Of sessions in order of their starts, over `span` nanoseconds from the first line on, stamped in ticks of `tick`, each
    /// standing for `one_in`.
    pub fn of(sessions: &[Session], span: (i64, i64), tick: i64, one_in: u64) -> Self {
        let length = span.1.saturating_sub(span.0).max(SECOND) as u64;
        let seconds = length.div_ceil(SECOND as u64);
        let block_s = (seconds / 8).clamp(1, HOUR).max(seconds.div_ceil(MOST_BLOCKS));
        let block = block_s * SECOND as u64;
        let instants: Vec<u64> = sessions.iter().map(|session| session.start.saturating_sub(span.0) as u64).collect();
        let mut stream = Seed(1).stream(Purpose::Arrivals);
        let spread = ticks::spread(&instants, tick as u64, || stream.uniform());
        // Only whole blocks are judged; the profile has the last one too.
        let (mut scaled, mut blocks, mut passed) = (Vec::new(), 0, 0);
        for of_block in spread.chunk_by(|a, b| a / block == b / block) {
            let mut gaps: Vec<f64> = offered_stats::summary::gaps(of_block).map(|gap| gap as f64).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len().max(1) as f64;
            if gaps.len() < ENOUGH || mean <= 0.0 {
                continue;
            }
            scaled.extend(gaps.iter().map(|gap| gap / mean));
            gaps.sort_by(f64::total_cmp);
            blocks += 1;
            passed += u64::from(exponential::anderson_darling(&gaps).is_none_or(|test| test.p >= 0.05));
        }
        let profile = dispersion::counts(&instants, 0, length.div_ceil(block) * block, block);
        let windows = [1, 10, 60, 600].into_iter().filter(|window| window * 10 <= block_s);
        Self {
            rate_per_s: (sessions.len() as u64 * one_in) as f64 / (length as f64 / 1e9),
            cov: cov::cov(&scaled),
            idc: windows.filter_map(|window| idc(&instants, block, window)).collect(),
            block_s,
            blocks,
            poisson_blocks: passed,
            poisson: judged(blocks, passed).to_owned(),
            profile: profile.into_iter().map(|starts| starts.saturating_mul(one_in as u32)).collect(),
        }
    }
}

/// Under Poisson arrivals passes are binomial with 95 %: more than two standard deviations below is too few.
fn judged(blocks: u64, passed: u64) -> &'static str {
    let n = blocks as f64;
    match passed as f64 {
        _ if blocks < 4 => "not checked",
        few if few < 0.95 * n - 2.0 * (n * 0.95 * 0.05).sqrt() => "fails",
        _ => "holds",
    }
}

fn idc(instants: &[u64], block: u64, window_s: u64) -> Option<Idc> {
    let window = window_s * SECOND as u64;
    let (mut sum, mut windows) = (0.0, 0.0);
    for of_block in instants.chunk_by(|a, b| a / block == b / block) {
        let from = of_block[0] / block * block;
        let counts = dispersion::counts(of_block, from, from + block, window);
        if let Some(found) = dispersion::dispersion(&counts, window) {
            sum += found.idc * found.windows as f64;
            windows += found.windows as f64;
        }
    }
    (windows > 0.0).then(|| Idc { window_s, idc: sum / windows })
}

/// Sessions in progress.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Concurrency {
    /// Over the whole span.
    pub mean: f64,
    /// The most at one instant.
    pub peak: u64,
}

impl Concurrency {
    /// Of sessions in order of their starts, each standing for `one_in`, in progress from its first request to its last.
    pub fn of(sessions: &[Session], span: (i64, i64), one_in: u64) -> Self {
        let mut ends: Vec<i64> = sessions.iter().map(|session| session.end).collect();
        ends.sort_unstable();
        let (mut ended, mut peak) = (0, 0);
        for (i, session) in sessions.iter().enumerate() {
            while ends[ended] < session.start {
                ended += 1;
            }
            peak = peak.max(i + 1 - ended);
        }
        let busy: f64 = sessions.iter().map(|session| session.end.saturating_sub(session.start) as f64).sum();
        let mean = busy / (span.1.saturating_sub(span.0).max(1) as f64);
        Self { mean: mean * one_in as f64, peak: peak as u64 * one_in }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions(starts: impl Iterator<Item = f64>) -> Vec<Session> {
        starts
            .map(|start| (start * 1e9) as i64)
            .map(|start| Session { start, end: start + 30 * SECOND, requests: 2 })
            .collect()
    }

    #[test]
    fn poisson_starts_hold_and_even_ones_fail_even_in_whole_seconds() {
        let mut stream = Seed(5).stream(Purpose::Arrivals);
        let mut at = 0.0;
        let poisson: Vec<f64> = (0..9000)
            .map(|_| {
                // A rate that grows through the day.
                at += stream.exponential() / (0.05 + 0.2 * at / 72_000.0);
                at.floor()
            })
            .take_while(|at| *at < 72_000.0)
            .collect();
        let found = Starts::of(&sessions(poisson.into_iter()), (0, 72_000 * SECOND), SECOND, 1);
        assert_eq!((found.poisson.as_str(), found.block_s), ("holds", 3600), "{found:?}");
        assert!((found.cov.unwrap() - 1.0).abs() < 0.06, "{found:?}");
        assert!(found.idc.iter().all(|idc| (idc.idc - 1.0).abs() < 0.25), "{found:?}");
        let even = Starts::of(&sessions((0..7200).map(|i| f64::from(i) * 10.0)), (0, 72_000 * SECOND), SECOND, 1);
        assert_eq!(even.poisson, "fails");
        assert!(even.cov.unwrap() < 0.1);
    }

    #[test]
    fn concurrency_counts_sessions_in_progress() {
        let found = Concurrency::of(&sessions([0.0, 10.0, 30.0, 31.0, 100.0].into_iter()), (0, 150 * SECOND), 2);
        assert_eq!((found.mean, found.peak), (2.0, 6));
    }
}
