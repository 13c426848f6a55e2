//! Columns without a value in a row group: all null or zero. Most runs use few columns, so the writer takes the others of a full row group
//! from a file that is encoded once, and a scan skips them by their statistics.

use std::sync::LazyLock;

use bytes::Bytes;
use offered_base::Instant;
use offered_events::Event;
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::EnabledStatistics;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::column::ColumnSpec;
use super::columns::COLUMNS;
use super::{PartContext, ROW_GROUP, properties, row_groups, write_columns};

/// A file with one full row group of events without any value.
pub(super) struct BlankFile {
    pub(super) bytes: Bytes,
    columns: Vec<ColumnChunkMetaData>,
}

pub(super) static BLANK: LazyLock<BlankFile> = LazyLock::new(|| {
    let events = [vec![Event::at(Instant::ZERO); ROW_GROUP]];
    let groups = row_groups(&events);
    let properties = properties().set_statistics_enabled(EnabledStatistics::Chunk);
    let mut file = Vec::new();
    write_columns(&COLUMNS.each_ref(), properties, None, &mut file, &groups, PartContext::default(), &mut |_| ())
        .expect("events without values are written to memory");
    let bytes = Bytes::from(file);
    let read = SerializedFileReader::new(bytes.clone()).expect("the file was just written");
    BlankFile { bytes, columns: read.metadata().row_group(0).columns().to_vec() }
});

impl BlankFile {
    /// The description of this column for a row group that takes it from the file.
    pub(super) fn column(&self, kind: &ColumnSpec) -> ColumnCloseResult {
        let index = COLUMNS.iter().position(|column| column.name == kind.name).expect("each column is one of COLUMNS");
        let metadata = self.columns[index].clone();
        ColumnCloseResult {
            bytes_written: metadata.compressed_size() as u64,
            rows_written: ROW_GROUP as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        }
    }
}

/// Whether no row has a value in this column, by its statistics.
pub(super) fn is_blank(column: &ColumnChunkMetaData) -> bool {
    let is_zero = |bytes: Option<&[u8]>| bytes.is_some_and(|bytes| !bytes.is_empty() && bytes.iter().all(|&b| b == 0));
    let is_optional = column.column_descr().max_def_level() > 0;
    column.statistics().is_some_and(|of| match is_optional {
        true => of.null_count_opt() == u64::try_from(column.num_values()).ok(),
        false => is_zero(of.min_bytes_opt()) && is_zero(of.max_bytes_opt()),
    })
}
