//! One part: a batch of events as a Parquet file, and back.
//!
//! The columns are the documented list of DESIGN section 4. Rows stand in the order in which they were recorded: instants are
//! delta-packed, and those of the answers are then as small as those of the launches would be in order of intent. Names are
//! dictionary strings under zstd. (Over packed numbers zstd saves less than a byte an event, for a fifth of the writing time.)
//! Realistic open Poisson traffic (1,000/s over 2 workers, 4 requests, exponential service, 2 s in a part) takes about 17 bytes
//! an event, footer included; `an_event_takes_few_bytes` in the tests holds it below 24.

mod footer;

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use offered_model::{Event, Nanos, Outcome, Reason};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::reader::{ChunkReader, FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, TypePtr};

use crate::labels::Labels;

const SCHEMA: &str = "message event {
    required int64 intended_ns;
    optional int64 sent_ns;
    optional int64 first_byte_ns;
    optional int64 done_ns;
    required int64 session (integer(64, false));
    required int32 step (integer(32, false));
    required binary label (string);
    required binary outcome (string);
    required int32 status (integer(16, false));
    required int64 bytes_out (integer(64, false));
    required int64 bytes_in (integer(64, false));
    required int32 worker (integer(16, false));
    required int32 connection (integer(32, false));
    required boolean reused;
    optional binary error (string);
    optional int64 handshake_ns;
    required int32 object (integer(16, false));
}";

/// The first so many columns are in every part; those after them came later and are missing from older ones.
const ALWAYS: usize = 15;

/// Numbers whose neighbours differ little; the other columns repeat few values and are dictionaries.
const DELTA_PACKED: [&str; 13] = [
    "intended_ns",
    "sent_ns",
    "first_byte_ns",
    "done_ns",
    "session",
    "step",
    "status",
    "bytes_out",
    "bytes_in",
    "worker",
    "connection",
    "handshake_ns",
    "object",
];

/// Rows of a column written at one go.
const PIECE: usize = 1024;
/// Pieces in a row group: few enough to stay in the processor's cache while they are taken apart column by column.
const ROW_GROUP: usize = 8;

fn schema() -> TypePtr {
    Arc::new(parse_message_type(SCHEMA).expect("the schema above is well-formed"))
}

fn properties() -> WriterPropertiesPtr {
    let mut builder = WriterProperties::builder()
        .set_created_by("offered".to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true);
    for column in DELTA_PACKED.map(ColumnPath::from) {
        builder = builder
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column.clone(), Encoding::DELTA_BINARY_PACKED)
            .set_column_compression(column, Compression::UNCOMPRESSED);
    }
    Arc::new(builder.build())
}

/// Writes `batches` of events as one Parquet file; `labels` are the names that their labels point into.
/// `pause` is called after each [`PIECE`] of a column, some 15 us of work, with how often that will be in all.
pub(crate) fn write<W: Write + Send>(
    out: W,
    batches: &[Vec<Event>],
    labels: &[String],
    pause: &mut dyn FnMut(usize),
) -> Result<()> {
    let mut file = SerializedFileWriter::new(out, schema(), properties())?;
    let names: Vec<ByteArray> = labels.iter().map(|name| ByteArray::from(name.as_str())).collect();
    let pieces: Vec<&[Event]> = batches.iter().flat_map(|batch| batch.chunks(PIECE)).collect();
    let pauses = pieces.len() * schema().get_fields().len();
    let pause = &mut || pause(pauses);
    for group in pieces.chunks(ROW_GROUP) {
        write_columns(Columns { rows: file.next_row_group()?, pieces: group, pause }, &names)?;
    }
    file.close()?;
    Ok(())
}

fn write_columns<W: Write + Send>(columns: Columns<'_, W>, names: &[ByteArray]) -> Result<()> {
    let mut columns = write_first_columns(columns, names)?;
    columns.put_some::<Int64Type>(|e| e.handshake.map(|t| t.0 as i64))?;
    columns.put::<Int32Type>(|e| i32::from(e.object))?;
    columns.rows.close()?;
    Ok(())
}

/// Writes the columns that every part has.
fn write_first_columns<'a, W: Write + Send>(
    mut columns: Columns<'a, W>,
    names: &[ByteArray],
) -> Result<Columns<'a, W>> {
    let outcomes = Outcome::ALL.map(|outcome| ByteArray::from(Bytes::from_static(outcome.name().as_bytes())));
    columns.put::<Int64Type>(|e| e.intended.0 as i64)?;
    columns.put_some::<Int64Type>(|e| e.sent.map(|t| t.0 as i64))?;
    columns.put_some::<Int64Type>(|e| e.first_byte.map(|t| t.0 as i64))?;
    columns.put_some::<Int64Type>(|e| e.done.map(|t| t.0 as i64))?;
    columns.put::<Int64Type>(|e| e.session as i64)?;
    columns.put::<Int32Type>(|e| e.step as i32)?;
    columns.put::<ByteArrayType>(|e| match names.get(usize::from(e.label)) {
        Some(name) => name.clone(),
        None => ByteArray::from(format!("request {}", e.label).into_bytes()),
    })?;
    columns.put::<ByteArrayType>(|e| outcomes[e.outcome as usize].clone())?;
    columns.put::<Int32Type>(|e| i32::from(e.status))?;
    columns.put::<Int64Type>(|e| e.bytes_out as i64)?;
    columns.put::<Int64Type>(|e| e.bytes_in as i64)?;
    columns.put::<Int32Type>(|e| i32::from(e.worker))?;
    columns.put::<Int32Type>(|e| e.connection as i32)?;
    columns.put::<BoolType>(|e| e.reused)?;
    columns.put_some::<ByteArrayType>(|e| e.error.as_ref().map(|why| ByteArray::from(&*why.text())))?;
    Ok(columns)
}

/// A row group being written, column by column in the order of the schema.
struct Columns<'a, W: Write> {
    rows: SerializedRowGroupWriter<'a, W>,
    pieces: &'a [&'a [Event]],
    pause: &'a mut dyn FnMut(),
}

impl<W: Write + Send> Columns<'_, W> {
    fn put<T: DataType>(&mut self, value: impl Fn(&Event) -> T::T) -> Result<()> {
        self.column::<T>(|event, values, _| values.push(value(event)))
    }

    fn put_some<T: DataType>(&mut self, value: impl Fn(&Event) -> Option<T::T>) -> Result<()> {
        self.column::<T>(|event, values, there| {
            let value = value(event);
            there.push(i16::from(value.is_some()));
            values.extend(value);
        })
    }

    /// Writes a column, whose values (and, if it is nullable, whether there is one) `take` takes from each event.
    fn column<T: DataType>(&mut self, take: impl Fn(&Event, &mut Vec<T::T>, &mut Vec<i16>)) -> Result<()> {
        let mut column = self.rows.next_column()?.expect("as many columns as the schema names");
        let (mut values, mut there) = (Vec::with_capacity(PIECE), Vec::with_capacity(PIECE));
        for piece in self.pieces {
            values.clear();
            there.clear();
            piece.iter().for_each(|event| take(event, &mut values, &mut there));
            let there = (!there.is_empty()).then_some(there.as_slice());
            column.typed::<T>().write_batch(&values, there, None)?;
            (self.pause)();
        }
        column.close()
    }
}

/// Appends the events of a part to `events`, naming their labels in `labels`; after an error what it appended is unusable.
///
/// The `parquet` crate panics on some damaged files (a dictionary page turned into something else). To whoever reads a run
/// that is one more damaged part, so it becomes an error here.
pub(crate) fn read<R: ChunkReader + 'static>(part: R, events: &mut Vec<Event>, labels: &mut Labels) -> Result<()> {
    let read = catch_unwind(AssertUnwindSafe(|| read_whole(part, events, labels)));
    read.unwrap_or_else(|_| Err(ParquetError::General("it is damaged inside; restore it from a copy".to_owned())))
}

fn read_whole<R: ChunkReader + 'static>(part: R, events: &mut Vec<Event>, labels: &mut Labels) -> Result<()> {
    footer::check(&part)?;
    let file = SerializedFileReader::new(part)?;
    let (found, ours) = (file.metadata().file_metadata().schema(), schema());
    let names = |schema: &parquet::schema::types::Type| -> Vec<(String, parquet::basic::Type)> {
        let fields = schema.get_fields().iter().filter(|field| field.is_primitive());
        fields.map(|field| (field.name().to_owned(), field.get_physical_type())).collect()
    };
    let (found, ours) = (names(found), names(&ours));
    if found.len() < ALWAYS || !ours.starts_with(&found) {
        return Err(ParquetError::General(
            "its columns are not those of offered's events (intended_ns sent_ns ... error); give a run directory, or its \
             events/part-*.parquet"
                .to_owned(),
        ));
    }
    for group in 0..file.num_row_groups() {
        read_group(&*file.get_row_group(group)?, found.len(), events, labels)?;
    }
    Ok(())
}

/// Reads a group that has the first so many `columns` of the schema.
fn read_group(group: &dyn RowGroupReader, columns: usize, events: &mut Vec<Event>, labels: &mut Labels) -> Result<()> {
    let nanos = |at: Option<&i64>| at.map(|&ns| Nanos(ns as u64));
    let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    let intended = Column::<Int64Type>::read(group, 0, rows)?;
    let first = events.len();
    events.extend(intended.values.iter().map(|&ns| Event::at(Nanos(ns as u64))));
    let mut rows = Rows { group, events: &mut events[first..] };
    let mut unknown = None;
    rows.fill::<Int64Type>(1, |e, at| e.sent = nanos(at))?;
    rows.fill::<Int64Type>(2, |e, at| e.first_byte = nanos(at))?;
    rows.fill::<Int64Type>(3, |e, at| e.done = nanos(at))?;
    rows.fill::<Int64Type>(4, |e, session| e.session = session.map_or(0, |&n| n as u64))?;
    rows.fill::<Int32Type>(5, |e, step| e.step = step.map_or(0, |&n| n as u32))?;
    let mut before: Option<(ByteArray, u16)> = None;
    rows.fill::<ByteArrayType>(6, |e, name| {
        // Looked up only where the name changes.
        e.label = match (&before, name) {
            (Some((same, number)), Some(name)) if same == name => *number,
            _ => {
                let number = labels.number(name.map_or(b"", ByteArray::data));
                before = name.map(|name| (name.clone(), number));
                number
            }
        };
    })?;
    rows.fill::<ByteArrayType>(7, |e, name| {
        let name = name.and_then(|name| name.as_utf8().ok()).unwrap_or_default();
        match Outcome::from_name(name) {
            Some(outcome) => e.outcome = outcome,
            None => unknown = Some(name.to_owned()),
        }
    })?;
    rows.fill::<Int32Type>(8, |e, status| e.status = status.map_or(0, |&n| n as u16))?;
    rows.fill::<Int64Type>(9, |e, bytes| e.bytes_out = bytes.map_or(0, |&n| n as u64))?;
    rows.fill::<Int64Type>(10, |e, bytes| e.bytes_in = bytes.map_or(0, |&n| n as u64))?;
    rows.fill::<Int32Type>(11, |e, worker| e.worker = worker.map_or(0, |&n| n as u16))?;
    rows.fill::<Int32Type>(12, |e, connection| e.connection = connection.map_or(0, |&n| n as u32))?;
    rows.fill::<BoolType>(13, |e, reused| e.reused = reused.is_some_and(|&yes| yes))?;
    rows.fill::<ByteArrayType>(14, |e, why| {
        e.error = why.map(|why| Reason::read(&String::from_utf8_lossy(why.data())));
    })?;
    if columns > ALWAYS {
        rows.fill::<Int64Type>(15, |e, took| e.handshake = nanos(took))?;
    }
    if columns > ALWAYS + 1 {
        rows.fill::<Int32Type>(16, |e, object| e.object = object.map_or(0, |&n| n as u16))?;
    }
    match unknown {
        Some(name) => {
            Err(ParquetError::General(format!("`{name}` is no outcome this version knows; use a newer offered")))
        }
        None => Ok(()),
    }
}

struct Rows<'a> {
    group: &'a dyn RowGroupReader,
    events: &'a mut [Event],
}

impl Rows<'_> {
    /// Gives `set` every event with its value of column `index`, `None` where it is null.
    fn fill<T: DataType>(&mut self, index: usize, mut set: impl FnMut(&mut Event, Option<&T::T>)) -> Result<()> {
        let column = Column::<T>::read(self.group, index, self.events.len())?;
        let mut values = column.values.iter();
        for (row, event) in self.events.iter_mut().enumerate() {
            let there = column.there.get(row).is_none_or(|&level| level > 0);
            set(event, if there { values.next() } else { None });
        }
        Ok(())
    }
}

/// The values of one column of a row group that are not null, and for a nullable one which rows have one (level 1).
struct Column<T: DataType> {
    values: Vec<T::T>,
    there: Vec<i16>,
}

impl<T: DataType> Column<T> {
    fn read(group: &dyn RowGroupReader, index: usize, rows: usize) -> Result<Self> {
        let mut reader: ColumnReaderImpl<T> = get_typed_column_reader(group.get_column_reader(index)?);
        let mut column = Self { values: Vec::new(), there: Vec::new() };
        let (read, ..) = reader.read_records(rows, Some(&mut column.there), None, &mut column.values)?;
        if read != rows {
            return Err(ParquetError::EOF(format!("{read} of {rows} rows in column {index}")));
        }
        Ok(column)
    }
}

#[cfg(test)]
mod tests;
