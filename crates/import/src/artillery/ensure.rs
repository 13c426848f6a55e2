//! Thresholds of the plugin `ensure` (`artillery-plugin-ensure/plugin.ts`).

use offered_base::time::written_number;
use offered_workload::Threshold;

use super::config::{Config, as_list};
use super::values::Values;
use crate::boolean;
use crate::data::Data;

/// Reads the thresholds of a script.
pub(super) fn thresholds(config: Config, values: &mut Values) -> Vec<Threshold> {
    let own = config.get("ensure");
    let checks = if own.is() { own } else { config.at("plugins", "ensure") };
    let mut expressions: Vec<(String, bool)> = Vec::new();
    for threshold in as_list(checks.get("thresholds")) {
        expressions.extend(
            threshold.entries().iter().take(1).map(|(metric, most)| (format!("{metric} < {}", most.plain()), true)),
        );
    }
    for condition in as_list(checks.get("conditions")) {
        expressions.push((condition.get("expression").plain(), *condition.get("strict") != Data::Bool(false)));
    }
    for key in ["min", "max", "median", "p95", "p99"].iter().filter(|key| checks.get(key).is()) {
        expressions.push((format!("http.response_time.{key} < {}", checks.get(key).plain()), true));
    }
    let mut all = Vec::new();
    let mut has_times = false;
    for (expression, strict) in expressions {
        let parts: Vec<&str> = expression.split(" and ").collect();
        let read: Option<Vec<Limit>> = parts.iter().map(|part| limit(part.trim())).collect();
        match read.filter(|_| strict) {
            Some(read) => {
                has_times |= expression.contains("http.response_time");
                all.extend(read);
            }
            None if strict => values.note(
                "ensure",
                format!("`{expression}` does not limit a metric that can be translated; write a threshold under [thresholds]"),
            ),
            None => values.note("ensure", format!("`{expression}` is optional; left out")),
        }
    }
    if let Some(most) = checks.get("maxErrorRate").number() {
        all.push(Limit { name: "visits.success".to_owned(), sign: ">=", number: (100.0 - most).max(0.0), unit: "%" });
    }
    if has_times {
        values.note("ensure", "Artillery measures response times from sending to the first byte; here they last from the scheduled time to the last byte".to_owned());
    }
    strictest(all)
}

/// A limit of a metric.
struct Limit {
    name: String,
    /// `<`, `<=`, `>` or `>=`.
    sign: &'static str,
    number: f64,
    unit: &'static str,
}

/// The thresholds. If a metric has several limits in one direction, the strictest applies.
fn strictest(limits: Vec<Limit>) -> Vec<Threshold> {
    let is_upper = |limit: &Limit| limit.sign.starts_with('<');
    let mut kept: Vec<Limit> = Vec::new();
    for limit in limits {
        match kept.iter_mut().find(|other| other.name == limit.name && is_upper(other) == is_upper(&limit)) {
            Some(other) if (limit.number < other.number) == is_upper(&limit) => *other = limit,
            Some(_) => {}
            None => kept.push(limit),
        }
    }
    let bound = |limit: &Limit| format!("{} {}{}", limit.sign, written_number(limit.number), limit.unit);
    kept.iter().filter_map(|limit| Threshold::new(&limit.name, &bound(limit)).ok()).collect()
}

/// The limit in a comparison such as `http.response_time.p95 < 250`.
fn limit(text: &str) -> Option<Limit> {
    let (metric, sign, number) = boolean::limit(text)?;
    let of_time = [("http.response_time.", "response."), ("vusers.session_length.", "visit.duration.")];
    let time = of_time.iter().find_map(|(theirs, ours)| Some((ours, metric.strip_prefix(theirs)?)));
    let (name, unit) = match time {
        Some((ours, statistic)) => {
            let statistic = match statistic {
                "median" => "p50",
                "p999" => "p99.9",
                statistic @ ("p50" | "p75" | "p90" | "p95" | "p99" | "mean" | "max") => statistic,
                _ => return None,
            };
            (format!("{ours}{statistic}"), "ms")
        }
        None if metric == "http.request_rate" => ("throughput.rate".to_owned(), "/s"),
        None => return None,
    };
    Some(Limit { name, sign, number, unit })
}
