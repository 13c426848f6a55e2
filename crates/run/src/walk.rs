//! Running single sessions: one request after another, without pauses.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_base::Nanos;
use offered_events::Event;
use offered_schedule::Launch;
use offered_workload::Workload;

use crate::transport::Transport;

/// Interval at which a request to stop is polled.
const POLL_INTERVAL: Nanos = Nanos::from_millis(100);

/// Sends the requests of the first `sessions` sessions of `workload`, session by session, each as soon as the one before is complete.
/// Skips the rest of a session that a failure ends, and everything once `stop` is set. Returns the events in order.
pub(crate) fn walk(mut transport: impl Transport, workload: &Workload, sessions: u64, stop: &AtomicBool) -> Vec<Event> {
    let mut all: Vec<Event> = Vec::new();
    let mut sequence = 0;
    for session in 0..sessions {
        let mut next = Some(workload.walk_from(session));
        while let Some((launch, label)) = next {
            let mut events = Vec::new();
            transport.send(Launch { intended: transport.now(), ..launch }, label, sequence, &mut events);
            sequence += 1;
            while events.last().is_none_or(|event| event.object > 0) {
                let now = transport.now();
                transport.wait(now + POLL_INTERVAL, &mut events);
                if stop.load(Relaxed) {
                    transport.cancel_all(&mut events);
                }
            }
            let on_failure = workload.flows().and_then(|flows| flows.on_failure(launch.place));
            next = events
                .last()
                .filter(|event| !transport.ends_session(event, on_failure))
                .and_then(|event| workload.walk_on(launch, &mut |number| transport.decide(number, event)));
            all.append(&mut events);
            if stop.load(Relaxed) {
                break;
            }
        }
        transport.close_session(session);
        if stop.load(Relaxed) {
            break;
        }
    }
    transport.finish();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::Mock;
    use offered_distributions::Distribution;
    use offered_events::Outcome;

    fn workload(text: &str) -> Workload {
        let text = format!("duration = \"10s\"\nseed = 3\ntarget.url = \"http://h/\"\n{text}");
        Workload::parse(&text, "w", &|_| Err(String::new())).unwrap()
    }

    fn labels(workload: &Workload, sessions: u64) -> Vec<(u64, u32, u16)> {
        let mock = Mock::new(workload.seed(), Distribution::constant(0.01).unwrap(), 0);
        let events = walk(mock, workload, sessions, &AtomicBool::new(false));
        assert!(events.iter().all(|event| event.outcome == Outcome::Ok));
        assert!(events.is_sorted_by(|a, b| a.done <= b.sent), "one after another");
        events.iter().map(|event| (event.session, event.step, event.label)).collect()
    }

    #[test]
    fn without_flows_a_session_sends_all_requests_once_in_order() {
        let requests = "request = [{ get = \"/a\", weight = 9 }, { get = \"/b\" }, { get = \"/c\" }]";
        for model in ["closed.users = 2", "open.rate = \"1/s\"", "partly_open = { rate = \"1/s\", stay = 0.9 }"] {
            let workload = workload(&format!("arrivals.{model}\n{requests}"));
            assert_eq!(
                labels(&workload, 2),
                [(0, 0, 0), (0, 1, 1), (0, 2, 2), (1, 0, 0), (1, 1, 1), (1, 2, 2)],
                "{model}"
            );
        }
    }

    #[test]
    fn a_session_follows_its_flow_once_without_pauses() {
        let flow = "request = [{ get = \"/a\" }, { get = \"/b\" }]\n\
            flow = [{ name = \"f\", step = [{ request = \"/b\", repeat = 2 }, { request = \"/a\" }] }]";
        for model in [
            "closed = { users = 2, think.constant = \"1h\" }",
            "partly_open = { rate = \"1/s\", think.constant = \"1h\" }",
        ] {
            let workload = workload(&format!("arrivals.{model}\n{flow}"));
            assert_eq!(labels(&workload, 1), [(0, 0, 1), (0, 1, 1), (0, 2, 0)], "{model}");
        }
    }

    #[test]
    fn a_stop_cancels_the_request_in_flight() {
        let workload = workload("arrivals.closed.users = 1\nrequest = [{ get = \"/a\" }, { get = \"/b\" }]");
        let mock = Mock::new(workload.seed(), Distribution::constant(1000.0).unwrap(), 0);
        let events = walk(mock, &workload, 1, &AtomicBool::new(true));
        assert_eq!(events.iter().map(|event| event.outcome).collect::<Vec<_>>(), [Outcome::Cut]);
    }
}
