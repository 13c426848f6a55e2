//! The outcome of a request, from its own response, its redirects and its objects.

use offered_base::Instant;
use offered_events::{Event, Outcome, Reason};
use offered_workload::script::Objects;

use super::Page;
use crate::halt::Halt;
use crate::script::{MissingValue, Rejection};

/// Sets the outcome of a request from the evaluation of its response.
pub(super) fn judge(event: &mut Event, result: Result<(), Rejection>, checks_status: bool) {
    match result {
        Ok(()) if checks_status && !event.outcome.is_failed_stream() => event.outcome = Outcome::Ok,
        Ok(()) => {}
        // The error message of the server is recorded nowhere else, unlike an HTTP status.
        Err(_) if matches!(event.outcome, Outcome::GrpcError | Outcome::SqlError) => {}
        Err(_) if event.outcome.is_failed_stream() => {}
        Err(rejection) => fail_check(event, rejection.reason),
    }
}

/// Sets the outcome of a request after a failed check of its response.
pub(super) fn fail_check(event: &mut Event, check: String) {
    event.outcome = Outcome::CheckFailed;
    event.error = Some(check.into());
}

/// The outcome and reason of a page after its own response succeeded and its objects are `over`.
pub(super) fn outcome_with_objects(objects: &Objects, over: &[Event]) -> (Outcome, Option<Reason>) {
    let first = |failed: fn(Outcome) -> bool| {
        let event = over.iter().filter(|event| failed(event.outcome)).min_by_key(|event| event.object)?;
        let path = objects.paths[usize::from(event.object) - 1].written();
        let status = if event.status > 0 { format!(" {}", event.status) } else { String::new() };
        Some(Reason::from(format!("object {path}: {}{status}", event.outcome.name())))
    };
    let failed = first(|outcome| !matches!(outcome, Outcome::Ok | Outcome::Cut | Outcome::Unprocessed));
    if let Some(reason) = failed.filter(|_| !objects.may_fail) {
        return (Outcome::ObjectFailed, Some(reason));
    }
    if over.len() < objects.paths.len() || over.iter().any(|event| event.outcome == Outcome::Cut) {
        return (Outcome::Cut, Some(Reason::Stopped));
    }
    match first(|outcome| outcome == Outcome::Unprocessed).filter(|_| !objects.may_fail) {
        Some(reason) => (Outcome::Unprocessed, Some(reason)),
        None => (Outcome::Ok, None),
    }
}

/// The event of a request that cannot be built: rows are used up, or a response did not provide a value.
pub(super) fn missing_value_event(event: Event, missing: MissingValue, halt: &Halt) -> Event {
    let outcome = match missing {
        MissingValue::Value(_) => Outcome::NoValue,
        MissingValue::Rows { .. } => Outcome::Unsent,
    };
    Event { outcome, error: Some(halt.message(missing).into()), ..event }
}

/// Merges the event of the last exchange of a page into that of the earlier ones: token requests, redirects, and answers to challenges.
pub(super) fn merge_exchanges(page: &Page, event: Event, now: Instant) -> Event {
    let (earlier, token_requests) = (&page.request, page.token_requests);
    let Some(sent) = earlier.sent else { return Event { token_requests, ..event } };
    let is_unsent = matches!(event.outcome, Outcome::Unsent | Outcome::NoValue);
    // Nothing but token requests was sent.
    if is_unsent && page.redirects == 0 {
        return Event { token_requests, ..event };
    }
    // The request was sent, whatever happened to its last redirect.
    let (outcome, done, followed) = match is_unsent {
        true => (Outcome::Reset, Some(now), page.redirects - 1),
        false => (event.outcome, event.done, page.redirects),
    };
    Event {
        sent: Some(sent),
        handshake: earlier.handshake.or(event.handshake),
        reused: if page.redirects > 0 { earlier.reused } else { event.reused },
        redirects: u16::try_from(followed).unwrap_or(u16::MAX),
        token_requests,
        resends: earlier.resends + event.resends,
        bytes_out: earlier.bytes_out + event.bytes_out,
        bytes_in: earlier.bytes_in + event.bytes_in,
        outcome,
        done,
        // The redirect was followed when its response was read.
        done_lateness: event.done_lateness.map(|late| late + earlier.done_lateness.unwrap_or_default()),
        writing_lateness: event.writing_lateness.map(|late| late + earlier.writing_lateness.unwrap_or_default()),
        ..event
    }
}
