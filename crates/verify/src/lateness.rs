//! Lateness: sent - intended, what the generator did wrong.

use offered_stats::Summary;

use crate::verdict::{Lateness, Stalls};

/// How late the launches were that `row` summarises in us, `unsent` others were not sent at all.
pub(crate) fn lateness(row: &Summary, unsent: u64, stalls: Option<Stalls>) -> Lateness {
    Lateness {
        n: row.n as u64,
        mean_us: row.mean,
        p50_us: row.median,
        p90_us: row.p90,
        p99_us: row.p99,
        max_us: row.max,
        unsent,
        stalls,
    }
}
