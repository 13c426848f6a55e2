//! k6's JSON points, as `k6 run --out json=FILE` writes them: for each request a count and its times, all with the time of its end.
//!
//! k6's `duration` excludes connecting; `blocked` is the wait for a connection including the TLS handshake. A recording only knows how long the
//! handshake took, so connecting counts as `duration`.

use std::collections::BTreeSet;
use std::io::{self, Write};

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome, Recording};
use serde_json::{Value, json};

use super::{each_by_end, label};

pub(super) fn write(recording: &Recording, origin: Nanos, out: &mut impl Write) -> io::Result<()> {
    let mut defined = BTreeSet::new();
    each_by_end(recording, |event, sent, done| {
        let time =
            jiff::Timestamp::from_nanosecond(i128::from((done + origin).0)).map_err(io::Error::other)?.to_string();
        let tags = tags(recording, event);
        for (name, kind, value) in samples(event, sent, done) {
            if defined.insert(name) {
                let contains = if kind == "trend" { "time" } else { "default" };
                let metric =
                    json!({ "name": name, "type": kind, "contains": contains, "thresholds": [], "submetrics": null });
                writeln!(out, "{}", json!({ "type": "Metric", "data": metric, "metric": name }))?;
            }
            let data = json!({ "time": time, "value": value, "tags": tags });
            writeln!(out, "{}", json!({ "metric": name, "type": "Point", "data": data }))?;
        }
        Ok(())
    })
}

/// Name, type and value of all metrics of a request; times in ms.
fn samples(event: &Event, sent: Instant, done: Instant) -> [(&'static str, &'static str, f64); 9] {
    let ms = |time: Nanos| time.as_millis_f64();
    let handshake = event.handshake.unwrap_or_default().min(sent.until(done));
    let begun = sent + handshake;
    let first_byte = event.first_byte.unwrap_or(done).max(begun);
    let failed = f64::from(u8::from(event.outcome != Outcome::Ok));
    [
        ("http_reqs", "counter", 1.0),
        ("http_req_duration", "trend", ms(begun.until(done))),
        ("http_req_blocked", "trend", ms(handshake)),
        ("http_req_connecting", "trend", 0.0),
        ("http_req_tls_handshaking", "trend", ms(handshake)),
        ("http_req_sending", "trend", 0.0),
        ("http_req_waiting", "trend", ms(begun.until(first_byte))),
        ("http_req_receiving", "trend", ms(first_byte.until(done))),
        ("http_req_failed", "rate", failed),
    ]
}

/// Status 0 means no response in k6.
fn tags(recording: &Recording, event: &Event) -> Value {
    let good = event.outcome == Outcome::Ok;
    // A successful response without a status gets 200.
    let status = if good && event.status == 0 { 200 } else { event.status };
    let mut tags = json!({
        "expected_response": good.to_string(),
        "name": label(recording, event),
        "scenario": "default",
        "status": status.to_string(),
        "url": label(recording, event),
    });
    if !good {
        let why = event.why();
        tags["error"] = if why.is_empty() { event.outcome.name().into() } else { Value::from(&*why) };
    }
    if recording.sessions_known {
        tags["vu"] = event.session.to_string().into();
    }
    tags
}
