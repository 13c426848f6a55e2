//! Policies that alternated within a run, side by side.

use std::fmt::{self, Formatter};

use offered_base::count;
use offered_verify::Verdict;

use crate::table::{Table, clipped, maybe, wrapped};

/// Writes a row per policy and request; nothing without alternating policies.
pub(crate) fn write(f: &mut Formatter<'_>, v: &Verdict) -> fmt::Result {
    let Some(first) = v.policies.first() else { return Ok(()) };
    writeln!(f, "\nAlternating policies: response times in the measured parts of their blocks (ms)")?;
    let heads = ["policy", "n", "/s", "mean", "95 %", "p50", "p95", "p99", "ratio", "95 %"];
    let mut table = Table::new(heads);
    for policy in &v.policies {
        for row in policy.shown_rows() {
            let [mean, p50, p95, p99] = [row.mean_ms, row.p50_ms, row.p95_ms, row.p99_ms].map(|ms| maybe(ms, 2));
            let ratio = maybe(row.ratio, 3);
            let ratio_interval = interval(row.ratio_low, row.ratio_high, 3);
            let (n, rate) = (count(row.requests), format!("{:.1}", row.rate_per_s));
            let name = format!("{}: {}", policy.policy, row.label);
            table.row([
                clipped(&name),
                n,
                rate,
                mean,
                interval(row.mean_low_ms, row.mean_high_ms, 2),
                p50,
                p95,
                p99,
                ratio,
                ratio_interval,
            ]);
        }
    }
    write!(f, "{table}")?;
    let blocks = v.policies.iter().map(|policy| format!("{} {}", policy.policy, policy.blocks)).collect::<Vec<_>>();
    wrapped(
        f,
        "",
        &format!("blocks: {}; mean and interval from the blocks; ratio to `{}`", blocks.join(", "), first.policy),
    )?;
    for host in v.server_side.iter().flat_map(|side| &side.hosts).filter(|host| !host.policies.is_empty()) {
        let each = host.policies.iter().map(|under| format!("{} {:.3}", under.policy, under.busy_processors));
        let counter = host.policies[0].counter.name();
        wrapped(f, "", &format!("busy CPUs at {} ({counter}): {}", host.name, each.collect::<Vec<_>>().join(", ")))?;
    }
    Ok(())
}

/// An interval as text: `1.20 to 1.40`, or `-` if there is none.
fn interval(low: Option<f64>, high: Option<f64>, digits: usize) -> String {
    match (low, high) {
        (None, None) => "-".to_owned(),
        _ => format!("{} to {}", maybe(low, digits), maybe(high, digits)),
    }
}
