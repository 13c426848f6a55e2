//! What was found in a log, in words, with the flags that change it.

use offered_logs::{Because, Doubt, Dropped, Findings, NEAR, Otherwise, ServiceFrom};
use offered_model::System;

/// The option that left lines out.
pub(super) fn option(dropped: Dropped) -> &'static str {
    match dropped {
        Dropped::Status => "--status",
        Dropped::Path => "--path",
        Dropped::Robot => "--no-robots",
        Dropped::Part => "--pages-only",
    }
}

/// A doubt and its remedy.
pub(super) fn doubt(doubt: &Doubt) -> String {
    match doubt {
        Doubt::WholeSeconds => "stamps are whole seconds: gaps are right to within a second, and order and bunches within one are lost; log milliseconds to see them".to_owned(),
        Doubt::Unreadable { lines, percent } => format!("{lines} lines could not be read ({percent:.1} %); name the format with --format if it was mistaken"),
        Doubt::Late { requests, window } => format!("{requests} requests stand more than {window} lines from their place and count as simultaneous with their client's latest; sort the log by time"),
        Doubt::Sampled { most, one_in } => format!("there are more than {most} clients: one in {one_in} was followed, and the counts of clients and sessions are those of this sample times {one_in}, the dispersion of starts nearer to Poisson than the site's; raise --max-clients, or leave scanners out with --path or --no-robots"),
        Doubt::JoinedLabels { names } => format!("there were more than 65535 labels: of directories with more than {names} names all became :any; group URLs with --label REGEX=NAME"),
        Doubt::Short { timeout_s } => format!("the log spans less than four timeouts of {timeout_s} s: sessions cut off at its ends count as whole and bias their length; use a longer log"),
        Doubt::NotGeometric { distance } => format!("session lengths are not geometric (distance {distance:.2}): one stay probability does not describe them; a workload gets the recorded lengths"),
        Doubt::NoThinkLaw => "no law has both the form and the CoV of the think times; a workload gets the recorded ones, averaged over 200 equal shares".to_owned(),
        Doubt::OneClient => "all requests come from one client: a proxy, a script or a test, of which no system model can be told; look whether the log has the clients' own addresses (--user)".to_owned(),
        Doubt::Few { sessions } => format!("{sessions} sessions are too few to tell how long sessions are, how people think and how they arrive: a model of them is a model of these few; use a longer log, or one of more clients"),
    }
}

/// Why this system model, one reason a line; the rule of the paper last.
pub(super) fn reasons(found: &Findings, not_compared: Option<&str>) -> Vec<String> {
    let mean = found.figures.requests_per_session.mean;
    let percent = NEAR * 100.0;
    let first = match (found.recommendation.because, found.recommendation.model) {
        (Because::SingleRequests, _) => "every session is one request, and that is an open system".to_owned(),
        (Because::SameResponses, model) => format!(
            "at the same load the mean response and 95 % point of {} system are within {percent:.0} % of the site's own",
            if model == System::Open { "an open" } else { "a closed" }
        ),
        (Because::OtherResponses, _) => format!(
            "neither an open nor a closed system surely has the site's mean response and 95 % point to within {percent:.0} % at the same load"
        ),
        (Because::NotCompared, _) => format!(
            "it is what every site is; the models were not compared ({})",
            not_compared.unwrap_or("--no-compare")
        ),
    };
    let rule = &found.figures.paper_rule;
    let (low, high) = rule.cut_offs;
    let side = match rule.model {
        System::Open => format!("at most {low}: open"),
        System::Closed => format!("at least {high}: closed"),
        System::PartlyOpen => format!("between {low} and {high}: partly-open"),
    };
    let mut reasons = vec![first, format!("by the rule of Schroeder et al.: {mean:.2} requests per session, {side}")];
    reasons.push(match (found.figures.scv, found.figures.scv_of) {
        (Some(scv), Some(of)) if low > 5.0 => format!(
            "  its cut-offs for C2 {scv:.1} (of {}), the second taken to be twice the first; for C2 up to 4 they are 5 and 10",
            service(of)
        ),
        (Some(scv), Some(of)) => format!("  its cut-offs for C2 up to 4; here it is {scv:.1} (of {})", service(of)),
        _ => "  its cut-offs for C2 up to 4; the log has no durations to tell it from".to_owned(),
    });
    let at = |o: &Otherwise| format!("{:.2} at {} s ({})", o.requests_per_session, o.timeout_s, o.model.name());
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
            "  {} sessions at once at the peak: with more than 1000 simultaneous users even a closed system behaves like an open one",
            found.figures.concurrency.peak
        ));
    }
    reasons
}

/// What a C2 is of.
pub(super) fn service(of: ServiceFrom) -> &'static str {
    match of {
        ServiceFrom::Durations => "service times",
        ServiceFrom::Bytes => "bytes, standing in for service times (--service-from)",
    }
}
