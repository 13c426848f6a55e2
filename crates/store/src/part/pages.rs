//! Checks the sizes that the page headers of a Parquet file state, before the `parquet` crate allocates them.
//!
//! A compressed page may be a thousand times as large as its bytes in the file. The crate (version 60) reserves the stated size and
//! decompresses up to it.
//!
//! Source: `PageHeader` in <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>.

use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::ChunkReader;

use super::damage::damaged;
use super::footer::Walk;

/// Maximum size of a page in bytes. Writers make pages of about 1 MiB.
const MAX_PAGE: u64 = 16 << 20;
/// The bytes that are read of a header. Most need a few dozen; one with long statistics needs more.
const HEADERS: [u64; 2] = [4 << 10, 1 << 20];

/// Returns the size of all pages of `file` after decompression, in bytes.
///
/// # Errors
/// A page is larger than 16 MiB, a header or the place of a column is damaged, or the file is unreadable.
pub(crate) fn uncompressed_size<R: ChunkReader>(file: &R, metadata: &ParquetMetaData) -> Result<u64> {
    let mut total = 0;
    for column in metadata.row_groups().iter().flat_map(RowGroupMetaData::columns) {
        let (mut at, length) = byte_range(column)?;
        let end = at.saturating_add(length).min(file.len());
        while at < end {
            let header = HEADERS.iter().find_map(|most| header(file, at, (end - at).min(*most)).transpose());
            let (size, [uncompressed, compressed]) =
                header.transpose()?.ok_or_else(|| damaged("a page header is damaged"))?;
            if uncompressed > MAX_PAGE {
                return Err(ParquetError::General(format!(
                    "a page has {uncompressed} bytes after decompression, more than {MAX_PAGE}; offered did not write this file"
                )));
            }
            total += uncompressed;
            at = at.saturating_add(size).saturating_add(compressed);
        }
    }
    Ok(total)
}

/// Offset and length of a column in the file, in bytes. The method of the same name panics if one is negative.
fn byte_range(column: &ColumnChunkMetaData) -> Result<(u64, u64)> {
    let begin = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
    let range = u64::try_from(begin).ok().zip(u64::try_from(column.compressed_size()).ok());
    range.ok_or_else(|| damaged("a column begins before the file or has a negative size"))
}

/// The size of the page header at `at`, and the sizes that it states: uncompressed and compressed. `None` if it is not in the next `length`
/// bytes.
fn header<R: ChunkReader>(file: &R, at: u64, length: u64) -> Result<Option<(u64, [u64; 2])>> {
    let bytes = file.get_bytes(at, length as usize)?;
    let mut walk = Walk::new(&bytes);
    let sizes = walk.integers([2, 3]);
    Ok(sizes.map(|sizes| ((bytes.len() - walk.left()) as u64, sizes)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::basic::Type as PhysicalType;
    use parquet::schema::types::{ColumnDescriptor, ColumnPath, Type};

    use super::*;

    #[test]
    fn the_sizes_of_a_page_header_are_read_and_damaged_ones_refused() {
        // type = 0, uncompressed_page_size = 300, compressed_page_size = 7, a nested structure, the end, one more byte.
        let bytes = bytes::Bytes::from_static(&[0x15, 0, 0x15, 0xd8, 4, 0x15, 14, 0x2c, 0x15, 2, 0, 0, 9]);
        let found = header(&bytes, 0, bytes.len() as u64).unwrap();
        assert_eq!(found, Some((12, [300, 7])));
        assert_eq!(header(&bytes, 0, 11).unwrap(), None);
        // A negative size.
        assert_eq!(header(&bytes::Bytes::from_static(&[0x25, 1, 0x15, 14, 0]), 0, 5).unwrap(), None);
    }

    #[test]
    fn a_column_at_a_negative_offset_or_of_a_negative_size_is_refused() {
        let kind = Type::primitive_type_builder("a", PhysicalType::INT64).build().unwrap();
        let kind = Arc::new(ColumnDescriptor::new(Arc::new(kind), 0, 0, ColumnPath::from("a")));
        let range = |data: i64, dictionary: Option<i64>, size: i64| {
            let column = ColumnChunkMetaData::builder(kind.clone()).set_data_page_offset(data);
            let column = column.set_dictionary_page_offset(dictionary).set_total_compressed_size(size);
            byte_range(&column.build().unwrap())
        };
        assert_eq!(range(4, None, 9).unwrap(), (4, 9));
        assert_eq!(range(4, Some(3), 9).unwrap(), (3, 9));
        for damaged in [range(-4, None, 9), range(4, Some(-3), 9), range(4, None, -9)] {
            let why = damaged.unwrap_err().to_string();
            assert!(why.contains("a column begins before the file or has a negative size"), "{why}");
        }
    }
}
