//! One part: a batch of events as a Parquet file, and back.
//!
//! The columns are the documented list of DESIGN section 4. Rows stand in the order in which they were recorded: instants are
//! delta-packed, and those of the answers are then as small as those of the launches would be in order of intent. Names are
//! dictionary strings. (zstd would save a hundredth of the names, and less than a byte an event of the numbers, for a fifth of the writing
//! time and a twentieth of the reading; parts of older versions have their names under it.)
//! Realistic open Poisson traffic (1,000/s over 2 workers, 4 requests, exponential service, 2 s in a part) takes about 17 bytes
//! an event, footer included; `an_event_takes_few_bytes` in the tests holds it below 24.

mod footer;
mod names;
mod seal;

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use offered_model::events::Wanted;
use offered_model::{Event, Instant, Nanos, Outcome, Reason};
use parquet::basic::Encoding;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::reader::{ChunkReader, FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, TypePtr};

use crate::labels::Labels;
pub(crate) use footer::check as check_footer;
use names::Names;
use seal::{SEAL, Sealing, Shared};

/// A column: its name, whether it may be null, and what of an event it holds.
struct Kind {
    name: &'static str,
    optional: bool,
    of: Of,
}

/// What of an event a column holds: how it is taken from one, and how it is put into one.
enum Of {
    /// 64 bits.
    Long(fn(&Event) -> u64, fn(&mut Event, u64)),
    /// An instant in ns, or none.
    At(fn(&Event) -> Option<Instant>, fn(&mut Event, Option<Instant>)),
    /// A time in ns, or none.
    Time(fn(&Event) -> Option<Nanos>, fn(&mut Event, Option<Nanos>)),
    /// So many bits.
    Int(u8, fn(&Event) -> u32, fn(&mut Event, u32)),
    /// The name of its request.
    Label,
    /// The name of how it ended.
    Outcome,
    /// Whether its connection was used before.
    Reused,
    /// Why it failed.
    Error,
}

/// The columns in the order in which they stand. New ones come last, and a part without them is an older one.
static COLUMNS: [Kind; 19] = [
    required("intended_ns", Of::Long(|e| e.intended.0, |e, ns| e.intended = Instant(ns))),
    optional("sent_ns", Of::At(|e| e.sent, |e, at| e.sent = at)),
    optional("first_byte_ns", Of::At(|e| e.first_byte, |e, at| e.first_byte = at)),
    optional("done_ns", Of::At(|e| e.done, |e, at| e.done = at)),
    required("session", Of::Long(|e| e.session, |e, session| e.session = session)),
    required("step", Of::Int(32, |e| e.step, |e, step| e.step = step)),
    required("label", Of::Label),
    required("outcome", Of::Outcome),
    required("status", Of::Int(16, |e| e.status.into(), |e, status| e.status = status as u16)),
    required("bytes_out", Of::Long(|e| e.bytes_out, |e, bytes| e.bytes_out = bytes)),
    required("bytes_in", Of::Long(|e| e.bytes_in, |e, bytes| e.bytes_in = bytes)),
    required("worker", Of::Int(16, |e| e.worker.into(), |e, worker| e.worker = worker as u16)),
    required("connection", Of::Int(32, |e| e.connection, |e, connection| e.connection = connection)),
    required("reused", Of::Reused),
    optional("error", Of::Error),
    optional("handshake_ns", Of::Time(|e| e.handshake, |e, took| e.handshake = took)),
    required("object", Of::Int(16, |e| e.object.into(), |e, object| e.object = object as u16)),
    optional("waited_ns", Of::Time(|e| e.waited, |e, took| e.waited = took)),
    required("rows", Of::Long(|e| e.rows, |e, rows| e.rows = rows)),
];

/// The first so many are in every part.
const ALWAYS: usize = 15;

/// The columns of [`Wanted::Place`].
const PLACE: [&str; 7] = ["intended_ns", "sent_ns", "step", "label", "outcome", "worker", "object"];
/// Those that [`Wanted::Answer`] wants beside them.
const ANSWER: [&str; 5] = ["first_byte_ns", "done_ns", "session", "status", "bytes_in"];

const fn required(name: &'static str, of: Of) -> Kind {
    Kind { name, optional: false, of }
}

const fn optional(name: &'static str, of: Of) -> Kind {
    Kind { name, optional: true, of }
}

impl Kind {
    /// As a Parquet schema declares it. `intended_ns` is signed, like all that are instants.
    fn declared(&self) -> String {
        let (physical, logical) = match self.of {
            Of::Long(..) if self.name.ends_with("_ns") => ("int64", String::new()),
            Of::Long(..) => ("int64", " (integer(64, false))".to_owned()),
            Of::At(..) | Of::Time(..) => ("int64", String::new()),
            Of::Int(bits, ..) => ("int32", format!(" (integer({bits}, false))")),
            Of::Label | Of::Outcome | Of::Error => ("binary", " (string)".to_owned()),
            Of::Reused => ("boolean", String::new()),
        };
        let optional = if self.optional { "optional" } else { "required" };
        format!("{optional} {physical} {}{logical};", self.name)
    }

    /// Numbers whose neighbours differ little are delta-packed; the other columns repeat few values and are dictionaries.
    fn is_number(&self) -> bool {
        matches!(self.of, Of::Long(..) | Of::At(..) | Of::Time(..) | Of::Int(..))
    }
}

/// Rows of a column written at one go.
const PIECE: usize = 1024;
/// Pieces in a row group: few enough to stay in the processor's cache while they are taken apart column by column.
const ROW_GROUP: usize = 8;

/// About so many pauses while a part is written: above some 50,000 events, more work is done between two of them.
const PAUSES: usize = 900;

/// Calls `pause` now and then, where [`write()`] would call it after each piece.
pub(crate) fn now_and_then(pause: &mut dyn FnMut()) -> impl FnMut(usize) {
    let mut pieces = 0;
    move |of| {
        pieces += 1;
        if pieces % (of / PAUSES + 1) == 0 {
            pause();
        }
    }
}

/// Of these columns.
fn schema(columns: &[Kind]) -> TypePtr {
    let declared: String = columns.iter().map(Kind::declared).collect();
    Arc::new(parse_message_type(&format!("message event {{ {declared} }}")).expect("the columns above are well-formed"))
}

fn properties() -> WriterPropertiesPtr {
    let mut builder = WriterProperties::builder()
        .set_created_by("offered".to_owned())
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true);
    for column in COLUMNS.iter().filter(|column| column.is_number()).map(|column| ColumnPath::from(column.name)) {
        builder = builder
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
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
    write_columns(&COLUMNS, out, batches, labels, pause)
}

fn write_columns<W: Write + Send>(
    columns: &[Kind],
    out: W,
    batches: &[Vec<Event>],
    labels: &[String],
    pause: &mut dyn FnMut(usize),
) -> Result<()> {
    let mut file = SerializedFileWriter::new(Sealing::new(out), schema(columns), properties())?;
    let names: Vec<ByteArray> = labels.iter().map(|name| ByteArray::from(name.as_str())).collect();
    let pieces: Vec<&[Event]> = batches.iter().flat_map(|batch| batch.chunks(PIECE)).collect();
    let pauses = pieces.len() * columns.len();
    let pause = &mut || pause(pauses);
    for group in pieces.chunks(ROW_GROUP) {
        let mut rows = Columns { rows: file.next_row_group()?, pieces: group, pause };
        for column in columns {
            rows.put(column, &names)?;
        }
        rows.rows.close()?;
    }
    file.flush()?;
    let seal = file.inner().seal();
    file.append_key_value_metadata(KeyValue::new(SEAL.to_owned(), seal));
    file.close()?;
    Ok(())
}

/// A row group being written, column by column in the order of the schema.
struct Columns<'a, W: Write> {
    rows: SerializedRowGroupWriter<'a, W>,
    pieces: &'a [&'a [Event]],
    pause: &'a mut dyn FnMut(),
}

impl<W: Write + Send> Columns<'_, W> {
    /// Writes the next column.
    fn put(&mut self, kind: &Kind, names: &[ByteArray]) -> Result<()> {
        match &kind.of {
            Of::Long(get, _) => self.each::<Int64Type>(|e| get(e) as i64),
            Of::At(get, _) => self.some::<Int64Type>(|e| get(e).map(|at| at.0 as i64)),
            Of::Time(get, _) => self.some::<Int64Type>(|e| get(e).map(|took| took.0 as i64)),
            Of::Int(_, get, _) => self.each::<Int32Type>(|e| get(e) as i32),
            Of::Label => self.each::<ByteArrayType>(|e| match names.get(usize::from(e.label)) {
                Some(name) => name.clone(),
                None => ByteArray::from(format!("request {}", e.label).into_bytes()),
            }),
            Of::Outcome => {
                let outcome = |outcome: Outcome| ByteArray::from(Bytes::from_static(outcome.name().as_bytes()));
                let outcomes = Outcome::ALL.map(outcome);
                self.each::<ByteArrayType>(|e| outcomes[e.outcome as usize].clone())
            }
            Of::Reused => self.each::<BoolType>(|e| e.reused),
            Of::Error => self.some::<ByteArrayType>(|e| e.error.as_ref().map(|why| ByteArray::from(&*why.text()))),
        }
    }

    fn each<T: DataType>(&mut self, value: impl Fn(&Event) -> T::T) -> Result<()> {
        self.column::<T>(|event, values, _| values.push(value(event)))
    }

    fn some<T: DataType>(&mut self, value: impl Fn(&Event) -> Option<T::T>) -> Result<()> {
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

/// Gives `see` what is wanted of the events of a part, a thousand at a time, naming their labels in `labels`; after an error what it
/// gave is unusable. Of a part without a seal everything is read: only so is it known to be whole.
///
/// The `parquet` crate panics on some damaged files (a dictionary page turned into something else). To whoever reads a run
/// that is one more damaged part, so it becomes an error here.
pub(crate) fn play<R: ChunkReader + 'static>(
    part: R,
    labels: &mut Labels,
    wanted: Wanted,
    see: &mut dyn FnMut(&[Event]),
) -> Result<()> {
    let played = catch_unwind(AssertUnwindSafe(|| play_groups(part, labels, wanted, see)));
    played.unwrap_or_else(|_| Err(ParquetError::General("it is damaged inside; restore it from a copy".to_owned())))
}

fn play_groups<R: ChunkReader + 'static>(
    part: R,
    labels: &mut Labels,
    wanted: Wanted,
    see: &mut dyn FnMut(&[Event]),
) -> Result<()> {
    check_footer(&part)?;
    let part = Arc::new(part);
    let file = SerializedFileReader::new(Shared(part.clone()))?;
    let (found, ours) = (file.metadata().file_metadata(), schema(&COLUMNS));
    let names = |schema: &parquet::schema::types::Type| -> Vec<(String, parquet::basic::Type)> {
        let fields = schema.get_fields().iter().filter(|field| field.is_primitive());
        fields.map(|field| (field.name().to_owned(), field.get_physical_type())).collect()
    };
    let (columns, ours) = (names(found.schema()), names(&ours));
    if columns.len() < ALWAYS || !ours.starts_with(&columns) {
        return Err(ParquetError::General(
            "its columns are not those of offered's events (intended_ns sent_ns ... error); give a run directory, or its \
             events/part-*.parquet"
                .to_owned(),
        ));
    }
    let seal = found.key_value_metadata().into_iter().flatten().find(|pair| pair.key == SEAL);
    if let Some(seal) = seal {
        seal::check(&*part, seal.value.as_deref().unwrap_or_default())?;
    }
    let is_wanted = |kind: &Kind| match wanted {
        _ if seal.is_none() => true,
        Wanted::Whole => true,
        Wanted::Answer => PLACE.contains(&kind.name) || ANSWER.contains(&kind.name),
        Wanted::Place => PLACE.contains(&kind.name),
    };
    let columns: Vec<_> = COLUMNS[..columns.len()].iter().enumerate().filter(|(_, kind)| is_wanted(kind)).collect();
    let mut events = Vec::new();
    for group in 0..file.num_row_groups() {
        play_group(&*file.get_row_group(group)?, &columns, &mut events, labels, see)?;
    }
    Ok(())
}

/// Plays these columns of a group, each with its number; `events` is where its rows are put together, and holds nothing else.
fn play_group(
    group: &dyn RowGroupReader,
    columns: &[(usize, &'static Kind)],
    events: &mut Vec<Event>,
    labels: &mut Labels,
    see: &mut dyn FnMut(&[Event]),
) -> Result<()> {
    let reader = |&(index, kind): &(usize, &'static Kind)| {
        let reader = match kind.of {
            Of::Label | Of::Outcome => Reader::Names(Names::new(group.get_column_page_reader(index)?)),
            _ => Reader::Values(Box::new(group.get_column_reader(index)?)),
        };
        Ok((kind, reader))
    };
    let mut readers = columns.iter().map(reader).collect::<Result<Vec<_>>>()?;
    // What the footer says of the number of rows is believed only when the columns have so many.
    let mut left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    while left > 0 {
        let rows = left.min(PIECE);
        // Every column that is read sets it in every row.
        events.resize(rows, Event::at(Instant::ZERO));
        for (kind, reader) in &mut readers {
            kind.fill(reader, events, labels)?;
        }
        see(events);
        left -= rows;
    }
    Ok(())
}

/// Reads a column.
enum Reader {
    /// The names of [`Of::Label`] and [`Of::Outcome`].
    Names(Names),
    /// All others.
    Values(Box<ColumnReader>),
}

impl Kind {
    /// Gives every event its value of this column, the next ones of `reader`.
    fn fill(&self, reader: &mut Reader, events: &mut [Event], labels: &mut Labels) -> Result<()> {
        use ColumnReader::{BoolColumnReader, ByteArrayColumnReader, Int32ColumnReader, Int64ColumnReader};
        let reader = match reader {
            Reader::Names(names) => return self.name(names, events, labels),
            Reader::Values(reader) => reader,
        };
        match (&self.of, &mut **reader) {
            (Of::Long(_, set), Int64ColumnReader(reader)) => {
                each(reader, events, |e, n| set(e, n.map_or(0, |&n| n as u64)))
            }
            (Of::At(_, set), Int64ColumnReader(reader)) => {
                each(reader, events, |e, at| set(e, at.map(|&ns| Instant(ns as u64))))
            }
            (Of::Time(_, set), Int64ColumnReader(reader)) => {
                each(reader, events, |e, took| set(e, took.map(|&ns| Nanos(ns as u64))))
            }
            (Of::Int(_, _, set), Int32ColumnReader(reader)) => {
                each(reader, events, |e, n| set(e, n.map_or(0, |&n| n as u32)))
            }
            (Of::Reused, BoolColumnReader(reader)) => {
                each(reader, events, |e, reused| e.reused = reused.is_some_and(|&yes| yes))
            }
            (Of::Error, ByteArrayColumnReader(reader)) => each(reader, events, |e, why| {
                e.error = why.map(|why| Reason::read(&String::from_utf8_lossy(why.data())));
            }),
            _ => Err(ParquetError::General(format!("its column {} is of another type", self.name))),
        }
    }

    /// Gives every event what the next ones of `names` stand for.
    fn name(&self, names: &mut Names, events: &mut [Event], labels: &mut Labels) -> Result<()> {
        if matches!(self.of, Of::Label) {
            let mut number = |name: &[u8]| Ok(labels.number(name));
            return events.iter_mut().try_for_each(|e| names.next(&mut number).map(|number| e.label = number));
        }
        let mut code = |name: &[u8]| {
            let known = std::str::from_utf8(name).ok().and_then(Outcome::from_name);
            known.map(|outcome| outcome as u16).ok_or_else(|| {
                let name = String::from_utf8_lossy(name);
                ParquetError::General(format!("`{name}` is no outcome this version knows; use a newer offered"))
            })
        };
        events
            .iter_mut()
            .try_for_each(|e| names.next(&mut code).map(|code| e.outcome = Outcome::ALL[usize::from(code)]))
    }
}

/// Gives `set` every event with its value of the next ones of `reader`, `None` where it is null.
fn each<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    events: &mut [Event],
    mut set: impl FnMut(&mut Event, Option<&T::T>),
) -> Result<()> {
    let rows = events.len();
    let (mut values, mut there) = (Vec::with_capacity(rows), Vec::new());
    let (read, ..) = reader.read_records(rows, Some(&mut there), None, &mut values)?;
    if read != rows {
        return Err(ParquetError::EOF(format!("{read} of {rows} rows")));
    }
    let mut values = values.iter();
    for (row, event) in events.iter_mut().enumerate() {
        let there = there.get(row).is_none_or(|&level| level > 0);
        set(event, if there { values.next() } else { None });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
