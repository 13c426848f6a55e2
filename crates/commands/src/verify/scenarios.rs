//! The scenarios of a run, side by side.

use std::fmt::{self, Formatter};

use offered_base::count;
use offered_verify::Verdict;

use crate::table::{Table, clipped, maybe};

/// Writes a row per scenario; nothing for a workload with one load only.
pub(crate) fn write(f: &mut Formatter<'_>, v: &Verdict) -> fmt::Result {
    if v.scenarios.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(["scenario", "requests", "ok", "failed", "/s", "p50 ms", "p95 ms", "p99 ms", "verdict"]);
    for scenario in &v.scenarios {
        let Some(total) = scenario.requests.last() else { continue };
        let [p50, p95, p99] = [total.p50_ms, total.p95_ms, total.p99_ms].map(|ms| maybe(ms, 1));
        table.row([
            clipped(&scenario.source.path),
            count(total.requests),
            count(total.ok),
            count(total.failed),
            maybe(scenario.queue.rate_per_s, 1),
            p50,
            p95,
            p99,
            scenario.validity.text().to_owned(),
        ]);
    }
    write!(f, "\n{table}")
}
