//! Session starts: tests whether sessions arrive as a Poisson process within blocks of nearly constant rate.
//!
//! The rate of a site depends on the time of day, so gaps are tested within blocks (an hour, or an eighth of a shorter
//! log), as in Paxson and Floyd (1995). Timestamps of whole seconds are first spread over their second
//! (`offered_stats::ticks`).

use offered_base::{Purpose, Seed};
use offered_stats::{cov, dispersion, exponential, ticks};
use serde::{Deserialize, Serialize};

use crate::sessions::Session;
use crate::time::SECOND;

/// Statistics of session starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionStarts {
    /// Mean rate per second.
    pub rate_per_s: f64,
    /// CoV of the gaps, where each gap is divided by the mean of its block; 1 for Poisson arrivals. `null` with too few
    /// starts.
    pub cov: Option<f64>,
    /// Index of dispersion of counts for several windows, within blocks; 1 for Poisson arrivals.
    pub idc: Vec<Idc>,
    /// Length of a block in seconds.
    pub block_s: u64,
    /// Number of blocks with enough starts for the test.
    pub blocks: u64,
    /// Number of blocks with gaps that pass the Anderson-Darling test for exponential gaps at 5 %.
    pub poisson_blocks: u64,
    /// `passed` if about 95 % of the blocks pass, as expected for Poisson arrivals; else `failed`; `not_checked` with
    /// fewer than four blocks.
    pub poisson_result: String,
    /// Number of starts in each block: the rate profile.
    pub starts_per_block: Vec<u32>,
}

/// Index of dispersion of counts for one window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Idc {
    /// Window in seconds.
    pub window_s: u64,
    /// Variance divided by mean of the counts, averaged over blocks.
    pub idc: f64,
}

const HOUR: u64 = 3600;
/// Minimum number of gaps in a block for the test.
const MIN_STARTS: usize = 20;
/// Maximum number of blocks (a leap year of hours); longer logs have longer blocks.
const MAX_BLOCKS: u64 = 8784;

impl SessionStarts {
    /// Computes the statistics of sessions in order of their starts. `span` has the first and the last time, `tick` is
    /// the resolution of timestamps, both in nanoseconds; each session counts `one_in` times.
    pub fn of(sessions: &[Session], span: (i64, i64), tick: i64, one_in: u64) -> Self {
        let length = span.1.saturating_sub(span.0).max(SECOND) as u64;
        let seconds = length.div_ceil(SECOND as u64);
        let block_s = (seconds / 8).clamp(1, HOUR).max(seconds.div_ceil(MAX_BLOCKS));
        let block = block_s * SECOND as u64;
        let instants: Vec<u64> = sessions.iter().map(|session| session.start.saturating_sub(span.0) as u64).collect();
        let mut stream = Seed(1).stream(Purpose::Arrivals);
        let spread = ticks::spread(&instants, tick as u64, || stream.uniform());
        // Gaps are tested within blocks.
        let (mut scaled, mut blocks, mut passed) = (Vec::new(), 0, 0);
        for of_block in spread.chunk_by(|a, b| a / block == b / block) {
            let mut gaps: Vec<f64> = offered_stats::summary::gaps(of_block).map(|gap| gap as f64).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len().max(1) as f64;
            if gaps.len() < MIN_STARTS || mean <= 0.0 {
                continue;
            }
            scaled.extend(gaps.iter().map(|gap| gap / mean));
            gaps.sort_by(f64::total_cmp);
            blocks += 1;
            passed += u64::from(exponential::anderson_darling(&gaps).is_none_or(|test| test.p_value >= 0.05));
        }
        let starts_per_block = dispersion::counts(&instants, 0, length.div_ceil(block) * block, block);
        let windows = [1, 10, 60, 600].into_iter().filter(|window| window * 10 <= block_s);
        Self {
            rate_per_s: (sessions.len() as u64 * one_in) as f64 / (length as f64 / 1e9),
            cov: cov::cov(&scaled),
            idc: windows.filter_map(|window| idc(&instants, block, window)).collect(),
            block_s,
            blocks,
            poisson_blocks: passed,
            poisson_result: poisson_result(blocks, passed).to_owned(),
            starts_per_block: starts_per_block.into_iter().map(|starts| starts.saturating_mul(one_in as u32)).collect(),
        }
    }
}

/// For Poisson arrivals the number of passing blocks is binomial with 95 %; `failed` if it is more than two standard
/// deviations below.
fn poisson_result(blocks: u64, passed: u64) -> &'static str {
    let n = blocks as f64;
    match passed as f64 {
        _ if blocks < 4 => "not_checked",
        few if few < 0.95 * n - 2.0 * (n * 0.95 * 0.05).sqrt() => "failed",
        _ => "passed",
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

/// Number of concurrent sessions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Concurrency {
    /// Mean over the whole log.
    pub mean: f64,
    /// Maximum over the whole log.
    pub peak: u64,
}

impl Concurrency {
    /// Computes the concurrency of sessions in order of their starts, from the first to the last request of each; each
    /// session counts `one_in` times.
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
    fn poisson_starts_pass_and_regular_ones_fail_even_in_whole_seconds() {
        let mut stream = Seed(5).stream(Purpose::Arrivals);
        let mut at = 0.0;
        let poisson: Vec<f64> = (0..9000)
            .map(|_| {
                // The rate increases during the day.
                at += stream.exponential() / (0.05 + 0.2 * at / 72_000.0);
                at.floor()
            })
            .take_while(|at| *at < 72_000.0)
            .collect();
        let found = SessionStarts::of(&sessions(poisson.into_iter()), (0, 72_000 * SECOND), SECOND, 1);
        assert_eq!((found.poisson_result.as_str(), found.block_s), ("passed", 3600), "{found:?}");
        assert!((found.cov.unwrap() - 1.0).abs() < 0.06, "{found:?}");
        assert!(found.idc.iter().all(|idc| (idc.idc - 1.0).abs() < 0.25), "{found:?}");
        let even =
            SessionStarts::of(&sessions((0..7200).map(|i| f64::from(i) * 10.0)), (0, 72_000 * SECOND), SECOND, 1);
        assert_eq!(even.poisson_result, "failed");
        assert!(even.cov.unwrap() < 0.1);
    }

    #[test]
    fn concurrency_counts_sessions_in_progress() {
        let found = Concurrency::of(&sessions([0.0, 10.0, 30.0, 31.0, 100.0].into_iter()), (0, 150 * SECOND), 2);
        assert_eq!((found.mean, found.peak), (2.0, 6));
    }
}
