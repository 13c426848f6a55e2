//! The columns of a part: names, types, and the fields of an event that they store.

use offered_base::Instant;

use super::column::{ColumnSpec, Field, optional, required};
use super::streams;

/// The columns in order. New columns are appended; parts without them are valid.
pub(super) static COLUMNS: [ColumnSpec; 26 + streams::COUNT + 9] = [
    required("intended_ns", Field::Long(|e| e.intended.0, |e, ns| e.intended = Instant(ns))),
    optional("sent_ns", Field::Instant(|e| e.sent, |e, at| e.sent = at)),
    optional("first_byte_ns", Field::Instant(|e| e.first_byte, |e, at| e.first_byte = at)),
    optional("done_ns", Field::Instant(|e| e.done, |e, at| e.done = at)),
    required("session", Field::Long(|e| e.session, |e, session| e.session = session)),
    required("step", Field::Int(|e| e.step, |e, step| e.step = step)),
    required("label", Field::Label),
    required("outcome", Field::Outcome),
    required("status", Field::Int(|e| e.status.into(), |e, status| e.status = status as u16)),
    required("bytes_out", Field::Long(|e| e.bytes_out, |e, bytes| e.bytes_out = bytes)),
    required("bytes_in", Field::Long(|e| e.bytes_in, |e, bytes| e.bytes_in = bytes)),
    required("worker", Field::Int(|e| e.worker.into(), |e, worker| e.worker = worker as u16)),
    required("connection", Field::Int(|e| e.connection, |e, connection| e.connection = connection)),
    required("reused", Field::Reused),
    optional("error", Field::Error),
    optional("handshake_ns", Field::Duration(|e| e.handshake, |e, took| e.handshake = took)),
    required("object", Field::Int(|e| e.object.into(), |e, object| e.object = object as u16)),
    optional("waited_ns", Field::Duration(|e| e.waited, |e, took| e.waited = took)),
    required("rows", Field::Long(|e| e.rows, |e, rows| e.rows = rows)),
    required("redirects", Field::Int(|e| e.redirects.into(), |e, n| e.redirects = n as u16)),
    required("resends", Field::Int(|e| e.resends.into(), |e, n| e.resends = n as u16)),
    optional("reading_lateness_ns", Field::Duration(|e| e.reading_lateness, |e, late| e.reading_lateness = late)),
    optional("done_lateness_ns", Field::Duration(|e| e.done_lateness, |e, late| e.done_lateness = late)),
    required("retries", Field::Int(|e| e.retries.into(), |e, n| e.retries = n as u16)),
    required("attempt", Field::Int(|e| e.attempt.into(), |e, n| e.attempt = n as u16)),
    optional("scenario", Field::Scenario),
    streams::column(0),
    streams::column(1),
    streams::column(2),
    streams::column(3),
    streams::column(4),
    streams::column(5),
    streams::column(6),
    streams::column(7),
    streams::column(8),
    streams::column(9),
    streams::column(10),
    streams::column(11),
    streams::column(12),
    streams::column(13),
    streams::column(14),
    streams::column(15),
    optional("finish", Field::Finish),
    optional("gaps_us", Field::Gaps),
    optional("visit", Field::Visit),
    required("place", Field::Place),
    required("visit_end", Field::VisitEnd),
    optional("flow_step", Field::FlowStep),
    optional("metrics", Field::Metrics),
    required("token_requests", Field::Int(|e| e.token_requests.into(), |e, n| e.token_requests = n as u16)),
    optional("writing_lateness_ns", Field::Duration(|e| e.writing_lateness, |e, late| e.writing_lateness = late)),
];

/// This many columns, the first ones, are in every part.
pub(super) const REQUIRED_COLUMNS: usize = 15;

/// The columns of [`Columns::Key`](offered_events::Columns::Key).
pub(super) const KEY_COLUMNS: [&str; 8] =
    ["intended_ns", "sent_ns", "step", "label", "outcome", "worker", "object", "attempt"];
/// The columns that [`Columns::Response`](offered_events::Columns::Response) adds.
pub(super) const RESPONSE_COLUMNS: [&str; 13] = [
    "first_byte_ns",
    "done_ns",
    "session",
    "status",
    "bytes_in",
    "reading_lateness_ns",
    "done_lateness_ns",
    "writing_lateness_ns",
    "retries",
    "visit",
    "place",
    "visit_end",
    "metrics",
];
/// The columns that [`Columns::Wire`](offered_events::Columns::Wire) adds.
pub(super) const WIRE_COLUMNS: [&str; 7] =
    ["status", "reused", "error", "redirects", "resends", "retries", "token_requests"];
