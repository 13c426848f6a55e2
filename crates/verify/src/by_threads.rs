//! The CoV against the number of threads: Figures 15 and 16 of Brady and Gunther.
//!
//! One thread launches too evenly for a Poisson process; the superposition of many comes near one. The launches of the first 1,
//! 2, ... threads, in the order of their numbers, show how many it takes.

use offered_stats::cov::cov;
use offered_stats::summary::gaps;

use crate::scope::Scope;
use crate::verdict::Threads;

/// The sizes shown for `n` threads: 1 to 10, by 5 to 50, by 25 to 500, then by 500, and `n` itself.
fn ladder(n: usize) -> Vec<usize> {
    let steps = (1..=10).chain((15..=50).step_by(5)).chain((75..=500).step_by(25)).chain((1000..).step_by(500));
    steps.take_while(|&k| k < n).chain([n]).collect()
}

/// A row per size of the thread group. Empty when the recording does not know its threads.
pub(crate) fn by_threads(scope: Scope) -> Vec<Threads> {
    if !scope.recording.sessions_known {
        return Vec::new();
    }
    let mut launches: Vec<(u64, u64)> = scope.launches().map(|(sent, event)| (sent, event.session)).collect();
    launches.sort_unstable();
    let mut threads: Vec<u64> = launches.iter().map(|&(_, thread)| thread).collect();
    threads.sort_unstable();
    threads.dedup();
    if threads.is_empty() {
        return Vec::new();
    }
    let of_first = |k: usize| {
        let of_them = launches.iter().filter(|&&(_, thread)| thread <= threads[k - 1]);
        let sent: Vec<u64> = of_them.map(|&(sent, _)| sent).collect();
        let apart: Vec<f64> = gaps(&sent).map(|gap| gap as f64 / 1e6).collect();
        let mean_ms = apart.iter().sum::<f64>() / apart.len() as f64;
        let cov = cov(&apart)?;
        let (launches, rate_per_s, sdev_ms) = (sent.len() as u64, 1e3 / mean_ms, cov * mean_ms);
        Some(Threads { threads: k as u64, launches, rate_per_s, mean_ms, sdev_ms, cov })
    };
    ladder(threads.len()).into_iter().filter_map(of_first).collect()
}
