//! Writes events as an Arrow IPC file: the columns and metadata of a part, without compression, so that readers can map it into memory.
//!
//! The format is "Arrow Columnar Format", section "Serialization and Interprocess Communication (IPC)", with metadata version 5. Its metadata
//! consists of tables of `FlatBuffers` (`Schema.fbs`, `Message.fbs`, `File.fbs`), which this module builds itself; the
//! Arrow library would add seven crates for these few tables.

use std::borrow::Cow;
use std::io::{self, Write};

use flatbuffers::{FlatBufferBuilder, TableFinishedWIPOffset, VOffsetT, WIPOffset};
use offered_events::{Columns, Event, Events};

use super::column::{ColumnSpec, Field, Kind, UsedColumns};
use super::columns::COLUMNS;
use super::{metrics, streams};

const MAGIC: &[u8; 6] = b"ARROW1";
/// Length and content of an end mark.
const END_OF_STREAM: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
const VERSION_5: i16 = 4;
/// Buffers and messages begin at multiples of this.
const ALIGNMENT: usize = 8;
/// A batch is written when it has this many rows, or texts of this many bytes.
const BATCH_ROWS: usize = 1 << 15;
const BATCH_BYTES: usize = 1 << 24;

/// The slot of the n-th field of a table of `FlatBuffers`.
const fn slot(n: VOffsetT) -> VOffsetT {
    4 + 2 * n
}

/// The names that columns of events refer to by number.
#[derive(Clone, Copy)]
pub(crate) struct ColumnNames<'a> {
    pub(crate) labels: &'a [String],
    /// Empty for a workload with one load only.
    pub(crate) scenarios: &'a [String],
    /// By the place in a visit; empty without flows.
    pub(crate) flow_steps: &'a [String],
}

/// Writes all events in the order in which they were recorded. Columns that all events lack are left out, as in a part.
///
/// # Errors
/// `out` cannot be written, or the events cannot be read.
pub(crate) fn write(
    events: &Events,
    names: ColumnNames<'_>,
    metadata: &[(&str, String)],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut used = UsedColumns::default();
    events.batches(Columns::Response, &mut |events| used.see(events))?;
    let columns = COLUMNS.iter().filter(|spec| used.has(spec)).map(Column::new).collect();
    let mut file = File { out, position: 0, columns, rows: 0, texts: 0, batches: Vec::new() };
    file.write(MAGIC)?;
    file.pad()?;
    file.schema(metadata)?;
    let mut written = Ok(());
    events.batches(Columns::All, &mut |events| {
        if written.is_ok() {
            written = events.iter().try_for_each(|event| file.add(event, names));
        }
    })?;
    written?;
    file.end(metadata)
}

/// A value of a column.
enum Cell<'a> {
    Long(i64),
    Int(i32),
    Bool(bool),
    Text(Cow<'a, str>),
}

/// A column of the current batch.
struct Column {
    spec: &'static ColumnSpec,
    kind: Kind,
    rows: usize,
    nulls: usize,
    /// One bit per row: whether it has a value.
    validity: Vec<u8>,
    /// The ends of texts.
    offsets: Vec<u8>,
    values: Vec<u8>,
}

/// Appends a bit, the lowest of a byte first.
fn push_bit(bits: &mut Vec<u8>, index: usize, bit: bool) {
    if index.is_multiple_of(8) {
        bits.push(0);
    }
    bits[index / 8] |= u8::from(bit) << (index % 8);
}

impl Column {
    fn new(spec: &'static ColumnSpec) -> Self {
        let kind = spec.kind();
        let mut column =
            Self { spec, kind, rows: 0, nulls: 0, validity: Vec::new(), offsets: Vec::new(), values: Vec::new() };
        column.clear();
        column
    }

    fn clear(&mut self) {
        (self.rows, self.nulls) = (0, 0);
        self.validity.clear();
        self.values.clear();
        self.offsets.clear();
        if self.kind == Kind::Text {
            self.offsets.extend([0; 4]);
        }
    }

    /// Appends the value of an event, and returns the number of bytes of its text.
    fn push(&mut self, event: &Event, names: ColumnNames<'_>) -> usize {
        let cell = cell(&self.spec.field, event, names);
        if self.spec.optional {
            push_bit(&mut self.validity, self.rows, cell.is_some());
            self.nulls += usize::from(cell.is_none());
        }
        let before = self.values.len();
        match (self.kind, cell) {
            (Kind::Long, Some(Cell::Long(n))) => self.values.extend(n.to_le_bytes()),
            (Kind::Long, _) => self.values.extend([0; 8]),
            (Kind::Int, Some(Cell::Int(n))) => self.values.extend(n.to_le_bytes()),
            (Kind::Int, _) => self.values.extend([0; 4]),
            (Kind::Bool, cell) => push_bit(&mut self.values, self.rows, matches!(cell, Some(Cell::Bool(true)))),
            (Kind::Text, cell) => {
                if let Some(Cell::Text(text)) = cell {
                    self.values.extend(text.as_bytes());
                }
                self.offsets.extend((self.values.len() as i32).to_le_bytes());
            }
        }
        self.rows += 1;
        if self.kind == Kind::Text { self.values.len() - before } else { 0 }
    }

    /// The buffers in the order of the format. Without nulls the validity is empty.
    fn buffers(&self) -> impl Iterator<Item = &[u8]> {
        let validity = if self.nulls > 0 { &self.validity[..] } else { &[] };
        let offsets = (self.kind == Kind::Text).then_some(&self.offsets[..]);
        [validity].into_iter().chain(offsets).chain([&self.values[..]])
    }
}

/// The value of an event in a column, as in a part.
fn cell<'a>(field: &Field, event: &'a Event, names: ColumnNames<'a>) -> Option<Cell<'a>> {
    let long = |n: u64| Cell::Long(n as i64);
    let named = |name: &'a str| Cell::Text(name.into());
    Some(match field {
        Field::Long(get, _) => long(get(event)),
        Field::Instant(get, _) => long(get(event)?.0),
        Field::Duration(get, _) => long(get(event)?.0),
        Field::Int(get, _) => Cell::Int(get(event) as i32),
        Field::Label => match names.labels.get(usize::from(event.label)) {
            Some(name) => named(name),
            None => Cell::Text(format!("request {}", event.label).into()),
        },
        Field::Outcome => named(event.outcome.name()),
        Field::Reused => Cell::Bool(event.reused),
        Field::Error => Cell::Text(event.error.as_ref()?.text()),
        Field::Scenario => {
            let nth = event.session.checked_rem(names.scenarios.len() as u64)?;
            named(&names.scenarios[nth as usize])
        }
        Field::Visit => Cell::Int(event.visit?.number.into()),
        Field::Place => Cell::Int(event.visit.map_or(0, |visit| visit.place.into())),
        Field::VisitEnd => Cell::Bool(event.visit.is_some_and(|visit| visit.ends)),
        Field::FlowStep => named(names.flow_steps.get(usize::from(event.visit?.place))?),
        Field::Metrics => Cell::Text(metrics::text(event)?.into()),
        Field::Stream(nth) => long(streams::number(*nth, event)?),
        Field::Finish => named(event.stream.as_ref()?.finish?.name()),
        Field::Gaps => Cell::Text(streams::gaps(event.stream.as_ref()?).into()),
    })
}

/// The position of a message in the file: its offset, and the lengths of metadata and body.
type Block = [u64; 3];
type Table = WIPOffset<TableFinishedWIPOffset>;

/// An Arrow IPC file being written.
struct File<'a> {
    out: &'a mut dyn Write,
    position: u64,
    columns: Vec<Column>,
    /// Number of rows, and bytes of texts, of the current batch.
    rows: usize,
    texts: usize,
    batches: Vec<Block>,
}

impl File<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.position += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn pad(&mut self) -> io::Result<()> {
        let beyond = self.position as usize % ALIGNMENT;
        if beyond > 0 { self.write(&[0; ALIGNMENT][beyond..]) } else { Ok(()) }
    }

    fn add(&mut self, event: &Event, names: ColumnNames<'_>) -> io::Result<()> {
        self.texts += self.columns.iter_mut().map(|column| column.push(event, names)).sum::<usize>();
        self.rows += 1;
        if self.rows >= BATCH_ROWS || self.texts >= BATCH_BYTES { self.batch() } else { Ok(()) }
    }

    fn schema(&mut self, metadata: &[(&str, String)]) -> io::Result<()> {
        let mut builder = FlatBufferBuilder::new();
        let schema = schema(&mut builder, &self.columns, metadata);
        self.message(builder, 1, schema, 0).map(drop)
    }

    /// Writes the current batch and begins the next.
    fn batch(&mut self) -> io::Result<()> {
        let mut builder = FlatBufferBuilder::new();
        let nodes = self.columns.iter().map(|column| [column.rows as u64, column.nulls as u64]);
        let nodes = structs(&mut builder, &nodes.collect::<Vec<_>>());
        let mut body = 0;
        let buffers: Vec<[u64; 2]> = self
            .columns
            .iter()
            .flat_map(Column::buffers)
            .map(|buffer| {
                let buffer = [body, buffer.len() as u64];
                body += buffer[1].next_multiple_of(ALIGNMENT as u64);
                buffer
            })
            .collect();
        let buffers = structs(&mut builder, &buffers);
        let table = builder.start_table();
        builder.push_slot(slot(0), self.rows as i64, 0);
        builder.push_slot_always(slot(1), nodes);
        builder.push_slot_always(slot(2), buffers);
        let batch = builder.end_table(table);
        let block = self.message(builder, 3, batch, body)?;
        self.batches.push(block);
        let mut columns = std::mem::take(&mut self.columns);
        for column in &mut columns {
            for buffer in column.buffers() {
                self.write(buffer)?;
                self.pad()?;
            }
            column.clear();
        }
        self.columns = columns;
        (self.rows, self.texts) = (0, 0);
        Ok(())
    }

    /// Writes the metadata of a message with a header of this kind; a body of `body` bytes follows.
    fn message(&mut self, mut builder: FlatBufferBuilder<'_>, kind: u8, header: Table, body: u64) -> io::Result<Block> {
        let table = builder.start_table();
        builder.push_slot_always(slot(0), VERSION_5);
        builder.push_slot_always(slot(1), kind);
        builder.push_slot_always(slot(2), header);
        builder.push_slot(slot(3), body as i64, 0);
        let message = builder.end_table(table);
        builder.finish_minimal(message);
        let metadata = builder.finished_data();
        let begin = self.position;
        let length = metadata.len().next_multiple_of(ALIGNMENT);
        self.write(&END_OF_STREAM[..4])?;
        self.write(&(length as u32).to_le_bytes())?;
        self.write(metadata)?;
        self.pad()?;
        Ok([begin, self.position - begin, body])
    }

    /// Writes the last batch and the footer.
    fn end(mut self, metadata: &[(&str, String)]) -> io::Result<()> {
        if self.rows > 0 {
            self.batch()?;
        }
        self.write(&END_OF_STREAM)?;
        let mut builder = FlatBufferBuilder::new();
        let schema = schema(&mut builder, &self.columns, metadata);
        let dictionaries = structs::<3>(&mut builder, &[]);
        let batches = structs(&mut builder, &self.batches);
        let table = builder.start_table();
        builder.push_slot_always(slot(0), VERSION_5);
        builder.push_slot_always(slot(1), schema);
        builder.push_slot_always(slot(2), dictionaries);
        builder.push_slot_always(slot(3), batches);
        let footer = builder.end_table(table);
        builder.finish_minimal(footer);
        let footer = builder.finished_data();
        self.write(footer)?;
        self.write(&(footer.len() as u32).to_le_bytes())?;
        self.write(MAGIC)
    }
}

/// A vector of structs of N 64-bit words. (A `Block` has 32 bits of padding after its second field, which is below 2^32.)
fn structs<'b, const N: usize>(
    builder: &mut FlatBufferBuilder<'b>,
    items: &[[u64; N]],
) -> WIPOffset<flatbuffers::Vector<'b, u64>> {
    builder.start_vector::<u64>(items.len() * N);
    for word in items.as_flattened().iter().rev() {
        builder.push(*word);
    }
    builder.end_vector(items.len())
}

fn schema(builder: &mut FlatBufferBuilder<'_>, columns: &[Column], metadata: &[(&str, String)]) -> Table {
    let fields: Vec<Table> = columns.iter().map(|column| field(builder, column)).collect();
    let fields = builder.create_vector(&fields);
    let pairs: Vec<Table> = metadata
        .iter()
        .map(|(key, value)| {
            let (key, value) = (builder.create_string(key), builder.create_string(value));
            let table = builder.start_table();
            builder.push_slot_always(slot(0), key);
            builder.push_slot_always(slot(1), value);
            builder.end_table(table)
        })
        .collect();
    let pairs = builder.create_vector(&pairs);
    let table = builder.start_table();
    builder.push_slot_always(slot(1), fields);
    builder.push_slot_always(slot(2), pairs);
    builder.end_table(table)
}

fn field(builder: &mut FlatBufferBuilder<'_>, column: &Column) -> Table {
    let name = builder.create_string(column.spec.name);
    let children = builder.create_vector::<Table>(&[]);
    let (of_type, bits) = match column.kind {
        Kind::Long => (2u8, 64),
        Kind::Int => (2, 32),
        Kind::Text => (5, 0),
        Kind::Bool => (6, 0),
    };
    let table = builder.start_table();
    if bits > 0 {
        builder.push_slot(slot(0), bits, 0i32);
        builder.push_slot(slot(1), true, false);
    }
    let details = builder.end_table(table);
    let table = builder.start_table();
    builder.push_slot_always(slot(0), name);
    builder.push_slot(slot(1), column.spec.optional, false);
    builder.push_slot_always(slot(2), of_type);
    builder.push_slot_always(slot(3), details);
    builder.push_slot_always(slot(5), children);
    builder.end_table(table)
}
