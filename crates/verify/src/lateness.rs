//! Lateness: sent - scheduled, the error of the generator.

use offered_stats::Summary;

use crate::verdict::{Lateness, Stalls};

/// The lateness that `row` summarises in microseconds; `unsent` other requests were not sent.
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
