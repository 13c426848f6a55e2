//! The next steps after failed requests and failed thresholds.

use offered_events::Outcome;
use offered_experiment::Failure;
use offered_workload::Threshold;
use offered_workload::threshold::Quantity;

/// What to do about requests that failed in this way.
pub(crate) fn of_failure(failure: &Failure) -> String {
    let fix = match (Outcome::from_name(&failure.outcome), failure.status) {
        (Some(Outcome::HttpError), Some(429)) => "lower the rate: the server limits it",
        (Some(Outcome::HttpError), Some(status)) if status < 500 => {
            "compare the request with what the server expects (path, login, data)"
        }
        (Some(Outcome::HttpError), Some(status)) => {
            return format!("look for status {status} in the server's log, or lower the rate");
        }
        (Some(Outcome::Refused), _) => "check that the server runs, and listens at the address of the target",
        (Some(Outcome::Timeout), _) => {
            "find out what the server waits for, lower the rate, or allow more time (timeout)"
        }
        (Some(Outcome::Dns), _) => "correct the host name of the target",
        (Some(Outcome::Tls), _) => "correct the certificate of the server, or the root certificate (target.tls.roots)",
        (Some(Outcome::CheckFailed | Outcome::NoValue), _) => {
            "compare a response with the check or the extraction; the report has complete failed requests and responses"
        }
        (Some(Outcome::AuthError), _) => "correct the credentials for the token endpoint (auth)",
        (Some(Outcome::BreakerOpen), _) => "find out which failures opened the circuit breaker",
        (Some(Outcome::Unsent), _) => "find out why requests were not sent: see the reasons in the list of failures",
        _ => "look for the reason in the log of the server",
    };
    fix.to_owned()
}

/// What to do about a threshold that failed.
pub(crate) fn of_threshold(threshold: &Threshold) -> String {
    let fix = match threshold.metric.quantity {
        Quantity::ErrorsRate
        | Quantity::PageErrors
        | Quantity::ObjectsErrors
        | Quantity::ChecksFailed
        | Quantity::VisitsSuccess
        | Quantity::GroupsSuccess
        | Quantity::GoodputShare
        | Quantity::AttemptsPerRequest => "look for the failed requests in the log of the server",
        Quantity::ThroughputRate | Quantity::ArrivalsRate | Quantity::TokensRate | Quantity::GoodputRate => {
            "compare this rate with the rate of the workload, and find out what limits the server"
        }
        Quantity::Lateness(_) | Quantity::ArrivalsCov => "reserve cores for the generator",
        Quantity::Metric(_) => "find out what the responses contain",
        _ => "find out what the server spends this time on, or lower the load",
    };
    format!("{fix}; if the limit is wrong, correct the limit in the workload")
}
