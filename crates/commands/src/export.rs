//! `offered export`: writes a recorded run in the format of another tool.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use offered_base::Nanos;
use offered_experiment::RecordedRun;
use offered_run::TraceContexts;
use offered_store::export::{ExportFormat, Omissions, RunContext, write};
use offered_store::{ReadOptions, RunRecord, read, write_tar};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{status, to_stdout};
use crate::{input_file, object_store};

/// Write a recorded run in another tool's format
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run directory, its URL, or any result file that `offered verify` reads
    run: PathBuf,
    /// Output format
    #[arg(long, value_enum)]
    format: Format,
    /// Output file, never overwritten [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// JMeter's CSV log, with additional columns for the exact times
    Jtl,
    /// All columns of all events; `offered verify` reads it again
    Csv,
    /// JSON lines for `vegeta report` and `vegeta plot`
    Vegeta,
    /// JSON lines of `k6 run --out json`
    K6,
    /// OpenTelemetry client spans, as OTLP JSON lines for the Collector's otlpjsonfile receiver
    Otlp,
    /// Arrow IPC file, with the columns of the run directory
    Arrow,
    /// Apache's combined log as a server would have written it, with timestamps in whole seconds
    Combined,
    /// HdrHistogram interval log in ns, one interval per second, tags response and service
    Hdr,
    /// pgbench's transaction log, in whole microseconds
    Pgbench,
    /// Gaps between requests in ms, one per line, for R
    Gaps,
    /// The run directory as a tar archive
    Tar,
}

impl Format {
    /// The event format; `None` for `tar`, which copies files.
    fn kind(self) -> Option<ExportFormat> {
        Some(match self {
            Self::Jtl => ExportFormat::Jtl,
            Self::Csv => ExportFormat::Csv,
            Self::Vegeta => ExportFormat::Vegeta,
            Self::K6 => ExportFormat::K6,
            Self::Otlp => ExportFormat::Otlp,
            Self::Arrow => ExportFormat::Arrow,
            Self::Combined => ExportFormat::Combined,
            Self::Hdr => ExportFormat::Hdr,
            Self::Pgbench => ExportFormat::Pgbench,
            Self::Gaps => ExportFormat::Gaps,
            Self::Tar => return None,
        })
    }
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    input_file::refuse(&args.run, &input_file::RESULTS)?;
    let here = object_store::run(&args.run)?;
    let Some(kind) = args.format.kind() else {
        if !here.path().is_dir() {
            return Err(Failure::input(format!(
                "{} is not a run directory; only a run directory can be written as a tar archive",
                args.run.display()
            )));
        }
        return args.written(|out| write_tar(here.path(), out).map(drop));
    };
    let recording = read(here.path(), &ReadOptions::default()).map_err(Failure::input)?;
    for note in &recording.notes {
        status!("warning: {}: {note}", args.run.display());
    }
    let (workload, record) = match RecordedRun::read(here.path(), input_file::broken)? {
        Some(recorded) => (Some(recorded.workload), recorded.record),
        None => (None, RunRecord::read(here.path()).map_err(Failure::input)?),
    };
    if let Some(Err(mistake)) = &workload
        && kind.uses_workload()
    {
        status!("warning: {mistake}");
    }
    let workload = workload.as_ref().and_then(|workload| workload.as_ref().ok());
    let record = record.as_ref();
    let run_id = record.and_then(|record| record.run_id.as_ref());
    let contexts = workload.zip(run_id).and_then(|(workload, run)| TraceContexts::new(workload, run));
    let traceparent =
        contexts.as_ref().map(|contexts| |request, session, step| contexts.header(request, session, step));
    let run = RunContext {
        origin: Nanos(record.and_then(|record| record.started_unix_ns).unwrap_or(0)),
        version: record.map(|record| &*record.version),
        run_id,
        workload,
        traceparent: traceparent.as_ref().map(|header| header as _),
    };
    let (mut sent, mut without_end) = (0, 0);
    recording
        .events
        .each(|event| {
            sent += u64::from(event.sent.is_some());
            without_end += u64::from(event.sent.is_some() && event.done.is_none());
        })
        .map_err(Failure::stopped)?;
    if kind.needs_ends() && without_end > 0 {
        let left_out = format!("{without_end} requests in {} have no end time", args.run.display());
        if without_end == sent {
            return Err(Failure::input(format!("{left_out}, which this format needs; use --format csv or gaps")));
        }
        status!("warning: {left_out} and are omitted");
    }
    let mut omitted = Omissions::default();
    let done = args.written(|mut out| {
        omitted = write(kind, &recording, &run, &mut out)?;
        Ok(())
    })?;
    for text in omitted.texts() {
        status!("warning: {}: {text}", args.run.display());
    }
    Ok(done)
}

impl Args {
    /// Writes to the output file or to stdout.
    fn written(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Exit, Failure> {
        let Some(path) = &self.output else {
            let written = to_stdout(write);
            return written
                .map(|()| Exit::Done)
                .map_err(|error| Failure::stopped(format!("cannot write to stdout: {error}")));
        };
        let mut file = File::create_new(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                Failure::input(format!("{} already exists and is not overwritten; choose another -o", path.display()))
            }
            _ => Failure::input(format!("cannot create {}: {error}", path.display())),
        })?;
        write(&mut file).map(|()| Exit::Done).map_err(|error| {
            // A partial file would pass for a complete one.
            let _ = fs::remove_file(path);
            Failure::stopped(format!("cannot write {}: {error}", path.display()))
        })
    }
}

#[cfg(test)]
mod tests;
