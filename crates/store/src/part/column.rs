//! A column of a part: its name, its type, and the field of an event that it stores.

use offered_base::{Instant, Nanos};
use offered_events::Event;

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
    /// The name of the scenario, or null. It is for other programs; this one computes it from the session.
    Scenario,
    /// The number of the visit, or null.
    Visit,
    /// A number of the position in the visit.
    Place,
    /// Whether the visit is over.
    VisitEnd,
    /// The numbers of the response as a JSON array, or null.
    Metrics,
    /// The name of the flow and its step, or null. It is for other programs; this one reads it from the workload.
    FlowStep,
    /// A number of a streamed response, or null.
    Stream(usize),
    /// The finish reason of a stream.
    Finish,
    /// The gaps of a stream.
    Gaps,
}

/// The type of the values of a column.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Long,
    Int,
    Bool,
    Text,
}

/// Which of the columns that a part may lack its events need.
#[derive(Clone, Copy, Default)]
pub(super) struct UsedColumns {
    streams: bool,
    visits: bool,
    metrics: bool,
}

impl UsedColumns {
    /// Looks at more events.
    pub(super) fn see(&mut self, events: &[Event]) {
        for event in events {
            self.streams |= event.stream.is_some();
            self.visits |= event.visit.is_some();
            self.metrics |= event.metrics.is_some();
        }
    }

    /// Whether the events need this column.
    pub(super) fn has(self, column: &ColumnSpec) -> bool {
        match column.field {
            Field::Metrics => self.metrics,
            _ => (self.streams || !column.is_of_streams()) && (self.visits || !column.is_of_visits()),
        }
    }
}

/// A column that is never null.
pub(super) const fn required(name: &'static str, field: Field) -> ColumnSpec {
    ColumnSpec { name, optional: false, field }
}

/// A column that may be null.
pub(super) const fn optional(name: &'static str, field: Field) -> ColumnSpec {
    ColumnSpec { name, optional: true, field }
}

impl ColumnSpec {
    /// The declaration in a Parquet schema.
    pub(super) fn declaration(&self) -> String {
        let (physical, logical) = match self.kind() {
            Kind::Long => ("int64", ""),
            Kind::Int => ("int32", ""),
            Kind::Bool => ("boolean", ""),
            Kind::Text => ("binary", " (string)"),
        };
        let optional = if self.optional { "optional" } else { "required" };
        format!("{optional} {physical} {}{logical};", self.name)
    }

    /// The type of its values.
    pub(super) fn kind(&self) -> Kind {
        match self.field {
            Field::Long(..) | Field::Instant(..) | Field::Duration(..) | Field::Stream(_) => Kind::Long,
            Field::Int(..) | Field::Visit | Field::Place => Kind::Int,
            Field::Reused | Field::VisitEnd => Kind::Bool,
            Field::Label
            | Field::Outcome
            | Field::Error
            | Field::Scenario
            | Field::FlowStep
            | Field::Metrics
            | Field::Finish
            | Field::Gaps => Kind::Text,
        }
    }

    /// Whether the column is about streams.
    pub(super) fn is_of_streams(&self) -> bool {
        matches!(self.field, Field::Stream(_) | Field::Finish | Field::Gaps)
    }

    /// Whether the column is about visits.
    fn is_of_visits(&self) -> bool {
        matches!(self.field, Field::Visit | Field::Place | Field::VisitEnd | Field::FlowStep)
    }

    /// Whether the column is delta-encoded, for numbers that differ little from their neighbours. Other columns repeat few values and use
    /// dictionaries.
    pub(super) fn is_number(&self) -> bool {
        matches!(self.kind(), Kind::Long | Kind::Int)
    }
}
