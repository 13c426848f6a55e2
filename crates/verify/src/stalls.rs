//! Stalls: times in which the generator stood still, told from the launches that were late together.
//!
//! A thread that is not scheduled sends everything meant for that time when it wakes up. Such launches are late by much more
//! than usual, and their spans from intended to sent overlap. A generator that is merely too slow has no usual lateness to
//! stand out from, and no stalls.

use offered_model::Nanos;

use crate::scope::Scope;
use crate::verdict::Stalls;

/// A launch is late when it is later than this,
const LATE: Nanos = Nanos::from_millis(1);
/// and later than so many times the median.
const USUAL: u64 = 20;

/// The stalls among the launches of `scope`, whose median lateness is `usual`; `None` when there are none.
pub(crate) fn stalls(scope: Scope, usual: Nanos) -> Option<Stalls> {
    let least = LATE.0.max(usual.0.saturating_mul(USUAL));
    let mut late: Vec<(u64, u64)> = scope
        .launches()
        .map(|(sent, event)| (event.intended.0, sent))
        .filter(|(intended, sent)| sent.saturating_sub(*intended) > least)
        .collect();
    late.sort_unstable();
    let (mut count, mut longest, mut end) = (0, 0, 0);
    let mut start = 0;
    for &(intended, sent) in &late {
        if count == 0 || intended > end {
            (start, count) = (intended, count + 1);
        }
        end = end.max(sent);
        longest = longest.max(end - start);
    }
    (count > 0).then(|| Stalls { count, launches: late.len() as u64, longest_ms: Nanos(longest).as_millis_f64() })
}
