//! Writes and reads one part: a batch of events as a Parquet file.
//!
//! The columns are those of `book/src/reference/run-directory.md`: signed integers only, so that subtraction works in
//! every reader. Rows have the order in which they were recorded. Times are delta-encoded. In this order, end times
//! take as little space as send times would take in scheduled order. Names use dictionary encoding. (zstd would save
//! one per cent of the names and less than a byte per event of the numbers. It would take 20 % more time for writing
//! and 5 % more for reading.) Realistic open Poisson traffic (1,000/s over 2 threads, 4 requests, exponential service,
//! 2 s per part) takes about 17 bytes per event, including the footer. The test `an_event_takes_few_bytes` keeps it
//! below 24.

pub(crate) mod arrow;
mod blank;
mod column;
mod columns;
mod damage;
mod footer;
pub(crate) mod metrics;
mod names;
mod pages;
mod seal;
pub(crate) mod streams;
mod values;

use std::borrow::Borrow;
use std::io::Write;
use std::sync::{Arc, LazyLock};

use offered_base::{Instant, Nanos};
use offered_events::Columns;
use offered_events::{Event, Outcome, Reason, VisitPosition};
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::reader::{ChunkReader, FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, TypePtr};

use crate::labels::Labels;
use blank::{BLANK, BlankFile, is_blank};
use column::{ColumnSpec, Field, UsedColumns};
use columns::{COLUMNS, KEY_COLUMNS, REQUIRED_COLUMNS, RESPONSE_COLUMNS, WIRE_COLUMNS};
pub(crate) use damage::catch_panic;
pub(crate) use footer::check as check_footer;
use names::Names;
pub(crate) use pages::uncompressed_size;
use seal::{ChecksumWriter, SEAL, Shared};
use values::{ColumnNames, ColumnValues};

/// The footer key of the start of the run, in nanoseconds since the Unix epoch.
pub(crate) const STARTED: &str = "offered.started_unix_ns";

/// Number of rows of a column read or written at once.
const PIECE: usize = 1024;
/// Rows per row group.
const ROW_GROUP: usize = 8 * PIECE;
/// Maximum number of events of which all columns are extracted before the next events: few enough to stay in the processor's cache. A batch
/// of a generator thread, a little more than 1,024 events, has four such pieces.
const EXTRACTED: usize = 300;

/// Approximate number of pauses while a part is written. Above 50,000 events, more work is done between two pauses.
const PAUSES: usize = 900;

/// Calls `pause` about [`PAUSES`] times per part. [`write()`] calls the returned function after each piece.
pub(crate) fn now_and_then(pause: &mut dyn FnMut()) -> impl FnMut(usize) {
    let mut pieces = 0;
    move |of| {
        pieces += 1;
        if pieces % (of / PAUSES + 1) == 0 {
            pause();
        }
    }
}

/// The Parquet schema of these columns.
fn schema(columns: &[&ColumnSpec]) -> TypePtr {
    let declarations: String = columns.iter().map(|column| column.declaration()).collect();
    Arc::new(
        parse_message_type(&format!("message event {{ {declarations} }}")).expect("the columns above are well-formed"),
    )
}

fn properties() -> WriterPropertiesBuilder {
    let mut builder = WriterProperties::builder()
        .set_created_by("offered".to_owned())
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true);
    for column in COLUMNS.iter().filter(|column| column.is_number()).map(|column| ColumnPath::from(column.name)) {
        builder = builder
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    builder
}

/// Data that all events of a part share.
#[derive(Clone, Copy, Default)]
pub(crate) struct PartContext<'a> {
    /// The names of requests, by number.
    pub labels: &'a [String],
    /// The names of the scenarios; empty for a workload with one load only.
    pub scenarios: &'a [String],
    /// The names of flow and step, by [place](offered_events::VisitPosition::place); empty without flows.
    pub flow_steps: &'a [String],
    /// The instant from which the times of events count, since the Unix epoch; `None` if it is unknown or the clock is virtual.
    pub started: Option<Nanos>,
}

/// Encodes what parts share, which takes some milliseconds without a pause.
pub(crate) fn prepare() {
    LazyLock::force(&BLANK);
}

/// Writes `batches` of events as one Parquet file. Calls `pause` after about 15 us of work, with an estimate of the total number of calls.
pub(crate) fn write<W: Write + Send, B: Borrow<Vec<Event>>>(
    out: W,
    batches: &[B],
    context: PartContext,
    pause: &mut dyn FnMut(usize),
) -> Result<()> {
    let (groups, mut used) = (row_groups(batches), UsedColumns::default());
    let pieces: usize = groups.iter().map(Vec::len).sum();
    for (nth, piece) in groups.iter().flatten().enumerate() {
        used.see(piece);
        if nth % 8 == 0 {
            pause(pieces / 8);
        }
    }
    let columns: Vec<&ColumnSpec> = COLUMNS.iter().filter(|column| used.has(column)).collect();
    write_columns(&columns, properties(), Some(&BLANK), out, &groups, context, pause)
}

/// Takes the columns of full row groups that have no value from `blank`, if it is given.
fn write_columns<W: Write + Send>(
    columns: &[&ColumnSpec],
    properties: WriterPropertiesBuilder,
    blank: Option<&LazyLock<BlankFile>>,
    out: W,
    groups: &[Vec<&[Event]>],
    context: PartContext,
    pause: &mut dyn FnMut(usize),
) -> Result<()> {
    let mut file = SerializedFileWriter::new(ChecksumWriter::new(out), schema(columns), Arc::new(properties.build()))?;
    let names = ColumnNames::new(context);
    let pauses = groups.iter().map(|group| group.len() + columns.len() * rows(group).div_ceil(PIECE)).sum();
    let pause = &mut || pause(pauses);
    for group in groups {
        let mut columns: Vec<_> = columns.iter().map(|spec| ColumnValues::new(spec, rows(group))).collect();
        for piece in group {
            for column in &mut columns {
                column.extend(piece, &names);
            }
            pause();
        }
        let blank = blank.filter(|_| rows(group) == ROW_GROUP);
        let mut rows = file.next_row_group()?;
        for column in &columns {
            match blank {
                Some(blank) if column.is_blank() => {
                    rows.append_column(&blank.bytes, blank.column(column.spec))?;
                    pause();
                }
                _ => column.write(&mut rows, pause)?,
            }
        }
        rows.close()?;
    }
    file.flush()?;
    let seal = file.inner().seal();
    file.append_key_value_metadata(KeyValue::new(SEAL.to_owned(), seal));
    if let Some(started) = context.started {
        file.append_key_value_metadata(KeyValue::new(STARTED.to_owned(), started.0.to_string()));
    }
    file.close()?;
    Ok(())
}

/// The number of rows of a row group.
fn rows(group: &[&[Event]]) -> usize {
    group.iter().map(|piece| piece.len()).sum()
}

/// The events of `batches` as row groups, all but the last of [`ROW_GROUP`] rows, and each in pieces of at most [`EXTRACTED`].
fn row_groups<B: Borrow<Vec<Event>>>(batches: &[B]) -> Vec<Vec<&[Event]>> {
    let (mut groups, mut room) = (Vec::new(), 0);
    for batch in batches {
        let mut rest = batch.borrow().as_slice();
        while !rest.is_empty() {
            if room == 0 {
                groups.push(Vec::new());
                room = ROW_GROUP;
            }
            let (piece, later) = rest.split_at(rest.len().min(room).min(EXTRACTED));
            groups.last_mut().expect("one was added").push(piece);
            (rest, room) = (later, room - piece.len());
        }
    }
    groups
}

/// Maximum ratio of the size of a part after decompression, and a size in bytes that is always accepted. Parts are written without
/// compression; other programs may have compressed them.
const MAX_EXPANSION: u64 = 20;
const MIN_UNCOMPRESSED: u64 = 16 << 20;
/// Maximum size of a name or reason in bytes.
const MAX_TEXT: usize = 64 << 10;

/// Passes the requested `columns` of the events of a part to `visit`, a thousand events at a time, with labels numbered by `labels`. After an
/// error, events passed before are invalid. A part without a checksum is read completely, to check that it is complete.
pub(crate) fn scan<R: ChunkReader + 'static>(
    part: R,
    labels: &mut Labels,
    requested: Columns,
    visit: &mut dyn FnMut(&[Event]),
) -> Result<()> {
    catch_panic("the file is damaged", || scan_groups(part, labels, requested, visit))
}

fn scan_groups<R: ChunkReader + 'static>(
    part: R,
    labels: &mut Labels,
    requested: Columns,
    visit: &mut dyn FnMut(&[Event]),
) -> Result<()> {
    check_footer(&part)?;
    let part = Arc::new(part);
    let file = SerializedFileReader::new(Shared(part.clone()))?;
    let size = uncompressed_size(&*part, file.metadata())?;
    if size > MAX_EXPANSION * part.len() + MIN_UNCOMPRESSED {
        let length = part.len();
        return Err(ParquetError::General(format!(
            "the file has {length} bytes, and {size} after decompression; offered did not write it"
        )));
    }
    let found = file.metadata().file_metadata();
    let ours = schema(&COLUMNS.iter().collect::<Vec<_>>());
    let names = |schema: &parquet::schema::types::Type| -> Vec<(String, parquet::basic::Type)> {
        let fields = schema.get_fields().iter().filter(|field| field.is_primitive());
        fields.map(|field| (field.name().to_owned(), field.get_physical_type())).collect()
    };
    let (columns, ours) = (names(found.schema()), names(&ours));
    let kinds: Option<Vec<&ColumnSpec>> =
        columns.iter().map(|column| Some(&COLUMNS[ours.iter().position(|known| known == column)?])).collect();
    let kinds = kinds.filter(|_| columns.starts_with(&ours[..REQUIRED_COLUMNS]));
    let Some(kinds) = kinds else {
        return Err(ParquetError::General(
            "the columns are not those of a run (intended_ns sent_ns ... error); give a run directory, or its events/part-*.parquet"
                .to_owned(),
        ));
    };
    let seal = found.key_value_metadata().into_iter().flatten().find(|pair| pair.key == SEAL);
    if let Some(seal) = seal {
        seal::check(&*part, seal.value.as_deref().unwrap_or_default())?;
    }
    let is_requested = |kind: &ColumnSpec| match requested {
        _ if seal.is_none() => true,
        Columns::All => true,
        Columns::Response => {
            KEY_COLUMNS.contains(&kind.name) || RESPONSE_COLUMNS.contains(&kind.name) || kind.is_of_streams()
        }
        Columns::Key => KEY_COLUMNS.contains(&kind.name),
        Columns::Wire => KEY_COLUMNS.contains(&kind.name) || WIRE_COLUMNS.contains(&kind.name),
    };
    let columns: Vec<_> = kinds.into_iter().enumerate().filter(|(_, kind)| is_requested(kind)).collect();
    let mut events = Vec::new();
    for group in 0..file.num_row_groups() {
        let (group, max_gaps) = (file.get_row_group(group)?, size.max(MIN_UNCOMPRESSED));
        let has_value = |index: usize| seal.is_none() || !is_blank(group.metadata().column(index));
        let columns: Vec<_> = columns.iter().copied().filter(|&(index, _)| has_value(index)).collect();
        scan_group(&*group, &columns, max_gaps, &mut events, labels, visit)?;
    }
    Ok(())
}

/// Scans these columns of a row group; each is given with its number. The gaps of a thousand events have at most
/// `max_gaps` bytes. `events` is a reused buffer.
fn scan_group(
    group: &dyn RowGroupReader,
    columns: &[(usize, &'static ColumnSpec)],
    max_gaps: u64,
    events: &mut Vec<Event>,
    labels: &mut Labels,
    visit: &mut dyn FnMut(&[Event]),
) -> Result<()> {
    let reader = |&(index, kind): &(usize, &'static ColumnSpec)| {
        let reader = match kind.field {
            Field::Label | Field::Outcome => Reader::Names(Names::new(group.get_column_page_reader(index)?)),
            _ => {
                let pages = Box::new(BoundedPages(group.get_column_page_reader(index)?));
                Reader::Values(Box::new(get_column_reader(group.metadata().column(index).column_descr_ptr(), pages)))
            }
        };
        Ok((kind, reader))
    };
    let mut readers = columns.iter().map(reader).collect::<Result<Vec<_>>>()?;
    // The number of rows in the footer is trusted only as far as the columns have that many.
    let mut left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    events.clear();
    while left > 0 {
        let rows = left.min(PIECE);
        // Every scanned column is set in every row of the group; the others have no value in any.
        events.resize(rows, Event::at(Instant::ZERO));
        for (kind, reader) in &mut readers {
            kind.fill(reader, events, labels, max_gaps)?;
        }
        visit(events);
        left -= rows;
    }
    Ok(())
}

/// Reads one column.
enum Reader {
    /// The names of [`Field::Label`] and [`Field::Outcome`].
    Names(Names),
    /// A column other than label and outcome.
    Values(Box<ColumnReader>),
}

impl ColumnSpec {
    /// Sets this column in all events, from the next values of `reader`; the gaps of all these events have at most `max_gaps` bytes.
    fn fill(&self, reader: &mut Reader, events: &mut [Event], labels: &mut Labels, max_gaps: u64) -> Result<()> {
        use ColumnReader::{BoolColumnReader, ByteArrayColumnReader, Int32ColumnReader, Int64ColumnReader};
        let reader = match reader {
            Reader::Names(names) => return self.name(names, events, labels),
            Reader::Values(reader) => reader,
        };
        match (&self.field, &mut **reader) {
            (Field::Long(_, set), Int64ColumnReader(reader)) => {
                each(reader, events, |e, n| set(e, n.map_or(0, |&n| n as u64)))
            }
            (Field::Instant(_, set), Int64ColumnReader(reader)) => {
                each(reader, events, |e, at| set(e, at.map(|&ns| Instant(ns as u64))))
            }
            (Field::Duration(_, set), Int64ColumnReader(reader)) => {
                each(reader, events, |e, took| set(e, took.map(|&ns| Nanos(ns as u64))))
            }
            (Field::Int(_, set), Int32ColumnReader(reader)) => {
                each(reader, events, |e, n| set(e, n.map_or(0, |&n| n as u32)))
            }
            (Field::Reused, BoolColumnReader(reader)) => {
                each(reader, events, |e, reused| e.reused = reused.is_some_and(|&yes| yes))
            }
            (Field::Stream(nth), Int64ColumnReader(reader)) => {
                each(reader, events, |e, n| streams::set_number(*nth, e, n.map(|&n| n as u64)))
            }
            (Field::Finish, ByteArrayColumnReader(reader)) => {
                each(reader, events, |e, name| streams::set_finish(e, name.map(ByteArray::data)))
            }
            (Field::Gaps, ByteArrayColumnReader(reader)) => {
                // A dictionary page may repeat one long text for each event.
                let mut size = 0;
                each(reader, events, |e, gaps| {
                    let gaps = gaps.map_or(&[][..], ByteArray::data);
                    size += gaps.len() as u64;
                    streams::set_gaps(e, if size <= max_gaps { gaps } else { &[] });
                })?;
                if size > max_gaps {
                    let why = format!("the gaps of {} streams have {size} bytes, more than the file", events.len());
                    return Err(ParquetError::General(format!("{why}; offered did not write this file")));
                }
                Ok(())
            }
            (Field::Error, ByteArrayColumnReader(reader)) => each(reader, events, |e, why| {
                let text = |why: &ByteArray| Reason::read(&String::from_utf8_lossy(bounded(why.data())));
                e.error = why.map(text);
            }),
            (Field::Scenario | Field::FlowStep, ByteArrayColumnReader(reader)) => each(reader, events, |_, _| ()),
            (Field::Metrics, ByteArrayColumnReader(reader)) => {
                each(reader, events, |e, numbers| metrics::set(e, numbers.map_or(&[][..], ByteArray::data)))
            }
            // The first of the columns about visits decides whether there is a position.
            (Field::Visit, Int32ColumnReader(reader)) => each(reader, events, |e, n| {
                e.visit = n.map(|&n| VisitPosition { number: n as u16, ..VisitPosition::default() });
            }),
            (Field::Place, Int32ColumnReader(reader)) => each(reader, events, |e, n| {
                e.visit.iter_mut().for_each(|visit| visit.place = n.map_or(0, |&n| n as u16));
            }),
            (Field::VisitEnd, BoolColumnReader(reader)) => each(reader, events, |e, ends| {
                e.visit.iter_mut().for_each(|visit| visit.ends = ends.is_some_and(|&ends| ends));
            }),
            _ => Err(ParquetError::General(format!("the column {} has another type", self.name))),
        }
    }

    /// Sets a column of names in all events.
    fn name(&self, names: &mut Names, events: &mut [Event], labels: &mut Labels) -> Result<()> {
        if matches!(self.field, Field::Label) {
            let mut number = |name: &[u8]| Ok(labels.number(bounded(name)));
            return events.iter_mut().try_for_each(|e| names.next(&mut number).map(|number| e.label = number));
        }
        let mut code = |name: &[u8]| {
            let known = std::str::from_utf8(name).ok().and_then(Outcome::from_name);
            known.map(|outcome| outcome as u16).ok_or_else(|| {
                let name = String::from_utf8_lossy(&name[..name.len().min(40)]);
                ParquetError::General(format!("unknown outcome `{name}`; use a newer version of offered"))
            })
        };
        events
            .iter_mut()
            .try_for_each(|e| names.next(&mut code).map(|code| e.outcome = Outcome::ALL[usize::from(code)]))
    }
}

/// The first [`MAX_TEXT`] bytes.
fn bounded(text: &[u8]) -> &[u8] {
    &text[..text.len().min(MAX_TEXT)]
}

/// Pages with values that are not larger than the page.
struct BoundedPages(Box<dyn PageReader>);

impl PageReader for BoundedPages {
    /// Refuses prefix-compressed texts, because a page of them can expand to a thousand times its size.
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.0.get_next_page()?;
        match &page {
            Some(page) if page.encoding() == Encoding::DELTA_BYTE_ARRAY => Err(ParquetError::General(
                "a column has DELTA_BYTE_ARRAY encoding; offered did not write this file".to_owned(),
            )),
            _ => Ok(page),
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.0.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.0.skip_next_page()
    }
}

impl Iterator for BoundedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

/// Calls `set` for every event with the next value of `reader`; `None` for null.
fn each<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    events: &mut [Event],
    mut set: impl FnMut(&mut Event, Option<&T::T>),
) -> Result<()> {
    let rows = events.len();
    let (mut values, mut levels) = (Vec::with_capacity(rows), Vec::new());
    let (read, ..) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
    if read != rows {
        return Err(ParquetError::EOF(format!("{read} of {rows} rows")));
    }
    let mut values = values.iter();
    for (row, event) in events.iter_mut().enumerate() {
        let levels = levels.get(row).is_none_or(|&level| level > 0);
        set(event, if levels { values.next() } else { None });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
