//! Warnings and reasons of `offered logs`, with the flags that help.

use offered_logs::{
    Exclusion, Findings, LogWarning, RecommendationReason, RuleResult, SIMILARITY_TOLERANCE, ServiceSource,
};
use offered_schedule::System;

/// The flag that excluded lines.
pub(super) fn option(dropped: Exclusion) -> &'static str {
    match dropped {
        Exclusion::Status => "--status",
        Exclusion::Path => "--path",
        Exclusion::Robot => "--no-robots",
        Exclusion::Asset => "--pages-only",
    }
}

/// A warning and its fix.
pub(super) fn doubt(doubt: &LogWarning) -> String {
    match doubt {
        LogWarning::WholeSeconds => "timestamps are whole seconds: gaps are known only to one second, and the order of requests within a second is unknown; log milliseconds".to_owned(),
        LogWarning::Unreadable { lines, percent } => {
            let s = if *lines == 1 { "" } else { "s" };
            format!("{lines} line{s} could not be parsed ({percent:.1} %); if the detected format is wrong, add --input-format")
        }
        LogWarning::OutOfOrder { requests, window } => format!("{requests} requests are out of order by more than {window} lines: each was given the time of the latest request of its client; sort the log by time"),
        LogWarning::Sampled { max_clients, one_in } => format!("more than {max_clients} clients: one in {one_in} was analysed, counts of clients and sessions are scaled by {one_in}, and the dispersion of starts is biased towards Poisson; raise --max-clients, or exclude scanners with --path or --no-robots"),
        LogWarning::JoinedLabels { names } => format!("more than 65535 labels: in directories with more than {names} names, `:any` replaces the names; group URLs with --label REGEX=NAME"),
        LogWarning::Short { timeout_s } => format!("the log is shorter than four timeouts of {timeout_s} s: sessions cut off at its ends bias the session length; use a longer log"),
        LogWarning::NotGeometric { distance } => format!("session lengths are not geometric (largest difference of the distribution functions {distance:.2}), so a constant stay probability does not describe them; the workload written from this log uses the recorded lengths"),
        LogWarning::NoThinkDistribution => "no distribution fits both the shape and the CoV of the think times; the workload written from this log uses the recorded think times, summarised as 200 values".to_owned(),
        LogWarning::OneClient => "all requests come from one client (a proxy, a script or a test), so the system model cannot be recognised; if the log has the clients' addresses in another field, add --user".to_owned(),
        LogWarning::FewSessions { sessions } => format!("{sessions} sessions are too few to estimate session length, think times and arrivals; use a longer log, or one with more clients"),
    }
}

/// Why this system model, one reason per line; the rule of the paper last.
pub(super) fn reasons(found: &Findings, not_compared: Option<&str>) -> Vec<String> {
    let mean = found.figures.requests_per_session.mean;
    let percent = SIMILARITY_TOLERANCE * 100.0;
    let first = match (found.recommendation.reason, found.recommendation.model) {
        (RecommendationReason::SingleRequests, _) => {
            "every session has only one request, as in an open system".to_owned()
        }
        (RecommendationReason::SameResponses, model) => format!(
            "at the same load, mean and p95 of the response time of {} system are within {percent:.0} % of those of the partly-open system (by their 95 % intervals)",
            if model == System::Open { "an open" } else { "a closed" }
        ),
        (RecommendationReason::OtherResponses, _) => format!(
            "at the same load, neither an open nor a closed system matches mean and p95 of the response time within {percent:.0} % (by their 95 % intervals)"
        ),
        (RecommendationReason::NotCompared, _) => format!(
            "web sites are partly-open; the models were not compared ({})",
            not_compared.unwrap_or("--no-compare")
        ),
    };
    let rule = &found.figures.paper_rule;
    let (low, high) = rule.cutoffs;
    let side = match rule.model {
        System::Open => format!("at most {low}: open"),
        System::Closed => format!("at least {high}: closed"),
        System::PartlyOpen => format!("between {low} and {high}: partly-open"),
    };
    let mut reasons = vec![first, format!("by the rule of Schroeder et al.: {mean:.2} requests per session, {side}")];
    reasons.push(match (found.figures.scv, found.figures.scv_source) {
        (Some(scv), Some(of)) if low > 5.0 => format!(
            "  cut-offs for C2 = {scv:.1} (squared CoV of {}); the second is assumed to be twice the first; for C2 up to 4 they are 5 and 10",
            service(of)
        ),
        (Some(scv), Some(of)) => format!("  cut-offs for C2 up to 4; measured {scv:.1} (squared CoV of {})", service(of)),
        _ => "  cut-offs for C2 (squared CoV of service times) up to 4; the log has no durations to measure it".to_owned(),
    });
    let at = |o: &RuleResult| format!("{:.2} at {} s ({})", o.requests_per_session, o.timeout_s, o.model.name());
    let others: Vec<String> = rule.at_timeouts.iter().map(at).collect();
    reasons.push(format!("  with another timeout: {}", others.join(", ")));
    if let Some(pages) = &rule.pages_only {
        reasons.push(format!(
            "  without images, styles and scripts (--pages-only): {:.2} requests per session ({})",
            pages.requests_per_session,
            pages.model.name()
        ));
    }
    if found.figures.concurrency.peak > 1000 {
        reasons.push(format!(
            "  {} concurrent sessions at the peak: above 1000 users, a closed system behaves like an open one",
            found.figures.concurrency.peak
        ));
    }
    reasons
}

/// What the C2 is measured from.
pub(super) fn service(of: ServiceSource) -> &'static str {
    match of {
        ServiceSource::Durations => "service times",
        ServiceSource::Bytes => "bytes, as a substitute for service times (--service-from)",
    }
}
