//! Lateness: sent - intended, what the generator did wrong.

use offered_model::Nanos;
use offered_stats::Summary;

use crate::scope::Scope;
use crate::stalls::stalls;
use crate::verdict::Lateness;

/// How late the launches were. `None` when what was intended is not known, or nothing was sent.
pub(crate) fn lateness(scope: Scope) -> Option<Lateness> {
    if !scope.recording.intent_known {
        return None;
    }
    let mut late: Vec<i64> = scope.launches().filter_map(|(_, event)| Some(event.lateness()?.0)).collect();
    late.sort_unstable();
    let row = Summary::of_sorted(&late, 1e3)?;
    let usual = Nanos((row.median * 1e3) as u64);
    Some(Lateness {
        n: row.n as u64,
        mean_us: row.mean,
        p50_us: row.median,
        p90_us: row.p90,
        p99_us: row.p99,
        max_us: row.max,
        unsent: scope.meant().filter(|event| event.sent.is_none()).count() as u64,
        stalls: stalls(scope, usual),
    })
}
