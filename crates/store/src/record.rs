//! The run record, `run.json`: the data of a run besides its workload and its events.
//!
//! This type writes and reads it. book/src/reference/run-directory.md documents every key.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;

use offered_base::Share;
use offered_events::document::{Document, Schema};
use offered_events::recording::Evidence;
use offered_events::{Note, RunId, WorkerClock};
use offered_io::read_regular_text;
use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::complete_file::write_complete;
use crate::error::Error;
use crate::rundir::files::RECORD as FILE;

/// The record of a run: everything except its workload and its events.
///
/// `S` and `V` are the types of summary and verdict, which the command that made the run defines. This crate stores both and reads neither:
/// commands compute the verdict again from the events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "RunRecord_{S}"))]
pub struct RunRecord<S = Ignored, V = Ignored> {
    /// The schema of this document.
    pub schema: Schema<RunRecord>,
    /// The version of the program that made the run.
    pub version: String,
    /// Whether the run sent requests, was a dry run, or was simulated.
    pub kind: RunKind,
    /// Whether a duration or a number of responses ends the run.
    pub end_condition: EndCondition,
    /// The seed of all random choices.
    pub seed: Option<u64>,
    /// The run ID; `None` if nothing was sent.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub run_id: Option<RunId>,
    /// The share of the whole run that was generated here.
    #[serde(serialize_with = "to_text", deserialize_with = "from_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub share: Share,
    /// When the run started, since the Unix epoch; `None` on a virtual clock.
    pub started_unix_ns: Option<u64>,
    /// The clock of this worker and its offset from worker 1; `None` on a virtual clock.
    pub clock: Option<WorkerClock>,
    /// The utilisation to which a simulation was scaled; `None` if it was not scaled.
    pub load: Option<f64>,
    /// Evidence about the generator; `None` for a simulation.
    pub generator: Option<Evidence>,
    /// The machine that ran the generator; `None` for a simulation, because its results do not depend on the machine.
    pub machine: Option<Machine>,
    /// Machines of the server with queried clocks.
    #[serde(default)]
    pub hosts: Vec<ObservedHost>,
    /// Notes about the run.
    pub notes: Vec<Note>,
    /// The summary, as a document of the command that made the run.
    pub summary: S,
    /// The verdict that was computed at the end of the run; `null` if none was computed.
    pub verdict: V,
}

impl<S, V> Document for RunRecord<S, V> {
    const SCHEMA: &'static str = "offered.run-directory/2";
}

/// A machine of the server, and the response of its observer to the clock query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ObservedHost {
    /// The name in the workload.
    pub name: String,
    /// The address of its observer.
    pub address: String,
    /// The identity of the observer that responded, as in its sample file; `None` if there was no response.
    pub token: Option<u64>,
    /// The generator's clock, with its offset from the observer's before the start and after the end.
    pub clock: WorkerClock,
}

/// A part of a document that is ignored when it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ignored;

impl Serialize for Ignored {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl<'de> Deserialize<'de> for Ignored {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|IgnoredAny| Self)
    }
}

/// The kind of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RunKind {
    /// Requests were sent to a target.
    Run,
    /// The generator ran without a target, on a virtual clock.
    DryRun,
    /// The workload's modelled server was simulated, on a virtual clock.
    Simulation,
}

/// The event that ends a run, unless it is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EndCondition {
    /// The workload's duration.
    Duration,
    /// A number of responses, at any time.
    Responses,
}

/// A machine that generates load or is observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machine {
    /// The host name.
    pub name: String,
    /// Operating system and release.
    pub system: String,
    /// Processor architecture.
    pub arch: String,
    /// Number of processors available to a process.
    pub cores: usize,
    /// The random ID that the kernel draws at boot, in hexadecimal digits; `None` if the system does not report it.
    pub boot_id: Option<String>,
}

impl RunRecord {
    /// A record of a run that this version makes now; all other fields are empty.
    pub fn new(kind: RunKind, end_condition: EndCondition) -> Self {
        Self {
            schema: Schema::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            kind,
            end_condition,
            seed: None,
            run_id: None,
            share: Share::ALL,
            started_unix_ns: None,
            clock: None,
            load: None,
            generator: None,
            machine: None,
            hosts: Vec::new(),
            notes: Vec::new(),
            summary: Ignored,
            verdict: Ignored,
        }
    }

    /// Reads the record of the run of one worker in the directory `run`. `None` if the run did not end or `run` is a file.
    ///
    /// # Errors
    /// The record is unreadable or invalid.
    pub(crate) fn read_one(run: &Path) -> Result<Option<Self>, Error> {
        let path = run.join(FILE);
        let text = match read_regular_text(&path) {
            Ok(text) => text,
            // Files of other tools have no record either.
            Err(why) if matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(why) => return Err(Error::io("read", &path)(why)),
        };
        let wrong = |error: serde_json::Error| {
            Error::content(
                path.display().to_string(),
                format!("is not a valid run record: {error}; remove the file to read the events alone"),
            )
        };
        serde_json::from_str(&text).map(Some).map_err(wrong)
    }

    /// The number of requests that the run in `run` counted; `None` if there is no record, or no such key.
    pub(crate) fn counted_requests(run: &Path) -> Option<u64> {
        #[derive(Deserialize)]
        struct Counting {
            summary: Summary,
        }
        #[derive(Deserialize)]
        struct Summary {
            total_requests: u64,
        }
        let text = read_regular_text(&run.join(FILE)).ok()?;
        serde_json::from_str::<Counting>(&text).ok().map(|counting| counting.summary.total_requests)
    }

    /// The record with a summary and a verdict.
    pub fn with<S, V>(self, summary: S, verdict: V) -> RunRecord<S, V> {
        let Self {
            schema,
            version,
            kind,
            end_condition,
            seed,
            run_id,
            share,
            started_unix_ns,
            clock,
            load,
            generator,
            machine,
            hosts,
            notes,
            ..
        } = self;
        RunRecord {
            schema,
            version,
            kind,
            end_condition,
            seed,
            run_id,
            share,
            started_unix_ns,
            clock,
            load,
            generator,
            machine,
            hosts,
            notes,
            summary,
            verdict,
        }
    }
}

/// Writes or replaces `run.json` of the run in `path`.
pub(crate) fn write_record(path: &Path, record: &str) -> Result<(), Error> {
    write_complete(&path.join(FILE), |file| file.write_all(record.as_bytes()))
}

impl<S: Serialize, V: Serialize> RunRecord<S, V> {
    /// Replaces the record of the complete run in `path`.
    ///
    /// # Errors
    /// The file cannot be written; the previous record stays.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        write_record(path, &self.text())
    }

    /// Like [`RunRecord::write`], but returns a function that writes later; it owns the data.
    pub fn writer(&self, path: &Path) -> Box<dyn FnOnce() -> Result<(), Error> + Send> {
        let (path, text) = (path.to_owned(), self.text());
        Box::new(move || write_record(&path, &text))
    }

    /// The text of `run.json`.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("numbers and texts are JSON") + "\n"
    }
}

pub(crate) fn to_text<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

pub(crate) fn from_text<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    use offered_events::ClockOffset;
    use offered_events::recording::{End, Halted};

    fn read_back(text: &str) -> RunRecord {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), text).unwrap();
        RunRecord::read(folder.path()).unwrap().unwrap()
    }

    #[test]
    fn a_written_record_is_read_back() {
        let record = RunRecord {
            seed: Some(u64::MAX),
            run_id: Some("release-7".parse().unwrap()),
            share: "2/8".parse().unwrap(),
            started_unix_ns: Some(1_700_000_000_123_456_789),
            clock: Some(WorkerClock {
                synchronised: Some(true),
                error_ns: Some(512_000),
                before: Some(ClockOffset { offset_ns: -50_000_000, bound_ns: 41_000, at_unix_ns: 1, answers: 32 }),
                after: None,
            }),
            generator: Some(Evidence {
                busy: vec![0.25, 0.95],
                stopped: true,
                halted: Some(Halted { reason: "data used up".to_owned(), end: End::DataUsedUp }),
                ..Evidence::default()
            }),
            machine: Some(Machine { name: "a".into(), system: "b".into(), arch: "c".into(), cores: 2, boot_id: None }),
            notes: vec![Note::Running, Note::Truncated],
            ..RunRecord::new(RunKind::Run, EndCondition::Duration)
        };
        assert_eq!(read_back(&serde_json::to_string(&record).unwrap()), record);
        let whole = record.clone().with("summary".to_owned(), vec![1, 2]);
        let text = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<RunRecord<String, Vec<i32>>>(&text).unwrap(), whole);
        assert_eq!(read_back(&text), record, "a reader that skips summary and verdict reads the rest");
    }

    #[test]
    fn a_missing_record_is_no_error_and_an_invalid_one_is() {
        let folder = tempfile::tempdir().unwrap();
        assert!(RunRecord::read(folder.path()).unwrap().is_none());
        let file = folder.path().join("results.jtl");
        fs::write(&file, "").unwrap();
        assert!(RunRecord::read(&file).unwrap().is_none());
        fs::write(folder.path().join(FILE), "{ \"schema\": \"offered.run-directory/2\" }").unwrap();
        let why = RunRecord::read(folder.path()).unwrap_err().to_string();
        assert!(why.contains("run.json is not a valid run record: missing field"), "{why}");
        fs::write(folder.path().join(FILE), "{ \"schema\": \"offered.run-directory/3\" }").unwrap();
        let why = RunRecord::read(folder.path()).unwrap_err().to_string();
        assert!(
            why.contains("the document has the schema `offered.run-directory/3`, expected `offered.run-directory/2`"),
            "{why}"
        );
    }
}
