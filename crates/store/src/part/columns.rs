//! The columns of a part: names, types, and the fields of an event that they store.

use offered_base::{Instant, Nanos};
use offered_events::Event;

use super::streams;

/// A column: its name, whether it is nullable, and the field that it stores.
pub(super) struct ColumnSpec {
    pub(super) name: &'static str,
    pub(super) optional: bool,
    pub(super) field: Field,
}

/// The field of an event that a column stores: how to get it and how to set it.
pub(super) enum Field {
    /// 64 bits.
    Long(fn(&Event) -> u64, fn(&mut Event, u64)),
    /// A time in ns since the start of the run, or null.
    Instant(fn(&Event) -> Option<Instant>, fn(&mut Event, Option<Instant>)),
    /// A duration in ns, or null.
    Duration(fn(&Event) -> Option<Nanos>, fn(&mut Event, Option<Nanos>)),
    /// 32 bits.
    Int(fn(&Event) -> u32, fn(&mut Event, u32)),
    /// The name of the request.
    Label,
    /// The name of the outcome.
    Outcome,
    /// Whether the connection had been used before.
    Reused,
    /// The reason of a failure.
    Error,
    /// The name of the scenario, or null; for other programs, because here the session has it.
    Scenario,
    /// The number of the visit, or null.
    Visit,
    /// A number of the position in the visit.
    Place,
    /// Whether the visit is over.
    VisitEnd,
    /// The numbers of the response as a JSON array, or null.
    Metrics,
    /// The name of the flow and its step, or null; for other programs, because the workload has it.
    FlowStep,
    /// This number of a stream, or null.
    Stream(usize),
    /// The finish reason of a stream.
    Finish,
    /// The gaps of a stream.
    Gaps,
}

/// The columns in order. New columns are appended; parts without them are valid.
pub(super) static COLUMNS: [ColumnSpec; 26 + streams::COUNT + 7] = [
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
    optional("finish", Field::Finish),
    optional("gaps_us", Field::Gaps),
    optional("visit", Field::Visit),
    required("place", Field::Place),
    required("visit_end", Field::VisitEnd),
    optional("flow_step", Field::FlowStep),
    optional("metrics", Field::Metrics),
];

/// This many columns, the first ones, are in every part.
pub(super) const REQUIRED_COLUMNS: usize = 15;

/// The columns of [`Columns::Key`].
pub(super) const KEY_COLUMNS: [&str; 8] =
    ["intended_ns", "sent_ns", "step", "label", "outcome", "worker", "object", "attempt"];
/// The columns that [`Columns::Response`] adds.
pub(super) const RESPONSE_COLUMNS: [&str; 12] = [
    "first_byte_ns",
    "done_ns",
    "session",
    "status",
    "bytes_in",
    "reading_lateness_ns",
    "done_lateness_ns",
    "retries",
    "visit",
    "place",
    "visit_end",
    "metrics",
];

const fn required(name: &'static str, field: Field) -> ColumnSpec {
    ColumnSpec { name, optional: false, field }
}

pub(super) const fn optional(name: &'static str, field: Field) -> ColumnSpec {
    ColumnSpec { name, optional: true, field }
}

impl ColumnSpec {
    /// The declaration in a Parquet schema.
    pub(super) fn declaration(&self) -> String {
        let (physical, logical) = match self.field {
            Field::Long(..) | Field::Instant(..) | Field::Duration(..) | Field::Stream(_) => ("int64", ""),
            Field::Int(..) | Field::Visit | Field::Place => ("int32", ""),
            Field::Label
            | Field::Outcome
            | Field::Error
            | Field::Scenario
            | Field::FlowStep
            | Field::Metrics
            | Field::Finish
            | Field::Gaps => ("binary", " (string)"),
            Field::Reused | Field::VisitEnd => ("boolean", ""),
        };
        let optional = if self.optional { "optional" } else { "required" };
        format!("{optional} {physical} {}{logical};", self.name)
    }

    /// Whether the column is about streams.
    pub(super) fn is_of_streams(&self) -> bool {
        matches!(self.field, Field::Stream(_) | Field::Finish | Field::Gaps)
    }

    /// Whether the column is about visits.
    pub(super) fn is_of_visits(&self) -> bool {
        matches!(self.field, Field::Visit | Field::Place | Field::VisitEnd | Field::FlowStep)
    }

    /// Whether the column is delta-encoded, for numbers that differ little from their neighbours. Other columns repeat few values and use
    /// dictionaries.
    pub(super) fn is_number(&self) -> bool {
        matches!(
            self.field,
            Field::Long(..)
                | Field::Instant(..)
                | Field::Duration(..)
                | Field::Int(..)
                | Field::Visit
                | Field::Place
                | Field::Stream(_)
        )
    }
}
