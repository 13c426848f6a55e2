//! Writes a table as one Parquet file: one row per result, one column per variable.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use crate::Error;

/// A named column. All columns of a table have the same length; `None` is written as null.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The name, with its unit.
    pub name: String,
    /// The values.
    pub cells: Cells,
}

/// The values of a column, all of one type.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Strings.
    Texts(Vec<Option<String>>),
    /// Floating-point numbers.
    Numbers(Vec<Option<f64>>),
    /// Integers below 2^63.
    Counts(Vec<Option<u64>>),
}

/// Writes a new Parquet file.
///
/// # Errors
/// The file exists already, or cannot be written.
pub fn write_table(path: &Path, columns: &[Column]) -> std::result::Result<(), Error> {
    let file = File::create_new(path).map_err(Error::io("create", path))?;
    write(file, columns).map_err(|error| Error::content(path.display().to_string(), error.to_string()))
}

fn write(file: File, columns: &[Column]) -> Result<()> {
    let fields = columns.iter().map(field).collect::<Result<Vec<TypePtr>>>()?;
    let schema = Arc::new(Type::group_type_builder("table").with_fields(fields).build()?);
    let properties = WriterProperties::builder()
        .set_created_by("offered".to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::default()));
    let mut file = SerializedFileWriter::new(file, schema, Arc::new(properties.build()))?;
    let mut rows = file.next_row_group()?;
    for column in columns {
        match &column.cells {
            Cells::Texts(cells) => put::<ByteArrayType, _>(&mut rows, cells, |text| ByteArray::from(text.as_str()))?,
            Cells::Numbers(cells) => put::<DoubleType, _>(&mut rows, cells, |number| *number)?,
            Cells::Counts(cells) => put::<Int64Type, _>(&mut rows, cells, |count| *count as i64)?,
        }
    }
    rows.close()?;
    file.close()?;
    Ok(())
}

fn field(column: &Column) -> Result<TypePtr> {
    let (physical, logical) = match column.cells {
        Cells::Texts(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Cells::Numbers(_) => (Physical::DOUBLE, None),
        Cells::Counts(_) => (Physical::INT64, None),
    };
    let field = Type::primitive_type_builder(&column.name, physical).with_repetition(Repetition::OPTIONAL);
    Ok(Arc::new(field.with_logical_type(logical).build()?))
}

fn put<T: DataType, C>(
    rows: &mut SerializedRowGroupWriter<'_, File>,
    cells: &[Option<C>],
    as_stored: impl Fn(&C) -> T::T,
) -> Result<()> {
    let there: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    let present: Vec<T::T> = cells.iter().flatten().map(as_stored).collect();
    let mut column = rows.next_column()?.expect("as many columns as the schema has");
    column.typed::<T>().write_batch(&present, Some(&there), None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    #[test]
    fn a_written_table_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sweep.parquet");
        let columns = [
            Column {
                name: "discipline".to_owned(),
                cells: Cells::Texts(vec![Some("ps".to_owned()), None, Some("é".to_owned())]),
            },
            Column { name: "response_s".to_owned(), cells: Cells::Numbers(vec![Some(0.1), None, Some(1e300)]) },
            Column { name: "jobs".to_owned(), cells: Cells::Counts(vec![Some(3), Some(u64::MAX >> 1), None]) },
        ];
        write_table(&path, &columns).unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let rows: Vec<String> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert_eq!(rows[0], "{discipline: \"ps\", response_s: 0.1, jobs: 3}");
        assert_eq!(rows[1], "{discipline: null, response_s: null, jobs: 9223372036854775807}");
        assert_eq!(rows.len(), 3);
        let error = write_table(&path, &columns).unwrap_err().to_string();
        assert!(error.contains("sweep.parquet"), "{error}");
    }
}
