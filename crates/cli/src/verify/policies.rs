//! Policies that alternated within a run, side by side.

use std::fmt::{self, Formatter};

use offered_verify::Verdict;

use super::text::maybe;
use crate::table::{Table, clipped};

/// Writes a row per policy and request; nothing without alternating policies.
pub(crate) fn write(f: &mut Formatter<'_>, v: &Verdict) -> fmt::Result {
    let Some(first) = v.policies.first() else { return Ok(()) };
    writeln!(f, "\nAlternating policies, measured parts of their blocks (ms)")?;
    let mut table = Table::new([
        "policy", "requests", "n", "/s", "mean", "low", "high", "p50", "p95", "p99", "ratio", "low", "high",
    ]);
    for policy in &v.policies {
        for row in policy.shown_rows() {
            let [mean, low, high, p50, p95, p99] =
                [row.mean_ms, row.mean_low_ms, row.mean_high_ms, row.p50_ms, row.p95_ms, row.p99_ms]
                    .map(|ms| maybe(ms, 2));
            let [ratio, least, most] = [row.ratio, row.ratio_low, row.ratio_high].map(|ratio| maybe(ratio, 3));
            let (n, rate) = (row.requests.to_string(), format!("{:.1}", row.rate_per_s));
            let names = [clipped(&policy.policy), clipped(&row.label)];
            let [name, label] = names;
            table.row([name, label, n, rate, mean, low, high, p50, p95, p99, ratio, least, most]);
        }
    }
    write!(f, "{table}")?;
    let blocks = v.policies.iter().map(|policy| format!("{} {}", policy.policy, policy.blocks)).collect::<Vec<_>>();
    writeln!(f, "blocks: {}; mean and interval over blocks; ratio to `{}`", blocks.join(", "), first.policy)?;
    for host in v.server_side.iter().flat_map(|side| &side.hosts).filter(|host| !host.policies.is_empty()) {
        let each = host.policies.iter().map(|under| format!("{} {:.3}", under.policy, under.busy_processors));
        let counter = host.policies[0].counter.name();
        writeln!(f, "busy CPUs at {} ({counter}): {}", host.name, each.collect::<Vec<_>>().join(", "))?;
    }
    Ok(())
}
