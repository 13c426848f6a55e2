//! Changes of the events of a recording.

use offered_base::{Difference, Instant, Nanos};
use offered_events::{Event, Outcome, Reason};

pub(super) fn secs(s: u64) -> Instant {
    Instant::from_secs(s)
}

/// Sends the request at another time; the response takes as long as before.
pub(super) fn send_at(event: &mut Event, sent: Instant) {
    let service = event.service().unwrap_or(Difference(0));
    event.sent = Some(sent);
    event.done = event.done.map(|_| sent + Nanos(service.0.max(0) as u64));
    event.first_byte = event.done;
}

/// Sends the requests that are due in the first `length` of every `period` at the end of it.
pub(super) fn pause(events: &mut [Event], period: Nanos, length: Nanos) {
    for event in events {
        let since = Nanos(event.intended.0 % period.0);
        if since < length {
            let sent = Instant(event.intended.0 - since.0) + length;
            send_at(event, sent);
        }
    }
}

/// Does not send the requests that `which` selects by their number and scheduled time.
pub(super) fn leave_out(events: &mut [Event], reason: &Reason, which: impl Fn(usize, Instant) -> bool) {
    for (number, event) in events.iter_mut().enumerate() {
        if which(number, event.intended) {
            let Event { worker, session, step, label, .. } = *event;
            *event = Event { worker, session, step, label, error: Some(reason.clone()), ..Event::at(event.intended) };
        }
    }
}

/// Cuts the recording off: nothing after `at` is recorded.
pub(super) fn cut(events: &mut Vec<Event>, at: u64) {
    events.retain(|event| event.done.is_none_or(|done| done < secs(at)) && event.intended < secs(at));
}

/// Makes every `every`-th request fail.
pub(super) fn fail(events: &mut [Event], every: usize, outcome: Outcome, status: u16) {
    events.iter_mut().step_by(every).for_each(|event| (event.outcome, event.status) = (outcome, status));
}

/// From 7 s on responses take so long that a third of the requests finds as many in flight as are allowed.
pub(super) fn slow_at_limit(events: &mut [Event], reason: &Reason) {
    leave_out(events, reason, |number, at| at >= secs(7) && number % 3 == 0);
    // 209 a second are sent, so that about 50 are in flight.
    for event in events.iter_mut().filter(|event| event.intended >= secs(7) && event.sent.is_some()) {
        event.done = event.sent.map(|sent| sent + Nanos::from_millis(225));
        event.first_byte = event.done;
    }
}
