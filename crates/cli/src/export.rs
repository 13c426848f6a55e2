//! `offered export`: a recorded run in the formats of other tools, so that their analyses can be run on it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use offered_model::Nanos;
use offered_store::export::{Kind, write};
use offered_store::{ReadOptions, RunRecord, pack, read};

use crate::exit::{Exit, Failure};
use crate::say::tell;
use crate::{file, stored};

/// Write a recorded run in another tool's format
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A run directory, the URL of one in an object store, or any result file that `offered verify` reads
    run: PathBuf,
    /// What to write
    #[arg(long, value_enum)]
    to: To,
    /// Where to write it; stdout if not given. An existing file is not overwritten
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum To {
    /// JMeter's CSV log, with the exact instants in columns of their own
    Jtl,
    /// Every column of every event, which `offered verify` reads again
    Csv,
    /// vegeta's JSON lines, for `vegeta report` and `vegeta plot`
    Vegeta,
    /// k6's JSON points
    K6,
    /// Apache's combined log, whose stamps are whole seconds
    Combined,
    /// `HdrHistogram` interval log, one interval a second, tags `response` and `service`, values in ns
    Hdr,
    /// pgbench's log of transactions, in whole microseconds
    Pgbench,
    /// The gaps between successive launches in ms, one on a line, for R
    Gaps,
    /// The files of the run directory as they are, where there is no program tar
    Tar,
}

impl To {
    /// What is made of the events; `None` where the files go as they are.
    fn kind(self) -> Option<Kind> {
        Some(match self {
            Self::Jtl => Kind::Jtl,
            Self::Csv => Kind::Csv,
            Self::Vegeta => Kind::Vegeta,
            Self::K6 => Kind::K6,
            Self::Combined => Kind::Combined,
            Self::Hdr => Kind::Hdr,
            Self::Pgbench => Kind::Pgbench,
            Self::Gaps => Kind::Gaps,
            Self::Tar => return None,
        })
    }
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    file::refuse(&args.run, &file::RESULTS)?;
    let here = stored::run(&args.run)?;
    let Some(kind) = args.to.kind() else {
        if !here.path().is_dir() {
            return Err(Failure::input(format!(
                "{} is no directory of a run, and only one is packed",
                args.run.display()
            )));
        }
        return args.written(|out| pack(here.path(), out).map(drop));
    };
    let recording = read(here.path(), &ReadOptions::default()).map_err(Failure::input)?;
    for note in &recording.notes {
        tell!("warning: {}: {note}", args.run.display());
    }
    let origin = origin(here.path())?;
    let (mut sent, mut without_end) = (0, 0);
    recording
        .events
        .each(|event| {
            sent += u64::from(event.sent.is_some());
            without_end += u64::from(event.sent.is_some() && event.done.is_none());
        })
        .map_err(Failure::stopped)?;
    if kind.needs_ends() && without_end > 0 {
        let left_out = format!("{without_end} launches have no end in {}", args.run.display());
        if without_end == sent {
            return Err(Failure::input(format!(
                "{left_out}, and this format has no place for them; write --to csv or gaps"
            )));
        }
        tell!("warning: {left_out}: they are left out");
    }
    args.written(|mut out| write(kind, &recording, origin, &mut out))
}

impl Args {
    /// Writes where it is to go.
    fn written(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Exit, Failure> {
        let Some(path) = &self.output else {
            return match write(&mut io::stdout().lock()) {
                // Whoever read us (`| head`) has seen enough.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Done),
                Err(error) => Err(Failure::stopped(format!("cannot write to stdout: {error}"))),
                Ok(()) => Ok(Exit::Done),
            };
        };
        let mut file = File::create_new(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                Failure::input(format!("{} exists already; choose another -o", path.display()))
            }
            _ => Failure::input(format!("cannot create {}: {error}", path.display())),
        })?;
        write(&mut file).map(|()| Exit::Done).map_err(|error| {
            // Half a file under the name asked for would pass for a whole one.
            let _ = fs::remove_file(path);
            Failure::stopped(format!("cannot write {}: {error}", path.display()))
        })
    }
}

/// When the run started, since 1970, which its events do not know; zero for a file, whose stamps are since 1970 themselves.
fn origin(run: &Path) -> Result<Nanos, Failure> {
    let record = RunRecord::read(run).map_err(Failure::input)?;
    Ok(Nanos(record.and_then(|record| record.started_unix_ns).unwrap_or(0)))
}

#[cfg(test)]
mod tests;
