//! The CoV by number of threads: Figures 15 and 16 of Brady and Gunther.
//!
//! One thread is under-dispersed; the superposition of many approaches a Poisson process. The requests of the first 1,
//! 2, ... threads, in the order of their numbers, show how many are needed.

use std::collections::{BTreeSet, HashMap};
use std::io;

use offered_events::Event;
use offered_stats::order::Key;
use offered_stats::values::Moments;

use crate::scope::Scope;
use crate::verdict::ThreadStats;

/// The numbers of threads to show, out of `n`: 1 to 10, in steps of 5 to 50, in steps of 25 to 500, then in steps of
/// 500, and `n` itself.
fn ladder(n: usize) -> Vec<usize> {
    let steps = (1..=10).chain((15..=50).step_by(5)).chain((75..=500).step_by(25)).chain((1000..).step_by(500));
    steps.take_while(|&k| k < n).chain([n]).collect()
}

/// The sent time and the thread of a request.
#[derive(Clone, Copy)]
struct ThreadRequest {
    sent: u64,
    thread: usize,
}

impl Key for ThreadRequest {
    type Rank = u64;

    fn rank(&self) -> u64 {
        self.sent
    }
}

/// The requests of the first `threads` threads, in the order of their sent times.
struct Group {
    threads: usize,
    requests: u64,
    before: Option<u64>,
    gaps: Moments,
}

/// One row per number of threads; empty if the recording has no threads.
pub(crate) fn by_threads(scope: Scope) -> io::Result<Vec<ThreadStats>> {
    if !scope.recording.sessions_known {
        return Ok(Vec::new());
    }
    let mut threads = BTreeSet::new();
    scope.each_sent(|_, event| threads.extend([event.session]))?;
    if threads.is_empty() {
        return Ok(Vec::new());
    }
    let rank: HashMap<u64, usize> = threads.iter().copied().zip(0..).collect();
    let group = |threads| Group { threads, requests: 0, before: None, gaps: Moments::default() };
    let fresh = || ladder(threads.len()).into_iter().map(group).collect::<Vec<Group>>();
    let key = |sent, event: &Event| ThreadRequest { sent, thread: rank[&event.session] };
    let groups = scope.in_order_by(key, fresh, |groups, ThreadRequest { sent, thread }| {
        let first = groups.partition_point(|group| group.threads <= thread);
        for group in &mut groups[first..] {
            group.requests += 1;
            if let Some(before) = group.before.replace(sent) {
                group.gaps.add(sent - before, 1);
            }
        }
    })?;
    let row = |Group { threads, requests: launches, gaps, .. }: Group| {
        if gaps.n < 2 || gaps.sum == 0 {
            return None;
        }
        let (mean_ms, cov) = (gaps.mean() / 1e6, gaps.sdev() / gaps.mean());
        let (rate_per_s, sdev_ms) = (1e3 / mean_ms, cov * mean_ms);
        Some(ThreadStats { threads: threads as u64, requests: launches, rate_per_s, mean_ms, sdev_ms, cov })
    };
    Ok(groups.into_iter().filter_map(row).collect())
}
