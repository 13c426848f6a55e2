//! The run record, `run.json`: what is known of a run beside its workload and its events.
//!
//! It is written and read by this one type. Every key is documented in book/src/reference/run-directory.md.

mod first;

use std::fmt::Display;
use std::fs;
use std::io;
use std::path::Path;
use std::str::FromStr;

use offered_model::document::{Document, Schema};
use offered_model::recording::Evidence;
use offered_model::{Note, RunId, Share, WorkerClock};
use schemars::JsonSchema;
use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::Error;
use crate::rundir::files::RECORD as FILE;
use crate::rundir::{place_record, workers};

/// What is known of a run beside its workload and its events.
///
/// What the run came to is a document of the one who made it: `S` its summary, `V` its verdict. This room keeps both, and reads
/// neither: verbs judge anew, from the events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunRecord_{S}")]
pub struct RunRecord<S = Unread, V = Unread> {
    /// What this document is.
    pub schema: Schema<RunRecord>,
    /// Of the program that made it.
    pub version: String,
    /// How it came to be.
    pub made_by: MadeBy,
    /// What ended its launches.
    pub until: Until,
    /// From which every random choice followed; `None` in records of older runs.
    pub seed: Option<u64>,
    /// What told it from all others; `None` where nothing was sent, and in records of older runs.
    #[schemars(with = "Option<String>")]
    pub run_id: Option<RunId>,
    /// The part of the whole run that was launched here.
    #[serde(serialize_with = "to_text", deserialize_with = "from_text")]
    #[schemars(with = "String")]
    pub share: Share,
    /// When it began, since the Unix epoch; `None` on a virtual clock.
    pub started_unix_ns: Option<u64>,
    /// What is known of the clock that this was seen on, and of worker 1's beside it; `None` on a virtual clock, and of older runs.
    pub clock: Option<WorkerClock>,
    /// The load that a simulation was brought to, where it was brought to one.
    pub load: Option<f64>,
    /// What the generator was seen to do; `None` of a simulation, which has none.
    pub generator: Option<Evidence>,
    /// Where it ran; `None` of a simulation, which is the same everywhere.
    pub machine: Option<Machine>,
    /// The machines that served, as far as their clocks were asked.
    #[serde(default)]
    pub hosts: Vec<AskedHost>,
    /// What a reader must know besides; older records say it in sentences.
    #[serde(deserialize_with = "notes")]
    pub notes: Vec<Note>,
    /// What it came to, as the document of the verb that made it.
    pub summary: S,
    /// What to believe of it, as it was judged when it was made; `null` where it was not judged.
    pub verdict: V,
}

impl<S, V> Document for RunRecord<S, V> {
    const SCHEMA: &'static str = "offered.run-directory/2";
}

/// A machine that served, and what its observer said when it was asked for its clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskedHost {
    /// What the workload calls it.
    pub name: String,
    /// Where its observer was asked.
    pub address: String,
    /// Which of all observers answered, as its file says too; `None` where none did.
    pub token: Option<u64>,
    /// How far the generator's clock was ahead of its, before the start and after the end.
    pub clock: WorkerClock,
}

/// A part of a document that is not looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unread;

impl Serialize for Unread {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl<'de> Deserialize<'de> for Unread {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|IgnoredAny| Self)
    }
}

fn notes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Note>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Told {
        Typed(Note),
        Words(String),
    }
    let note = |told| match told {
        Told::Typed(note) => note,
        Told::Words(words) => Note::Words { words },
    };
    Ok(Vec::<Told>::deserialize(deserializer)?.into_iter().map(note).collect())
}

/// How a run directory came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MadeBy {
    /// Launched at a target.
    Run,
    /// Launched at nobody, on a virtual clock.
    DryRun,
    /// By the workload's own modelled server, on a virtual clock.
    Simulation,
}

/// What ended the launches of a run that was let run to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// The workload's duration.
    Duration,
    /// There were answers enough, however long that took.
    Answers,
}

/// A machine that makes load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// System and release.
    pub system: String,
    /// The kind of processor.
    pub arch: String,
    /// How many of them a process may use.
    pub cores: usize,
    /// The number that its kernel drew when it was booted, in hexadecimal digits; `None` where the system does not say, and of older runs.
    #[serde(default)]
    pub kernel: Option<String>,
}

impl RunRecord {
    /// Of a run made now by this version, of which nothing else is known yet.
    pub fn new(made_by: MadeBy, until: Until) -> Self {
        Self {
            schema: Schema::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            made_by,
            until,
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
            summary: Unread,
            verdict: Unread,
        }
    }

    /// The record of the run in the directory `run`, of many workers what theirs say together; `None` where the run did not come to its
    /// end, or `run` is a file.
    ///
    /// # Errors
    /// It cannot be read, or is no record of a run.
    pub fn read(run: &Path) -> Result<Option<Self>, Error> {
        let path = run.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            // A file of another tool's has no record either.
            Err(why) if matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return workers::record(run);
            }
            Err(why) => return Err(Error::io("read", &path)(why)),
        };
        let wrong = |why: serde_json::Error| {
            Error::content(
                path.display().to_string(),
                format!("is no record of a run: {why}; remove it to read the events alone"),
            )
        };
        if first::is(&text) {
            return serde_json::from_str::<first::Record>(&text).map(|first| Some(first.into())).map_err(wrong);
        }
        serde_json::from_str(&text).map(Some).map_err(wrong)
    }

    /// How many launches the run in `run` counted; `None` where there is no record, or it does not say.
    pub(crate) fn launched(run: &Path) -> Option<u64> {
        #[derive(Deserialize)]
        struct Counting {
            summary: Summary,
        }
        #[derive(Deserialize)]
        struct Summary {
            launched: u64,
        }
        let text = fs::read_to_string(run.join(FILE)).ok()?;
        serde_json::from_str::<Counting>(&text).ok().map(|counting| counting.summary.launched)
    }

    /// The same with what the run came to.
    pub fn with<S, V>(self, summary: S, verdict: V) -> RunRecord<S, V> {
        let Self {
            schema,
            version,
            made_by,
            until,
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
            made_by,
            until,
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

impl<S: Serialize, V: Serialize> RunRecord<S, V> {
    /// Writes it anew for the run in `path`, which is complete.
    ///
    /// # Errors
    /// The disk refused; the record that was there is there still.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        place_record(path, &self.text())
    }

    /// As it stands in its file.
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
    use offered_model::Offset;
    use offered_model::recording::{End, Halted};

    fn kept(text: &str) -> RunRecord {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), text).unwrap();
        RunRecord::read(folder.path()).unwrap().unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let record = RunRecord {
            seed: Some(u64::MAX),
            run_id: Some("release-7".parse().unwrap()),
            share: "2/8".parse().unwrap(),
            started_unix_ns: Some(1_700_000_000_123_456_789),
            clock: Some(WorkerClock {
                synchronised: Some(true),
                error_ns: Some(512_000),
                before: Some(Offset { ahead_ns: -50_000_000, bound_ns: 41_000, at_unix_ns: 1, answers: 32 }),
                after: None,
            }),
            generator: Some(Evidence {
                busy: vec![0.25, 0.95],
                stopped: true,
                halted: Some(Halted { why: "data used up".to_owned(), end: End::Meant }),
                ..Evidence::default()
            }),
            machine: Some(Machine { name: "a".into(), system: "b".into(), arch: "c".into(), cores: 2, kernel: None }),
            notes: vec![Note::Words { words: "a note".to_owned() }, Note::Cut],
            ..RunRecord::new(MadeBy::Run, Until::Duration)
        };
        assert_eq!(kept(&serde_json::to_string(&record).unwrap()), record);
        let whole = record.clone().with("what it came to".to_owned(), vec![1, 2]);
        let text = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<RunRecord<String, Vec<i32>>>(&text).unwrap(), whole);
        assert_eq!(kept(&text), record, "who does not look at what it came to reads the rest");
    }

    #[test]
    fn records_of_the_first_version_are_read() {
        let run = kept(include_str!("record/run-1.json"));
        assert_eq!((run.made_by, run.until, run.share.to_string().as_str()), (MadeBy::Run, Until::Duration, "2/8"));
        assert_eq!((run.started_unix_ns, run.seed), (Some(1_763_000_000_000_000_000), Some(42)));
        let generator = run.generator.unwrap();
        assert_eq!((generator.busiest(), generator.stopped), (Some((1, 0.953)), true));
        assert_eq!(run.machine.unwrap().cores, 2);
        let simulation = kept(include_str!("record/simulation-1.json"));
        assert_eq!((simulation.made_by, simulation.until), (MadeBy::Simulation, Until::Answers));
        assert_eq!((simulation.load, simulation.generator), (Some(0.7), None));
        assert_eq!(simulation.notes, [Note::Words { words: "the run is short".to_owned() }]);
    }

    #[test]
    fn a_run_without_a_record_is_not_an_error_and_one_that_is_none_is() {
        let folder = tempfile::tempdir().unwrap();
        assert!(RunRecord::read(folder.path()).unwrap().is_none());
        let file = folder.path().join("results.jtl");
        fs::write(&file, "").unwrap();
        assert!(RunRecord::read(&file).unwrap().is_none());
        fs::write(folder.path().join(FILE), "{ \"schema\": \"offered.run-directory/2\" }").unwrap();
        let why = RunRecord::read(folder.path()).unwrap_err().to_string();
        assert!(why.contains("run.json: is no record of a run: missing field"), "{why}");
        fs::write(folder.path().join(FILE), "{ \"schema\": \"offered.run-directory/3\" }").unwrap();
        let why = RunRecord::read(folder.path()).unwrap_err().to_string();
        assert!(why.contains("a document `offered.run-directory/3`, not `offered.run-directory/2`"), "{why}");
    }
}
