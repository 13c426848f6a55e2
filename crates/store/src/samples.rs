//! Samples: numbers read repeatedly from a machine or its services, as one Parquet file with one row per number.
//!
//! Columns: `unix_ns` (wall clock time of the sample), `monotonic_ns` (monotonic time since the first sample), `source`
//! (`cpu`, `net:eth0`, ...), `metric` (`user_ticks`, ...), `value` (as read: counters are totals, not rates). The footer holds
//! [`SamplesMetadata`]. Counts are exact up to 2^53.
//!
//! # Limitations
//! A file gets its name only when it is finished. A killed observer leaves only `FILE.tmp`, which is not
//! readable.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offered_base::Nanos;
use offered_events::document::{Document, Schema};
use offered_io::open_regular;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::reader::ColumnReader;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result as Read};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::part::{catch_panic, check_footer, uncompressed_size};
use crate::record::Machine;

/// The columns, as a Parquet schema declares them.
const SCHEMA: &str = "message sample { required int64 unix_ns; required int64 monotonic_ns; required binary source (string); \
                      required binary metric (string); required double value; }";
/// The footer key of [`SamplesMetadata`].
const METADATA_KEY: &str = "offered.samples";
/// The error of a file that the `parquet` crate cannot decode.
const UNREADABLE: &str = "it cannot be decoded";
/// Number of rows buffered for writing and reading.
const GROUP: usize = 1 << 16;

/// Metadata of a sample file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SamplesMetadata {
    /// The schema of this document.
    pub schema: Schema<SamplesMetadata>,
    /// The version of the program that wrote the file.
    pub version: String,
    /// The name under which reports show the samples.
    pub name: String,
    /// The machine where the samples were taken.
    pub machine: Machine,
    /// The identity of the observer, as in its responses to clock queries.
    pub token: u64,
    /// The intended interval between two samples.
    pub interval_ns: u64,
    /// The wall clock at the first sample; later times add `monotonic_ns`.
    pub started_unix_ns: u64,
    /// Kernel ticks per second, the unit of processor time.
    pub ticks_per_s: u64,
    /// Whether the kernel reported the clock as synchronised; `None` if unknown.
    pub synchronised: Option<bool>,
    /// The kernel's bound for the error of that clock; `None` if unknown.
    pub clock_error_ns: Option<u64>,
    /// Number of samples.
    pub samples: u64,
    /// Number of samples that could not be taken on time and were skipped.
    pub missed: u64,
    /// Processor time spent on sampling; 0 if unknown.
    pub cpu_ns: u64,
    /// How the samples were scraped; `None` if an observer took them itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrape: Option<ScrapeInfo>,
}

/// How the metrics of an exporter were scraped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScrapeInfo {
    /// The URL.
    pub address: String,
    /// Whether the exporter runs on the machine that scrapes it.
    pub is_local: bool,
    /// The names of the metrics that are counters.
    pub counters: BTreeSet<String>,
    /// Number of failed scrapes.
    pub failures: u64,
    /// The first error.
    pub first_error: Option<String>,
    /// The longest duration of a scrape.
    pub longest_scrape_ns: u64,
    /// Number of series per scrape that were dropped, because there were too many.
    pub excluded_series: u64,
}

impl Document for SamplesMetadata {
    const SCHEMA: &'static str = "offered.samples/1";
}

/// Writes samples into a new file. Buffers at most [`GROUP`] rows.
pub struct SampleWriter {
    path: PathBuf,
    file: SerializedFileWriter<File>,
    now: (i64, i64),
    unix: Vec<i64>,
    monotonic: Vec<i64>,
    source: Vec<ByteArray>,
    metric: Vec<ByteArray>,
    value: Vec<f64>,
    names: HashMap<String, ByteArray>,
}

impl SampleWriter {
    /// Creates `path` with `.tmp` appended, which [`SampleWriter::finish`] renames to `path`.
    ///
    /// # Errors
    /// `path` exists, or cannot be written.
    pub fn create(path: &Path) -> Result<Self, Error> {
        if path.exists() {
            return Err(Error::Exists(path.to_owned()));
        }
        let tmp = unfinished(path);
        let file = File::create(&tmp).map_err(Error::io("create", &tmp))?;
        let mut properties = WriterProperties::builder()
            .set_created_by("offered".to_owned())
            .set_statistics_enabled(EnabledStatistics::None)
            .set_compression(Compression::ZSTD(ZstdLevel::default()));
        for stamp in ["unix_ns", "monotonic_ns"].map(ColumnPath::from) {
            properties = properties
                .set_column_dictionary_enabled(stamp.clone(), false)
                .set_column_encoding(stamp, Encoding::DELTA_BINARY_PACKED);
        }
        let schema = parse_message_type(SCHEMA).expect("the columns above are well-formed");
        let file = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties.build()));
        Ok(Self {
            path: path.to_owned(),
            file: file.map_err(|why| Error::content(tmp.display().to_string(), why.to_string()))?,
            now: (0, 0),
            unix: Vec::new(),
            monotonic: Vec::new(),
            source: Vec::new(),
            metric: Vec::new(),
            value: Vec::new(),
            names: HashMap::new(),
        })
    }

    /// Sets the time of the values that are added next.
    ///
    /// # Errors
    /// Buffered rows cannot be written.
    pub fn at(&mut self, unix: Nanos, monotonic: Nanos) -> Result<(), Error> {
        self.now = (unix.0 as i64, monotonic.0 as i64);
        if self.value.len() >= GROUP { self.write() } else { Ok(()) }
    }

    /// Adds the value of a metric at the current time.
    pub fn put(&mut self, source: &str, metric: &str, value: f64) {
        let mut name = |name: &str| match self.names.get(name) {
            Some(known) => known.clone(),
            None => {
                let bytes = ByteArray::from(name);
                self.names.insert(name.to_owned(), bytes.clone());
                bytes
            }
        };
        let (source, metric) = (name(source), name(metric));
        self.source.push(source);
        self.metric.push(metric);
        self.unix.push(self.now.0);
        self.monotonic.push(self.now.1);
        self.value.push(value);
    }

    /// Writes the remaining rows and gives the file its final name.
    ///
    /// # Errors
    /// The file cannot be written, or another process created `path`. The `.tmp` file remains.
    pub fn finish(mut self, about: &SamplesMetadata) -> Result<(), Error> {
        self.write()?;
        let tmp = unfinished(&self.path);
        let about = serde_json::to_string(about).expect("numbers and texts are JSON");
        self.file.append_key_value_metadata(KeyValue::new(METADATA_KEY.to_owned(), about));
        let file = self.file.into_inner().map_err(|why| Error::content(tmp.display().to_string(), why.to_string()))?;
        file.sync_all().map_err(Error::io("write", &tmp))?;
        // Unlike a rename, this never replaces another file.
        match fs::hard_link(&tmp, &self.path) {
            Ok(()) => fs::remove_file(&tmp).map_err(Error::io("remove", &tmp)),
            Err(why) if why.kind() == std::io::ErrorKind::AlreadyExists => Err(Error::Exists(self.path)),
            // Some file systems have no hard links.
            Err(_) => fs::rename(&tmp, &self.path).map_err(Error::io("rename to", &self.path)),
        }
    }

    /// Writes the buffered rows as a row group.
    fn write(&mut self) -> Result<(), Error> {
        if self.value.is_empty() {
            return Ok(());
        }
        let written = self.group();
        written.map_err(|why| Error::content(unfinished(&self.path).display().to_string(), why.to_string()))
    }

    fn group(&mut self) -> Read<()> {
        let Self { file, unix, monotonic, source, metric, value, .. } = self;
        let mut rows = file.next_row_group()?;
        macro_rules! put {
            ($type:ty, $values:expr) => {
                let mut column = rows.next_column()?.expect("as many columns as the schema names");
                column.typed::<$type>().write_batch($values, None, None)?;
                column.close()?;
                $values.clear();
            };
        }
        put!(Int64Type, unix);
        put!(Int64Type, monotonic);
        put!(ByteArrayType, source);
        put!(ByteArrayType, metric);
        put!(DoubleType, value);
        rows.close()?;
        Ok(())
    }
}

fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    PathBuf::from(name)
}

/// One sampled value of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample<'a> {
    /// The wall clock, since the Unix epoch.
    pub unix: Nanos,
    /// Monotonic time since the first sample.
    pub monotonic: Nanos,
    /// The source, for example `cpu`.
    pub source: &'a str,
    /// The name of the metric.
    pub metric: &'a str,
    /// The value as read.
    pub value: f64,
}

/// A sample file.
pub struct Samples {
    /// The metadata.
    pub metadata: SamplesMetadata,
    path: PathBuf,
    file: SerializedFileReader<File>,
}

impl Samples {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// The file is unreadable, or not a sample file.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = open_regular(path).map_err(Error::io("open", path))?;
        let opened = catch_panic(UNREADABLE, || {
            check_footer(&file)?;
            let pages = file.try_clone()?;
            let file = SerializedFileReader::new(file)?;
            uncompressed_size(&pages, file.metadata())?;
            let found = file.metadata().file_metadata();
            let about = found.key_value_metadata().into_iter().flatten().find(|pair| pair.key == METADATA_KEY);
            let about = about.and_then(|pair| pair.value.as_deref()).map(str::to_owned);
            Ok((file, about))
        });
        let none = |why: String| {
            let why = format!("is not a sample file of `offered observe`: {why}");
            Error::content(path.display().to_string(), why)
        };
        let (file, about) = opened.map_err(|why| none(why.to_string()))?;
        let about = about.ok_or_else(|| none("the footer has no metadata".to_owned()))?;
        let about = serde_json::from_str(&about).map_err(|why| none(why.to_string()))?;
        Ok(Self { metadata: about, path: path.to_owned(), file })
    }

    /// Passes all samples to `visit`, in the order of the file.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn scan(&self, visit: &mut dyn FnMut(&Sample<'_>)) -> Result<(), Error> {
        let groups = 0..self.file.num_row_groups();
        let scanned = catch_panic(UNREADABLE, || {
            groups.into_iter().try_for_each(|group| scan(&*self.file.get_row_group(group)?, visit))
        });
        scanned.map_err(|why| Error::content(self.path.display().to_string(), format!("is damaged: {why}")))
    }
}

fn scan(group: &dyn RowGroupReader, visit: &mut dyn FnMut(&Sample<'_>)) -> Read<()> {
    let other = |what: &str| ParquetError::General(format!("the column {what} has another type"));
    let mut unix = column::<Int64Type>(group, 0)?.ok_or_else(|| other("unix_ns"))?;
    let mut monotonic = column::<Int64Type>(group, 1)?.ok_or_else(|| other("monotonic_ns"))?;
    let mut source = column::<ByteArrayType>(group, 2)?.ok_or_else(|| other("source"))?;
    let mut metric = column::<ByteArrayType>(group, 3)?.ok_or_else(|| other("metric"))?;
    let mut value = column::<DoubleType>(group, 4)?.ok_or_else(|| other("value"))?;
    let mut left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    while left > 0 {
        let rows = left.min(GROUP);
        let (unix, monotonic) = (next(&mut unix, rows)?, next(&mut monotonic, rows)?);
        let (source, metric, value) = (next(&mut source, rows)?, next(&mut metric, rows)?, next(&mut value, rows)?);
        for row in 0..rows {
            let stamp = |ns: i64| Nanos(u64::try_from(ns).unwrap_or(0));
            visit(&Sample {
                unix: stamp(unix[row]),
                monotonic: stamp(monotonic[row]),
                source: source[row].as_utf8()?,
                metric: metric[row].as_utf8()?,
                value: value[row],
            });
        }
        left -= rows;
    }
    Ok(())
}

/// The column with this number; `None` if it has another type.
fn column<T: DataType>(
    group: &dyn RowGroupReader,
    number: usize,
) -> Read<Option<parquet::column::reader::ColumnReaderImpl<T>>> {
    let here = number < group.num_columns() && group.metadata().column(number).column_type() == T::get_physical_type();
    let reader: Option<ColumnReader> = here.then(|| group.get_column_reader(number)).transpose()?;
    Ok(reader.map(parquet::column::reader::get_typed_column_reader))
}

/// The next `rows` values of a column without nulls.
fn next<T: DataType>(reader: &mut parquet::column::reader::ColumnReaderImpl<T>, rows: usize) -> Read<Vec<T::T>> {
    let mut values = Vec::with_capacity(rows);
    let (read, there, _) = reader.read_records(rows, None, None, &mut values)?;
    match read == rows && there == rows {
        true => Ok(values),
        false => Err(ParquetError::EOF(format!("{there} of {rows} rows"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about() -> SamplesMetadata {
        SamplesMetadata {
            schema: Schema::new(),
            version: "0.1.0".to_owned(),
            name: "db".to_owned(),
            machine: Machine {
                name: "db7".to_owned(),
                system: "Linux".to_owned(),
                arch: "x86_64".to_owned(),
                cores: 8,
                boot_id: Some("00ff".to_owned()),
            },
            token: u64::MAX,
            interval_ns: 200_000_000,
            started_unix_ns: 1_800_000_000_000_000_000,
            ticks_per_s: 100,
            synchronised: Some(true),
            clock_error_ns: Some(512_000),
            samples: 70_000,
            missed: 2,
            cpu_ns: 70_000_000,
            scrape: None,
        }
    }

    fn write(path: &Path, samples: u64) {
        let mut writer = SampleWriter::create(path).unwrap();
        for sample in 0..samples {
            let at = Nanos::from_millis(200 * sample);
            writer.at(Nanos(about().started_unix_ns) + at, at).unwrap();
            writer.put("cpu", "user_ticks", 20.0 * sample as f64);
            writer.put("net:eth0", "in_bytes", 2f64.powi(53) - 1.0);
        }
        writer.finish(&about()).unwrap();
    }

    #[test]
    fn written_samples_are_read_back_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("host.parquet");
        write(&path, 70_000);
        let samples = Samples::open(&path).unwrap();
        assert_eq!(samples.metadata, about());
        let (mut rows, mut sum) = (0u64, 0.0);
        let play = &mut |sample: &Sample<'_>| {
            assert_eq!(sample.monotonic, Nanos::from_millis(200 * (rows / 2)));
            assert_eq!(sample.unix, Nanos(about().started_unix_ns) + sample.monotonic);
            let name = (sample.source, sample.metric);
            assert_eq!(name, [("cpu", "user_ticks"), ("net:eth0", "in_bytes")][rows as usize % 2]);
            (rows, sum) = (rows + 1, sum + if rows % 2 == 0 { sample.value } else { 0.0 });
        };
        samples.scan(play).unwrap();
        assert_eq!((rows, sum), (140_000, 20.0 * 70_000.0 * 69_999.0 / 2.0));
        let bytes = fs::metadata(&path).unwrap().len();
        assert!(bytes < 4 * 140_000, "{bytes} bytes");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no other file remains");
    }

    #[test]
    fn existing_files_are_not_overwritten_even_if_created_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("host.parquet");
        let writer = SampleWriter::create(&path).unwrap();
        fs::write(&path, "another file").unwrap();
        assert!(matches!(writer.finish(&about()), Err(Error::Exists(_))));
        assert!(matches!(SampleWriter::create(&path), Err(Error::Exists(_))));
        assert_eq!(fs::read_to_string(&path).unwrap(), "another file");
    }

    #[test]
    fn other_files_are_refused_and_damaged_ones_cause_no_panic() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("host.parquet");
        for bytes in [&b""[..], b"PAR1", b"time,cpu\n1,2\n"] {
            fs::write(&path, bytes).unwrap();
            let why = Samples::open(&path).err().unwrap().to_string();
            assert!(why.contains("host.parquet is not a sample file of `offered observe`"), "{why}");
        }
        fs::remove_file(&path).unwrap();
        let column = crate::Column { name: "unix_ns".to_owned(), cells: crate::Cells::Counts(vec![Some(1)]) };
        crate::write_table(&path, &[column]).unwrap();
        let why = Samples::open(&path).err().unwrap().to_string();
        assert!(why.contains("the footer has no metadata"), "{why}");
        fs::remove_file(&path).unwrap();
        write(&path, 40);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            fs::write(&path, bytes).unwrap();
            // An error or wrong numbers, but no panic.
            let _ = Samples::open(&path).and_then(|samples| samples.scan(&mut |_| ()));
        }
    }
}
