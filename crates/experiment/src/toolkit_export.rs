//! Files for other programs: the web-generator-toolkit's four tables and its histograms, and the bare gaps.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use offered_events::Recording;
use offered_events::csv::Table;
use offered_stats::histogram::Histogram;
use offered_verify::{Criteria, Sample, SizeStats, Tables, TimeStats, Verdict, samples, toolkit};

use crate::Error;

/// The files to write.
#[derive(Clone, Debug)]
pub struct ToolkitExport {
    /// The directory for tables and histograms of the toolkit.
    pub tables: Option<PathBuf>,
    /// The file for the gaps between requests in ms, one per line, in order of time.
    pub gaps: Option<PathBuf>,
    /// Bin widths of the histograms in ms, above 0.
    pub bin_widths_ms: Vec<u64>,
    /// Maximum number of bins of a histogram; values above the last bin are counted in one overflow line.
    pub max_bins: usize,
}

impl ToolkitExport {
    /// Writes the files for the requests of `recording` in the window of `criteria`; `verdict` is their verdict.
    ///
    /// # Errors
    /// A file cannot be written, or the recording no longer be read.
    pub fn write(&self, recording: &Recording, criteria: &Criteria, verdict: &Verdict) -> Result<(), Error> {
        if self.tables.is_none() && self.gaps.is_none() {
            return Ok(());
        }
        let samples = samples(recording, criteria).map_err(Error::Recording)?;
        if let Some(path) = &self.gaps {
            let gaps = samples.last().map_or(&[][..], |total| &total.gaps);
            let lines: String = gaps.iter().fold(String::new(), |mut lines, &gap| {
                let _ = writeln!(lines, "{}", gap as f64 / 1e6);
                lines
            });
            put(path, lines.as_bytes())?;
        }
        if let Some(dir) = &self.tables
            && let Some(tables) = toolkit(recording, criteria).map_err(Error::Recording)?
        {
            self.write_tables(dir, verdict, &tables, &samples)?;
        }
        Ok(())
    }

    fn write_tables(&self, dir: &Path, verdict: &Verdict, tables: &Tables, samples: &[Sample]) -> Result<(), Error> {
        let path = Path::new(&verdict.source.path);
        let stem = path.file_name().map_or_else(|| "stdin".into(), |name| name.to_string_lossy());
        let stem = stem.split('.').next().filter(|stem| !stem.is_empty() && *stem != "-").unwrap_or("stdin").to_owned();
        fs::create_dir_all(dir).map_err(Error::file("create", dir))?;
        let whole = verdict.source.resolution_ms >= 1.0;
        for (suffix, title, content) in [
            ("arr", "Inter-arrival Summary Statistics (ms)", times(&tables.gaps, "cv", whole)),
            ("agg", "Aggregate Stats [Response Time(ms)-%Err-BW]", times(&tables.responses, "vmr", whole)),
            ("byte", "Web Page Size Summary Statistics (bytes)", sizes(&tables.sizes)),
            ("rt_1st", "Response Time 1st Byte Summary Statistics (ms)", times(&tables.first_byte, "vmr", whole)),
        ] {
            let path = dir.join(format!("{stem}_{suffix}.csv"));
            let content = content.map_err(Error::file("write", &path))?;
            put(&path, &[format!("{title} - {stem}\n").as_bytes(), &content].concat())?;
        }
        for sample in samples {
            for &cell in &self.bin_widths_ms {
                let gaps = sample.gaps.iter().map(|gap| i64::try_from(*gap).unwrap_or(i64::MAX)).collect();
                for (suffix, name, values) in [("arr", "Inter-arrival", &gaps), ("rt", "Response", &sample.responses)] {
                    let file = format!("{stem}_{}_{suffix}_{cell:04}.csv", plain(&sample.label));
                    let title = format!("{name} Time Histogram For {} - {stem}", sample.label);
                    let text = format!("{title}\n{}", self.histogram(values, cell));
                    put(&dir.join(file), text.as_bytes())?;
                }
            }
        }
        Ok(())
    }

    /// A histogram of times in ns with bins of `cell` ms. A time is negative if its request ended before its scheduled
    /// time.
    fn histogram(&self, values: &[i64], cell: u64) -> String {
        let known = values.iter().filter_map(|value| u64::try_from(*value).ok());
        let histogram = Histogram::of(known.clone(), cell * 1_000_000, self.max_bins);
        let mut text = "Milliseconds,Count\n".to_owned();
        let negative = values.len() - known.count();
        if negative > 0 {
            let _ = writeln!(text, "<0,{negative}");
        }
        for (i, count) in histogram.counts.iter().enumerate() {
            let _ = writeln!(text, "{},{count}", i as u64 * cell);
        }
        if histogram.overflow > 0 {
            let _ = writeln!(text, ">{},{}", (histogram.counts.len() as u64 - 1) * cell, histogram.overflow);
        }
        text
    }
}

fn put(path: &Path, text: &[u8]) -> Result<(), Error> {
    fs::write(path, text).map_err(Error::file("write", path))
}

/// A label as part of a file name; other characters become `_`.
fn plain(label: &str) -> String {
    label.chars().map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' }).collect()
}

/// The rows of the toolkit. Order statistics have no decimals if the timestamps are whole ms. The dispersion column is `cv` or `vmr`
/// (variance / mean).
fn times(rows: &[TimeStats], dispersion: &str, whole: bool) -> io::Result<Vec<u8>> {
    let mut head = vec!["label", "n", "tps", "median", "mean", "sdev", dispersion, "p90", "p95", "p99", "min", "max"];
    if rows.last().is_some_and(|row| row.error_percent.is_some()) {
        head.extend(["%error", "KB/sec"]);
    }
    let digits = if whole { 0 } else { 3 };
    let mut table = Table::new(Vec::new());
    table.row(head)?;
    for row in rows {
        let spread = if dispersion == "cv" { row.cov } else { row.cov * row.sdev_ms };
        table.text(&row.label)?.number(Some(row.n))?;
        table.number(row.rate_per_s.map(|rate| format!("{rate:.2}")))?;
        for (value, digits) in [
            (row.p50_ms, digits),
            (row.mean_ms, 2),
            (row.sdev_ms, 2),
            (spread, 2),
            (row.p90_ms, digits),
            (row.p95_ms, digits),
            (row.p99_ms, digits),
            (row.min_ms, digits),
            (row.max_ms, digits),
        ] {
            table.number(Some(format_args!("{value:.digits$}")))?;
        }
        if let Some(error) = row.error_percent {
            table.number(Some(format_args!("{error:.2}")))?.number(row.kb_per_s.map(|kb| format!("{kb:.2}")))?;
        }
        table.end()?;
    }
    table.finish()
}

fn sizes(rows: &[SizeStats]) -> io::Result<Vec<u8>> {
    let mut table = Table::new(Vec::new());
    table.row(["label", "n", "tps", "median", "mean", "sdev", "vmr", "p90", "p95", "p99", "min", "max"])?;
    for row in rows {
        table.text(&row.label)?.number(Some(row.n))?;
        table.number(row.rate_per_s.map(|rate| format!("{rate:.2}")))?;
        for (value, digits) in [
            (row.p50_bytes, 0),
            (row.mean_bytes, 2),
            (row.sdev_bytes, 2),
            (row.cov * row.sdev_bytes, 2),
            (row.p90_bytes, 0),
            (row.p95_bytes, 0),
            (row.p99_bytes, 0),
            (row.min_bytes, 0),
            (row.max_bytes, 0),
        ] {
            table.number(Some(format_args!("{value:.digits$}")))?;
        }
        table.end()?;
    }
    table.finish()
}
