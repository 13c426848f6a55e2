//! The values of a row group by column.

use std::io::Write;

use bytes::Bytes;
use offered_events::{Event, Outcome};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::writer::SerializedRowGroupWriter;

use super::column::{ColumnSpec, Field, Kind};
use super::{PIECE, PartContext, metrics, streams};

/// The values of a column, without nulls.
enum Values {
    Long(Vec<i64>),
    Int(Vec<i32>),
    Bool(Vec<bool>),
    Text(Vec<ByteArray>),
}

/// A column with its values.
pub(super) struct ColumnValues<'a> {
    pub(super) spec: &'a ColumnSpec,
    values: Values,
    /// For a nullable column the level of each row: 1 with a value and 0 without.
    levels: Vec<i16>,
}

/// The names in the columns of a part.
pub(super) struct ColumnNames {
    labels: Vec<ByteArray>,
    scenarios: Vec<ByteArray>,
    flow_steps: Vec<ByteArray>,
    outcomes: [ByteArray; Outcome::ALL.len()],
}

impl ColumnNames {
    pub(super) fn new(context: PartContext) -> Self {
        let names = |of: &[String]| of.iter().map(|name| ByteArray::from(name.as_str())).collect();
        let PartContext { labels, scenarios, flow_steps, .. } = context;
        let outcomes = Outcome::ALL.map(|outcome| ByteArray::from(Bytes::from_static(outcome.name().as_bytes())));
        Self { labels: names(labels), scenarios: names(scenarios), flow_steps: names(flow_steps), outcomes }
    }
}

impl<'a> ColumnValues<'a> {
    /// A column without rows, with room for this many.
    pub(super) fn new(spec: &'a ColumnSpec, rows: usize) -> Self {
        let values = match spec.kind() {
            Kind::Long => Values::Long(Vec::with_capacity(rows)),
            Kind::Int => Values::Int(Vec::with_capacity(rows)),
            Kind::Bool => Values::Bool(Vec::with_capacity(rows)),
            Kind::Text => Values::Text(Vec::with_capacity(rows)),
        };
        Self { spec, values, levels: Vec::with_capacity(if spec.optional { rows } else { 0 }) }
    }

    /// Whether no row has a value: all are null, or zero where null is impossible.
    pub(super) fn is_blank(&self) -> bool {
        let optional = self.spec.optional;
        match &self.values {
            Values::Long(values) => values.iter().all(|&n| !optional && n == 0),
            Values::Int(values) => values.iter().all(|&n| !optional && n == 0),
            Values::Bool(values) => values.iter().all(|&yes| !optional && !yes),
            Values::Text(values) => values.iter().all(|text| !optional && text.is_empty()),
        }
    }

    /// Appends a row for each event.
    pub(super) fn extend(&mut self, events: &[Event], names: &ColumnNames) {
        let Self { spec, values, levels } = self;
        match (&spec.field, values) {
            (Field::Long(get, _), Values::Long(values)) => values.extend(events.iter().map(|e| get(e) as i64)),
            (Field::Instant(get, _), Values::Long(values)) => {
                nullable(events, values, levels, |e| get(e).map(|at| at.0 as i64));
            }
            (Field::Duration(get, _), Values::Long(values)) => {
                nullable(events, values, levels, |e| get(e).map(|took| took.0 as i64));
            }
            (Field::Stream(nth), Values::Long(values)) => {
                nullable(events, values, levels, |e| streams::number(*nth, e).map(|n| n as i64));
            }
            (Field::Int(get, _), Values::Int(values)) => values.extend(events.iter().map(|e| get(e) as i32)),
            (Field::Visit, Values::Int(values)) => {
                nullable(events, values, levels, |e| e.visit.map(|visit| visit.number.into()));
            }
            (Field::Place, Values::Int(values)) => {
                values.extend(events.iter().map(|e| e.visit.map_or(0, |visit| i32::from(visit.place))));
            }
            (Field::Reused, Values::Bool(values)) => values.extend(events.iter().map(|e| e.reused)),
            (Field::VisitEnd, Values::Bool(values)) => {
                values.extend(events.iter().map(|e| e.visit.is_some_and(|visit| visit.ends)));
            }
            (Field::Label, Values::Text(values)) => values.extend(events.iter().map(|e| names.label(e.label))),
            (Field::Outcome, Values::Text(values)) => {
                values.extend(events.iter().map(|e| names.outcomes[e.outcome as usize].clone()));
            }
            (_, Values::Text(values)) => nullable(events, values, levels, |e| names.text(&spec.field, e)),
            (_, Values::Long(_) | Values::Int(_) | Values::Bool(_)) => {
                unreachable!("`new` chooses the type by the field")
            }
        }
    }

    /// Writes the column as the next one of a row group. Calls `pause` after each [`PIECE`].
    pub(super) fn write(
        &self,
        rows: &mut SerializedRowGroupWriter<impl Write + Send>,
        pause: &mut dyn FnMut(),
    ) -> Result<()> {
        let mut column = rows.next_column()?.expect("as many columns as the schema names");
        match &self.values {
            Values::Long(values) => write::<Int64Type>(column.typed(), values, &self.levels, pause)?,
            Values::Int(values) => write::<Int32Type>(column.typed(), values, &self.levels, pause)?,
            Values::Bool(values) => write::<BoolType>(column.typed(), values, &self.levels, pause)?,
            Values::Text(values) => write::<ByteArrayType>(column.typed(), values, &self.levels, pause)?,
        }
        column.close()
    }
}

/// Writes these values, [`PIECE`] rows at a time; `levels` are empty for a column that is never null.
fn write<T: DataType>(
    column: &mut ColumnWriterImpl<'_, T>,
    mut values: &[T::T],
    levels: &[i16],
    pause: &mut dyn FnMut(),
) -> Result<()> {
    if levels.is_empty() {
        for values in values.chunks(PIECE) {
            column.write_batch(values, None, None)?;
            pause();
        }
    }
    for levels in levels.chunks(PIECE) {
        let count = levels.iter().filter(|&&level| level > 0).count();
        let of_levels = values.split_off(..count).expect("a value for each row that has one");
        column.write_batch(of_levels, Some(levels), None)?;
        pause();
    }
    Ok(())
}

/// Appends the values of a nullable column, with their levels.
fn nullable<T>(events: &[Event], values: &mut Vec<T>, levels: &mut Vec<i16>, value: impl Fn(&Event) -> Option<T>) {
    for event in events {
        let value = value(event);
        levels.push(i16::from(value.is_some()));
        values.extend(value);
    }
}

impl ColumnNames {
    /// The name of a request.
    fn label(&self, label: u16) -> ByteArray {
        let unnamed = || ByteArray::from(format!("request {label}").into_bytes());
        self.labels.get(usize::from(label)).cloned().unwrap_or_else(unnamed)
    }

    /// The text of an event in a nullable column.
    fn text(&self, field: &Field, event: &Event) -> Option<ByteArray> {
        let stream = event.stream.as_ref();
        match field {
            Field::Error => Some(ByteArray::from(&*event.error.as_ref()?.text())),
            Field::Scenario => {
                let scenario = event.session.checked_rem(self.scenarios.len() as u64)?;
                self.scenarios.get(scenario as usize).cloned()
            }
            Field::FlowStep => self.flow_steps.get(usize::from(event.visit?.place)).cloned(),
            Field::Metrics => Some(ByteArray::from(&*metrics::text(event)?)),
            Field::Finish => Some(ByteArray::from(stream?.finish?.name())),
            Field::Gaps => Some(ByteArray::from(&*streams::gaps(stream?))),
            _ => None,
        }
    }
}
