//! Thresholds of the plugin `ensure` (`artillery-plugin-ensure/plugin.ts`).

use offered_base::time::written_number;
use offered_workload::Threshold;

use super::config::{Config, as_list};
use super::values::Values;
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
        let read: Option<Vec<Threshold>> = parts.iter().map(|part| threshold(part.trim())).collect();
        match read.filter(|_| strict) {
            Some(read) => {
                has_times |= expression.contains("http.response_time");
                all.extend(read);
            }
            None if strict => values.note(
                "ensure",
                format!("`{expression}` is no limit of a metric that is translated; write it under [thresholds]"),
            ),
            None => values.note("ensure", format!("`{expression}` is optional, and so left out")),
        }
    }
    if let Some(most) = checks.get("maxErrorRate").number() {
        let least = format!(">= {}%", written_number((100.0 - most).max(0.0)));
        all.extend(Threshold::new("visits.success", &least).ok());
    }
    if has_times {
        values.note("ensure", "response times end with the first byte, and begin when the request is sent; here they end with the last byte, and begin at the scheduled time".to_owned());
    }
    let mut kept: Vec<Threshold> = Vec::new();
    for threshold in all {
        if !kept.contains(&threshold) {
            kept.push(threshold);
        }
    }
    kept
}

/// The threshold for a comparison such as `http.response_time.p95 < 250`.
fn threshold(text: &str) -> Option<Threshold> {
    let sign = ["<=", ">=", "<", ">"].into_iter().find(|sign| text.contains(sign))?;
    let (metric, limit) = text.split_once(sign)?;
    let limit: f64 = limit.trim().parse().ok()?;
    let metric = metric.trim();
    let of_time = [("http.response_time.", "response."), ("vusers.session_length.", "visit.duration.")];
    let time = of_time.iter().find_map(|(theirs, ours)| Some((ours, metric.strip_prefix(theirs)?)));
    let (name, bound) = match time {
        Some((ours, statistic)) => {
            let statistic = match statistic {
                "median" => "p50",
                "p999" => "p99.9",
                statistic @ ("p50" | "p75" | "p90" | "p95" | "p99" | "mean" | "max") => statistic,
                _ => return None,
            };
            (format!("{ours}{statistic}"), format!("{sign} {}ms", written_number(limit)))
        }
        None if metric == "http.request_rate" => {
            ("throughput.rate".to_owned(), format!("{sign} {}/s", written_number(limit)))
        }
        None => return None,
    };
    Threshold::new(&name, &bound).ok()
}
